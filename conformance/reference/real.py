"""The elementwise ops on real floating numbers: exact ones, rounded ones, and those of analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from phalanx.testing.activations import ACTIVATIONS
from phalanx.testing.fused import fma
from phalanx.testing.gamma import digamma, lgamma

from .formats import FORMATS
from .ulp import WIDE, WIDE_BITS, rounded, unit
from .values import HostArray

# ---- exact, or rounded once ----------------------------------------------------------------------


def _fraction(x: float, y: float) -> tuple[int, int]:
    """Return whole numbers whose quotient is that of two finite ones, exactly."""
    (a, b), (c, d) = x.as_integer_ratio(), y.as_integer_ratio()
    return a * d, b * c


def _floor_divide(x: float, y: float) -> float:
    """Floor of the exact quotient; with infinities and zeros floor(x / y) of IEEE division."""
    if math.isfinite(x) and math.isfinite(y) and x != 0 and y != 0:
        over, under = _fraction(x, y)
        whole = over // under
        try:
            return float(whole) if abs(whole) < 2**53 else over / under
        except OverflowError:
            return math.copysign(math.inf, x) * math.copysign(1.0, y)
    return float(np.floor(np.float64(x) / np.float64(y)))


def _remainder(x: float, y: float) -> float:
    """Return x - floor(x / y) * y, exact and rounded once; zero like y; x % 0 is NaN."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return math.nan
    if math.isinf(y):
        r = x if (x >= 0) == (y > 0) or x == 0 else y
    else:
        over, under = _fraction(x, y)
        r = over % under / (x.as_integer_ratio()[1] * y.as_integer_ratio()[1])
    return math.copysign(0.0, y) if r == 0 else r


def nextafter(x: HostArray, y: HostArray) -> HostArray:
    """By the bits: one more or one less of the magnitude; y where they are equal."""
    word = np.dtype(f"u{x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(word)
    inward = (x < y) != (x > 0)
    moved = np.where(inward, bits - word.type(1), bits + word.type(1)).view(x.dtype)
    least = np.copysign(np.ones(1, word).view(x.dtype), y)
    result = np.where(x == 0, least, moved)
    return np.where(np.isnan(x) | np.isnan(y), x + y, np.where(x == y, y, result)).astype(x.dtype)


def _larger(a: HostArray, b: HostArray) -> HostArray:
    positive = np.where(np.signbit(a), b, a)
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a == b, positive, np.maximum(a, b)))


def _smaller(a: HostArray, b: HostArray) -> HostArray:
    return -_larger(-a, -b)


def _sign(a: HostArray) -> HostArray:
    return np.where(np.isnan(a), a, (a > 0).astype(float) - (a < 0))


_PREDICATES = (
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("isfinite", "isinf", "isnan", "signbit"),
)
#: On the stored values in float64: exact, or rounded once for float64. For float16, bfloat16 and
#: float32 the second rounding of a sum, product, quotient or root does no harm, because 53 digits
#: are at least 2 * 24 + 2 (Figueroa, When is double rounding innocuous?, 1995).
_REAL: dict[str, Callable[..., HostArray]] = {
    "abs": np.abs,
    "negative": np.negative,
    **dict.fromkeys(("positive", "conj", "real"), lambda a: a),
    "sign": _sign,
    "copysign": np.copysign,
    "maximum": _larger,
    "minimum": _smaller,
    "clip": lambda x, low, high: _smaller(_larger(x, low), high),
    "ceil": np.ceil,
    "floor": np.floor,
    "round": np.rint,
    "trunc": np.trunc,
    "floor_divide": np.vectorize(_floor_divide, otypes=[float]),
    "remainder": np.vectorize(_remainder, otypes=[float]),
    **{op: getattr(np, op) for op in ("add", "subtract", "multiply", "divide", "sqrt")},
    "reciprocal": lambda a: 1.0 / a,
    "square": lambda a: a * a,
    **{op: getattr(np, op) for op in _PREDICATES},
}


def is_rounded_once(op: str) -> bool:
    """Tell whether `rounded_once` knows an op."""
    return op in _REAL or op == "fma"


def rounded_once(op: str, args: tuple[HostArray, ...], to: str) -> HostArray:
    """Return results without rounding, or with the one rounding that IEEE 754 defines.

    Those of float16 and bfloat16 are rounded to float32 before, as docs/ops.md says.
    """
    with np.errstate(all="ignore"):
        if op == "fma":
            result = fma(*(a if to == "float64" else a.astype(np.float32) for a in args))
            narrow = to not in ("float32", "float64")
            return rounded(result.astype(WIDE), to) if narrow else result
        result = _REAL[op](*(a.astype(np.float64) for a in args))
        if to not in FORMATS or to == "float64":
            return result
        result = result.astype(np.float32)
        return result if to == "float32" else rounded(result.astype(WIDE), to)


# ---- analysis ------------------------------------------------------------------------------------

#: Functions of NumPy in the wide format that are good to 8 units in its last place; the bound on
#: the C library is tested against mpmath in tests/conformance/test_reference.py.
_WIDE = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan"),
    *("asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("cbrt", "exp2", "atan2", "hypot", "logaddexp", "pow"),
)
#: Functions of one operand that mpmath computes wherever the C library's double is not enough.
_NARROW: dict[str, Callable[[HostArray], HostArray]] = {
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "lgamma": lgamma,
    "digamma": digamma,
    **ACTIVATIONS,
}
#: Functions that change their sign: near that, mpmath computes.
_SIGN_CHANGES = ("lgamma", "digamma")
_WIDE_SLACK = 8.0
_WORD = (1 << 64) - 1
_DIGITS = 40
#: Where exp(a) + exp(b) is near 1, logaddexp is a difference whose relative error has no bound; the
#: op table bounds the absolute one. Measured: float64 1.15 * 2**-56, the worst of 4e5 pairs with a
#: result in [-1/4, -1/16]; float32, computed in float64, less than 2**-54.
_LOGADDEXP_FLOOR = {
    "float64": 2.0**-55,
    **dict.fromkeys(("float32", "float16", "bfloat16"), 2.0**-54),
}
#: So it is of lgamma and digamma between their zeros and poles below 0, where results are below 1.
#: Measured: float64 2**-53; devices without double compute in float32.
_GAMMA_FLOOR = {
    "float64": 2.0**-52,
    **dict.fromkeys(("float32", "float16", "bfloat16"), 2.0**-17),
}


def floor_of(op: str, args: tuple[HostArray, ...], values: HostArray, to: str) -> HostArray | float:
    """Return absolute errors (n,), or one, that are none, as the result is a difference."""
    if op == "logaddexp":
        return _LOGADDEXP_FLOOR[to]
    if op in _SIGN_CHANGES:
        return np.where(
            (args[0].astype(np.float64) < 0) & (np.abs(values) < 1), _GAMMA_FLOOR[to], 0.0
        )
    return 0.0


def _logaddexp(a: Any, b: Any) -> Any:
    return max(a, b) + mpmath.log1p(mpmath.exp(-abs(a - b)))


_MPMATH: dict[str, Callable[..., Any]] = {
    **{op: getattr(mpmath, op) for op in (*_WIDE, *_NARROW) if hasattr(mpmath, op)},
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "pow": mpmath.power,
    "logaddexp": _logaddexp,
    "lgamma": lambda x: mpmath.re(mpmath.loggamma(x)),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "silu": lambda x: x / (1 + mpmath.exp(-x)),
    "gelu": lambda x: x / 2 * mpmath.erfc(-x / mpmath.sqrt(2)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
}


def is_analytic(op: str) -> bool:
    """Tell whether `analytic` knows an op."""
    return op in _WIDE or op in _NARROW


def analytic(op: str, args: tuple[HostArray, ...], to: str) -> tuple[HostArray, HostArray]:
    """Return results in the wide format, and what they leave of the exact ones.

    mpmath computes where the wide format has too few digits for ``to``, or where it cancels; of
    functions of one operand also near the middle between two numbers, as they are correctly
    rounded but in float64.
    """
    with np.errstate(all="ignore"):
        wide = [a.astype(np.float64).astype(WIDE) for a in args]
        result = _in_double(op, args[0]) if op in _NARROW else np.asarray(getattr(np, op)(*wide))
        coarse = np.isfinite(result) & (result != 0)
        digits = 53 if op in _NARROW else WIDE_BITS
        if digits - FORMATS[to][0] >= 8:
            if op == "logaddexp":
                coarse &= np.abs(result) * 16 < np.abs(wide[0])
            else:
                near = _is_near_middle(result, to)
                if op in _SIGN_CHANGES:
                    near |= np.abs(result) < 2.0**-4
                coarse &= (len(args) == 1) & near
    return _refined(op, args, result, np.flatnonzero(coarse))


def _in_double(op: str, x: HostArray) -> HostArray:
    return np.asarray(_NARROW[op](x.astype(np.float64))).astype(WIDE)


def _is_near_middle(exact: HostArray, to: str) -> HostArray:
    steps = np.abs(exact) / unit(exact, to)
    return np.asarray(np.abs(steps - np.floor(steps) - 0.5) < 2.0**-12)


def _refined(
    op: str, args: tuple[HostArray, ...], result: HostArray, places: HostArray
) -> tuple[HostArray, HostArray]:
    rest = np.zeros_like(result)
    columns = [a[places].astype(np.float64).tolist() for a in args]
    with mpmath.workdps(_DIGITS):
        exact = [_MPMATH[op](*map(mpmath.mpf, operands)) for operands in zip(*columns, strict=True)]
    result[places], rest[places] = to_wide(exact)
    return result, rest


def to_wide(exact: list[Any]) -> tuple[HostArray, HostArray]:
    """Return real numbers of mpmath rounded to the wide format (n,), and what that leaves (n,).

    Ties go to even. The wide format has more exponents than float64.
    """
    values, rest = np.zeros(len(exact), WIDE), np.zeros(len(exact), WIDE)
    words, scales = np.zeros((2, len(exact)), np.uint64), np.zeros((2, len(exact)), int)
    for i, x in enumerate(exact):
        negative, digits, exponent, count = x._mpf_
        if not digits:
            values[i] = float(x)  # zero, infinity or NaN
            continue
        dropped = max(0, count - WIDE_BITS)
        near = int(digits) >> dropped
        left = int(digits) - (near << dropped)
        if 2 * left + (near & 1) > 1 << dropped:
            near, left = near + 1, left - (1 << dropped)
        more = max(0, near.bit_length() - WIDE_BITS)  # it was rounded up to a power of two
        words[:, i] = near >> more >> 64, near >> more & _WORD
        surplus = max(0, left.bit_length() - 60)
        values[i], rest[i] = (-1) ** negative, (-1) ** negative * (left >> surplus)
        scales[:, i] = exponent + dropped + more, exponent + surplus
    sizes = np.ldexp(np.ldexp(words[0].astype(WIDE), 64) + words[1].astype(WIDE), scales[0])
    is_number = words.any(axis=0)
    values[is_number] *= sizes[is_number]
    return values, np.ldexp(rest, scales[1])


def analytic_slack(to: str, operands: int) -> float:
    """Return how far the reference of `analytic` may be off, in ulp of the format of the result.

    With two operands, float16 and bfloat16 are rounded to float32 before, whose error of 0.501 ulp
    adds to the bound. With one, results are correctly rounded, and the reference is good to about
    2**-50 where that can fail.
    """
    if operands == 1 and to != "float64":
        return 2.0**-48
    digits = FORMATS[to][0]
    half = 0.501 * 2.0 ** (digits - FORMATS["float32"][0]) if digits < 24 else 0.0
    own = _WIDE_SLACK * 2.0 ** (digits - WIDE_BITS) if WIDE_BITS - digits >= 8 else 0.0
    return half + own + 2.0**-40
