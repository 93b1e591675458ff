"""The scalar expression of an elementwise overload in C, and the headers that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from phalanx.optable import Op, kind_of

from .dtypes import BITS, COMPUTE, HALF, ITEMSIZE, PART, STORAGE, SUFFIX, loaded, stored

#: Which header of core/scalar has the functions of an op; others of the kind are in the default.
_REAL = {
    "real_exp": ("exp", "expm1", "sinh", "cosh", "tanh"),
    "real_log": ("log", "log1p", "log2", "log10", "logaddexp", "asinh", "acosh", "atanh"),
    "real_pow": ("pow", "hypot"),
    "real_trig": ("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
}
_COMPLEX = {
    "complex_exp": ("exp", "expm1", "sinh", "cosh", "tanh", "sin", "cos", "tan"),
    "complex_log": ("sqrt", "log", "log1p", "log2", "log10", "pow"),
    "complex_inverse": ("asin", "acos", "atan", "asinh", "acosh", "atanh"),
}
#: Functions of core/scalar with a main part: the test for operands that it is not right for. Those
#: with complex results are left out, as Intel's runtime makes no vectors of their loops.
_RARE = {
    **{
        (op, s): f"phx_trig_needs_big_{s}(a)"
        for op in ("sin", "cos", "tan")
        for s in ("f32", "f64")
    },
    ("abs", "c128"): "phx_abs_needs_care_c128(a)",
}
#: Headers whose functions compute in double: `Dialect.without_double` has others in their place.
DOUBLE_INSIDE = (*_REAL, "real_half")


@dataclass(frozen=True, slots=True)
class Expression:
    """What to write for one element: ``text`` is of the operands ``a``, ``b`` and ``c``.

    ``types`` are the C types in memory, inputs then output; ``loads`` turns an element in memory
    into an operand, per input; ``text`` gives an element in memory. Some functions have a ``main``
    part without branches, which is right where ``rare`` is 0; both are empty for all others.
    """

    types: tuple[str, ...]
    loads: tuple[str, ...]
    values: tuple[str, ...]
    text: str
    headers: tuple[str, ...]
    main: str = ""
    rare: str = ""


def _header(op: str, kind: str) -> tuple[str, ...]:
    if kind in "biu":
        return ("integer",)
    table, default = (_REAL, "real_basic") if kind == "f" else (_COMPLEX, "complex")
    found = next((name for name, ops in table.items() if op in ops), default)
    return (found,)


def expression(op: Op, dtypes: tuple[str, ...]) -> Expression:
    """Return the expression of an overload of an elementwise op."""
    if op.name == "cast":
        return _cast(*dtypes)
    *inputs, output = dtypes
    dtype = inputs[-1]
    kind = kind_of(dtype)
    suffix = COMPUTE[dtype] if dtype in HALF else SUFFIX[dtype]
    if dtype == "float16" and op.for_f16:
        suffix = "for_f16"
    text = op.expression(kind).format(s=suffix)
    if text in ("a", "a ? b : c") and dtype == output:
        return _move(dtypes, text)
    if op.name == "nextafter" and dtype in HALF:
        # neighbours in float16 are not neighbours in float32: works on the bits
        call = f"phx_nextafter_{SUFFIX[dtype]}(a, b)"
        return Expression(("u16",) * 3, ("{}",) * 2, ("u16",) * 2, call, ("convert",))
    if suffix == "f32" and op.name == "divide":
        text = "phx_dividef(a, b)"
    elif suffix == "f32" and op.name == "reciprocal":
        text = "phx_dividef(1.0f, a)"
    headers = () if not text.count("phx_") else _header(op.name, kind)
    if suffix == "for_f16":
        headers = ("real_half",)
    if "phx_dividef" in text:
        headers = ()
    if dtype in HALF:
        headers = ("convert", *headers)
    rare = _RARE.get((op.name, suffix), "")
    main = text.replace(f"_{suffix}(", f"_main_{suffix}(") if rare else ""
    return Expression(
        tuple(STORAGE[d] for d in dtypes),
        tuple(loaded(d, "{}") for d in inputs),
        tuple(COMPUTE[d] for d in inputs),
        stored(output, text),
        headers,
        stored(output, main) if rare else "",
        rare,
    )


def _move(dtypes: tuple[str, ...], text: str) -> Expression:
    """Elements that are only moved: one text for all dtypes of a size."""
    bits = BITS[ITEMSIZE[dtypes[-1]]]
    types = ("u8", bits, bits, bits) if text != "a" else (bits, bits)
    return Expression(types, ("{}",) * (len(types) - 1), types[:-1], text, ())


def _cast(source: str, target: str) -> Expression:
    """Casts convert what lies in memory: float16 is its bits here."""
    types = (STORAGE[source], STORAGE[target])
    return Expression(types, ("{}",), types[:1], _cast_text(source, target), ("convert",))


def _cast_text(source: str, target: str) -> str:
    s, t = SUFFIX[source], SUFFIX[target]
    if source in PART:
        part = SUFFIX[PART[source]]
        if target == "bool":
            return f"(u8)(phx_{part}_to_b(a.re) | phx_{part}_to_b(a.im))"
        if target in PART:
            other = SUFFIX[PART[target]]
            return f"phx_make_{t}(phx_{part}_to_{other}(a.re), phx_{part}_to_{other}(a.im))"
        return "a.re" if part == t else f"phx_{part}_to_{t}(a.re)"
    if target in PART:
        part = SUFFIX[PART[target]]
        return f"phx_make_{t}({'a' if s == part else f'phx_{s}_to_{part}(a)'}, 0)"
    return f"phx_{s}_to_{t}(a)"


def bound(op: Op, dtypes: tuple[str, ...]) -> float:
    """Return the largest error in ulp: 0 where the result cannot round."""
    out = dtypes[-1]
    if kind_of(out) not in "fc":
        return 0.0
    ulp = op.bound.ulp
    return float(max(ulp.get(out, 0.0), ulp.get(dtypes[0], 0.0)))
