"""topk against stable sorts in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest

HostArray = npt.NDArray[Any]
SHAPES = [
    ((9,), 3, 0),
    ((1000,), 5, 0),
    ((7, 1000), 3, 1),
    ((1000, 3), 10, 0),
    ((4, 999, 2), 17, 1),
]
SHAPES += [((30_011,), 100, 0), ((5, 70), 70, -1), ((3, 200), 0, -1), ((0, 200), 3, 1)]


def _floats(rng: np.random.Generator, shape: tuple[int, ...]) -> HostArray:
    return rng.standard_normal(shape)


def _ties(rng: np.random.Generator, shape: tuple[int, ...]) -> HostArray:
    return np.round(rng.standard_normal(shape)) * rng.choice([0.0, -0.0, 1.0], shape)


def _edges(rng: np.random.Generator, shape: tuple[int, ...]) -> HostArray:
    """Whole stretches of infinities and NaN, so that blocks have nothing else."""
    x = rng.standard_normal(shape)
    if x.size:
        cut = rng.integers(0, x.size, 8)
        for begin, value in zip(cut, [np.inf, np.nan, -np.inf, np.nan] * 2, strict=True):
            x.reshape(-1)[begin : begin + x.size // 5] = value
    return x


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> HostArray:
    return rng.integers(-300, 300, shape).astype(np.int16)


def order(x: HostArray, axis: int, largest: bool) -> HostArray:
    """Stable: of equal elements the first comes first, NaN being the largest."""
    if not largest:
        return np.argsort(x, axis=axis, stable=True)
    n = x.shape[axis]
    return np.flip(n - 1 - np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)


@pytest.mark.parametrize(("shape", "k", "dim"), SHAPES)
@pytest.mark.parametrize("make", [_floats, _ties, _edges, _numbers])
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_in_a_stable_order(
    shape: tuple[int, ...], k: int, dim: int, make: Any, largest: bool, device: px.Device
) -> None:
    x = make(np.random.default_rng(1), shape)
    places = np.take(order(x, dim, largest), np.arange(k), axis=dim)
    got = px.nn.topk(px.asarray(x, device=device), k, dim, largest)
    assert got.indices.dtype is px.int64
    assert np.array_equal(px.asnumpy(got.indices), places)
    want = np.take_along_axis(x, places, dim)
    assert px.asnumpy(got.values).tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "bfloat16", "float32"])
def test_dtypes(dtype: str, device: px.Device) -> None:
    host = np.random.default_rng(1).integers(0, 2 if dtype == "bool" else 200, 500)
    x = px.astype(px.asarray(host, device=device), getattr(px, dtype))
    values, indices = px.nn.topk(x, 9)
    want = order(px.asnumpy(x).astype(float), 0, True)[:9]
    assert px.asnumpy(indices).tolist() == want.tolist()
    assert values.dtype is x.dtype
    assert px.asnumpy(values).tolist() == px.asnumpy(x)[want].tolist()
