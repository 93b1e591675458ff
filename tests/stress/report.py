"""What a person sees: a line that moves while programs run, and a report in the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .runner import Outcome

_COLUMNS = 3


@dataclass(slots=True)
class Report:
    """All programs of a run, in the order in which they ended."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def faults(self) -> list[Outcome]:
        """The programs that did not end well."""
        return [outcome for outcome in self.outcomes if outcome.verdict != "ok"]

    def steps(self) -> Counter[str]:
        """Count all steps that were taken, by what they do."""
        total: Counter[str] = Counter()
        for outcome in self.outcomes:
            total.update(outcome.steps)
        return total


def print_fault(console: Console, outcome: Outcome) -> None:
    """Print all that is known of a fault, as soon as it is known."""
    job = outcome.job
    devices = ", ".join(traits.name for traits in job.devices)
    title = f"{outcome.verdict}: seed {job.seed} on {devices} after {outcome.seconds:.1f} s"
    repeat = Text(f"repeat: {outcome.repeat}", overflow="fold")
    body = Group(Text(outcome.detail), Text("\n".join(outcome.last)), repeat)
    console.print(Panel(body, title=escape(title), title_align="left", border_style="red"))


def print_report(console: Console, report: Report, seconds: float, seed: int) -> None:
    """Print operations by kind, programs by device, and the faults in a line each."""
    steps = report.steps()
    table = Table(title="Steps by what they do", title_justify="left", box=None, pad_edge=False)
    for _ in range(_COLUMNS):
        table.add_column(no_wrap=True)
        table.add_column(justify="right")
    cells = [cell for name, count in steps.most_common() for cell in (name, f"{count}  ")]
    cells += [""] * (-len(cells) % (2 * _COLUMNS))
    for first in range(0, len(cells), 2 * _COLUMNS):
        table.add_row(*cells[first : first + 2 * _COLUMNS])
    console.print(table)
    console.print(_devices(report))
    delays = {outcome.delays for outcome in report.outcomes if outcome.verdict == "ok"}
    told = (
        {True: "with", False: "without"}.get(next(iter(delays)), "")
        if delays
        else "with or without"
    )
    console.print(
        f"{len(report.outcomes)} programs, {steps.total()} steps, {seconds:.0f} s, "
        f"first seed {seed}; the core was built {told} random delays"
    )
    for outcome in report.faults:
        first = outcome.detail.partition("\n")[0]
        devices = ", ".join(traits.name for traits in outcome.job.devices)
        console.print(
            f"{outcome.verdict}: seed {outcome.job.seed} on {devices}: {first}", markup=False
        )
        console.print(f"  repeat: {outcome.repeat}", markup=False, soft_wrap=True)
    console.print(f"faults: {len(report.faults)}", style="bold red" if report.faults else "bold")


def _devices(report: Report) -> Table:
    table = Table(title="Programs by device", title_justify="left", box=None, pad_edge=False)
    table.add_column("Devices")
    for name in ("programs", "steps", "wrong", "crash", "hang"):
        table.add_column(name, justify="right")
    rows: dict[str, list[Outcome]] = {}
    for outcome in report.outcomes:
        rows.setdefault(", ".join(t.name for t in outcome.job.devices), []).append(outcome)
    for name, found in rows.items():
        verdicts = Counter(outcome.verdict for outcome in found)
        counts = [len(found), sum(o.steps.total() for o in found)]
        counts += [verdicts["wrong"], verdicts["crash"], verdicts["hang"]]
        table.add_row(name, *(str(count) if count else "-" for count in counts))
    return table
