"""The mutants in the terminal or as JSON: what caught each, the kill rate, and what survived."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from phalanx.cli.output import console, fail, table
from phalanx.conformance.counting import CountingBar
from phalanx.conformance.report_json import write_data
from phalanx.conformance.results import versions
from rich.markup import escape

from .trial import QUICK_RATE, RATE, MutantTrial, MutationTest
from .trials import RUN_LIMIT, SURVIVED, TRIED, run_mutants

_STDOUT = Path("-")
_USAGE, _INTERRUPTED = 2, 130
_NAME = re.compile(r"m[0-9a-f]{10}")


def parse(text: str) -> tuple[int | None, tuple[str, ...]]:
    """Return how many mutants are wanted, ``None`` for all, and which if they are named.

    Raises:
        ValueError: it is none of these.
    """
    if text == "all":
        return None, ()
    if text.isascii() and text.isdigit() and int(text):
        return int(text), ()
    names = tuple(text.split(","))
    if names in ((SURVIVED,), (TRIED,)):
        return None, names
    if all(_NAME.fullmatch(name) for name in names):
        return len(names), names
    raise ValueError(
        "--mutants takes a number from 1 up, 'all', 'survived', 'tried', or names such as "
        f"m0123456789, not {text!r}"
    )


def run_and_show(
    text: str,
    device: str | None,
    *,
    quick: bool,
    seed: int,
    json_file: Path | None = None,
    folder: Path | None = None,
    of: tuple[str, ...] = (),
    run_limit: float = RUN_LIMIT,
) -> int:
    """Run the suite against mutants and print what it found, as JSON if asked.

    Args:
        text: how many, ``all``, ``survived``, ``tried``, or their names with commas between.
        device: compiles and runs them; the first that compiles programs if ``None``.
        quick: run the quick form of the suite alone.
        seed: of the choice and of the suite's random values.
        json_file: where to write JSON; ``-`` for stdout, then nothing else is printed.
        folder: keeps the trials; what is there is not done again.
        of: patterns of files, whose mutants alone are tried.
        run_limit: seconds for the cases of a mutant in each form of the suite.

    Returns:
        0 if enough of them are caught, 1 if not, 2 for wrong usage, 130 after Ctrl-C.
    """
    try:
        count, names = parse(text)
        device = device or _first_device()
        visible = json_file != _STDOUT
        bar = CountingBar("noting the programs", "mutants", "survived", None, visible=visible)

        def observe(trial: MutantTrial) -> None:
            survived = trial.counts and not trial.killed
            bar.advance(f"survived: {trial.mutant.name}" if survived else "")

        with bar:
            found = run_mutants(
                device,
                quick=quick,
                seed=seed,
                count=count,
                names=names,
                of=of,
                run_limit=run_limit,
                folder=folder,
                observe=observe,
                noted=lambda: bar.begin("mutants", count),
            )
    except ValueError as error:
        fail(str(error), _USAGE)
    except KeyboardInterrupt:
        fail("interrupted; the self-test says nothing before its end", _INTERRUPTED)
    if json_file is not None:
        write_data(to_dict(found), json_file)
    if json_file != _STDOUT:
        _show(found)
    return 0 if holds(found) else 1


def _first_device() -> str:
    import phalanx as px

    found = px.devices("opencl")
    if not found:
        raise ValueError(
            "no device of this machine compiles kernels from texts; install an OpenCL runtime "
            "(pip install 'phalanx[opencl]') or name the device with --device"
        )
    return str(found[0])


def holds(found: MutationTest) -> bool:
    """Tell whether enough mutants were caught."""
    return found.kill_rate >= (QUICK_RATE if found.quick else RATE)


def to_dict(found: MutationTest) -> dict[str, Any]:
    """Return plain data for JSON."""
    return {
        **versions(),
        "date": datetime.now(UTC).date().isoformat(),
        **_where(found.device),
        "device": found.device,
        "quick": found.quick,
        "seed": found.seed,
        "seconds": round(found.seconds, 3),
        "kill_rate": found.kill_rate,
        "quick_rate": found.quick_rate,
        "holds": holds(found),
        **counts(found),
        "mutants": [trial.to_dict() for trial in found.trials],
    }


def _where(device: str) -> dict[str, str]:
    import phalanx as px

    hardware = {str(one): one.info.name for one in px.devices()}.get(device, "")
    compiler = shutil.which(os.environ.get("CC", "cc"))
    lines = [""]
    if compiler is not None:
        done = subprocess.run([compiler, "--version"], capture_output=True, check=False)
        lines = done.stdout.decode("utf-8", "replace").splitlines() or lines
    return {"machine": f"{hardware}, {os.cpu_count()} processors", "compiler": lines[0]}


def counts(found: MutationTest) -> dict[str, Any]:
    """Return how many mutants there were of each kind."""
    stages = [trial.stage for trial in found.trials if trial.killed]
    return {
        "tried": len(found.trials),
        "unused": found.unused,
        "not_compiled": sum(not trial.compiled for trial in found.trials),
        "equivalent": sum(trial.compiled and not trial.counts for trial in found.trials),
        "killed": {stage: stages.count(stage) for stage in dict.fromkeys(stages)},
        "survived": len(found.survivors),
    }


def _show(found: MutationTest) -> None:
    out = console()
    rows = [
        (
            trial.mutant.name,
            escape(trial.mutant.place),
            trial.mutant.operator,
            escape(trial.case) or trial.verdict,
            trial.stage,
            f"{trial.seconds:.1f}",
        )
        for trial in found.trials
    ]
    out.print(table(("Mutant", "Text", "Operator", "Caught by", "Run", "Seconds"), rows, fold=3))
    for trial in found.survivors:
        quick = " --quick" if found.quick else ""
        out.print(
            f"\n[bold red]survived[/] {trial.mutant.name} {escape(trial.mutant.place)}\n"
            f"  {escape(trial.mutant.difference).replace(chr(10), chr(10) + '  ')}\n"
            f"  tried: {escape(', '.join(trial.tried))}\n"
            f"  repeat: phalanx conformance --self-test --mutants {trial.mutant.name} "
            f"--device {found.device} --seed {found.seed}{quick}",
            soft_wrap=True,
        )
    n = counts(found)
    colour = "green" if holds(found) else "bold red"
    killed = ", ".join(f"{number} {stage}" for stage, number in n["killed"].items()) or "none"
    out.print(
        f"\n{n['tried']} mutants on {found.device}: {n['not_compiled']} do not compile, "
        f"{n['equivalent']} equivalent, killed: {killed}, {n['survived']} survived; "
        f"{n['unused']} more changed nothing that runs\n"
        f"kill rate: [{colour}]{100 * found.kill_rate:.1f} %[/] ({found.seconds:.0f} s; "
        f"{'quick' if found.quick else 'full'} run, seed {found.seed})",
        soft_wrap=True,
    )
