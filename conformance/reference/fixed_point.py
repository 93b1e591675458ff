"""Exact sums of floating numbers, in Python's unbounded integers."""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np

from .values import HostArray


def fixed_point(x: HostArray) -> tuple[list[int], int]:
    """Return integers (n,) and an exponent e with ``x[i] == integers[i] * 2**e``, exactly.

    Args:
        x: finite float64 numbers of any shape, taken in C order.
    """
    mantissa, exponent = np.frexp(x.ravel())
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = np.where(digits == 0, 0, exponent - 53)
    low = int(exponent.min(initial=0))
    shifts = (exponent - low).tolist()
    return [d << s for d, s in zip(digits.tolist(), shifts, strict=True)], low


def split(value: int, exponent: int) -> tuple[float, float]:
    """Return the number nearest to ``value * 2**exponent``, and nearly what it leaves."""
    digits = value.bit_length()
    if digits < 1000 and digits + exponent > -900:  # the nearest is no subnormal number
        near = float(value)  # Python rounds once
        return math.ldexp(near, exponent), math.ldexp(value - int(near), exponent)
    nearest = _nearest(value, exponent)
    if not math.isfinite(nearest):
        return nearest, 0.0
    numerator, denominator = nearest.as_integer_ratio()
    left = value - (numerator << -exponent) // denominator
    return nearest, _nearest(left, exponent)


def _nearest(value: int, exponent: int) -> float:
    try:
        return value / (1 << -exponent)  # Python rounds the quotient of integers once
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _splits(values: list[int], exponent: int) -> tuple[HostArray, HostArray]:
    pairs = np.array([split(v, exponent) for v in values], np.float64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def exact_sum(x: HostArray) -> tuple[float, float]:
    """Return the sum of finite float64 numbers (n,), rounded once, and what that leaves."""
    numbers = x.tolist()
    try:
        total = math.fsum(numbers)  # which rounds the exact sum once
        return total, math.fsum([*numbers, -total])
    except OverflowError:  # of a sum on the way
        pass
    integers, exponent = fixed_point(x)
    return split(sum(integers), exponent)


def running_sums(x: HostArray) -> tuple[HostArray, HostArray]:
    """Return the sums of the first 1, 2, ... of finite float64 numbers (n,), and what they leave.

    Both are float64 (n,).
    """
    integers, exponent = fixed_point(x)
    return _splits(list(accumulate(integers)), exponent)


def exact_products(a: HostArray, b: HostArray) -> tuple[HostArray, HostArray]:
    """Return the product of float64 matrices (m, k) and (k, n), and what its rounding leaves."""
    left, low = fixed_point(a)
    right, lower = fixed_point(b)
    k, n = b.shape
    rows = [left[i * k : (i + 1) * k] for i in range(a.shape[0])]
    columns = [right[j::n] for j in range(n)]
    sums = [sum(map(int.__mul__, row, column)) for row in rows for column in columns]
    values, rest = _splits(sums, low + lower)
    return values.reshape(len(rows), n), rest.reshape(len(rows), n)


def steps(start: float, step: float, numbers: range) -> tuple[HostArray, HostArray]:
    """Return start + i * step for numbers i, and what the rounding of each leaves: (n,) both."""
    (first, width), exponent = fixed_point(np.array([start, step]))
    return _splits([first + i * width for i in numbers], exponent)


def running_products(x: HostArray) -> tuple[HostArray, HostArray]:
    """Return the products of the first 1, 2, ... of finite float64 numbers (n,), and what is left.

    Both are float64 (n,). The products are kept to 200 bits, so the relative error of the pair is
    below n * 2**-106. They are rounded once unless they are subnormal.
    """
    pairs = []
    product, exponent = 1, 0
    for mantissa, power in zip(*(part.tolist() for part in np.frexp(x)), strict=True):
        product *= int(math.ldexp(mantissa, 53))
        exponent += power - 53
        extra = product.bit_length() - 200
        if extra > 0:
            product >>= extra
            exponent += extra
        pairs.append(_scaled(product, exponent))
    table = np.array(pairs, np.float64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def _scaled(value: int, exponent: int) -> tuple[float, float]:
    size = value.bit_length()
    high, low = split(value, -size)
    try:
        return math.ldexp(high, exponent + size), math.ldexp(low, exponent + size)
    except OverflowError:
        return math.inf if value > 0 else -math.inf, 0.0
