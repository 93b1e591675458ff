"""sort and argsort: order, stability, NaN, signed zeros, axes and layouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray, special_values, wild_values
from phalanx.optable import BOOLEAN, FLOATING, REAL

LENGTHS = (0, 1, 2, 3, 5, 16, 17, 31, 32, 33, 64, 100, 257, 1000, 5000)


def reference(x: HostArray, descending: bool, signed_zeros: bool) -> HostArray:
    """Places in order, stably, by Python's sort: NaN is the largest; -0 may be below +0."""

    def key(i: int) -> tuple[int, object, int]:
        value = x[i].item() if x.dtype.kind != "V" else float(x[i])
        if value != value:
            return (1, 0, 0)
        sign = (
            int(not np.signbit(x[i])) if signed_zeros and value == 0 and x.dtype.kind in "fV" else 0
        )
        return (0, value, sign)

    # reverse=True keeps equal elements in their order
    return np.array(sorted(range(len(x)), key=key, reverse=descending), np.int64)


def few_values(name: str, n: int) -> HostArray:
    """Many ties, and special values among them."""
    rng = generator("ties", name, n)
    pool = special_values(name)
    return rng.choice(pool[:: max(1, len(pool) // 8)], n)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", BOOLEAN + REAL)
def test_order(name: str, descending: bool, device: px.Device) -> None:
    for n in LENGTHS if device.name == "cpu:0" else LENGTHS[:-3]:
        for x in (few_values(name, n), wild_values(name, n, generator(name, n))):
            places = px.argsort(px.asarray(x), descending=descending)
            assert_same(places, reference(x, descending, False), f"argsort of {n} {name}")
            want = x[reference(x, descending, True)]
            assert_same(px.sort(px.asarray(x), descending=descending), want, f"sort of {n} {name}")


@pytest.mark.parametrize("name", ["float32", "int16", "float16", "uint64"])
def test_patterns(name: str, device: px.Device) -> None:
    """Runs, saws and constants, on which quicksorts go wrong."""
    for n in (100, 3000):
        i = np.arange(n)
        for x in (
            i,
            i[::-1],
            i % 7,
            np.zeros(n),
            np.minimum(i, n - i),
            np.where(i == n // 2, 9, 1),
        ):
            x = x.astype(host_dtype(name))
            assert_same(px.sort(px.asarray(x)), np.sort(x, kind="stable"))
            assert_same(px.argsort(px.asarray(x)), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("name", ["float32", "int8", "uint32", "bool", "float64"])
def test_axes_and_layouts(name: str, device: px.Device) -> None:
    x = wild_values(name, 4 * 6 * 5, generator("axes", name)).reshape(4, 6, 5)
    x = np.where(np.isnan(x), 1, x).astype(x.dtype) if name.startswith("float") else x
    for axis in (0, 1, 2, -1, -3):
        for layout, make in LAYOUTS.items():
            view = make(x, device)
            assert_same(
                px.sort(view, axis=axis), np.sort(x, axis=axis, kind="stable"), f"{layout} {axis}"
            )
            want = np.argsort(x, axis=axis, kind="stable")
            assert_same(px.argsort(view, axis=axis), want, f"argsort {layout} {axis}")
            assert_same(view, x, "the operand")


def test_options_and_edges(device: px.Device) -> None:
    x = px.asarray([3, 1, 2])
    assert px.sort(x, stable=False).tolist() == [1, 2, 3]
    assert px.argsort(x, descending=True, stable=False).tolist() == [0, 2, 1]
    assert px.sort(px.ones((0, 3)), axis=0).shape == (0, 3)
    assert px.argsort(px.ones((2, 0))).shape == (2, 0)
    assert px.argsort(px.ones((3, 1))).tolist() == [[0], [0], [0]]
    single = px.sort(px.ones((3, 1)))
    single += 1
    assert single.tolist() == [[2.0]] * 3
    assert px.sort(px.broadcast_to(px.asarray([2, 1]), (3, 2)), axis=1).tolist() == [[1, 2]] * 3


@pytest.mark.parametrize("name", FLOATING)
def test_nan_and_zeros(name: str, device: px.Device) -> None:
    x = px.asarray([np.nan, 0.0, -np.inf, -0.0, np.nan, 1.0], dtype=name)
    assert px.argsort(x).tolist() == [2, 1, 3, 5, 0, 4]
    assert px.argsort(x, descending=True).tolist() == [0, 4, 5, 1, 3, 2]
    zeros = px.sort(px.asarray([0.0, -0.0, 0.0, -0.0], dtype=name))
    assert px.signbit(zeros).tolist() == [True, True, False, False]
    zeros = px.sort(zeros, descending=True)
    assert px.signbit(zeros).tolist() == [False, False, True, True]


@pytest.mark.parametrize("function", [px.sort, px.argsort])
@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: [1], TypeError, "takes a phalanx array, got list"),
        (lambda: px.asarray(1), ValueError, "needs at least one axis, got a 0-d array"),
        (
            lambda: px.asarray([1j]),
            TypeError,
            "is not defined for complex128: complex numbers have no order",
        ),
    ],
)
def test_errors(
    function: Callable[..., px.Array],
    make: Callable[[], px.Array],
    error: type[Exception],
    message: str,
    device: px.Device,
) -> None:
    with pytest.raises(error, match=f"{function.__name__} {message}"):
        function(make())
    with pytest.raises(IndexError, match="axis 3 is out of range"):
        function(px.ones(2), axis=3)
