"""Matrix products: the order of evaluation to the bit, shapes, layouts, errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.ulp import rounded
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import COMPLEX, FLOATING, INTEGER, NUMERIC

SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((1, 7), (7, 1)),
    ((7, 1), (1, 7)),
    ((17, 16), (16, 33)),
    ((65, 63), (63, 64)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (6, 4, 2)),
    ((4,), (2, 4, 5)),
    ((5, 2, 3, 4), (4,)),
]
EMPTY = [
    ((3, 0), (0, 5)),
    ((0, 4), (4, 5)),
    ((3, 4), (4, 0)),
    ((0,), (0,)),
    ((2, 0, 3), (3, 2)),
    ((0, 2, 3), (3, 4)),
]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def matrix_of(name: str, shape: tuple[int, ...], *labels: object) -> HostArray:
    """Small whole numbers, whose products are exact in every dtype but the halves and bytes."""
    rng = generator("matrix", name, shape, *labels)
    low = 0 if name.startswith("u") else -3
    x = rng.integers(low, 4, shape)
    return (x + (1j * rng.integers(-3, 4, shape) if name in COMPLEX else 0)).astype(
        host_dtype(name)
    )


def exact_product(a: HostArray, b: HostArray) -> HostArray:
    wide = complex if a.dtype.kind == "c" else float if a.dtype.kind in "fV" else object
    return np.matmul(a.astype(wide), b.astype(wide))


def wrapped(x: HostArray, name: str) -> HostArray:
    """Unbounded integers modulo 2**n."""
    dtype = np.dtype(name)
    flat = [int(v) % (1 << 8 * dtype.itemsize) for v in np.ravel(x)]
    return np.array(flat, np.uint64).astype(f"u{dtype.itemsize}").view(dtype).reshape(np.shape(x))


@pytest.mark.parametrize("name", NUMERIC)
def test_products_of_whole_numbers(name: str, device: px.Device) -> None:
    """Exact whatever the order: every shape, every dtype, broadcasting batches."""
    for left, right in SHAPES:
        a, b = matrix_of(name, left), matrix_of(name, right, "right")
        want = exact_product(a, b)
        want = wrapped(want, name) if name in INTEGER else np.asarray(want).astype(a.dtype)
        got = px.matmul(px.asarray(a), px.asarray(b))
        assert_same(got + 0, want + want.dtype.type(0), f"{name} {left} @ {right}")


@pytest.mark.parametrize("name", INTEGER)
def test_integer_products_wrap(name: str, device: px.Device) -> None:
    info = np.iinfo(name)
    a, b = (
        generator(name, i).integers(info.min, info.max, s, name, endpoint=True)
        for i, s in enumerate([(5, 9), (9, 4)])
    )
    want = wrapped(exact_product(a, b), name)
    assert_same(px.matmul(px.asarray(a), px.asarray(b)), want, name)


def fused(a: HostArray, b: HostArray, name: str) -> HostArray:
    """The definition: fma over k in order from 0, in float32 for the halves, rounded at the end."""
    work = name if name == "float64" else "float32"
    out = np.empty((a.shape[0], b.shape[1]), host_dtype(name))
    for i, j in np.ndindex(out.shape):
        total = np.dtype(work).type(0)
        for k in range(a.shape[1]):
            exact = Fraction(float(a[i, k])) * Fraction(float(b[k, j])) + Fraction(float(total))
            total = _nearest(exact, work)
        out[i, j] = total
    return out


def _nearest(exact: Fraction, name: str) -> np.floating:
    """A fraction rounded once."""
    high = float(exact)
    if name == "float64":
        return np.float64(high)
    # float32 by way of float64 rounded to odd (Boldo and Melquiond 2008): one rounding in the end
    if Fraction(high) != exact and not np.float64(high).view(np.uint64) & 1:
        high = np.nextafter(high, np.inf if exact > high else -np.inf)
    return np.float32(rounded(np.asarray(high, np.longdouble), "float32"))


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (2, 3, 2), (5, 17, 3), (1, 40, 9), (9, 33, 1), (18, 6, 33)]
)
def test_order_of_evaluation(name: str, shape: tuple[int, int, int], cpu: px.Device) -> None:
    m, k, n = shape
    rng = generator("fused", name, shape)
    a, b = (
        (rng.standard_normal(s) * np.exp(rng.uniform(-4, 4, s))).astype(host_dtype(name))
        for s in ((m, k), (k, n))
    )
    want = fused(a, b, name)
    assert_same(px.asarray(a) @ px.asarray(b), want, "contiguous")
    assert_same(px.asarray(a.T.copy()).T @ px.asarray(b.T.copy()).T, want, "transposed")
    left, right = LAYOUTS["strided"](a, cpu), LAYOUTS["negative"](b, cpu)
    assert_same(left @ right, want, "strided and negative")
    assert_same(px.tensordot(px.asarray(a), px.asarray(b), axes=1), want, "tensordot")
    dots = px.vecdot(px.asarray(a[:, None, :]), px.asarray(b.T[None].copy()))
    assert_same(dots, want, "vecdot")


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "complex64", "complex128"])
def test_blocks_do_not_show(name: str, cpu: px.Device) -> None:
    """An element of a large product has the bits of the same row times the same column alone."""
    m, k, n = 131, 517, 70
    rng = generator("blocks", name)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    if name in COMPLEX:
        a, b = a + 1j * rng.standard_normal((m, k)), b + 1j * rng.standard_normal((k, n))
    x, y = (px.asarray(v.astype(host_dtype(name))) for v in (a, b))
    whole = x @ y
    tolerance = {"bfloat16": 0.5, "float32": 1e-4, "complex64": 1e-4}.get(name, 1e-11)
    wide = complex if name in COMPLEX else float
    np.testing.assert_allclose(px.asnumpy(whole).astype(wide), a @ b, atol=tolerance, rtol=0.05)
    for i, j in ((0, 0), (130, 69), (64, 31), (7, 48)):
        alone = x[i : i + 1, :] @ y[:, j : j + 1]
        assert_same(whole[i : i + 1, j : j + 1], px.asnumpy(alone), f"element {i}, {j}")
    assert_same(x[3] @ y, px.asnumpy(whole[3]), "a row")
    assert_same(x @ y[:, 5], px.asnumpy(whole[:, 5]), "a column")
    if name not in COMPLEX:  # of complex products the order of the two cross terms changes
        assert_same(px.matmul(y.T, x.T), px.asnumpy(whole.T).copy(), "the transposed product")


@pytest.mark.parametrize("name", ["float32", "int32", "float64", "complex64", "bfloat16"])
def test_layouts_of_operands(name: str, device: px.Device) -> None:
    a, b = matrix_of(name, (2, 6, 7)), matrix_of(name, (2, 7, 5))
    want = np.asarray(exact_product(a, b)).astype(a.dtype) + a.dtype.type(0)
    for (one, left), (two, right) in itertools.product(LAYOUTS.items(), repeat=2):
        got = left(a, device) @ right(b, device)
        assert_same(got + 0, want, f"{name}, {one} @ {two}")


@pytest.mark.parametrize(("left", "right"), EMPTY)
def test_no_elements(left: tuple[int, ...], right: tuple[int, ...], device: px.Device) -> None:
    for name in ("int8", "float32", "complex128", "float16"):
        a, b = np.ones(left, name), np.ones(right, name)
        assert_same(px.asarray(a) @ px.asarray(b), np.matmul(a, b), name)


def test_operator_in_place_and_promotion(device: px.Device) -> None:
    x = px.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=px.float32)
    y = px.asarray([[0.0, 1.0], [1.0, 0.0]], dtype=px.float16)
    assert (x @ y).dtype is px.float32
    before = x.buffer
    x @= y
    assert x.tolist() == [[2.0, 1.0], [4.0, 3.0]]
    assert x.buffer is before
    with pytest.raises(ValueError, match="x1 @= x2 gives shape"):
        x @= px.ones((2, 3), dtype=px.float32)
    with pytest.raises(ValueError, match="float64"):
        x @= px.ones((2, 2))
    assert (px.asarray([1], dtype=px.int8) @ px.asarray([2], dtype=px.uint8)).dtype is px.int16


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
def test_nan_and_infinity(name: str, cpu: px.Device) -> None:
    a = np.ones((20, 20)).astype(host_dtype(name))
    b = a.copy()
    a[3, 4], b[7, 8] = np.nan, np.inf
    got = px.asnumpy(px.asarray(a) @ px.asarray(b)).astype(float)
    assert np.isnan(got[3]).all()
    assert np.isinf(got[np.arange(20) != 3, 8]).all()
    assert np.isfinite(np.delete(np.delete(got, 3, 0), 8, 1)).all()
    a[3, 4] = 0
    a[0, 7] = 0
    assert np.isnan(px.asnumpy(px.asarray(a) @ px.asarray(b)).astype(float)[0, 8])


# ---- vecdot and tensordot ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["int64", "float32", "complex128", "uint8"])
def test_vecdot(name: str, device: px.Device) -> None:
    for left, right, axis in (
        ((4,), (4,), -1), ((3, 4), (4,), -1), ((2, 3, 4), (2, 3, 4), -1),
        ((2, 3, 4), (2, 3, 4), -2), ((5, 1, 4), (3, 4), -1), ((2, 0), (2, 0), -1),
        ((3, 2), (3, 2), -2), ((0, 4), (4,), -1),
    ):  # fmt: skip
        a, b = matrix_of(name, left), matrix_of(name, right, 2)
        want = np.sum(
            np.moveaxis(np.conj(a), axis, -1) * np.moveaxis(b, axis, -1), axis=-1, dtype=a.dtype
        )
        got = px.vecdot(px.asarray(a), px.asarray(b), axis=axis)
        assert_same(got + 0, np.asarray(want) + a.dtype.type(0), f"{name} {left} {right} {axis}")


@pytest.mark.parametrize("name", ["int64", "float32", "complex128", "uint8"])
def test_tensordot(name: str, device: px.Device) -> None:
    a, b = matrix_of(name, (2, 3, 4)), matrix_of(name, (4, 3, 5), 2)
    for axes in (
        1,
        ((2,), (0,)),
        ((1, 2), (1, 0)),
        ((1,), (1,)),
        ((-1,), (0,)),
        ((2, 1), (0, 1)),
        0,
        ((), ()),
    ):
        want = np.tensordot(a, b, axes=axes)
        got = px.tensordot(px.asarray(a), px.asarray(b), axes=axes)
        assert_same(got + 0, want.astype(a.dtype) + a.dtype.type(0), f"{name} {axes}")
    c = matrix_of(name, (3, 4, 5), 3)
    got = px.tensordot(px.asarray(a), px.asarray(c))
    assert_same(got + 0, np.tensordot(a, c) + a.dtype.type(0), "two axes by default")
    turned = LAYOUTS["transposed"](a, device)
    got = px.tensordot(turned, px.asarray(c))
    assert_same(got + 0, np.tensordot(a, c) + a.dtype.type(0), "transposed")


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: px.ones((2, 3)) @ px.ones((2, 3)),
            ValueError,
            r"matmul of shapes \(2, 3\) and \(2, 3\): the inner extents 3 and 2 differ",
        ),
        (lambda: px.ones(3) @ px.ones(4), ValueError, "inner extents 3 and 4"),
        (
            lambda: px.ones(()) @ px.ones(3),
            ValueError,
            r"at least one axis; multiply 0-d arrays with \*",
        ),
        (lambda: px.ones((2, 3, 3)) @ px.ones((4, 3, 3)), ValueError, "cannot be broadcast"),
        (lambda: px.matmul(px.ones((2, 2)), 3), TypeError, "matmul takes phalanx arrays, got int"),
        (lambda: px.ones((2, 2)) @ 3, TypeError, "unsupported operand"),
        (
            lambda: px.asarray([[True]]) @ px.asarray([[True]]),
            TypeError,
            "matmul is not defined for bool; use phalanx.astype",
        ),
        (
            lambda: px.ones((2, 2)) @ px.ones((2, 2), dtype=px.int32),
            TypeError,
            "float64 and int32 have no common dtype",
        ),
        (
            lambda: px.vecdot(px.ones(3), px.ones(3), axis=0),
            ValueError,
            "vecdot: axis counts from the end",
        ),
        (
            lambda: px.vecdot(px.ones(3), px.ones((2, 3)), axis=-2),
            ValueError,
            "vecdot: axis counts from the end",
        ),
        (lambda: px.vecdot(px.ones(3), px.ones(1)), ValueError, "the extents 3 and 1 along"),
        (
            lambda: px.vecdot(px.ones(3), [1, 2, 3]),
            TypeError,
            "vecdot takes phalanx arrays, got list",
        ),
        (
            lambda: px.tensordot(px.ones((2, 3)), px.ones((2, 3))[0], axes=2),
            ValueError,
            "tensordot: axes is a number from 0 to 1 for shapes",
        ),
        (
            lambda: px.tensordot(px.ones((2, 3)), px.ones((2, 3)), axes=1),
            ValueError,
            "tensordot: the extents of axes .* differ",
        ),
        (
            lambda: px.tensordot(px.ones((2, 3)), px.ones((2, 3)), axes=-1),
            ValueError,
            "tensordot: axes is a number from 0 to .*, got -1",
        ),
        (
            lambda: px.tensordot(px.ones((2, 3)), px.ones((2, 3)), axes=((0,), (5,))),
            IndexError,
            "tensordot: axis 5 is out of range",
        ),
        (
            lambda: px.tensordot(px.ones((2, 2)), px.ones((2, 2)), axes=((0, 0), (0, 1))),
            ValueError,
            "tensordot: axes .* name an axis twice",
        ),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with px.promotion("standard"), pytest.raises(error, match=message):
        make()


def test_devices_do_not_mix(drivers: object) -> None:
    a, b = px.ones((2, 2), device="fake:0"), px.ones((2, 2), device="fake:1")
    for function in (px.matmul, px.vecdot, px.tensordot):
        with pytest.raises(
            px.DeviceMismatchError,
            match=rf'{function.__name__} of arrays on fake:0 and fake:1.*to_device\("fake:0"\)',
        ):
            function(a, b)


@pytest.mark.parametrize("name", ["float32", "int16", "complex128"])
def test_products_of_vectors_are_those_of_matrices(name: str, device: px.Device) -> None:
    """A vector is a row or a column, whatever its stride; dot, inner and vecdot are the product."""
    rng = generator("vectors", name)
    x = rng.integers(-9, 9, (7, 24)).astype(name)
    if name.startswith("complex"):
        x = x + 1j * rng.integers(-9, 9, x.shape)
    for label, layout in LAYOUTS.items():
        a = layout(x, device)
        for k in (slice(None), slice(1, None, 3), slice(None, None, -2)):
            row, want = a[2, k], x[2, k]
            assert_same(a[:, k] @ row, x[:, k] @ want, label)
            assert_same(row @ a[:, k].mT, want @ x[:, k].T, label)
            assert_same(px.dot(row, row), np.dot(want, want), label)
            assert_same(px.inner(row, row), np.inner(want, want), label)
            assert_same(px.vecdot(row, row), np.vdot(want, want), label)


def test_dot_of_stacks_is_numpys(device: px.Device) -> None:
    """Of three axes dot is no matmul: all pairs of rows and columns."""
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)
    assert_same(px.dot(px.asarray(a, device=device), px.asarray(b, device=device)), np.dot(a, b))
    assert_same(px.inner(px.asarray(a), px.asarray(a)), np.inner(a, a))


def test_tensordot_over_axes_in_another_order(device: px.Device) -> None:
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(24.0).reshape(4, 2, 3)
    for axes in (((0, 1), (1, 2)), ((2, 0), (0, 1)), ((-1,), (0,)), ((), ())):
        got = px.tensordot(px.asarray(a, device=device), px.asarray(b, device=device), axes=axes)
        assert_same(got, np.tensordot(a, b, axes), str(axes))
    with pytest.raises(ValueError, match="name an axis twice"):
        px.tensordot(px.asarray(a), px.asarray(b), axes=((0, 0), (1, 1)))
    with pytest.raises(ValueError, match=r"axes \[0\] of shape \(2, 3, 4\) .* differ"):
        px.tensordot(px.asarray(a), px.asarray(b), axes=((0,), (0,)))
