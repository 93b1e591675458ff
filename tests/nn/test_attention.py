"""Attention against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest

HostArray = npt.NDArray[Any]
RNG = np.random.default_rng(8)
Q, K, V = (RNG.standard_normal(s) for s in ((2, 4, 7, 6), (2, 4, 5, 6), (2, 4, 5, 3)))
MASK = RNG.random((7, 5)) < 0.6
MASK[2] = False


def attended(q: HostArray, k: HostArray, v: HostArray, bias: HostArray, scale: float) -> HostArray:
    scores = q @ np.swapaxes(k, -1, -2) * scale + bias
    largest = np.maximum(scores.max(axis=-1, keepdims=True), -1e300)
    weights = np.exp(scores - largest)
    total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / np.where(total == 0, 1, total) @ v)


def check(got: px.Array, want: HostArray, slack: float = 1e-13) -> None:
    assert got.shape == want.shape
    assert np.allclose(px.asnumpy(got).astype(float), want, rtol=slack, atol=slack)


@pytest.mark.parametrize(
    ("dtype", "slack"), [("float64", 1e-13), ("float32", 1e-5), ("float16", 6e-3)]
)
def test_plain_and_scaled(dtype: str, slack: float, device: px.Device) -> None:
    hosts = [a.astype(dtype) for a in (Q, K, V)]
    q, k, v = (px.asarray(a, device=device) for a in hosts)
    wide = [a.astype(float) for a in hosts]
    zero = np.zeros((7, 5))
    got = px.nn.scaled_dot_product_attention(q, k, v)
    assert got.dtype.name == dtype
    check(got, attended(*wide, zero, 6**-0.5), slack)
    check(px.nn.scaled_dot_product_attention(q, k, v, scale=0.2), attended(*wide, zero, 0.2), slack)


def test_masks(device: px.Device) -> None:
    q, k, v, mask = (px.asarray(a, device=device) for a in (Q, K, V, MASK))
    attention = px.nn.scaled_dot_product_attention
    hidden = np.where(MASK, 0.0, -np.inf)
    want = attended(Q, K, V, hidden, 6**-0.5)
    assert not want[:, :, 2].any()  # the row that sees nothing
    check(attention(q, k, v, mask), want)
    bias = RNG.standard_normal((2, 1, 7, 5)) + hidden
    check(attention(q, k, v, px.asarray(bias, device=device)), attended(Q, K, V, bias, 6**-0.5))
    causal = np.where(np.tri(7, 5, dtype=bool), 0.0, -np.inf)
    check(attention(q, k, v, is_causal=True), attended(Q, K, V, causal, 6**-0.5))


def test_heads_that_share_keys(device: px.Device) -> None:
    q, k, v = (px.asarray(a, device=device) for a in (Q, K[:, :2], V[:, :2]))
    want = attended(Q, K[:, [0, 0, 1, 1]], V[:, [0, 0, 1, 1]], np.zeros((7, 5)), 6**-0.5)
    check(px.nn.scaled_dot_product_attention(q, k, v, enable_gqa=True), want)


def test_dropout_of_weights(device: px.Device) -> None:
    q, k, v = (px.asarray(a, device=device) for a in (Q, K, V))
    px.random.seed(4)
    first = px.asnumpy(px.nn.scaled_dot_product_attention(q, k, v, dropout_p=0.5))
    px.random.seed(4)
    again = px.asnumpy(px.nn.scaled_dot_product_attention(q, k, v, dropout_p=0.5))
    assert np.array_equal(first, again)
    plain = px.asnumpy(px.nn.scaled_dot_product_attention(q, k, v))
    assert not np.array_equal(first, plain)
