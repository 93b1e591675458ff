"""What each reduction computes with each dtype, as the macros that reduce.h names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from phalanx.optable import DTYPES
from phalanx.optable.expressions import loaded, stored

from .dtypes import HALF, ITEMSIZE, PART, STORAGE, SUFFIX


@dataclass(frozen=True, slots=True)
class Rules:
    """How a reduction computes: the macros that reduce.h names, as C text.

    ``ordered`` tells that the order of evaluation can be seen. The scratch for the U of a block is
    ``units`` elements of ``scratch``. ``size`` is that of the largest accumulator in bytes. ``aux``
    is the type in memory of one more operand, an element for each row, which TAKE sees as ``aux``.
    """

    macros: dict[str, str]
    scratch: str
    units: int = 1
    ordered: bool = False
    size: int = 8
    headers: tuple[str, ...] = ()
    helpers: str = ""
    aux: str = ""


# The accumulators of a block are an array, or two where the place is wanted; P is the type of a
# place in its block, as wide as A if it can be, for the sake of vectors.
_VALUES = {
    "DECLARE(N)": "A acc[N]",
    "SET(j, v, i)": "acc[j] = (v)",
    "STEP(j, v, i)": "acc[j] = OP(acc[j], (v))",
    "MERGE(a, p, j, k)": "a[j] = OP(a[j], a[k])",
    "RESULT(j, first)": "WIDEN(acc[j])",
    "LOCAL_ROOM(N)": "PHX_LOCAL_ARRAY(A, room, N)",
    "LOCAL_SET(i)": "room[i] = acc[0]",
    "LOCAL_RESULT(i, first)": "WIDEN(room[i])",
}
_PLACES = {
    "DECLARE(N)": "A acc[N]; P at[N]",
    "SET(j, v, i)": "(acc[j] = (v), at[j] = (P)(i))",
    "STEP(j, v, i)": "do { const A v_ = (v); const P i_ = (P)(i);"
    " at[j] = BEFORE(v_, acc[j]) ? i_ : at[j]; acc[j] = OP(acc[j], v_); } while (0)",
    "MERGE(a, p, j, k)": "do { if (BEFORE(a[k], a[j]) || (a[k] == a[j] && p[k] < p[j]))"
    " { a[j] = a[k]; p[j] = p[k]; } } while (0)",
    "RESULT(j, first)": "reduce_place(acc[j], (first) + at[j])",
    "LOCAL_ROOM(N)": "PHX_LOCAL_ARRAY(A, room, N); PHX_LOCAL_ARRAY(P, room_at, N)",
    "LOCAL_SET(i)": "(room[i] = acc[0], room_at[i] = at[0])",
    "LOCAL_RESULT(i, first)": "reduce_place(room[i], (first) + room_at[i])",
}
_PLACE_HELPERS = """
typedef struct { A key; i64 at; } place;
PHX_FN place reduce_place(A key, u64 at) { place p; p.key = key; p.at = (i64)at; return p; }
PHX_FN place reduce_first(place a, place b) {
    return BEFORE(b.key, a.key) || (b.key == a.key && b.at < a.at) ? b : a;
}
"""
_SCRATCH = {f"{k[0]}{8 * n}": f"{k}{8 * n}" for k in ("int", "uint") for n in (1, 2, 4, 8)}


def nonzero(dtype: str) -> tuple[str, str]:
    """Return the type in memory and the test of an element ``v``, on its bits."""
    if dtype == "complex64":
        return "u64", "((v) & 0x7fffffff7fffffffUL) != (T)0"
    if dtype == "complex128":
        return "u128", "((((v).lo) | ((v).hi)) & 0x7fffffffffffffffUL) != 0"
    facts = DTYPES[dtype]
    bits = f"i{8 * facts.size}"
    magnitude = f"PHX_MAGNITUDE_{facts.suffix}"
    return bits, f"((v) & (T){magnitude}) != (T)0" if facts.kind == "f" else "(v) != (T)0"


def _logical_rules(op: str, dtype: str) -> Rules:
    memory, test = nonzero(dtype)
    macros = {"T": memory, "R": "u8", "S": "u8", "A": "u8", "U": "u8"}
    macros["TAKE(v, row)"] = f"(A)({test})"
    macros["WIDEN(a)"] = "(a)"
    macros["FINISH(u, n)"] = "(u)"
    if op == "count_nonzero":
        macros |= {"R": "i64", "S": "i64", "A": "u16", "U": "i64", "EMPTY": "0"}
        macros |= {
            "OP(a, b)": "((a) + (b))",
            "JOIN(a, b)": "((a) + (b))",
            "WIDEN(a)": "(i64)(a)",
        }
        return Rules({**_VALUES, **macros}, "int64", headers=("order",))
    sign, empty = ("|", "0") if op == "any" else ("&", "1")
    macros |= {"OP(a, b)": f"((a) {sign} (b))", "JOIN(a, b)": f"((a) {sign} (b))"}
    macros["EMPTY"] = empty
    return Rules({**_VALUES, **macros}, "uint8", headers=("order",))


class FloatOrder(NamedTuple):
    """How core/scalar/order.h makes keys of a float dtype whose largest is wanted; all C text.

    ``masks`` are its arguments behind the bits; ``largest`` is the key of NaN.
    """

    masks: str
    largest: str


def float_order(op: str, dtype: str) -> FloatOrder:
    """Return the order in which an extreme of floats is sought: NaN before all numbers."""
    facts = DTYPES[dtype]
    one_zero, flip = -int(op.startswith("arg")), -int(op.endswith("min"))
    masks = f"PHX_ORDER_{facts.suffix}, {one_zero}, {flip}"
    return FloatOrder(masks, f"0x{2 ** (8 * facts.size - 1) - 1:x}")


def _extreme_rules(op: str, dtype: str) -> Rules:
    place = op.startswith("arg")
    facts = DTYPES[dtype]
    before = "<" if op.endswith("min") and facts.kind != "f" else ">"
    key, take, finish, helpers = facts.storage, "(v)", "(u)", ""
    headers: tuple[str, ...] = ()
    if facts.kind == "f":
        order = float_order(op, dtype)
        key, headers = f"i{8 * facts.size}", ("order",)
        take, finish = f"phx_order_{key}(v, {order.masks})", "reduce_value(u)"
        flip = -int(op.endswith("min"))
        helpers = f"""
PHX_FN {key} reduce_value({key} k) {{
    return k == {order.largest} ? ({key})PHX_NAN_BITS_{facts.suffix}
                                : phx_unorder_{key}(k, PHX_MAGNITUDE_{facts.suffix}, {flip});
}}
"""
    macros = {"T": key, "R": key, "S": key, "A": key, "U": key, "EMPTY": "0"}
    macros |= {"BEFORE(a, b)": f"((a) {before} (b))", "OP(a, b)": "(BEFORE(b, a) ? (b) : (a))"}
    macros |= {"TAKE(v, row)": take, "JOIN(a, b)": "OP(a, b)", "FINISH(u, n)": finish}
    macros["WIDEN(a)"] = "(a)"
    if not place:
        return Rules({**_VALUES, **macros}, _SCRATCH[key], headers=headers, helpers=helpers)
    macros["P"] = f"u{max(16, 8 * ITEMSIZE[dtype])}"
    macros |= {"R": "i64", "S": "i64", "U": "place", "EMPTY": "reduce_place(0, 0)"}
    macros |= {"JOIN(a, b)": "reduce_first(a, b)", "FINISH(u, n)": "(u).at"}
    helpers += _PLACE_HELPERS
    return Rules({**_PLACES, **macros}, "int64", 2, headers=headers, helpers=helpers)


def _integer_rules(op: str, dtype: str) -> Rules:
    size, signed = ITEMSIZE[dtype], dtype.startswith("i")
    narrow = op == "sum" and size <= 2  # a block of them fits 32 bits
    memory = STORAGE[dtype]
    one = ("i32" if signed else "u32") if narrow else "u64"
    macros = {"T": memory, "R": "u64", "S": "u64", "A": one, "U": "u64"}
    macros["TAKE(v, row)"] = "(A)(v)" if narrow or not signed else "(A)(i64)(v)"
    macros["WIDEN(a)"] = "(u64)(i64)(a)" if narrow and signed else "(u64)(a)"
    sign = "*" if op == "prod" else "+"
    macros |= {"OP(a, b)": f"((a) {sign} (b))", "JOIN(a, b)": f"((a) {sign} (b))"}
    macros |= {"EMPTY": "1" if op == "prod" else "0", "FINISH(u, n)": "(u)"}
    return Rules({**_VALUES, **macros}, "uint64")


def unit_of(dtype: str) -> str:
    """Return the dtype in which a float or complex dtype is accumulated."""
    return "float32" if dtype in HALF else dtype


def clean(unit: str, text: str) -> str:
    """Return the expression of ``text`` with each NaN as the one quiet NaN."""
    return f"({text} == {text} ? {text} : {'PHX_NANF' if unit == 'float32' else 'PHX_NAN'})"


def _float_rules(op: str, dtype: str) -> Rules:
    unit = unit_of(dtype)
    kind = SUFFIX[unit]
    sign = "*" if op == "prod" else "+"
    quotient = "x / PHX_TO_F64(n)" if kind == "f64" else "phx_dividef(x, PHX_TO_F32(n))"
    helpers = f"""
PHX_FN {STORAGE[dtype]} reduce_finish({kind} x, i64 n) {{
    const {kind} q = {quotient if op == "mean" else "x"};
    return {stored(dtype, clean(unit, "q"))};
}}
"""
    macros = {"T": STORAGE[dtype], "R": STORAGE[dtype], "S": kind, "A": kind, "U": kind}
    macros |= {"TAKE(v, row)": loaded(dtype, "v"), "WIDEN(a)": "(a)"}
    macros |= {"OP(a, b)": f"((a) {sign} (b))", "JOIN(a, b)": f"((a) {sign} (b))"}
    macros |= {"EMPTY": "1" if op == "prod" else "0", "FINISH(u, n)": "reduce_finish(u, (i64)(n))"}
    headers = ("convert",) if dtype in HALF else ()
    return Rules(
        {**_VALUES, **macros},
        unit,
        ordered=True,
        size=ITEMSIZE[unit],
        headers=headers,
        helpers=helpers,
    )


def _complex_rules(op: str, dtype: str) -> Rules:
    """A sum is a sum of pairs; a product is the op multiply, kept out of line."""
    part = PART[dtype]
    kind, real = SUFFIX[dtype], SUFFIX[part]
    one = kind if op == "prod" else f"{real}x2"
    divided = "phx_dividef(x, PHX_TO_F32(n))" if real == "f32" else "x / PHX_TO_F64(n)"
    members = ("re", "im") if op == "prod" else ("x", "y")
    helpers = f"""
PHX_FN {real} reduce_part({real} x, i64 n) {{
    const {real} q = {divided if op == "mean" else "x"};
    return {clean(part, "q")};
}}
PHX_FN {one} reduce_finish({one} z, i64 n) {{
    return phx_make_{one}(reduce_part(z.{members[0]}, n), reduce_part(z.{members[1]}, n));
}}
"""
    macros = {"T": one, "R": one, "S": one, "A": one, "U": one, "WIDEN(a)": "(a)"}
    macros |= {"TAKE(v, row)": "(v)", "FINISH(u, n)": "reduce_finish(u, (i64)(n))"}
    if op == "prod":
        helpers += f"PHX_OUTLINE {kind} reduce_times({kind} a, {kind} b)"
        helpers += f" {{ return phx_multiply_{kind}(a, b); }}\n"
        macros |= {"OP(a, b)": "reduce_times(a, b)", "JOIN(a, b)": "reduce_times(a, b)"}
        macros["EMPTY"] = f"phx_make_{one}(1, 0)"
    else:
        add = f"phx_add_{one}(a, b)"
        macros |= {"OP(a, b)": add, "JOIN(a, b)": add}
        macros["EMPTY"] = f"phx_make_{one}(0, 0)"
    headers = ("complex",) if op == "prod" else ()
    return Rules(
        {**_VALUES, **macros},
        dtype,
        ordered=True,
        size=ITEMSIZE[dtype],
        headers=headers,
        helpers=helpers,
    )


def _deviation_rules(dtype: str) -> Rules:
    """A sum that takes the squares of elements less the mean of their row, which is ``aux``."""
    sums, kind = _float_rules("sum", dtype), SUFFIX[dtype]
    square = f"PHX_FN {kind} reduce_square({kind} d) {{ return d * d; }}\n"
    take = {"TAKE(v, row)": "reduce_square((v) - aux[row])"}
    return replace(sums, macros=sums.macros | take, helpers=sums.helpers + square, aux=kind)


def rules_of(op: str, dtype: str) -> Rules:
    """Return the rules of a reduction of the op table."""
    if op == "sum_squared_deviations":
        return _deviation_rules(dtype)
    if op in ("any", "all", "count_nonzero"):
        return _logical_rules(op, dtype)
    if op in ("max", "min", "argmax", "argmin"):
        return _extreme_rules(op, dtype)
    if dtype in PART:
        return _complex_rules(op, dtype)
    return _float_rules(op, dtype) if "float" in dtype else _integer_rules(op, dtype)


def sum_rules(dtype: str) -> Rules:
    """Return the rules of a sum of floating numbers that is left in the dtype it is computed in."""
    sums = _float_rules("sum", dtype)
    macros = {**sums.macros, "R": SUFFIX[unit_of(dtype)], "FINISH(u, n)": "(u)"}
    return replace(sums, macros=macros, helpers="")
