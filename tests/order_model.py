"""The orders of evaluation that docs/ops.md states, literally, in NumPy.

Each operation is one of IEEE 754 on arrays, so a result of a kernel is equal in every bit or wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Operation = Callable[[Any, Any], Any]


def tree(items: list[Any], op: Operation) -> Any:
    """For half = 2**k, ..., 2, 1 element i takes in element i + half, if both exist."""
    items = list(items)
    half = 1
    while half < len(items):
        half *= 2
    while half := half // 2:
        for i in range(half):
            if i + half < len(items):
                items[i] = op(items[i], items[i + half])
    return items[0]


def scan(x: Array, op: Operation) -> Array:
    """Along the first axis of (n, ...): running totals in blocks of 256, joined to their carries.

    The carries are a scan, too: of the totals of the blocks.
    """
    count = -(-len(x) // 256)
    running = np.zeros((256 * count, *x.shape[1:]), x.dtype)
    running[: len(x)] = x
    running = running.reshape(count, 256, *x.shape[1:])
    with np.errstate(all="ignore"):
        for i in range(1, 256):
            running[:, i] = op(running[:, i - 1], running[:, i])
        if count > 1:
            carries = scan(running[:-1, -1], op)
            running[1:] = op(carries[:, None], running[1:])
    return running.reshape(256 * count, *x.shape[1:])[: len(x)]


def reduction(x: Array, op: Operation) -> Any:
    """Of one row (n,): blocks of 4096 elements, in a block 64 lanes with every 64th in turn."""
    blocks = []
    for begin in range(0, len(x), 4096):
        block = x[begin : begin + 4096]
        lanes = block[:64].copy()
        for first in range(64, len(block), 64):
            part = block[first : first + 64]
            lanes[: len(part)] = op(lanes[: len(part)], part)
        blocks.append(tree(list(lanes), op))
    return tree(blocks, op)


def contraction(a: Array, b: Array) -> Array:
    """(m, k) times (k, n), where products are exact in the type: a fused step is a plain sum.

    Blocks of 4096 steps of k, in each a chain from 0, then the tree. No chain may end with -0.
    """
    m, k = a.shape
    n = b.shape[1]
    blocks = -(-k // 4096)
    left, right = np.zeros((m, 4096 * blocks), a.dtype), np.zeros((4096 * blocks, n), a.dtype)
    left[:, :k], right[:k] = a, b
    left, right = left.reshape(m, blocks, 4096), right.reshape(blocks, 4096, n)
    chains = np.zeros((blocks, m, n), a.dtype)
    for p in range(min(k, 4096)):
        x, y = left[:, :, p].T[:, :, None], right[:, p][:, None, :]
        if a.dtype.kind == "c":
            chains.real = chains.real + x.real * y.real
            chains.real = chains.real - x.imag * y.imag
            chains.imag = chains.imag + x.real * y.imag
            chains.imag = chains.imag + x.imag * y.real
        else:
            chains = chains + x * y
    return np.asarray(tree(list(chains), np.add))


def fused(a: Array, b: Array, c: Array) -> Array:
    """fma of float32: the sum in float64 rounded to odd, so that float32 rounds it only once.

    Boldo & Melquiond, Emulation of FMA and correctly rounded sums (2008).
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)  # exact
    addend = np.asarray(c, np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    inexact = (error != 0) & np.isfinite(total) & (total.view(np.uint64) & np.uint64(1) == 0)
    toward = np.where(error > 0, np.inf, -np.inf)
    return np.where(inexact, np.nextafter(total, toward), total).astype(np.float32)


def softmax_exp(x: Array) -> Array:
    """The exponential inside of softmax of float32 up to 0, step by step."""
    magic = np.float32(1.5 * 2**23)
    x = np.where(x < -104, np.float32(-104), x).astype(np.float32)
    k = fused(x, np.float32(1.44269504), magic) - magic
    r = fused(k, np.float32(-0.693145752), x)
    r = fused(k, np.float32(-1.42860677e-06), r)
    p = np.full_like(r, 0.0013818955)
    for coefficient in (0.0083687054, 0.0416682884, 0.166665211, 0.49999994, 1, 1):
        p = fused(p, r, np.float32(coefficient))
    return np.ldexp(p.astype(np.float64), k.astype(np.int64)).astype(np.float32)


def softmax(x: Array) -> Array:
    """Of one row (n,) of finite float32."""
    powers = softmax_exp(x - x.max())
    return np.asarray(powers * (np.float32(1) / reduction(powers, np.add)))


def log_softmax(x: Array) -> Array:
    """Of one row (n,) of finite float32."""
    shifted = x - x.max()
    total = reduction(softmax_exp(shifted), np.add)
    return np.asarray(shifted - np.log(np.float64(total)).astype(np.float32))


def layer_norm(x: Array, weight: Array, bias: Array, eps: float) -> Array:
    """Of one row (n,) of finite float32."""
    n = np.float32(len(x))
    d = x - reduction(x, np.add) / n
    variance = reduction(d * d, np.add) / n
    return np.asarray(d * (np.float32(1) / np.sqrt(variance + np.float32(eps))) * weight + bias)
