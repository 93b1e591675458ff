"""Sums, products, scans and matrix products of floating numbers, with error bounds.

Bounds: gamma_n = n u / (1 - n u), u of the format of the accumulator (float32 for float16 and
bfloat16, with one more rounding at the end). A sum in a tree of depth d has an error of at most
gamma_d sum|x| (Higham 2002, 4.2), a product of n factors gamma_(n-1) |product| (3.1), an inner
product whose terms go through d steps gamma_d |x|'|y| (3.5).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from phalanx.optable.structured import BLOCK, CHAIN, LANES, SCAN_BLOCK

from . import double_double, fixed_point
from .formats import PARTS
from .near import ACCUMULATOR, Near, gamma, least, near, overflow_of, parts_of, roundoff
from .ulp import WIDE_BITS
from .values import HostArray

#: From so many rows on, a step of all at once costs less than each row's own steps.
MANY_ROWS = 8
Scan = Callable[[HostArray], tuple[HostArray, HostArray]]


def tree_depth(n: int) -> int:
    """Return how many additions an element goes through at most: lanes, their tree, the blocks."""
    if n <= 1:
        return 0
    block = min(n, BLOCK)
    in_lane = -(-block // LANES) - 1
    return in_lane + _levels(min(block, LANES)) + _levels(-(-n // BLOCK))


def _levels(n: int) -> int:
    return max(0, n - 1).bit_length()


def scan_depth(n: int) -> HostArray:
    """Return how many additions an element of each running sum goes through at most: (n,)."""
    place = np.arange(n)
    block, inside = place // SCAN_BLOCK, place % SCAN_BLOCK
    if n <= SCAN_BLOCK:
        return inside
    before = scan_depth(block[-1])[np.maximum(block - 1, 0)]  # of the carry, over totals of blocks
    return np.where(block == 0, inside, np.maximum(SCAN_BLOCK - 1 + before, inside) + 1)


def chain_depth(k: int) -> int:
    """Return how many steps of a chain and of the tree a term of an inner product goes through."""
    return min(k, CHAIN) + _levels(-(-k // CHAIN))


def _columns(x: HostArray) -> HostArray:
    """Return real rows (r, n) as float64; the parts of complex ones as rows (r, 2, n)."""
    if x.dtype.kind == "c":
        return np.moveaxis(parts_of(x), -1, -2).astype(np.float64)
    with np.errstate(all="ignore"):
        return x.astype(np.float64)


def _back(values: HostArray, is_complex: bool) -> HostArray:
    """Return results of `_columns` of a scan with the parts last."""
    return np.moveaxis(values, -2, -1) if is_complex else values


def sums(x: HostArray, mean: bool) -> Near:
    """Return the sums or means over the last axis of floating numbers (..., n)."""
    name, rows, n = x.dtype.name, _columns(x), x.shape[-1]
    with np.errstate(all="ignore"):
        values, sizes = np.asarray(rows.sum(axis=-1)), np.abs(rows).sum(axis=-1)
        rest = np.zeros(values.shape)
        radius = gamma(tree_depth(n), roundoff(name)) * sizes
        if ACCUMULATOR[name] == "float64" and n > 1:
            for place in np.argwhere(np.isfinite(rows).all(axis=-1)):
                at = tuple(place)
                values[at], rest[at] = fixed_point.exact_sum(rows[at])
        else:
            radius = radius + gamma(max(n - 1, 0), 2.0**-53) * sizes
        zeros = (rows == 0).all(axis=-1)
        values = np.where(zeros & np.signbit(rows).all(axis=-1) & (n > 0), -0.0, values)
        if mean:
            values, rest, radius = _divided(values, rest, radius, n, name)
    return near(values, radius, name, rest=rest, signed=zeros)


def _divided(
    values: HostArray, rest: HostArray, radius: HostArray, n: int, name: str
) -> tuple[HostArray, HostArray, HostArray]:
    """Return sums over n: one rounding more, and the reference's own."""
    if n == 0:
        return np.full(values.shape, np.nan), rest, radius
    u = roundoff(name)
    # An accumulator that overflows makes the mean infinite, whatever its size.
    limit = overflow_of(ACCUMULATOR[name])
    values = np.where(np.abs(values) >= limit, np.copysign(np.inf, values), values)
    mean = values / n
    own = np.abs(rest) / n + 2.0**-53 * np.abs(mean)
    return mean, np.zeros(mean.shape), radius / n * (1 + u) + u * np.abs(mean) + own + least(name)


def running_sums(x: HostArray) -> Near:
    """Return the running sums along the last axis of floating numbers (..., n)."""
    name, rows, n = x.dtype.name, _columns(x), x.shape[-1]
    is_complex = name in PARTS
    with np.errstate(all="ignore"):
        values, sizes = np.cumsum(rows, axis=-1), np.cumsum(np.abs(rows), axis=-1)
        rest = np.zeros(rows.shape)
        radius = gamma(scan_depth(n), roundoff(name)) * sizes
        if ACCUMULATOR[name] == "float64" and n > 1:
            finite = np.asarray(np.isfinite(rows).all(axis=-1))
            small = sizes[..., -1] <= double_double.GREATEST
            pairs = double_double.running_sums, fixed_point.running_sums
            _of_each_row(rows, finite, small, pairs, (values, rest))
        else:
            radius = radius + gamma(np.arange(n), 2.0**-53) * sizes
        zeros = np.logical_and.accumulate(rows == 0, axis=-1)
        negative = np.logical_and.accumulate(np.signbit(rows), axis=-1)
        values = np.where(zeros & negative, -0.0, values)
    parts = [_back(v, is_complex) for v in (values, radius, rest, zeros)]
    return near(parts[0], parts[1], name, rest=parts[2], signed=parts[3])


def _of_each_row(
    rows: HostArray,
    chosen: HostArray,
    small: HostArray,
    pairs: tuple[Scan, Scan],
    out: tuple[HostArray, HostArray],
) -> None:
    """Put the scans of chosen rows and what they leave into ``out``.

    The first scan takes many small rows at once, the second one row of any finite numbers.
    """
    of_many, of_one = pairs
    alike = chosen & small
    if alike.sum() < MANY_ROWS:
        alike = np.zeros(chosen.shape, bool)
    if alike.any():
        out[0][alike], out[1][alike] = of_many(rows[alike])
    for place in np.argwhere(chosen & ~alike):
        at = tuple(place)
        out[0][at], out[1][at] = of_one(rows[at])


def sums_of_rows(rows: HostArray, groups: list[tuple[HostArray, HostArray]], count: int) -> Near:
    """Return the sums (count, k) of rows (n, k), added in runs.

    A group is of sums of as many rows: their places (m,), and those of the rows (m, length).
    A term goes through no more additions than the last element of a running sum does.
    """
    is_complex = rows.dtype.name in PARTS
    shape = (count, rows.shape[1], *((2,) if is_complex else ()))
    values, radius, rest, signed = np.zeros((4, *shape))
    found = Near(values, radius, rest, signed.astype(bool), is_complex)
    for targets, places in groups:
        alike = _last_sums(rows[places])
        for field in ("values", "radius", "rest", "signed"):
            getattr(found, field)[targets] = getattr(alike, field)
    return found


def _last_sums(parts: HostArray) -> Near:
    """Return the sums (r, k) of the rows of parts of one length (r, n, k)."""
    terms = np.ascontiguousarray(np.moveaxis(parts, 1, -1))
    if not terms.shape[-1]:
        return sums(terms, mean=False)
    return _last(running_sums(terms))


def _last(whole: Near) -> Near:
    """Return the last element of each scan."""
    at = (..., -1, slice(None)) if whole.complex_result else (..., -1)
    values, radius, rest = whole.values[at], whole.radius[at], whole.rest[at]
    return Near(values, radius, rest, whole.signed[at], whole.complex_result)


def products(x: HostArray) -> Near:
    """Return the products over the last axis of floating numbers (..., n)."""
    if x.shape[-1]:
        return _last(running_products(x))
    ones = np.ones(x.shape[:-1])
    values = np.stack([ones, 0 * ones], axis=-1) if x.dtype.kind == "c" else ones
    return near(values, np.zeros(values.shape), x.dtype.name, signed=np.ones(values.shape, bool))


def running_products(x: HostArray) -> Near:
    """Return the running products along the last axis of floating numbers (..., n)."""
    name, n = x.dtype.name, x.shape[-1]
    if name in PARTS:
        return _running_complex_products(x)
    rows = _columns(x)
    with np.errstate(all="ignore"):
        values = np.cumprod(rows, axis=-1)
        rest = np.zeros(rows.shape)
        # A zero, infinity or NaN makes all that follow special, with the signs of IEEE 754.
        special = np.logical_or.accumulate(~np.isfinite(rows) | (rows == 0), axis=-1)
        if ACCUMULATOR[name] == "float64":
            normal = np.asarray(~special.any(axis=-1))
            small = double_double.in_range(rows) & double_double.in_range(values)
            pairs = double_double.running_products, fixed_point.running_products
            _of_each_row(rows, normal, np.asarray(small.all(axis=-1)), pairs, (values, rest))
        own = 0.0 if ACCUMULATOR[name] == "float64" else gamma(np.arange(n), 2.0**-53)
        relative = gamma(np.arange(n), roundoff(name)) + own
        radius = np.where(special, 0.0, relative * np.abs(values))
    return near(values, radius, name, rest=rest, signed=np.ones(values.shape, bool))


def _running_complex_products(x: HostArray) -> Near:
    """Each multiplication has an error of sqrt(2) gamma_2 of the modulus (Higham 2002, 3.6)."""
    name, n = x.dtype.name, x.shape[-1]
    u = roundoff(name)
    wide = np.clongdouble if ACCUMULATOR[name] == "float64" else np.complex128
    bits = WIDE_BITS if ACCUMULATOR[name] == "float64" else 53
    with np.errstate(all="ignore"):
        exact = np.cumprod(x.astype(wide), axis=-1)
        parts = np.stack([exact.real, exact.imag], axis=-1)
        values = parts.astype(np.float64)
        rest = np.where(np.isfinite(values), (parts - values).astype(np.float64), 0.0)
        steps = np.arange(n)
        relative = sum(gamma(steps, math.sqrt(2) * gamma(2, unit)) for unit in (u, 2.0**-bits))
        radius = (relative * np.abs(exact)).astype(np.float64)[..., None]
    return near(values, np.broadcast_to(radius, values.shape), name, rest=rest)


def matrix_products(a: HostArray, b: HostArray) -> Near:
    """Return the products of floating matrices (..., m, k) and (..., k, n)."""
    name, k = a.dtype.name, a.shape[-1]
    with np.errstate(all="ignore"):
        if name not in PARTS:
            values, rest = _real_products(a.astype(np.float64), b.astype(np.float64), name)
            sizes = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64))
            steps, terms = k, chain_depth(k)
        else:
            values, rest, sizes = _complex_products(a, b)
            steps, terms = 2 * k, 2 * chain_depth(k)
        radius = gamma(terms, roundoff(name)) * sizes + steps * least(name) * (sizes > 0)
        if ACCUMULATOR[name] == "float32":
            radius = radius + gamma(steps, 2.0**-53) * sizes
    return near(values, radius, name, rest=rest)


def _real_products(a: HostArray, b: HostArray, name: str) -> tuple[HostArray, HostArray]:
    """Return the products in float64, and for float64 what they leave."""
    values = np.asarray(a @ b)
    rest = np.zeros(values.shape)
    if ACCUMULATOR[name] == "float64" and np.isfinite(a).all() and np.isfinite(b).all():
        for place in np.ndindex(values.shape[:-2]):
            values[place], rest[place] = fixed_point.exact_products(a[place], b[place])
    return values, rest


def _complex_products(a: HostArray, b: HostArray) -> tuple[HostArray, HostArray, HostArray]:
    """Each part is an inner product of length 2 k."""
    left = parts_of(a).astype(np.float64)
    right = parts_of(b).astype(np.float64)
    # [real, imag] of a, times [[real], [-imag]] and [[imag], [real]] of b.
    row = np.concatenate([left[..., 0], left[..., 1]], axis=-1)
    columns = [
        np.concatenate([right[..., 0], -right[..., 1]], axis=-2),
        np.concatenate([right[..., 1], right[..., 0]], axis=-2),
    ]
    found = [_real_products(row, column, a.dtype.name) for column in columns]
    sizes = [np.abs(row) @ np.abs(column) for column in columns]
    values, rest = (np.stack(part, axis=-1) for part in zip(*found, strict=True))
    return values, rest, np.stack(sizes, axis=-1)


def steps(start: HostArray, step: HostArray, numbers: range) -> Near:
    """Return start + i * step of 0-d floating numbers for consecutive i: (n,).

    The product and the sum are rounded once each: u (|i step| + |result|).
    """
    name = start.dtype.name
    u = roundoff(name)
    ends = [parts_of(a) if name in PARTS else a[None] for a in (start, step)]
    values, rest, sizes = [], [], []
    for first, width in zip(*(a.astype(np.float64).tolist() for a in ends), strict=True):
        easy = bool(double_double.in_range(np.array([first, width])).all())
        exact_steps = double_double.steps if easy else fixed_point.steps
        value, left = exact_steps(first, width, numbers)
        values.append(value)
        rest.append(left)
        sizes.append(np.abs(np.arange(numbers.start, numbers.stop) * width))
    exact, left, product = (np.stack(a, axis=-1) for a in (values, rest, sizes))
    radius = u * (product * (1 + u) + np.abs(exact)) + least(name)
    if name not in PARTS:
        exact, left, radius = exact[:, 0], left[:, 0], radius[:, 0]
    return near(exact, radius, name, rest=left)
