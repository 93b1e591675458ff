"""What the functions of `phalanx.nn` check, and the dtype in which they compute."""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import Any, TypeVar

from phalanx._warm import Array, cast
from phalanx.arrays.checks import need_array
from phalanx.arrays.data_types import float32

F = TypeVar("F", bound=Callable[..., Array])
_REDUCTIONS = ("mean", "sum", "none")


def need_floating(x: Any, name: str) -> None:
    """Raise ``TypeError`` for what is no array of real floating numbers."""
    need_array(x, name)
    if x.dtype.kind != "f":
        use = "phalanx.real(x)" if x.dtype.kind == "c" else "phalanx.astype(x, phalanx.float32)"
        raise TypeError(f"{name} takes a floating array, got {x.dtype}; use {use}")


def widened(x: Array) -> Array:
    """Return float16 and bfloat16 in float32, anything else as it is."""
    return cast(x, float32) if x.dtype.itemsize == 2 and x.dtype.kind == "f" else x


def rounded_once(function: F) -> F:
    """Check that the first operand is floating; compute float16 and bfloat16 in float32."""

    @wraps(function)
    def checked(input: Array, *args: Any, **options: Any) -> Array:
        need_floating(input, function.__name__)
        result: Array = cast(function(widened(input), *args, **options), input.dtype)
        return result

    return typing.cast(F, checked)


def need_same_dtype(name: str, first: Array, **others: Array | None) -> None:
    """Raise ``TypeError`` for operands of another dtype than the first."""
    for what, other in others.items():
        if other is None:
            continue
        need_array(other, f"{name}: {what}")
        if other.dtype is not first.dtype:
            raise TypeError(
                f"{name}: {what} is {other.dtype} and the input {first.dtype}; convert one, for "
                f"example with {what}.astype(phalanx.{first.dtype})"
            )


def need_labels(target: Any, name: str, what: str = "target") -> None:
    """Raise ``TypeError`` for what is no integer array."""
    need_array(target, name)
    if target.dtype.kind not in "iu":
        raise TypeError(
            f"{name}: {what} has integers, got {target.dtype}; use phalanx.astype({what}, "
            "phalanx.int64)"
        )


def need_choice(value: str, choices: Sequence[str], what: str) -> None:
    """Raise ``ValueError`` for a word that is none of the choices."""
    if value not in choices:
        raise ValueError(f"{what} is one of {', '.join(map(repr, choices))}, got {value!r}")


def need_reduction(reduction: str, name: str) -> None:
    """Raise ``ValueError`` for what is no way to reduce a loss."""
    need_choice(reduction, _REDUCTIONS, f"{name}: reduction")


def numbers(value: Any, count: int, what: str, least: int) -> tuple[int, ...]:
    """Return an int, or one for each axis, as a tuple; raises with ``what`` it is."""
    given = (value,) * count if hasattr(value, "__index__") else value
    try:
        result = tuple(index(v) for v in given)
    except TypeError:
        raise TypeError(f"{what} is an int or a tuple of {count} ints, got {value!r}") from None
    if len(result) == 1:
        result *= count
    if len(result) != count or any(v < least for v in result):
        raise ValueError(
            f"{what} is an int or a tuple of {count} ints, at least {least}, got {value!r}"
        )
    return result
