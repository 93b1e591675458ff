"""Unique values and membership against NumPy and against Python's own dictionaries."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import ALL, COMPLEX, FLOATING


def sample(name: str, n: int) -> HostArray:
    rng = generator("sets", name, n)
    x = rng.integers(0, 9, n)
    if name in COMPLEX:
        return (x % 3 + 1j * (x // 3)).astype(name)
    return x.astype(host_dtype(name))


def ordered(values: set[object]) -> list[object]:
    return sorted(values, key=lambda v: (v.real, v.imag) if isinstance(v, complex) else v)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n", [0, 1, 2, 50, 1000])
def test_unique(name: str, n: int, device: px.Device) -> None:
    x = sample(name, n)
    items = [v.item() if name != "bfloat16" else float(v) for v in x]
    want = ordered(set(items))
    firsts = [items.index(v) for v in want]
    counts = [items.count(v) for v in want]
    inverse = [want.index(v) for v in items]
    array = px.asarray(x)
    assert px.unique_values(array).tolist() == want
    assert px.unique_values(array).dtype.name == name
    got = px.unique_all(array)
    assert [a.tolist() for a in got] == [want, firsts, inverse, counts]
    assert got.indices.dtype is got.counts.dtype is got.inverse_indices.dtype is px.int64
    assert [a.tolist() for a in px.unique_counts(array)] == [want, counts]
    assert [a.tolist() for a in px.unique_inverse(array)] == [want, inverse]


def test_shape_of_the_inverse(device: px.Device) -> None:
    x = np.array([[3, 1, 3], [1, 1, 2]], np.int32)
    for layout, make in LAYOUTS.items():
        view = make(x, device)
        found = px.unique_all(view)
        assert_same(found.inverse_indices, np.array([[2, 0, 2], [0, 0, 1]]), layout)
        assert_same(
            px.take(found.values, px.reshape(found.inverse_indices, (6,))), x.ravel(), layout
        )
        assert found.indices.tolist() == [1, 5, 0]
    assert px.unique_inverse(px.asarray(7)).inverse_indices.shape == ()
    assert px.unique_values(px.asarray(7)).tolist() == [7]
    assert px.unique_inverse(px.ones((2, 0, 3))).inverse_indices.shape == (2, 0, 3)


@pytest.mark.parametrize("name", FLOATING)
def test_nan_and_zeros(name: str, device: px.Device) -> None:
    """Each NaN is a value of its own, the two zeros are one: as the standard has it."""
    x = px.asarray([np.nan, 1.0, np.nan, 0.0, -0.0], dtype=name)
    values = px.asnumpy(px.unique_values(x)).astype(float)
    assert values[:2].tolist() == [0.0, 1.0]
    assert np.isnan(values[2:]).tolist() == [True, True]
    found = px.unique_all(x)
    assert found.counts.tolist() == [2, 1, 1, 1]
    assert found.inverse_indices.tolist() == [2, 1, 3, 0, 0]
    assert found.indices.tolist() == [3, 1, 0, 2]


def test_complex_order_and_nan(device: px.Device) -> None:
    x = px.asarray([1 + 1j, 1 - 1j, 0, 1 + 1j, -2 + 5j])
    found = px.unique_all(x)
    assert found.values.tolist() == [-2 + 5j, 0, 1 - 1j, 1 + 1j]
    assert found.counts.tolist() == [1, 1, 1, 2]
    assert found.indices.tolist() == [4, 2, 1, 0]
    assert px.unique_values(px.asarray([complex(0, np.nan)] * 2 + [1j])).shape == (3,)
    zeros = px.asarray([complex(0.0, -0.0), complex(-0.0, 0.0), 0j])
    assert px.unique_counts(zeros).counts.tolist() == [3]


def test_complex_with_equal_real_parts_of_two_signs(device: px.Device) -> None:
    """-0 and +0 in the real part are equal: they must not hide equal numbers from each other."""
    x = px.asarray([complex(-0.0, 2), complex(0.0, 1), complex(-0.0, 1), complex(0.0, 2)])
    assert px.unique_counts(x).counts.tolist() == [2, 2]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("invert", [False, True])
def test_isin(name: str, invert: bool, device: px.Device) -> None:
    for n, m in ((0, 3), (3, 0), (1, 1), (40, 3), (200, 30)):
        x, among = sample(name, n), sample(name, m)[: m // 2 + 1]
        wide = complex if name in COMPLEX else float
        want = np.isin(x.astype(wide), among.astype(wide), invert=invert)
        assert_same(px.isin(px.asarray(x), px.asarray(among), invert=invert), want, f"{n} {m}")
    x = sample(name, 12).reshape(3, 4)
    for layout, make in LAYOUTS.items():
        got = px.isin(make(x, device), make(x[:2, :2].copy(), device), invert=invert)
        wide = x.astype(complex)
        assert_same(got, np.isin(wide, wide[:2, :2], invert=invert), layout)


def test_isin_edges(device: px.Device) -> None:
    x = px.asarray([1, 2, 3])
    assert px.isin(x, 2).tolist() == [False, True, False]
    assert px.isin(2, x).item() is True
    assert px.isin(7, x, invert=True).item() is True
    assert px.isin(px.asarray([np.nan]), px.asarray([np.nan, 1.0])).tolist() == [False]
    assert px.isin(px.asarray([-0.0]), px.asarray([0.0])).tolist() == [True]
    assert px.isin(px.asarray([np.inf, 5.0]), px.asarray([np.nan, np.inf])).tolist() == [
        True,
        False,
    ]
    small = px.asarray([-1, 100], dtype=px.int8)
    assert px.isin(small, px.asarray([255, 100], dtype=px.uint8)).tolist() == [False, True]
    assert px.isin(x, px.asarray([[1], [3]])).tolist() == [True, False, True]
    assert px.isin(px.asarray(2), x).shape == ()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: px.unique_values([1]), TypeError, "unique_values takes a phalanx array, got list"),
        (lambda: px.unique_all(3), TypeError, "unique_all takes a phalanx array, got int"),
        (lambda: px.unique_counts(None), TypeError, "unique_counts takes a phalanx array"),
        (lambda: px.unique_inverse("a"), TypeError, "unique_inverse takes a phalanx array"),
        (lambda: px.isin(1, 2), TypeError, "isin needs at least one phalanx array"),
        (lambda: px.isin(px.ones(2), px.asarray([1])), TypeError, "no common dtype"),
        (lambda: px.isin(px.asarray([1]), [1]), TypeError, "got list"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with px.promotion("standard"), pytest.raises(error, match=message):
        make()


def test_devices_do_not_mix(drivers: object) -> None:
    with pytest.raises(
        px.DeviceMismatchError, match=r"isin of arrays on fake:0 and fake:1.*to_device"
    ):
        px.isin(px.ones(2, device="fake:0"), px.ones(2, device="fake:1"))
