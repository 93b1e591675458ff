"""One launch: what a recipe gets from the driver to enqueue its kernels."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from phalanx.device_code.env import Env
from phalanx.device_code.recipe import Program, Recipe
from phalanx.vendor import Array, Kernel, Layout, Place, Stream

from .queue import Queue

if TYPE_CHECKING:
    from .device import BoundKernel, OpenCLDevice

_pack_signed = struct.Struct("<q").pack
_pack_unsigned = struct.Struct("<Q").pack


class LaunchEnv(Env):
    """The environment of one launch of a kernel on a stream."""

    __slots__ = ("_device", "_label", "_queue")

    def __init__(self, device: OpenCLDevice, queue: Queue, stream: Stream, label: Kernel) -> None:
        super().__init__(device.traits, stream)
        self._device = device
        self._queue = queue
        self._label = label

    def _what(self) -> str:
        return f"{self._label.op}({', '.join(self._label.dtypes)})"

    def kernel(self, program: Program, name: str) -> BoundKernel:
        """Return a kernel of a program, compiled at first use."""
        found = self._device.bound.get((program, name))
        return self._device.bound_kernel(program, name, self._what()) if found is None else found

    def enqueue(
        self,
        kernel: BoundKernel,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: Array | int | bytes,
    ) -> None:
        """Enqueue a kernel; see `Env.enqueue`."""
        if 0 in global_size:
            return
        device = self._device
        values = self._values(args)
        cl = device.cl
        set_bytes, set_arg = kernel.set_bytes, kernel.set_arg
        try:
            with device.lock:
                for place, value in enumerate(values):
                    if type(value) is bytes:
                        set_bytes(place, value)
                    else:
                        set_arg(place, value)
                self._queue.put(
                    self._label, cl.enqueue_nd_range_kernel, kernel.raw, global_size, local_size
                )
        except cl.Error as error:
            what = (
                f"launch of {kernel.name} for {self._what()} with global size {global_size} and "
                f"local size {local_size}"
            )
            raise device.failure(error, what) from error

    def _values(self, args: tuple[Any, ...]) -> list[Any]:
        """Return the runtime's form of the arguments."""
        memory = self._device.memory
        values: list[Any] = []
        for arg in args:
            kind = type(arg)
            if kind is Array:
                handle = arg.buffer.handle
                values.append(memory.get(handle) or self._device.buffer(handle))
                values.append(_pack_signed(arg.offset // arg.itemsize))
            elif kind is int:
                values.append(_pack_signed(arg) if arg < 2**63 else _pack_unsigned(arg))
            elif kind is bytes:
                values.append(arg)
            else:
                raise TypeError(
                    f"{self._what()}: a kernel argument is an array, an int or bytes, not "
                    f"{kind.__name__}"
                )
        return values

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        """Return how the device computes an op."""
        return self._device.table.recipe(op, dtypes, layout)

    def read_int(self, array: Array, index: int = 0) -> int:
        """Return an element of a contiguous array; waits for the stream."""
        import ctypes

        size = array.itemsize
        room = ctypes.create_string_buffer(size)
        host = Place(None, ctypes.addressof(room))
        source = Place(self._device, array.buffer.handle, array.offset + index * size)
        self._device.move(host, source, size, self._queue)
        with self._device.noting_loss():
            self._queue.finish(None)
        return int.from_bytes(room.raw, "little", signed=array.dtype.kind == "i")

    def group_limit(self, kernel: BoundKernel) -> int:
        """Return the largest work-group for a kernel."""
        return kernel.limit
