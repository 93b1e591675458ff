"""Making arrays: from data, filled, and by rule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from phalanx._warm import Array, Device, DType, fill, plain_array, plain_range, ruled, view
from phalanx._warm import copy as copy_array
from phalanx._warm import empty as new_array
from phalanx.arrays.data_types import as_dtype, default_dtype, float64, int64
from phalanx.arrays.transfer import from_numpy, scalar_array, to_device
from phalanx.discovery.devices import find_device, get_device

from .manipulation import need_array

Shape = int | tuple[int, ...]
Number = bool | int | float | complex


def _where(device: str | Device | None) -> Device:
    return get_device() if device is None else find_device(device)


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


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
    copy: bool | None = None,
) -> Array:
    """Return an array from a Phalanx array, NumPy array, buffer, number or nested sequence.

    Args:
        obj: what to convert; objects with ``__dlpack__`` are taken through DLPack.
        dtype: the result's dtype (default: the data's; Python floats give float64, ints int64).
        device: where (default: where ``obj`` is, else the current device).
        copy: ``True`` copies always, ``False`` raises if one is needed, ``None`` copies if needed
            (host data are always copied, so that the source may change).

    Raises:
        TypeError: nothing of the kind.
        ValueError: ``copy=False`` and a copy is needed; a ragged sequence.
        OverflowError: a Python int that the dtype cannot hold.
    """
    if dtype is None and device is None and type(obj) is Array:
        return copy_array(obj) if copy else obj
    target = as_dtype(dtype)
    if isinstance(obj, Array):
        return _from_array(obj, target, device, copy)
    where = _where(device)
    if isinstance(obj, bool | int | float | complex):
        if copy is False:
            raise ValueError("a Python number cannot become an array without a copy")
        _check_number(obj, target, "asarray")
        target = target or default_dtype(obj)
        made: Array | None = plain_array((), obj, target, where)
        return scalar_array(obj, target.name, where) if made is None else made
    if hasattr(obj, "__dlpack__") and not _is_numpy(obj):
        from phalanx.arrays.interchange import from_dlpack

        result = from_dlpack(obj, device=device, copy=copy)
        return result if target is None else _from_array(result, target, None, copy)
    return _from_host(obj, target, where, copy)


def _check_number(value: Any, dtype: DType | None, op: str) -> None:
    """Raise ``TypeError`` for what is no number, or a complex one that the dtype cannot hold."""
    if not isinstance(value, Number):
        raise TypeError(f"{op} takes a number or a 0-d array, got {type(value).__name__}")
    if isinstance(value, complex) and dtype is not None and dtype.kind not in "cb":
        raise TypeError(f"{op}: the complex number {value} does not go into {dtype}")


def _is_numpy(obj: Any) -> bool:
    return type(obj).__module__.partition(".")[0] == "numpy"


def _from_array(
    x: Array, dtype: DType | None, device: str | Device | None, copy: bool | None
) -> Array:
    from phalanx.arrays.data_types import astype

    moves = device is not None and _where(device) is not x.device
    changes = dtype is not None and dtype is not x.dtype
    if copy is False and (moves or changes):
        raise ValueError(
            f"copy=False, but {x.dtype} on {x.device} must be copied for dtype {dtype or x.dtype} "
            f"on {device or x.device}"
        )
    if changes and dtype is not None:
        x = astype(x, dtype)
    if moves and device is not None:
        return to_device(x, device)
    return copy_array(x) if copy and not changes else x


def _from_host(obj: Any, dtype: DType | None, device: Device, copy: bool | None) -> Array:
    """NumPy parses nested sequences and buffers; numbers are checked against the dtype."""
    import numpy as np

    if copy is False and not _is_numpy(obj) and not isinstance(obj, memoryview | bytearray):
        raise ValueError(f"a {type(obj).__name__} cannot become an array without a copy")
    nested = _numbers_of_arrays(obj)
    try:
        data = np.asarray(nested)
        if isinstance(nested, list | tuple) and data.size:
            data = _within_range(data, nested, dtype)
    except ValueError as error:
        raise ValueError(f"asarray: {error}") from error
    if data.dtype.kind not in "biufcV" or data.dtype.name.startswith(("void", "record")):
        raise TypeError(
            f"asarray takes numbers, got {type(obj).__name__} of {data.dtype}: no dtype for it"
        )
    if dtype is not None and data.dtype.name != dtype.name:
        if copy is False:
            raise ValueError(f"copy=False, but {data.dtype} must be converted to {dtype}")
        data = _converted(data, dtype)
    return from_numpy(data, device, copy=copy)


def _within_range(data: Any, nested: Any, dtype: DType | None) -> Any:
    """Parse Python ints again where NumPy chose another dtype than asked for (default int64).

    Raises:
        OverflowError: the dtype does not hold one of them.
    """
    import numpy as np

    wanted = "float64" if dtype is None or dtype.kind not in "iu" else dtype.name
    if data.dtype.kind == "O" or data.dtype.name in ("uint64", "float64"):
        if _only_ints(nested) and (dtype is None or dtype.kind in "iu"):
            return np.asarray(nested, dtype=dtype.name if dtype else "int64")
        if data.dtype.kind == "O" and all(isinstance(v, int | float) for v in data.flat):
            return np.asarray(nested, dtype=wanted)
    elif data.dtype.kind in "iu" and wanted != "float64":
        return np.asarray(nested, dtype=wanted)
    return data


def _only_ints(nested: Any) -> bool:
    """Whether a nested sequence holds Python ints and nothing else; stops at the first other."""
    return all(_only_ints(v) if isinstance(v, list | tuple) else isinstance(v, int) for v in nested)


def _converted(data: Any, dtype: DType) -> Any:
    """Convert host data by the rules of ``astype``, as the device may lack the dtype they have."""
    import numpy as np
    from phalanx.arrays.data_types import iinfo
    from phalanx.arrays.transfer import numpy_dtype

    if data.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(f"{data.dtype} to {dtype} drops the imaginary part: use its real part")
    target = numpy_dtype(dtype.name)
    with np.errstate(all="ignore"):
        if data.dtype.kind not in "fV" or dtype.kind not in "iu":
            return data.astype(target)
        wide = data.astype(np.float32) if data.dtype.itemsize == 2 else data
        low, high = iinfo(dtype).min, iinfo(dtype).max
        inside = np.where((wide > low) & (wide < high), wide, 0).astype(target)
        ends = np.where(wide >= high, target.type(high), target.type(low))
        return np.where((wide >= high) | (wide <= low), ends, inside)


def _numbers_of_arrays(obj: Any) -> Any:
    """Nested sequences with Phalanx arrays inside become nested lists of numbers."""
    if isinstance(obj, Array):
        return obj.tolist()
    if isinstance(obj, list | tuple) and any(isinstance(o, Array | list | tuple) for o in obj):
        return [_numbers_of_arrays(o) for o in obj]
    return obj


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
        made = new_array(_shape(shape), as_dtype(dtype) or float64, _where(device))
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
    _check_number(fill_value, as_dtype(dtype), "full")
    target = as_dtype(dtype) or default_dtype(fill_value)
    result: Array = new_array(_shape(shape), target, _where(device))
    fill(result, fill_value)
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
    if stop is None:
        start, stop = 0, start
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
    result: Array = ruled(start, step, count, target, _where(device))
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

    is_complex = isinstance(start, complex) or isinstance(stop, complex)
    target = as_dtype(dtype) or (complex128 if is_complex else float64)
    work = complex128 if is_complex or target.kind == "c" else float64
    gaps = num - 1 if endpoint else num
    # Halved operands keep the difference finite where it would overflow.
    step = (stop / 2 - start / 2) / gaps * 2 if gaps > 0 else 0.0
    result: Array = ruled(start, step, num, work, _where(device))
    if endpoint and num > 1:
        fill(view(result, (1,), (1,), num - 1), stop)
    if target is work:
        return result
    if target.kind in "iu":
        from .elementwise import floor

        result = floor(result)
    return astype(result, target)


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
