"""The elementwise ops on integers and booleans, in Python's unbounded integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .values import HostArray


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
    "isfinite": lambda _: True,
    "isinf": lambda _: False,
    "isnan": lambda _: False,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_invert": lambda a: ~a,
    **dict.fromkeys(("positive", "ceil", "floor", "round", "trunc", "conj", "real"), lambda a: a),
}

_BOOLEAN: dict[str, Callable[..., HostArray]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    **dict.fromkeys(("bitwise_and", "logical_and"), np.logical_and),
    **dict.fromkeys(("bitwise_or", "logical_or"), np.logical_or),
    **dict.fromkeys(("bitwise_xor", "logical_xor"), np.logical_xor),
    **dict.fromkeys(("bitwise_invert", "logical_not"), np.logical_not),
}


def has_integers(op: str) -> bool:
    """Tell whether `integers` knows an op."""
    return op in _INTEGER or op.endswith("_shift")


def has_booleans(op: str) -> bool:
    """Tell whether `booleans` knows an op."""
    return op in _BOOLEAN


def integers(op: str, args: tuple[HostArray, ...], to: np.dtype[Any]) -> HostArray:
    """Return the results: wrapped modulo 2**bits, floored quotients, 0 for division by 0.

    Shifts by less than 0, or by at least the width, shift every bit out.
    """
    bits = 8 * args[0].dtype.itemsize
    columns = [a.tolist() for a in args]
    if op.endswith("_shift"):
        shift = _left if op == "bitwise_left_shift" else _right
        results = [shift(a, n, bits) for a, n in zip(*columns, strict=True)]
    else:
        results = list(map(_INTEGER[op], *columns))
    if to.kind == "b":
        return np.array(results, bool)
    mask = (1 << bits) - 1
    wrapped = np.array([r & mask for r in results], np.uint64)
    return wrapped.astype(f"u{to.itemsize}").view(to)


def booleans(op: str, args: tuple[HostArray, ...]) -> HostArray:
    """Return the results on booleans."""
    return _BOOLEAN[op](*args)
