"""The elementwise ops on complex numbers: exact, or in mpmath with the values of Annex G."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import mpmath
import numpy as np

from . import annex_g
from .formats import FORMATS
from .real import to_wide
from .ulp import WIDE, WIDE_BITS
from .values import HostArray

_PRECISION = 260
#: On an axis with a branch cut, a zero is taken for so small a number of its sign: the limit
#: from that side (C11, 7.3.3). Functions that nearly are their operand need as many more bits.
_BESIDE = mpmath.ldexp(1, -6000)
_BESIDE_PRECISION = 2600


def _round(a: HostArray) -> HostArray:
    result = np.empty_like(a)
    result.real, result.imag = np.rint(a.real), np.rint(a.imag)
    return result


_EXACT: dict[str, Callable[..., HostArray]] = {
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
    "round": _round,
}


def is_exact(op: str) -> bool:
    """Tell whether `exact` knows an op."""
    return op in _EXACT


def exact(op: str, args: tuple[HostArray, ...]) -> HostArray:
    """Return results whose parts are exact, or sums of one rounding."""
    with np.errstate(all="ignore"):
        return _EXACT[op](*args)


# ---- parts in mpmath -----------------------------------------------------------------------------

#: Their values on the axes need no convention about a branch cut.
_ENTIRE = ("exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh")
_CUT = ("sqrt", "log", "asin", "acos", "atan", "asinh", "acosh", "atanh")
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "reciprocal": lambda a: 1 / a,
    "square": lambda a: a * a,
    "sign": lambda a: a / abs(a),
}
_MPMATH: dict[str, Callable[..., Any]] = {
    **_ARITHMETIC,
    "pow": mpmath.power,
    **{op: getattr(mpmath, op) for op in (*_ENTIRE, *_CUT) if op != "expm1"},
    "expm1": lambda a: mpmath.exp(a) - 1,
    "log1p": lambda a: mpmath.log(1 + a),
    "log2": lambda a: mpmath.log(a) / mpmath.log(2),
    "log10": lambda a: mpmath.log(a) / mpmath.log(10),
    # mpmath's own takes both sides of the cut for one
    "acosh": lambda a: mpmath.acos(a) * (1j if a.imag > 0 else -1j),
}
#: Ops whose parts may cancel: the error is measured against the modulus.
NORMED = ("pow", "expm1")


class Kind(IntEnum):
    """What is known of one result."""

    PARTS = 0  # finite parts, of zeros without the sign
    SPECIAL = 1  # parts with signs, unless a sign is left open
    INFINITE = 2  # some part is infinite
    NAN = 3  # both parts are NaN
    ZERO = 4  # both parts are zeros
    OPEN = 5  # nothing


@dataclass(slots=True)
class Results:
    """What is known of the results (n,): kinds, wide parts and what these leave, open signs."""

    kind: HostArray
    real: HostArray
    imag: HostArray
    rest_real: HostArray
    rest_imag: HostArray
    open_real: HostArray
    open_imag: HostArray

    @classmethod
    def unknown(cls, size: int) -> Results:
        """Return results of which nothing is known."""
        parts = (np.zeros(size, WIDE) for _ in range(4))
        signs = (np.zeros(size, bool) for _ in range(2))
        return cls(np.full(size, Kind.OPEN), *parts, *signs)


def is_analytic(op: str) -> bool:
    """Tell whether `analytic` knows an op."""
    return op in _MPMATH


def analytic(op: str, args: tuple[HostArray, ...]) -> Results:
    """Return what is known of the results of an op on operands (n,)."""
    results = Results.unknown(args[0].size)
    if op in _ARITHMETIC:
        _classify(op, args, results)
    elif op == "pow":
        _classify_power(args[0], args[1], results)
    else:
        _look_up(op, args[0], results)
    open_places = (results.kind == Kind.OPEN) & np.all([_is_finite(a) for a in args], axis=0)
    beside = np.zeros(args[0].size, bool)
    if op not in _ENTIRE and op not in _ARITHMETIC:
        beside = (args[0].real == 0) | (args[0].imag == 0)
    places = np.flatnonzero(open_places)
    columns = [a[places].astype(np.complex128).tolist() for a in args]
    found = []
    for is_beside, first, *others in zip(beside[places].tolist(), *columns, strict=True):
        with mpmath.workprec(_BESIDE_PRECISION if is_beside else _PRECISION):
            operand = _beside(first) if is_beside else mpmath.mpc(first)
            found.append(mpmath.mpc(_MPMATH[op](operand, *others)))
    results.real[places], rest_real = to_wide([z.real for z in found])
    results.imag[places], rest_imag = to_wide([z.imag for z in found])
    results.kind[places] = Kind.PARTS
    if FORMATS["float64"][0] == WIDE_BITS:
        results.rest_real[places], results.rest_imag[places] = rest_real, rest_imag
    return results


def _beside(z: complex) -> Any:
    """Return a number of which a part that is a zero is next to it, on the side of its sign."""
    return mpmath.mpc(*(x or _BESIDE * math.copysign(1, x) for x in (z.real, z.imag)))


def _look_up(op: str, z: HostArray, results: Results) -> None:
    table = annex_g.special_results(op)
    for i, v in enumerate(z.tolist()):
        found = table.get(annex_g.key(v.real, v.imag))
        if found is not None:
            results.kind[i] = Kind.SPECIAL
            (results.real[i], results.open_real[i]) = found[0]
            (results.imag[i], results.open_imag[i]) = found[1]


def _is_infinite(z: HostArray) -> HostArray:
    return np.asarray(np.isinf(z.real) | np.isinf(z.imag))


def _is_finite(z: HostArray) -> HostArray:
    return np.asarray(np.isfinite(z.real) & np.isfinite(z.imag))


def _classify(op: str, args: tuple[HostArray, ...], results: Results) -> None:
    """Products and quotients as C11 G.5.1 says; the sign of an infinity is 1, -1, i or -i."""
    a = args[0]
    if op == "sign":
        kinds = np.where(_is_finite(a), Kind.OPEN, Kind.NAN)
        one = (np.isinf(a.real) & np.isfinite(a.imag)) | (np.isinf(a.imag) & np.isfinite(a.real))
        kinds[one] = Kind.PARTS
        results.real[one] = np.where(np.isinf(a.real), np.sign(a.real), 0)[one]
        results.imag[one] = np.where(np.isinf(a.imag), np.sign(a.imag), 0)[one]
        results.kind[:] = np.where(a == 0, Kind.ZERO, kinds)
        return
    b = args[-1] if op in ("multiply", "square", "divide") else a
    if op == "reciprocal":
        a = np.ones_like(a)
    finite_a, finite_b = _is_finite(a), _is_finite(b)
    infinite_a, infinite_b = _is_infinite(a), _is_infinite(b)
    nan_a, nan_b = ~finite_a & ~infinite_a, ~finite_b & ~infinite_b
    kinds = results.kind
    if op in ("multiply", "square"):
        kinds[(nan_a & finite_b) | (nan_b & finite_a) | (nan_a & nan_b)] = Kind.NAN
        kinds[(infinite_a & (b == 0)) | (infinite_b & (a == 0))] = Kind.NAN
        kinds[finite_a & finite_b & ((a == 0) | (b == 0))] = Kind.ZERO
        kinds[infinite_a & (infinite_b | (finite_b & (b != 0)))] = Kind.INFINITE
        kinds[infinite_b & finite_a & (a != 0)] = Kind.INFINITE
        return
    kinds[(nan_a & finite_b & (b != 0)) | (nan_b & finite_a) | (nan_a & nan_b)] = Kind.NAN
    kinds[((a == 0) & (b == 0)) | (infinite_a & infinite_b)] = Kind.NAN
    kinds[(infinite_a & finite_b) | (finite_a & (a != 0) & (b == 0))] = Kind.INFINITE
    kinds[(finite_a & infinite_b) | ((a == 0) & finite_b & (b != 0))] = Kind.ZERO


def _classify_power(base: HostArray, exponent: HostArray, results: Results) -> None:
    """z**0 is 1, 0**w is 0 for Re w > 0 and has a pole at negative whole numbers, else NaN."""
    results.kind[np.isnan(base) & _is_finite(exponent) & (exponent != 0)] = Kind.NAN
    zero = (base == 0) & _is_finite(exponent)
    results.kind[zero & (exponent.real > 0)] = Kind.ZERO
    results.kind[zero & (exponent.real <= 0) & (exponent.imag != 0)] = Kind.NAN
    results.kind[zero & (exponent.real < 0) & (exponent.imag == 0)] = Kind.INFINITE
    one = exponent == 0
    results.kind[one] = Kind.PARTS
    results.real[one], results.imag[one] = 1, 0
