"""Moving elements between devices, the host and Python."""

from __future__ import annotations

import ctypes
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from phalanx._warm import (
    Array,
    Device,
    DType,
    Stream,
    assign,
    current_stream,
    dtype_from_name,
    empty,
    enqueue_copy,
    fill,
    keep_behind,
    note_host_range,
    read_in_place,
    reinterpret,
    to_ndarray,
    wait_for_host,
    wait_for_others,
    wrap_host,
)

from .scalars import from_bytes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def contiguous(x: Array) -> Array:
    """Return the array in C order without gaps: itself if it is so already."""
    if x.is_contiguous:
        return x
    result = empty(x.shape, x.dtype, x.device)
    assign(result, x)
    return result


def read_bytes(x: Array) -> bytes:
    """Return the elements in C order as bytes; waits for the device."""
    target = bytearray(x.nbytes)
    if target:
        room = ctypes.c_char.from_buffer(target)
        copy_to_host(contiguous(x), ctypes.addressof(room), room)
    return bytes(target)


def copy_to_host(x: Array, address: int, owner: object) -> None:
    """Write the bytes of a contiguous array to a host address, and wait for it.

    ``owner`` keeps the host's memory: longer than the call if the wait is interrupted.
    """
    if x.nbytes == 0:
        return
    if x.device.host_addressable:
        wait_for_host(x.buffer)
        ctypes.memmove(address, x.buffer.handle + x.offset, x.nbytes)
        return
    stream = current_stream(x.device)
    wait_for_others(x.buffer, stream)
    enqueue_copy(stream, address, x, x.nbytes)
    _finish_copy(stream, owner)


def copy_from_host(x: Array, address: int, owner: object, *, stream: Stream | None = None) -> None:
    """Fill a contiguous array from a host address; the host may reuse its memory on return.

    ``owner`` keeps the host's memory: longer than the call if the wait is interrupted.
    """
    if x.nbytes == 0:
        return
    stream = stream or current_stream(x.device)
    enqueue_copy(stream, x, address, x.nbytes)
    if not (stream.is_default and x.device.synchronous):
        _finish_copy(stream, owner)


def _finish_copy(stream: Stream, owner: object) -> None:
    try:
        stream.synchronize()
    except BaseException:
        keep_behind(stream, owner)
        raise


def to_device(x: Array, device: str | Device, *, stream: Stream | None = None) -> Array:
    """Return the array on a device: itself if it is there already, else a contiguous copy.

    Raises:
        DeviceNotFoundError: no such device.
        DeviceMismatchError: the stream belongs to another device.
    """
    from phalanx.discovery.devices import find_device
    from phalanx.errors import DeviceMismatchError

    target = find_device(device)
    if stream is not None and not isinstance(stream, Stream):
        raise TypeError(f"stream takes a phalanx.Stream of {target}, got {type(stream).__name__}")
    if stream is not None and stream.device is not target:
        raise DeviceMismatchError(
            f"a stream of {stream.device} does not serve a copy to {target}",
            remedy=f'make one with phalanx.Stream("{target}")',
        )
    if target is x.device:
        return x
    source = contiguous(x)
    result = empty(x.shape, x.dtype, target, stream)
    if source.device.host_addressable:
        wait_for_host(source.buffer)
        copy_from_host(result, source.buffer.handle + source.offset, source, stream=stream)
        return result
    if target.host_addressable:
        # the source's device writes the result itself, once earlier work on its memory is done
        (stream or current_stream(target)).synchronize()
        copy_to_host(source, result.buffer.handle + result.offset, result)
        return result
    if _reaches(target, x.device):
        stream = stream or current_stream(target)
        wait_for_host(source.buffer)
        enqueue_copy(stream, result, source, source.nbytes)
        _finish_copy(stream, source)
        return result
    import numpy as np

    room = np.empty(x.nbytes, np.uint8)
    copy_to_host(source, room.ctypes.data, room)
    copy_from_host(result, room.ctypes.data, room, stream=stream)
    return result


def _reaches(target: Device, source: Device) -> bool:
    """Return whether one device copies another one's memory by itself."""
    if target.driver is not source.driver:
        return False
    return target.ensure_open().reaches(source.ensure_open())


def mirror(x: Array, device: Device, *, whole: bool = False) -> Array:
    """Return the same view over a copy of the memory on another device, without any kernel.

    Copies the bytes that the view spans, or the ``whole`` buffer.
    """
    low, high = _span(x, whole)
    uint8 = dtype_from_name("uint8")
    raw = reinterpret(x, uint8, (high - low,), (1,), low - x.offset)
    copied = to_device(raw, device)
    return reinterpret(copied, x.dtype, x.shape, x.strides, x.offset - low)


def write_back(x: Array, copied: Array, *, whole: bool = False) -> int:
    """Bring the memory of a ``mirror`` back to where it came from; return its bytes."""
    low, high = _span(x, whole)
    uint8 = dtype_from_name("uint8")
    raw = reinterpret(copied, uint8, (high - low,), (1,), low - x.offset)
    back = to_device(raw, x.device)
    target = reinterpret(x, uint8, (high - low,), (1,), low - x.offset)
    enqueue_copy(current_stream(x.device), target, back, high - low)
    return high - low


def _span(x: Array, whole: bool) -> tuple[int, int]:
    """First and one past the last byte that a view, or its ``whole`` buffer, covers."""
    if whole:
        return x.buffer.offset, x.buffer.offset + x.buffer.size
    if x.size == 0:
        return x.offset, x.offset
    low = sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(x.shape, x.strides, strict=True) if s > 0)
    return x.offset + low * x.itemsize, x.offset + (high + 1) * x.itemsize


def scalar_array(value: bool | int | float | complex, dtype: str, device: Device) -> Array:
    """Return a 0-d array that holds a Python number."""
    result = empty((), dtype_from_name(dtype), device)
    fill(result, value)
    return result


def fill_from_host(x: Array, element: bytes) -> None:
    """Fill a contiguous array with one element, for devices without a kernel that could."""
    room = ctypes.create_string_buffer(element * x.size, x.nbytes)
    copy_from_host(x, ctypes.addressof(room), room)


# Python numbers


def item(x: Array) -> Any:
    """Return the only element as a Python number."""
    if x.size != 1:
        raise ValueError(
            f"item() needs exactly one element, got shape {x.shape}; index one, or use tolist()"
        )
    if x.device.host_addressable:
        return read_in_place(x)
    return from_bytes(read_bytes(x), x.dtype.name)


def tolist(x: Array) -> Any:
    """Return nested lists of Python numbers, or a number for 0-d."""
    if x.ndim == 0:
        return item(x)
    if x.dtype.name == "bfloat16":
        return asnumpy(x).astype("float32").tolist()
    return asnumpy(x).tolist()


def _only(x: Array, kind: str) -> Any:
    if x.ndim != 0:
        raise TypeError(f"only 0-d arrays convert to {kind}, got shape {x.shape}; index one first")
    return item(x)


def to_bool(x: Array) -> bool:
    """Return the truth of an array of one element."""
    if x.size != 1:
        raise TypeError(
            f"the truth of an array of shape {x.shape} is ambiguous: use phalanx.any or "
            "phalanx.all, and & | ~ for `and`, `or`, `not`"
        )
    return bool(item(x))


def to_int(x: Array) -> int:
    """Return a 0-d array as an int; NaN and infinity raise as ``int`` does."""
    value = _only(x, "int")
    if isinstance(value, complex):
        raise TypeError("a complex array does not convert to int: use phalanx.real(x)")
    return int(value)


def to_float(x: Array) -> float:
    """Return a 0-d array as a float."""
    value = _only(x, "float")
    if isinstance(value, complex):
        raise TypeError("a complex array does not convert to float: use phalanx.real(x)")
    return float(value)


def to_complex(x: Array) -> complex:
    """Return a 0-d array as a complex."""
    return complex(_only(x, "complex"))


def to_index(x: Array) -> int:
    """Return a 0-d integer array as an index."""
    if x.dtype.kind not in "iu":
        raise TypeError(f"only integer arrays are indices, got {x.dtype.name}; write int(x)")
    value: int = _only(x, "an index")
    return value


# NumPy


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype; bfloat16 comes from the package ml_dtypes."""
    import numpy as np

    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise TypeError(
            "NumPy has no bfloat16: install the package ml_dtypes, or convert with "
            "phalanx.astype(x, phalanx.float32)"
        ) from error
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


def asnumpy(x: Array) -> npt.NDArray[Any]:
    """Return the elements as a new NumPy array on the host; waits for the device.

    bfloat16 needs the package ml_dtypes.

    Raises:
        DeviceLostError, LaunchError: earlier work failed; the message names it.
        TypeError: ``x`` is no array, or bfloat16 without the package ml_dtypes.

    Examples:
        >>> px.asnumpy(px.asarray([1, 2]) + 1)
        array([2, 3])
    """
    import numpy as np

    if not isinstance(x, Array):
        raise TypeError(f"asnumpy takes a phalanx array, got {type(x).__name__}; use numpy.asarray")
    result = np.empty(x.shape, dtype=numpy_dtype(x.dtype.name))
    if not to_ndarray(x, result):
        copy_to_host(contiguous(x), result.ctypes.data, result)
    return result


@cache
def _dtype_of(dtype: np.dtype[Any]) -> DType:
    """NumPy makes the name of a dtype anew each time."""
    return dtype_from_name(dtype.name)


def from_numpy(data: npt.NDArray[Any], device: Device, *, copy: bool | None) -> Array:
    """Return an array with the elements of a NumPy array, sharing memory only if ``copy`` is False.

    Raises:
        TypeError: a dtype that Phalanx does not have.
        ValueError: ``copy=False`` and the memory cannot be shared.
    """
    dtype = _dtype_of(data.dtype)
    if copy is False:
        if not _is_shareable(data):
            raise ValueError(
                f"copy=False, but memory of dtype {data.dtype} and strides {data.strides} is not "
                "aligned elements in native byte order"
            )
        strides = tuple(s // dtype.itemsize for s in data.strides)
        readonly = not data.flags.writeable
        shared = share_host(
            data, data.ctypes.data, dtype, data.shape, strides, device, readonly=readonly
        )
        if shared is None:
            raise ValueError(f"memory cannot be shared between the host and {device}: copy=None")
        return shared
    if not data.dtype.isnative:
        data = data.astype(data.dtype.newbyteorder("="))
    shape = data.shape  # ascontiguousarray would turn 0-d into 1-d
    import numpy as np

    source = np.ascontiguousarray(data)
    result = empty(shape, dtype, device)
    copy_from_host(result, source.ctypes.data, source)
    return result


def share_host(
    owner: Any,
    address: int,
    dtype: DType,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    device: Device,
    *,
    readonly: bool = False,
) -> Array | None:
    """Return an array over host memory that ``owner`` keeps, ``None`` if the device must copy it.

    ``address`` is that of the first element, ``strides`` are in elements.
    """
    opened = device.ensure_open()
    if device.host_addressable:
        return wrap_host(owner, address, dtype, shape, strides, device, readonly)
    if 0 in shape:
        return empty(shape, dtype, device)
    reaches = [(n - 1) * s * dtype.itemsize for n, s in zip(shape, strides, strict=True)]
    low = sum(r for r in reaches if r < 0)
    size = sum(r for r in reaches if r > 0) - low + dtype.itemsize
    adopted = opened.adopt_host(address + low, size, owner)
    if adopted is None:
        return None
    handle, offset = adopted.handle, adopted.offset
    uint8 = dtype_from_name("uint8")
    whole = wrap_host(owner, handle, uint8, (offset + size,), (1,), device, readonly)
    whole.buffer.on_release(partial(opened.release_host, handle))
    note_host_range(whole.buffer, address + low, size)
    return reinterpret(whole, dtype, shape, strides, offset - low)


def _is_shareable(data: npt.NDArray[Any]) -> bool:
    whole = all(s % data.itemsize == 0 for s in data.strides)
    return data.dtype.isnative and data.flags.aligned and whole


def to_numpy_protocol(x: Array, dtype: Any, copy: bool | None) -> npt.NDArray[Any]:
    """``numpy.asarray(x)``: allowed where the host can address the memory.

    Raises:
        TypeError: the array lies on another device; copying it must be asked for.
        ValueError: ``copy=False`` and a copy is needed.
    """
    import numpy as np

    if not x.device.host_addressable:
        raise TypeError(
            f"an array on {x.device} does not convert to NumPy by itself; use phalanx.asnumpy(x)"
        )
    own = numpy_dtype(x.dtype.name)
    if copy is False and dtype is not None and dtype != own:
        raise ValueError(f"copy=False, but {x.dtype} must be copied for {dtype}")
    if copy:
        result = asnumpy(x)
    elif x.dtype.name == "bfloat16":  # NumPy takes none through DLPack
        bits = reinterpret(x, dtype_from_name("uint16"), x.shape, x.strides, 0)
        result = np.from_dlpack(bits).view(own)
    else:
        result = np.from_dlpack(x)
    return result if dtype is None else result.astype(dtype, copy=False)
