"""Gamma, Poisson and binomial numbers, from the papers that docs/ops.md names.

An element whose tries are decided by less than the roundings of the arithmetic is left open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .near import Expectation, Near, working
from .random_counts import Counts
from .random_numbers import TRIES, Words, joined, standard_normal, unit_interval
from .ulp import unit
from .values import HostArray


@dataclass(frozen=True, slots=True)
class Decided:
    """Counts, where they are certain."""

    values: HostArray
    certain: HostArray
    bound: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.values.shape

    def errors(self, got: HostArray) -> HostArray:
        """Return 0 where an element is right or open, else infinity."""
        return np.where((got == self.values) | ~self.certain, 0.0, np.inf)

    def text(self, index: tuple[int, ...]) -> str:
        """Return one result for people."""
        return str(self.values[index])


def random_tries(
    op: str, args: tuple[HostArray, ...], to: str, params: tuple[int, ...]
) -> Expectation:
    """Return what an op gives; the params are key, stream, position and the length."""
    key, stream, position, count = params
    first, last = (np.broadcast_to(x.astype(np.float64), (count,)) for x in (args[0], args[-1]))
    words = Words(key, stream, position)
    with np.errstate(all="ignore"):
        if op != "random_gamma":
            counts = Counts(words, count)
            if op == "random_poisson":
                counts.poisson(first)
            else:
                counts.binomial(first, last)
            return Decided(counts.values, counts.certain)
        values, radius = _gamma(first, words, to)
        if to in ("float16", "bfloat16"):
            radius = radius + 0.5 * unit(np.abs(values), to)
    return Near(values, radius, np.zeros(count), np.zeros(count, bool))


def _log(x: HostArray, to: str) -> HostArray:
    """Round a logarithm from the working format."""
    return np.asarray(np.log(x.astype(working(to))).astype(np.float64))


def _gamma(a: HostArray, words: Words, to: str) -> tuple[HostArray, HostArray]:
    """The numbers and the largest errors that they may have, infinite where a try is open."""
    u = 2.0**-53 if to == "float64" else 2.0**-24
    shape = np.where(a < 1, a + 1, a)
    shape = shape if to == "float64" else shape.astype(np.float32).astype(np.float64)
    d = shape - 1 / 3
    c = 1 / np.sqrt(9 * d)
    value, radius = d.copy(), np.full(a.shape, np.inf)
    tried = np.flatnonzero((a > 0) & (a < np.inf))
    for i in range(1, TRIES):
        if not tried.size:
            break
        x, e = _normal_and_exponential(words.block(tried, i), to)
        cx, scale = c[tried] * x, d[tried]
        t = 1 + cx
        error = 16 * u * (1 + np.abs(cx))
        v = t**3
        level = scale * (v - 1 - _log(v, to)) - x * x / 2
        doubt = 64 * u * (1 + e + x * x + scale * (np.abs(v - 1) + 3 * error / t))
        is_open = (np.abs(t) < error) | ((t > 0) & (np.abs(e - level) < doubt))
        is_taken = (t > 0) & ~is_open & (e > level)
        at = tried[is_taken]
        value[at] = (scale * v)[is_taken]
        radius[at] = (scale * 3 * (t + error) ** 2 * error + 16 * u * scale * v)[is_taken]
        tried = tried[~is_open & ~is_taken]
    small = np.flatnonzero((a > 0) & (a < 1))
    value[small], radius[small] = _of_small_shape(
        a[small], value[small], radius[small], words.block(small, 0), to
    )
    outside = ~((a > 0) & (a < np.inf))
    return (
        np.where(outside, np.where((a == 0) | (a == np.inf), a, np.nan), value),
        np.where(outside, 0.0, radius),
    )


def _normal_and_exponential(w: tuple[HostArray, ...], to: str) -> tuple[HostArray, HostArray]:
    if to == "float64":
        bits, angle, rest = joined(w[0], w[1]), w[2] << np.uint64(32), (w[3] + 0.5) / 2**32
    else:
        bits, angle, rest = w[0], w[1], unit_interval(w[2], to)
    x = standard_normal(np.stack([bits, angle], axis=1).ravel(), to)[0::2]
    return x.astype(np.float64), -_log(rest, to)


def _of_small_shape(
    a: HostArray, value: HostArray, radius: HostArray, w: tuple[HostArray, ...], to: str
) -> tuple[HostArray, HostArray]:
    """Numbers of shape a below 1, from those of a + 1."""
    u, tiny = (2.0**-53, 2.0**-1074) if to == "float64" else (2.0**-24, 2.0**-149)
    number = unit_interval(joined(w[0], w[1]) if to == "float64" else w[0], to)
    power = _log(number, to) / a
    factor = np.exp(power.astype(working(to))).astype(np.float64)
    own = value * factor * 16 * u * (1 - power) + 4 * tiny * (1 + value)
    return value * factor, np.where(np.isinf(radius), radius, radius * factor + own)
