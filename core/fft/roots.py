"""Powers of exp(-2 pi i / n), rounded to nearest, by integers and pairs of floats alone.

Neither the C library nor the processor has a say in their bits: an angle is reduced to an eighth of
a turn in integers, and its sine and cosine are a product of two of few numbers that integers of 192
bits gave.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

HostArray = npt.NDArray[Any]

#: Bits behind the point of the integers that stand for numbers in [-1, 1].
_BITS = 192
_ONE = 1 << _BITS
#: Angles that are turned at a time: their intermediate arrays stay in the caches.
_CHUNK = 1 << 13
#: Splits a float64 in two halves whose products are exact: Dekker 1971.
_SPLITTER = 2.0**27 + 1.0


class Pair(NamedTuple):
    """Numbers as sums of two float64, the second not above half an ulp of the first."""

    high: HostArray
    low: HostArray


@lru_cache(maxsize=8)
def roots(n: int) -> tuple[HostArray, HostArray]:
    """Return cosines and minus sines of 2 pi i / n for i in [0, n)."""
    eighth, quarter, half = n // 8 + 1, n // 4 + 1, n // 2 + 1
    cosine, sine = np.empty(n), np.empty(n)
    turn = _Turn(n)
    known = half if n % 8 else eighth
    for first in range(0, known, _CHUNK):
        i = np.arange(first, min(first + _CHUNK, known))
        cosine[i], sine[i] = turn.of(i)
    if known == eighth:
        c, s = cosine[: eighth - 1][::-1], sine[: eighth - 1][::-1]
        cosine[eighth:quarter], sine[eighth:quarter] = 0.0 - s, 0.0 - c
        c, s = cosine[: quarter - 1][::-1], sine[: quarter - 1][::-1]
        cosine[quarter:half], sine[quarter:half] = 0.0 - c, s
    cosine[half:], sine[half:] = cosine[1 : n - half + 1][::-1], 0.0 - sine[1 : n - half + 1][::-1]
    cosine.flags.writeable = sine.flags.writeable = False
    return cosine, sine


class _Turn:
    """Cosines and sines of multiples of pi / 4 n, from those of few of them.

    A multiple in [0, n] is u S + v with v < S; the numbers of u S and of v are kept.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._shift = (n.bit_length() + 1) // 2
        step = _small_angle(n)
        fine = _powers(step, 1 << self._shift)
        self._fine = _pairs(fine)
        self._coarse = _pairs(_powers(_times(fine[-1], step), (n >> self._shift) + 1))

    def of(self, i: HostArray) -> tuple[HostArray, HostArray]:
        """Return cosine and minus sine of 2 pi i / n."""
        n = self._n
        quarter = (8 * i + n) // (2 * n)
        rest = 8 * i - 2 * n * quarter  # times pi / 4 n, in [-n, n)
        size = np.abs(rest)
        u, v = size >> self._shift, size & ((1 << self._shift) - 1)
        (ac, asn), (bc, bsn) = _at(self._coarse, u), _at(self._fine, v)
        c = _difference(_product(ac, bc), _product(asn, bsn))
        s = _difference(_product(asn, bc), _negated(_product(ac, bsn)))
        s = np.where(rest < 0, -s, s)
        odd = quarter % 2 == 1
        cosine, sine = np.where(odd, -s, c), np.where(odd, c, s)
        back = quarter % 4 >= 2
        return np.where(back, -cosine, cosine) + 0.0, np.where(back, sine, -sine) + 0.0


# Integers


def _small_angle(n: int) -> tuple[int, int]:
    """Cosine and sine of pi / 4 n by their series."""
    angle = _pi() // (4 * n)
    cosine, sine, term, k = 0, 0, _ONE, 0
    while term:
        if k % 2:
            sine += -term if k % 4 == 3 else term
        else:
            cosine += -term if k % 4 == 2 else term
        k += 1
        term = (term * angle >> _BITS) // k
    return cosine, sine


@lru_cache(maxsize=1)
def _pi() -> int:
    """Machin 1706: pi / 4 = 4 arctan 1/5 - arctan 1/239, with 32 bits that are dropped."""

    def arctan_of_inverse(x: int) -> int:
        power, total, k = (_ONE << 32) // x, 0, 1
        while power:
            total += (power // k) if k % 4 == 1 else -(power // k)
            power //= x * x
            k += 2
        return total

    return 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) >> 32


def _times(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """The product of two numbers on the unit circle."""
    return (a[0] * b[0] - a[1] * b[1]) >> _BITS, (a[1] * b[0] + a[0] * b[1]) >> _BITS


def _powers(step: tuple[int, int], count: int) -> list[tuple[int, int]]:
    """The first powers of a number on the unit circle, from 1 on."""
    found = [(_ONE, 0)]
    while len(found) < count:
        found.append(_times(found[-1], step))
    return found


def _pairs(numbers: list[tuple[int, int]]) -> tuple[Pair, Pair]:
    """Real and imaginary parts."""
    parts = []
    for part in zip(*numbers, strict=True):
        high = [x / _ONE for x in part]
        low = [(x - int(h * _ONE)) / _ONE for x, h in zip(part, high, strict=True)]
        parts.append(Pair(np.array(high), np.array(low)))
    return parts[0], parts[1]


# Pairs of floats: Dekker, A floating-point technique for extending the available precision, 1971


def _at(parts: tuple[Pair, Pair], places: HostArray) -> tuple[Pair, Pair]:
    real, imaginary = (Pair(p.high[places], p.low[places]) for p in parts)
    return real, imaginary


def _halves(a: HostArray) -> tuple[HostArray, HostArray]:
    large = a * _SPLITTER
    high = large - (large - a)
    return high, a - high


def _product(a: Pair, b: Pair) -> Pair:
    high = a.high * b.high
    (a1, a2), (b1, b2) = _halves(a.high), _halves(b.high)
    low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2
    return Pair(high, low + (a.high * b.low + a.low * b.high))


def _negated(a: Pair) -> Pair:
    return Pair(-a.high, -a.low)


def _difference(a: Pair, b: Pair) -> HostArray:
    """The difference, rounded to float64."""
    high = a.high - b.high
    back = high - a.high
    low = (a.high - (high - back)) - (b.high + back)
    rounded: HostArray = high + (low + (a.low - b.low))
    return rounded
