"""Values to compute with: the corners of each dtype, its whole bit range, and hard places of ops.

All functions return NumPy arrays of the dtype that `formats.host_dtype` gives; random ones depend
on the generator alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .formats import FORMATS, PARTS, host_dtype

HostArray = npt.NDArray[Any]
Rng = np.random.Generator

# ---- corners -------------------------------------------------------------------------------------


def special_values(name: str) -> HostArray:
    """Return zeros, limits, infinities, NaNs, ties and other corners of a dtype (k,), k < 60."""
    dtype = host_dtype(name)
    if name == "bool":
        return np.array([False, True])
    if name in FORMATS:
        digits, least, greatest = FORMATS[name]
        eps = 2.0 ** (1 - digits)
        tiny, top = 2.0**least, (2.0 - eps) * 2.0**greatest
        sizes = [
            *(0.0, tiny * eps, tiny * (1 - eps), tiny, eps, 0.5, 1.0, 1.0 + eps, 1.0 - eps / 2),
            *(1.5, 2.0, 2.5, 3.0, np.pi, 10.0, 100.0, top / 2, top, np.inf, np.nan),
        ]
        with np.errstate(all="ignore"):
            return np.array([*sizes, *(-s for s in sizes)]).astype(dtype)
    if name in PARTS:
        parts = np.array([0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan])
        return pairs(parts, parts, name)
    info = np.iinfo(dtype)
    values = {0, 1, 2, 3, 7, info.bits - 1, info.bits, info.max // 2, info.max - 1, info.max}
    values |= {-1, -2, -7, info.min, info.min + 1} if info.min else set()
    half = info.bits // 2  # low halves whose highest bit is no sign, beside equal high halves
    values |= {(1 << half - 1) + 5, (1 << half) + 5, 3 * (1 << half - 1) + 5}
    return np.array(sorted(v for v in values if v <= info.max), dtype)


def few_special_values(name: str) -> HostArray:
    """Return the corners of a dtype (k,), k < 26, of which all combinations of three are taken."""
    if name in FORMATS:
        digits, least, greatest = FORMATS[name]
        top = (2.0 - 2.0 ** (1 - digits)) * 2.0**greatest
        sizes = [0.0, 2.0 ** (least - digits + 1), 2.0**least, 1.0, 1.5, top, np.inf]
        return np.array([*sizes, *(-s for s in sizes), np.nan]).astype(host_dtype(name))
    if name in PARTS:
        parts = np.array([0.0, -0.0, 1.0, -np.inf, np.nan])
        return pairs(parts, parts, name)
    return special_values(name)


def pairs(real: HostArray, imag: HostArray, name: str) -> HostArray:
    """Return all combinations (m * n,) of real (m,) and imaginary parts (n,) as complex numbers."""
    result = np.empty((len(real), len(imag)), host_dtype(name))
    result.real, result.imag = real[:, None], imag[None, :]
    return result.ravel()


def combined(columns: list[HostArray]) -> list[HostArray]:
    """Return all combinations of the elements of columns (n1,), (n2,), ...: as (n1 * n2 * ...,)."""
    places = np.meshgrid(*(np.arange(len(c)) for c in columns), indexing="ij")
    return [c[p.ravel()] for c, p in zip(columns, places, strict=True)]


def conversion_corners(name: str) -> HostArray:
    """Return numbers (k,) of a real dtype beside the limits of others, and ties of rounding."""
    return _floating_corners(name) if name in FORMATS else _integer_corners(name)


def _integer_corners(name: str) -> HostArray:
    info = np.iinfo(host_dtype(name))
    sizes = {(1 << bits) + d for bits in range(info.bits) for d in (-3, -1, 0, 1, 3)}
    for digits, _, _ in FORMATS.values():
        for shift in range(1, info.bits - digits + 1):
            # Ties, and beside them: a format between would round the neighbour to the tie.
            ties = [((1 << digits - 1) + k << shift) + (1 << shift - 1) for k in (0, 1)]
            sizes |= {tie + d for tie in ties for d in ((-1, 0, 1) if shift > 1 else (0,))}
    values = sorted({v for size in sizes for v in (size, -size) if info.min <= v <= info.max})
    return np.array(values, host_dtype(name))


def _floating_corners(name: str) -> HostArray:
    limits = [2.0**bits for bits in (7, 8, 15, 16, 31, 32, 63, 64, 127, 128)]
    sizes = [v + d for v in limits for d in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    sizes += [v * part for v in limits for part in (0.75, 1 - 2.0**-24, 1 - 2.0**-53)]
    for digits, least, greatest in FORMATS.values():
        eps = 2.0 ** (1 - digits)
        ties = [1.0 + eps / 2, 1.0 + 1.5 * eps]
        ties += [2.0**least * eps * f for f in (0.25, 0.5, 0.75, 1.0, 1.5, 2.5)]
        ties += [(1.0 - eps / 4) * 2.0**greatest * 2.0]
        sizes += [tie * (1 + d) for tie in ties for d in (-(2.0**-25), -(2.0**-50), 0, 2.0**-50)]
        sizes += [tie * (1 + 2.0**-25) for tie in ties]
        sizes += [(1.0 - eps / 4 * f) * 2.0**greatest * 2.0 for f in (0.9, 1.1, 2.0)]
        # Halves: the largest below a half, and those where the format has the last of them.
        sizes += [
            0.5 * (1 - eps / 2),
            1.5 * (1 - eps),
            1 / eps - 0.5,
            0.5 / eps - 0.5,
            0.5 / eps + 0.5,
        ]
        sizes += [0.25 / eps + 0.5, 1 / eps, 1 / eps + 1]
    sizes += [0.5, 1.5, 2.5, 3.5, 0.49999999999999994, 4503599627370497.5]
    with np.errstate(all="ignore"):
        numbers = np.array([*sizes, *(-s for s in sizes)]).astype(host_dtype(name))
    return np.concatenate([numbers, not_numbers(name)])


def not_numbers(name: str) -> HostArray:
    """Return NaNs (k,) of both signs: with only the lowest bit of the payload, and with others."""
    kind = host_dtype(name)
    word, digits = np.dtype(f"u{kind.itemsize}"), FORMATS[name][0]
    sign, quiet = 1 << 8 * kind.itemsize - 1, 1 << digits - 2
    infinity = sign - (1 << digits - 1)
    payloads = {1, 2, quiet - 1, quiet, quiet | 1, 2 * quiet - 1, 1 << max(0, (digits - 1) // 2)}
    bits = [s | infinity | p for p in sorted(payloads) for s in (0, sign)]
    return np.array(bits, word).view(kind)


# ---- random --------------------------------------------------------------------------------------


def ordinary_values(name: str, count: int, rng: Rng) -> HostArray:
    """Return values (count,) of everyday size, neither zero nor special."""
    dtype = host_dtype(name)
    if name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if name in FORMATS:
        size = rng.uniform(0.1, 4.0, count)
        return np.asarray((size * rng.choice([-1, 1], count)).astype(dtype))
    if name in PARTS:
        parts = rng.uniform(0.1, 2.0, (2, count)) * rng.choice([-1, 1], (2, count))
        return np.asarray((parts[0] + 1j * parts[1]).astype(dtype))
    return rng.integers(1, 12, count).astype(dtype)


def any_bits(name: str, count: int, rng: Rng) -> HostArray:
    """Return values (count,) with random bits: every number, infinity and NaN of the dtype."""
    dtype = host_dtype(name)
    if name == "bool":
        return rng.integers(0, 2, count).astype(bool)
    raw = rng.integers(0, 256, (count, dtype.itemsize), np.uint8)
    return raw.view(dtype)[:, 0].copy()


def wild_values(name: str, count: int, rng: Rng) -> HostArray:
    """Return values (count,): half of them `any_bits`, half of everyday size (all, if complex)."""
    dtype = host_dtype(name)
    if name == "bool" or name in PARTS:
        return ordinary_values(name, count, rng)
    if name in FORMATS:
        small = (rng.standard_normal(count) * rng.choice([1e-3, 1, 30], count)).astype(dtype)
    else:
        small = rng.integers(0 if dtype.kind == "u" else -20, 21, count).astype(dtype)
    return np.where(rng.random(count) < 0.5, any_bits(name, count, rng), small)


def every_value(name: str) -> HostArray:
    """Return all values of a dtype of at most 16 bits, each once: (2,), (256,) or (65536,)."""
    dtype = host_dtype(name)
    if name == "bool":
        return np.array([False, True])
    if dtype.itemsize > 2:
        raise ValueError(f"{name} has too many values; take any_bits")
    return np.arange(1 << 8 * dtype.itemsize).astype(f"u{dtype.itemsize}").view(dtype)


def spread(rng: Rng, count: int, low: float, high: float) -> HostArray:
    """Return float64 numbers (count,) of both signs, of sizes evenly from 10**low to 10**high."""
    return np.asarray(rng.choice([-1.0, 1.0], count) * 10.0 ** rng.uniform(low, high, count))


def evenly(rng: Rng, count: int, low: float, high: float) -> HostArray:
    """Return numbers (count,) of which each third has one in each part of equal width."""
    places = np.arange(count) // 3
    for first in range(3):
        places[first::3] = rng.permutation(places[first::3])
    parts = places.max(initial=0) + 1
    return np.asarray(low + (high - low) * (places + rng.random(count)) / parts)


def every_interval(name: str, rng: Rng) -> HostArray:
    """Return numbers (384,), one in each of many intervals: an entry of a table is met by one.

    128 cover a binade on either side of 1, 128 both signs of everyday size.
    """
    step = (np.arange(128) + rng.random(128)) / 128
    numbers = np.concatenate([1 + step, 0.5 + step / 2, 16 * step - 8])
    return numbers.astype(host_dtype(name))
