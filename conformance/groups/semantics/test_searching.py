"""Where elements are, and what lies at given places, against NumPy."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    need,
    put,
    same,
    whole_numbers,
)
from phalanx.optable import ALL, kind_of

_REAL = [d for d in ALL if kind_of(d) in "iuf"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", _REAL)
def test_searchsorted(case: Case, dtype: str, side: Literal["left", "right"]) -> None:
    """Places among sorted elements with equal ones, for values of every shape and outside."""
    need(case, dtype)
    for count in (0, 1, 2, 7, 64, 300):
        host = np.sort(whole_numbers(case, (count,), dtype, "where"))
        for shape in ((), (0,), (40,), (3, 4), (2, 3, 4)):
            values = whole_numbers(case, shape, dtype, "what")
            got = px.searchsorted(put(case, host), put(case, values, "transposed"), side=side)
            want = np.asarray(np.searchsorted(host.astype(float), values.astype(float), side=side))
            same(case, got, want, f"{values.shape} among {count}")
    host = np.sort(whole_numbers(case, (30,), dtype, "where"))
    number = np.searchsorted(host.astype(float), 5, side=side)
    same(case, px.searchsorted(put(case, host), 5, side=side), number, "a Python number")


def test_searchsorted_with_sorter(case: Case) -> None:
    """``sorter`` gives the order of elements that are not sorted; views are as good."""
    host = case.rng().permutation(100).astype(np.int32)
    order = np.argsort(host)
    values = np.arange(-5, 105, dtype=np.int32)
    got = px.searchsorted(put(case, host), put(case, values), sorter=px.asarray(order))
    same(case, got, np.searchsorted(host, values, sorter=order))
    ascending = np.arange(100, 0, -1, dtype=np.int32)
    got = px.searchsorted(put(case, ascending)[::-2], put(case, values), side="right")
    same(case, got, np.searchsorted(ascending[::-2], values, side="right"), "a reversed view")


@pytest.mark.parametrize("dtype", ALL)
def test_nonzero(case: Case, dtype: str) -> None:
    """One index array per axis, in the order of C."""
    need(case, dtype)
    for shape in ((5,), (0,), (300,), (3, 4), (2, 0), (2, 3, 4), (2, 3, 2, 3)):
        host = whole_numbers(case, shape, dtype)
        host = np.where(case.rng("zeros", shape).random(shape) < 0.5, np.zeros_like(host), host)
        for layout in LAYOUTS:
            found = px.nonzero(put(case, host, layout))
            wanted = np.nonzero(host)
            assert len(found) == len(wanted)
            for got, want in zip(found, wanted, strict=True):
                same(case, got, want, f"{layout} {shape}")


@pytest.mark.parametrize("dtype", ALL)
def test_where(case: Case, dtype: str) -> None:
    """Elements of one or the other array, or of a Python number, by a condition."""
    need(case, dtype)
    number: Any = True if dtype == "bool" else 1
    for layout in LAYOUTS:
        condition = whole_numbers(case, (5, 7), "bool")
        a, b = (whole_numbers(case, (5, 7), dtype, i) for i in range(2))
        c, x, y = put(case, condition, layout), put(case, a), put(case, b, layout)
        same(case, px.where(c, x, y), np.where(condition, a, b), layout)
        same(case, px.where(c, x, number), np.where(condition, a, number).astype(a.dtype))
        same(case, px.where(c, number, y), np.where(condition, number, b).astype(a.dtype))
        same(case, px.where(~c[:, :1], x, y[0]), np.where(~condition[:, :1], a, b[0]), "broadcast")


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "int64", "float32", "complex64"])
def test_take(case: Case, dtype: str, axis: int) -> None:
    """Slices along an axis, some of them often, from both ends and of any layout."""
    for layout in LAYOUTS:
        host = whole_numbers(case, (4, 3, 5), dtype, layout)
        x = put(case, host, layout)
        for places in ([0], [2, -1, 0, 2], [], [-3]):
            index = np.asarray(places, np.int64)
            got = px.take(x, px.asarray(index), axis=axis)
            same(case, got, np.take(host, index, axis=axis), f"{layout} {places}")
    same(case, px.take(x[0, 0], px.asarray(index)), np.take(host[0, 0], index), "without an axis")


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
def test_take_along_axis(case: Case, axis: int) -> None:
    """One element per place, with indices that broadcast and that count from the end."""
    for layout in LAYOUTS:
        host = whole_numbers(case, (4, 3, 5), "float32", layout)
        x = put(case, host, layout)
        for count in (1, 4, 0):
            shape = list(host.shape)
            shape[axis] = count
            extent = host.shape[axis]
            index = case.rng(axis, count).integers(-extent, extent, shape)
            got = px.take_along_axis(x, put(case, index, layout), axis=axis)
            same(case, got, np.take_along_axis(host, index, axis=axis), f"{layout}, {count}")
        ones = [1, 1, 1]
        ones[axis] = 2
        index = np.asarray([1, 0]).reshape(ones)
        got = px.take_along_axis(x, px.asarray(index), axis=axis)
        same(case, got, np.take_along_axis(host, index, axis=axis), f"{layout}, broadcast")


def test_argsort_and_take_along_axis(case: Case) -> None:
    """The places of ``argsort`` give the order of ``sort``."""
    host = case.rng().standard_normal((6, 50)).astype(np.float32)
    for axis in (0, 1):
        x = put(case, host)
        got = px.take_along_axis(x, px.argsort(x, axis=axis), axis=axis)
        same(case, got, np.sort(host, axis=axis))
