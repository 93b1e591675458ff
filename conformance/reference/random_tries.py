"""Gamma, Poisson and binomial numbers, from the papers that docs/ops.md names.

An element whose tries are decided by less than the roundings of the arithmetic is left open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import mpmath
import numpy as np

from .near import Expectation, Near
from .random_numbers import block
from .ulp import unit
from .values import HostArray

_TRIES = 32
_WIDE = mpmath.mp.clone()
_WIDE.prec = 200


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
    rows = [np.broadcast_to(x.astype(np.float64), (count,)).tolist() for x in args]
    if op == "random_gamma":
        made = [
            _gamma(a, _Words(key, stream, position + i * _TRIES), to) for i, a in enumerate(rows[0])
        ]
        values = np.array([value for value, _ in made], np.float64)
        radius = np.array([r for _, r in made], np.float64)
        with np.errstate(all="ignore"):
            last = 0.5 * unit(np.abs(values), to) if to in ("float16", "bfloat16") else 0.0
        return Near(values, radius + last, np.zeros(count), np.zeros(count, bool))
    counts = []
    for i in range(count):
        words = _Words(key, stream, position + i * _TRIES)
        first, last = rows[0][i], rows[-1][i]
        poisson = op == "random_poisson"
        counts.append(_poisson(first, words) if poisson else _binomial(first, last, words))
    values = np.array([k for k, _ in counts], np.int64)
    return Decided(values, np.array([sure for _, sure in counts], bool))


class _Words:
    """The blocks of an element."""

    def __init__(self, key: int, stream: int, position: int) -> None:
        self._key = (key % 2**32, key % 2**64 >> 32)
        self._stream = (stream % 2**32, stream % 2**64 >> 32)
        self._position = position

    def block(self, i: int) -> tuple[int, int, int, int]:
        at = (self._position + i) % 2**64
        return block((at % 2**32, at >> 32, *self._stream), self._key)

    def long(self, i: int) -> tuple[int, int]:
        a, b, c, d = self.block(i)
        return a | b << 32, c | d << 32


def _unit(r: int) -> float:
    """The middle of the interval of 2^-53 that 64 bits lie in."""
    return float(np.ldexp(np.longdouble(r >> 11) + np.longdouble(0.5), -53))


def _angle(bits: int, width: int, digits: int) -> float:
    quarter, rest = divmod((bits + 2 ** (width - 3)) % 2**width, 2 ** (width - 2))
    t = (rest // 2 ** (width - digits) - 2 ** (digits - 3) + 0.5) * 2 * math.pi / 2**digits
    return (math.cos(t), -math.sin(t), -math.cos(t), math.sin(t))[quarter]


def _gamma(a: float, words: _Words, to: str) -> tuple[float, float]:
    """The number and the largest error that it may have, infinite where a try is open."""
    if not a > 0 or a == math.inf:
        return (0.0, 0.0) if a == 0 else (math.nan if a != math.inf else a, 0.0)
    u = 2.0**-53 if to == "float64" else 2.0**-24
    shape = a + 1 if a < 1 else a
    shape = shape if to == "float64" else float(np.float32(shape))
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    value, radius = d, math.inf
    for i in range(1, _TRIES):
        w = words.block(i)
        if to == "float64":
            r = math.sqrt(-2 * math.log(_unit(w[0] | w[1] << 32)))
            x, e = r * _angle(w[2] << 32, 64, 54), -math.log((w[3] + 0.5) / 2**32)
        else:
            small = [float(np.float32((v + 0.5) / 2**32)) for v in w]
            x = math.sqrt(-2 * math.log(small[0])) * _angle(w[1], 32, 26)
            e = -math.log(small[2])
        t = 1 + c * x
        error = 16 * u * (1 + abs(c * x))
        if abs(t) < error:
            return value, math.inf
        if t < 0:
            continue
        v = t**3
        level = d * (v - 1 - math.log(v)) - x * x / 2
        slack = 64 * u * (1 + e + x * x + d * (abs(v - 1) + 3 * error / t))
        if abs(e - level) < slack:
            return value, math.inf
        if e > level:
            value, radius = d * v, d * 3 * (t + error) ** 2 * error + 16 * u * d * v
            break
    if a < 1:
        w = words.block(0)
        number = (
            _unit(w[0] | w[1] << 32) if to == "float64" else float(np.float32((w[0] + 0.5) / 2**32))
        )
        power = math.log(number) / a
        factor = math.exp(power)
        tiny = 2.0**-1074 if to == "float64" else 2.0**-149
        radius = radius * factor + value * factor * 16 * u * (1 - power) + 4 * tiny * (1 + value)
        value *= factor
    return value, radius


@cache
def _log_factorial(k: int) -> mpmath.mpf:
    return _WIDE.loggamma(k + 1)


def _summed(first: float, ratio: float, n: float, mean: float, words: _Words) -> tuple[int, bool]:
    """The first sum of chances above a uniform number; chances by k m / (k + 1) or of n trials."""
    u = math.ldexp(words.long(0)[0] >> 11, -53)
    chance = total = first
    k = 0
    while u >= total and k < n and (k < mean or chance > 1e-19):
        if u - total < 1e-13:
            return k, False
        chance *= ratio / (k + 1) * (n - k if n < math.inf else 1)
        total += chance
        k += 1
    return k, total - u > 1e-13


def _poisson(m: float, words: _Words) -> tuple[int, bool]:
    if not 0 <= m <= 2.0**53:
        return -1, True
    if m < 10:
        return _summed(math.exp(-m), m, math.inf, m, words)
    b = 0.931 + 2.53 * math.sqrt(m)
    a = -0.059 + 0.02483 * b
    height, squeeze = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    for i in range(_TRIES):
        u, v = (_unit(r) for r in words.long(i))
        k, us, sure = _hat(u, a, b, m + 0.43)
        sure = sure and abs(us - 0.07) > 1e-12 and abs(v - squeeze) > 1e-12
        sure = sure and abs(us - 0.013) > 1e-12
        if not sure or (us >= 0.07 and v <= squeeze):
            return k, sure
        if k < 0 or (us < 0.013 and v > us):
            continue
        level = math.log(v * height / (a / us**2 + b))
        chance = float(k * _WIDE.log(m) - m - _log_factorial(k))
        if level <= chance + 1e-9:
            return k, abs(level - chance) > 1e-9
    return int(m), False


def _hat(u: float, a: float, b: float, c: float) -> tuple[int, float, bool]:
    """A candidate, its distance from the end, and whether its floor is certain."""
    u -= 0.5
    us = 0.5 - abs(u)
    if us < 1e-12:
        return -1, us, False
    place = (2 * a / us + b) * u + c
    slack = 1e-13 * (abs(place) + abs(c) + 2 * a / us**2 * 1e-3)
    return math.floor(place), us, abs(place - round(place)) > slack


def _binomial(count: float, p: float, words: _Words) -> tuple[int, bool]:
    if not (0 <= count <= 2.0**53 and 0 <= p <= 1):
        return -1, True
    n, q = math.floor(count), 1 - p if p > 0.5 else p
    k, sure = _rarer(n, q, words)
    return (n - k if p > 0.5 else k), sure


def _rarer(n: int, p: float, words: _Words) -> tuple[int, bool]:
    if n * p < 10:
        return _summed(math.exp(n * math.log1p(-p)), p / (1 - p), n, n * p, words)
    s = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * s
    a = -0.0873 + 0.0248 * b + 0.01 * p
    mode = math.floor((n + 1) * p)
    squeeze, height = 0.92 - 4.2 / b, (2.83 + 5.1 / b) * s
    odds = _WIDE.log(_WIDE.mpf(p) / (1 - _WIDE.mpf(p)))
    for i in range(_TRIES):
        u, v = (_unit(r) for r in words.long(i))
        k, us, sure = _hat(u, a, b, n * p + 0.5)
        sure = sure and abs(us - 0.07) > 1e-12 and abs(v - squeeze) > 1e-12
        if not sure or (us >= 0.07 and v <= squeeze):
            return k, sure
        if k < 0 or k > n:
            continue
        level = math.log(v * height / (a / us**2 + b))
        chance = _log_factorial(mode) + _log_factorial(n - mode) + (k - mode) * odds
        chance = float(chance - _log_factorial(k) - _log_factorial(n - k))
        if level <= chance + 1e-9:
            return k, abs(level - chance) > 1e-9
    return int(n * p), False
