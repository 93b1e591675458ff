"""What callers pass: sizes, dtypes, parameters. Errors name the function and what to write."""

from __future__ import annotations

import math
from typing import Any

from phalanx._warm import Array, Device, DType, default_float
from phalanx.arrays.checks import as_operand, need_int, need_one_device
from phalanx.arrays.data_types import as_dtype, astype, result_type
from phalanx.discovery.devices import find_device, get_device
from phalanx.errors import DeviceMismatchError
from phalanx.namespace.manipulation import broadcast_shapes

Size = int | tuple[int, ...] | None
Parameter = int | float | Array


def extents(size: Any, op: str) -> tuple[int, ...]:
    """Return a size as a tuple of ints.

    Raises:
        TypeError: anything but ints.
        ValueError: a negative one.
    """
    if type(size) is int and size >= 0:
        return (size,)
    parts = (size,) if hasattr(size, "__index__") else size
    try:
        shape = tuple(e.__index__() for e in parts)
    except (AttributeError, TypeError):
        raise TypeError(f"{op}: size is an int or a tuple of ints, got {size!r}") from None
    if any(e < 0 for e in shape):
        raise ValueError(f"{op}: negative extent in size {size}: extents are 0 or more")
    return shape


def parameter(value: Any, name: str, op: str) -> float | Array:
    """Return a parameter of a distribution as a float, or the real array that it is.

    Raises:
        TypeError: neither a real number nor a real array.
        ValueError: NaN.
    """
    if type(value) is float and not math.isnan(value):  # most calls
        return value
    number = as_operand(value)
    if isinstance(number, Array):
        if number.dtype.kind in "bc":
            raise TypeError(f"{op}: {name} is real, got an array of {number.dtype}")
        return number
    if isinstance(number, bool) or not isinstance(number, int | float):
        got = type(value).__name__
        raise TypeError(f"{op}: {name} is a number or a phalanx array, got {got}")
    try:
        result = float(number)
    except OverflowError:
        raise ValueError(f"{op}: {name} is beyond float64: {number}") from None
    if math.isnan(result):
        raise ValueError(f"{op}: {name} is NaN")
    return result


def not_negative(value: Any, name: str, op: str) -> float | Array:
    """Return a `parameter`; of numbers, raises ``ValueError`` for negative and infinite ones."""
    found = parameter(value, name, op)
    if isinstance(found, float) and not 0 <= found < math.inf:
        raise ValueError(f"{op}: {name} is finite and 0 or more, got {value}")
    return found


def positive(value: Any, name: str, op: str) -> float | Array:
    """Return a `parameter`; of numbers, raises ``ValueError`` for those that are not above 0."""
    found = parameter(value, name, op)
    if isinstance(found, float) and not 0 < found < math.inf:
        raise ValueError(f"{op}: {name} is finite and greater than 0, got {value}")
    return found


def probability(value: Any, name: str, op: str) -> float | Array:
    """Return a `parameter`; of numbers, raises ``ValueError`` for those outside of [0, 1]."""
    found = parameter(value, name, op)
    if isinstance(found, float) and not 0 <= found <= 1:
        raise ValueError(f"{op}: {name} is a probability from 0 to 1, got {value}")
    return found


def mean_count(value: Any, name: str, op: str) -> float | Array:
    """Return a `parameter`; of numbers, raises ``ValueError`` for those outside of [0, 2^53]."""
    found = parameter(value, name, op)
    if isinstance(found, float) and not 0 <= found <= 2.0**53:
        raise ValueError(f"{op}: {name} is from 0 to 2**53, got {value}")
    return found


def count(value: Any, name: str, op: str) -> float | Array:
    """Return an int or an array of ints as a `mean_count`; raises ``TypeError`` for others."""
    if isinstance(value, Array):
        if value.dtype.kind not in "iu":
            raise TypeError(f"{op}: {name} is an integer, got an array of {value.dtype}")
        return value
    return mean_count(need_int(value, f"{op}: {name}"), name, op)


def shape_for(size: Any, op: str, *parameters: float | Array) -> tuple[int, ...]:
    """Return the shape of a result: the size, or without one what arrays broadcast to.

    Raises:
        ValueError: the arrays do not broadcast to the size.
    """
    shapes = [p.shape for p in parameters if type(p) is Array]
    if size is None:
        return broadcast_shapes(*shapes) if shapes else ()
    shape = extents(size, op)
    if not all(_fits(other, shape) for other in shapes):
        raise ValueError(
            f"{op}: parameters of shapes {', '.join(map(str, shapes))} do not broadcast to size "
            f"{shape}"
        )
    return shape


def _fits(shape: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether an array of a shape broadcasts to a size."""
    pairs = zip(reversed(shape), reversed(size), strict=False)
    return len(shape) <= len(size) and all(a in (1, b) for a, b in pairs)


def device_for(device: str | Device | None, op: str, *parameters: float | Array) -> Device:
    """Return the device that is named, or that of arrays, or the current one.

    Raises:
        DeviceMismatchError: arrays on another one.
    """
    arrays = [p for p in parameters if type(p) is Array]
    if not arrays:
        return get_device() if device is None else find_device(device)
    need_one_device(op, *arrays)
    found = arrays[0].device
    if device is not None and find_device(device) is not found:
        raise DeviceMismatchError(
            f"{op} on {find_device(device)} with a parameter on {found}: move it, for example "
            f'with p.to_device("{find_device(device)}")'
        )
    return found


def float_dtype(dtype: Any, op: str, device: Device, *parameters: float | Array) -> DType:
    """Return the dtype that is named, or that of floating parameters, or the device's default.

    Raises:
        TypeError: no real floating dtype.
    """
    found = as_dtype(dtype)
    if found is None:
        floats = [p for p in parameters if isinstance(p, Array) and p.dtype.kind == "f"]
        default: DType = result_type(*floats) if floats else default_float(device)
        return default
    if found.kind != "f":
        raise TypeError(
            f"{op} gives float16, bfloat16, float32 or float64, not {found}; convert the result "
            f"with phalanx.astype(x, phalanx.{found})"
        )
    return found


def converted(value: float | Array, dtype: DType) -> Any:
    """Return a parameter in the dtype of a result; a number as it is."""
    return astype(value, dtype, copy=False) if isinstance(value, Array) else value
