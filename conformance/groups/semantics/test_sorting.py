"""Order along an axis; the reference for stable and descending orders is Python's ``sorted``."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    either,
    need,
    put,
    same,
    whole_numbers,
)
from phalanx.conformance.layouts import HostArray
from phalanx.optable import ALL, kind_of

_SHAPES = ((7,), (1,), (0,), (3, 8), (2, 0, 3), (4, 1), (3, 4, 5))
_DTYPES = [d for d in ALL if kind_of(d) != "c"]


def _order(row: HostArray, descending: bool) -> HostArray:
    """The places that sort a row; equal elements keep their order in both directions."""
    values = row.tolist()
    places = sorted(range(len(values)), key=lambda i: values[i], reverse=False)
    if descending:
        places = sorted(range(len(values)), key=lambda i: -float(values[i]))
    return np.asarray(places, np.int64)


def _along(f: Callable[[HostArray], HostArray], host: HostArray, axis: int) -> HostArray:
    """Apply a function of rows along an axis; the result is int64 or as the rows."""
    moved = np.moveaxis(host, axis, -1)
    rows = [f(row) for row in moved.reshape(-1, moved.shape[-1])] if moved.size else []
    found = np.asarray(rows) if rows else np.zeros(0, np.int64)
    return np.moveaxis(found.reshape(moved.shape), -1, axis)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_sort(case: Case, dtype: str, descending: bool) -> None:
    """``sort`` and ``argsort`` along every axis of every layout, with many equal elements."""
    need(case, dtype)
    for shape in either(case, _SHAPES, 4, dtype):
        host = whole_numbers(case, shape, dtype)
        for layout in LAYOUTS:
            x = put(case, host, layout)
            for axis in range(-len(shape), len(shape)):
                places = _along(lambda row: _order(row, descending), host, axis)
                what = f"{layout} {dtype} {shape} along {axis}"
                got = px.argsort(x, axis=axis, descending=descending)
                same(case, got, places, f"argsort of {what}")
                want = np.take_along_axis(host, places, axis=axis)
                same(case, px.sort(x, axis=axis, descending=descending), want, f"sort of {what}")
            same(case, x, host, "the operand")


@pytest.mark.parametrize("count", [255, 257, 1000, 1025, 5000])
def test_long_rows(case: Case, count: int) -> None:
    """Rows longer than any block, and rows that are in order or in reverse order already."""
    rng = case.rng(count)
    host = np.stack([rng.integers(-(2**31), 2**31, count), np.arange(count), -np.arange(count)])
    host = host.astype(np.int32)
    x = put(case, host)
    same(case, px.sort(x), np.sort(host), "sort")
    same(case, px.argsort(x), np.argsort(host, stable=True), "argsort")
    few = rng.integers(0, 5, count).astype(np.int16)
    same(case, px.argsort(put(case, few)), np.argsort(few, stable=True), "argsort of few values")
    columns = np.ascontiguousarray(host.T)
    same(case, px.sort(put(case, columns), axis=0), np.sort(columns, axis=0), "sort of columns")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sort_infinities(case: Case, dtype: str) -> None:
    """Infinities are at the ends, and NaN counts as the largest, as in NumPy."""
    need(case, dtype)
    host = np.asarray([2, -np.inf, np.nan, 0, np.inf, -1, np.nan, 5], dtype)
    x = put(case, host)
    same(case, px.sort(x), np.sort(host))
    same(case, px.argsort(x), np.argsort(host, stable=True))
    same(case, px.sort(x, descending=True), np.sort(host)[::-1])


def test_sort_is_not_in_place(case: Case) -> None:
    """The operand keeps its order, whichever dtype and axis."""
    host = whole_numbers(case, (6, 6), "int32")
    x = put(case, host)
    px.sort(x, axis=0)
    px.sort(x, descending=True)
    px.argsort(x)
    same(case, x, host)
