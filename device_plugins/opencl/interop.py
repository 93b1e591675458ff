"""Sharing memory, queues and contexts with programs that use pyopencl themselves.

Buffers can be shared only within one context. Either make them in ours (`context_of`), or let a
device use yours (`use_context`) before anything else does.
"""

from __future__ import annotations

from typing import Any

from phalanx.errors import DeviceError, DeviceMismatchError
from phalanx.vendor import (
    Array,
    Device,
    DType,
    Stream,
    as_dtype,
    begin_use,
    current_stream,
    find_device,
    host,
    view,
    wrap_host,
)

from .device import OpenCLDevice
from .driver import OpenCLDriver
from .queue import Queue


def use_context(context: Any) -> Device:
    """Let a device work in an existing ``pyopencl.Context``; return the device.

    Raises:
        DeviceError: the context is of several devices or of one that is not listed, or the device
            was used before.
    """
    driver = host().drivers()["opencl"]
    if not isinstance(driver, OpenCLDriver):
        raise DeviceError(
            f"the driver 'opencl' is a {type(driver).__qualname__}, not Phalanx's own"
        )
    index = driver.adopt_context(context)
    device = find_device(f"{driver.name}:{index}")
    device.ensure_open()
    return device


def context_of(device: str | Device) -> Any:
    """Return the ``pyopencl.Context`` of a device."""
    return _open_device(device).context


def queue_of(stream: Stream) -> Any:
    """Return the ``pyopencl.CommandQueue`` of a stream; work put there is not seen by the core."""
    opened = _open_device(stream.device)
    queue: Queue = stream.handle or opened.queue
    queue.be_timed()  # another queue would take its place at the first event with a time
    raw: Any = queue.raw
    return raw


def wrap_queue(queue: Any, device: str | Device) -> Stream:
    """Return a stream over an existing ``pyopencl.CommandQueue``, which it borrows.

    ``close()`` waits for the work and lets the queue go; it is never destroyed. What others put
    into the queue is in order with the stream's work, but ``query()`` does not see it. Events can
    be timed only if the queue was made with ``PROFILING_ENABLE``.

    Raises:
        DeviceMismatchError: the queue belongs to another context or device.
        ValueError: the queue is out of order.
    """
    where = find_device(device)
    opened = _open_device(where)
    if queue.context != opened.context or queue.device != opened.device:
        raise DeviceMismatchError(
            f"the queue belongs to another context or device than {where}",
            remedy="make it in "
            "context_of(device), or call use_context(context) before the device is used",
        )
    if queue.properties & opened.cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE:
        raise ValueError("a stream is in order and this queue is not; make it without that mode")
    return Stream.from_handle(where, opened.take_queue(queue))


def buffer_of(x: Array) -> tuple[Any, int]:
    """Return the ``pyopencl.Buffer`` of an array, and the place of its first element in bytes.

    The work on the array so far is put before what the current stream's queue gets from now on;
    the array must live as long as the buffer is used.
    """
    opened = _open_device(x.device)
    begin_use(current_stream(x.device), x.buffer, None if x.buffer.readonly else x.buffer)
    return opened.buffer(x.buffer.handle), x.offset


def wrap_buffer(
    buffer: Any,
    shape: tuple[int, ...],
    dtype: DType | str,
    device: str | Device,
    *,
    offset: int = 0,
) -> Array:
    """Return a C-contiguous array over a ``pyopencl.Buffer``, which it keeps alive.

    It is read-only if the buffer is. ``offset`` is in elements. The work on the buffer must be
    done, or be in the device's queue.

    Raises:
        DeviceMismatchError: the buffer was made in another context.
        ValueError: the array does not fit into the buffer.
    """
    where = find_device(device)
    opened = _open_device(where)
    kind = as_dtype(dtype)
    if kind is None:
        raise TypeError("wrap_buffer needs a dtype")
    count = 1
    for extent in shape:
        count *= extent
    if buffer.context != opened.context:
        raise DeviceMismatchError(
            f"the buffer was made in another context than that of {where}",
            remedy="make it in "
            "context_of(device), or call use_context(context) before the device is used",
        )
    if min(offset, *shape, 0) < 0 or (offset + count) * kind.itemsize > buffer.size:
        raise ValueError(
            f"an array of shape {shape} and dtype {kind} from element {offset} on does not fit "
            f"into a buffer of {buffer.size} bytes"
        )
    readonly = bool(buffer.flags & opened.cl.mem_flags.READ_ONLY)
    whole = wrap_host(buffer, buffer.int_ptr, kind, (offset + count,), (1,), where, readonly)
    steps: list[int] = []
    step = 1
    for extent in reversed(shape):
        steps.insert(0, step)
        step *= extent
    return view(whole, shape, tuple(steps), offset)


def _open_device(device: str | Device) -> OpenCLDevice:
    where = find_device(device)
    opened = where.ensure_open()
    if not isinstance(opened, OpenCLDevice):
        raise DeviceMismatchError(f"{where} is not a device of the driver 'opencl'")
    return opened
