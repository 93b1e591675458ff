"""Integer-array indexing: the same bits as on the CPU, and the error for an index out of range."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import STYLES, in_style, values, wrong
from conftest import real_cpu
from exhaustive import some_of
from phalanx._warm import launch, view

DTYPES = ["bool", "int8", "uint16", "bfloat16", "float32", "int64", "float64", "complex128"]


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


def host(x: px.Array) -> np.ndarray:
    return np.ascontiguousarray(px.asnumpy(x))


def same(got: px.Array, want: px.Array) -> None:
    a, b = host(got), host(want)
    assert a.shape == b.shape
    bad = np.flatnonzero(wrong(a.reshape(-1), b.reshape(-1)))
    assert not bad.size, f"{bad.size} of {a.size} differ, first at {bad[0]}"


def both(where: px.Device, data: np.ndarray, dtype: str) -> tuple[px.Array, px.Array]:
    """The same array there and on the CPU."""
    cpu = real_cpu()
    return px.asarray(data, dtype=dtype, device=where), px.asarray(data, dtype=dtype, device=cpu)


def picks(extent: int, count: int, seed: int) -> np.ndarray:
    """Indices of both signs, many of them equal."""
    return np.random.default_rng(seed).integers(-extent, extent, count)


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("int8", "bfloat16", "float64")))
@pytest.mark.parametrize("shape", [(7,), (1000,), (5, 70), (3, 4, 5, 6)])
def test_gather(where: px.Device, dtype: str, shape: tuple[int, ...]) -> None:
    data = values(dtype, int(np.prod(shape)), special=True).reshape(shape)
    index = picks(shape[0], 300, 1)
    last = picks(shape[-1], 300, 2)
    x, y = both(where, data, dtype)
    i, j = both(where, index, "int64")
    k, n = both(where, last, "int64")
    same(x[i], y[j])
    same(px.flip(x)[i], px.flip(y)[j])
    same(x[..., k], y[..., n])
    if len(shape) > 1:
        order = tuple(reversed(range(len(shape))))
        same(px.permute_dims(x, order)[k], px.permute_dims(y, order)[n])
        same(x[i, picked(k, shape)], y[j, picked(n, shape)])


def picked(index: px.Array, shape: tuple[int, ...]) -> px.Array:
    """Indices of the last axis as such of the second one."""
    return index % shape[1]


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("int8", "bfloat16", "float64")))
@pytest.mark.parametrize("shape", [(7,), (1000,), (5, 70), (3, 4, 5, 6)])
def test_of_equal_indices_the_last_is_written(
    where: px.Device, dtype: str, shape: tuple[int, ...]
) -> None:
    data = values(dtype, int(np.prod(shape)))
    index = picks(shape[0], 3000, 3)
    new = values(dtype, 3000 * int(np.prod(shape[1:])), seed=4).reshape(3000, *shape[1:])
    arrays = []
    for x, i, v in zip(
        both(where, data.reshape(shape), dtype),
        both(where, index, "int64"),
        both(where, new, dtype),
        strict=True,
    ):
        whole, turned, one = px.asarray(x, copy=True), px.asarray(x, copy=True), px.asarray(x)
        whole[i] = v
        px.flip(turned)[i] = px.flip(v)
        one[i[:5]] = v[0] if len(shape) > 1 else v[:1]
        arrays.append((whole, turned, one))
    for got, want in zip(*arrays, strict=True):
        same(got, want)
    expected = data.reshape(shape).copy()
    expected[index] = new
    assert not wrong(host(arrays[0][0]).reshape(-1), expected.reshape(-1)).any()


def test_one_place_taken_by_all(where: px.Device) -> None:
    x = px.zeros(4, dtype="int32", device=where)
    x[px.full(100_000, 2, dtype="int64", device=where)] = px.arange(
        100_000, dtype="int32", device="cpu:0"
    ).to_device(where)
    assert host(x).tolist() == [0, 0, 99_999, 0]


@pytest.mark.parametrize("count", [1, 5, 20_000])
@pytest.mark.parametrize("bad", [5, -6, 2**62, -(2**63)])
def test_index_out_of_range(where: px.Device, count: int, bad: int) -> None:
    index = np.zeros(count, np.int64)
    index[count // 2] = bad
    index[-1] = bad
    x = px.zeros(5, device=where)
    i = px.asarray(index, device=where)
    said = rf"index {bad} at place {count // 2} .* extent 5; valid indices are in \[-5, 5\)"
    taken = x[i]
    for _ in range(2):
        with pytest.raises(IndexError, match=said):
            host(taken)
    x[i] = 1.0
    px.flip(x)[i] = 1.0
    with pytest.raises(IndexError, match="out of range") as raised:
        where.synchronize()
    assert len(raised.value.__notes__) == 1  # each is told once
    where.synchronize()
    assert host(x).tolist() == [0.0] * 5


@pytest.mark.parametrize("count", [70, 20_000])
@pytest.mark.parametrize(("extent", "stride"), [(5, 3), (5, 0), (5, -3), (0, 1)])
def test_index_out_of_range_has_no_place(
    where: px.Device, count: int, extent: int, stride: int
) -> None:
    index = np.random.default_rng(5).integers(-3 * extent, 3 * extent + 1, count)
    index[:4] = [extent, 2**62, 2**63 - 1, -(2**63)]
    out = px.zeros(count, dtype="int64", device=where)
    launch("wrap_index", (px.asarray(index, device=where),), (out,), (extent, stride))
    with pytest.raises(IndexError):
        where.synchronize()
    np.testing.assert_array_equal(host(out), np.full(count, -(2**56)))


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
@pytest.mark.parametrize("inner", [(), (70,), (3, 4)])
@pytest.mark.parametrize("count", [30, 3000])
def test_offsets_that_name_no_element(
    where: px.Device, dtype: str, inner: tuple[int, ...], count: int
) -> None:
    rng, elements = np.random.default_rng(6), int(np.prod(inner, dtype=int))
    memory = values(dtype, 11 * elements).reshape(11, elements)
    new = values(dtype, count * elements, seed=4).reshape(count, *inner)
    rows = rng.integers(0, 11, count)
    there = rng.random(count) < 0.6
    lost = rng.choice([-(2**56), -(2**56) + 2**48, -(2**62)], count)
    offsets = px.asarray(np.where(there, rows * elements, lost), device=where)
    x = px.asarray(memory, dtype=dtype, device=where)
    steps = tuple(int(np.prod(inner[a + 1 :], dtype=int)) for a in range(len(inner)))
    out = px.ones((count, *inner), dtype=dtype, device=where)
    launch("gather", (view(x, inner, steps), offsets), (out,))
    want = memory[rows].reshape(new.shape)
    want[~there] = np.zeros((), memory.dtype)
    assert not wrong(host(out).reshape(-1), want.reshape(-1)).any()
    launch(
        "scatter", (px.asarray(new, dtype=dtype, device=where), offsets), (view(x, inner, steps),)
    )
    memory[rows[there]] = new.reshape(count, elements)[there]
    assert not wrong(host(x).reshape(-1), memory.reshape(-1)).any()


def test_nothing_to_index(where: px.Device) -> None:
    none = px.zeros(0, dtype="int64", device=where)
    x = px.ones((5, 3), device=where)
    assert x[none].shape == (0, 3)
    x[none] = 2.0
    assert (host(x) == 1.0).all()
