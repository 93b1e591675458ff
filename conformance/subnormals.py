"""Devices that flush subnormal float32 numbers, and say so by not stating ``Feature.SUBNORMALS``.

They may take a subnormal operand as zero and give zero for a subnormal result, as compilers do with
their fast modes. So they get no such operands, and a zero in place of such a result is right.
"""

from __future__ import annotations

import numpy as np

from .layouts import HostArray

#: The dtypes whose arithmetic is that of float32 with its range.
_FLUSHED = ("float32", "complex64", "bfloat16")
#: The smallest normal number of float32 (IEEE 754-2019, table 3.5), and the steps below it.
_TINY, _STEPS = 2.0**-126, {"float32": 2.0**23, "complex64": 2.0**23, "bfloat16": 2.0**7}


def flushed(x: HostArray) -> HostArray:
    """Return values of any dtype with zeros of the same sign in place of the subnormal ones."""
    if x.dtype.name not in _FLUSHED:
        return x
    if x.dtype.kind == "c":
        parts = np.ascontiguousarray(x).reshape(-1).view(np.float32)
        return flushed(parts).view(x.dtype).reshape(x.shape)
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of signalling NaNs
        wide = x.astype(np.float32)
        small = np.abs(wide) < _TINY
    return np.asarray(np.where(small, np.copysign(np.float32(0), wide).astype(x.dtype), x))


def forgiven(got: HostArray, errors: HostArray) -> HostArray:
    """Return errors in ulp with 0 for zeros that stand for subnormal results."""
    if got.dtype.name not in _FLUSHED:
        return errors
    parts = (got.real, got.imag) if got.dtype.kind == "c" else (got,)
    zero = np.logical_or.reduce([np.asarray(part == 0) for part in parts])
    return np.where(zero & (errors <= _STEPS[got.dtype.name]), 0.0, errors)


def lost(got: HostArray, want: HostArray) -> HostArray:
    """Return where zeros stand for subnormal results: a mask of the result's shape.

    ``want`` is in float64, with one more axis, of length 2, for complex results.
    """
    if got.dtype.name not in _FLUSHED:
        return np.zeros(got.shape, bool)
    parts = np.stack([got.real, got.imag], axis=-1) if got.dtype.kind == "c" else got
    right = (np.asarray(parts == 0) & (np.abs(want) < _TINY)) | np.asarray(parts == want)
    return np.asarray(right.all(axis=-1)) if got.dtype.kind == "c" else right
