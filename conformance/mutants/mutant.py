"""One mutant: which line of which text is changed, how, and the programs that then are others."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from .operators import changes

#: Texts that are no file: what Python writes for single programs.
WRITTEN = "written"
#: Where the sources of the CPU library are.
LIBRARY, SCALAR = "kernels_cpu/src", "core/scalar"
_FOLDERS = (
    *(("phalanx", "scalar", ".h"), ("phalanx", "device_code", ".h")),
    *(("phalanx.kernels_opencl", "", ".cl"), ("phalanx.kernels_cuda", "", ".cuh")),
)
_MARK = re.compile("\0(\\d+)\0\n")
_INCLUDE = re.compile(r'^#include "\w+\.h"\n', re.MULTILINE)


@cache
def _kernels() -> dict[str, str]:
    found = {}
    for package, folder, suffix in _FOLDERS:
        for file in sorted(files(package).joinpath(folder).iterdir(), key=lambda f: f.name):
            if file.name.endswith(suffix):
                path = "/".join(filter(None, (package.rpartition(".")[2], folder, file.name)))
                found[path.replace("phalanx/", "core/")] = file.read_text("utf-8")
    return found


def checkout() -> Path | None:
    """Return the root of the sources of this installation, ``None`` if only a wheel is here."""
    root = Path(str(files("phalanx.kernels_cpu"))).parent
    return root if (root / "setup.py").exists() and (root / LIBRARY).is_dir() else None


@cache
def library_files() -> tuple[str, ...]:
    """Return the names of the CPU library's sources, with those that programs have, too.

    There are none where only a wheel is here.
    """
    root = checkout()
    if root is None:
        return ()
    found = [path for folder in (LIBRARY, SCALAR) for path in (root / folder).rglob("*.[ch]")]
    return tuple(sorted(path.relative_to(root).as_posix() for path in found))


@cache
def _text(name: str) -> str:
    root = checkout()
    if name in _kernels() or root is None:
        return _kernels()[name]
    return (root / name).read_text("utf-8")


@cache
def body(name: str) -> str:
    """Return a file as programs contain it: without the lines that include others of its folder."""
    return _INCLUDE.sub("", _text(name))


@cache
def bodies() -> dict[str, str]:
    """Return the texts of the core and of the kernels by name, as programs contain them."""
    return {name: body(name) for name in _kernels()}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A line that is changed.

    Attributes:
        text: the name of a file of `bodies` or of the library's, or `WRITTEN`.
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
        return body(self.text).splitlines()[: self.line].count(self.before)

    @property
    def place(self) -> str:
        """Where the line is, for people."""
        if self.text == WRITTEN:
            return self.text
        return f"{self.text}:{self._number}"

    @property
    def _number(self) -> int:
        """The number of the line in the file, from 1."""
        lines = _text(self.text).splitlines(keepends=True)
        kept = [number for number, line in enumerate(lines, 1) if not _INCLUDE.match(line)]
        return kept[self.line]

    @property
    def file(self) -> str:
        """The whole text of the file with the change."""
        lines = _text(self.text).splitlines(keepends=True)
        lines[self._number - 1] = self.after + "\n"
        return "".join(lines)

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

    def found(self) -> Self | None:
        """Return it where its line is by now, ``None`` if the text has no such line any more."""
        if self.text == WRITTEN:
            return self
        if self.text not in _kernels() and self.text not in library_files():
            return None
        lines = body(self.text).splitlines()
        if self.line < len(lines) and lines[self.line] == self.before:
            return self
        places = [number for number, line in enumerate(lines) if line == self.before]
        return replace(self, line=places[0]) if len(places) == 1 else None

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the one that was made plain."""
        return cls(*(data[key] for key in ("text", "line", "operator", "before", "after")))


def of_file(name: str) -> list[Mutant]:
    """Return all mutants of a file of `bodies`, or of the library's."""
    return [
        Mutant(name, number, operator, line, after)
        for number, line in enumerate(body(name).splitlines())
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
