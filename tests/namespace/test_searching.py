"""nonzero and searchsorted; argmax and argmin are reductions, where is elementwise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import ordinary_values, special_values
from phalanx.optable import ALL, FLOATING, REAL


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(0,), (1,), (17,), (1000,), (3, 5), (2, 3, 4), (2, 0, 3)])
def test_nonzero(name: str, shape: tuple[int, ...], device: px.Device) -> None:
    rng = generator("nonzero", name, shape)
    x = np.where(
        rng.random(shape) < 0.4, ordinary_values(name, int(np.prod(shape)), rng).reshape(shape), 0
    )
    x = x.astype(host_dtype(name))
    for layout, make in LAYOUTS.items() if x.size else [("contiguous", LAYOUTS["contiguous"])]:
        got = px.nonzero(make(x, device))
        want = np.nonzero(x)
        assert isinstance(got, tuple)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, layout)


def test_nonzero_of_special_values(device: px.Device) -> None:
    assert px.nonzero(px.asarray([0.0, -0.0, np.nan, np.inf, 5e-324]))[0].tolist() == [2, 3, 4]
    assert px.nonzero(px.asarray([0j, 1j, -0.0 + 0j]))[0].tolist() == [1]
    assert px.nonzero(px.zeros((2, 2)))[1].shape == (0,)
    assert [i.tolist() for i in px.nonzero(px.ones((2, 2)))] == [[0, 0, 1, 1], [0, 1, 0, 1]]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", REAL)
def test_searchsorted(name: str, side: str, device: px.Device) -> None:
    rng = generator("search", name)
    for n in (0, 1, 2, 7, 64, 1000):
        ordered = np.sort(rng.integers(0, 50, n)).astype(host_dtype(name))
        values = rng.integers(0, 60, (5, 8)).astype(host_dtype(name))
        want = np.searchsorted(ordered.astype(float), values.astype(float), side)
        got = px.searchsorted(px.asarray(ordered), px.asarray(values), side=side)
        assert_same(got, want, f"{n} {name}")
        shuffled = rng.permutation(n)
        places = np.argsort(ordered[shuffled], kind="stable")
        mixed = px.asarray(ordered[shuffled])
        got = px.searchsorted(mixed, px.asarray(values), side=side, sorter=px.asarray(places))
        assert_same(got, want, f"{n} {name} by a sorter")
    limits = special_values(name)
    limits = np.sort(limits[~np.isnan(limits)]) if name in FLOATING else limits
    got = px.searchsorted(px.asarray(limits), px.asarray(limits), side=side)
    assert_same(
        got,
        np.searchsorted(limits.astype(np.longdouble), limits.astype(np.longdouble), side),
        "limits",
    )


def test_searchsorted_layouts_and_promotion(device: px.Device) -> None:
    ordered, values = np.arange(0, 40, 2), np.arange(12).reshape(3, 4) * 3
    for layout, make in LAYOUTS.items():
        got = px.searchsorted(make(ordered, device), make(values, device))
        assert_same(got, np.searchsorted(ordered, values), layout)
    small = px.asarray([1, 5], dtype=px.int8)
    assert px.searchsorted(small, px.asarray([200], dtype=px.uint8)).tolist() == [2]
    assert px.searchsorted(px.asarray([1, 2, 3]), 2.5).item() == 2
    assert px.searchsorted(px.asarray([1.0, 2.0]), 2, side="right").item() == 2
    assert px.searchsorted(px.asarray([1.0, 2.0]), px.ones((0, 3))).shape == (0, 3)


def test_searchsorted_nan(device: px.Device) -> None:
    """NaN is after every number, on both sides."""
    x = px.asarray([1.0, 2.0, np.nan, np.nan])
    values = px.asarray([np.nan, np.inf])
    assert px.searchsorted(x, values).tolist() == [2, 2]
    assert px.searchsorted(x, values, side="right").tolist() == [4, 2]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: px.nonzero(px.asarray(1)),
            ValueError,
            "nonzero needs at least one axis, got a 0-d array",
        ),
        (lambda: px.nonzero([1]), TypeError, "nonzero takes a phalanx array, got list"),
        (
            lambda: px.searchsorted(px.ones((2, 2)), px.ones(1)),
            ValueError,
            "x1 is a sorted 1-d array",
        ),
        (lambda: px.searchsorted([1], px.ones(1)), ValueError, "x1 is a sorted 1-d array"),
        (
            lambda: px.searchsorted(px.ones(2), px.ones(1), side="mid"),
            ValueError,
            'side is "left" or "right", got \'mid\'',
        ),
        (
            lambda: px.searchsorted(px.asarray([1j]), px.asarray([1j])),
            TypeError,
            "not defined for complex128: it has no order",
        ),
        (
            lambda: px.searchsorted(px.asarray([True]), px.asarray([True])),
            TypeError,
            "not defined for bool",
        ),
        (lambda: px.searchsorted(px.ones(2), px.asarray([1])), TypeError, "no common dtype"),
        (
            lambda: px.searchsorted(px.ones(2), [1]),
            TypeError,
            "x2 is an array or a number, got list",
        ),
        (
            lambda: px.searchsorted(px.ones(2), 1.0, sorter=px.asarray([0, 5])),
            IndexError,
            "index 5",
        ),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    def finished() -> None:
        make()
        device.synchronize()  # where kernels run later, the error comes then

    with px.promotion("standard"), pytest.raises(error, match=message):
        finished()


def test_devices_do_not_mix(drivers: object) -> None:
    with pytest.raises(px.DeviceMismatchError, match="searchsorted"):
        px.searchsorted(px.ones(2, device="fake:0"), px.ones(2, device="fake:1"))
