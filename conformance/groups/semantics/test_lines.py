"""Rows, columns, outer products and slices in the sizes at which implementations change their way.

All numbers are small and whole, so that NumPy's results are the only right ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import need, put, same, whole_numbers
from phalanx.conformance.layouts import HostArray

_OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "subtract": (operator.sub, "float32"),
    "add": (operator.add, "int16"),
    "multiply": (operator.mul, "float64"),
    "less": (operator.lt, "float32"),
    "equal": (operator.eq, "int8"),
    "bitwise_and": (operator.and_, "int32"),
    "multiply complex": (operator.mul, "complex64"),
}
#: The shapes of two operands: a row for all, a column, both, on either side; more columns than
#: groups have, more rows than 16 bits count, and no whole tiles.
_SHAPES = (
    *(((2, 1030), (1030,)), ((3, 300), (3, 1)), ((3, 1), (3, 2050)), ((33, 1), (1, 37))),
    *(((65_570, 3), (65_570, 1)), ((65_570, 1), (65_570, 3)), ((257, 1), (1, 259))),
    *(((3, 2, 300), (2, 1)), ((1, 300), (70, 1)), ((5, 1, 67), (1, 9, 67)), ((4100,), (3, 1))),
)


@pytest.mark.parametrize("name", _OPERATORS)
def test_operands(case: Case, name: str) -> None:
    """Each pair of shapes contiguous, and with gaps between the elements of one operand."""
    function, dtype = _OPERATORS[name]
    need(case, dtype)
    for number, (shape1, shape2) in enumerate(_SHAPES):
        a = whole_numbers(case, shape1, dtype, name, number, 1)
        b = whole_numbers(case, shape2, dtype, name, number, 2)
        want = function(a, b)
        for first, second in (("contiguous", "contiguous"), ("strided", "padded")):
            got = function(put(case, a, first), put(case, b, second))
            same(case, got, want, f"{name} of {first} {shape1} and {second} {shape2}")


@pytest.mark.parametrize("name", _OPERATORS)
def test_slices(case: Case, name: str) -> None:
    """Every second row, of seven elements and of others, beside rows that are neighbours."""
    function, dtype = _OPERATORS[name]
    need(case, dtype)
    for rows, width in ((9500, 7), (1300, 3), (70, 33), (5, 513)):
        a = whole_numbers(case, (2 * rows, width), dtype, name, rows, 1)
        b = whole_numbers(case, (rows, width), dtype, name, rows, 2)
        got = function(put(case, a)[::2], put(case, b))
        same(case, got, function(a[::2], b), f"{name} of every second of rows of {width}")


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "float32", "float64", "complex128"])
def test_copies_from_gaps_to_gaps(case: Case, dtype: str) -> None:
    """``x[::3] = y[::2]``, and back, of few elements and of more than groups have."""
    need(case, dtype)
    for n in (5, 64, 257, 300, 1025, 5000):
        a = whole_numbers(case, (3 * n,), dtype, n, 1)
        b = whole_numbers(case, (2 * n,), dtype, n, 2)
        for into, out_of in ((3, 2), (2, 2), (1, 2), (3, 1), (-3, 2)):
            x, want = put(case, a), a.copy()
            target, source = slice(None, into * n, into), slice(None, out_of * n, out_of)
            if into < 0:
                target = slice(None, None, into)
            x[target] = put(case, b)[source]
            want[target] = b[source]
            same(case, x, want, f"x[::{into}] = y[::{out_of}] of {n} elements")


def _ends(case: Case, n: int) -> HostArray:
    """Numbers of which some are special."""
    x = whole_numbers(case, (n,), "float32", "ends")
    x[::7], x[3::11], x[5::13] = np.nan, np.inf, -np.inf
    return x


@pytest.mark.parametrize("n", [5, 67, 1001, 5001])
def test_masks(case: Case, n: int) -> None:
    """``where`` with numbers beside special values, masks that begin anywhere, and in place."""
    need(case, "float32")
    host = _ends(case, n)
    flags = whole_numbers(case, (n + 9,), "bool", "mask")
    x, every = put(case, host), put(case, flags)
    for begin in (0, 1, 2, 3, 7):
        mask, chosen = flags[begin : begin + n], every[begin : begin + n]
        what = f"mask[{begin}:]"
        same(case, px.where(chosen, x, 0.0), np.where(mask, host, np.float32(0)), what)
        same(case, px.where(chosen, 2.0, x), np.where(mask, np.float32(2), host), what)
        got = px.where(chosen, 1.0, 3.0)  # of the device's default dtype
        numbers = np.where(mask, 1.0, 3.0).astype(got.dtype.name)
        same(case, got, numbers, f"{what} of two numbers")
        changed, want = put(case, host), host.copy()
        changed[chosen], want[mask] = 4.0, 4.0
        same(case, changed, want, f"x[{what}] = 4")
    for low, high in ((-2.0, 2.0), (0.5, 3.0)):
        same(case, px.clip(x, low, high), np.clip(host, low, high), f"clip to {low} and {high}")
    positive, want = put(case, host), host.copy()
    positive[positive > 0], want[want > 0] = 0.0, 0.0
    same(case, positive, want, "x[x > 0] = 0")
