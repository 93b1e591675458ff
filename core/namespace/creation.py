"""Making arrays: filled, and by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from phalanx._warm import (
    Array,
    Device,
    DType,
    fill,
    foreign_number,
    plain_array,
    plain_range,
    ruled,
    view,
)
from phalanx._warm import copy as copy_array
from phalanx._warm import empty as new_array
from phalanx.arrays.data_types import as_dtype, default_dtype, float64, int64
from phalanx.arrays.promotion import need_number
from phalanx.discovery.devices import find_device, get_device

from .manipulation import need_array

Shape = int | tuple[int, ...]
Number = bool | int | float | complex


def device_or_current(device: str | Device | None) -> Device:
    """Return the device that is meant, for ``None`` the current one."""
    return get_device() if device is None else find_device(device)


def as_number(value: Any) -> Any:
    """Return a 0-d array or a scalar of NumPy's as a Python number, anything else as it is."""
    if isinstance(value, Array):
        return value.item() if value.ndim == 0 else value
    number = foreign_number(value)
    return value if number is None else number


def _shape(shape: Shape | Array | Sequence[int]) -> tuple[int, ...]:
    """Return a shape as a tuple of ints; raises ``TypeError`` or ``ValueError`` that names it."""
    if type(shape) is tuple:
        for extent in shape:
            if type(extent) is not int or extent < 0:
                break
        else:
            return shape
    extents = (shape,) if hasattr(shape, "__index__") else shape
    try:
        result = tuple(e.__index__() for e in extents)  # type: ignore[union-attr]
    except (AttributeError, TypeError):
        raise TypeError(f"a shape is an int or a tuple of ints, got {shape!r}") from None
    if any(e < 0 for e in result):
        raise ValueError(f"negative extent in shape {result}")
    return result


def empty(
    shape: Shape, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return an array of unset memory (default dtype float64).

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.
    """
    made: Array | None = plain_array(shape, None, dtype or float64, device)
    if made is None:
        made = new_array(_shape(shape), as_dtype(dtype) or float64, device_or_current(device))
    return made


def full(
    shape: Shape,
    fill_value: Number | Array,
    *,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
) -> Array:
    """Return an array with every element ``fill_value`` (default dtype: the value's).

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.
    """
    plain: Array | None = plain_array(shape, fill_value, dtype, device)
    if plain is not None:
        return plain
    if isinstance(fill_value, Array):
        device = fill_value.device if device is None else device
        return full(shape, fill_value.item(), dtype=dtype or fill_value.dtype, device=device)
    number = as_number(fill_value)
    need_number(number, as_dtype(dtype), "full")
    target = as_dtype(dtype) or default_dtype(number)
    result: Array = new_array(_shape(shape), target, device_or_current(device))
    fill(result, number)
    return result


def zeros(
    shape: Shape, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return an array of zeros (default dtype float64).

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.
    """
    made: Array | None = plain_array(shape, 0, dtype or float64, device)
    return full(shape, 0, dtype=dtype or float64, device=device) if made is None else made


def ones(
    shape: Shape, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return an array of ones (default dtype float64).

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.
    """
    made: Array | None = plain_array(shape, 1, dtype or float64, device)
    return full(shape, 1, dtype=dtype or float64, device=device) if made is None else made


def empty_like(
    x: Array, /, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return unset memory with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.
    """
    need_array(x, "empty_like")
    return empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def full_like(
    x: Array,
    /,
    fill_value: Number | Array,
    *,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
) -> Array:
    """Return ``full`` with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.
    """
    need_array(x, "full_like")
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device)


def zeros_like(
    x: Array, /, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return zeros with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.
    """
    need_array(x, "zeros_like")
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(
    x: Array, /, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return ones with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.
    """
    need_array(x, "ones_like")
    return full_like(x, 1, dtype=dtype, device=device)


def arange(
    start: int | float,
    /,
    stop: int | float | None = None,
    step: int | float = 1,
    *,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
) -> Array:
    """Return start, start + step, ... below ``stop`` (or 0, 1, ... below ``start`` alone).

    Raises:
        ValueError: a step of 0, or a number that is not finite.
        TypeError: complex numbers, or the dtype bool.
        OverflowError: an integer dtype that does not hold all of them.
    """
    plain: Array | None = plain_range(start, stop, step, dtype, device)
    if plain is not None:
        return plain
    start, step = as_number(start), as_number(step)
    if stop is None:
        start, stop = 0, start
    stop = as_number(stop)
    for v in (start, stop, step):
        if not isinstance(v, int | float):
            raise TypeError(f"arange takes ints and floats, got {type(v).__name__}")
        if not math.isfinite(v):
            raise ValueError(f"arange: start, stop and step must be finite, got {v}")
    if step == 0:
        raise ValueError("arange: step must not be 0")
    integral = all(isinstance(v, int) for v in (start, stop, step))
    target = as_dtype(dtype) or (int64 if integral else float64)
    if target.kind == "b":
        raise TypeError("arange is not defined for bool; compare with a number instead")
    gap = stop - start
    count = int(max(0, -(-gap // step) if integral else math.ceil(gap / step)))
    if target.kind in "iu":
        first, width = int(start), int(step)
        _check_ends(first, first + (count - 1) * width, count, target)
        start, step = first, width
    result: Array = ruled(start, step, count, target, device_or_current(device))
    return result


def _check_ends(first: int, last: int, count: int, dtype: DType) -> None:
    from phalanx.arrays.data_types import iinfo

    limits = iinfo(dtype)
    for v in (first, last) if count else ():
        if not limits.min <= v <= limits.max:
            raise OverflowError(f"arange: {v} is out of bounds for {dtype}")


def linspace(
    start: int | float | complex,
    stop: int | float | complex,
    /,
    num: int,
    *,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
    endpoint: bool = True,
) -> Array:
    """Return ``num`` evenly spaced numbers from ``start`` to ``stop``.

    ``endpoint=False`` leaves ``stop`` out.

    Computed in float64 (complex128) and rounded once to the dtype.

    Raises:
        ValueError: a negative ``num``.
    """
    if not hasattr(num, "__index__"):
        raise TypeError(f"linspace: num is an int, got {num!r}")
    if num < 0:
        raise ValueError(f"linspace: num must not be negative, got {num}")
    from phalanx.arrays.data_types import astype, complex128

    start, stop = as_number(start), as_number(stop)
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    target = as_dtype(dtype) or (complex128 if is_complex else float64)
    work = complex128 if is_complex or target.kind == "c" else float64
    gaps = num - 1 if endpoint else num
    # Halved operands keep the difference finite where it would overflow.
    step = (stop / 2 - start / 2) / gaps * 2 if gaps > 0 else 0.0
    result: Array = ruled(start, step, num, work, device_or_current(device))
    if endpoint and num > 1:
        fill(view(result, (1,), (1,), num - 1), stop)
    if target is work:
        return result
    if target.kind in "iu":
        from .elementwise import floor

        result = floor(result)
    return astype(result, target)


def logspace(
    start: int | float,
    stop: int | float,
    /,
    num: int = 50,
    *,
    base: int | float = 10.0,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
    endpoint: bool = True,
) -> Array:
    """Return ``num`` numbers from base**start to base**stop whose logarithms are evenly spaced.

    NumPy's function, which the standard lacks. Computed in float64 by ``pow`` of ``linspace``.

    Raises:
        ValueError: a negative ``num``.
    """
    from phalanx.arrays.data_types import astype

    from .elementwise import pow

    exponents = linspace(start, stop, num, device=device, endpoint=endpoint)
    result = pow(float(as_number(base)), exponents)
    return astype(result, as_dtype(dtype) or float64, copy=False)


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Return coordinate matrices of 1-d arrays; ``"xy"`` swaps the first two axes, ``"ij"`` not.

    Raises:
        ValueError: another ``indexing``, arrays with more than one axis, or of several dtypes.
    """
    from .manipulation import broadcast_arrays

    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is "xy" or "ij", got {indexing!r}')
    for a in arrays:
        if a.ndim > 1:
            raise ValueError(f"meshgrid takes 1-d arrays, got shape {a.shape}")
    if len({a.dtype for a in arrays}) > 1:
        raise ValueError("meshgrid takes arrays of one dtype")
    n = len(arrays)
    places = list(range(n))
    if indexing == "xy" and n > 1:
        places[:2] = [1, 0]
    grids = []
    for a, place in zip(arrays, places, strict=True):
        shape = [1] * n
        shape[place] = a.size
        strides = [0] * n
        strides[place] = a.strides[0] if a.ndim else 1
        grids.append(view(a, tuple(shape), tuple(strides)))
    return tuple(copy_array(g) for g in broadcast_arrays(*grids))
