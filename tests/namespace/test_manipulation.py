"""Shapes against NumPy: what is a view, what is a copy, and which mistakes are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray, ordinary_values
from phalanx.optable import ALL

examples = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def numbered(shape: tuple[int, ...]) -> HostArray:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


def shares(x: px.Array, y: px.Array) -> bool:
    return x.buffer is y.buffer


@st.composite
def views(draw: st.DrawFn) -> tuple[HostArray, Callable[[Any], Any]]:
    """An array and a chain of basic keys and permutations that work on both kinds of arrays."""
    host = numbered(draw(shapes))
    steps: list[tuple[str, Any]] = []
    shape = host.shape
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()) and len(shape) > 1:
            order = tuple(draw(st.permutations(range(len(shape)))))
            steps.append(("permute", order))
            shape = tuple(shape[i] for i in order)
        elif shape:
            key = tuple(
                slice(
                    draw(st.none() | st.integers(-n - 1, n)),
                    None,
                    draw(st.sampled_from([1, 2, -1, -2])),
                )
                for n in shape
            )
            steps.append(("slice", key))
            shape = np.empty(shape)[key].shape

    def build(x: Any) -> Any:
        for kind, what in steps:
            if kind == "slice":
                x = x[what]
            else:
                x = x.transpose(what) if isinstance(x, np.ndarray) else px.permute_dims(x, what)
        return x

    return host, build


# ---- reshape -------------------------------------------------------------------------------------


@examples
@given(case=views(), data=st.data())
def test_reshape(
    case: tuple[HostArray, Callable[[Any], Any]], data: st.DataObject, device: px.Device
) -> None:
    """A view whenever strides can express it, as NumPy finds out by trying."""
    host, build = case
    x, view = build(px.asarray(host)), build(host)
    factors = data.draw(st.permutations([*view.shape, 1, 1]))
    cut = data.draw(st.integers(0, len(factors)))
    shape = (*factors[:cut], int(np.prod(factors[cut:], dtype=int)))
    want = view.reshape(shape)
    got = px.reshape(x, shape)
    assert_same(got, np.ascontiguousarray(want).reshape(shape))
    possible = view.size == 0 or np.shares_memory(want, view)
    assert shares(got, x) == possible, (view.shape, view.strides, shape)
    assert not shares(px.reshape(x, shape, copy=True), x) or x.size == 0
    if possible:
        assert_same(px.reshape(x, shape, copy=False), np.ascontiguousarray(want).reshape(shape))
    else:
        with pytest.raises(ValueError, match="need a copy"):
            px.reshape(x, shape, copy=False)
    if view.size:
        free = data.draw(st.integers(0, len(shape) - 1))
        assert px.reshape(x, (*shape[:free], -1, *shape[free + 1 :])).shape == shape


def test_reshape_of_a_view_writes_through(device: px.Device) -> None:
    x = px.asarray(numbered((4, 6)))
    y = px.reshape(x[:, ::2], (4, 3, 1))
    y[1, 2, 0] = -1
    assert x[1, 4].item() == -1
    z = px.reshape(px.asarray(5), (1, 1))
    assert z.shape == (1, 1)
    assert px.reshape(z, ()).item() == 5
    assert px.reshape(x, 24).shape == (24,)


# ---- views ---------------------------------------------------------------------------------------


@examples
@given(case=views(), data=st.data())
def test_views(
    case: tuple[HostArray, Callable[[Any], Any]], data: st.DataObject, device: px.Device
) -> None:
    host, build = case
    x, view = build(px.asarray(host)), build(host)
    ndim = view.ndim
    order = tuple(data.draw(st.permutations(range(ndim))))
    pairs = [(px.permute_dims(x, order), view.transpose(order))]
    new = tuple(
        data.draw(
            st.lists(
                st.integers(-ndim - 2, ndim + 1),
                min_size=1,
                max_size=2,
                unique_by=lambda a: a % (ndim + 2),
            )
        )
    )
    if len(new) == 2:
        pairs.append((px.expand_dims(x, axis=new), np.expand_dims(view, new)))
    one = px.expand_dims(x, axis=0)
    pairs.append((px.squeeze(one, 0), view))
    wide = (2, *(3 if n == 1 else n for n in view.shape))
    pairs.append((px.broadcast_to(x, wide), np.broadcast_to(view, wide)))
    if ndim:
        some = tuple(
            i - (ndim if data.draw(st.booleans()) else 0)
            for i in range(ndim)
            if data.draw(st.booleans())
        )
        pairs.append((px.flip(x, axis=some), np.flip(view, some)))
        source, target = (
            data.draw(st.integers(-ndim, ndim - 1)),
            data.draw(st.integers(-ndim, ndim - 1)),
        )
        pairs.append((px.moveaxis(x, source, target), np.moveaxis(view, source, target)))
        parts = px.unstack(x, axis=source)
        for part, want in zip(parts, np.unstack(view, axis=source), strict=True):
            pairs.append((part, want))
    if ndim > 1:
        pairs.append((px.matrix_transpose(x), np.matrix_transpose(view)))
        pairs.append((x.mT, np.matrix_transpose(view)))
        axes = tuple(order[:2])
        pairs.append((px.moveaxis(x, axes, (0, 1)), np.moveaxis(view, axes, (0, 1))))
    pairs.append((px.flip(x), np.flip(view)))
    for got, want in pairs:
        assert_same(got, np.asarray(want))
        assert shares(got, x)


def test_views_write_through(device: px.Device) -> None:
    x = px.asarray(numbered((2, 3)))
    x.T[2, 0] = 50
    px.flip(x)[0, 0] = 51
    px.unstack(x, axis=1)[1][0] = 52
    px.expand_dims(x, axis=1)[1, 0, 0] = 53
    px.moveaxis(x, 0, 1)[0, 0] = 54
    assert x.tolist() == [[54, 52, 50], [53, 4, 51]]
    with pytest.raises(ValueError, match=r"T needs at most two axes, got shape \(1, 2, 3\)"):
        _ = px.ones((1, 2, 3)).T
    assert px.ones(3).T.shape == (3,)


def test_writing_where_elements_share_memory(device: px.Device) -> None:
    """Which of the values stays would depend on the order of the kernel: refused, as in NumPy."""
    x = px.broadcast_to(px.asarray([1, 2]), (3, 2))
    with pytest.raises(ValueError, match="share"):
        x += 1
    with pytest.raises(ValueError, match="share"):
        x[...] = px.asarray([[1, 2], [3, 4], [5, 6]])


@examples
@given(first=shapes, second=shapes, third=shapes)
def test_broadcast_shapes(first: Any, second: Any, third: Any, device: px.Device) -> None:
    arrays = [np.empty(s) for s in (first, second, third)]
    try:
        want = np.broadcast_shapes(first, second, third)
    except ValueError:
        with pytest.raises(ValueError, match="cannot be broadcast"):
            px.broadcast_shapes(first, second, third)
        with pytest.raises(ValueError, match="cannot be broadcast"):
            px.broadcast_arrays(*map(px.asarray, arrays))
        return
    assert px.broadcast_shapes(first, second, third) == want
    for got in px.broadcast_arrays(*map(px.asarray, arrays)):
        assert got.shape == want


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_joining(name: str, device: px.Device) -> None:
    rng = generator("join", name)
    a, b, c = (ordinary_values(name, n, rng).reshape(2, -1, 3) for n in (12, 6, 24))
    for axis in (1, -2):
        got = px.concat([px.asarray(v) for v in (a, b, c)], axis=axis)
        assert_same(got, np.concat([a, b, c], axis=axis))
    got = px.concat([LAYOUTS["negative"](a, device), LAYOUTS["transposed"](a, device)])
    assert_same(got, np.concat([a, a]))
    assert_same(px.concat([px.asarray(a), px.asarray(b)], axis=None), np.concat([a, b], axis=None))
    assert_same(px.concat((px.asarray(a),)), a)
    for axis in (0, 1, 3, -1, -4):
        assert_same(
            px.stack([px.asarray(a), px.asarray(a[::-1])], axis=axis),
            np.stack([a, a[::-1]], axis=axis),
        )
    empty = px.asarray(a[:, :0])
    assert_same(px.concat([empty, px.asarray(b), empty], axis=1), b)
    assert px.concat([empty, empty], axis=1).shape == (2, 0, 3)


def test_joining_promotes(device: px.Device) -> None:
    a, b = px.asarray([1, 2], dtype=px.int8), px.asarray([200], dtype=px.uint8)
    assert px.concat([a, b]).dtype is px.int16
    assert px.concat([a, b]).tolist() == [1, 2, 200]
    halves = px.ones(1, dtype=px.float16), px.ones(1, dtype=px.bfloat16)
    assert px.concat(halves).dtype is px.float32
    assert (
        px.stack([px.ones(2, dtype=px.float32), px.ones(2, dtype=px.complex128)]).dtype
        is px.complex128
    )
    joined = px.concat([a])
    joined += 1
    assert a.tolist() == [1, 2]


@examples
@given(case=views(), data=st.data())
def test_roll(
    case: tuple[HostArray, Callable[[Any], Any]], data: st.DataObject, device: px.Device
) -> None:
    host, build = case
    x, view = build(px.asarray(host)), build(host)
    shift = data.draw(st.integers(-9, 9))
    assert_same(px.roll(x, shift), np.roll(view, shift))
    if view.ndim:
        axes = tuple(
            data.draw(st.lists(st.integers(-view.ndim, view.ndim - 1), min_size=1, max_size=3))
        )
        moves = tuple(data.draw(st.integers(-9, 9)) for _ in axes)
        assert_same(px.roll(x, moves, axis=axes), np.roll(view, moves, axis=axes))
        assert_same(px.roll(x, shift, axis=axes), np.roll(view, shift, axis=axes))
    assert not shares(px.roll(x, 0), x) or x.size == 0


@examples
@given(case=views(), data=st.data())
def test_repeat_and_tile(
    case: tuple[HostArray, Callable[[Any], Any]], data: st.DataObject, device: px.Device
) -> None:
    host, build = case
    x, view = build(px.asarray(host)), build(host)
    count = data.draw(st.integers(0, 3))
    assert_same(px.repeat(x, count), np.repeat(view, count))
    counts = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=view.size, max_size=view.size)), np.int16
    )
    assert_same(px.repeat(x, px.asarray(counts, dtype=px.int16)), np.repeat(view, counts))
    for axis in range(-view.ndim, view.ndim):
        n = view.shape[axis]
        counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.int64)
        assert_same(px.repeat(x, count, axis=axis), np.repeat(view, count, axis))
        assert_same(
            px.repeat(x, px.asarray(counts, dtype=px.int64), axis=axis),
            np.repeat(view, counts, axis),
        )
        assert_same(px.repeat(x, px.asarray([count]), axis=axis), np.repeat(view, count, axis))
    times = tuple(data.draw(st.lists(st.integers(0, 3), max_size=4)))
    assert_same(px.tile(x, times), np.tile(view, times))


@pytest.mark.parametrize("name", ALL)
def test_every_dtype_moves(name: str, device: px.Device) -> None:
    x = ordinary_values(name, 6, generator("move", name)).reshape(2, 3)
    y = px.asarray(x)
    assert_same(px.roll(y, 1), np.roll(x, 1))
    assert_same(px.repeat(y, 2, axis=0), np.repeat(x, 2, 0))
    assert_same(px.repeat(y, px.asarray([1, 0, 2]), axis=1), np.repeat(x, [1, 0, 2], 1))
    assert_same(px.tile(y, (2, 1)), np.tile(x, (2, 1)))
    assert_same(px.reshape(y.T, (6,)), x.T.reshape(6))
    assert x.dtype == host_dtype(name)


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: px.reshape(px.ones((2, 3)), (-1, -1)),
            ValueError,
            "may have one -1 and no other negative",
        ),
        (
            lambda: px.reshape(px.ones((2, 3)), (-2, 3)),
            ValueError,
            "may have one -1 and no other negative",
        ),
        (
            lambda: px.reshape(px.ones((2, 3)), (4, 2)),
            ValueError,
            r"6 elements of shape \(2, 3\) do not reshape to \(4, 2\)",
        ),
        (lambda: px.reshape(px.ones((2, 3)), (4, -1)), ValueError, "do not reshape"),
        (lambda: px.reshape(px.ones((0, 3)), (-1, 0)), ValueError, "do not reshape"),
        (
            lambda: px.reshape(px.ones((2, 3)), (2.0, 3)),
            TypeError,
            "reshape takes an int or a tuple of ints",
        ),
        (
            lambda: px.reshape([1, 2], (2,)),
            TypeError,
            "reshape takes a phalanx array, got list; use phalanx.asarray",
        ),
        (lambda: px.concat([]), ValueError, "concat needs at least one array"),
        (lambda: px.concat([px.ones(2), 3]), TypeError, "concat takes a phalanx array, got int"),
        (
            lambda: px.concat([px.ones(2), px.asarray([1])]),
            TypeError,
            "float64 and int64 have no common dtype",
        ),
        (
            lambda: px.concat([px.ones((2, 2)), px.ones((2, 3))]),
            ValueError,
            r"concat along axis 0: the other extents differ in \(2, 2\), \(2, 3\)",
        ),
        (lambda: px.concat([px.ones(2), px.ones((2, 2))]), ValueError, "the other extents differ"),
        (
            lambda: px.concat([px.ones(()), px.ones(())]),
            ValueError,
            "0-d arrays have no axis to join; use stack",
        ),
        (lambda: px.concat([px.ones(2)], axis=1), IndexError, "concat: axis 1 is out of range"),
        (lambda: px.stack([]), ValueError, "stack needs at least one array"),
        (
            lambda: px.stack([px.ones(2), px.ones(3)]),
            ValueError,
            r"stack: shapes differ: \(2,\), \(3,\)",
        ),
        (lambda: px.stack([px.ones(2), px.ones(2)], axis=3), IndexError, "axis 3 is out of range"),
        (lambda: px.unstack(px.ones(())), ValueError, "unstack needs at least one axis"),
        (
            lambda: px.squeeze(px.ones((2, 1)), 0),
            ValueError,
            r"squeeze: axis 0 of shape \(2, 1\) has more than one",
        ),
        (lambda: px.squeeze(px.ones((2, 1)), 5), IndexError, "squeeze: axis 5 is out of range"),
        (
            lambda: px.expand_dims(px.ones(2), axis=5),
            IndexError,
            "expand_dims: axis 5 is out of range for 2 axes",
        ),
        (lambda: px.expand_dims(px.ones(2), axis=(0, -3)), ValueError, "names a place twice"),
        (
            lambda: px.permute_dims(px.ones((2, 3)), (0, 0)),
            ValueError,
            r"\(0, 0\) is not a permutation of the axes",
        ),
        (lambda: px.permute_dims(px.ones((2, 3)), (0,)), ValueError, "is not a permutation"),
        (
            lambda: px.moveaxis(px.ones((2, 3)), 0, 5),
            IndexError,
            "moveaxis: axis 5 is out of range",
        ),
        (lambda: px.moveaxis(px.ones((2, 3)), (0, 1), (1,)), ValueError, "differ in length"),
        (lambda: px.moveaxis(px.ones((2, 3)), (0, 0), (0, 1)), ValueError, "names an axis twice"),
        (
            lambda: px.broadcast_to(px.ones((2, 3)), (3,)),
            ValueError,
            r"shape \(2, 3\) does not broadcast to \(3,\)",
        ),
        (lambda: px.broadcast_to(px.ones((2, 3)), (4, 3)), ValueError, "does not broadcast to"),
        (lambda: px.broadcast_to(px.ones((2, 3)), (2, 1)), ValueError, "does not broadcast to"),
        (lambda: px.flip(px.ones(3), axis=(0, -1)), ValueError, r"flip: axis \(0, -1\) names an"),
        (
            lambda: px.squeeze(px.ones((1, 2)), (0, -2)),
            ValueError,
            r"squeeze: axis \(0, -2\) names an axis twice",
        ),
        (lambda: px.flip(px.ones(3), axis=3), IndexError, "flip: axis 3 is out of range"),
        (lambda: px.matrix_transpose(px.ones(3)), ValueError, "mT needs two axes or more"),
        (lambda: px.roll(px.ones(3), (1, 2), axis=0), ValueError, "differ in length"),
        (lambda: px.roll(px.ones(3), (1, 2)), ValueError, "differ in length"),
        (lambda: px.repeat(px.ones(2), -1), ValueError, "a count must not be negative, got -1"),
        (
            lambda: px.repeat(px.ones(2), px.asarray([1, -2])),
            ValueError,
            "repeat: a count is negative",
        ),
        (
            lambda: px.repeat(px.ones(2), px.asarray([1, 2, 3])),
            ValueError,
            "repeat: 3 counts for 2 slices",
        ),
        (
            lambda: px.repeat(px.ones(2), px.asarray([1.0])),
            TypeError,
            "counts are a 1-d integer array, got float64",
        ),
        (
            lambda: px.repeat(px.ones(2), [1, 2]),
            TypeError,
            "repeat: the counts are an int or an integer array, got list",
        ),
        (lambda: px.tile(px.ones(2), (-1,)), ValueError, "repetitions must not be negative"),
        (lambda: px.tile(px.ones(2), (1.5,)), TypeError, "tile takes an int or a tuple of ints"),
        (lambda: px.flip([1]), TypeError, "flip takes a phalanx array, got list"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with px.promotion("standard"), pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("shape", [(-1,), (-1, 0), (0, -1), (2, -3), -1])
def test_negative_extents(shape: Any, drivers: object) -> None:
    one, nothing = px.ones((1, 1), device="fake:0"), px.ones((1, 0), device="fake:0")
    for x in (one, nothing):
        with pytest.raises(ValueError, match=r"extents .*0 or more|does not broadcast"):
            px.broadcast_to(x, shape)
    with pytest.raises(ValueError, match="extents of a shape are 0 or more"):
        px.broadcast_to(one[0, 0], shape)
    for make in (px.zeros, px.ones, px.empty, lambda s, device: px.full(s, 1, device=device)):
        with pytest.raises(ValueError, match="negative extent"):
            make(shape, device="fake:0")
    if isinstance(shape, tuple):
        with pytest.raises(ValueError, match="extents of a shape are 0 or more"):
            px.broadcast_shapes(shape, (1,) * len(shape))


def test_devices_do_not_mix(drivers: object) -> None:
    a, b = px.ones((2,), device="fake:0"), px.ones((2,), device="fake:1")
    for function in (px.concat, px.stack):
        with pytest.raises(px.DeviceMismatchError, match=r"fake:0.*fake:1"):
            function([a, b])
    with pytest.raises(px.DeviceMismatchError):
        px.repeat(a, px.asarray([1, 2], device="fake:1"))


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 2])
def test_diag(device: px.Device, k: int) -> None:
    for data in (np.arange(1.0, 4.0), np.arange(12).reshape(3, 4), np.ones(0)):
        got, want = px.diag(px.asarray(data), k), np.diag(data, k)
        assert got.dtype.name == want.dtype.name
        assert got.tolist() == want.tolist()
    with pytest.raises(ValueError, match="one or two axes"):
        px.diag(px.ones((1, 1, 1)))
