"""One mutant: which line of which text is changed, how, and the programs that then are others."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from .operators import changes

#: Texts that are no file: what Python writes for single programs.
WRITTEN = "written"
_FOLDERS = (
    *(("phalanx", "scalar", ".h"), ("phalanx", "device_code", ".h")),
    *(("phalanx.kernels_opencl", "", ".cl"), ("phalanx.kernels_cuda", "", ".cuh")),
)
_MARK = re.compile("\0(\\d+)\0\n")
_INCLUDE = re.compile(r'^#include "\w+\.h"\n', re.MULTILINE)


@cache
def _texts() -> dict[str, str]:
    found = {}
    for package, folder, suffix in _FOLDERS:
        for file in sorted(files(package).joinpath(folder).iterdir(), key=lambda f: f.name):
            if file.name.endswith(suffix):
                path = "/".join(filter(None, (package.rpartition(".")[2], folder, file.name)))
                found[path.replace("phalanx/", "core/")] = file.read_text("utf-8")
    return found


@cache
def bodies() -> dict[str, str]:
    """Return the texts of the core and of the kernels by name, as programs contain them."""
    return {name: _INCLUDE.sub("", text) for name, text in _texts().items()}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A line that is changed.

    Attributes:
        text: the name of a file of `bodies`, or `WRITTEN`.
        line: its number in the body of the file from 0; of a written program, which of the lines
            that read the same.
        operator: the name of the change.
        before: the line.
        after: the line of the mutant.
    """

    text: str
    line: int
    operator: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """A short name, which does not depend on what else stands in the text."""
        same = f"{self.text}\n{self.operator}\n{self.before}\n{self.after}\n{self._ordinal}"
        return f"m{hashlib.sha256(same.encode()).hexdigest()[:10]}"

    @property
    def _ordinal(self) -> int:
        """Which of the lines of the text that read the same it is."""
        if self.text == WRITTEN:
            return self.line
        return bodies()[self.text].splitlines()[: self.line].count(self.before)

    @property
    def place(self) -> str:
        """Where the line is, for people."""
        if self.text == WRITTEN:
            return self.text
        lines = _texts()[self.text].splitlines(keepends=True)
        kept = [number for number, line in enumerate(lines, 1) if not _INCLUDE.match(line)]
        return f"{self.text}:{kept[self.line]}"

    @property
    def difference(self) -> str:
        """Both lines, as a diff shows them."""
        return f"- {self.before.strip()}\n+ {self.after.strip()}"

    def applied(self, text: str) -> str:
        """Return a program's whole text with the change; the same text if it has no such line."""
        if self.text != WRITTEN:
            body = bodies()[self.text]
            if body not in text:
                return text
            lines = body.splitlines(keepends=True)
            end = "\n" if lines[self.line].endswith("\n") else ""
            lines[self.line] = self.after + end
            return text.replace(body, "".join(lines), 1)
        return _with_files(self._applied_to_written(_without_files(text)))

    def _applied_to_written(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        same = [i for i, line in enumerate(lines) if line.rstrip("\n") == self.before]
        if len(same) > self.line:
            lines[same[self.line]] = self.after + "\n"
        return "".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {"name": self.name, **asdict(self)}


def of_file(name: str) -> list[Mutant]:
    """Return all mutants of a file of `bodies`."""
    return [
        Mutant(name, number, operator, line, after)
        for number, line in enumerate(bodies()[name].splitlines())
        for operator, after in changes(line)
    ]


def of_program(source: str) -> Iterator[Mutant]:
    """Yield the mutants of what a program's source has besides the files'."""
    seen: Counter[str] = Counter()
    for line in _without_files(source).splitlines():
        for operator, after in changes(line):
            yield Mutant(WRITTEN, seen[line], operator, line, after)
        seen[line] += 1


def _without_files(text: str) -> str:
    """Put a mark in the place of each file that a text contains."""
    for number, body in enumerate(bodies().values()):
        text = text.replace(body, f"\0{number}\0\n")
    return text


def _with_files(text: str) -> str:
    """Put the files back in the places of their marks."""
    found = list(bodies().values())
    return _MARK.sub(lambda mark: found[int(mark[1])], text)
