"""One launch: what a recipe gets from the driver to enqueue its kernels."""

from __future__ import annotations

import ctypes
import struct
from typing import TYPE_CHECKING, Any

from phalanx.device_code.env import Env
from phalanx.device_code.recipe import Program, Recipe
from phalanx.vendor import Array, Kernel, Layout, Place, Stream

from .queue import Queue

if TYPE_CHECKING:
    from .device import CudaDevice

_pack_signed = struct.Struct("<q").pack
_pack_unsigned = struct.Struct("<Q").pack
#: Bytes between the beginnings of arguments: what any type of C may ask for.
_STEP = 16


class BoundKernel:
    """A kernel of a program that is loaded; ``limit`` is its largest group."""

    __slots__ = ("limit", "module", "name", "raw")

    def __init__(self, raw: Any, name: str, limit: int, module: Any) -> None:
        self.raw = raw
        self.name = name
        self.limit = limit
        self.module = module


class LaunchEnv(Env):
    """The environment of one launch of a kernel on a stream."""

    __slots__ = ("_device", "_label", "_queue")

    def __init__(self, device: CudaDevice, queue: Queue, stream: Stream, label: Kernel) -> None:
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
        block = local_size or (min(kernel.limit, global_size[0]), *(1,) * (len(global_size) - 1))
        grid = tuple(map(_groups, global_size, block))
        device = self._device
        room, pointers = self._packed(args)
        code = self._queue.put(
            self._label,
            device.launch_function,
            kernel.raw,
            *(*grid, 1, 1)[:3],
            *(*block, 1, 1)[:3],
            0,
            self._queue.raw,
            pointers,
            device.null,
        )
        del room  # held until the driver has copied the arguments
        if code:
            raise device.failure(
                device.api.error(code, "cuLaunchKernel"),
                f"launch of {kernel.name} for {self._what()} with {grid} groups of {block}",
            )

    def _packed(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the arguments in memory, and a pointer to each."""
        values: list[bytes] = []
        for arg in args:
            kind = type(arg)
            if kind is Array:
                values.append(_pack_unsigned(arg.buffer.handle))
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
        ffi = self._device.api.ffi
        places, size = [], 0
        for value in values:
            places.append(size)
            size += -(-len(value) // _STEP) * _STEP
        room = ffi.new("char[]", size + _STEP)
        first = int(ffi.cast("uintptr_t", room))
        first += -first % _STEP
        begin = first - int(ffi.cast("uintptr_t", room))
        whole = ffi.buffer(room)
        for place, value in zip(places, values, strict=True):
            whole[begin + place : begin + place + len(value)] = value
        pointers = ffi.new("void *[]", [ffi.cast("void *", first + place) for place in places])
        return room, pointers

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        """Return how the device computes an op."""
        return self._device.table.recipe(op, dtypes, layout)

    def read_int(self, array: Array, index: int = 0) -> int:
        """Return an element of a contiguous array; waits for the stream."""
        size = array.itemsize
        room = ctypes.create_string_buffer(size)
        host = Place(None, ctypes.addressof(room))
        source = Place(self._device, array.buffer.handle, array.offset + index * size)
        self._device.move(host, source, size, self._queue)
        self._device.finish(self._queue, None)
        return int.from_bytes(room.raw, "little", signed=array.dtype.kind == "i")

    def group_limit(self, kernel: BoundKernel) -> int:
        """Return the largest group for a kernel."""
        return kernel.limit


def _groups(items: int, size: int) -> int:
    groups, rest = divmod(items, size)
    if rest:
        raise ValueError(f"{items} work-items do not fill groups of {size}")
    return groups
