"""One launch: what a recipe gets from the driver to enqueue its kernels."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phalanx._warm import Array, dtype_from_name, empty, reinterpret
from phalanx.device_code.recipe import Env, Local, Program
from phalanx.driver import Direction, Layout, Operand
from phalanx.errors import LaunchError
from phalanx.optable import OPS, Structure

from .opencl_device import BoundKernel, OpenDevice
from .opencl_queue import Queue
from .opencl_streams import noting_loss

if TYPE_CHECKING:
    from phalanx._warm import Kernel, Stream

_pack_signed = struct.Struct("<q").pack
_pack_unsigned = struct.Struct("<Q").pack


class LaunchEnv(Env):
    """The environment of one launch of a kernel on a stream."""

    __slots__ = ("_device", "_label", "_queue", "_stream", "traits")

    def __init__(self, device: OpenDevice, queue: Queue, stream: Stream, label: Kernel) -> None:
        self.traits = device.traits
        self._device = device
        self._queue = queue
        self._stream = stream
        self._label = label

    def _what(self) -> str:
        return f"{self._label.op}({', '.join(self._label.dtypes)})"

    def kernel(self, program: Program, name: str) -> BoundKernel:
        """Return a kernel of a program, compiled at first use."""
        found = self._device._kernels.get((program, name))
        return self._device.kernel(program, name, self._what()) if found is None else found

    def enqueue(
        self,
        kernel: BoundKernel,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: Array | int | bytes | Local,
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
            elif kind is Local:
                values.append(self._local(arg.size))
            else:
                raise TypeError(
                    f"{self._what()}: a kernel argument is an array, an int, bytes or Local, "
                    f"not {kind.__name__}"
                )
        return values

    def _local(self, size: int) -> Any:
        """Return a local argument; some runtimes take more than there is, and overwrite memory."""
        if size > self.traits.local_memory:
            raise LaunchError(
                f"{self._what()} on {self._device.name} needs {size} bytes of local memory and the "
                f"device has {self.traits.local_memory}; take smaller work-groups"
            )
        return self._device.cl.LocalMemory(size)

    def scratch(self, count: int, dtype: str) -> Array:
        """Return a new array from the device's pool."""
        return empty((count,), dtype_from_name(dtype), self._stream.device, self._stream)

    def view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
    ) -> Array:
        """Return another view of an array's memory."""
        return reinterpret(array, array.dtype, shape, strides, offset * array.itemsize)

    def run(
        self,
        op: str,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...] = (),
        *,
        dtypes: tuple[str, ...] | None = None,
    ) -> None:
        """Enqueue another op; see `Env.run`."""
        if dtypes is None:
            arrays: list[Any] = [*inputs, *outputs]
            dtypes = tuple(array.dtype.name for array in arrays)
        layout = _layout(op, inputs, outputs)
        self._device.needed_recipe(op, dtypes, layout).launch(self, inputs, outputs, params)

    def read_int(self, array: Array, index: int = 0) -> int:
        """Return an element of a contiguous array; waits for the stream."""
        import ctypes

        size = array.itemsize
        room = ctypes.create_string_buffer(size)
        self._device.copy(
            Direction.DEVICE_TO_HOST,
            (ctypes.addressof(room), 0),
            (array.buffer.handle, array.offset + index * size),
            size,
            self._queue,
        )
        with noting_loss(self._device):
            self._queue.finish(None)
        return int.from_bytes(room.raw, "little", signed=array.dtype.kind == "i")

    def group_limit(self, kernel: BoundKernel) -> int:
        """Return the largest work-group for a kernel."""
        return kernel.limit


def _layout(op: str, inputs: Sequence[Operand], outputs: Sequence[Array]) -> Layout:
    """Return the layout whose canonical form the operands of an op have."""
    if OPS[op].structure is not Structure.ELEMENTWISE:
        return Layout.ANY
    out = outputs[0]
    arrays = [x for x in inputs if isinstance(x, Array)]
    dense = out.is_contiguous and all(x.is_contiguous and x.size in (1, out.size) for x in arrays)
    return Layout.CONTIGUOUS if dense else Layout.STRIDED
