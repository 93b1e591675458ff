"""A bar that counts trials of a self-test, with the time left and how many survived."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class CountingBar:
    """Shows on stderr how far a self-test is; silent unless ``visible``."""

    def __init__(self, what: str, total: int | None, *, visible: bool) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[survived]}"),
            console=Console(stderr=True),
            transient=True,
            disable=not visible,
        )
        self._task = self._bar.add_task(what, total=total, survived="")

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
        self._bar.reset(self._task, description=what, total=total)

    def advance(self, survived: int) -> None:
        """Count one, and show how many survived so far."""
        text = f"[red]{survived} survived[/]" if survived else ""
        self._bar.update(self._task, advance=1, survived=text)
