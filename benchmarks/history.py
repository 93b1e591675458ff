"""Former runs on machines of one kind: a file of JSON lines, to which each run adds one.

A line is what ``--json`` saves, with the kind of the machine, and samples of four digits. Lines are
added under a lock, whole or not at all, and nothing is ever removed or written anew.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from .results import Run, runs_from_dict

_LAST = re.compile(r"last(?:~(\d{1,6}))?")


class HistoryError(Exception):
    """The history cannot be read or written; the text names the file and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the file: what was run on which kind of machine, when, in which line."""

    line: int
    date: str
    kind: Mapping[str, str]
    runs: list[Run]

    @property
    def is_of_programs(self) -> bool:
        """Whether programs were run, and no workloads."""
        return self.runs[0].suite == "programs"


#: Whether an entry is one that is looked for.
Accepts: TypeAlias = Callable[[Entry], bool]


def _all(_: Entry) -> bool:
    return True


def default_path(kind: Mapping[str, str]) -> Path:
    """Return the file of a kind of machine in the user's data folder.

    Raises:
        HistoryError: platformdirs is not installed.
    """
    try:
        import platformdirs
    except ImportError as error:
        raise HistoryError(
            'no platformdirs, which knows the user\'s folder: pip install "phalanx[bench]", or '
            "write --history FILE or --no-history"
        ) from error
    text = json.dumps(kind, sort_keys=True)
    words = re.sub(r"[^a-z0-9]+", "-", f"{kind.get('cpu', '')} {kind.get('cores', '')}".lower())
    name = f"{words.strip('-')[:60]}-{sha256(text.encode()).hexdigest()[:8]}.jsonl"
    return Path(platformdirs.user_data_dir("phalanx")) / "bench" / name


class History:
    """The runs in one file; ``damaged`` tells which lines are not read and why."""

    def __init__(self, path: Path) -> None:
        """Read a file; one that is not there is empty, and made by the first `append`.

        Raises:
            HistoryError: it cannot be read.
        """
        self.path = path
        self.entries: list[Entry] = []
        self.damaged: dict[int, str] = {}
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return
        except OSError as error:
            raise HistoryError(
                f"{path} cannot be read: {error.strerror or error}; write --history FILE"
            ) from error
        for number, line in enumerate(lines, start=1):
            if line.strip():
                self._read(number, line)

    def _read(self, number: int, line: bytes) -> None:
        try:
            data = json.loads(line)
            runs = runs_from_dict(data)
            kind = {str(key): str(value) for key, value in data.get("kind", {}).items()}
            self.entries.append(Entry(number, str(data.get("date", "")), kind, runs))
        except (AttributeError, RecursionError, ValueError) as error:
            self.damaged[number] = str(error)

    def of(self, kind: Mapping[str, str]) -> list[Entry]:
        """Return the entries of a kind of machine, the oldest first."""
        return [entry for entry in self.entries if entry.kind == kind]

    def find(self, wish: str, kind: Mapping[str, str], accepts: Accepts = _all) -> Entry:
        """Return an entry of a kind of machine among those that are accepted.

        ``wish`` is ``last``, ``last~2`` for two before it, or how a date begins, of which the last
        counts.

        Raises:
            HistoryError: there is none, or only others.
        """
        own = [entry for entry in self.of(kind) if accepts(entry)]
        if not own:
            others = len(self.entries)
            why = f"its {others} runs are others, or of other machines" if others else "it is empty"
            raise HistoryError(f"the history has no such run: {why} ({self.path})")
        if found := _LAST.fullmatch(wish):
            back = int(found[1] or 0)
            if back >= len(own):
                raise HistoryError(
                    f"the history has {len(own)} such runs of this machine, no {wish}"
                )
            return own[-1 - back]
        dated = [entry for entry in own if entry.date.startswith(wish)]
        if not dated:
            raise HistoryError(
                f"no run of the history began at {wish}; they are of {own[0].date} "
                f"to {own[-1].date}, `phalanx bench --list` shows them"
            )
        return dated[-1]

    def check(self) -> None:
        """Make the file if need be.

        Raises:
            HistoryError: it cannot be written.
        """
        with self._writing():
            pass

    def append(self, data: Mapping[str, Any]) -> None:
        """Add a run, whole or not at all.

        Raises:
            HistoryError: it cannot be written; the file is as before.
        """
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
        with self._writing() as file:
            _append(file, text.encode())

    @contextmanager
    def _writing(self) -> Iterator[int]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(self.path) as file:
                yield file
        except OSError as error:
            raise HistoryError(
                f"{self.path} cannot be written: {error.strerror or error}; write --history FILE "
                "or --no-history"
            ) from error


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open a file for appending, and let no other run append meanwhile."""
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        with suppress(ImportError):  # where there are no such locks, runs are seldom two at once
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _append(file: int, text: bytes) -> None:
    """Write at the end, behind a new line if the last one is not whole; undo what was not written.

    Raises:
        OSError: the system refuses; the file has its former size.
    """
    before = os.lseek(file, 0, os.SEEK_END)
    if before:
        os.lseek(file, before - 1, os.SEEK_SET)
        text = text if os.read(file, 1) == b"\n" else b"\n" + text
    try:
        rest = memoryview(text)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, before)
        raise


def rounded(data: Any) -> Any:
    """Return plain data with the samples rounded to four digits, which is finer than any noise."""
    if isinstance(data, Mapping):
        return {
            key: [float(f"{s:.4g}") for s in value] if key == "samples" else rounded(value)
            for key, value in data.items()
        }
    if isinstance(data, Iterable) and not isinstance(data, str):
        return [rounded(value) for value in data]
    return data
