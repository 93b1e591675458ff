"""DLPack: taking arrays from other libraries and giving them."""

from __future__ import annotations

from typing import Any

from phalanx._warm import (
    Array,
    Device,
    begin_use,
    current_stream,
    let_queue_wait,
    open_capsule,
    same_view,
    share_uses,
    wait_for_host,
    wrap_host,
    wrap_imported,
)
from phalanx._warm import copy as copy_array

from .refusals import need_unmasked
from .transfer import contiguous, share_host, to_device

_CPU = (1, 0)
_OF_INTERFACE = 2  # kDLCUDA: whose memory __cuda_array_interface__ is about


def prepare_export(
    x: Array, stream: Any, dl_device: tuple[int, int] | None, copy: bool | None
) -> tuple[Array, bool]:
    """Return the array to export and whether it is a copy, ready for the consumer to read.

    Raises:
        BufferError: the wish cannot be met without a copy, and ``copy`` is False.
        ValueError: a stream for memory that has none.
    """
    own = x.__dlpack_device__()
    try:
        wanted = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    except (TypeError, ValueError):
        raise TypeError(
            "dl_device is a pair of DLPack's numbers for type and device, such as (1, 0) for the "
            f"CPU, got {dl_device!r}"
        ) from None
    if wanted != own:
        if wanted[0] == _CPU[0] and not copy and (shared := _on_host(x)) is not None:
            return shared, False
        if wanted[0] != _CPU[0] or copy is False:
            why = "without a copy" if wanted[0] == _CPU[0] else "only to its own and to (1, 0)"
            raise BufferError(
                f"an array on {x.device} cannot be exported to DLPack device {wanted}, {why}"
            )
        from phalanx.dispatch.fallback import fallback_device

        host = fallback_device(x.device)
        if host is None:
            raise BufferError(f"no CPU device is there to export an array on {x.device} through")
        return to_device(x, host), True
    if own[0] == _CPU[0] and stream is not None:
        raise ValueError("stream must be None for memory of the CPU")
    if copy:
        x = copy_array(x)
    # The consumer may write, so the queued readers are waited for as well.
    if _number(x.device) is not None:
        _hand_over(x, stream)
    elif x.device.synchronous and stream is None:
        wait_for_host(x.buffer, not is_readonly(x))
    else:
        x.device.synchronize()
    return x, bool(copy)


def _number(device: Device) -> int | None:
    """Return the number by which others know the current stream of a device, if they do."""
    handle = current_stream(device).handle
    number: int | None = device.ensure_open().stream_number(handle)
    return number


def _hand_over(x: Array, stream: int | None) -> None:
    """Let a consumer's stream wait for the work on an array.

    ``stream`` is DLPack's: ``None`` the legacy default one (1), -1 that nobody waits.

    Raises:
        ValueError: a number that stands for no stream.
    """
    if stream == -1:
        return
    if stream is not None and (isinstance(stream, bool) or not isinstance(stream, int)):
        raise TypeError(f"stream is a number, as in stream.ptr of CuPy, or None, not {stream!r}")
    if stream is not None and stream <= 0:
        raise ValueError(
            f"stream {stream} is none: DLPack has 1 for the default stream, -1 for no wait"
        )
    current = current_stream(x.device)
    begin_use(current, x.buffer, None if is_readonly(x) else x.buffer)
    let_queue_wait(current, 1 if stream is None else stream)


def cuda_array_interface(x: Array) -> dict[str, Any]:
    """Return what Numba and others read of an array in CUDA memory (interface version 3).

    Its work is put in front of what the current stream gets from now on; a consumer waits for that
    stream.

    Raises:
        AttributeError: the memory is not CUDA's, or the dtype is none of NumPy's.
    """
    if x.__dlpack_device__()[0] != _OF_INTERFACE:
        raise AttributeError(f"an array on {x.device} has no __cuda_array_interface__")
    if x.dtype.name == "bfloat16":
        raise AttributeError("bfloat16 has no __cuda_array_interface__; use __dlpack__")
    import numpy as np

    begin_use(current_stream(x.device), x.buffer, None if is_readonly(x) else x.buffer)
    kind = np.dtype(x.dtype.name)
    return {
        "version": 3,
        "shape": x.shape,
        "typestr": kind.str,
        "strides": tuple(step * kind.itemsize for step in x.strides),
        "data": (x.buffer.handle + x.offset, is_readonly(x)),
        "stream": _number(x.device),
    }


def is_readonly(x: Array) -> bool:
    """Whether writing through an array is refused."""
    return x.readonly or x.buffer.readonly


def _on_host(x: Array) -> Array | None:
    """Return an array of the host's over the same memory, ``None`` if the host cannot reach it.

    Waits for the work on ``x``, which the result keeps alive.
    """
    from phalanx.discovery.devices import devices

    address = x.device.ensure_open().host_address(x.buffer.handle)
    host = next((device for device in devices() if device.host_addressable), None)
    if address is None or host is None:
        return None
    x.device.synchronize()
    host.ensure_open()
    at = address + x.offset
    found: Array = wrap_host(x, at, x.dtype, x.shape, x.strides, host, is_readonly(x))
    share_uses(found.buffer, x.buffer)
    return found


def _capsule(obj: Any, target: Device | None, copy: bool | None) -> Any:
    """Call ``__dlpack__`` with what its age understands."""
    wish: dict[str, Any] = {"max_version": (1, 1)}
    where = obj.__dlpack_device__()
    if where[0] != _CPU[0]:
        taker = _standing_for(where, target)
        if target is not None and target.host_addressable:
            wish["dl_device"] = _CPU  # which has no streams
        elif taker is not None and (number := _number(taker)) is not None:
            wish["stream"] = number
    if copy is not None:
        wish["copy"] = copy
    try:
        return obj.__dlpack__(**wish)
    except TypeError:
        if "dl_device" in wish:
            raise BufferError(
                f"{type(obj).__name__} is on DLPack device {where} and too old "
                "to copy itself to the host: copy it there first"
            ) from None
        return obj.__dlpack__(**{"stream": wish["stream"]} if "stream" in wish else {})


def _owner_of(dl_device: tuple[int, int], target: Device | None) -> Device:
    """The device that can use memory of a DLPack device in place."""
    device = _standing_for(dl_device, target)
    if device is None:
        raise BufferError(
            f"no Phalanx device stands for DLPack device {dl_device}; see `phalanx devices`"
        )
    return device


def _standing_for(dl_device: tuple[int, int], target: Device | None) -> Device | None:
    from phalanx.discovery.devices import devices, get_device

    candidates = [d for d in (target, get_device()) if d is not None]
    for device in (*candidates, *devices()):
        if device.info.dlpack_device == tuple(dl_device):
            return device
        if dl_device[0] == _CPU[0] and device.host_addressable:
            return device
    return None


def _moved_in_place(x: Array, device: Device) -> Array | None:
    """Return the same memory as an array on another device, ``None`` if that needs a copy."""
    if not x.device.host_addressable:
        return None
    address = x.buffer.handle + x.offset
    return share_host(x, address, x.dtype, x.shape, x.strides, device, readonly=is_readonly(x))


def from_dlpack(
    x: Any, /, *, device: str | Device | None = None, copy: bool | None = None
) -> Array:
    """Return an array over the memory of another library's array, without a copy where possible.

    Args:
        x: an object with ``__dlpack__`` and ``__dlpack_device__``.
        device: where the result shall be (default: where the memory is).
        copy: ``True`` copies always, ``False`` never, ``None`` only if needed.

    Raises:
        BufferError: the exporter refuses, the dtype is unknown, or ``copy=False`` cannot be kept.
        TypeError: ``x`` does not speak DLPack.

    Examples:
        >>> import numpy as np
        >>> data = np.zeros(3)
        >>> x = px.from_dlpack(data)  # the same memory
        >>> data[0] = 5
        >>> print(x)
        [5. 0. 0.]
    """
    if isinstance(x, Array) and device is None and not copy:
        same: Array = same_view(x)
        return same
    from phalanx.discovery.devices import find_device

    need_unmasked(x, "from_dlpack")
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise TypeError(
            f"{type(x).__name__} has no __dlpack__; use phalanx.asarray for other objects"
        )
    target = None if device is None else find_device(device)
    found = open_capsule(_capsule(x, target, copy))
    owner = _owner_of(found.device, target)
    result = wrap_imported(found, owner)
    if found.device[0] != _CPU[0] and _number(owner) is not None:
        # The producer has let our current stream wait for its work: so must our others.
        begin_use(current_stream(owner), None, result.buffer)
    must_copy = (copy is True and not found.copied) or not found.aligned
    moves = target is not None and target is not owner
    if moves and target is not None and copy is not True and found.aligned:
        shared = _moved_in_place(result, target)
        if shared is not None:
            return shared
    if copy is False and (moves or not found.aligned):
        raise BufferError(
            f"copy=False, but the memory is on {owner}"
            + (f" and the result is wanted on {target}" if moves else " and not aligned")
        )
    if moves and target is not None:
        return to_device(contiguous(result), target)
    return copy_array(result) if must_copy else result
