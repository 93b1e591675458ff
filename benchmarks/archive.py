"""Where former runs come from: a file of ``--json``, or the history of this kind of machine."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from . import history
from .bars import means
from .history import Accepts, Entry, History, HistoryError
from .machine import machine_kind
from .report import table
from .results import FASTEST, Run, runs_from_dict

_IN_THE_HISTORY = re.compile(r"last(~\d+)?|\d{4}-[\d\-T:+]*")


class Archive:
    """The history of this machine, opened when it is first needed.

    ``path`` is a file of the user's choice, ``None`` for the machine's own.
    """

    def __init__(self, path: Path | None, console: Console) -> None:
        self.kind = machine_kind()
        self._path = path
        self._console = console
        self._history: History | None = None

    @property
    def history(self) -> History:
        """The history; tells which lines of it are damaged.

        Raises:
            HistoryError: there is no folder for it, or it cannot be read.
        """
        if self._history is None:
            found = History(self._path or history.default_path(self.kind))
            for line, reason in found.damaged.items():
                self._warn(f"{found.path}: line {line} is not read: {reason}")
            self._history = found
        return self._history

    def find(self, wish: str, option: str, accepts: Accepts = lambda _: True) -> list[Run]:
        """Return what is in a file of ``--json``, or an accepted entry of the history.

        Raises:
            click.BadParameter: there is neither, or it is damaged; names the option.
        """
        path = Path(wish)
        if not path.is_file() and not _IN_THE_HISTORY.fullmatch(wish):
            raise click.BadParameter(
                f"{wish} does not exist; write a file of --json, `last`, `last~2`, or how the date "
                "of a run begins, as in 2026-11-23T09",
                param_hint=option,
            )
        try:
            if path.is_file():
                return runs_from_dict(json.loads(path.read_text(encoding="utf-8")))
            return self.history.find(wish, self.kind, accepts).runs
        except (OSError, RecursionError, ValueError) as error:
            raise click.BadParameter(f"{path}: {error}", param_hint=option) from error
        except HistoryError as error:
            raise click.BadParameter(str(error), param_hint=option) from error

    def find_like(self, wish: str, runs: Sequence[Run]) -> list[Run]:
        """Return what some runs can be compared with, nothing where there is none; warns then.

        In the history, entries with nothing in common with the runs do not count.
        """
        try:
            found = self.find(wish, "--compare", lambda entry: any(_like(runs, entry.runs)))
        except click.BadParameter as error:
            self._warn(f"nothing to compare: {error.message}")
            return []
        if not any(_like(runs, found)):
            self._warn(f"nothing to compare: {wish} has no rows of these devices")
        return found

    def can_keep(self) -> bool:
        """Tell whether runs can be added; warns if not.

        Raises:
            HistoryError: the user's own choice of a file cannot be written.
        """
        try:
            self.history.check()
        except HistoryError as error:
            if self._path is not None:
                raise
            self._warn(f"no history is kept: {error}")
            return False
        return True

    def keep(self, data: dict[str, object]) -> None:
        """Add a run to the history; warns if that fails."""
        try:
            self.history.append({"kind": self.kind, **data})
        except HistoryError as error:
            self._warn(str(error))

    def former(self, run: Run) -> list[Entry]:
        """Return the entries of this kind of machine with cases of a run's suite and devices.

        The oldest comes first; none where there is no history, or for a run of another machine.
        """
        hardware = run.machine.get("hardware", {})
        if any(str(hardware.get(key)) != self.kind[key] for key in ("cpu", "cores")):
            return []
        try:
            entries = self.history.of(self.kind)
        except HistoryError as error:
            self._warn(str(error))
            return []
        return [entry for entry in entries if any(_is_like(run, old) for old in entry.runs)]

    def show(self, console: Console) -> None:
        """Print the runs of this kind of machine and how to name them.

        Raises:
            HistoryError: there is no folder for it, or it cannot be read.
        """
        entries = self.history.of(self.kind)
        console.print(f"{self.history.path}", markup=False, soft_wrap=True)
        kind = ", ".join(f"{name} {value}" for name, value in self.kind.items() if value)
        console.print(f"Runs on {escape(kind)}: {len(entries)}", soft_wrap=True)
        if others := len(self.history.entries) - len(entries):
            console.print(f"Runs on other kinds of machines in this file: {others}")
        if not entries:
            return
        made = table("", ["Name", "Date", "Cases", "Of", "/ best"])
        for back, entry in reversed(list(enumerate(reversed(entries)))):
            for run in entry.runs:
                for device, mean in means(run).items():
                    ratio = mean.get(FASTEST)
                    made.add_row(
                        f"last~{back}" if back else "last",
                        entry.date,
                        str(len(run.cases)),
                        escape(f"{run.suite} {device}"),
                        "-" if ratio is None else f"{ratio:.2f}",
                    )
        console.print(made)

    def _warn(self, text: str) -> None:
        self._console.print(f"[yellow]{escape(text)}[/]", soft_wrap=True)


def _is_like(run: Run, old: Run) -> bool:
    return bool(run.suite == old.suite and run.devices.keys() & old.devices.keys() and old.cases)


def _like(runs: Sequence[Run], former: Sequence[Run]) -> Iterator[bool]:
    return (_is_like(run, old) for run in runs for old in former)


def matching(run: Run, former: Sequence[Run]) -> list[Run]:
    """Return the former runs that a run can be compared with."""
    return [old for old in former if _is_like(run, old)]
