"""What the dialects of C have in their preludes, for a device that has no op for it.

The integer nearest to a number comes from adding 2**52 (2**23 in float32): IEEE 754-2019, 4.3.1.
"""

from __future__ import annotations

_TEXT = """
PHX_FN F phx_fabs@(F x) { return FROM(BITS(x) & ~((U)1 << LAST)); }
PHX_FN F phx_copysign@(F x, F y) {
    return FROM((BITS(x) & ~((U)1 << LAST)) | (BITS(y) & ((U)1 << LAST)));
}
PHX_FN F phx_rint@(F x) {
    const F a = phx_fabs@(x);
    const F r = (a + WHOLE) - WHOLE;
    return phx_copysign@(a < WHOLE ? r : a, x);
}
PHX_FN F phx_trunc@(F x) {
    const F a = phx_fabs@(x);
    const F r = (a + WHOLE) - WHOLE;
    const F t = r > a ? r - (F)1 : r;
    return phx_copysign@(a < WHOLE ? t : a, x);
}
PHX_FN F phx_floor@(F x) {
    const F t = phx_trunc@(x);
    return t > x ? t - (F)1 : t;
}
PHX_FN F phx_ceil@(F x) {
    const F t = phx_trunc@(x);
    return t < x ? t + (F)1 : t;
}
PHX_FN F phx_divide@(F a, F b) { return a / b; }
PHX_FN F phx_negative@(F x) { return FROM(BITS(x) ^ ((U)1 << LAST)); }
"""


def _of(float_type: str, word: str, suffix: str, width: int, whole: str) -> str:
    text = _TEXT.replace("@", suffix).replace("WHOLE", whole).replace("LAST", str(width - 1))
    text = text.replace("BITS", f"phx_bits{width}").replace("FROM", f"phx_from_bits{width}")
    text = text.replace("(F)", f"({float_type})").replace("(U)", f"({word})")
    return (
        text.replace("F x", f"{float_type} x")
        .replace("F y", f"{float_type} y")
        .replace(" F ", f" {float_type} ")
        .replace("(F ", f"({float_type} ")
    )


PRELUDE = (
    "typedef struct { f32 re, im; } c64;\ntypedef struct { f64 re, im; } c128;\n"
    "PHX_FN c64 phx_make_c64(f32 re, f32 im) { c64 z; z.re = re; z.im = im; return z; }\n"
    "PHX_FN c128 phx_make_c128(f64 re, f64 im) { c128 z; z.re = re; z.im = im; return z; }\n"
    + _of("f64", "u64", "", 64, "4503599627370496.0")
    + _of("f32", "u32", "f", 32, "8388608.0f")
)
#: What the prelude of a dialect has that is an op of the table: the op and the dtype.
AS_OPS = {
    f"phx_{name}{suffix}": (op, dtype)
    for name, op in {
        "fabs": "abs",
        "copysign": "copysign",
        "rint": "round",
        "trunc": "trunc",
        "floor": "floor",
        "ceil": "ceil",
        "divide": "divide",
        "sqrt": "sqrt",
        "fma": "fma",
    }.items()
    for suffix, dtype in (("", "float64"), ("f", "float32"))
}
