"""Reductions of 16 neighbours at once: what reduce_rows.cl takes from OpenCL's vectors."""

from __future__ import annotations

from dataclasses import dataclass, field

from phalanx.device_code.dtypes import ITEMSIZE, PART
from phalanx.device_code.reduction_rules import float_order, nonzero
from phalanx.optable import kind_of

#: Names of the types of arithmetic in OpenCL C, as its vectors and conversions have them.
_NAMES = {"f32": "float", "f64": "double"}
for _size, _name in ((8, "char"), (16, "short"), (32, "int"), (64, "long")):
    _NAMES |= {f"i{_size}": _name, f"u{_size}": f"u{_name}"}

# Two loops of one array each are vectors: the extreme first, then its place, while in the cache.
_FOUND = {
    "FINDS": "1",
    "DECLARE(N)": "A acc[N]",
    "SET(j, v, i)": "acc[j] = (v)",
    "STEP(j, v, i)": "acc[j] = OP(acc[j], (v))",
    "MERGE(a, p, j, k)": "a[j] = OP(a[j], a[k])",
    "RESULT(j, first)": "WIDEN(acc[j])",
    "WIDEN(a)": "reduce_place(a, first + reduce_find(x, n, a))",
}


@dataclass(frozen=True, slots=True)
class Wide:
    """How 16 neighbours are reduced at once.

    ``take`` is TAKE for a vector, empty if OP is not right for vectors; ``blockwise`` has the
    macros that differ where one work-item takes a block of neighbours.
    """

    take: str = ""
    helpers: str = ""
    blockwise: dict[str, str] = field(default_factory=dict)


def vector(kind: str) -> str:
    """Return the type of a vector of 16 elements; only a scalar type has one."""
    return f"{_NAMES.get(kind, kind)}16"


def wide_of(op: str, dtype: str) -> Wide:
    """Return how a reduction of the op table takes vectors."""
    if op in ("any", "all", "count_nonzero"):
        memory, test = nonzero(dtype)
        kind = "short" if op == "count_nonzero" else "char"  # a result 0 or 1 in unsigned numbers
        text = f"(as_u{kind}16(convert_{kind}16({test})) & (A)1)"
        return Wide("" if memory == "u128" else text)
    if op in ("max", "min", "argmax", "argmin"):
        return _extreme(op, dtype)
    if dtype in PART or op == "sum_squared_deviations":
        return Wide()
    if "float" in dtype:
        bits = "as_float16(convert_uint16(v) << 16u)"
        return Wide({"float16": "", "bfloat16": bits}.get(dtype, "(v)"))
    signed = dtype.startswith("i")
    if op == "sum" and ITEMSIZE[dtype] <= 2:  # a block of them fits 32 bits
        return Wide(f"convert_{'int' if signed else 'uint'}16(v)")
    return Wide("as_ulong16(convert_long16(v))" if signed else "convert_ulong16(v)")


def _extreme(op: str, dtype: str) -> Wide:
    """Floats are ordered by their keys, as one by one."""
    found = _FOUND if op.startswith("arg") else {}
    if kind_of(dtype) != "f":
        return Wide("(v)", "", found)
    order, kind = float_order(op, dtype), vector(f"i{8 * ITEMSIZE[dtype]}")
    keys = f"PHX_ORDER_TYPE_(keys, {kind}, {order.largest})\n"
    return Wide(f"phx_order_keys(v, {order.masks})", keys, found)
