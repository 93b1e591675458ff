"""Refusing operands with the function's name, what they were, and what to write instead."""

from __future__ import annotations

from operator import index
from typing import Any

from phalanx._warm import Array, Device, DType, empty, foreign_number
from phalanx.errors import DeviceMismatchError


def need_array(x: Any, op: str) -> None:
    """Raise ``TypeError`` for what is no array."""
    if not isinstance(x, Array):
        raise TypeError(f"{op} takes a phalanx array, got {type(x).__name__}; use phalanx.asarray")


def need_one_device(op: str, first: Array, *others: Array) -> None:
    """Raise ``DeviceMismatchError`` if arrays lie on several devices."""
    for other in others:
        if other.device is not first.device:
            raise DeviceMismatchError(
                f"{op} of arrays on {first.device} and {other.device}: "
                f'move one, for example with y.to_device("{first.device}")'
            )


def need_addressable(shape: tuple[int, ...], dtype: DType, device: Device) -> None:
    """Raise ``OutOfMemoryError`` for extents beyond 64 bits, as ``empty`` does."""
    if any(extent >= 2**63 for extent in shape):
        empty(shape, dtype, device)


def as_operand(value: Any) -> Any:
    """Return a scalar of NumPy's as the Python number that it counts as, anything else as it is."""
    number = foreign_number(value)
    return value if number is None else number


def need_int(value: Any, what: str) -> int:
    """Return an integer of any type as an int; raises ``TypeError`` that begins with ``what``."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{what} is an int, got {_shown(value)}") from None


def need_real(value: Any, what: str) -> None:
    """Raise ``TypeError`` for what is no real number."""
    if not isinstance(value, int | float):
        raise TypeError(f"{what} is a number, got {_shown(value)}")


def _shown(value: Any) -> str:
    """A value as messages show it: arrays by their shape alone."""
    return f"an array of shape {value.shape}" if isinstance(value, Array) else repr(value)
