"""What conversion between two dtypes means: one rounding, saturation, wrapping."""

from __future__ import annotations

from typing import Any

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
    if to in FORMATS:
        return rounded(widened(x), to) if x.dtype.name in FORMATS else _nearest(x, to)
    if x.dtype.name in FORMATS:
        return _saturated(x, dtype)
    with np.errstate(all="ignore"):
        return x.astype(dtype)  # modulo 2**bits


def _saturated(x: HostArray, dtype: np.dtype[Any]) -> HostArray:
    """Return floating numbers without their fractions, in the range of integers; NaN is 0."""
    bits = np.iinfo(dtype).bits - (dtype.kind == "i")
    low, beyond = float(np.iinfo(dtype).min), 2.0**bits
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        inside = (wide > low) & (wide < beyond)
        result = np.where(inside, wide, 0.0).astype(dtype)
    result[wide <= low] = np.iinfo(dtype).min
    result[wide >= beyond] = np.iinfo(dtype).max
    return result


def _nearest(x: HostArray, to: str) -> HostArray:
    """Return integers rounded once to a format, ties to even; beyond the greatest: infinity.

    From 2**53 on, float64 holds what is left of them without 11 bits; that some of these were not
    zero, a one in the last place of the rest tells as well (rounding to odd).
    """
    if to == "float64" or x.dtype.itemsize < 8:
        return rounded(widened(x.astype(np.float64)), to)
    size = np.where(x < 0, -x.astype(np.uint64), x.astype(np.uint64))
    lost = np.uint64(0x7FF)
    odd = (size & ~lost) | (((size & lost) != 0).astype(np.uint64) << np.uint64(11))
    wide = np.where(size >> np.uint64(53) != 0, odd, size).astype(np.float64)
    return rounded(widened(np.where(x < 0, -wide, wide)), to)
