"""The expressions of C, by the class of their node in the syntax tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from phalanx.optable import DTYPES
from pycparser import c_ast

from . import scalar_text
from .c_values import DTYPE_OF, FLOATS, Any_, NotTranslated
from .constants import folded
from .prelude import AS_OPS
from .program import Const, Node, Number

if TYPE_CHECKING:
    from .translation import Translator

_BITS = {
    "phx_bits64": "uint64",
    "phx_from_bits64": "float64",
    "phx_bits32": "uint32",
    "phx_from_bits32": "float32",
}


def _constant(t: Translator, node: c_ast.Constant, names: dict[str, Any_]) -> Any_:
    text = node.value
    if node.type in ("float", "double"):
        return folded("cast", (Const(_float(text), "float64"),), FLOATS[text[-1] not in "fF"])
    number = int(text.rstrip("uUlL"), 0)
    if "u" in text.lower().rstrip("l")[-1:]:
        return Const(number, "uint32" if number < 1 << 32 else "uint64")
    if number < 1 << 31:
        return Const(number, "int32")
    if number < 1 << 32 and text.lower().startswith("0x"):
        return Const(number, "uint32")
    return Const(number, "int64" if number < 1 << 63 else "uint64")


def _float(text: str) -> float:
    text = text.rstrip("fF")
    return float.fromhex(text) if text.lower().startswith("0x") else float(text)


def _name(t: Translator, node: c_ast.ID, names: dict[str, Any_]) -> Any_:
    limits: dict[str, tuple[Number, str]] = {
        "PHX_INF": (float("inf"), "float64"),
        "PHX_INFF": (float("inf"), "float32"),
        "PHX_NAN": (float("nan"), "float64"),
        "PHX_NANF": (float("nan"), "float32"),
    }
    if node.name in limits:
        return Const(*limits[node.name])
    return names[node.name]


def _unary(t: Translator, node: c_ast.UnaryOp, names: dict[str, Any_]) -> Any_:
    x = t.number(node.expr, names)
    if node.op == "!":
        return t.op("bitwise_invert", (t.truth(x),), "bool")
    if node.op == "~":
        x = t.promoted(x)
        return t.op("bitwise_invert", (x,), x.dtype)
    if node.op == "-":
        return t.negative(x)
    raise NotTranslated(f"unary {node.op}")


def _binary(t: Translator, node: c_ast.BinaryOp, names: dict[str, Any_]) -> Any_:
    return t.binary(node.op, t.number(node.left, names), t.number(node.right, names))


def _ternary(t: Translator, node: c_ast.TernaryOp, names: dict[str, Any_]) -> Any_:
    mask = t.condition(node.cond, names)
    with t.under(mask, True):
        x = t.value(node.iftrue, names)
    with t.under(mask, False):
        y = t.value(node.iffalse, names)
    if not isinstance(x, dict | str) and not isinstance(y, dict | str) and x.dtype != y.dtype:
        x, y = t.common(x, y)
    return t.select(mask, x, y)


def _cast(t: Translator, node: c_ast.Cast, names: dict[str, Any_]) -> Any_:
    return t.coerced(t.value(node.expr, names), scalar_text.type_name(node.to_type))


def _member(t: Translator, node: c_ast.StructRef, names: dict[str, Any_]) -> Any_:
    whole = t.value(node.name, names)
    assert isinstance(whole, dict)
    return whole[node.field.name]


def _element(t: Translator, node: c_ast.ArrayRef, names: dict[str, Any_]) -> Any_:
    """An element of a table; the index of an element that nobody needs may be any."""
    kind, numbers = scalar_text.table(node.name.name)
    index = t.convert(t.number(node.subscript, names), "uint64")
    last = Const(len(numbers) - 1, "uint64")
    inside = t.number_of(t.select(t.op("less", (index, last), "bool"), index, last))
    if isinstance(inside, Const):
        return Const(numbers[int(inside.value)], DTYPE_OF[kind])
    dtype = DTYPE_OF[kind]
    node_ = Node("table", dtypes=(dtype,), args=(t.view(inside, "int64"),), numbers=numbers)
    return t.add(node_, dtype)


def _call(t: Translator, node: c_ast.FuncCall, names: dict[str, Any_]) -> Any_:
    name = node.name.name
    args = [t.value(x, names) for x in (node.args.exprs if node.args else ())]
    if name in _BITS:
        dtype = _BITS[name]
        x = t.convert(t.number_of(args[0]), {"u": "float", "f": "uint"}[dtype[0]] + dtype[-2:])
        return t.view(x, dtype)
    if name in AS_OPS:
        op, dtype = AS_OPS[name]
        overload = (op, (dtype,) * (len(args) + 1))
        if overload != t.root or not scalar_text.has_function(name):
            return t.op(op, tuple(t.convert(t.number_of(x), dtype) for x in args), dtype)
    elif name in t.calls and t.calls[name] != t.root:
        return _as_op(t, *t.calls[name], args)
    return t.call(scalar_text.function(name), args)


def _as_op(t: Translator, op: str, dtypes: tuple[str, ...], args: list[Any_]) -> Any_:
    """A function that is an op; float16 and bool are their bits to the text."""
    operands = []
    for x, dtype in zip(args, dtypes, strict=False):
        bits = DTYPES[dtype].storage
        operands.append(t.view(t.convert(t.number_of(x), DTYPE_OF[bits]), dtype))
    result = t.op(op, tuple(operands), dtypes[-1])
    return t.view(result, DTYPE_OF[DTYPES[dtypes[-1]].storage])


#: Each takes the translator, the node and the variables.
EXPRESSIONS: dict[type, Callable[..., Any_]] = {
    c_ast.Constant: _constant,
    c_ast.ID: _name,
    c_ast.UnaryOp: _unary,
    c_ast.BinaryOp: _binary,
    c_ast.TernaryOp: _ternary,
    c_ast.Cast: _cast,
    c_ast.StructRef: _member,
    c_ast.ArrayRef: _element,
    c_ast.FuncCall: _call,
}
