"""Arrays that are filled or follow a rule: zeros, full, arange, linspace, eye, tril, meshgrid."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import wild_values
from phalanx.optable import ALL, COMPLEX, FLOATING, INTEGER, NUMERIC


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (3, 4), (1, 1, 1), (1000,)])
def test_filled(name: str, shape: tuple[int, ...], device: px.Device) -> None:
    dtype = host_dtype(name)
    assert_same(px.zeros(shape, dtype=name), np.zeros(shape, dtype))
    assert_same(px.ones(shape, dtype=name), np.ones(shape, dtype))
    assert_same(px.full(shape, 1, dtype=name), np.ones(shape, dtype))
    x = px.empty(shape, dtype=name)
    assert x.shape == shape
    assert x.dtype.name == name
    assert_same(px.zeros_like(x), np.zeros(shape, dtype))
    assert_same(px.ones_like(x), np.ones(shape, dtype))
    assert_same(px.full_like(x, True if name == "bool" else 1), np.ones(shape, dtype))
    assert px.empty_like(x, dtype=px.int8).dtype is px.int8
    assert px.empty_like(x).device is device


def test_default_dtypes(device: px.Device) -> None:
    assert px.zeros(3).dtype is px.ones(3).dtype is px.empty(3).dtype is px.float64
    for value, name in ((3, "int64"), (True, "bool"), (1.5, "float64"), (1j, "complex128")):
        assert px.full(2, value).dtype.name == name
        assert px.full(2, value).tolist() == [value, value]
    assert px.full((2,), px.asarray(3, dtype=px.int8)).dtype is px.int8
    assert px.full_like(px.ones((2,)), 7).tolist() == [7.0, 7.0]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: px.zeros(2.5), TypeError, "a shape is an int or a tuple of ints, got 2.5"),
        (lambda: px.zeros((2.5,)), TypeError, "a shape is an int or a tuple of ints"),
        (lambda: px.zeros("ab"), TypeError, "a shape is an int or a tuple of ints, got 'ab'"),
        (lambda: px.zeros(-1), ValueError, r"negative extent in shape \(-1,\)"),
        (lambda: px.full(2, "a"), TypeError, "full takes a number or a 0-d array, got str"),
        (lambda: px.full(2, None), TypeError, "full takes a number"),
        (lambda: px.full(2, 1j, dtype=px.float32), TypeError, "1j does not go into float32"),
        (lambda: px.full(2, px.ones(3)), ValueError, r"0-d array, got shape \(3,\)"),
        (lambda: px.eye(-1), ValueError, "negative extent"),
        (lambda: px.arange(1, 5, 0), ValueError, "arange: step must not be 0"),
        (lambda: px.arange(math.nan), ValueError, "must be finite, got nan"),
        (lambda: px.arange(0, math.inf), ValueError, "must be finite, got inf"),
        (lambda: px.arange(1j), TypeError, "arange takes ints and floats, got complex"),
        (lambda: px.arange("a"), TypeError, "arange takes ints and floats, got str"),
        (lambda: px.arange(5, dtype=px.bool), TypeError, "arange is not defined for bool"),
        (lambda: px.arange(300, dtype=px.int8), OverflowError, "299 is out of bounds for int8"),
        (lambda: px.arange(-1, 3, dtype=px.uint8), OverflowError, "-1 is out of bounds for uint8"),
        (lambda: px.arange(10**20), OverflowError, "out of bounds for int64"),
        (lambda: px.linspace(0, 1, -1), ValueError, "num must not be negative, got -1"),
        (lambda: px.linspace(0, 1, 2.5), TypeError, "linspace: num is an int, got 2.5"),
        (lambda: px.tril(px.ones(3)), ValueError, "tril takes an array of two axes or more"),
        (lambda: px.meshgrid(px.ones(2), indexing="zz"), ValueError, 'is "xy" or "ij", got \'zz\''),
        (lambda: px.meshgrid(px.ones((2, 2))), ValueError, r"1-d arrays, got shape \(2, 2\)"),
        (lambda: px.meshgrid(px.ones(2), px.arange(2)), ValueError, "one dtype"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    "arguments",
    [(5,), (0,), (-3,), (2, 5), (5, 2), (0, 10, 3), (10, 0, -3), (0, 10, -1), (1.5,), (0, 1, 0.25),
     (0.0, 5.5, 2), (1, 0, -0.25), (0.5, 3), (7, 8, 100), (0, 1, 0.1), (2**62, 2**62 + 3), (1000,),
     (-4.0, 4.0, 1e-2)],
)  # fmt: skip
def test_arange(arguments: tuple[float, ...], device: px.Device) -> None:
    want = np.arange(*arguments)
    got = px.asnumpy(px.arange(*arguments))
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if want.dtype.kind == "i":
        assert_same(got, want)
        return
    start, _, step = (*((0,) if len(arguments) == 1 else ()), *arguments, 1)[:3]
    exact = np.longdouble(start) + np.arange(len(want)) * np.longdouble(step)
    np.testing.assert_allclose(got, exact.astype(float), rtol=0, atol=1e-15 * abs(want).max())


@pytest.mark.parametrize("name", NUMERIC)
def test_arange_in_a_dtype(name: str, device: px.Device) -> None:
    want = np.arange(2, 100, 7).astype(host_dtype(name))
    assert_same(px.arange(2, 100, 7, dtype=name), want)
    assert px.arange(1, dtype=name).tolist() == [0]


@pytest.mark.needs_cpu
def test_arange_rounds_product_and_sum(cpu: px.Device) -> None:
    """The stated order: i * step rounded, then the sum rounded."""
    i = np.arange(900)
    assert_same(px.arange(0.1, 30.0, 0.03)[:900], 0.1 + i * 0.03)
    want = np.float32(0.1) + i.astype(np.float32) * np.float32(0.03)
    assert_same(px.arange(0.1, 30.0, 0.03, dtype=px.float32)[:900], want)


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("name", [*FLOATING, *COMPLEX, "int32", "uint8"])
def test_linspace(name: str, endpoint: bool, device: px.Device) -> None:
    rounding = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "complex64": 1e-6}
    tolerance = rounding.get(name, 1e-15)
    for start, stop in ((0, 10), (2.5, -1), (0, 1), (3, 3)):
        if name == "uint8" and stop < 0:
            continue
        for num in (0, 1, 2, 5, 50):
            got = px.linspace(start, stop, num, dtype=name, endpoint=endpoint)
            assert got.dtype.name == name
            if name in INTEGER:
                assert_same(got, np.linspace(start, stop, num, endpoint=endpoint, dtype=name))
                continue
            want = np.linspace(start, stop, num, endpoint=endpoint)
            wide = px.asnumpy(got).astype(complex if name in COMPLEX else float)
            np.testing.assert_allclose(wide, want, rtol=tolerance, atol=10 * tolerance)
            if num > 1 and endpoint:
                assert wide[-1] == np.asarray(stop).astype(host_dtype(name)).astype(wide.dtype)


def test_linspace_edges(device: px.Device) -> None:
    assert px.linspace(0, 1j, 3).tolist() == [0, 0.5j, 1j]
    assert px.linspace(-1e308, 1e308, 3).tolist() == [-1e308, 0.0, 1e308]
    assert px.linspace(5, 9, 1).tolist() == [5.0]


@pytest.mark.parametrize("shape", [(3,), (3, 5), (5, 3), (0,), (0, 3), (1, 1)])
def test_eye(shape: tuple[int, ...], device: px.Device) -> None:
    for k in range(-6, 7):
        for name in ("float64", "bool", "int8", "complex64", "bfloat16"):
            want = np.eye(*shape, k=k).astype(host_dtype(name))
            assert_same(px.eye(*shape, k=k, dtype=name), want, f"k {k}")
    assert px.eye(2).dtype is px.float64


@pytest.mark.parametrize("name", ["float32", "bool", "int64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (2, 3, 4), (0, 3), (2, 0, 0)])
def test_triangles(name: str, shape: tuple[int, ...], device: px.Device) -> None:
    x = wild_values(name, int(np.prod(shape)), generator(name, shape)).reshape(shape)
    for k in range(-5, 6):
        assert_same(px.tril(px.asarray(x), k=k), np.tril(x, k), f"tril {k}")
        assert_same(px.triu(px.asarray(x), k=k), np.triu(x, k), f"triu {k}")
    if x.size:
        assert_same(px.triu(LAYOUTS["transposed"](x, device)), np.triu(x), "transposed")


def test_triangles_of_infinities(device: px.Device) -> None:
    """What is cut away is 0, not 0 * inf."""
    x = px.full((2, 2), math.inf)
    assert px.tril(x).tolist() == [[math.inf, 0.0], [math.inf, math.inf]]


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(indexing: str, device: px.Device) -> None:
    for sizes in ((), (3,), (2, 3), (2, 3, 4), (2, 0), (1, 1, 1, 2)):
        arrays = [np.arange(n) + 10 * i for i, n in enumerate(sizes)]
        want = np.meshgrid(*arrays, indexing=indexing) if arrays else []
        got = px.meshgrid(*map(px.asarray, arrays), indexing=indexing)
        assert isinstance(got, tuple)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w)
    x = px.arange(6)[::-2]
    grid = px.meshgrid(x, px.arange(2), indexing="ij")[0]
    assert grid.tolist() == [[5, 5], [3, 3], [1, 1]]
    grid += 1  # copies, not views of stride 0
    assert grid.tolist() == [[6, 6], [4, 4], [2, 2]]
    assert x.tolist() == [5, 3, 1]
