"""The command ``python -m gpu``."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import click
import phalanx as px
from rich.console import Console
from rich.table import Table

from .steps import Step, steps

_EXAMPLES = """
\b
Examples:
  make gpu
  make gpu ARGS='--device cuda:1 --quick'
  make gpu ARGS='--step bench --step roofline'
  make gpu ARGS=--restart
"""


class State:
    """What was done, in a file: for one device and one version of the code."""

    def __init__(self, path: Path, key: list[str], *, restart: bool) -> None:
        self._path = path
        self._data: dict[str, Any] = {"key": key, "steps": {}}
        if path.exists() and not restart:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found.get("key") == key:
                self._data = found

    @property
    def steps(self) -> dict[str, dict[str, Any]]:
        """The outcome of each step by its name: ``status``, ``seconds`` and what was said last."""
        found: dict[str, dict[str, Any]] = self._data["steps"]
        return found

    def note(self, step: str, status: str, seconds: float, tail: str) -> None:
        """Keep an outcome."""
        self.steps[step] = {"status": status, "seconds": round(seconds, 1), "tail": tail}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(self._data, indent=1) + "\n", encoding="utf-8")
        written.replace(self._path)


@click.command(epilog=_EXAMPLES)
@click.option("--device", default="cuda:0", show_default=True)
@click.option("--step", "names", multiple=True, metavar="NAME", help="May be repeated; again.")
@click.option("--minutes", default=9.5, show_default=True, help="Then it stops, to go on later.")
@click.option("--quick", is_flag=True, help="Fewer sizes and cases: an impression.")
@click.option("--restart", is_flag=True, help="Forget what was done.")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("out/gpu"),
    show_default=True,
    help="Where results and state go.",
)
def gpu(
    device: str, names: tuple[str, ...], minutes: float, quick: bool, restart: bool, folder: Path
) -> None:
    """Prove and measure a device of this machine, step by step.

    What was done and succeeded is not done again, as long as device and code are the same. Exit
    code: 0 if all steps succeeded, 1 if one failed, 3 if time was up.
    """
    console = Console(highlight=False)
    try:
        found = px.devices(device.partition(":")[0])[int(device.partition(":")[2] or 0)]
    except (px.DeviceNotFoundError, IndexError, ValueError):
        raise click.UsageError(f"no device {device!r}; `phalanx why {device}` says why") from None
    plan = list(steps(found.name, folder, quick=quick))
    if unknown := set(names) - {step.name for step in plan}:
        known = ", ".join(step.name for step in plan)
        raise click.UsageError(f"no step {', '.join(sorted(unknown))}; there are: {known}")
    state = State(folder / "state.json", [found.info.name, _code()], restart=restart)
    end = time.monotonic() + 60 * minutes
    for step in plan:
        done = state.steps.get(step.name, {}).get("status") == "ok"
        if (names and step.name not in names) or (done and not names):
            continue
        _do(step, state, end - time.monotonic(), folder, console)
    console.print(_table(plan, state))
    outcomes = [state.steps.get(step.name, {}).get("status", "time is up") for step in plan]
    if "failed" in outcomes:
        raise SystemExit(1)
    if "time is up" in outcomes and not names:
        console.print("Time is up: run the same command again, it goes on.")
        raise SystemExit(3)


def _code() -> str:
    """Return what tells one version of the installed code from another."""
    files = sorted(Path(px.__file__).parent.rglob("*"))
    stamps = [file.stat().st_mtime_ns for file in files if file.suffix in (".py", ".so", ".h")]
    return f"{px.__version__} {len(stamps)} {max(stamps)}"


def _do(step: Step, state: State, seconds: float, folder: Path, console: Console) -> None:
    if missing := step.missing():
        state.note(step.name, "left out", 0.0, f"not installed: {', '.join(missing)}")
        return
    if seconds < 5:
        state.note(step.name, "time is up", 0.0, "")
        return
    console.rule(f"{step.name}: {step.about}")
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{step.name.replace('/', '-').replace(' ', '-').replace(':', '-')}.log"
    begin = time.monotonic()
    with log.open("wb") as out:
        try:
            code = subprocess.run(
                step.command,
                env={**os.environ, **dict(step.environment)},
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            ).returncode
            status = "ok" if code == 0 else "failed"
        except subprocess.TimeoutExpired:
            status = "time is up"
    tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-30:]
    console.print("\n".join(tail), markup=False)
    state.note(step.name, status, time.monotonic() - begin, "\n".join(tail))


def _table(plan: list[Step], state: State) -> Table:
    table = Table("Step", "Outcome", "Seconds", "What it proves", box=None)
    for step in plan:
        found = state.steps.get(step.name, {"status": "not done", "seconds": 0.0})
        table.add_row(step.name, found["status"], f"{found['seconds']:.1f}", step.about)
    return table
