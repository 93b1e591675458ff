"""How far a result is from its reference: in units in the last place, or by its bits.

A *wide* reference is an array of `WIDE`, good to more digits than the format that it judges. NaNs
count as one value and the two zeros as two, unless a function says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .formats import FORMATS, PARTS, host_dtype
from .values import HostArray

#: The widest format of the host: 64 bits of significand on x86, 113 on ARM Linux, else 53.
WIDE: Any = np.longdouble
WIDE_BITS = np.finfo(WIDE).nmant + 1
#: Up to this size, copies of bytes compare faster than a mask is made.
_SMALL_BYTES = 1 << 16


def widened(x: HostArray) -> HostArray:
    """Return real numbers of any dtype in the wide format, exactly (64-bit integers: rounded)."""
    if x.dtype.name in FORMATS:
        with np.errstate(all="ignore"):  # ml_dtypes warns of signalling NaNs
            return np.asarray(x.astype(np.float64).astype(WIDE))
    return np.asarray(x.astype(WIDE))


def unit(exact: HostArray, name: str) -> HostArray:
    """Return the unit in the last place of a format at the size of wide values."""
    digits, least, greatest = FORMATS[name]
    exponent = np.clip(np.frexp(exact)[1] - 1, least, greatest)
    exponent = np.where(exact == 0, least, exponent)
    return np.asarray(np.ldexp(np.ones_like(exact), exponent - digits + 1))


def rounded(exact: HostArray, name: str) -> HostArray:
    """Return wide values rounded once to a format, ties to even; beyond the greatest: infinity."""
    greatest = FORMATS[name][2]
    exact = np.asarray(exact)
    with np.errstate(all="ignore"):
        step = unit(exact, name)
        near = np.rint(exact / step) * step
        beyond = np.abs(near) >= np.ldexp(WIDE(1), greatest) * 2
        near = np.where(
            beyond, np.copysign(np.inf, near), np.where(np.isfinite(exact), near, exact)
        )
        return near.astype(np.float64).astype(host_dtype(name))


def comparable(x: HostArray) -> HostArray:
    """Return values that are equal where the elements are the same: bits, with one NaN.

    Complex numbers give one more axis, of length 2.
    """
    if x.dtype.kind == "c":
        part = np.dtype(PARTS[x.dtype.name])
        return comparable(np.ascontiguousarray(x).reshape(x.shape)[..., None].view(part))
    if x.dtype.kind == "b":
        return x.view(np.uint8)  # a true that is not 1 shows
    if x.dtype.kind in "iu":
        return x
    bits = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").reshape(x.shape).copy()
    with np.errstate(invalid="ignore"):  # ml_dtypes warns of signalling NaNs
        bits[np.isnan(x)] = np.iinfo(bits.dtype).max
    return bits


def same_bytes(a: HostArray, b: HostArray) -> bool:
    """Tell whether two C-contiguous arrays of one dtype and size have the same bytes."""
    if a.nbytes <= _SMALL_BYTES:
        return a.tobytes() == b.tobytes()
    x, y = a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)
    words = x.size & -8
    rest = x[words:].tobytes() == y[words:].tobytes()
    return rest and bool((x[:words].view(np.uint64) == y[:words].view(np.uint64)).all())


def differing(got: HostArray, want: HostArray) -> HostArray:
    """Return where two arrays of one dtype and shape are not the same: a mask of that shape."""
    different = np.asarray(comparable(got) != comparable(want))
    return np.asarray(different.any(axis=-1)) if want.dtype.kind == "c" else different


def ulp_error(
    got: HostArray, exact: HostArray, rest: HostArray | None = None, *, signed_zero: bool = True
) -> HostArray:
    """Return the errors of floating numbers against a wide reference, in ulp: float64, same shape.

    ``rest`` is what the reference leaves: the exact value is ``exact + rest``. An infinity counts
    as the first power of two beyond the format, so that overflow is judged as IEEE 754-2019, 7.4
    does. The error is infinite where one is NaN and the other is not, where the reference is
    infinite or zero and the result is not the same, and, with ``signed_zero``, where the result is
    a zero of the other sign than the reference.
    """
    name = got.dtype.name
    with np.errstate(all="ignore"):
        wide = widened(got)
        beyond = np.ldexp(WIDE(1), FORMATS[name][2]) * 2
        size = np.where(np.isinf(wide), np.copysign(beyond, wide), wide)
        difference = size - exact
        if rest is not None:
            difference = difference - rest
        error = np.abs(difference) / unit(exact, name)
        over = np.isinf(wide) & np.isfinite(exact) & (np.abs(exact) >= beyond)
        same = (wide == exact) | (np.isnan(wide) & np.isnan(exact))
        if rest is not None:
            same &= ~np.isfinite(exact) | (rest == 0)
        sign = np.signbit(wide) == np.signbit(exact)
        error = np.where(same | (over & sign), 0.0, error)
        wrong = (np.isnan(wide) != np.isnan(exact)) | ((exact == 0) & (wide != 0))
        wrong |= np.isinf(exact) & (wide != exact)
        if signed_zero:
            wrong |= (wide == 0) & ~sign
        error = np.where(wrong, np.inf, error)
    return error.astype(np.float64)


def ulp_distance(got: HostArray, want: HostArray) -> HostArray:
    """Return the distances in ulp of real or complex results from values of the same dtype.

    It is 0 exactly where the elements are the same. Of complex numbers, the larger of both parts;
    of integers and booleans, infinite where they differ.
    """
    if want.dtype.kind == "c":
        parts = [(got.real, want.real), (got.imag, want.imag)]
        return np.maximum(*(ulp_distance(g, w) for g, w in parts))
    different = differing(got, want)
    if want.dtype.name not in FORMATS:
        return np.where(different, np.inf, 0.0)
    return np.where(different, ulp_error(got, widened(want)), 0.0)


def norm_error(got: HostArray, real: HostArray, imag: HostArray) -> HostArray:
    """Return the errors of complex numbers in ulp of the modulus of their wide reference.

    For ops whose parts may cancel (C11 Annex G leaves them open). Where a part of the reference or
    the result is not finite, the parts are judged one by one as in `ulp_error`.
    """
    with np.errstate(all="ignore"):
        size = unit(np.hypot(real, imag), PARTS[got.dtype.name])
        far = np.maximum(np.abs(got.real - real), np.abs(got.imag - imag)) / size
        single = np.maximum(
            ulp_error(got.real, real, signed_zero=False),
            ulp_error(got.imag, imag, signed_zero=False),
        )
        plain = np.isfinite(got) & np.isfinite(real) & np.isfinite(imag)
    return np.where(plain, far, single).astype(np.float64)
