"""The functions of a preprocessed text, and which of them another text changes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from .reach import NAME, defined, parts


@dataclass(frozen=True, slots=True)
class _Item:
    begin: int
    end: int
    text: str

    @property
    def is_function(self) -> bool:
        return "{" in self.text and self.text.rstrip().endswith("}")


class Functions:
    """The functions of a text; ``changed`` compares it with another one, line by line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.splitlines(keepends=True)

    @cached_property
    def _items(self) -> list[_Item]:
        found, begin = [], 0
        for text in parts(self.text):
            found.append(_Item(begin, begin + len(text), text))
            begin += len(text)
        return found

    @cached_property
    def _starts(self) -> list[int]:
        return [item.begin for item in self._items]

    @cached_property
    def _users(self) -> dict[str, list[int]]:
        """The items that have a name, by it."""
        found: dict[str, list[int]] = {}
        for number, item in enumerate(self._items):
            for name in set(NAME.findall(item.text)):
                found.setdefault(name, []).append(number)
        return found

    def changed(self, other: str) -> set[str]:
        """Return the functions that another text has otherwise, and those that use other items.

        With a line of a table, the functions that it names are others, too.
        """
        spans = self._spans(other)
        todo = {number for begin, end in spans for number in self._at(begin, end)}
        found = set[str]().union(*(self._listed(begin, end) for begin, end in spans))
        known = set(todo)
        for _ in range(_STEPS):
            names = [(self._items[i].is_function, self._names(i)) for i in todo]
            found |= {name for is_function, own in names if is_function for name in own}
            others = {name for is_function, own in names if not is_function for name in own}
            todo = {number for name in others for number in self._users.get(name, ())} - known
            known |= todo
        return found

    def _listed(self, begin: int, end: int) -> set[str]:
        """Return the functions that the row of a span names, if it is in no function.

        A row of a table begins behind the one before, and may have several lines.
        """
        if any(self._items[number].is_function for number in self._at(begin, end)):
            return set()
        last = _ROW_END.search(self.text, end)
        row = self.text[: last.start() if last else None]
        first = max((found.end() for found in _ROW_END.finditer(row, 0, begin)), default=0)
        names = set(NAME.findall(row[first:]))
        return {
            n
            for n in names
            for i in self._users[n]
            if self._items[i].is_function and n in self._names(i)
        }

    def callers(self, names: set[str]) -> set[str]:
        """Return the functions that have one of some names in them."""
        found: set[str] = set()
        for name in names:
            for number in self._users.get(name, ()):
                item = self._items[number]
                if item.is_function:
                    found |= self._names(number)
        return found - names

    def live(self, roots: Iterable[str]) -> frozenset[str]:
        """Return the functions that some functions need, directly or not, with these."""
        defining: dict[str, list[int]] = {}
        for number in range(len(self._items)):
            for name in self._names(number):
                defining.setdefault(name, []).append(number)
        found = set(roots)
        todo = list(found)
        while todo:
            for number in defining.get(todo.pop(), ()):
                new = set(NAME.findall(self._items[number].text)) & defining.keys() - found
                found |= new
                todo += new
        return frozenset(found)

    def _names(self, number: int) -> set[str]:
        """Return the names that an item defines; none if that is not certain."""
        return defined(self._items[number].text, set())

    def _spans(self, other: str) -> list[tuple[int, int]]:
        """Return where the text differs: from the first to the last character of each line."""
        theirs = other.splitlines(keepends=True)
        if len(theirs) != len(self._lines):
            first, last = _ends(self.text, other)
            return [(first, last)]
        spans, at = [], 0
        for ours, line in zip(self._lines, theirs, strict=True):
            if ours != line:
                first, last = _ends(ours, line)
                spans.append((at + first, at + last))
            at += len(ours)
        return spans

    def _at(self, begin: int, end: int) -> range:
        first = bisect_right(self._starts, begin) - 1
        return range(max(0, first), bisect_right(self._starts, max(begin, end - 1)))


#: How a row of a table ends, and what comes before the first.
_ROW_END = re.compile(r"(?:\},?|= *\{|;) *$", re.MULTILINE)
#: From a table or a type to what uses it, and on from there if that is another of these.
_STEPS = 3


def _ends(one: str, other: str) -> tuple[int, int]:
    """Return where one text differs from another: the first place, and that behind the last."""
    size = min(len(one), len(other))
    first = next((i for i in range(size) if one[i] != other[i]), size)
    last = next((i for i in range(size - first) if one[-1 - i] != other[-1 - i]), size - first)
    return first, len(one) - last
