"""``phalanx bench``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from phalanx.cli.output import plain_errors
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from .archive import Archive, matching
from .composed_functions import COMPOSED
from .contestants import PEERS, Contestant, usable_cores
from .extension_functions import EXTENSIONS
from .functions import FUNCTIONS
from .history import HistoryError, rounded
from .host_workloads import HOST_WORKLOADS
from .measure import Plan
from .suites import OWN_PEERS, Suite, choose_suites
from .workloads import Workload, chosen, size_text

if TYPE_CHECKING:
    from .results import Case, Run

_QUICK = Plan(repeats=7, least_repeats=3, sample_seconds=3e-4, case_seconds=1.0, attempts=1)
#: Parameters that choose what is measured and how.
_CHOICES = (
    "devices",
    "peers",
    "names",
    "sizes",
    "repeats",
    "quick",
    "with_functions",
    "with_programs",
)


@dataclass(frozen=True, slots=True)
class Job:
    """A case to come; ``effort`` says about how long it lasts, in units of the smallest.

    ``measure`` takes contestants, a plan, and ``advance``, and returns the case.
    """

    label: str
    effort: float
    measure: Callable[..., Case]


def _size(text: str) -> int:
    """Read a number of elements: ``1048576`` or ``2^20``."""
    base, power, exponent = text.partition("^")
    try:
        size = int(base) ** int(exponent) if power and len(exponent) < 3 else int(text)
    except (ValueError, OverflowError):
        size = 0
    if not 1 <= size <= 2**31:
        raise click.BadParameter(f"{text!r} is no size; write 1048576 or 2^20, at most 2^31")
    return size


@click.command(
    epilog="""\b
Examples:
  phalanx bench                          everything, some minutes a device
  phalanx bench --quick                  two sizes, few repeats
  phalanx bench --all                    every function on few elements besides
  phalanx bench -k softmax -k sort       workloads by a part of their name
  phalanx bench --size 2^22 -k add
  phalanx bench --device gpu:0 --device cpu:0 --peer numpy
  phalanx bench --device opencl:0 --peer hand-written
  phalanx bench --programs               whole programs, on all devices
  phalanx bench --programs -k kmeans -d opencl:0
  phalanx bench --json new.json --compare old.json
  phalanx bench --compare last           what changed since the last run here
  phalanx bench --list                   the history of this kind of machine
  phalanx bench --show last --compare last~1
  phalanx bench --show new.json --html bench.html

\b
Exit code: 0, or 2 for wrong usage, 1 if the device does not work, if a
program has other bits than on cpu:0, or if its data are not installed.
A missed bar is shown and is no error: timings belong to the machine.
"""
)
@click.option(
    "--device",
    "-d",
    "devices",
    multiple=True,
    help="Default: the current device and all OpenCL and CUDA devices; for programs all.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=click.Choice([*PEERS, *(name for own in OWN_PEERS.values() for name in own.names)]),
    help="Compare with this.  [default: all that are installed]",
)
@click.option(
    "--workload", "-k", "names", multiple=True, help="A part of a workload's or program's name."
)
@click.option(
    "--size", "sizes", multiple=True, type=_size, metavar="N", help="Elements, or rows of a matrix."
)
@click.option("--repeats", type=click.IntRange(min=2), help="Rounds of each case at most.")
@click.option("--quick", is_flag=True, help="Two sizes, few repeats: an impression.")
@click.option(
    "--all",
    "with_functions",
    is_flag=True,
    help="Also each public function, with 1, 100, 10000 elements.",
)
@click.option(
    "--programs", "with_programs", is_flag=True, help="The programs of phalanx.examples instead."
)
@click.option(
    "--json",
    "out",
    metavar="[FILE]",
    is_flag=False,
    flag_value="-",
    help="Save everything; alone or with '-', print it to stdout.",
)
@click.option(
    "--compare",
    "old",
    metavar="RUN",
    help="Show what changed since a run: a file of --json, or one of the history: last, last~2, "
    "or how its date begins.",
)
@click.option("--show", "shown", metavar="RUN", help="Measure nothing, show a former run.")
@click.option(
    "--html",
    "page",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw everything on one page that needs no network.",
)
@click.option(
    "--history",
    "history_path",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep runs there.  [default: a file per kind of machine in the user's data folder]",
)
@click.option("--no-history", is_flag=True, help="Do not keep this run.")
@click.option("--list", "listed", is_flag=True, help="Measure nothing, list the history.")
@plain_errors
def bench(
    devices: tuple[str, ...],
    peers: tuple[str, ...],
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    repeats: int | None,
    quick: bool,
    with_functions: bool,
    with_programs: bool,
    out: str | None,
    old: str | None,
    shown: str | None,
    page: Path | None,
    history_path: Path | None,
    no_history: bool,
    listed: bool,
) -> None:
    """Measure Phalanx against NumPy and PyTorch, side by side in one run.

    OpenCL devices are measured against pyopencl.array and hand-written kernels on the same device,
    CUDA devices against CuPy and PyTorch. Whole programs run on all devices, against NumPy and
    PyTorch on the CPU.

    Every contestant computes the same values, which is checked first; then all take turns, and the
    table shows the medians of the ratios. Making the result's memory and releasing it counts.

    Each run is kept in a history, a file for each kind of machine: processor, cores, instruction
    set and the peers' versions.
    """
    console = Console(stderr=out == "-", highlight=False)
    archive = Archive(history_path, Console(stderr=True, highlight=False))
    if listed or shown:
        _refuse_choices("--list" if listed else "--show")
    with _plain_history_errors():
        if listed:
            archive.show(console)
            return
        if old:  # before anything is measured in vain
            archive.find(
                old, "--compare", lambda e: bool(shown) or e.is_of_programs == with_programs
            )
        keeps = not (no_history or shown) and archive.can_keep()
    plan = _QUICK if quick else Plan()
    if repeats is not None:
        least = min(plan.least_repeats, repeats)
        plan = replace(plan, repeats=repeats, least_repeats=least)
    if shown:
        runs = archive.find(shown, "--show")
    elif with_programs:
        if sizes or with_functions:
            raise click.UsageError("--programs does not go with --size or --all")
        runs = [_run_programs(devices, peers, names, plan)]
    else:
        few = (*FUNCTIONS, *COMPOSED, *EXTENSIONS) if with_functions else ()
        on_host = (*HOST_WORKLOADS, *few)
        runs = _run_workloads(devices, peers, names, sizes, quick, on_host, plan)
    _report(runs, archive.find_like(old, runs) if old else [], console)
    data = _as_dicts(runs)
    if out:
        _save_json(data, out, console)
    if page:
        _save_page(runs, archive, page, console)
    if keeps and any(run.cases for run in runs):
        archive.keep(rounded(data))
    if any(run.other_bits() for run in runs):
        click.get_current_context().exit(1)


def _run_programs(
    devices: tuple[str, ...], peers: tuple[str, ...], names: tuple[str, ...], plan: Plan
) -> Run:
    from phalanx.examples import PROGRAMS

    from .programs import chosen_programs, measure_program, program_suite

    found = chosen_programs(names)
    if not found:
        raise click.UsageError(f"no program has this name; there are: {', '.join(PROGRAMS)}")
    if strangers := [name for name in peers if name not in PEERS]:
        raise click.UsageError(
            f"programs are compared with {' and '.join(PEERS)}, not {', '.join(strangers)}"
        )
    jobs = [Job(name, 1.0, partial(measure_program, name)) for name in found]
    try:
        return _measure(program_suite(devices, peers), jobs, plan, is_named=bool(peers))
    except ImportError as error:
        raise click.ClickException(str(error)) from error


def _run_workloads(
    devices: tuple[str, ...],
    peers: tuple[str, ...],
    names: tuple[str, ...],
    sizes: tuple[int, ...],
    quick: bool,
    on_host: tuple[Workload, ...],
    plan: Plan,
) -> list[Run]:
    own = [work for each in OWN_PEERS.values() for work in each.workloads]
    rows = {work.name: work for work in (*on_host, *own)}
    if not chosen(names, sizes, quick, rows.values()):
        known = ", ".join(rows)
        raise click.UsageError(f"no workload of this name exists at this size; there are: {known}")
    suites = choose_suites(devices, peers)
    suites[0].workloads = on_host
    if not any(suite.devices for suite in suites):
        raise click.UsageError(_no_device(suites[0], devices, peers))
    runs = []
    for suite in suites:
        cases = chosen(names, sizes, quick, suite.workloads) if suite.devices else []
        if cases or suite is suites[0]:
            jobs = [_job(*case) for case in cases]
            runs.append(_measure(suite, jobs, _plan_of(suite, plan), is_named=bool(peers)))
    return runs


def _plan_of(suite: Suite, plan: Plan) -> Plan:
    """Return the plan of a suite: the naive matrix product of an OpenCL peer may take minutes."""
    if suite.name != "opencl":
        return plan
    return replace(plan, least_repeats=min(plan.least_repeats, 2))


def _no_device(host: Suite, devices: tuple[str, ...], peers: tuple[str, ...]) -> str:
    for name, reason in host.missing.items():
        return f"{name} is missing: {reason}"
    return (
        f"{', '.join(peers)} can be compared with their own devices only, not {', '.join(devices)}"
    )


def _refuse_choices(option: str) -> None:
    """Refuse options that choose what is measured where nothing is.

    Raises:
        click.UsageError: there is one.
    """
    context = click.get_current_context()
    chosen_ones = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name in _CHOICES and context.params.get(parameter.name)
    ]
    if option == "--list" and context.params.get("shown"):
        chosen_ones.append("--show")
    if chosen_ones:
        raise click.UsageError(f"{option} measures nothing, leave out {', '.join(chosen_ones)}")


@contextmanager
def _plain_history_errors() -> Iterator[None]:
    try:
        yield
    except HistoryError as error:
        raise click.ClickException(str(error)) from error


def _job(work: Workload, size: int) -> Job:
    from .results import measure_case

    label, effort = f"{work.name} {size_text(size)}", 1.0 + work.effort(size)
    return Job(label, effort, partial(measure_case, work, size))


def _measure(suite: Suite, jobs: list[Job], plan: Plan, *, is_named: bool) -> Run:
    from .machine import describe
    from .results import Run

    runners, rivals = suite.open() if jobs else ([], [])
    for name, reason in suite.missing.items() if is_named else ():
        raise click.BadParameter(f"{name} is not installed: {reason}", param_hint="--peer")
    run = Run(
        {runner.name: runner.about() for runner in runners},
        {rival.name: rival.about() for rival in rivals},
        suite.missing,
        describe(_packages(suite, rivals)),
        asdict(plan),
        suite=suite.name,
    )
    if jobs and suite.name != "programs":
        _limit(run)
    columns = (
        TextColumn("{task.description:20}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(compact=True),
    )
    begin = time.perf_counter()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=sum(job.effort for job in jobs))
        done = 0.0
        for job in jobs:
            progress.update(task, description=job.label)

            def advance(share: float, effort: float = job.effort) -> None:
                progress.advance(task, share * effort)

            run.cases.append(job.measure([*runners, *rivals], plan, advance=advance))
            done += job.effort
            progress.update(task, completed=done)
    if run.limits is not None and plan.attempts > 1:
        _limit(run)
    run.settings["seconds"] = round(time.perf_counter() - begin, 1)
    return run


def _limit(run: Run) -> None:
    """Measure what the machine can do with the threads of the run's devices, if it is a CPU's.

    The second time it may find more, as the machine may have been busy.
    """
    from .limits import NoLimitsError, measure_limits

    threads = [about["threads"] for about in run.devices.values() if about.get("kind") == "cpu"]
    if not threads:
        return
    try:
        found = measure_limits(int(threads[0]) if threads[0].isdecimal() else usable_cores())
        run.limits = found.or_better(run.limits) if run.limits is not None else found
    except NoLimitsError as error:
        run.missing["the machine's limit"] = str(error)


def _packages(suite: Suite, rivals: list[Contestant]) -> list[str]:
    if suite.name == "opencl":
        return ["pyopencl"]
    return [rival.name.removesuffix("-cuda") for rival in rivals]


def _report(runs: list[Run], former: list[Run], console: Console) -> None:
    from .comparison import show_comparison
    from .report import show

    show(runs, console)
    for run in runs:
        for old in matching(run, former):
            show_comparison(run, old, console)


def _as_dict(run: Run) -> dict[str, object]:
    from .bars import judge, means

    verdicts = [verdict.to_dict() for verdict in judge(run)]
    return run.to_dict() | {"geometric_means": means(run), "bars": verdicts}


def _as_dicts(runs: list[Run]) -> dict[str, object]:
    first, *further = map(_as_dict, runs)
    return first | {"further": further}


def _save_json(data: dict[str, object], out: str, console: Console) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if out == "-":
        sys.stdout.write(text)
        return
    _save(text, Path(out), console)


def _save_page(runs: list[Run], archive: Archive, path: Path, console: Console) -> None:
    from .page import write_page

    _save(write_page(runs, archive.former), path, console)


def _save(text: str, path: Path, console: Console) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(path), hint=str(error)) from error
    console.print(f"saved: {path}", markup=False)
