"""Fourier transforms by their definition, in long doubles, from docs/ops.md alone.

Those of long rows are NumPy's, whose passes are PocketFFT's in long doubles.

The bound is that of N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., SIAM
2002, 24.1, in the 2-norm of a row: each pass adds the rounding of its twiddles and of its sums of r
numbers.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from .near import Expectation, Near
from .ulp import WIDE
from .values import HostArray

#: Radices whose roots are no part of the table.
_OWN = (1, 2, 3, 4, 5, 7, 8)
#: The largest length whose sums are added one by one.
_DIRECT = 600
#: How many matrices of sums are kept, of up to 12 MB: cases take one length in many layouts.
_KEPT = 4


def packed(radices: tuple[int, ...]) -> tuple[int, ...]:
    """Return radices as params: eight bits each, seven of them in a number."""
    groups = (radices[i : i + 7] for i in range(0, len(radices), 7))
    return tuple(sum(r << 8 * i for i, r in enumerate(group)) for group in groups)


def unpacked(params: tuple[int, ...]) -> list[int]:
    """Return the radices of params."""
    digits = (number >> 8 * i & 255 for number in params for i in range(7))
    return [digit for digit in digits if digit]


def unit_roots(turns: HostArray, n: int) -> HostArray:
    """Return exp(-2 pi i t / n) for integers t, in long doubles."""
    angle = (turns % n).astype(WIDE) * (8 * np.arctan(WIDE(1))) / n
    return np.asarray(np.cos(angle) - 1j * np.sin(angle))


@lru_cache(_KEPT)
def _matrix(rows: int, n: int) -> HostArray:
    """Return the matrix (rows, n) of the transform of length n; nobody writes into it."""
    turns = np.arange(rows)[:, None] * np.arange(n)
    return np.asarray(unit_roots(np.arange(n), n)[turns % n])


def table(radices: tuple[int, ...], name: str) -> HostArray:
    """Return the twiddles of passes, pass by pass, each followed by its roots if it needs them."""
    parts = [np.zeros(0, np.clongdouble)]
    m = 1
    for r in radices:
        if m > 1:
            turns = np.arange(1, r)[:, None] * np.arange(m)
            parts.append(unit_roots(turns, r * m).reshape(-1))
        if r not in _OWN:
            parts.append(unit_roots(np.arange(r), r))
        m *= r
    every = np.concatenate(parts)
    return (every if every.size else np.zeros(1)).astype(name)


def scale_bits(scale: float, name: str) -> int:
    """Return the param for a scale: its bits in the dtype of the parts."""
    part = np.float32(scale) if name == "complex64" else np.float64(scale)
    return int(part.view(np.int32 if name == "complex64" else np.int64))


def _scale(bits: int, name: str) -> float:
    if name == "complex64":
        return float(np.int32(bits).view(np.float32))
    return float(np.int64(bits).view(np.float64))


def _near(exact: HostArray, roundings: float, name: str) -> Near:
    """Numbers near exact ones, the error of a row within so many roundings of its norm."""
    unit = 2.0**-24 if name == "complex64" else 2.0**-53
    parts = np.stack([exact.real, exact.imag], axis=-1)
    values = parts.astype(np.float64)
    size = np.abs(values).max(axis=(-1, -2), initial=0, keepdims=True)
    shares = values / np.where(size > 0, size, 1)
    norm = size[..., 0, 0] * np.sqrt(np.sum(shares**2, axis=(-1, -2)))
    radius = np.broadcast_to((roundings * unit * norm)[..., None, None], values.shape)
    rest = (parts - values).astype(np.float64)
    return Near(values, radius, rest, np.zeros(values.shape, bool), complex_result=True)


def transform(args: tuple[HostArray, ...], to: str, params: tuple[int, ...]) -> Expectation:
    """Return the transform of rows that zeros follow."""
    inverse, bits, *rest = params
    radices = unpacked(tuple(rest))
    n = math.prod(radices)
    x = args[0].astype(np.clongdouble)
    exact: HostArray
    if n <= _DIRECT:
        roots = _matrix(x.shape[-1], n)
        exact = x @ (roots.conj() if inverse else roots)
    else:
        exact = np.asarray(np.fft.ifft(x, n, norm="forward") if inverse else np.fft.fft(x, n))
    exact = exact * WIDE(_scale(bits, to))
    return _near(exact, 2.0 + sum(6.0 + r for r in radices), to)


def from_pairs(args: tuple[HostArray, ...], to: str, params: tuple[int, ...]) -> Expectation:
    """Return the first half of a real transform, from that of the pairs."""
    z, w = (a.astype(np.clongdouble) for a in args)
    m = z.shape[-1]
    a = np.concatenate([z, z[..., :1]], axis=-1)
    b = a[..., ::-1].conj()
    exact = ((a + b) - 1j * w * (a - b)) * WIDE(_scale(params[0], to))
    assert exact.shape[-1] == m + 1
    return _near(exact, 12.0, to)


def to_pairs(args: tuple[HostArray, ...], to: str, params: tuple[int, ...]) -> Expectation:
    """Return the transform of the pairs, from the first half of a real one."""
    del params
    x, w = (a.astype(np.clongdouble) for a in args)
    m = w.size - 1
    a = np.zeros((*x.shape[:-1], m + 1), np.clongdouble)
    a[..., : x.shape[-1]] = x
    for end in (0, m):
        a[..., end] = a[..., end].real
    b = a[..., ::-1].conj()
    exact = (a + b) + 1j * w.conj() * (a - b)
    return _near(exact[..., :m], 12.0, to)
