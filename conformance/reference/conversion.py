"""What conversion between two dtypes means: one rounding, saturation, wrapping."""

from __future__ import annotations

import math

import numpy as np

from .formats import FORMATS, PARTS, host_dtype
from .ulp import rounded, widened
from .values import HostArray


def cast(x: HostArray, to: str) -> HostArray:
    """Floats truncate and saturate, NaN is 0, integers wrap, complex keeps the real part."""
    dtype = host_dtype(to)
    if to == "bool":
        with np.errstate(invalid="ignore"):
            return np.asarray(x != 0)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if x.dtype.kind == "c":
        with np.errstate(all="ignore"):
            return x.astype(dtype)
    if dtype.kind == "c":
        return cast(x, PARTS[to]).astype(dtype)
    floating = x.dtype.name in FORMATS
    if to in FORMATS:
        if floating:
            return rounded(widened(x), to)
        return np.array([_nearest(int(v), to) for v in x.tolist()]).astype(dtype)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if floating:
        with np.errstate(all="ignore"):
            values = [_saturated(v, low, high) for v in x.astype(np.float64).tolist()]
    else:
        size = high - low + 1
        values = [(int(v) - low) % size + low for v in x.tolist()]
    return np.array(values, dtype)


def _saturated(v: float, low: int, high: int) -> int:
    if math.isnan(v):
        return 0
    return int(min(max(v, low), high)) if math.isfinite(v) else (high if v > 0 else low)


def _nearest(v: int, to: str) -> float:
    """Return the number of a format that is nearest to an integer, of two the even one."""
    digits, _, greatest = FORMATS[to]
    size = abs(v)
    drop = size.bit_length() - digits
    if drop > 0:
        kept, rest, half = size >> drop, size & ((1 << drop) - 1), 1 << (drop - 1)
        size = (kept + (rest > half or (rest == half and kept & 1 == 1))) << drop
    result = math.inf if size >= 1 << (greatest + 1) else float(size)
    return -result if v < 0 else result
