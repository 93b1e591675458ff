"""Sums and products of many rows at once, in double-double: two float64 that are not added.

A step is wrong by at most 2**-104 of the largest number in it, so a sum that cancels may be wrong
by more of itself (T. J. Dekker, A floating-point technique for extending the available precision,
1971; D. E. Knuth, The Art of Computer Programming 2, 4.2.2).
"""

from __future__ import annotations

import numpy as np

from .values import HostArray

#: Where no step overflows, and the error of none is subnormal.
LEAST, GREATEST = 2.0**-850, 2.0**900
#: 2**27 + 1, whose products split a float64 into halves of 26 bits.
_HALVES = 134217729.0


def running_sums(x: HostArray) -> tuple[HostArray, HostArray]:
    """Return the sums of the first 1, 2, ... elements of rows (r, n), and what they leave.

    Both are float64 (r, n). The sizes of the elements add up to less than ``GREATEST``.
    """
    values, rest = np.empty(x.shape), np.zeros(x.shape)
    high, low = x[:, 0], np.zeros(len(x))
    values[:, 0] = high
    for i in range(1, x.shape[1]):
        high, left = _sum(high, x[:, i])
        high, low = _joined(high, low + left)
        values[:, i], rest[:, i] = high, low
    return values, rest


def running_products(x: HostArray) -> tuple[HostArray, HostArray]:
    """Return the products of the first 1, 2, ... elements of rows (r, n), and what they leave.

    Both are float64 (r, n). Elements and products lie between ``LEAST`` and ``GREATEST``.
    """
    values, rest = np.empty(x.shape), np.zeros(x.shape)
    high, low = x[:, 0], np.zeros(len(x))
    values[:, 0] = high
    for i in range(1, x.shape[1]):
        product, left = _product(high, x[:, i])
        high, low = _joined(product, left + low * x[:, i])
        values[:, i], rest[:, i] = high, low
    return values, rest


def steps(start: float, step: float, numbers: range) -> tuple[HostArray, HostArray]:
    """Return start + i * step for consecutive numbers i, and what they leave: float64 (n,) both.

    Start and step are zero or between ``LEAST`` and ``GREATEST``; no number is above 2**53.
    """
    places = np.arange(numbers.start, numbers.stop, dtype=np.float64)
    product, left = _product(places, np.asarray(step))
    high, low = _sum(np.asarray(start), product)
    return _joined(high, low + left)


def in_range(x: HostArray) -> HostArray:
    """Tell which numbers are zero or between ``LEAST`` and ``GREATEST``: a mask of that shape."""
    size = np.abs(x)
    return np.asarray((size == 0) | ((size >= LEAST) & (size <= GREATEST)))


def _sum(a: HostArray, b: HostArray) -> tuple[HostArray, HostArray]:
    total = a + b
    shared = total - a
    return total, (a - (total - shared)) + (b - shared)


def _joined(high: HostArray, low: HostArray) -> tuple[HostArray, HostArray]:
    """Return the same sum, of which the first is what rounding it gives."""
    total = high + low
    return total, low - (total - high)


def _product(a: HostArray, b: HostArray) -> tuple[HostArray, HostArray]:
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)


def _halves(a: HostArray) -> tuple[HostArray, HostArray]:
    wide = a * _HALVES
    high = wide - (wide - a)
    return high, a - high
