"""Making arrays: filled, and by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from phalanx._warm import (
    Array,
    Device,
    DType,
    default_complex,
    default_float,
    fill,
    foreign_number,
    plain_array,
    plain_device,
    plain_like,
    plain_range,
    ruled,
    view,
)
from phalanx._warm import copy as copy_array
from phalanx._warm import empty as new_array
from phalanx.arrays.checks import need_addressable, need_array, need_int, need_one_device
from phalanx.arrays.data_types import (
    as_dtype,
    astype,
    complex64,
    complex128,
    default_dtype,
    float32,
    float64,
    int64,
)
from phalanx.arrays.promotion import need_number
from phalanx.discovery.devices import find_device
from phalanx.dispatch.registry import mode_in_force
from phalanx.driver import Feature

from .elementwise import floor
from .elementwise import pow as power
from .manipulation import broadcast_arrays

Shape = int | tuple[int, ...]
Number = bool | int | float | complex


def device_or_current(device: str | Device | None) -> Device:
    """Return the device that is meant, for ``None`` the current one."""
    found: Device | None = plain_device(device)
    if found is None:
        assert device is not None  # there is a current one
        return find_device(device)
    return found


def _float_dtype(dtype: DType | str | None, device: str | Device | None) -> DType:
    """Return the dtype that is meant, for ``None`` that of Python floats on a device."""
    return as_dtype(dtype) or default_float(device_or_current(device))


def _widest(device: Device, *, is_complex: bool) -> DType:
    """Return the floating dtype with the most bits that a device computes in."""
    if device.info.features & Feature.FP64:
        return complex128 if is_complex else float64
    return complex64 if is_complex else float32


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
        raise ValueError(f"negative extent in shape {result}: extents are 0 or more")
    return result


def empty(
    shape: Shape, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return an array of unset memory (default dtype: ``get_default_dtype()``).

    Where ``use_deterministic_algorithms`` is in force the memory is filled, so that a program that
    reads it is found out: with NaN, the largest integer, or True.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.

    Examples:
        >>> x = px.empty((2, 3), dtype=px.float32)
        >>> x[...] = 7  # before that the elements are whatever was there
        >>> x.shape, x.nbytes
        ((2, 3), 24)
    """
    made: Array | None = plain_array(shape, None, dtype or float, device)
    if made is None:
        made = new_array(_shape(shape), _float_dtype(dtype, device), device_or_current(device))
        if mode_in_force() is not None:
            fill(made, _telling(made.dtype))
    return made


def _telling(dtype: DType) -> bool | int | float:
    """Return what nobody takes for a result."""
    if dtype.kind in "iu":
        from phalanx.arrays.data_types import iinfo

        return iinfo(dtype).max
    return True if dtype.kind == "b" else math.nan


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

    Examples:
        >>> px.full((2, 3), 7).dtype, px.full((2, 3), 7.0).dtype
        (phalanx.int64, phalanx.float64)
    """
    plain: Array | None = plain_array(shape, fill_value, dtype, device)
    if plain is not None:
        return plain
    if isinstance(fill_value, Array):
        if fill_value.size != 1:
            raise ValueError(f"full takes a number or a 0-d array, got shape {fill_value.shape}")
        device = fill_value.device if device is None else device
        return full(shape, fill_value.item(), dtype=dtype or fill_value.dtype, device=device)
    number = as_number(fill_value)
    need_number(number, as_dtype(dtype), "full")
    target = as_dtype(dtype) or default_dtype(number, device_or_current(device))
    result: Array = new_array(_shape(shape), target, device_or_current(device))
    fill(result, number)
    return result


def zeros(
    shape: Shape, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return an array of zeros (default dtype: ``get_default_dtype()``).

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.

    Examples:
        >>> print(px.zeros((2, 3), dtype="int8"))
        [[0 0 0]
         [0 0 0]]
    """
    made: Array | None = plain_array(shape, 0, dtype or float, device)
    return (
        full(shape, 0, dtype=_float_dtype(dtype, device), device=device) if made is None else made
    )


def ones(
    shape: Shape, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return an array of ones (default dtype: ``get_default_dtype()``).

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.

    Examples:
        >>> print(px.ones(3, dtype=px.complex64))
        [1.+0.j 1.+0.j 1.+0.j]
    """
    made: Array | None = plain_array(shape, 1, dtype or float, device)
    return (
        full(shape, 1, dtype=_float_dtype(dtype, device), device=device) if made is None else made
    )


def empty_like(
    x: Array, /, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return unset memory with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.

    Examples:
        >>> x = px.asarray([[1, 2], [3, 4]], dtype=px.int8)
        >>> y = px.empty_like(x, dtype=px.float32)
        >>> y.shape, y.dtype
        ((2, 2), phalanx.float32)
    """
    made: Array | None = plain_like(x, None, dtype, device)
    if made is None:
        need_array(x, "empty_like")
        made = empty(x.shape, dtype=dtype or x.dtype, device=device or x.device)
    return made


def _filled_like(
    x: Array,
    value: Number | Array,
    dtype: DType | str | None,
    device: str | Device | None,
    op: str,
) -> Array:
    made: Array | None = plain_like(x, value, dtype, device)
    if made is None:
        need_array(x, op)
        made = full(x.shape, value, dtype=dtype or x.dtype, device=device or x.device)
    return made


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

    Examples:
        >>> print(px.full_like(px.asarray([1, 2, 3]), 2.5, dtype=px.float32))
        [2.5 2.5 2.5]
    """
    return _filled_like(x, fill_value, dtype, device, "full_like")


def zeros_like(
    x: Array, /, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return zeros with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.

    Examples:
        >>> px.zeros_like(px.asarray([1, 2], dtype=px.uint8)).dtype
        phalanx.uint8
    """
    return _filled_like(x, 0, dtype, device, "zeros_like")


def ones_like(
    x: Array, /, *, dtype: DType | str | None = None, device: str | Device | None = None
) -> Array:
    """Return ones with the shape of ``x``, and its dtype and device unless given.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: ``x`` is no array, or no dtype.

    Examples:
        >>> print(px.ones_like(px.asarray([1.5, 2.5]), dtype=px.bool))
        [ True  True]
    """
    return _filled_like(x, 1, dtype, device, "ones_like")


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

    Examples:
        >>> print(px.arange(10, 0, -3), px.arange(3, dtype=px.float32))
        [10  7  4  1] [0. 1. 2.]
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
    target = as_dtype(dtype) or (int64 if integral else default_float(device_or_current(device)))
    if target.kind == "b":
        raise TypeError("arange is not defined for bool; compare with a number instead")
    gap = stop - start
    count = int(max(0, -(-gap // step) if integral else math.ceil(gap / step)))
    if target.kind in "iu":
        for v in (start, step):
            if v != int(v):
                raise TypeError(
                    f"arange: the float {v} does not go into {target}, as a cast would cut it; "
                    "convert it first"
                )
        first, width = int(start), int(step)
        _check_ends(first, first + (count - 1) * width, count, target)
        start, step = first, width
    return _by_rule(start, step, count, target, device_or_current(device))


def _by_rule(start: Number, step: Number, count: int, dtype: DType, device: Device) -> Array:
    """The numbers start + i * step for i below ``count``."""
    need_addressable((count,), dtype, device)
    result: Array = ruled(start, step, count, dtype, device)
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
        TypeError: ``num`` is no int.
        ValueError: a negative ``num``.

    Examples:
        >>> print(px.linspace(0, 1, 5), px.linspace(0, 1, 4, endpoint=False))
        [0.   0.25 0.5  0.75 1.  ] [0.   0.25 0.5  0.75]
    """
    _need_count(num, "linspace")
    start, stop = as_number(start), as_number(stop)
    need_number(start, None, "linspace")
    need_number(stop, None, "linspace")
    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    where = device_or_current(device)
    default = default_complex(where) if is_complex else default_float(where)
    target = as_dtype(dtype) or default
    work = _widest(where, is_complex=is_complex or target.kind == "c")
    gaps = num - 1 if endpoint else num
    # Halved operands keep the difference finite where it would overflow.
    step = (stop / 2 - start / 2) / gaps * 2 if gaps > 0 else 0.0
    result = _by_rule(start, step, num, work, where)
    if endpoint and num > 1:
        fill(view(result, (1,), (1,), num - 1), stop)
    if target is work:
        return result
    if target.kind in "iu":
        result = floor(result)
    return astype(result, target)


def _need_count(num: Any, op: str) -> None:
    if need_int(num, f"{op}: num") < 0:
        raise ValueError(f"{op}: num must not be negative, got {num}")


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

    NumPy's function, which the standard lacks. Computed by ``pow`` of ``linspace``, in float64
    where the device has it.

    Raises:
        ValueError: a negative ``num``.

    Examples:
        >>> print(px.logspace(0, 3, 4), px.logspace(0, 3, 4, base=2))
        [   1.   10.  100. 1000.] [1. 2. 4. 8.]
    """
    _need_count(num, "logspace")
    work = _widest(device_or_current(device), is_complex=False)
    exponents = linspace(start, stop, num, dtype=work, device=device, endpoint=endpoint)
    result = power(float(as_number(base)), exponents)
    return astype(result, _float_dtype(dtype, device), copy=False)


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Return coordinate matrices of 1-d arrays; ``"xy"`` swaps the first two axes, ``"ij"`` not.

    Raises:
        ValueError: another ``indexing``, arrays with more than one axis, or of several dtypes.

    Examples:
        >>> x, y = px.meshgrid(px.arange(3), px.arange(2))
        >>> print(10 * y + x)
        [[ 0  1  2]
         [10 11 12]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid: indexing is "xy" or "ij", got {indexing!r}')
    for a in arrays:
        need_array(a, "meshgrid")
        if a.ndim > 1:
            raise ValueError(f"meshgrid takes 1-d arrays, got shape {a.shape}")
    if len({a.dtype for a in arrays}) > 1:
        dtypes = ", ".join(str(a.dtype) for a in arrays)
        raise ValueError(f"meshgrid takes arrays of one dtype, got {dtypes}; use phalanx.astype")
    if arrays:
        need_one_device("meshgrid", *arrays)
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
