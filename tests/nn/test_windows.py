"""Convolutions and pools against loops in NumPy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest
from phalanx.nn import convolution

HostArray = npt.NDArray[Any]
RNG = np.random.default_rng(5)
SLACK = {"float64": 1e-13, "float32": 1e-5, "float16": 4e-3}


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def convolved(
    x: HostArray, w: HostArray, stride: Any, edges: Any, dilation: Any, groups: int
) -> HostArray:
    """One output element after the other, in float64; edges are pairs for both axes."""
    x = np.pad(x.astype(float), [(0, 0), (0, 0), *edges])
    (sh, sw), (dh, dw) = _pair(stride), _pair(dilation)
    (out, inner, kh, kw), n = w.shape, x.shape[0]
    rows = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1
    columns = (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    result = np.zeros((n, out, rows, columns))
    for o, i, j in product(range(out), range(rows), range(columns)):
        first = o // (out // groups) * inner
        window = x[
            :, first : first + inner,
            i * sh : i * sh + dh * (kh - 1) + 1 : dh,
            j * sw : j * sw + dw * (kw - 1) + 1 : dw,
        ]  # fmt: skip
        result[:, o, i, j] = (window * w[o].astype(float)).sum(axis=(1, 2, 3))
    return result


CASES = [
    (stride, padding, dilation, groups)
    for stride in (1, 2, (2, 3))
    for padding in (0, (1, 2))
    for dilation in (1, (2, 1))
    for groups in (1, 2)
]


@pytest.mark.parametrize("dtype", SLACK)
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), CASES)
def test_conv2d(
    dtype: str, stride: Any, padding: Any, dilation: Any, groups: int, device: px.Device
) -> None:
    x = RNG.standard_normal((2, 4, 9, 8)).astype(dtype)
    w = RNG.standard_normal((6, 4 // groups, 3, 2)).astype(dtype)
    b = RNG.standard_normal(6).astype(dtype)
    edges = [(p, p) for p in _pair(padding)]
    want = convolved(x, w, stride, edges, dilation, groups) + b.astype(float)[:, None, None]
    here = (px.asarray(a, device=device) for a in (x, w, b))
    got = px.nn.conv2d(*here, stride, padding, dilation, groups)
    assert got.dtype.name == dtype
    assert got.shape == want.shape
    error = np.abs(px.asnumpy(got).astype(float) - want)
    assert (error <= SLACK[dtype] * (4 + np.abs(want))).all()


def test_conv1d_is_conv2d_of_one_row(device: px.Device) -> None:
    x, w = RNG.standard_normal((3, 4, 11)), RNG.standard_normal((2, 4, 3))
    here, weight = px.asarray(x, device=device), px.asarray(w, device=device)
    want = convolved(x[:, :, None], w[:, :, None], (1, 2), [(0, 0), (2, 2)], 1, 1)[:, :, 0]
    got = px.asnumpy(px.nn.conv1d(here, weight, stride=2, padding=2))
    assert np.allclose(got, want, rtol=1e-13, atol=1e-13)
    one = px.asnumpy(px.nn.conv1d(here[1], weight, stride=2, padding=2))
    assert np.array_equal(one, got[1])


@pytest.mark.parametrize("size", [(3, 3), (2, 4), (1, 1)])
def test_same_keeps_the_extents(size: tuple[int, int], device: px.Device) -> None:
    x, w = RNG.standard_normal((1, 2, 6, 7)), RNG.standard_normal((3, 2, *size))
    dilation = (2, 1)
    total = [d * (k - 1) for d, k in zip(dilation, size, strict=True)]
    want = convolved(x, w, 1, [(t // 2, t - t // 2) for t in total], dilation, 1)
    got = px.nn.conv2d(
        px.asarray(x, device=device),
        px.asarray(w, device=device),
        padding="same",
        dilation=dilation,
    )
    assert got.shape == (1, 3, 6, 7)
    assert np.allclose(px.asnumpy(got), want, rtol=1e-13, atol=1e-13)


def test_bits_do_not_depend_on_the_number_of_images_at_once(
    device: px.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = px.asarray(RNG.standard_normal((5, 3, 8, 8)), dtype=px.float32, device=device)
    w = px.asarray(RNG.standard_normal((4, 3, 3, 3)), dtype=px.float32, device=device)
    whole = px.asnumpy(px.nn.conv2d(x, w))
    monkeypatch.setattr(convolution, "_COLUMNS", 1)
    assert px.asnumpy(px.nn.conv2d(x, w)).tobytes() == whole.tobytes()


def test_order_of_a_convolution(cpu: px.Device) -> None:
    """An element is one chain of fma over channels, then places: as `matmul` of the columns."""
    x = px.asarray(RNG.standard_normal((2, 3, 6, 6)), dtype=px.float32)
    w = px.asarray(RNG.standard_normal((4, 3, 3, 3)), dtype=px.float32)
    columns = px.nn.unfold(x, 3)
    want = px.reshape(px.matmul(px.reshape(w, (4, 27)), columns), (2, 4, 4, 4))
    assert px.asnumpy(px.nn.conv2d(x, w)).tobytes() == px.asnumpy(want).tobytes()


def test_no_images_and_no_channels(device: px.Device) -> None:
    w = px.ones((2, 3, 3, 3), device=device)
    assert px.nn.conv2d(px.zeros((0, 3, 5, 5), device=device), w).shape == (0, 2, 3, 3)
    none = px.nn.conv2d(px.zeros((1, 0, 5, 5), device=device), px.ones((2, 0, 3, 3), device=device))
    assert none.shape == (1, 2, 3, 3)
    assert not px.asnumpy(none).any()


# ---- pools ---------------------------------------------------------------------------------------


def windows(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> list[list[int]]:
    """The places of the input, negative or beyond for padding, that each window has."""
    found = []
    begin = -p
    while True:
        last = begin + d * (k - 1)
        beyond = last >= n + p
        if beyond and not (ceil_mode and begin < n and last - (n + p - 1) < s):
            return found
        found.append([begin + d * i for i in range(k)])
        begin += s


def pooled(x: HostArray, k: Any, s: Any, p: Any, d: Any, ceil_mode: bool, kind: str) -> HostArray:
    rows, columns = (
        windows(n, *rest, ceil_mode)
        for n, *rest in zip(x.shape[-2:], _pair(k), _pair(s), _pair(p), _pair(d), strict=True)
    )
    result = np.zeros((*x.shape[:-2], len(rows), len(columns)))
    ph, pw = _pair(p)
    for (i, r), (j, c) in product(enumerate(rows), enumerate(columns)):
        inside_r = [a for a in r if 0 <= a < x.shape[-2]]
        inside_c = [a for a in c if 0 <= a < x.shape[-1]]
        seen = x[..., inside_r, :][..., inside_c]
        if kind == "max":
            result[..., i, j] = seen.max(axis=(-2, -1))
            continue
        padded = len([a for a in r if a < x.shape[-2] + ph])
        padded *= len([a for a in c if a < x.shape[-1] + pw])
        count = padded if kind == "mean" else len(inside_r) * len(inside_c)
        result[..., i, j] = seen.sum(axis=(-2, -1)) / count
    return result


POOLS = [
    (k, s, p, ceil_mode)
    for k in (2, 3, (3, 2))
    for s in (1, 2, (3, 2))
    for p in (0, 1)
    for ceil_mode in (False, True)
]


@pytest.mark.parametrize(("k", "s", "p", "ceil_mode"), POOLS)
def test_pools(k: Any, s: Any, p: int, ceil_mode: bool, device: px.Device) -> None:
    host = RNG.standard_normal((2, 3, 9, 10))
    x = px.asarray(host, device=device)
    for dilation in (1, 2):
        got = px.asnumpy(px.nn.max_pool2d(x, k, s, p, dilation, ceil_mode))
        assert np.array_equal(got, pooled(host, k, s, p, dilation, ceil_mode, "max"))
    for kind in ("mean", "mean inside"):
        got = px.asnumpy(px.nn.avg_pool2d(x, k, s, p, ceil_mode, kind == "mean"))
        assert np.allclose(got, pooled(host, k, s, p, 1, ceil_mode, kind), rtol=1e-14, atol=1e-15)


def test_pools_of_rows_and_their_defaults(device: px.Device) -> None:
    host = RNG.integers(-99, 99, (2, 3, 9))
    x = px.asarray(host, device=device)
    want = pooled(host[:, :, None], (1, 4), (1, 4), 0, 1, False, "max")[:, :, 0]
    got = px.nn.max_pool1d(x, 4)
    assert got.dtype is px.int64
    assert np.array_equal(px.asnumpy(got), want)
    floats = px.astype(x, px.float16)
    mean = px.nn.avg_pool1d(floats, 3)
    assert mean.dtype is px.float16
    wide = pooled(host[:, :, None], (1, 3), (1, 3), 0, 1, False, "mean")[:, :, 0]
    assert np.array_equal(px.asnumpy(mean), wide.astype(np.float32).astype(np.float16))
    assert px.nn.avg_pool2d(px.ones((1, 4, 4), device=device), 2, divisor_override=8).tolist() == [
        [[0.5, 0.5], [0.5, 0.5]]
    ]


def test_nan_is_the_largest_of_its_windows(device: px.Device) -> None:
    got = px.nn.max_pool1d(px.asarray([[1.0, px.nan, 2.0, 3.0]], device=device), 2)
    assert str(got.tolist()) == "[[nan, 3.0]]"


def test_unfold(device: px.Device) -> None:
    host = RNG.standard_normal((2, 3, 7, 6))
    got = px.asnumpy(
        px.nn.unfold(px.asarray(host, device=device), (3, 2), dilation=2, padding=1, stride=2)
    )
    padded = np.pad(host, [(0, 0), (0, 0), (1, 1), (1, 1)])
    parts = [padded[:, :, 2 * i : 2 * i + 5 : 2, 2 * j : 2 * j + 3 : 2] for i, j in
             product(range(3), range(3))]  # fmt: skip
    assert np.array_equal(got, np.stack([p.reshape(2, -1) for p in parts], axis=-1))
