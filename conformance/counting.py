"""How many of a long run are done: a bar with the time left in a terminal, now and then a line."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

#: Seconds between the lines in a log; continuous-integration servers end jobs that say nothing.
_PAUSE = 30.0


class CountingBar:
    """Shows on stderr how far a run is; silent unless ``visible``.

    Args:
        what: is counted for, as a device.
        noun: what is counted, in the plural.
        bad: what is said of those that are not as they should be, such as ``failed``.
        total: how many there are, if that is known.
        visible: whether anything is shown.
    """

    def __init__(self, what: str, noun: str, bad: str, total: int | None, *, visible: bool) -> None:
        self._stderr = sys.stderr  # pytest's is another one while it runs
        self._is_log = visible and not self._stderr.isatty()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[bad]}"),
            console=Console(file=self._stderr),
            transient=True,
            disable=not visible or self._is_log,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task(what, total=total, bad="")
        self._what, self._noun, self._word, self._total = what, noun, bad, total
        self._seen = self._bad = 0
        self._told = time.monotonic()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, what: str, total: int | None) -> None:
        """Begin to count something else."""
        self._what, self._total, self._seen, self._bad = what, total, 0, 0
        self._bar.reset(self._task, description=what, total=total, bad="")

    def total(self, count: int) -> None:
        """Set how many there are."""
        self._total = count
        self._bar.update(self._task, total=count)

    def advance(self, wrong: str = "") -> None:
        """Count one; ``wrong`` says what is wrong with it, and is told at once in a log."""
        self._seen += 1
        self._bad += bool(wrong)
        text = f"[red]{self._bad} {self._word}[/]" if self._bad else ""
        self._bar.update(self._task, advance=1, bad=text)
        if self._is_log:
            self._tell(wrong)

    def _tell(self, wrong: str) -> None:
        if wrong:
            click.echo(f"{self._what}: {wrong}", file=self._stderr)
        elif time.monotonic() - self._told > _PAUSE:
            self._told = time.monotonic()
            total = "" if self._total is None else f" of {self._total}"
            line = f"{self._what}: {self._seen}{total} {self._noun}, {self._bad} {self._word}"
            click.echo(line, file=self._stderr)
