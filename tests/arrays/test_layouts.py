"""Elementwise ops on every layout of their operands: the layout never shows in the numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx._warm import cast
from phalanx._warm import copy as copy_array
from phalanx.conformance.reference.formats import FORMATS, PARTS
from phalanx.conformance.reference.values import HostArray, ordinary_values, wild_values
from phalanx.namespace.public import public_function
from phalanx.optable import ALL, OPS, Op, Signature, Structure

ELEMENTWISE = [row for row in OPS.values() if row.structure is Structure.ELEMENTWISE]
SIZES = (0, 1, 2, 3, 15, 16, 17, 31, 33, 63, 64, 65, 255, 1000)
SHAPE = (3, 5, 7)
IN_PLACE = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "pow": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "bitwise_left_shift": "<<", "bitwise_right_shift": ">>",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def call(row: Op, signature: Signature, *args: px.Array) -> px.Array:
    if row.name == "copy":
        return copy_array(*args)
    if row.name == "cast":
        return cast(args[0], getattr(px, signature.outputs[0]))
    return public_function(row.name)(*args)


def same(got: px.Array, want: HostArray, exact: bool, what: str) -> None:
    """To the bit on real devices; NumPy's loops, behind the fakes, differ in the last places."""
    if exact or want.dtype.name not in (*FORMATS, *PARTS):
        assert_same(got, want, what)
        return
    host = px.asnumpy(got)
    assert host.shape == want.shape, what
    assert host.dtype == want.dtype, what
    wide = complex if want.dtype.kind == "c" else float
    bits = FORMATS[PARTS.get(want.dtype.name, want.dtype.name)][0]
    np.testing.assert_allclose(
        host.astype(wide), want.astype(wide), rtol=2.0 ** (6 - bits), err_msg=what
    )


def cases(row: Op, device: px.Device) -> Iterator[tuple[Signature, tuple[HostArray, ...], bool]]:
    """Signatures with 1000 values per operand: all of them on a real device, a few on the fakes."""
    real = device.name == "cpu:0"
    step = 1 if real else max(1, len(row.signatures) // 3)
    for signature in row.signatures[::step]:
        rng = generator("layout", row.name, signature)
        make = wild_values if real else ordinary_values
        args = tuple(make(name, 1000, rng) for name in signature.inputs)
        if not real and row.name in (
            "asin",
            "acos",
            "acosh",
            "atanh",
            "log",
            "log2",
            "log10",
            "log1p",
        ):
            args = (np.full(1000, 1.0 if row.name == "acosh" else 0.5).astype(args[0].dtype),)
        if not real and row.name in ("pow", "sqrt") and signature.inputs[0] in FORMATS:
            args = (np.abs(args[0]), *args[1:])
        if row.name == "pow" and args[1].dtype.kind == "i":  # negative exponents are refused
            args = (args[0], args[1] & np.iinfo(args[1].dtype).max)
        yield signature, args, real


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_sizes(row: Op, device: px.Device) -> None:
    """The first n results do not depend on how many follow: vectors, tails, threads, empty."""
    for signature, args, exact in cases(row, device):
        whole = px.asnumpy(call(row, signature, *map(px.asarray, args)))
        for n in SIZES:
            got = call(row, signature, *(px.asarray(a[:n]) for a in args))
            same(got, whole[:n], exact, f"{row.name} {signature} of {n} elements")


@pytest.mark.parametrize("row", ELEMENTWISE, ids=lambda row: row.name)
def test_layouts(row: Op, device: px.Device) -> None:
    """Every layout, alone and mixed with the others."""
    names = list(LAYOUTS)
    for signature, args, exact in cases(row, device):
        cubes = [a[:105].reshape(SHAPE) for a in args]
        want = px.asnumpy(call(row, signature, *map(px.asarray, cubes)))
        for i, _name in enumerate(names):
            for shift in (0, 1, 3) if exact and len(args) > 1 else (0,):
                chosen = [names[(i + k * shift) % len(names)] for k in range(len(args))]
                operands = [LAYOUTS[c](x, device) for c, x in zip(chosen, cubes, strict=True)]
                for operand, cube in zip(operands, cubes, strict=True):
                    assert operand.shape == cube.shape
                got = call(row, signature, *operands)
                same(got, want, exact, f"{row.name} {signature} on {chosen}")


@pytest.mark.parametrize(
    "row",
    [r for r in ELEMENTWISE if r.arity > 1 and r.name not in ("clip", "fma")],
    ids=lambda row: row.name,
)
def test_broadcasting(row: Op, device: px.Device) -> None:
    """Extents of 1, missing axes, 0-d and views of stride 0, against operands written out."""
    shapes = [((4, 1), (1, 6)), ((5,), (3, 5)), ((), (2, 3)), ((2, 3), ()), ((2, 1, 4), (3, 1))]
    shapes += [((0, 3), (1, 3)), ((0,), ()), ((), ()), ((1, 1), (7,))]
    for signature, args, exact in cases(row, device):
        for left, right in shapes:
            chosen = [left, right, left][: len(args)]
            parts = [a[: int(np.prod(s))].reshape(s) for a, s in zip(args, chosen, strict=True)]
            written = [np.array(p, order="C") for p in np.broadcast_arrays(*parts)]
            want = px.asnumpy(call(row, signature, *map(px.asarray, written)))
            got = call(row, signature, *map(px.asarray, parts))
            same(got, want, exact, f"{row.name} {signature} on {chosen}")
            views = [px.broadcast_to(px.asarray(p), want.shape) for p in parts]
            got = call(row, signature, *views)
            same(got, want, exact, f"{row.name} {signature} on views of stride 0, {chosen}")


@pytest.mark.parametrize("op", IN_PLACE)
def test_in_place(op: str, device: px.Device) -> None:
    """In a view of any layout, through the view, leaving the elements between alone."""
    row = OPS[op]
    code = compile(f"x {IN_PLACE[op]}= y", op, "exec")
    for signature, (a, b), exact in cases(row, device):
        x, y = a[:105].reshape(SHAPE), b[:105].reshape(SHAPE)
        want = px.asnumpy(call(row, signature, px.asarray(x), px.asarray(y)))
        for name, layout in LAYOUTS.items():
            for other in (px.asarray(y), LAYOUTS["transposed"](y, device)):
                view = layout(x, device)
                before = view.buffer
                scope = {"x": view, "y": other}
                exec(code, scope)
                assert scope["x"] is view
                assert view.buffer is before
                same(view, want, exact, f"{op} {signature} in place, {name}")


def test_in_place_leaves_the_gaps(device: px.Device) -> None:
    x = px.zeros((4, 6), dtype=px.int16)
    part = x[1::2, ::-2]
    part += 5
    want = np.zeros((4, 6), np.int16)
    want[1::2, ::-2] += 5
    assert_same(x, want)


@pytest.mark.parametrize("n", [2, 5, 64, 1000])
def test_overlapping_operands(n: int, device: px.Device) -> None:
    """The right side is complete before the left one changes."""
    start = np.arange(n, dtype=np.float32)
    for target, source in itertools.permutations([slice(1, None), slice(None, -1)], 2):
        x, want = px.asarray(start), start.copy()
        view = x[target]
        view += x[source]
        want[target] = want[target] + want[source].copy()
        assert_same(x, want, f"{target} += {source}")
        x, want = px.asarray(start), start.copy()
        x[target] = x[source]
        want[target] = want[source].copy()
        assert_same(x, want, f"{target} = {source}")
    x = px.asarray(start)
    x += px.flip(x)
    assert_same(x, start + start[::-1])
    x = px.asarray(start)
    x[::-1] = x
    assert_same(x, start[::-1].copy())
    m = px.asarray(np.arange(n * n, dtype=np.int32).reshape(n, n))
    m += m.T
    assert_same(m, np.add.outer(np.arange(n), np.arange(n)).astype(np.int32) * (n + 1))


def test_in_place_with_its_own_elements(device: px.Device) -> None:
    """An operand that broadcasts from inside the target."""
    x = px.asarray([[1, 2], [3, 4]])
    x += x[0]
    assert x.tolist() == [[2, 4], [4, 6]]
    x *= x[:, 1:]
    assert x.tolist() == [[8, 16], [24, 36]]


def test_results_keep_the_order_of_axes(device: px.Device) -> None:
    """An elementwise op on transposed operands runs along memory, and its result lies alike."""
    x = px.permute_dims(px.ones((2, 3, 4)), (2, 0, 1))
    assert (x + 1).strides == x.strides
    assert px.exp(x).strides == x.strides
    assert (x + px.permute_dims(px.ones((2, 3, 4)), (2, 0, 1))).strides == x.strides
    strided = px.ones((4, 6))[:, ::2]
    assert px.exp(strided).is_contiguous


def test_zero_dimensions_and_no_elements(device: px.Device) -> None:
    for name in ALL:
        x = px.asarray(1, dtype=name) if name != "bool" else px.asarray(True)
        assert x.shape == ()
        assert copy_array(x).item() == 1
        nothing = px.empty((3, 0, 2), dtype=name)
        assert px.equal(nothing, nothing).shape == (3, 0, 2)
        assert px.equal(nothing, x).shape == (3, 0, 2)
        assert px.equal(nothing, px.zeros((1, 1, 1), dtype=name)).shape == (3, 0, 2)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        px.ones((0,)) + px.ones((2,))


def test_many_axes(device: px.Device) -> None:
    x = px.reshape(px.arange(16), (1, 2) * 4 + (1,) * 56)
    assert x.ndim == 64
    assert int(px.sum(x + x)) == 240
    turned = px.permute_dims(x, tuple(reversed(range(64))))
    assert_same(turned + 1, px.asnumpy(x).transpose() + 1)
    assert_same(
        px.where(turned > 3, turned, 0), np.where(px.asnumpy(turned) > 3, px.asnumpy(turned), 0)
    )
    with pytest.raises(ValueError, match="65 axes; at most 64"):
        px.expand_dims(x)


def test_absurd_shapes(device: px.Device) -> None:
    """An overflow of the shape's product is an error that names the shape, never a small array."""
    row = px.ones((1 << 20, 1))
    wide = px.broadcast_to(px.ones((1,)), (1 << 40,))
    with pytest.raises((ValueError, px.OutOfMemoryError)):
        row + wide
    with pytest.raises((ValueError, px.OutOfMemoryError), match="1099511627776"):
        px.zeros((1 << 40, 1 << 40))
    with pytest.raises(ValueError, match="negative extent"):
        px.zeros((2, -1))


def _end(extent: int, rng: np.random.Generator) -> int | None:
    """One end of a slice: open, inside or beyond."""
    return None if rng.random() < 0.5 else int(rng.integers(-extent - 2, extent + 2))


def random_view(
    x: px.Array, host: HostArray, rng: np.random.Generator
) -> tuple[px.Array, HostArray]:
    """A few basic views on both sides: slices with any step, transpositions, new axes, ints."""
    for _ in range(rng.integers(1, 4)):
        choice = rng.integers(0, 5)
        if choice == 0 and host.ndim > 1:
            order = tuple(int(i) for i in rng.permutation(host.ndim))
            x, host = px.permute_dims(x, order), host.transpose(order)
        elif choice == 1 and host.ndim < 6:
            axis = int(rng.integers(0, host.ndim + 1))
            x, host = px.expand_dims(x, axis=axis), np.expand_dims(host, axis)
        elif choice == 2 and host.ndim > 1:
            axis = int(rng.integers(0, host.ndim))
            if host.shape[axis]:
                key = (slice(None),) * axis + (
                    int(rng.integers(-host.shape[axis], host.shape[axis])),
                )
                x, host = x[key], host[key]
        elif host.ndim:
            key = tuple(
                slice(_end(n, rng), _end(n, rng), int(rng.choice([1, 1, 2, -1, -2, 3])))
                for n in host.shape
            )
            x, host = x[key], host[key]
    return x, host


@pytest.mark.parametrize("seed", range(12))
def test_random_views(seed: int, device: px.Device) -> None:
    """Views, results on views and writes through views, as NumPy has them."""
    rng = generator("views", seed)
    for round_ in range(12):
        what = f"seed {seed}, round {round_}"
        shape = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 5)))
        start = rng.integers(-50, 50, shape).astype(np.int32)
        whole, host = px.asarray(start), start.copy()
        x, view = random_view(whole, host, rng)
        assert_same(x, view, what)
        assert_same(x * 2 + x, view * 3, what)
        assert_same(px.where(x > 0, x, -x), np.abs(view), what)
        other = rng.integers(-9, 9, view.shape[-1:]).astype(np.int32)
        assert_same(x - px.asarray(other), view - other, what)
        axes = tuple(i for i in range(view.ndim) if rng.random() < 0.5)
        assert_same(
            px.sum(x, axis=axes), view.sum(axis=axes, dtype=np.int64), f"{what}, sum {axes}"
        )
        assert_same(
            px.reshape(x, (-1,)) if x.size else x, view.reshape(-1) if x.size else view, what
        )
        x += 1
        view += 1
        x[...] = x * px.asarray(other)
        view[...] = view * other
        assert_same(whole, host, f"{what}, written through the view")
