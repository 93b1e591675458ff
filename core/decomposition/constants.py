"""Arithmetic of numbers that are known when a program is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from phalanx.optable import DTYPES

from .program import Const

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b,
    "negative": lambda a: -a,
    "abs": abs,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "bitwise_left_shift": lambda a, b: a << b,
    "bitwise_right_shift": lambda a, b: a >> b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "copysign": np.copysign,
    "sqrt": np.sqrt,
}


def folded(op: str, args: tuple[Const, ...], dtype: str) -> Const:
    """Return what an op gives for numbers; ``view`` takes the bits as another dtype.

    Raises:
        KeyError: the op is not one that is known here.
    """
    kind = DTYPES[dtype].kind
    if op == "view":
        return Const(np.array(args[0].value, args[0].dtype).view(dtype)[()].item(), dtype)
    if op == "bitwise_invert":
        value: Any = not args[0].value if dtype == "bool" else ~int(args[0].value)
    elif op == "cast":
        value = args[0].value
        value = bool(value) if dtype == "bool" else int(value) if kind in "iu" else value
    elif kind == "f":
        with np.errstate(all="ignore"):
            numbers = [np.dtype(a.dtype).type(a.value) for a in args]
            value = _ARITHMETIC[op](*numbers)
    else:
        value = _ARITHMETIC[op](*(a.value for a in args))
    if kind in "iu":
        bits = 8 * DTYPES[dtype].size
        value = int(value) % (1 << bits)
        value -= (1 << bits) if kind == "i" and value >> (bits - 1) else 0
    elif kind == "f":
        with np.errstate(all="ignore"):
            value = float(np.dtype(dtype).type(value))
    else:
        value = bool(value)
    return Const(value, dtype)
