"""Rows on which a wrong kernel along an axis shows: extremes at the ends, ties, NaN, long sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.conformance.reference.values import (
    HostArray,
    any_bits,
    ordinary_values,
    special_values,
    wild_values,
)

Rng = np.random.Generator
_Row = Callable[[str, int, Rng], HostArray]


def _is_floating(name: str) -> bool:
    return name in FORMATS or name in PARTS


def _numbers(name: str, n: int, rng: Rng) -> HostArray:
    """Any bits and everyday numbers, without NaN."""
    x = wild_values(name, n, rng)
    if name in FORMATS:
        with np.errstate(invalid="ignore"):
            x[np.isnan(x)] = 1
    return x


def _small(name: str, n: int, rng: Rng) -> HostArray:
    """Few different numbers, so that many are equal; zeros of both signs."""
    low = 0 if name.startswith(("u", "b")) else -2
    x = rng.integers(low, 2 if name == "bool" else 4, n).astype(host_dtype(name))
    return x * rng.choice(np.array([1, -1], x.dtype), n) if _is_floating(name) else x


def _top(name: str) -> float | int | bool:
    if name == "bool":
        return True
    return float("inf") if name in FORMATS else int(np.iinfo(host_dtype(name)).max)


def _bottom(name: str) -> float | int | bool:
    if name == "bool":
        return False
    return float("-inf") if name in FORMATS else int(np.iinfo(host_dtype(name)).min)


def _largest_last(name: str, n: int, rng: Rng) -> HostArray:
    """The largest number stands alone in the last place."""
    x = ordinary_values(name, n, rng)
    x[-1:] = _top(name)
    return x


def _smallest_last(name: str, n: int, rng: Rng) -> HostArray:
    """The smallest number stands alone in the last place."""
    x = ordinary_values(name, n, rng)
    x[-1:] = _bottom(name)
    return x


def _extreme_anywhere(name: str, n: int, rng: Rng) -> HostArray:
    """The largest or smallest number stands alone."""
    x = ordinary_values(name, n, rng)
    if n:
        x[rng.integers(n)] = _top(name) if rng.random() < 0.5 else _bottom(name)
    return x


def _one_sided(name: str, n: int, rng: Rng) -> HostArray:
    """All below zero or all above, if there are signs."""
    x = ordinary_values(name, n, rng)
    if name in FORMATS or name.startswith("i"):
        x = np.abs(x) * x.dtype.type(rng.choice([1, -1]))
    return x


def _with_nan(name: str, n: int, rng: Rng) -> HostArray:
    """One NaN in the last place, or several anywhere."""
    x = _numbers(name, n, rng)
    if name in FORMATS and n:
        x[n - 1 if rng.random() < 0.5 else rng.integers(0, n, 3)] = np.nan
    return x


def _zeros(name: str, n: int, rng: Rng) -> HostArray:
    """Zeros of both signs, and only zeros."""
    x = np.zeros(n, host_dtype(name))
    return np.where(rng.random(n) < 0.5, -x, x) if name in FORMATS else x


def _last_is_true(name: str, n: int, rng: Rng) -> HostArray:
    """Zeros but for the last element: NaN, the least number, an imaginary unit."""
    x = np.zeros(n, host_dtype(name))
    x[-1:] = _barely_true(name, rng)
    return x


def _last_is_false(name: str, n: int, rng: Rng) -> HostArray:
    """No zero but the last element."""
    x = np.array([_barely_true(name, rng) for _ in range(4)], host_dtype(name))
    x = x[rng.integers(0, 4, n)]
    x[-1:] = -np.zeros((), x.dtype) if _is_floating(name) else 0
    return x


def _one_counts(name: str, n: int, rng: Rng) -> HostArray:
    """Zeros but for one element."""
    return np.roll(_last_is_true(name, n, rng), rng.integers(n + 1))


def _one_does_not(name: str, n: int, rng: Rng) -> HostArray:
    """No zero but one."""
    return np.roll(_last_is_false(name, n, rng), rng.integers(n + 1))


def _barely_true(name: str, rng: Rng) -> object:
    if name == "bool":
        return True
    if name in FORMATS:
        digits, low, _ = FORMATS[name]
        return rng.choice([np.nan, 2.0 ** (low - digits + 1), -(2.0**low), np.inf])
    if name in PARTS:
        return complex(rng.choice([1j, complex(0, np.nan), complex(np.nan, 0), 1e-30]))
    bits = 8 * host_dtype(name).itemsize
    return 1 << int(rng.integers(bits - 1))


def _all_nan(name: str, n: int, rng: Rng) -> HostArray:
    if name not in FORMATS:
        return np.full(n, ordinary_values(name, 1, rng)[0])
    return np.full(n, np.nan, host_dtype(name))


def _ascending(name: str, n: int, rng: Rng) -> HostArray:
    return np.sort(ordinary_values(name, n, rng))


def _nearly_ascending(name: str, n: int, rng: Rng) -> HostArray:
    """Ascending but for some neighbours: samples at a distance of a power of two do not tell."""
    x = _ascending(name, n, rng)
    for at in rng.integers(0, max(n - 16, 1), 5) // 16 * 16 + 5:
        x[at : at + 3] = x[at : at + 3][::-1].copy()
    return x


def _descending(name: str, n: int, rng: Rng) -> HostArray:
    return _ascending(name, n, rng)[::-1].copy()


def _adjacent(name: str, n: int, rng: Rng) -> HostArray:
    """Neighbours near one end, where a narrower format sees them as one."""
    dtype = host_dtype(name)
    if not _is_floating(name) and name != "bool":
        end = dtype.type(_top(name) if rng.random() < 0.5 else _bottom(name))
        steps = rng.integers(0, 5, n).astype(dtype)
        return np.asarray(end - steps if end > 0 else end + steps)
    if name not in FORMATS:
        return ordinary_values(name, n, rng)
    word = np.dtype(f"u{dtype.itemsize}")
    start = np.full(n, rng.choice([-1.5, 1.5]), dtype).view(word)
    return np.asarray((start + rng.integers(0, 5, n).astype(word)).view(dtype))


def _corners(name: str, n: int, rng: Rng) -> HostArray:
    return rng.choice(special_values(name), n)


def _terms(name: str, n: int, rng: Rng) -> HostArray:
    """Terms of both signs and many sizes; of integers, any bits."""
    if not _is_floating(name):
        return any_bits(name, n, rng)
    x = ordinary_values(name, n, rng)
    return np.asarray((x * 2.0 ** rng.integers(-6, 4, n)).astype(x.dtype))


def _positive_terms(name: str, n: int, rng: Rng) -> HostArray:
    """Terms of one sign, whose sum outgrows each."""
    if not _is_floating(name):
        return np.full(n, _bottom(name) if rng.random() < 0.5 else _top(name), host_dtype(name))
    x = rng.uniform(0.5, 4.0, n).astype(host_dtype(name))
    return -x if rng.random() < 0.5 else x


def _last_counts(name: str, n: int, rng: Rng) -> HostArray:
    """The last term is larger than all others together."""
    x = ordinary_values(name, n, rng)
    if n:
        x[-1] = 100 if not _is_floating(name) else 4096
    return x


def _large_terms(name: str, n: int, rng: Rng) -> HostArray:
    """Terms whose sum is beyond float16, but not their mean."""
    return (ordinary_values(name, n, rng) * (500 if _is_floating(name) else 1)).astype(
        host_dtype(name)
    )


def _factors(name: str, n: int, rng: Rng) -> HostArray:
    """Factors of both signs near 1, whose products neither overflow nor vanish; odd integers."""
    dtype = host_dtype(name)
    if not _is_floating(name):
        return np.asarray(any_bits(name, n, rng) | dtype.type(1))
    size = np.exp(rng.uniform(-1, 1, n) * min(0.5, 3.0 / max(n, 1) ** 0.5))
    if name in PARTS:
        return np.asarray((size * np.exp(2j * np.pi * rng.random(n))).astype(dtype))
    return np.asarray((size * rng.choice([-1, 1], n)).astype(dtype))


def _small_factors(name: str, n: int, rng: Rng) -> HostArray:
    """Ones but for a few factors, the last one among them."""
    x = np.ones(n, host_dtype(name))
    if n:
        x[rng.integers(0, n, 4)] = 2
        x[-1] = 3
    return x


# Kinds on which little can go wrong stand between others: a few rows have some of both.
_EXTREME: tuple[_Row, ...] = (
    *(_extreme_anywhere, _zeros, _adjacent, _one_sided, _with_nan, _all_nan, _numbers, _small),
    _corners,
)
_ORDERED: tuple[_Row, ...] = (
    *(_small, _zeros, _adjacent, _numbers, _ascending, _with_nan, _nearly_ascending, _all_nan),
    *(_descending, _corners),
)
_COUNTED: tuple[_Row, ...] = (_one_counts, _one_does_not, _small, _zeros)
_ADDED: tuple[_Row, ...] = (_terms, _positive_terms, _last_counts, _large_terms)
_ROWS: dict[str, tuple[_Row, ...]] = {
    **dict.fromkeys(("max", "min", "argmax", "argmin"), _EXTREME),
    **dict.fromkeys(("any", "all", "count_nonzero"), _COUNTED),
    **dict.fromkeys(("sum", "mean", "sum_squared_deviations"), _ADDED),
    "cumulative_sum": (_terms, _positive_terms, _last_counts),
    **dict.fromkeys(("prod", "cumulative_prod"), (_factors, _factors, _small_factors)),
    **dict.fromkeys(("sort", "argsort"), _ORDERED),
}


#: The kind of row on which a lost end, or a lost order, shows for certain.
_SHARPEST: dict[str, _Row] = {
    **{"max": _largest_last, "argmax": _largest_last, "min": _smallest_last},
    **{"argmin": _smallest_last, "any": _last_is_true, "count_nonzero": _last_is_true},
    **{"all": _last_is_false},
    **dict.fromkeys(("sum", "mean", "sum_squared_deviations"), _last_counts),
    **{"prod": _small_factors, "sort": _numbers, "argsort": _small},
    **{"cumulative_sum": _last_counts, "cumulative_prod": _small_factors},
}


def rows(op: str, name: str, count: int, n: int, rng: Rng) -> HostArray:
    """Return rows (count, n) of the kinds on which an op may fail.

    One of several rows is of the sharpest kind, the others are of kinds from a chance one on.
    """
    kinds = _ROWS[op]
    first = int(rng.integers(len(kinds)))
    chosen = [kinds[(first + i) % len(kinds)] for i in range(count)]
    if count > 1:
        chosen[int(rng.integers(count))] = _SHARPEST[op]
    made = np.empty((count, n), host_dtype(name))
    for row, kind in zip(made, chosen, strict=True):
        row[...] = kind(name, n, rng)
    return made


def special_sums(name: str) -> HostArray:
    """Return rows (r, 130) with infinities, NaN, zeros of both signs, and subnormal numbers."""
    part = PARTS.get(name, name)
    digits, low, _ = FORMATS[part]
    tiny = 2.0 ** (low - digits + 1)
    table = np.full((12, 130), 1.0)
    table[0, 129], table[1, 0], table[2, 64] = np.inf, -np.inf, np.nan
    table[3, 5], table[3, 127] = np.inf, -np.inf
    table[4, 0], table[5, 129] = np.nan, np.nan
    table[6], table[7] = -0.0, 0.0
    table[8] = np.where(np.arange(130) % 2, 0.0, -0.0)
    table[9] = tiny
    table[10] = tiny * np.where(np.arange(130) % 3, 5.0, -3.0)
    table[11] = 2.0 ** (low + 1) * np.where(np.arange(130) % 2, 1.0, -0.75)
    return _as_both_parts(table, name)


def special_products(name: str) -> HostArray:
    """Return rows (r, 70) of powers of two with zeros, infinities and NaN; exact products."""
    table = np.where(np.arange(70) % 2, 2.0, -0.5) * np.ones((8, 1))
    table[0, 69], table[1, 0], table[2, 33] = 0.0, -0.0, np.inf
    table[3, 64], table[4, 3] = -np.inf, np.nan
    table[5, 3], table[5, 66] = 0.0, np.inf
    table[6, 0], table[6, 69] = np.nan, 0.0
    return table.astype(host_dtype(name))


def _as_both_parts(table: HostArray, name: str) -> HostArray:
    if name not in PARTS:
        return table.astype(host_dtype(name))
    result = np.empty(table.shape, host_dtype(name))
    result.real, result.imag = table, table[::-1]
    return result
