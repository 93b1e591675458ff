"""Rows of the elementwise ops, in the order of the Array API standard 2025.12."""

from __future__ import annotations

from collections.abc import Mapping

from .dtypes import ALL, BOOLEAN, COMPLEX, FLOATING, INTEGER, NUMERIC, REAL
from .row import Bound, Guard, Op, Role, Signature, Structure

_REAL_PART = {"complex64": "float32", "complex128": "float64"}
_FLOATING_COMPLEX = FLOATING + COMPLEX

_IEEE = Bound(dict.fromkeys(_FLOATING_COMPLEX, 0.5), "IEEE 754-2019, 5.4: correctly rounded")
#: Parts of complex products: complex64 from float64, complex128 from pairs of float64.
_PARTS = Bound(
    {**dict.fromkeys(FLOATING, 0.5), "complex64": 0.501, "complex128": 1.0},
    "real: IEEE 754-2019, 5.4; complex: measured against mpmath, tests/scalar",
)
_ONCE = Bound(
    dict.fromkeys(FLOATING, 0.5), "the exact value rounded once: core/scalar/real_basic.h"
)
_FUSED = Bound(dict.fromkeys(FLOATING, 0.5), _IEEE.source)
_EXACT = Bound({}, "exact: no rounding takes place")
_ANNEX_G = "complex special values: ISO C11 Annex G"

#: Angles of many turns take Payne and Hanek's reduction.
_ANGLES = {s: Guard(s, (f"phx_trig_needs_big_{s}(a)",)) for s in ("f32", "f64")}
#: Products of parts that neither overflow nor underflow on the way.
_FINITE, _MODERATE = "!phx_isfinite_f32(a)", "!phx_is_moderate(a)"
_PRODUCT = {
    "c64": Guard("f32", (_FINITE, _FINITE)),
    "c128": Guard("f64", (_MODERATE, _MODERATE)),
}
_ONE_PRODUCT = {s: Guard(guard.unit, guard.tests[:1]) for s, guard in _PRODUCT.items()}
_DIVISOR = {s: f"phx_reciprocal_needs_care_{s}(a)" for s in ("c64", "c128")}
_INVERSE = {s: Guard(s, (test,)) for s, test in _DIVISOR.items()}
_QUOTIENT = {
    "c64": Guard("c64", ("!phx_isfinite_c64(a)", _DIVISOR["c64"])),
    "c128": Guard("c128", ("phx_square_needs_care_c128(a)", _DIVISOR["c128"])),
}
#: Remainders of quotients that are not beyond a double's integers.
_NEAR = {
    s: Guard(s, (f"phx_remainder_is_far_{s}(a)", f"phx_remainder_is_fine_{s}(a)"))
    for s in ("f32", "f64")
}


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
    "others: measured against mpmath over the whole domain, tests/scalar",
)
_PROVEN_REAL = Bound({**dict.fromkeys(FLOATING, 0.5), "float64": 1.0}, _PROVEN.source)
#: Those that need more than float32's result to be right in float16: core/scalar/real_half.h.
_FOR_F16 = frozenset(
    (
        *("exp", "expm1", "log", "log1p", "log10", "sin", "cos", "tan", "acos", "atan"),
        *("sinh", "cosh", "asinh", "acosh", "cbrt", "exp2", "erf", "erfc", "lgamma", "digamma"),
    )
)


def _measured(f32: float, f64: float, c64: float = 0.0, c128: float = 0.0) -> Bound:
    ulp = {"float16": 0.5, "bfloat16": 0.5, "float32": f32, "float64": f64}
    if c64:
        ulp |= {"complex64": c64, "complex128": c128}
    return Bound(ulp, "measured against mpmath over the whole domain, tests/scalar")


def _op(
    name: str,
    signatures: tuple[Signature, ...],
    summary: str,
    bound: Bound = _EXACT,
    *,
    special: str = "",
    roles: tuple[Role, ...] = (),
    dear: str = "",
    divides: str = "",
    guards: Mapping[str, Guard] | None = None,
    for_f16: bool = False,
    for_bf16: bool = False,
    module: str = "phalanx",
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
        roles=roles,
        dear=dear,
        divides=divides,
        guards=guards or {},
        for_f16=for_f16,
        for_bf16=for_bf16,
        module=module,
    )


def _spread(expressions: Mapping[str, str]) -> dict[str, str]:
    """Give each kind letter its own entry: ``biu="a & b"`` becomes three."""
    return {kind: text for kinds, text in expressions.items() for kind in kinds}


_ARITHMETIC = (
    _op(
        "abs",
        _to_real(NUMERIC),
        "the absolute value or modulus",
        _measured(0.5, 0.5, 1.0, 1.0),
        dear="c",
        guards={"c128": Guard("f64", (_MODERATE,))},
        u="a",
    ),
    _op("add", _same(NUMERIC, 2), "the sum of two operands", _IEEE, f="a + b"),
    _op("subtract", _same(NUMERIC, 2), "the difference of two operands", _IEEE, f="a - b"),
    _op(
        "multiply",
        _same(NUMERIC, 2),
        "the product of two operands",
        _PARTS,
        guards=_PRODUCT,
        f="a * b",
    ),
    _op(
        "divide",
        _same(_FLOATING_COMPLEX, 2),
        "the quotient of two operands",
        _PARTS,
        dear="c",
        divides="f",
        guards=_QUOTIENT,
    ),
    _op(
        "floor_divide",
        _same(REAL, 2),
        "the quotient rounded toward minus infinity; of float64 from 2^53 on to nearest, once",
        _ONCE,
        divides="iuf",
    ),
    _op(
        "remainder",
        _same(REAL, 2),
        "the remainder with the sign of the divisor",
        _ONCE,
        divides="iuf",
        guards=_NEAR,
    ),
    _op("negative", _same(NUMERIC, 1), "the numerical negation", f="-a"),
    _op("positive", _same(NUMERIC, 1), "the operand itself", iufc="a"),
    _op(
        "reciprocal",
        _same(_FLOATING_COMPLEX, 1),
        "one divided by the operand",
        _PARTS,
        dear="c",
        divides="f",
        guards=_INVERSE,
    ),
    _op(
        "square",
        _same(NUMERIC, 1),
        "the operand times itself",
        _PARTS,
        guards=_ONE_PRODUCT,
        f="a * a",
    ),
    _op(
        "sign",
        _same(NUMERIC, 1),
        "-1, 0 or 1; z/|z| for complex",
        Bound({"complex64": 0.501, "complex128": 1.0}, _PARTS.source),
        dear="c",
        u="(a > 0)",
    ),
    _op("copysign", _same(FLOATING, 2), "the magnitude of the first, sign of the second"),
    _op(
        "nextafter",
        _same(FLOATING, 2),
        "the next representable value toward the second operand",
        roles=(Role.ENCODED, Role.ENCODED),
    ),
    _op("maximum", _same(REAL, 2), "the larger operand", special="NaN propagates; +0 > -0"),
    _op("minimum", _same(REAL, 2), "the smaller operand", special="NaN propagates; -0 < +0"),
    _op("clip", _same(REAL, 3), "the operand limited to [lower, upper]", special="NaN propagates"),
    _op(
        "fma",
        _same(FLOATING, 3),
        "the first operand times the second plus the third, rounded once",
        _FUSED,
        special="float16 and bfloat16: the result in float32, rounded once more",
    ),
)

_ROUNDING = (
    _op("ceil", _same(REAL, 1), "the smallest integer not below", iu="a"),
    _op("floor", _same(REAL, 1), "the largest integer not above", iu="a"),
    _op("round", _same(NUMERIC, 1), "the nearest integer, ties to even", iu="a"),
    _op("trunc", _same(REAL, 1), "the integer part", iu="a"),
)

_TRANSCENDENTAL = (
    _op(
        "sqrt",
        _same(_FLOATING_COMPLEX, 1),
        "the principal square root",
        Bound({**_PARTS.ulp, "complex128": 1.3}, _PARTS.source),
        special=_ANNEX_G,
        dear="c",
        divides="f",
    ),
    *(
        _op(
            name,
            _same(_FLOATING_COMPLEX, 1),
            summary,
            _PROVEN,
            special=_ANNEX_G,
            dear="fc",
            guards=_ANGLES if name in ("sin", "cos", "tan") else None,
            for_f16=name in _FOR_F16,
        )
        for name, summary in (
            ("exp", "e to the operand"),
            ("expm1", "exp(x) - 1 without cancellation"),
            ("log", "the natural logarithm"),
            ("log1p", "log(1 + x) without cancellation"),
            ("log2", "the logarithm to base 2"),
            ("log10", "the logarithm to base 10"),
            ("sin", "the sine of radians"),
            ("cos", "the cosine of radians"),
            ("tan", "the tangent of radians"),
            ("asin", "the inverse sine in radians"),
            ("acos", "the inverse cosine in radians"),
            ("atan", "the inverse tangent in radians"),
            ("sinh", "the hyperbolic sine"),
            ("cosh", "the hyperbolic cosine"),
            ("tanh", "the hyperbolic tangent"),
            ("asinh", "the inverse hyperbolic sine"),
            ("acosh", "the inverse hyperbolic cosine"),
            ("atanh", "the inverse hyperbolic tangent"),
        )
    ),
    _op(
        "atan2",
        _same(FLOATING, 2),
        "the angle of the point (x2, x1) in radians",
        _measured(0.501, 1.0),
        dear="f",
    ),
    _op(
        "logaddexp",
        _same(FLOATING, 2),
        "log(exp(a) + exp(b))",
        _measured(0.501, 1.0),
        special="near 0 the error is absolute: 2**-55 for float64, else 2**-54",
        dear="f",
    ),
    _op(
        "hypot",
        _same(FLOATING, 2),
        "sqrt(a*a + b*b) without overflow",
        _measured(0.501, 1.0),
        dear="f",
    ),
    _op(
        "pow",
        _same(NUMERIC, 2),
        "the first operand to the second",
        _measured(0.501, 1.0, 1.0, 4.0),
        dear="fc",
        divides="iu",
    ),
)

#: Functions beyond the standard: those that NumPy has, and those of the modules `special` of SciPy
#: and PyTorch.
_SPECIAL = (
    *(
        _op(
            name,
            _same(FLOATING, 1),
            summary,
            _PROVEN_REAL,
            special=special,
            dear="f",
            for_f16=name in _FOR_F16,
            module=module,
        )
        for name, module, summary, special in (
            ("cbrt", "phalanx", "the real cube root", ""),
            ("exp2", "phalanx", "2 to the operand", "whole powers are exact"),
            ("erf", "phalanx.special", "the error function", ""),
            ("erfc", "phalanx.special", "1 - erf(x) without cancellation", ""),
        )
    ),
    *(
        _op(
            name,
            _same(FLOATING, 1),
            summary,
            Bound(
                _PROVEN_REAL.ulp,
                f"{_PROVEN_REAL.source}; float64 beside zeros below 0: absolute, 2^-52",
            ),
            special=special,
            dear="f",
            for_f16=True,
            module="phalanx.special",
        )
        for name, summary, special in (
            ("digamma", "the derivative of lgamma", "NaN at the whole numbers below 0"),
            ("lgamma", "the logarithm of the gamma function's size", "inf at 0, -1, -2, ..."),
        )
    ),
    *(
        _op(
            name,
            _same(FLOATING, 1),
            summary,
            _PROVEN_REAL,
            special=special,
            dear="f",
            for_f16=True,
            for_bf16=name in ("gelu", "silu"),
            module="phalanx.nn.elementwise",
        )
        for name, summary, special in (
            ("gelu", "x P(X <= x) of a standard normal X", "-0 at -inf"),
            ("sigmoid", "1 / (1 + exp(-x))", ""),
            ("silu", "x / (1 + exp(-x))", "-0 at -inf"),
            ("softplus", "log(1 + exp(x))", ""),
        )
    ),
)

_COMPARISON = (
    _op("equal", _predicate(ALL, 2), "whether a == b", biuf="a == b"),
    _op("not_equal", _predicate(ALL, 2), "whether a != b", biuf="a != b"),
    _op("less", _predicate(REAL, 2), "whether a < b", iuf="a < b"),
    _op("less_equal", _predicate(REAL, 2), "whether a <= b", iuf="a <= b"),
    _op("greater", _predicate(REAL, 2), "whether a > b", iuf="a > b"),
    _op("greater_equal", _predicate(REAL, 2), "whether a >= b", iuf="a >= b"),
    _op(
        "isfinite",
        _predicate(NUMERIC, 1),
        "whether the operand is neither NaN nor infinite",
        iu="1",
    ),
    _op("isinf", _predicate(NUMERIC, 1), "whether the operand is infinite", iu="0"),
    _op("isnan", _predicate(NUMERIC, 1), "whether the operand is not a number", iu="0", f="a != a"),
    _op("signbit", _predicate(FLOATING, 1), "whether the sign bit is set"),
)

_LOGIC = (
    _op("bitwise_and", _same(BOOLEAN + INTEGER, 2), "the bits set in both", biu="a & b"),
    _op("bitwise_or", _same(BOOLEAN + INTEGER, 2), "the bits set in either", biu="a | b"),
    _op("bitwise_xor", _same(BOOLEAN + INTEGER, 2), "the bits set in one", biu="a ^ b"),
    _op(
        "bitwise_invert",
        _same(BOOLEAN + INTEGER, 1),
        "the operand with its bits flipped",
        b="!a",
        iu="~a",
    ),
    _op("bitwise_left_shift", _same(INTEGER, 2), "a times 2 to the b, wrapped"),
    _op("bitwise_right_shift", _same(INTEGER, 2), "a over 2 to the b, floored"),
    _op("logical_and", _same(BOOLEAN, 2), "whether both are true", b="a & b"),
    _op("logical_or", _same(BOOLEAN, 2), "whether either is true", b="a | b"),
    _op("logical_xor", _same(BOOLEAN, 2), "whether exactly one is true", b="a ^ b"),
    _op("logical_not", _same(BOOLEAN, 1), "whether the operand is not true", b="!a"),
)

_COMPLEX_PARTS = (
    _op("conj", _same(NUMERIC, 1), "the complex conjugate", iuf="a"),
    _op("real", _to_real(NUMERIC), "the real part", iuf="a", c="a.re"),
    _op("imag", _to_real(COMPLEX), "the imaginary part", c="a.im"),
)

_SELECTION = (
    _op(
        "where",
        tuple(Signature(("bool", d, d), (d,)) for d in ALL),
        "the second operand where the first is true, else the third",
        roles=(Role.MASK, Role.MOVED, Role.MOVED),
        biufc="a ? b : c",
    ),
    _op("copy", _same(ALL, 1), "the operand itself", roles=(Role.MOVED,), biufc="a"),
    _op(
        "cast",
        tuple(Signature((d,), (e,)) for d in ALL for e in ALL if d != e),
        "the operand in another dtype",
        _IEEE,
        special="float to integer truncates and saturates, NaN gives 0; integers wrap modulo 2**n; "
        "complex to real keeps the real part; to bool is != 0",
        roles=(Role.CONVERTED,),
    ),
)

ROWS: tuple[Op, ...] = (
    *_ARITHMETIC,
    *_ROUNDING,
    *_TRANSCENDENTAL,
    *_SPECIAL,
    *_COMPARISON,
    *_LOGIC,
    *_COMPLEX_PARTS,
    *_SELECTION,
)
