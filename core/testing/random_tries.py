"""Gamma, Poisson and binomial numbers in NumPy, for the reference driver: tries as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma
from typing import Any

import numpy as np
import numpy.typing as npt
from phalanx.optable.random import TRIES

from .random import bits_of, exponential, normal, philox, uniform, unit

HostArray = npt.NDArray[Any]


def compute(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    """Run an op on parameters (n,) or 0-d, into an array (n,)."""
    (n,) = out.shape
    assert all(x.shape in ((), (n,)) for x in inputs)
    key, stream, position = params
    blocks = philox(key, stream, position, n * TRIES).reshape(n, TRIES, 4)
    parameters = [np.broadcast_to(x.astype(np.float64), (n,)) for x in inputs]
    if op == "random_gamma":
        name = "float64" if out.dtype == np.float64 else "float32"
        out[...] = _gamma(parameters[0], blocks, name).astype(out.dtype)
    elif op == "random_poisson":
        out[...] = [_poisson(m, block) for m, block in zip(parameters[0], blocks, strict=True)]
    else:
        rows = zip(*parameters, blocks, strict=True)
        out[...] = [_binomial(count, p, block) for count, p, block in rows]


def _gamma(a: HostArray, blocks: HostArray, name: str) -> HostArray:
    shape = np.where(a < 1, a + 1, a)
    d = shape - 1 / 3
    c = 1 / np.sqrt(9 * d)
    result = d.copy()
    waiting = np.ones(a.shape, bool)
    words = bits_of(blocks, name)
    for i in range(1, TRIES):
        if name == "float64":
            x = normal(np.stack([words[:, i, 0], blocks[:, i, 2] << np.uint64(32)], 1), name)
            e = -np.log((blocks[:, i, 3] + 0.5) * 2.0**-32)
        else:
            x = normal(blocks[:, i, :2], name)
            e = exponential(blocks[:, i, 2], name)
        t = 1 + c * x.reshape(-1, 2)[:, 0]
        v = t**3
        good = (t > 0) & (e > d * (v - 1 - np.log(np.where(t > 0, v, 1))) - (t - 1) ** 2 / c**2 / 2)
        result = np.where(waiting & good, d * v, result)
        waiting &= ~good
        if not waiting.any():
            break
    factor = np.exp(-exponential(words[:, 0, 0], name) / np.where(a > 0, a, 1))
    result = np.where(a < 1, result * factor, result)
    return np.where(a > 0, result, np.where(a == 0, 0.0, np.nan))


def _numbers(block: HostArray) -> tuple[float, float]:
    """The two numbers of 64 bits of a block, in (0, 1]."""
    made = unit(bits_of(block, "float64"), "float64")
    return float(made[0]), float(made[1])


def _stepped(first: float, ratios: Any, mean: float, block: HostArray, most: float) -> int:
    u = float(uniform(bits_of(block, "float64"), "float64")[0])
    chance = total = first
    k = 0
    while u >= total and k < most and (k < mean or chance > 1e-19):
        chance *= ratios(k)
        total += chance
        k += 1
    return k


def _poisson(m: float, blocks: HostArray) -> int:
    if not 0 <= m <= 2.0**53:
        return -1
    if m < 10:
        return _stepped(np.exp(-m), lambda k: m / (k + 1), m, blocks[0], np.inf)
    b = 0.931 + 2.53 * np.sqrt(m)
    a = -0.059 + 0.02483 * b
    height, squeeze = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    for block in blocks:
        u, v = _numbers(block)
        u -= 0.5
        us = 0.5 - abs(u)
        k = np.floor((2 * a / us + b) * u + m + 0.43) if us else -1
        if us >= 0.07 and v <= squeeze:
            return int(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        if np.log(v * height / (a / us**2 + b)) <= k * np.log(m) - m - lgamma(k + 1):
            return int(k)
    return int(m)


def _binomial(count: float, p: float, blocks: HostArray) -> int:
    if not (0 <= count <= 2.0**53 and 0 <= p <= 1):
        return -1
    n, q = int(count), min(p, 1 - p) if p > 0.5 else p
    k = _rare(n, q, blocks)
    return n - k if p > 0.5 else k


def _rare(n: int, p: float, blocks: HostArray) -> int:
    if n * p < 10:
        first = np.exp(n * np.log1p(-p))
        return _stepped(first, lambda k: (n - k) / (k + 1) * p / (1 - p), n * p, blocks[0], n)
    s = np.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * s
    a = -0.0873 + 0.0248 * b + 0.01 * p
    mode = (n + 1) * p // 1
    height, odds = (2.83 + 5.1 / b) * s, np.log(p / (1 - p))
    top = lgamma(mode + 1) + lgamma(n - mode + 1)
    for block in blocks:
        u, v = _numbers(block)
        u -= 0.5
        us = 0.5 - abs(u)
        k = np.floor((2 * a / us + b) * u + n * p + 0.5) if us else -1
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return int(k)
        if k < 0 or k > n:
            continue
        chance = top - lgamma(k + 1) - lgamma(n - k + 1) + (k - mode) * odds
        if np.log(v * height / (a / us**2 + b)) <= chance:
            return int(k)
    return int(n * p)
