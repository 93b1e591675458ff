"""Sums and counts by target: the stated order, and what is refused."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, generator
from hypothesis import given, settings
from hypothesis import strategies as st
from phalanx.optable.structured import SCAN_BLOCK


def in_runs(rows: list[Any]) -> Any:
    """Rows added as docs/ops.md says."""
    while len(rows) > 1:
        totals = []
        for begin in range(0, len(rows), SCAN_BLOCK):
            total = rows[begin]
            for row in rows[begin + 1 : begin + SCAN_BLOCK]:
                total = total + row
            totals.append(total)
        rows = totals
    return rows[0]


@pytest.mark.needs_cpu
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "float16", "int8"])
@pytest.mark.parametrize(("m", "n", "width"), [(70_000, 3, 2), (66_000, 1, 1), (900, 50_000, 3)])
def test_order(dtype: str, m: int, n: int, width: int) -> None:
    """Few targets with many rows, and more than there is room for running totals of."""
    rng = generator("segments", dtype, m, width)
    x = (rng.standard_normal((m, width)) * 5).astype(dtype)
    ids = rng.integers(-1, n + 1, m)
    ids[rng.random(m) < 0.9] = n // 2
    got = px.asnumpy(px.segment_sum(px.asarray(x), px.asarray(ids), n))
    wide = x.astype("float32") if dtype == "float16" else x
    with np.errstate(all="ignore"):
        for t in np.unique(ids[(ids >= 0) & (ids < n)]):
            want = in_runs(list(wide[ids == t])).astype(dtype)
            assert got[t].tobytes() == want.tobytes(), t
    assert not got[~np.isin(np.arange(n), ids)].any()


@pytest.mark.needs_cpu
def test_sum_of_negative_zeros() -> None:
    x = px.asarray([-0.0, -0.0, 1.0])
    got = px.segment_sum(x, px.asarray([1, 1, 2]), 4)
    assert np.signbit(px.asnumpy(got)).tolist() == [False, True, False, False]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, device: px.Device) -> None:
    rng = generator("layouts", layout)
    x, ids = rng.standard_normal((6, 40)), rng.integers(0, 9, 6)
    put = LAYOUTS[layout]
    got = px.segment_sum(put(x, device), put(ids, device), 9)
    want = np.zeros((9, 40))
    np.add.at(want, ids, x)
    np.testing.assert_allclose(px.asnumpy(got), want, rtol=1e-12)


def test_number_of_segments(device: px.Device) -> None:
    del device
    x = px.ones((3, 2, 2), dtype=px.int32)
    assert px.segment_sum(x, px.asarray([4, 0, 4])).shape == (5, 2, 2)
    assert px.segment_sum(x[:0], px.asarray([], dtype=px.int64)).shape == (0, 2, 2)
    assert px.segment_sum(x[:0], px.asarray([], dtype=px.int64), 2).tolist() == [[[0, 0]] * 2] * 2
    assert px.segment_sum(x, px.asarray([4, 0, 4]), 0).shape == (0, 2, 2)
    assert px.segment_sum(px.ones((2, 0)), px.asarray([0, 1]), 3).shape == (3, 0)


def test_scatter_add(device: px.Device) -> None:
    del device
    rng = generator("scatter_add")
    x, indices = rng.standard_normal((4, 5, 6)), rng.integers(-5, 5, 30)
    for axis, shape in ((0, (30, 5, 6)), (1, (4, 30, 6)), (-1, (4, 5, 30))):
        values = rng.standard_normal(shape)
        n = x.shape[axis]
        got = px.scatter_add(
            px.asarray(x), px.asarray(indices % n - n), px.asarray(values), axis=axis
        )
        want = np.moveaxis(x.copy(), axis, 0)
        np.add.at(want, indices % n, np.moveaxis(values, axis, 0))
        np.testing.assert_allclose(px.asnumpy(got), np.moveaxis(want, 0, axis), rtol=1e-12)


def test_scatter_add_by_elements(device: px.Device) -> None:
    """What PyTorch's function of this name says of itself, written out."""
    del device
    rng = generator("elements")
    x, indices = rng.standard_normal((4, 5)), rng.integers(0, 4, (7, 3))
    values = rng.standard_normal((7, 3))
    want = x.copy()
    for i, j in np.ndindex(7, 3):
        want[indices[i, j], j] += values[i, j]
    got = px.scatter_add(px.asarray(x), px.asarray(indices), px.asarray(values), axis=0)
    np.testing.assert_allclose(px.asnumpy(got), want, rtol=1e-12)


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=300), st.integers(0, 60))
def test_bincount(values: list[int], least: int) -> None:
    x = np.array(values, np.int64)
    got = px.bincount(px.asarray(x), minlength=least)
    assert got.tolist() == np.bincount(x, minlength=least).tolist()
    fixed = px.bincount(px.asarray(x), length=20).tolist()
    assert fixed == [values.count(t) for t in range(20)]


@settings(deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=True, allow_infinity=False), max_size=60),
    st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=12),
)
def test_histogram_of_any_edges(values: list[float], edges: list[float]) -> None:
    x, e = np.array(values, "f4"), np.sort(np.array(edges, "f4"))
    got, _ = px.histogram(px.asarray(x), bins=e)
    inside = [np.count_nonzero((a <= x) & (x < b)) for a, b in pairwise(e)]
    if inside:
        inside[-1] += np.count_nonzero(x == e[-1])
    assert got.tolist() == inside


def _message(call: Any) -> str:
    with pytest.raises((TypeError, ValueError, IndexError)) as caught:
        call()
    return str(caught.value)


def test_refusals(device: px.Device) -> None:
    del device
    x, ids = px.ones((3, 2)), px.asarray([0, 1, 1])
    calls: dict[str, Any] = {
        "segment_sum takes a phalanx array, got list; use phalanx.asarray": (
            lambda: px.segment_sum([1], ids)  # type: ignore[arg-type]
        ),
        "segment_sum is not defined for bool; use phalanx.astype(x, phalanx.int64)": (
            lambda: px.segment_sum(x > 0, ids)
        ),
        "segment_sum: segment_ids are an integer array, got float64; convert with "
        "phalanx.astype(x, phalanx.int64)": lambda: px.segment_sum(x, px.ones(3)),
        "segment_sum takes data (m, ...) and segment_ids (m,), got shapes (3, 2) and (2,)": (
            lambda: px.segment_sum(x, ids[:2])
        ),
        "segment_sum: num_segments is 0 or more, got -1": lambda: px.segment_sum(x, ids, -1),
        "scatter_add: values of shape (4, 2) do not broadcast to (3, 2), the shape of what the "
        "indices name": lambda: px.scatter_add(x, ids, px.ones((4, 2))),
        "scatter_add: values of complex128 does not go into float64, as a cast would lose "
        "imaginary parts: write phalanx.real(values)": (
            lambda: px.scatter_add(x, ids, px.ones((3, 2), dtype=px.complex128))
        ),
        "bincount: values are 0 or more, got -2": lambda: px.bincount(px.asarray([3, -2])),
        "bincount takes a 1-d array, got shape (3, 2); use phalanx.reshape": (
            lambda: px.bincount(px.ones((3, 2), dtype=px.int64))
        ),
        "bincount: values are an integer array, got float64; convert with "
        "phalanx.astype(x, phalanx.int64)": lambda: px.bincount(x[:, 0]),
        "bincount: weights of shape (2,) for values of shape (3,); they are one for each": (
            lambda: px.bincount(ids, px.ones(2))
        ),
        "bincount: minlength is 0 or more, got -1": lambda: px.bincount(ids, minlength=-1),
        "histogram: bins are at least 1, got 0": lambda: px.histogram(x, 0),
        "histogram: range is (low, high), got (2, 1)": lambda: px.histogram(x, range=(2, 1)),
        "histogram: range is finite, got (0, inf)": lambda: px.histogram(x, range=(0, px.inf)),
        "histogram: edges ascend, got 3 before 2 at place 2": lambda: px.histogram(x, [1, 3, 2]),
        "histogram: bins are a number or edges; for the rule 'auto' write "
        "numpy.histogram_bin_edges(phalanx.asnumpy(a), 'auto')": lambda: px.histogram(x, "auto"),
        "histogram: weights of shape (3,) for elements of shape (3, 2); they are one for each": (
            lambda: px.histogram(x, weights=px.ones(3))
        ),
        "digitize: bins ascend or descend, got [1, 3, 2]": lambda: px.digitize(x, [1, 3, 2]),
        "digitize: bins are 1-d, got shape (3, 2)": lambda: px.digitize(x, x),
    }
    for message, call in calls.items():
        assert _message(call) == message


@pytest.mark.needs_cpu
def test_index_out_of_range() -> None:
    with pytest.raises(IndexError, match="index 3 at place 1 is out of range for an axis of exte"):
        px.scatter_add(px.zeros(3), px.asarray([0, 3]), px.ones(2)).tolist()
