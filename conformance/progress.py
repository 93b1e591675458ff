"""How far a run is: a bar with the time left in a terminal, now and then a line in a log."""

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
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

from .outcome import Outcome
from .settings import Settings

#: Seconds between the lines in a log; continuous-integration servers end jobs that say nothing.
_PAUSE = 30.0


class Progress:
    """Shows on stderr how far a run is, and each failure as it comes; silent unless ``visible``."""

    def __init__(self, settings: Settings, *, visible: bool) -> None:
        self._stderr = sys.stderr  # pytest's is another one while it runs
        self._lines = visible and not self._stderr.isatty()
        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[failures]}"),
            console=Console(file=self._stderr),
            disable=not visible or self._lines,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._device = settings.device
        self._task = self._bar.add_task(self._device, total=None, failures="")
        self._total = self._seen = self._failures = 0
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

    def total(self, count: int) -> None:
        """Set the number of cases."""
        self._total = count
        self._bar.update(self._task, total=count)

    def seen(self, outcome: Outcome) -> None:
        """Count a case."""
        self._seen += 1
        self._failures += outcome.failed
        text = f"[red]{self._failures} failed[/]" if self._failures else ""
        self._bar.update(self._task, advance=1, failures=text)
        if self._lines:
            self._tell(outcome)

    def _tell(self, outcome: Outcome) -> None:
        if outcome.failed:
            click.echo(
                f"{self._device}: {outcome.verdict.value}: {outcome.case}", file=self._stderr
            )
        elif time.monotonic() - self._told > _PAUSE:
            self._told = time.monotonic()
            click.echo(
                f"{self._device}: {self._seen} of {self._total} cases, {self._failures} failed",
                file=self._stderr,
            )
