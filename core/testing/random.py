"""The ops that make random numbers in NumPy, for the reference driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from phalanx.optable.random import BLOCK_WORDS, WORDS

HostArray = npt.NDArray[Any]
_LOW = np.uint64(0xFFFFFFFF)
_HALF_WORD = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_STEPS = (0x9E3779B9, 0xBB67AE85)


def philox(key: int, stream: int, position: int, blocks: int) -> HostArray:
    """Return the words (blocks, 4) of Philox 4x32-10 as uint64: Salmon et al., SC'11."""
    places = np.arange(blocks, dtype=np.uint64) + np.uint64(position % 2**64)
    a, b = places & _LOW, places >> _HALF_WORD
    c = np.full(blocks, stream % 2**32, np.uint64)
    d = np.full(blocks, stream % 2**64 >> 32, np.uint64)
    keys = [key % 2**32, key % 2**64 >> 32]
    for _ in range(10):
        p, q = a * _MULTIPLIERS[0], c * _MULTIPLIERS[1]
        a, b, c, d = (
            (q >> _HALF_WORD) ^ b ^ np.uint64(keys[0]),
            q & _LOW,
            (p >> _HALF_WORD) ^ d ^ np.uint64(keys[1]),
            p & _LOW,
        )
        keys = [(k + step) % 2**32 for k, step in zip(keys, _STEPS, strict=True)]
    return np.stack([a, b, c, d], axis=1)


def compute(op: str, inputs: Sequence[HostArray], out: HostArray, params: tuple[int, ...]) -> None:
    """Run an op on scalars as 0-d arrays, into an array (n,)."""
    (n,) = out.shape
    taken = WORDS[op][out.dtype.name]
    per = BLOCK_WORDS // taken
    key, stream, position = params
    words = philox(key, stream, position, -(-n // per))
    bits = words.reshape(-1)
    if taken == 2:
        bits = words[:, 0::2].reshape(-1) | words[:, 1::2].reshape(-1) << _HALF_WORD
    first, second = inputs[0].reshape(()), inputs[-1].reshape(())
    if "float" in out.dtype.name:
        wide = np.dtype(np.float64 if taken == 2 else np.float32)
        made = _REAL[op](bits, out.dtype.name)[:n].astype(wide)
        p, q = first.astype(wide), second.astype(wide)
        exact = np.float64(made) * np.float64(p if op == "random_exponential" else q)
        exact = exact if op == "random_exponential" else exact + np.float64(p)
        out[...] = exact.astype(wide).astype(out.dtype)
    elif op == "random_bits":
        out[...] = (bits[:n] & np.uint64(first)).astype(out.dtype)
    elif op == "random_bernoulli":
        out[...] = bits[:n] < first
    else:
        span = int(second) % 2 ** (8 * out.dtype.itemsize) or 2**64
        chosen = _below(bits[:n], span) + np.uint64(int(first) % 2**64)
        out[...] = chosen.astype(out.dtype)


def _below(bits: HostArray, span: int) -> HostArray:
    """floor(span * bits / 2^64), by halves of a word of 64 bits."""
    if span == 2**64:
        return bits
    low, high = np.uint64(span % 2**32), np.uint64(span >> 32)
    x, y = bits & _LOW, bits >> _HALF_WORD
    t = y * low + (x * low >> _HALF_WORD)
    u = x * high + (t & _LOW)
    return np.asarray(y * high + (t >> _HALF_WORD) + (u >> _HALF_WORD))


def bits_of(words: HostArray, name: str) -> HostArray:
    """Return words as they are, or for float64 pairs (..., 2 k) of them as 64 bits (..., k)."""
    if name != "float64":
        return words
    return np.asarray(words[..., 0::2] | words[..., 1::2] << _HALF_WORD)


def uniform(bits: HostArray, name: str) -> HostArray:
    """Return numbers in [0, 1)."""
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[name]
    width = 64 if name == "float64" else 32
    return (bits >> np.uint64(width - digits)).astype(np.float64) * 2.0**-digits


def unit(bits: HostArray, name: str) -> HostArray:
    """Return numbers in (0, 1]."""
    if name == "float64":
        return uniform(bits, name) + 2.0**-54
    return ((bits.astype(np.float64) + 0.5) * 2.0**-32).astype(np.float32).astype(np.float64)


def exponential(bits: HostArray, name: str) -> HostArray:
    """Return exponential numbers."""
    return np.asarray(0.0 - np.log(unit(bits, name)))


def normal(bits: HostArray, name: str) -> HostArray:
    """Return pairs of normal numbers from pairs of words, flat."""
    bits = bits.reshape(-1)
    width, digits = (64, 54) if name == "float64" else (32, 26)
    radius = np.sqrt(2.0 * exponential(bits[0::2], name))
    turned = bits[1::2] + np.uint64(1 << width - 3)
    turned &= np.uint64(2**width - 1)
    quarter = turned >> np.uint64(width - 2)
    rest = (turned >> np.uint64(width - digits)) & np.uint64(2 ** (digits - 2) - 1)
    angle = (rest.astype(np.float64) - 2.0 ** (digits - 3) + 0.5) * (2 * np.pi * 2.0**-digits)
    sine, cosine = np.sin(angle), np.cos(angle)
    x = np.choose(quarter.astype(int), [cosine, -sine, -cosine, sine])
    y = np.choose(quarter.astype(int), [sine, cosine, -sine, -cosine])
    return np.stack([radius * x, radius * y], axis=1).reshape(-1)


_REAL: dict[str, Any] = {
    "random_uniform": uniform,
    "random_exponential": exponential,
    "random_normal": normal,
}
