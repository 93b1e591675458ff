"""Arrays from what is none of them yet: numbers, nested sequences, buffers, arrays of others."""

from __future__ import annotations

from typing import Any

from phalanx._warm import (
    Array,
    Device,
    DType,
    default_float,
    from_ndarray,
    nested_array,
    plain_array,
    plain_data,
)
from phalanx._warm import copy as copy_array
from phalanx.arrays.data_types import (
    as_dtype,
    astype,
    bfloat16,
    default_dtype,
    float32,
    iinfo,
    result_type,
)
from phalanx.arrays.promotion import need_kept, need_number
from phalanx.arrays.refusals import (
    holds_odd,
    need_unmasked,
    odd_message,
    ragged_message,
    range_message,
)
from phalanx.arrays.transfer import from_numpy, numpy_dtype, scalar_array, to_device
from phalanx.optable import DTYPES

from .creation import device_or_current
from .elementwise import equal, less, logical_and
from .manipulation import stack
from .reductions import all as all_true


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
        dtype: the result's dtype (default: the data's; Python floats give
            ``get_default_dtype()``, ints int64).
        device: where (default: where ``obj`` is, else the current device).
        copy: ``True`` copies always, ``False`` raises if one is needed, ``None`` copies if needed
            (host data are always copied, so that the source may change).

    Nothing is lost in silence: what a dtype would cut is for ``astype`` to say. Floats for integers
    and integers for a dtype that does not hold them all are looked at value by value, which waits
    for those of an array; bool asks whether they are 0.

    Raises:
        TypeError: nothing of the kind, such as a masked array of NumPy's; values that the dtype
            would cut, such as fractions for integers; an array of complex numbers for real ones.
        ValueError: ``copy=False`` and a copy is needed; a ragged sequence.
        OverflowError: an integer that the dtype cannot hold.

    Examples:
        >>> print(px.asarray([[1, 2.5], [3, 4]]), px.asarray([1, 0, 2], dtype=px.bool))
        [[1.  2.5]
         [3.  4. ]] [ True False  True]
        >>> px.asarray([px.asarray([1, 2], dtype=px.int8), [3, 4]]).shape  # stacked on the device
        (2, 2)
    """
    if isinstance(obj, Array):
        return _from_array(obj, as_dtype(dtype), device, copy)
    short: Array | None = plain_data(obj, device) if dtype is None and copy is None else None
    if short is None and copy is not False:
        short = from_ndarray(obj, as_dtype(dtype), device)
    if short is not None:
        return short
    target = as_dtype(dtype)
    where = device_or_current(device)
    if copy is False and isinstance(obj, bool | int | float | complex | list | tuple):
        raise ValueError(f"a {type(obj).__name__} cannot become an array without a copy")
    if isinstance(obj, bool | int | float | complex):
        return _from_number(obj, target, where)
    if isinstance(obj, list | tuple):
        made: Array | None = nested_array(obj, target, where)
        return _from_odd(obj, target, device) if made is None else made
    if hasattr(obj, "__dlpack__") and not _is_numpy(obj):
        from phalanx.arrays.interchange import from_dlpack

        result = from_dlpack(obj, device=device, copy=copy)
        return result if target is None else _from_array(result, target, None, copy)
    return _from_host(obj, target, where, copy)


def _from_number(obj: Any, dtype: DType | None, device: Device) -> Array:
    need_number(obj, dtype, "asarray")
    dtype = dtype or default_dtype(obj, device)
    made: Array | None = plain_array((), obj, dtype, device)
    return scalar_array(obj, dtype.name, device) if made is None else made


def _is_numpy(obj: Any) -> bool:
    return type(obj).__module__.partition(".")[0] == "numpy"


def _from_array(
    x: Array, dtype: DType | None, device: str | Device | None, copy: bool | None
) -> Array:
    moves = device is not None and device_or_current(device) is not x.device
    changes = dtype is not None and dtype is not x.dtype
    if copy is False and (moves or changes):
        raise ValueError(
            f"copy=False, but {x.dtype} on {x.device} must be copied for dtype {dtype or x.dtype} "
            f"on {device or x.device}"
        )
    if changes and dtype is not None:
        x = _kept(x, dtype)
    if moves and device is not None:
        return to_device(x, device)
    return copy_array(x) if copy and not changes else x


def _kept(x: Array, dtype: DType) -> Array:
    """The values in another dtype: what it would cut is refused."""
    if x.dtype.kind == "c":
        need_kept(x, dtype, "asarray")
    result = astype(x, dtype)
    if dtype.kind in "iu" and x.size:
        if x.dtype.kind == "f":
            _need_whole(x, result)
        elif x.dtype.kind in "iu":
            _need_held(x, result)
    return result


def _need_whole(x: Array, result: Array) -> None:
    """Refuse floats that the integers made of them do not equal; waits."""
    # beyond the integers a cast gives the last one, which may round back to what it came from
    wide = astype(x, float32, copy=False) if x.dtype.itemsize < float32.itemsize else x
    end = 2.0 ** int(iinfo(result).max).bit_length()
    if not all_true(logical_and(equal(astype(result, wide.dtype), wide), less(wide, end))):
        raise TypeError(
            f"asarray of {x.dtype}: the array holds what does not go into {result.dtype}, "
            "fractions or numbers out of its range; to cut them, write phalanx.astype(x, "
            f"phalanx.{result.dtype})"
        )


def _need_held(x: Array, result: Array) -> None:
    """Refuse integers that those of another dtype do not equal; waits."""
    limits, own = iinfo(result), iinfo(x)
    if limits.min <= own.min and own.max <= limits.max:
        return
    # of one size and two signs, a cast there and back changes nothing
    same_sign = equal(less(result, 0), less(x, 0))
    if not all_true(logical_and(equal(astype(result, x.dtype), x), same_sign)):
        raise OverflowError(
            f"asarray of {x.dtype}: the array holds integers out of bounds for {limits.dtype} "
            f"({limits.min} to {limits.max}); to cut them, write phalanx.astype(x, "
            f"phalanx.{limits.dtype})"
        )


def _from_odd(obj: Any, dtype: DType | None, device: str | Device | None) -> Array:
    """A sequence of something else than plain numbers: arrays are stacked where they are."""
    if _holds_array(obj):
        return _from_array(_stacked(obj), dtype, device, None)
    return _from_host(obj, dtype, device_or_current(device), None)


def _holds_array(obj: Any, depth: int = 64) -> bool:
    """Whether an array is somewhere in a sequence; one deeper than arrays can be has none."""
    if isinstance(obj, list | tuple):
        return depth > 0 and any(_holds_array(o, depth - 1) for o in obj)
    return isinstance(obj, Array)


def _stacked(obj: Any) -> Array:
    """The parts of a sequence with arrays in it, along a new first axis, on the arrays' device."""
    parts = [_stacked(o) if isinstance(o, list | tuple) and _holds_array(o) else o for o in obj]
    arrays = [p for p in parts if isinstance(p, Array)]
    device = arrays[0].device
    dtype = result_type(*(p for p in parts if isinstance(p, Array | bool | int | float | complex)))
    return stack([p if isinstance(p, Array) else _part(p, dtype, device) for p in parts])


def _part(obj: Any, dtype: DType, device: Device) -> Array:
    """A part that is no array, beside those that are: a number takes their dtype."""
    if isinstance(obj, bool | int | float | complex):
        return scalar_array(obj, dtype.name, device)
    return asarray(obj, device=device)


def _from_host(obj: Any, dtype: DType | None, device: Device, copy: bool | None) -> Array:
    """NumPy parses buffers and what is odd in a sequence; numbers are checked against the dtype."""
    import numpy as np

    need_unmasked(obj, "asarray")
    if copy is False and not _is_numpy(obj) and not isinstance(obj, memoryview | bytearray):
        raise ValueError(f"a {type(obj).__name__} cannot become an array without a copy")
    try:
        data = np.asarray(obj)
        if isinstance(obj, list | tuple) and data.size:
            data = _within_range(data, obj, dtype, device)
    except OverflowError:
        raise OverflowError(range_message(obj, dtype)) from None
    except ValueError as error:
        if holds_odd(obj):
            raise TypeError(odd_message(obj, "object")) from None
        raise ValueError(ragged_message(obj) or f"asarray: {error}") from error
    kind, name = data.dtype.kind, data.dtype.name
    if kind not in "biufcV" or (kind == "V" and name.startswith(("void", "record"))):
        raise TypeError(odd_message(obj, name))
    if dtype is None and name not in DTYPES:
        raise TypeError(odd_message(data, name))
    if dtype is not None and data.dtype.name != dtype.name:
        if copy is False:
            raise ValueError(f"copy=False, but {data.dtype} must be converted to {dtype}")
        data = _converted(data, dtype)
    return from_numpy(data, device, copy=copy)


def _within_range(data: Any, nested: Any, dtype: DType | None, device: Device) -> Any:
    """Parse Python ints again where NumPy chose another dtype than asked for (default int64).

    Raises:
        OverflowError: the dtype does not hold one of them.
    """
    import numpy as np

    wanted = dtype.name if dtype is not None and dtype.kind in "iu" else None
    if data.dtype.kind == "O" or data.dtype.name in ("uint64", "float64"):
        if (dtype is None or wanted) and _holds_only(nested, bool, int):
            return np.asarray(nested, dtype=wanted or "int64")
        if data.dtype.kind == "O" and all(isinstance(v, int | float) for v in data.flat):
            return np.asarray(nested, dtype=wanted or default_float(device).name)
        if dtype is None and _holds_only(nested, bool, int, float):
            return data.astype(default_float(device).name)
    elif data.dtype.kind in "iu" and wanted:
        return np.asarray(nested, dtype=wanted)
    return data


def _holds_only(nested: Any, *kinds: type) -> bool:
    """Whether a nested sequence holds numbers of these types alone; stops at the first other."""
    return all(
        _holds_only(v, *kinds) if isinstance(v, list | tuple) else type(v) in kinds for v in nested
    )


def _converted(data: Any, dtype: DType) -> Any:
    """Convert host data, as the device may lack the dtype that they have.

    Raises:
        TypeError: complex numbers for a real dtype, or fractions or NaN for integers.
        OverflowError: integers that the dtype does not hold.
    """
    import numpy as np

    if data.dtype.kind == "c" and dtype.kind not in "cb":
        raise TypeError(
            f"asarray: {data.dtype} to {dtype} drops the imaginary part: use its real part"
        )
    if dtype.kind in "iu" and data.dtype.kind != "b":
        _need_integers(data.astype(np.float32) if data.dtype.kind == "V" else data, dtype)
    with np.errstate(all="ignore"):
        if dtype is bfloat16 and not np.can_cast(data.dtype, np.float32):
            data = _odd_float32(data)
        return data.astype(numpy_dtype(dtype.name))


def _odd_float32(data: Any) -> Any:
    """The numbers in float32: of the two beside one that it does not hold, the odd one.

    To round it to the nearest of a shorter dtype is to round once (Boldo & Melquiond, When double
    rounding is odd, IMACS 2005).
    """
    import numpy as np

    wide = data.astype(np.longdouble)  # holds 64 bits
    near = wide.astype(np.float32)
    rest, bits = wide - near, near.view(np.int32)
    moves = ((rest < 0) | (rest > 0)) & (bits % 2 == 0)
    outward = (rest > 0) == (bits >= 0)
    step = np.where(outward, 1, -1) * moves
    return (bits + step).astype(np.int32).view(np.float32)


def _need_integers(data: Any, dtype: DType) -> None:
    import numpy as np

    how = f"to cut it, write phalanx.astype(phalanx.asarray(x), phalanx.{dtype})"
    if data.dtype.kind == "f":
        odd = data[~(np.isfinite(data) & (np.trunc(data) == data))]
        if odd.size:
            raise TypeError(
                f"asarray: {odd.flat[0]} is no integer and does not go into {dtype}; {how}"
            )
    limits = iinfo(dtype)
    for end in (int(data.min()), int(data.max())) if data.size else ():
        if not limits.min <= end <= limits.max:
            raise OverflowError(
                f"asarray: {end} is out of bounds for {dtype} ({limits.min} to {limits.max}); {how}"
            )
