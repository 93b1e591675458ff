"""Products plus a third number, rounded once, from exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

_Floats = npt.NDArray[Any]


def _fma(a: float, b: float, c: float, odd: bool) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the product is exact or zero, so IEEE 754 gives the sign
    try:
        near = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if not odd or Fraction(near) == exact:
        return near if near else math.copysign(near, 1 if exact > 0 else -1)
    inner = near if abs(Fraction(near)) < abs(exact) else math.nextafter(near, 0.0)
    bits = np.float64(math.copysign(inner, 1 if exact > 0 else -1)).view(np.uint64) | np.uint64(1)
    return float(bits.view(np.float64))


def fma(a: _Floats, b: _Floats, c: _Floats) -> _Floats:
    """Return ``a * b + c`` rounded once, in the dtype of the operands: float32 or float64.

    For float32 the exact result is rounded to an odd float64 first, which makes the second rounding
    one from the exact number (Boldo & Melquiond 2008).
    """
    dtype = np.result_type(a, b, c)
    with np.errstate(all="ignore"):
        function = np.vectorize(_fma, otypes=[np.float64], excluded=[3])
        wide = function(*(np.asarray(x, np.float64) for x in (a, b, c)), dtype != np.float64)
        return np.asarray(wide).astype(dtype)
