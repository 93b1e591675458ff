"""The sound device that the faulty ones are made from.

Its kernels are those of ``cpu:0``, so it conforms at every level; all else is as far from ``cpu:0``
as a driver can be: handles are small numbers and not addresses, streams are threads that run behind
the calls, memory is poisoned when it is given and when it is taken back, and an access outside a
block is an error.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from phalanx._warm import Array, Device, Kernel, Stream
from phalanx.conformance.reference.formats import host_dtype
from phalanx.driver import Capability, DeviceInfo, DeviceKind, Direction, Driver, Feature, Layout
from phalanx.errors import ClosedError, LaunchError, OutOfMemoryError

from .streams import EventHandle, Marker, Task, Worker
from .work import HostArray, Work, compute

NAME = "faulty"
#: Bytes of each device.
MEMORY = 1 << 30
_ALIGNMENT = 64
_POISON = 0xDB
#: Bytes at either end of a block that are poisoned; all of a large one would take long.
_POISONED = 1 << 20
#: Seconds before a task on a stream other than the default one.
_LATENCY = 1e-4
_KEPT = Feature.FP64 | Feature.FP16 | Feature.SUBNORMALS
_PATTERNS = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Tensor:
    """An operand without a hold on its memory: what the device's command queue carries."""

    handle: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


class SoundDriver(Driver):
    """Two devices; ``cpu`` is the opened ``cpu:0``."""

    name = NAME
    capabilities = Capability.STREAMS | Capability.EVENT_TIMING

    def __init__(self, cpu: Device) -> None:
        self.cpu = cpu
        self.launches = 0
        self._lock = threading.RLock()
        self._blocks: dict[int, HostArray] = {}
        self._owners: dict[int, int] = {}
        self._next_handle = 1
        self._workers: dict[int, list[Worker]] = {}
        self._kernels: dict[tuple[str, tuple[str, ...], Layout], Kernel] = {}

    # Devices

    def device_count(self) -> int:
        return 2

    def device_info(self, index: int) -> DeviceInfo:
        return DeviceInfo(
            f"Device {index} of the self-test",
            DeviceKind.ACCELERATOR,
            self.cpu.info.features & _KEPT,
            total_memory=MEMORY,
            max_allocation=MEMORY // 4,
            alignment=_ALIGNMENT,
            uuid=b"phalanx selftest"[:15] + bytes([index]),
            dlpack_device=(12, index),
            vendor="Phalanx",
        )

    def open(self, index: int) -> None:
        with self._lock:
            if index not in self._workers:
                self._workers[index] = [self.worker(f"default stream of {self.name}:{index}")]

    def close(self, index: int) -> None:
        with self._lock:
            workers = self._workers.pop(index, [])
        for worker in workers:
            worker.stop()

    def synchronize(self, index: int, timeout: float | None = None) -> None:
        for worker in list(self._opened(index)):
            worker.synchronize(timeout)

    def _opened(self, index: int) -> list[Worker]:
        try:
            return self._workers[index]
        except KeyError:
            raise ClosedError(
                f"{self.name}:{index} is not open; Device.ensure_open() opens it"
            ) from None

    # Memory

    def alloc(self, index: int, size: int) -> int:
        with self._lock:
            if size > min(self.free_bytes(index), self.device_info(index).max_allocation):
                raise OutOfMemoryError(f"{self.name}:{index}: no {size} bytes", size=size)
            whole = np.empty(size + _ALIGNMENT, np.uint8)
            block = whole[-whole.ctypes.data % _ALIGNMENT :][:size]
            poison(block)
            handle, self._next_handle = self._next_handle, self._next_handle + 1
            self._blocks[handle], self._owners[handle] = block, index
        return handle

    def free(self, index: int, handle: int) -> None:
        with self._lock:
            if self._owners.get(handle) != index:
                raise LaunchError(f"{self.name}:{index}: free of an unknown handle {handle}")
            del self._owners[handle]
            poison(self._blocks.pop(handle))

    def free_bytes(self, index: int) -> int:
        """Return how many bytes a device has left."""
        used = sum(self._blocks[h].size for h, owner in self._owners.items() if owner == index)
        return MEMORY - used

    def memory_info(self, index: int) -> tuple[int, int]:
        with self._lock:
            return self.free_bytes(index), MEMORY

    def copy(
        self,
        index: int,
        direction: Direction,
        dst: int,
        dst_offset: int,
        src: int,
        src_offset: int,
        size: int,
        *,
        stream: Stream,
    ) -> None:
        def task() -> None:
            source = self.bytes_at(src, src_offset, size, direction is Direction.HOST_TO_DEVICE)
            target = self.bytes_at(dst, dst_offset, size, direction is Direction.DEVICE_TO_HOST)
            target[:] = source

        self.submit(index, stream.handle, task, f"copy of {size} bytes")

    def fill(
        self, index: int, dst: int, offset: int, size: int, pattern: bytes, *, stream: Stream
    ) -> bool:
        if len(pattern) not in _PATTERNS:
            return False

        def task() -> None:
            target = self.bytes_at(dst, offset, size)
            target[:] = np.resize(np.frombuffer(pattern, np.uint8), size)

        self.submit(index, stream.handle, task, f"fill of {size} bytes")
        return True

    def bytes_at(self, handle: int, offset: int, size: int, host: bool = False) -> HostArray:
        """Return bytes of a block, or of host memory at an address."""
        if host:
            room = (ctypes.c_uint8 * size).from_address(handle + offset)
            return np.frombuffer(memoryview(room), np.uint8)
        block = self._blocks.get(handle)
        if block is None or not 0 <= offset <= offset + size <= block.size:
            raise LaunchError(
                f"{self.name}: access to {size} bytes at {offset} of memory {handle}, which has "
                f"{'been freed' if block is None else f'{block.size} bytes'}"
            )
        return block[offset : offset + size]

    # Kernels

    def kernel(self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
        found = self.cpu.driver.kernel(self.cpu.index, op, dtypes, layout)
        return None if found is None else self.wrapped(found)

    def kernels(self, index: int) -> Iterable[Kernel]:
        return [self.wrapped(found) for found in self.cpu.driver.kernels(self.cpu.index)]

    def wrapped(self, found: Kernel) -> Kernel:
        """Return the device's kernel for one of ``cpu:0``; its handle says what it computes."""
        key = (found.op, found.dtypes, found.layout)
        with self._lock:
            if key not in self._kernels:
                self._kernels[key] = Kernel(
                    *key,
                    determinism=found.determinism,
                    error_bound=found.error_bound,
                    provider="phalanx.conformance.faults",
                    handle=(found.op, found.dtypes),
                )
            return self._kernels[key]

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        return self.cpu.driver.supports(self.cpu.index, op, dtypes)

    def launch(
        self,
        index: int,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        op, dtypes = kernel.handle
        operands = [
            self.tensor(x, name, kernel.layout)
            if isinstance(x, Array)
            else np.asarray(x, host_dtype(name))
            for x, name in zip((*inputs, *outputs), dtypes, strict=True)
        ]
        with self._lock:
            self.launches += 1
            number = self.launches

        def task() -> None:
            views = [self.view(x) if isinstance(x, Tensor) else x for x in operands]
            count = len(inputs)
            self.run(Work(op, dtypes, views[:count], views[count:], params, number))

        self.submit(index, stream.handle, task, f"{op}({', '.join(dtypes)})")

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        """Return what the queue carries for an operand of a kernel of some layout."""
        return Tensor(x.buffer.handle, x.offset, x.shape, x.strides, dtype)

    def view(self, x: Tensor) -> HostArray:
        """Return a tensor's elements in the device's memory."""
        dtype = host_dtype(x.dtype)
        steps = [s * dtype.itemsize for s in x.strides]
        if 0 in x.shape:
            return np.empty(x.shape, dtype)
        spans = [(n - 1) * s for n, s in zip(x.shape, steps, strict=True)]
        low = sum(s for s in spans if s < 0)
        memory = self.bytes_at(x.handle, x.offset + low, sum(map(abs, spans)) + dtype.itemsize)
        return np.ndarray(x.shape, dtype, memory.data, -low, steps)

    def run(self, work: Work) -> None:
        """Compute, in the thread of the stream."""
        compute(work, self.cpu)

    # Streams and events

    def submit(self, index: int, stream: Worker | None, task: Task, what: str) -> None:
        """Enqueue a task; its failure names it."""

        def named() -> None:
            try:
                task()
            except LaunchError as error:
                raise LaunchError(f"{what} on {self.name}:{index}: {error}") from error
            except IndexError as error:
                raise IndexError(str(error).replace("cpu:0", f"{self.name}:{index}")) from error

        self.stream(index, stream).submit(named)

    def worker(self, name: str, latency: float = 0.0) -> Worker:
        """Return a new queue."""
        return Worker(name, latency)

    def stream(self, index: int, handle: Worker | None) -> Worker:
        """Return the queue of a stream; ``None`` is the default one."""
        return self._opened(index)[0] if handle is None else handle

    def stream_create(self, index: int, priority: int) -> Worker:
        worker = self.worker(f"stream of {self.name}:{index}", _LATENCY)
        self._opened(index).append(worker)
        return worker

    def stream_destroy(self, index: int, handle: Worker) -> None:
        with self._lock:
            if handle in self._opened(index):
                self._opened(index).remove(handle)
        handle.stop()
        handle.raise_error()

    def stream_query(self, index: int, handle: Worker | None) -> bool:
        return self.stream(index, handle).idle()

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        self.stream(index, handle).synchronize(timeout)

    def stream_wait_event(self, index: int, handle: Worker | None, event: EventHandle) -> None:
        marker = event.marker
        if marker is not None:
            self.stream(index, handle).put(lambda: marker.wait(None, "an event"))

    def event_create(self, index: int) -> EventHandle:
        return EventHandle()

    def event_destroy(self, index: int, event: EventHandle) -> None:
        event.marker = None

    def event_record(self, index: int, event: EventHandle, handle: Worker | None) -> None:
        marker, worker = Marker(), self.stream(index, handle)
        worker.put(marker.set)
        event.marker, event.worker = marker, worker  # another thread may record the event, too

    def event_query(self, index: int, event: EventHandle) -> bool:
        return event.marker is not None and event.marker.passed.is_set()

    def event_synchronize(
        self, index: int, event: EventHandle, timeout: float | None = None
    ) -> None:
        if event.marker is not None:
            event.marker.wait(timeout, "an event")

    def event_elapsed(self, index: int, begin: EventHandle, end: EventHandle) -> float:
        if begin.marker is None or end.marker is None:
            raise ValueError(f"{self.name}:{index}: an event is not recorded")
        return end.marker.time - begin.marker.time


def poison(block: HostArray) -> None:
    """Overwrite either end of a block."""
    block[:_POISONED] = _POISON
    block[-_POISONED:] = _POISON
