"""One launch: how a recipe's kernels get into a queue of OpenCL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code import launch
from phalanx.device_code.late import Explain
from phalanx.vendor import Array, Place

if TYPE_CHECKING:
    from .device import BoundKernel


class LaunchEnv(launch.LaunchEnv):
    """The environment of one launch of a kernel on a stream."""

    __slots__ = ()

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
        local_size = launch.fitted(kernel.limit, local_size)
        device = self._device
        memory, buffer = device.memory, device.buffer

        def memory_of(array: Array) -> object:
            handle = array.buffer.handle
            return memory.get(handle) or buffer(handle)

        values = self.flat(args, memory_of)
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
                f"launch of {kernel.name} for {self.what()} with global size {global_size} and "
                f"local size {local_size}"
            )
            raise device.failure(error, what) from error

    def check_later(self, found: Array, explain: Explain) -> None:
        """Look at numbers behind the work so far; see `Env.check_later`."""
        place = Place(self._device, found.buffer.handle, found.offset)
        self._device.check_later(self._queue, place, found.nbytes, explain, found)

    def is_aligned(self, array: Array, size: int) -> bool:
        """Return whether an array's first element lies at a multiple of some bytes."""
        return array.offset % size == 0  # a handle is the runtime's pointer to a buffer
