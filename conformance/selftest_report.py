"""The self-test in the terminal or as JSON: what caught each faulty device, and the kill rate."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from phalanx.cli.output import console, fail, table
from rich.markup import escape

from .counting import CountingBar
from .faults import FAULTS, UNUSUAL
from .report_json import write_data
from .results import versions
from .selftest import SelfTest, Trial, run_self_test

#: The part of the faults that the suite must catch.
FULL_RATE, QUICK_RATE = 1.0, 0.9
_STDOUT = Path("-")
_USAGE, _INTERRUPTED = 2, 130


def run_and_show(
    *, quick: bool, seed: int, names: tuple[str, ...] = (), json_file: Path | None = None
) -> int:
    """Run the self-test and print it, as JSON if asked; return the exit code.

    Args:
        quick: run the quick form of the suite, which may miss a tenth of the faults.
        seed: of the suite's random values.
        names: of faults; all if empty.
        json_file: where to write JSON; ``-`` for stdout, then nothing else is printed.

    Returns:
        0 if enough faults are caught and the sound device passes, 1 if not, 2 for an unknown fault,
        130 after Ctrl-C.
    """
    total = len(names or (*FAULTS, *UNUSUAL)) + 1
    bar = CountingBar("self-test", "devices", "wrong", total, visible=json_file != _STDOUT)
    try:
        with bar:
            found = run_self_test(
                quick=quick,
                seed=seed,
                names=names,
                observe=lambda trial: bar.advance(_what_is_wrong(trial)),
            )
    except ValueError as error:
        fail(str(error), _USAGE)
    if json_file is not None:
        write_data(to_dict(found), json_file)
    if json_file != _STDOUT:
        _show(found)
    if found.interrupted:
        done = len(found.trials) + len(found.sound)
        fail(f"interrupted: {done} of {total} devices were tested", _INTERRUPTED)
    return 0 if holds(found) else 1


def _what_is_wrong(trial: Trial) -> str:
    """Return what a trial says against the suite, empty if nothing."""
    if trial.group:
        return "" if trial.killed else f"survived: {trial.fault}"
    return f"fails though it is sound: {trial.fault}, in {trial.case}" if trial.killed else ""


def holds(found: SelfTest) -> bool:
    """Tell whether enough faults were caught, and the sound device was not."""
    if found.interrupted:
        return False
    wanted = QUICK_RATE if found.quick else FULL_RATE
    no_faults_asked = not found.trials and len(found.sound) > 1
    return found.sound_passes and (no_faults_asked or found.kill_rate >= wanted)


def to_dict(found: SelfTest) -> dict[str, Any]:
    """Return plain data for JSON."""
    return {
        **versions(),
        "quick": found.quick,
        "seed": found.seed,
        "seconds": round(found.seconds, 3),
        "kill_rate": found.kill_rate,
        "killed": found.killed,
        "holds": holds(found),
        "interrupted": found.interrupted,
        "faults": [asdict(t) | {"killed": t.killed} for t in found.trials],
        "sound": [asdict(t) | {"passed": not t.killed} for t in found.sound],
    }


def _show(found: SelfTest) -> None:
    out = console()
    rows = [_row(trial) for trial in found.trials]
    if rows:
        out.print(table(("Fault", "Caught by", "Seconds"), rows, fold=1))
    for trial in found.survivors:
        out.print(
            f"\n[bold red]survived[/] {escape(trial.fault)}: {escape(trial.summary)}\n"
            f"  repeat: phalanx conformance --fault {trial.fault}",
            soft_wrap=True,
        )
    for trial in found.sound:
        verdict = "[green]passes[/]"
        if trial.killed:
            verdict = f"[bold red]fails[/] {escape(trial.case)}: {escape(trial.message)}"
        out.print(f"\n{escape(trial.summary)}: {verdict}", soft_wrap=True)
    colour = "green" if holds(found) else "bold red"
    rate = (
        f"kill rate: [{colour}]{100 * found.kill_rate:.1f} %[/] "
        f"({found.killed} of {len(found.trials)} faults, "
    )
    passed = sum(not trial.killed for trial in found.sound)
    sound = f"sound devices: [{colour}]{passed} of {len(found.sound)}[/] pass ("
    out.print(
        f"{rate if found.trials else sound}{found.seconds:.0f} s; "
        f"{'quick' if found.quick else 'full'} run, seed {found.seed})"
    )


def _row(trial: Trial) -> tuple[str, str, str]:
    caught = escape(trial.case) if trial.killed else "[bold red]survived[/]"
    return escape(trial.fault), caught, f"{trial.seconds:.1f}"
