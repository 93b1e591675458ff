"""The command ``python -m stress``: runs programs until the time is up."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from random import SystemRandom

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from .child import Job
from .generator import RULES
from .program import Traits
from .report import Report, print_fault, print_report
from .runner import list_devices, run_job

_EXAMPLES = """
\b
Examples:
  make stress MINUTES=60
  make stress SEED=7 DEVICE=opencl:0
  make stress DELAYS=1
  python -m stress --seed 7 --rounds 1 --device cpu:0 --repeat 20
  python -m stress --without fork --without bad_index --threads 2
"""


@click.command(epilog=_EXAMPLES)
@click.option("--minutes", type=click.FloatRange(0), default=2.0, show_default=True)
@click.option("--rounds", type=click.IntRange(1), help="So many programs, however long they take.")
@click.option("--repeat", type=click.IntRange(1), default=1, help="Run each so often, to a fault.")
@click.option("--seed", type=click.IntRange(0), help="Of the first program; random if not given.")
@click.option(
    "--device",
    default="all",
    show_default=True,
    help="The device, or several with commas: programs copy between them. 'all': each in turn.",
)
@click.option("--threads", type=click.IntRange(1), default=8, show_default=True)
@click.option("--operations", type=click.IntRange(1), default=4000, show_default=True)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(sorted(RULES)),
    metavar="RULE",
    help=f"Leave something out: {', '.join(sorted(RULES))}. May be repeated.",
)
@click.option("--limit", type=click.FloatRange(1), default=60.0, help="Seconds without a step.")
def stress(
    minutes: float,
    rounds: int | None,
    repeat: int,
    seed: int | None,
    device: str,
    threads: int,
    operations: int,
    without: tuple[str, ...],
    limit: float,
) -> None:
    """Run random programs of many threads and check every value against NumPy.

    Each program runs in a process of its own, with the seed after that of the one before. A crash,
    a hang or a wrong value is told with the last steps of each thread and the command that repeats
    it, and the next program runs. Ends with 1 if there was any fault.
    """
    console = Console()
    first = SystemRandom().randrange(1 << 31) if seed is None else seed
    turns = _turns(device)
    numbers = itertools.count(first) if rounds is None else range(first, first + rounds)
    jobs = (Job(n, next(turns), threads, operations, without, limit) for n in numbers)
    report = Report()
    begin = time.monotonic()
    deadline = begin + 60 * minutes if rounds is None else float("inf")
    try:
        _run(console, jobs, report, repeat, deadline)
    except KeyboardInterrupt:
        console.print("interrupted")
    print_report(console, report, time.monotonic() - begin, first)
    sys.exit(1 if report.faults else 0)


def _turns(device: str) -> Iterator[tuple[Traits, ...]]:
    """Yield the devices of one program after another, for ever."""
    found = {traits.name: traits for traits in list_devices()}
    if device != "all":
        names = device.split(",")
        for name in names:
            if name not in found:
                raise click.UsageError(f"no device {name!r}; there are {', '.join(found)}")
        return itertools.repeat(tuple(found[name] for name in names))
    alone = [(traits,) for traits in found.values()]
    pairs = itertools.permutations(found.values(), 2)
    mixed = [[*alone, pair] for pair in pairs]  # each pair after a turn of all devices
    return itertools.cycle(itertools.chain.from_iterable(mixed) if mixed else alone)


def _run(
    console: Console, jobs: Iterator[Job], report: Report, repeat: int, deadline: float
) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=None)
        for job in jobs:
            if time.monotonic() >= deadline:
                break
            devices = ",".join(traits.name for traits in job.devices)
            for _ in range(repeat):
                told = f"program {len(report.outcomes) + 1}, seed {job.seed} on {devices}"
                faults = f"{len(report.faults)} faults"

                def observe(done: int, job: Job = job, told: str = f"{told}, {faults}") -> None:
                    progress.update(task, description=told, completed=done, total=job.operations)

                left = max(1.0, deadline - time.monotonic())
                outcome = run_job(replace(job, seconds=left), observe)
                report.outcomes.append(outcome)
                if not console.is_terminal:
                    taken = f"{sum(outcome.steps.values())} steps in {outcome.seconds:.0f} s"
                    console.print(f"{told}: {outcome.verdict}, {taken}")
                if outcome.verdict != "ok":
                    print_fault(console, outcome)
                    break
