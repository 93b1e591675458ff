"""Ops that an operator of C stands for, by simpler ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from phalanx.optable import DTYPES

from . import scalar_text
from .program import Const, Value

if TYPE_CHECKING:
    from .translation import Translator

#: The next dtype on the way of an integer to a wider and to a narrower one.
_WIDER = {"int8": "int32", "int16": "int32", "int32": "int64"}
_WIDER |= {"uint8": "uint32", "uint16": "uint32", "uint32": "uint64"}
_Args = tuple[Value, ...]


def spelled(t: Translator, op: str, args: _Args, result: str) -> Value | None:
    """Return the op by simpler ones, ``None`` for one that is a primitive."""
    if op in _ON_BITS and DTYPES[args[0].dtype].kind == "i":
        return _on_bits(t, op, args, result)
    found = _SPELLED.get(op)
    return found(t, args, result) if found else None


def _on_bits(t: Translator, op: str, args: _Args, result: str) -> Value:
    """What signed numbers share with unsigned ones."""
    words = tuple(t.view(a, f"u{a.dtype}") for a in args)
    there = words[0].dtype if result == args[0].dtype else result
    return t.view(t.op(op, words, there), result)


def _greater(t: Translator, args: _Args, result: str) -> Value:
    return t.op("less", (args[1], args[0]), result)


def _greater_equal(t: Translator, args: _Args, result: str) -> Value:
    return t.op("less_equal", (args[1], args[0]), result)


def _less_equal(t: Translator, args: _Args, result: str) -> Value:
    parts = (t.op("less", args, result), t.op("equal", args, result))
    return t.op("bitwise_or", parts, result)


def _not_equal(t: Translator, args: _Args, result: str) -> Value:
    return t.op("bitwise_invert", (t.op("equal", args, result),), result)


def _invert(t: Translator, args: _Args, result: str) -> Value:
    ones = True if result == "bool" else (1 << 8 * DTYPES[result].size) - 1
    return t.op("bitwise_xor", (args[0], Const(ones, result)), result)


def _negative(t: Translator, args: _Args, result: str) -> Value:
    if DTYPES[result].kind != "f":
        return t.op("subtract", (Const(0, result), args[0]), result)
    name = f"phx_negative{'f' if result == 'float32' else ''}"
    return t.number_of(t.call(scalar_text.function(name), list(args)))


def _where(t: Translator, args: _Args, result: str) -> Value | None:
    word = f"uint{8 * DTYPES[result].size}"
    if word == result:
        return None
    moved = (args[0], t.view(args[1], word), t.view(args[2], word))
    return t.view(t.op("where", moved, word), result)


def _cast(t: Translator, args: _Args, dtype: str) -> Value | None:
    """An integer as another: one step wider or narrower, words being as good as signed numbers."""
    (x,) = args
    a, b = DTYPES[x.dtype], DTYPES[dtype]
    if a.kind not in "iu" or b.kind not in "iu":
        return None
    if b.size > a.size:
        step = _WIDER[x.dtype]
        return None if step == dtype else t.convert(t.convert(x, step), dtype)
    words = [f"uint{8 * size}" for size in (a.size, b.size)]
    if a.size == 8 and b.size < 4:
        words.insert(1, "uint32")
    if [x.dtype, dtype] == words:
        return None
    x = t.view(x, words[0])
    for word in words[1:]:
        x = t.convert(x, word)
    return t.view(x, dtype)


_ON_BITS = (
    *("add", "subtract", "multiply", "equal", "not_equal", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "bitwise_invert"),
)
_SPELLED: dict[str, Callable[[Translator, _Args, str], Value | None]] = {
    "greater": _greater,
    "greater_equal": _greater_equal,
    "less_equal": _less_equal,
    "not_equal": _not_equal,
    "bitwise_invert": _invert,
    "negative": _negative,
    "where": _where,
    "cast": _cast,
}
