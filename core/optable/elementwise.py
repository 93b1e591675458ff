"""Rows of the elementwise ops, in the order of the Array API standard 2025.12."""

from __future__ import annotations

from collections.abc import Mapping

from .row import (
    ALL,
    BOOLEAN,
    COMPLEX,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    Bound,
    Op,
    Signature,
    Structure,
)

_REAL_PART = {"complex64": "float32", "complex128": "float64"}
_FLOATING_COMPLEX = FLOATING + COMPLEX

_IEEE = Bound(dict.fromkeys(_FLOATING_COMPLEX, 0.5), "IEEE 754-2019, 5.4: correctly rounded")
#: Parts of complex products: complex64 from float64, complex128 from pairs of float64.
_PARTS = Bound(
    {**dict.fromkeys(FLOATING, 0.5), "complex64": 0.501, "complex128": 1.0},
    "real: IEEE 754-2019, 5.4; complex: measured against mpmath, tests/test_scalar_complex.py",
)
_ONCE = Bound(
    dict.fromkeys(FLOATING, 0.5), "the exact value rounded once: core/scalar/real_basic.h"
)
_EXACT = Bound({}, "exact: no rounding takes place")
_ANNEX_G = "complex special values: ISO C11 Annex G"


def _same(dtypes: tuple[str, ...], arity: int) -> tuple[Signature, ...]:
    return tuple(Signature((d,) * arity, (d,)) for d in dtypes)


def _predicate(dtypes: tuple[str, ...], arity: int) -> tuple[Signature, ...]:
    return tuple(Signature((d,) * arity, ("bool",)) for d in dtypes)


def _to_real(dtypes: tuple[str, ...]) -> tuple[Signature, ...]:
    return tuple(Signature((d,), (_REAL_PART.get(d, d),)) for d in dtypes)


#: Functions of one operand: real ones are correctly rounded but in float64.
_PROVEN = Bound(
    {**dict.fromkeys(FLOATING, 0.5), "float64": 1.0, "complex64": 1.0, "complex128": 4.0},
    "float32, float16, bfloat16: by definition, checked on all inputs as docs/numerics.md tells; "
    "others: measured against mpmath over the whole domain, tests/test_scalar_*.py",
)
#: Those that need more than float32's result to be right in float16: core/scalar/real_half.h.
_FOR_F16 = frozenset(
    (
        *("exp", "expm1", "log", "log1p", "log10", "sin", "cos", "tan", "acos", "atan"),
        *("sinh", "cosh", "asinh", "acosh"),
    )
)


def _measured(f32: float, f64: float, c64: float = 0.0, c128: float = 0.0) -> Bound:
    ulp = {"float16": 0.5, "bfloat16": 0.5, "float32": f32, "float64": f64}
    if c64:
        ulp |= {"complex64": c64, "complex128": c128}
    return Bound(ulp, "measured against mpmath over the whole domain, tests/test_scalar_*.py")


def _op(
    name: str,
    signatures: tuple[Signature, ...],
    summary: str,
    bound: Bound = _EXACT,
    *,
    special: str = "",
    decomposition: str = "",
    for_f16: bool = False,
    **expressions: str,
) -> Op:
    return Op(
        name,
        Structure.ELEMENTWISE,
        signatures,
        summary,
        bound,
        _spread(expressions),
        special=special,
        decomposition=decomposition,
        for_f16=for_f16,
    )


def _spread(expressions: Mapping[str, str]) -> dict[str, str]:
    """Give each kind letter its own entry: ``biu="a & b"`` becomes three."""
    return {kind: text for kinds, text in expressions.items() for kind in kinds}


_ARITHMETIC = (
    _op(
        "abs", _to_real(NUMERIC), "absolute value or modulus", _measured(0.5, 0.5, 1.0, 1.0), u="a"
    ),
    _op("add", _same(NUMERIC, 2), "sum of two operands", _IEEE, f="a + b"),
    _op("subtract", _same(NUMERIC, 2), "difference of two operands", _IEEE, f="a - b"),
    _op("multiply", _same(NUMERIC, 2), "product of two operands", _PARTS, f="a * b"),
    _op("divide", _same(_FLOATING_COMPLEX, 2), "quotient of two operands", _PARTS, f="a / b"),
    _op("floor_divide", _same(REAL, 2), "quotient rounded toward minus infinity", _ONCE),
    _op("remainder", _same(REAL, 2), "remainder with the sign of the divisor", _ONCE),
    _op("negative", _same(NUMERIC, 1), "numerical negation", f="-a"),
    _op("positive", _same(NUMERIC, 1), "the operand itself", iufc="a"),
    _op("reciprocal", _same(_FLOATING_COMPLEX, 1), "one divided by the operand", _PARTS),
    _op("square", _same(NUMERIC, 1), "the operand times itself", _PARTS, f="a * a"),
    _op(
        "sign",
        _same(NUMERIC, 1),
        "-1, 0 or 1; z/|z| for complex",
        Bound({"complex64": 0.501, "complex128": 1.0}, _PARTS.source),
        u="(a > 0)",
    ),
    _op("copysign", _same(FLOATING, 2), "magnitude of the first, sign of the second"),
    _op("nextafter", _same(FLOATING, 2), "next representable value toward the second operand"),
    _op("maximum", _same(REAL, 2), "larger operand", special="NaN propagates; +0 > -0"),
    _op("minimum", _same(REAL, 2), "smaller operand", special="NaN propagates; -0 < +0"),
    _op("clip", _same(REAL, 3), "operand limited to [lower, upper]", special="NaN propagates"),
)

_ROUNDING = (
    _op("ceil", _same(REAL, 1), "smallest integer not below", iu="a"),
    _op("floor", _same(REAL, 1), "largest integer not above", iu="a"),
    _op("round", _same(NUMERIC, 1), "nearest integer, ties to even", iu="a"),
    _op("trunc", _same(REAL, 1), "integer part", iu="a"),
)

_TRANSCENDENTAL = (
    _op(
        "sqrt",
        _same(_FLOATING_COMPLEX, 1),
        "principal square root",
        Bound({**_PARTS.ulp, "complex128": 1.3}, _PARTS.source),
        special=_ANNEX_G,
    ),
    *(
        _op(
            name,
            _same(_FLOATING_COMPLEX, 1),
            summary,
            _PROVEN,
            special=_ANNEX_G,
            for_f16=name in _FOR_F16,
        )
        for name, summary in (
            ("exp", "e to the operand"),
            ("expm1", "exp(x) - 1 without cancellation"),
            ("log", "natural logarithm"),
            ("log1p", "log(1 + x) without cancellation"),
            ("log2", "logarithm to base 2"),
            ("log10", "logarithm to base 10"),
            ("sin", "sine of radians"),
            ("cos", "cosine of radians"),
            ("tan", "tangent of radians"),
            ("asin", "inverse sine in radians"),
            ("acos", "inverse cosine in radians"),
            ("atan", "inverse tangent in radians"),
            ("sinh", "hyperbolic sine"),
            ("cosh", "hyperbolic cosine"),
            ("tanh", "hyperbolic tangent"),
            ("asinh", "inverse hyperbolic sine"),
            ("acosh", "inverse hyperbolic cosine"),
            ("atanh", "inverse hyperbolic tangent"),
        )
    ),
    _op(
        "atan2", _same(FLOATING, 2), "angle of the point (x2, x1) in radians", _measured(0.501, 1.0)
    ),
    _op(
        "logaddexp",
        _same(FLOATING, 2),
        "log(exp(a) + exp(b))",
        _measured(0.501, 1.0),
        special="near 0 the error is absolute: 2**-55 for float64, else 2**-54",
    ),
    _op("hypot", _same(FLOATING, 2), "sqrt(a*a + b*b) without overflow", _measured(0.501, 1.0)),
    _op("pow", _same(NUMERIC, 2), "first operand to the second", _measured(0.501, 1.0, 1.0, 4.0)),
)

_COMPARISON = (
    _op("equal", _predicate(ALL, 2), "a == b", biuf="a == b"),
    _op("not_equal", _predicate(ALL, 2), "a != b", biuf="a != b"),
    _op("less", _predicate(REAL, 2), "a < b", iuf="a < b"),
    _op("less_equal", _predicate(REAL, 2), "a <= b", iuf="a <= b"),
    _op("greater", _predicate(REAL, 2), "a > b", iuf="a > b"),
    _op("greater_equal", _predicate(REAL, 2), "a >= b", iuf="a >= b"),
    _op("isfinite", _predicate(NUMERIC, 1), "neither NaN nor infinite", iu="1"),
    _op("isinf", _predicate(NUMERIC, 1), "infinite", iu="0"),
    _op("isnan", _predicate(NUMERIC, 1), "not a number", iu="0", f="a != a"),
    _op("signbit", _predicate(FLOATING, 1), "sign bit set"),
)

_LOGIC = (
    _op("bitwise_and", _same(BOOLEAN + INTEGER, 2), "bits set in both", biu="a & b"),
    _op("bitwise_or", _same(BOOLEAN + INTEGER, 2), "bits set in either", biu="a | b"),
    _op("bitwise_xor", _same(BOOLEAN + INTEGER, 2), "bits set in one", biu="a ^ b"),
    _op("bitwise_invert", _same(BOOLEAN + INTEGER, 1), "bits flipped", b="!a", iu="~a"),
    _op("bitwise_left_shift", _same(INTEGER, 2), "a times 2 to the b, wrapped"),
    _op("bitwise_right_shift", _same(INTEGER, 2), "a over 2 to the b, floored"),
    _op("logical_and", _same(BOOLEAN, 2), "both true", b="a & b"),
    _op("logical_or", _same(BOOLEAN, 2), "either true", b="a | b"),
    _op("logical_xor", _same(BOOLEAN, 2), "one true", b="a ^ b"),
    _op("logical_not", _same(BOOLEAN, 1), "not true", b="!a"),
)

_COMPLEX_PARTS = (
    _op("conj", _same(NUMERIC, 1), "complex conjugate", iuf="a"),
    _op("real", _to_real(NUMERIC), "real part", iuf="a", c="a.re"),
    _op("imag", _to_real(COMPLEX), "imaginary part", c="a.im"),
)

_SELECTION = (
    _op(
        "where",
        tuple(Signature(("bool", d, d), (d,)) for d in ALL),
        "second operand where the first is true, else the third",
        biufc="a ? b : c",
    ),
    _op("copy", _same(ALL, 1), "the operand itself", biufc="a"),
    Op(
        "cast",
        Structure.ELEMENTWISE,
        tuple(Signature((d,), (e,)) for d in ALL for e in ALL if d != e),
        "the operand in another dtype",
        _IEEE,
        special="float to integer truncates and saturates, NaN gives 0; integers wrap modulo 2**n; "
        "complex to real keeps the real part; to bool is != 0",
    ),
)

ROWS: tuple[Op, ...] = (
    *_ARITHMETIC,
    *_ROUNDING,
    *_TRANSCENDENTAL,
    *_COMPARISON,
    *_LOGIC,
    *_COMPLEX_PARTS,
    *_SELECTION,
)
