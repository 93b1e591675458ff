"""Reductions, scans, softmax, differences: orders of evaluation to the bit, axes, dtypes, edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, axis_subsets, generator
from order_model import reduction, scan
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray, special_values, wild_values
from phalanx.optable import ALL, COMPLEX, FLOATING, INTEGER, NUMERIC, REAL

CUBE = (3, 4, 5)
LENGTHS = (1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096, 4097, 4160, 12293)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


# ---- the stated order of evaluation, literally ---------------------------------------------------


def computed(x: HostArray) -> HostArray:
    """The values in the dtype of the arithmetic."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


def row_of(name: str, n: int, *labels: object) -> HostArray:
    rng = generator(name, n, *labels)
    x = rng.standard_normal(n) * np.exp(rng.uniform(-3, 3, n))
    return x.astype(host_dtype(name))


def factors_of(name: str, n: int) -> HostArray:
    """Values whose product neither overflows nor vanishes."""
    return (1 + 0.01 * generator(name, n).standard_normal(n)).astype(host_dtype(name))


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
def test_order_of_reductions(name: str, cpu: px.Device) -> None:
    for n in LENGTHS:
        x = row_of(name, n)
        total = reduction(computed(x), lambda a, b: a + b)
        assert_same(px.sum(px.asarray(x)), np.asarray(total.astype(x.dtype)), f"sum of {n}")
        mean = (total / total.dtype.type(n)).astype(x.dtype)
        assert_same(px.mean(px.asarray(x)), np.asarray(mean), f"mean of {n}")
        y = factors_of(name, n)
        product = reduction(computed(y), lambda a, b: a * b).astype(x.dtype)
        assert_same(px.prod(px.asarray(y)), np.asarray(product), f"prod of {n}")


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", COMPLEX)
def test_order_of_complex_sums(name: str, cpu: px.Device) -> None:
    for n in (1, 5, 64, 100, 4097):
        rng = generator(name, n)
        x = (rng.standard_normal(n) + 1j * rng.standard_normal(n)).astype(name)
        total = reduction(x, lambda a, b: a + b)
        assert_same(px.sum(px.asarray(x)), np.asarray(total), f"sum of {n}")


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
def test_layout_does_not_change_the_order(name: str, cpu: px.Device) -> None:
    """Over any axes of any layout an element is the reduction of its elements in C order."""
    x = row_of(name, 7 * 90 * 3, "cube").reshape(7, 90, 3)
    for layout, make in LAYOUTS.items():
        view = make(x, cpu)
        for axes in ((1,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
            kept = tuple(i for i in range(3) if i not in axes)
            rows = x.transpose(*kept, *axes).reshape(*(x.shape[i] for i in kept), -1)
            want = np.empty(rows.shape[:-1], x.dtype)
            for place in np.ndindex(want.shape):
                want[place] = reduction(computed(rows[place]), lambda a, b: a + b)
            assert_same(px.sum(view, axis=axes), want, f"{layout}, axes {axes}")


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
def test_order_of_scans(name: str, cpu: px.Device) -> None:
    for n in (0, 1, 2, 255, 256, 257, 513, 1000, 200_000):
        for op, function, x in (
            ("cumulative_sum", lambda a, b: a + b, row_of(name, n)),
            ("cumulative_prod", lambda a, b: a * b, factors_of(name, n)),
        ):
            want = scan(computed(x), function).astype(x.dtype)
            assert_same(getattr(px, op)(px.asarray(x)), want, f"{op} of {n}")
            y = np.stack([x, x[::-1]], axis=1)
            got = px.asnumpy(getattr(px, op)(px.asarray(y), axis=0))
            assert_same(np.ascontiguousarray(got[:, 0]), want, f"{op} of {n} along columns")


# ---- dtypes and axes -----------------------------------------------------------------------------


def reduced_dtype(name: str) -> str:
    if name in INTEGER:
        return "uint64" if name.startswith("u") else "int64"
    return "int64" if name == "bool" else name


def close(got: px.Array, want: HostArray, what: str) -> None:
    """Same dtype and shape; floats to the rounding of a few operations."""
    host = px.asnumpy(got)
    assert host.dtype == want.dtype, f"{what}: {host.dtype}, want {want.dtype}"
    assert host.shape == want.shape, f"{what}: {host.shape}, want {want.shape}"
    if want.dtype.kind in "biu":
        assert_same(host, want, what)
        return
    wide = complex if want.dtype.kind == "c" else float
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "complex64": 1e-5}
    rtol = tolerance.get(want.dtype.name, 1e-12)
    np.testing.assert_allclose(
        host.astype(wide), want.astype(wide), rtol=rtol, atol=rtol, err_msg=what
    )


def cube_of(name: str, *labels: object) -> HostArray:
    rng = generator(name, *labels)
    if name in INTEGER or name == "bool":
        return wild_values(name, 60, rng).reshape(CUBE)
    x = rng.uniform(0.5, 1.5, CUBE) * rng.choice([-1, 1], CUBE)
    return (x + (1j * x[::-1] if name in COMPLEX else 0)).astype(host_dtype(name))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("op", ["sum", "prod", "mean", "max", "min", "any", "all", "count_nonzero"])
def test_axes_and_dtypes(op: str, name: str, device: px.Device) -> None:
    if (op in ("max", "min") and name not in REAL) or (op == "mean" and name == "bool"):
        with pytest.raises(TypeError, match=f"{op} is not defined for {name}"):
            getattr(px, op)(px.ones((2,), dtype=name))
        return
    x = cube_of(name, op)
    wide = x.astype(np.float64) if name in FLOATING else x
    to = {"any": "bool", "all": "bool", "count_nonzero": "int64", "max": name, "min": name}.get(op)
    to = to or ("float64" if op == "mean" and name in INTEGER else reduced_dtype(name))
    options = {"dtype": to} if op in ("sum", "prod") and name not in FLOATING else {}
    for axes in (*axis_subsets(3), None, -1, (-1, 0)):
        for keep in (False, True):
            want = getattr(np, op)(wide, axis=axes, keepdims=keep, **options)
            got = getattr(px, op)(px.asarray(x), axis=axes, keepdims=keep)
            close(got, np.asarray(want).astype(host_dtype(to)), f"{op} {name} {axes} {keep}")


@pytest.mark.parametrize("op", ["sum", "max", "argmax", "count_nonzero", "all"])
def test_reductions_of_layouts(op: str, device: px.Device) -> None:
    for name in ("int32", "float32", "uint8"):
        x = generator(op, name).integers(0, 5, (4, 6, 5)).astype(name)
        for layout, make in LAYOUTS.items():
            view = make(x, device)
            for axis in (None, 0, 1, 2):
                want = getattr(np, op)(x, axis=axis)
                to = {"sum": reduced_dtype(name), "max": name, "all": "bool"}.get(op, "int64")
                got = getattr(px, op)(view, axis=axis)
                assert_same(got, np.asarray(want).astype(to), f"{op} {name}, {layout}, axis {axis}")


def test_stride_zero_and_extent_one(device: px.Device) -> None:
    x = px.broadcast_to(px.asarray([1.5, 2.0]), (3, 1, 2))
    assert px.sum(x).item() == 10.5
    assert px.sum(x, axis=0).tolist() == [[4.5, 6.0]]
    assert px.sum(x, axis=(0, 1)).tolist() == [4.5, 6.0]
    assert px.sum(x, axis=1).shape == (3, 2)
    assert px.argmax(x, axis=1).tolist() == [[0, 0]] * 3


@pytest.mark.parametrize("name", [n for n in NUMERIC if n not in ("float16", "bfloat16")])
def test_sum_in_another_dtype(name: str, device: px.Device) -> None:
    x = np.array([3, 100, 77]).astype(name)
    for to in ("int8", "uint8", "int32", "uint64", "float32", "float64", "complex64"):
        if name in COMPLEX and not to.startswith("complex"):
            with pytest.raises(TypeError, match=r"drops the imaginary part: use phalanx\.real"):
                px.sum(px.asarray(x), dtype=to)
            with pytest.raises(TypeError, match="drops the imaginary part"):
                px.cumulative_sum(px.asarray(x), dtype=to)
            continue
        assert_same(px.sum(px.asarray(x), dtype=to), np.asarray(x.astype(to).sum(dtype=to)), to)
        assert_same(px.prod(px.asarray(x), dtype=to), np.asarray(x.astype(to).prod(dtype=to)), to)
        want = x.astype(to).cumsum(dtype=to)
        assert_same(px.cumulative_sum(px.asarray(x), dtype=to), want, to)


def test_elements_are_converted_before_the_sum(device: px.Device) -> None:
    assert px.sum(px.asarray([0.5, 0.5, 1.7]), dtype=px.int64).item() == 1
    assert px.sum(px.asarray([True, True]), dtype=px.float32).item() == 2.0
    assert px.sum(px.asarray([True, True])).dtype is px.int64
    big = px.full((4,), 2**24 + 1, dtype=px.int32)
    assert px.sum(big, dtype=px.float64).item() == 4 * (2**24 + 1)


def test_integer_sums_wrap(device: px.Device) -> None:
    top = px.full((2,), 2**63 - 1, dtype=px.int64)
    assert px.sum(top).item() == -2
    assert px.sum(px.full((2,), 2**64 - 1, dtype=px.uint64)).item() == 2**64 - 2
    assert px.sum(px.full((300,), 127, dtype=px.int8)).item() == 38100


# ---- special values and edges --------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
def test_extremes_and_their_places(name: str, device: px.Device) -> None:
    for n in (1, 2, 63, 64, 65, 300, 5000):
        x = generator(name, n).integers(0, 7, n).astype(host_dtype(name))
        wide = x.astype(np.float64)
        for op in ("max", "min", "argmax", "argmin"):
            want = getattr(np, op)(wide)
            got = getattr(px, op)(px.asarray(x))
            assert got.item() == want, f"{op} of {n} {name}"
            assert got.dtype.name == (name if op in ("max", "min") else "int64")


@pytest.mark.parametrize("name", FLOATING)
def test_nan_in_reductions(name: str, device: px.Device) -> None:
    for n in (2, 16, 65, 1000):
        for place in {0, 1, n // 2, n - 1}:
            x = np.arange(n).astype(host_dtype(name))
            x[place] = np.nan
            arrays = px.asarray(x), px.asarray(np.stack([x, x], axis=1))
            for op in ("max", "min", "sum", "mean", "prod"):
                assert math.isnan(getattr(px, op)(arrays[0]).item()), f"{op}, NaN at {place} of {n}"
                assert bool(px.all(px.isnan(getattr(px, op)(arrays[1], axis=0))))
            for op in ("argmax", "argmin"):
                assert getattr(px, op)(arrays[0]).item() == place
                assert getattr(px, op)(arrays[1], axis=0).tolist() == [place, place]
            x[-1] = np.nan
            assert px.argmax(px.asarray(x)).item() == place
    assert px.any(px.asarray([math.nan], dtype=name)).item() is True
    assert px.all(px.asarray([math.nan, -0.0], dtype=name)).item() is False
    assert px.count_nonzero(px.asarray([math.nan, 0.0, -0.0, 1.0], dtype=name)).item() == 2


@pytest.mark.parametrize("name", ALL)
def test_each_value_counts_unless_it_is_zero(name: str, device: px.Device) -> None:
    values = special_values(name)
    for n in (1, 7, 1024, 1025):  # the host counts a few itself
        for value in values:
            x = np.zeros(n, dtype=values.dtype)
            x[-1] = value
            got = px.count_nonzero(px.asarray(x, dtype=name, device=device)).item()
            assert got == int(x[-1] != 0), f"{value!r} of {name}, the last of {n}"


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", FLOATING)
def test_signed_zeros(name: str, cpu: px.Device) -> None:
    for n in (2, 17, 200):
        for place in (0, n - 1, n // 2):
            x = np.full(n, -0.0).astype(host_dtype(name))
            x[place] = 0.0
            assert not bool(px.signbit(px.max(px.asarray(x)))), f"max, +0 at {place} of {n}"
            assert bool(px.signbit(px.min(-px.asarray(x)))), f"min, -0 at {place} of {n}"
            assert px.argmax(px.asarray(x)).item() == 0
            assert px.argmin(px.asarray(x)).item() == 0


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", REAL)
def test_limits(name: str, cpu: px.Device) -> None:
    x = special_values(name)
    x = x[~np.isnan(x)] if name in FLOATING else x
    assert px.max(px.asarray(x)).item() == x.astype(np.longdouble).max()
    assert px.min(px.asarray(x)).item() == x.astype(np.longdouble).min()
    assert px.argmax(px.asarray(x)).item() == int(np.argmax(x.astype(np.longdouble)))
    assert px.argmin(px.asarray(x)).item() == int(np.argmin(x.astype(np.longdouble)))


def test_no_elements(device: px.Device) -> None:
    for name in NUMERIC:
        x = px.empty((3, 0), dtype=name)
        assert px.sum(x).item() == 0
        assert px.prod(x, axis=1).tolist() == [1, 1, 1]
        assert px.sum(x, axis=0).shape == (0,)
        assert px.cumulative_sum(x, axis=1).shape == (3, 0)
        assert px.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0]] * 3
    x = px.empty((0, 2))
    assert px.any(x).item() is False
    assert px.all(x, axis=0).tolist() == [True, True]
    assert px.count_nonzero(x, axis=0).tolist() == [0, 0]
    assert all(map(math.isnan, px.mean(x, axis=0).tolist()))
    assert all(map(math.isnan, px.var(x, axis=0).tolist()))
    assert px.max(x, axis=1).shape == (0,)
    assert px.softmax(px.empty((2, 0))).shape == (2, 0)
    for op in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=rf"{op} of shape \(0, 2\) over axis 0: no elements"):
            getattr(px, op)(x, axis=0)
        with pytest.raises(ValueError, match="no elements"):
            getattr(px, op)(x)


def test_zero_dimensions(device: px.Device) -> None:
    x = px.asarray(2.5)
    for op in ("sum", "prod", "mean", "max", "min"):
        assert getattr(px, op)(x).item() == 2.5
        assert getattr(px, op)(x, keepdims=True).shape == ()
    assert px.argmax(x).item() == 0
    assert px.std(x).item() == 0.0
    assert px.argmax(px.ones((2, 2)), keepdims=True).shape == (1, 1)


# ---- variance, running sums, softmax, differences ------------------------------------------------


@pytest.mark.parametrize("name", [*FLOATING, "int16", "uint8"])
@pytest.mark.parametrize("correction", [0, 1, 0.5, -1])
def test_variance(name: str, correction: float, device: px.Device) -> None:
    x = generator(name).integers(0, 100, CUBE).astype(host_dtype(name))
    wide = x.astype(np.float64)
    to = host_dtype("float64" if name in INTEGER else name)
    for axis in (None, 0, (0, 2), -1):
        for keep in (False, True):
            want = np.var(wide, axis=axis, ddof=correction, keepdims=keep)
            got = px.var(px.asarray(x), axis=axis, correction=correction, keepdims=keep)
            close(got, np.asarray(want).astype(to), f"var {axis}")
            got = px.std(px.asarray(x), axis=axis, correction=correction, keepdims=keep)
            close(got, np.sqrt(want).astype(to), f"std {axis}")


def test_variance_does_not_cancel(device: px.Device) -> None:
    x = px.asarray([1e8, 1e8 + 2, 1e8 + 4], dtype=px.float64)
    assert px.var(x).item() == pytest.approx(8 / 3, rel=1e-12)
    assert px.var(px.asarray([1.0, 2.0]), correction=5).item() == math.inf


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("initial", [False, True])
def test_running_sums(name: str, initial: bool, device: px.Device) -> None:
    x = cube_of(name, "scan")
    to = host_dtype(reduced_dtype(name))
    wide = x.astype(np.float64) if name in FLOATING else x
    for axis in (0, 1, -1):
        for op, function in (
            ("cumulative_sum", np.cumulative_sum),
            ("cumulative_prod", np.cumulative_prod),
        ):
            options = {"dtype": to} if name not in FLOATING else {}
            want = function(wide, axis=axis, include_initial=initial, **options)
            got = getattr(px, op)(px.asarray(x), axis=axis, include_initial=initial)
            close(got, want.astype(to), f"{op} {axis}")
    for layout, make in LAYOUTS.items():
        got = px.cumulative_sum(make(x, device), axis=1, include_initial=initial)
        want = np.cumulative_sum(
            wide, axis=1, include_initial=initial, **({"dtype": to} if name not in FLOATING else {})
        )
        close(got, want.astype(to), layout)


@pytest.mark.parametrize("name", FLOATING)
def test_softmax(name: str, device: px.Device) -> None:
    x = generator(name, "softmax").uniform(-20, 20, (3, 40, 2)).astype(host_dtype(name))
    wide = x.astype(np.float64)
    for axis in (0, 1, -1):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        want = (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)
        close(px.softmax(px.asarray(x), axis=axis), want, f"axis {axis}")
        close(px.softmax(LAYOUTS["negative"](x, device), axis=axis), want, f"axis {axis}, negative")
    big = px.asarray([1e4, 1e4, -1e4], dtype=name)
    assert px.softmax(big).tolist() == [0.5, 0.5, 0.0]
    assert all(map(math.isnan, px.softmax(px.asarray([1.0, math.nan], dtype=name)).tolist()))
    assert px.softmax(px.asarray([3])).dtype is px.float64


@pytest.mark.parametrize("name", ["int32", "float32", "bool", "complex64", "uint8"])
def test_differences(name: str, device: px.Device) -> None:
    x = cube_of(name, "diff")
    for axis in (0, 1, -1):
        for n in (0, 1, 2, 3):
            want = np.diff(x, n=n, axis=axis)
            close(px.diff(px.asarray(x), n=n, axis=axis), want, f"axis {axis}, n {n}")
    front, back = x[:, :1], x[:, 1:3]
    want = np.diff(x, axis=1, prepend=front, append=back)
    got = px.diff(px.asarray(x), axis=1, prepend=px.asarray(front), append=px.asarray(back))
    close(got, want, "with ends")
    assert px.diff(px.asarray([1, 4, 9]), n=5).shape == (0,)


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: px.sum(3), TypeError, "sum takes a phalanx array, got int; use phalanx.asarray"),
        (lambda: px.max([1]), TypeError, "max takes a phalanx array, got list"),
        (
            lambda: px.sum(px.ones(3), axis=1),
            IndexError,
            r"sum: axis 1 is out of range for shape \(3,\)",
        ),
        (
            lambda: px.sum(px.ones(3), axis=1.0),
            TypeError,
            "sum: axis takes an int, a tuple of ints or None",
        ),
        (lambda: px.sum(px.ones(3), axis=(0, -1)), ValueError, "sum: axis -1 is named twice"),
        (
            lambda: px.argmax(px.ones((2, 2)), axis=(0, 1)),
            TypeError,
            "argmax: axis takes an int or None",
        ),
        (
            lambda: px.max(px.asarray([1j])),
            TypeError,
            "max is not defined for complex128: it has no order",
        ),
        (lambda: px.argmin(px.asarray([True])), TypeError, "argmin is not defined for bool"),
        (
            lambda: px.mean(px.asarray([True])),
            TypeError,
            "mean is not defined for bool; use phalanx.astype",
        ),
        (lambda: px.var(px.asarray([1j])), TypeError, "var is not defined for complex"),
        (lambda: px.softmax(px.asarray([1j])), TypeError, "softmax is not defined for complex"),
        (lambda: px.softmax(px.ones(())), ValueError, "softmax needs at least one axis"),
        (
            lambda: px.cumulative_sum(px.ones(())),
            ValueError,
            "cumulative_sum needs at least one axis",
        ),
        (
            lambda: px.cumulative_prod(px.ones((2, 2))),
            ValueError,
            r"needs an axis for shape \(2, 2\)",
        ),
        (lambda: px.diff(px.ones(3), n=-1), ValueError, "diff takes n >= 0, got -1"),
        (lambda: px.diff(px.ones(())), IndexError, "diff: axis -1 is out of range"),
        (
            lambda: px.std(px.ones(3), axis=4),
            IndexError,
            r"axis 4 is out of range for shape \(3,\)",
        ),
        (lambda: px.sum(px.ones(3), dtype="float31"), TypeError, "float31"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_deviations_and_norms_of_short_floats_do_not_overflow(
    device: px.Device, dtype: str
) -> None:
    """The square of what they are is beyond float16; they are computed in float32, rounded once."""
    wide = px.arange(2000, dtype=px.float32) + 3.0
    x = px.astype(px.astype(wide, dtype), px.float32)
    short = px.astype(x, dtype)
    for function in (px.std, px.nanstd, px.linalg.vector_norm):
        found = function(short)
        assert found.dtype.name == dtype
        assert float(found) == float(px.astype(function(x), dtype))
    assert px.std(x, dtype=dtype).dtype.name == dtype
    assert float(px.linalg.vector_norm(px.full(300, 100, dtype=px.float16))) == 1732.0
