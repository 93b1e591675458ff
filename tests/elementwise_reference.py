"""What the elementwise ops mean, written apart from the op table and its kernels.

Integers in Python's unbounded ints, real numbers in a wider format or in fractions, complex
transcendental functions in mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from array_kit import PARTS, WIDE, HostArray, host_dtype, name_of, rounded

# ---- integers ------------------------------------------------------------------------------------


def _power(a: int, n: int) -> int:
    if n >= 0:
        return pow(a, n, 1 << 64)
    return {1: 1, -1: 1 if n % 2 == 0 else -1}.get(a, 0)


def _left(a: int, n: int, bits: int) -> int:
    return a << n if 0 <= n < bits else 0


def _right(a: int, n: int, bits: int) -> int:
    return a >> n if 0 <= n < bits else (-1 if a < 0 else 0)


_INTEGER: dict[str, Callable[..., int]] = {
    "abs": abs,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floor_divide": lambda a, b: a // b if b else 0,
    "remainder": lambda a, b: a % b if b else 0,
    "negative": lambda a: -a,
    "square": lambda a: a * a,
    "sign": lambda a: (a > 0) - (a < 0),
    "maximum": max,
    "minimum": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "pow": _power,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "isfinite": lambda a: True,
    "isinf": lambda a: False,
    "isnan": lambda a: False,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_invert": lambda a: ~a,
    **dict.fromkeys(("positive", "ceil", "floor", "round", "trunc", "conj", "real"), lambda a: a),
}


def _integers(op: str, args: tuple[HostArray, ...], to: np.dtype[Any]) -> HostArray:
    bits = 8 * args[0].dtype.itemsize
    columns = [a.tolist() for a in args]
    if op.endswith("_shift"):
        shift = _left if op == "bitwise_left_shift" else _right
        results = [shift(a, n, bits) for a, n in zip(*columns, strict=True)]
    else:
        results = [_INTEGER[op](*row) for row in zip(*columns, strict=True)]
    if to.kind == "b":
        return np.array(results, bool)
    wrapped = np.array([r % (1 << bits) for r in results], np.uint64)
    return wrapped.astype(f"u{to.itemsize}").view(to)


_BOOLEAN: dict[str, Callable[..., HostArray]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    **dict.fromkeys(("bitwise_and", "logical_and"), lambda a, b: a & b),
    **dict.fromkeys(("bitwise_or", "logical_or"), lambda a, b: a | b),
    **dict.fromkeys(("bitwise_xor", "logical_xor"), lambda a, b: a ^ b),
    **dict.fromkeys(("bitwise_invert", "logical_not"), lambda a: ~a),
}

# ---- real numbers, exactly -----------------------------------------------------------------------


def _floor_divide(x: float, y: float) -> float:
    """floor of the exact quotient; with infinities and zeros floor(x / y) of IEEE division."""
    if math.isfinite(x) and math.isfinite(y) and x != 0 and y != 0:
        quotient = Fraction(x) / Fraction(y)
        try:
            return float(math.floor(quotient)) if abs(quotient) < 2**53 else float(quotient)
        except OverflowError:
            return math.copysign(math.inf, x) * math.copysign(1.0, y)
    return float(np.floor(np.float64(x) / np.float64(y)))


def _remainder(x: float, y: float) -> float:
    """x - floor(x / y) * y of the exact quotient, a zero with the sign of y; x % 0 is NaN."""
    if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
        return math.nan
    if math.isinf(y):
        r = x if (x >= 0) == (y > 0) or x == 0 else y
    else:
        r = float(Fraction(x) - math.floor(Fraction(x) / Fraction(y)) * Fraction(y))
    return math.copysign(0.0, y) if r == 0 else r


def _nextafter(x: HostArray, y: HostArray) -> HostArray:
    """By the bits: one more or one less of the magnitude."""
    word = np.dtype(f"u{x.dtype.itemsize}")
    bits = np.ascontiguousarray(x).view(word)
    negative = (x < y) != (x > 0)
    moved = np.where(negative, bits - word.type(1), bits + word.type(1)).view(x.dtype)
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


#: Exact on the stored values, which float64 holds for every format.
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
    **{
        op: getattr(np, op)
        for op in (
            "equal",
            "not_equal",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "isfinite",
            "isinf",
            "isnan",
            "signbit",
        )
    },
}

# ---- real numbers, in a wider format -------------------------------------------------------------

_ROUNDED: dict[str, Callable[..., HostArray]] = {
    "reciprocal": lambda a: WIDE(1) / a,
    "square": lambda a: a * a,
    **{
        op: getattr(np, op)
        for op in (
            "add",
            "subtract",
            "multiply",
            "divide",
            "sqrt",
            "exp",
            "expm1",
            "log",
            "log1p",
            "log2",
            "log10",
            "sin",
            "cos",
            "tan",
            "asin",
            "acos",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "acosh",
            "atanh",
            "atan2",
            "hypot",
            "logaddexp",
            "pow",
        )
    },
}


def is_rounded(op: str, dtype: str) -> bool:
    """Whether the result on a real dtype is rounded, so that ``wide`` gives the reference."""
    return op in _ROUNDED and host_dtype(dtype).kind in "fV"


def wide(op: str, args: tuple[HostArray, ...]) -> HostArray:
    """The result in the wide format."""
    result: HostArray = _ROUNDED[op](*(a.astype(np.float64).astype(WIDE) for a in args))
    return result


# ---- complex numbers -----------------------------------------------------------------------------

_COMPLEX: dict[str, Callable[..., HostArray]] = {
    "negative": np.negative,
    "positive": lambda a: a,
    "conj": np.conj,
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "isfinite": lambda a: np.isfinite(a.real) & np.isfinite(a.imag),
    "isinf": lambda a: np.isinf(a.real) | np.isinf(a.imag),
    "isnan": lambda a: np.isnan(a.real) | np.isnan(a.imag),
    "add": np.add,
    "subtract": np.subtract,
}


def _complex_round(a: HostArray) -> HostArray:
    result = np.empty_like(a)
    result.real, result.imag = np.rint(a.real), np.rint(a.imag)
    return result


_MPMATH: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "reciprocal": lambda a: 1 / a,
    "square": lambda a: a * a,
    "sign": lambda a: a / abs(a),
    "log2": lambda a: mpmath.log(a) / mpmath.log(2),
    "log10": lambda a: mpmath.log(a) / mpmath.log(10),
    "pow": mpmath.power,
    **{
        op: getattr(mpmath, op)
        for op in (
            "sqrt",
            "exp",
            "expm1",
            "log",
            "log1p",
            "sin",
            "cos",
            "tan",
            "sinh",
            "cosh",
            "tanh",
            "asin",
            "acos",
            "atan",
            "asinh",
            "acosh",
            "atanh",
        )
    },
}


def is_transcendental_complex(op: str, dtype: str) -> bool:
    """Whether ``complex_exact`` gives the reference."""
    return dtype in PARTS and op in _MPMATH


def complex_exact(op: str, args: tuple[HostArray, ...]) -> tuple[HostArray, HostArray]:
    """Real and imaginary part in the wide format, from 40 digits of mpmath."""
    parts = []
    with mpmath.workdps(40):
        for row in zip(*(a.tolist() for a in args), strict=True):
            z = mpmath.mpc(_MPMATH[op](*(mpmath.mpc(v) for v in row)))
            parts.append([_to_wide(z.real), _to_wide(z.imag)])
    both = np.array(parts, WIDE)
    return both[:, 0], both[:, 1]


def _to_wide(x: Any) -> Any:
    """float64 and what it leaves: 106 bits, rounded to the wide format."""
    high = float(x)
    return WIDE(high) + WIDE(float(x - high))


# ---- conversion ----------------------------------------------------------------------------------


def cast(x: HostArray, to: str) -> HostArray:
    """Floats truncate and saturate, NaN is 0, integers wrap, complex keeps the real part."""
    dtype = host_dtype(to)
    if to == "bool":
        return np.asarray(x != 0)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = x.real
    if x.dtype.kind == "c":
        return x.astype(dtype)
    if dtype.kind == "c":
        return cast(x, PARTS[to]).astype(dtype)
    if dtype.kind in "fV":
        exact = x.astype(np.float64).astype(WIDE) if x.dtype.kind in "fV" else x.astype(WIDE)
        return rounded(exact, to)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if x.dtype.kind in "fV":
        values = [_saturated(v, low, high) for v in x.astype(np.float64).tolist()]
    else:
        size = high - low + 1
        values = [(int(v) - low) % size + low for v in x.tolist()]
    return np.array(values, dtype)


def _saturated(v: float, low: int, high: int) -> int:
    if math.isnan(v):
        return 0
    return int(min(max(v, low), high)) if math.isfinite(v) else (high if v > 0 else low)


# ---- all of them ---------------------------------------------------------------------------------


def exact(op: str, args: tuple[HostArray, ...], to: str) -> HostArray:
    """The result of an op without rounding, or with the rounding of the format alone."""
    dtype = host_dtype(to)
    name = name_of(args[-1])
    kind = args[-1].dtype.kind
    if op == "where":
        return np.where(args[0], args[1], args[2]).astype(dtype)
    if op == "copy":
        return args[0].copy()
    if op == "cast":
        return cast(args[0], to)
    if op == "nextafter":
        return _nextafter(*args)
    if name == "bool":
        return _BOOLEAN[op](*args)
    if kind in "iu":
        return _integers(op, args, dtype)
    if kind == "c":
        return (_COMPLEX.get(op) or _complex_round)(*args)
    result = _REAL[op](*(a.astype(np.float64) for a in args))
    if dtype.kind == "b":
        return result
    if name in ("float16", "bfloat16"):  # computed in float32 and rounded once more
        result = result.astype(np.float32).astype(np.float64)
    return rounded(result.astype(WIDE), to)
