"""Sorting and searching, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.along import Along
from phalanx.conformance.groups.ops.sort_data import (
    BAD,
    LONG,
    LONGEST,
    bad_pivots,
    bytes_that_vary_late,
)
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.groups.ops.structured_data import rows
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, host_dtype
from phalanx.conformance.reference.order import in_order
from phalanx.conformance.reference.values import HostArray, not_numbers, special_values, wild_values
from phalanx.optable import INTEGER, Structure

_LARGE = {("sort", "float32"), ("sort", "int16"), ("argsort", "float64"), ("argsort", "uint8")}

#: Keys of each width with and without places, in rows so long that the way of sorting changes.
_LONG = {("sort", "int32"), ("sort", "uint64"), ("argsort", "int16"), ("argsort", "int64")}
_LONGEST = ("sort", "float32")
_BAD = {("sort", "int32"), ("sort", "int64"), ("argsort", "int32")}

#: Rows that fill what kernels have beside them for short ones.
_FULL = (64, 128, 256, 512, 1024)
#: Bytes of the codes by which shorter keys are sorted, and more of them than lie on a stack.
_CODE, _LONG_ROW = 4, 3000
#: Values of a row or table whose places need more than 16 bits, and values to look for.
_BEYOND = 70_001
#: Elements of one value, with few others.
_EQUAL = 2**16 + 9
#: More than 2**18 elements of 16 bits, which are sorted by counting each value.
_COUNTED = (1 << 18) + 5


@pytest.mark.parametrize("overload", overloads(Structure.SORT), ids=str)
def test_sort(case: Case, overload: Overload) -> None:
    """Both directions, every length and layout, ties, NaN and zeros of both signs."""
    check = Check(case, overload)
    along = Along(check, rows, ((0,), (1,)))
    along.everything()
    rng = case.rng("corners")
    corners = special_values(check.name)
    if check.name in FORMATS:
        corners = np.concatenate([corners, not_numbers(check.name)])
    for params in ((0,), (1,)):
        shuffled = np.stack([rng.permutation(np.tile(corners, 3)) for _ in range(3)])
        check.run("special values", (shuffled,), params)
    for n in _FULL:
        check.run(f"a row of {n}", (wild_values(check.name, n, rng),), (0,))
    if (overload.op, overload.inputs[0]) in _LARGE:
        along.large()
    if (overload.op, overload.inputs[0]) == ("sort", "int16"):
        few = rng.integers(-32768, 32768, 50)
        many = rng.choice(few, _COUNTED).astype(np.int16)
        for params in ((0,), (1,)):
            check.run("few values, each thousands of times", (many[None],), params)
    if host_dtype(check.name).itemsize == 1:  # where elements are counted
        same = np.full((3, _EQUAL), corners[-1])
        same[1, 77 :: _EQUAL // 5] = corners[0]
        same[2] = corners[0]
        same[2, 77 :: _EQUAL // 5] = corners[-1]
        for params in ((0,), (1,)):
            check.run("more equal elements than 16 bits count", (same,), params)
    _hard(check, rng)
    case.finish()


def _hard(check: Check, rng: np.random.Generator) -> None:
    """Rows on which a sort has to change its way."""
    subject = check.overload.op, check.name
    lengths = LONG if subject in _LONG else (LONGEST,) if subject == _LONGEST else ()
    for number, n in enumerate(lengths or (_BEYOND,)):
        x = wild_values(check.name, n, rng)
        check.run(f"a row of {n}", (x,), (number % 2,))
    if check.name in INTEGER:
        for number, n in enumerate((300, 4500)):
            late = bytes_that_vary_late(check.name, n, rng)
            check.run(f"bytes that vary late in rows of {n}", (late,), (number,))
    width = host_dtype(check.name).itemsize
    if check.overload.op == "sort" and width < _CODE:
        # where codes would lie as far apart as the elements of the result do
        x = wild_values(check.name, _LONG_ROW * _CODE // width, rng).reshape(-1, _LONG_ROW)
        check.run("rows whose elements take turns", (x,), (0,), ("contiguous",), "transposed")
    for n in BAD if subject in _BAD else ():
        x = bad_pivots(check.name, n)
        others = [bad_pivots(check.name, n, lanes) for lanes in (4, 8)]
        check.run(f"bad pivots, {n}", (np.stack([x, x[::-1], *others]),), (0,))


@pytest.mark.parametrize("overload", overloads(Structure.SEARCH), ids=str)
def test_search(case: Case, overload: Overload) -> None:
    """Both sides, in tables of every length; values in, between, before and behind the table."""
    check = Check(case, overload)
    rng = case.rng()
    name = overload.inputs[0]
    for number, n in enumerate([0, *check.sizes(rng, (1, 2, 65, 4097))]):
        table = _table(name, n, rng, number)
        wanted = _wanted(table, name, rng)
        for right in (0, 1):
            inside, outside = NAMES[(number + right) % len(NAMES)], NAMES[number % len(NAMES)]
            check.run(f"table {inside} ({n},)", (table, wanted), (right,), (inside,), outside)
    sizes = (0, 1, 255, 257) if case.quick else (0, 1, 63, 64, 65, 255, 256, 257, 1025, 4097)
    table = _table(name, 100, rng, 0)
    for right, count in enumerate(sizes):
        wanted = rng.choice(_wanted(table, name, rng), count)
        check.run(f"{count} values", (table, wanted), (right % 2,), ("contiguous", "strided"))
    many = rng.choice(_wanted(table, name, rng), _BEYOND)
    check.run(f"{_BEYOND} values", (table, many), (1,))
    one_value(check, table)
    long = _table(name, _BEYOND, rng, 1)
    check.run("a long table", (long, np.concatenate([long[::977], wanted])), (1,))
    case.finish()


def _table(name: str, n: int, rng: np.random.Generator, kind: int) -> HostArray:
    """Sorted values (n,): wild, NaN at the end among them, or with many ties and the zeros."""
    corners = special_values(name)
    x = wild_values(name, n, rng) if kind % 2 else rng.choice(corners, n)
    return in_order(x, descending=False)


def _wanted(table: HostArray, name: str, rng: np.random.Generator) -> HostArray:
    chosen = table[rng.integers(0, len(table), 60)] if len(table) else table
    return np.concatenate([chosen, special_values(name), wild_values(name, 60, rng)])


def one_value(check: Check, table: HostArray) -> None:
    """A table of equal values, and equal values to look for."""
    same = np.full(70, table[50])
    for right in (0, 1):
        check.run("equal values", (same, same), (right,))
        check.run("equal values, from behind", (same, table), (right,), ("negative",), "negative")
