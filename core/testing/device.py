"""The reference device: it shows a mistake of its user as a failure and never as luck."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from phalanx._warm import Array, Kernel, Stream
from phalanx.driver import (
    Capability,
    Layout,
    OpenDevice,
    Operand,
    Place,
    PreparedLaunch,
    Refusal,
)
from phalanx.errors import ClosedError, DeviceLostError, LaunchError, OutOfMemoryError
from phalanx.optable import OPS
from phalanx.optable.structured import NO_PLACE
from phalanx.runtime.waiting import Deadline

from .kernels import HostArray, compute, numpy_type
from .ranges import ReferenceMemory
from .streams import EventHandle, Marker, Task, Worker
from .work import Operands, Tensor, Work

if TYPE_CHECKING:
    from .driver import ReferenceDriver

POISON = 0xDB
#: Bytes at either end of a block that are poisoned; all of a large one would take long.
POISONED_SIZE = 1 << 21
_ALIGNMENT = 64
_NEEDS_FP64 = ("float64", "complex128")


class ReferenceDevice(OpenDevice):
    """An open device of a `ReferenceDriver`.

    Handles are small numbers and not addresses (unless asked for), memory is poisoned when it is
    given and when it is taken back, an access outside a block is an error, kernels check that
    their operands are in the canonical form, and streams are threads that run behind the calls.
    """

    #: The class of its queues.
    queue: type[Worker] = Worker

    def __init__(self, driver: ReferenceDriver, index: int) -> None:
        self.driver = driver
        self.index = index
        self.name = f"{driver.name}:{index}"
        self.blocks: dict[int, HostArray] = {}
        self.ranges = ReferenceMemory(self) if driver.page else None
        self.workers: list[Worker] = []
        self._kernels: dict[tuple[str, tuple[str, ...], Layout], Kernel] = {}
        self._closed = False
        self._pid = os.getpid()
        if driver.streams:
            self.capabilities = (
                Capability.STREAMS | Capability.EVENT_TIMING | Capability.FAULT_INJECTION
            )
            self.workers.append(self.worker(f"default stream of {self.name}"))

    def close(self) -> None:
        """Finish the work and end the threads."""
        self._closed = True
        self.driver.open_devices.pop(self.index, None)
        while self.workers:
            self.workers.pop().stop()

    def check(self) -> None:
        """Raise an error if the device cannot be used."""
        if self._closed:
            raise ClosedError(f"{self.name} is closed", remedy="Device.ensure_open() opens it")
        if self.workers and os.getpid() != self._pid:
            raise DeviceLostError(
                f"{self.name}: the device was opened before the fork, and its streams are threads "
                "of the parent",
                remedy="start the process with the method 'spawn'",
            )

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait for all streams, which have the time together."""
        self.check()
        deadline = Deadline(timeout)
        for worker in list(self.workers):
            worker.synchronize(deadline.left())

    # Memory

    def alloc(self, size: int) -> int:
        """Return the handle of a new block."""
        assert isinstance(size, int)
        assert size > 0
        self.check()
        driver = self.driver
        with driver.lock:
            driver.alloc_calls += 1
            room = min(self.free_bytes(), driver.device_info(self.index).max_allocation)
            if driver.alloc_calls in driver.faults.alloc or size > room:
                raise OutOfMemoryError(f"{self.name}: no {size} bytes", size=size)
            handle = self.keep(size)
        self.poison(handle, 0, size)
        return handle

    def keep(self, size: int) -> int:
        """Return the handle of new host memory that stands for the device's."""
        driver = self.driver
        whole = np.empty(size + _ALIGNMENT, np.uint8)
        block = whole[-whole.ctypes.data % _ALIGNMENT :][:size]
        handle = int(block.ctypes.data) if driver.host_addressable else driver.next_handle
        driver.next_handle += 1
        self.blocks[handle] = block
        return handle

    def poison(self, handle: int, offset: int, size: int) -> None:
        """Make the bytes of a block, of a large one those at either end, recognisable."""
        poison(self.blocks[handle][offset : offset + size])

    def virtual_memory(self) -> ReferenceMemory | None:
        """Return the ranges, if the driver was asked for them."""
        return self.ranges

    def free(self, handle: int) -> None:
        """Forget a block."""
        with self.driver.lock:
            block = self.blocks.pop(handle, None)
        if block is None:
            raise LaunchError(f"{self.name}: free of an unknown handle {handle}")
        poison(block)

    def used(self) -> int:
        """Return the bytes of all blocks, and of the memory behind ranges."""
        size = sum(block.size for block in list(self.blocks.values()))
        if self.ranges is not None:
            size += self.ranges.used() - self.ranges.reserved()
        return size

    def free_bytes(self) -> int:
        """Return how many bytes the device has left."""
        return self.driver.memory - self.driver.foreign - self.used()

    def memory_info(self) -> tuple[int, int]:
        """Return free and total bytes."""
        self.check()
        return self.free_bytes(), self.driver.memory

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        """Enqueue a copy."""
        self.check()
        for place in (dst, src):
            assert place.device in (None, self), f"{self.name}: a place of another device"

        def task() -> None:
            if self.driver.faults.copy is not None:
                raise self.driver.faults.copy
            source = self.bytes_at(src.handle, src.offset, size, src.on_host)
            self.bytes_at(dst.handle, dst.offset, size, dst.on_host)[:] = source

        self.submit(stream.handle, task, f"copy of {size} bytes")

    def bytes_at(self, handle: int, offset: int, size: int, host: bool = False) -> HostArray:
        """Return bytes of a block, or of host memory at an address."""
        block = None if host else self.blocks.get(handle)
        if block is None and (host or self.driver.host_addressable):
            room = (ctypes.c_uint8 * size).from_address(handle + offset)
            return np.frombuffer(memoryview(room), np.uint8)
        if block is None or not 0 <= offset <= offset + size <= block.size:
            raise LaunchError(
                f"{self.name}: access to {size} bytes at {offset} of memory {handle}, which has "
                f"{'been freed' if block is None else f'{block.size} bytes'}"
            )
        if self.ranges is not None and not self.ranges.has(handle, offset, size):
            raise LaunchError(
                f"{self.name}: access to {size} bytes at {offset} of memory {handle}, where no "
                "memory lies behind the addresses"
            )
        return block[offset : offset + size]

    # Kernels

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        """Return a kernel for every signature of the op table that is not missing."""
        if op in self.driver.missing:
            return Refusal(f"{self.driver.name} was told to miss {op}")
        if not self.driver.fp64 and set(dtypes) & set(_NEEDS_FP64):
            return Refusal("the device has no fp64")
        if op not in OPS or all(s.dtypes != dtypes for s in OPS[op].signatures):
            return Refusal()
        return self.made(op, dtypes, layout, self.driver.determinism)

    def made(
        self,
        op: str,
        dtypes: tuple[str, ...],
        layout: Layout,
        determinism: str,
        error_bound: float = -1.0,
    ) -> Kernel:
        """Return the one kernel for a key; its handle says what it computes."""
        key = (op, dtypes, layout)
        with self.driver.lock:
            if key not in self._kernels:
                self._kernels[key] = Kernel(
                    *key,
                    determinism=determinism,
                    error_bound=error_bound,
                    provider="phalanx.testing",
                    handle=(op, dtypes),
                )
            return self._kernels[key]

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a kernel."""
        arrays = [x for x in (*inputs, *outputs) if isinstance(x, Array)]
        assert all(x.device is stream.device for x in arrays), (
            f"{kernel.op}: operands of another device"
        )
        self.enqueue(kernel, self.operands(kernel, inputs, outputs), len(inputs), params, stream)

    def prepare(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> PreparedLaunch:
        """Return what launches a kernel on operands like these at other places."""
        like = self.operands(kernel, inputs, outputs)
        n = len(inputs)

        def launch_at(places: bytes, stream: Stream) -> None:
            words = iter(memoryview(places).cast("Q"))
            operands = tuple(
                replace(x, handle=next(words), offset=next(words)) if isinstance(x, Tensor) else x
                for x in like
            )
            self.enqueue(kernel, operands, n, params, stream)

        return launch_at

    def operands(
        self, kernel: Kernel, inputs: Sequence[Operand], outputs: Sequence[Array]
    ) -> Operands:
        """Return what the queue carries for the operands of a kernel."""
        return tuple(
            self.tensor(x, name, kernel.layout)
            if isinstance(x, Array)
            else np.asarray(x, numpy_type(name))
            for x, name in zip((*inputs, *outputs), kernel.dtypes, strict=True)
        )

    def enqueue(
        self,
        kernel: Kernel,
        operands: Operands,
        n: int,
        params: tuple[int, ...],
        stream: Stream,
    ) -> None:
        """Put a launch into a stream's queue; the first ``n`` operands are the inputs."""
        self.check()
        op, dtypes = kernel.handle
        shapes = tuple(x.shape for x in operands if isinstance(x, Tensor))
        with self.driver.lock:
            number = self.driver.note(self.index, kernel, shapes)

        def task() -> None:
            fault = self.driver.faults.launch.get(op)
            if fault is not None:
                raise fault
            views = [self.view(x) if isinstance(x, Tensor) else x for x in operands]
            self.run(
                Work(op, dtypes, kernel.layout, views[:n], views[n:], params, number, operands)
            )

        self.submit(stream.handle, task, f"{op}({', '.join(dtypes)})")

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        """Return what the queue carries for an operand of a kernel of some layout."""
        return Tensor(x.buffer.handle, x.offset, x.shape, x.strides, dtype)

    def view(self, x: Tensor, shift: int = 0) -> HostArray:
        """Return a tensor's elements in the device's memory, ``shift`` elements further."""
        dtype = numpy_type(x.dtype)
        steps = [s * dtype.itemsize for s in x.strides]
        if 0 in x.shape:
            return np.empty(x.shape, dtype)
        spans = [(n - 1) * s for n, s in zip(x.shape, steps, strict=True)]
        low = sum(s for s in spans if s < 0)
        start = x.offset + shift * dtype.itemsize + low
        memory = self.bytes_at(x.handle, start, sum(map(abs, spans)) + dtype.itemsize)
        return np.ndarray(x.shape, dtype, memory.data, -low, steps)

    def run(self, work: Work) -> None:
        """Compute, in the thread of the stream."""
        if work.op == "gather":
            self._gather(work)
        elif work.op == "scatter":
            self._scatter(work)
        else:
            compute(work.op, work.layout, work.inputs, work.outputs, work.params)

    def _gather(self, work: Work) -> None:
        slices, offsets, out = work.operands[0], work.inputs[1], work.out
        assert isinstance(slices, Tensor)
        assert offsets.ndim == 1
        assert out.shape == (offsets.size, *slices.shape)
        for i, place in enumerate(offsets):
            out[i] = self.view(slices, int(place)) if place >= NO_PLACE // 2 else 0

    def _scatter(self, work: Work) -> None:
        values, offsets, slices = work.inputs[0], work.inputs[1], work.operands[2]
        assert isinstance(slices, Tensor)
        assert values.shape == (offsets.size, *slices.shape)
        for i, place in enumerate(offsets):
            if place >= NO_PLACE // 2:
                self.view(slices, int(place))[...] = values[i]

    # Streams and events

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        """Enqueue a task, or do it at once on a device without streams; its failure names it."""
        if not self.driver.streams:
            task()
            return
        self.check()

        def named() -> None:
            try:
                task()
            except (AssertionError, RuntimeError, ValueError) as error:
                raise LaunchError(f"{what} on {self.name}: {error}") from error

        self.stream(handle).submit(named)

    def worker(self, name: str, latency: float | None = None) -> Worker:
        """Return a new queue whose tasks take a while to begin: that of the driver, or given."""
        return self.queue(name, self.driver.delay if latency is None else latency)

    def stream(self, handle: Worker | None) -> Worker:
        """Return the queue of a stream; ``None`` is the default one."""
        if handle is None:
            self.check()
            return self.workers[0]
        return handle

    def need_streams(self) -> None:
        """Refuse the calls of a capability that the device does not have."""
        if not self.driver.streams:
            raise NotImplementedError(f"{self.name} was made without streams")

    def stream_create(self, priority: int) -> Worker:
        """Return a new queue."""
        self.need_streams()
        self.check()
        worker = self.worker(f"stream of {self.name} of priority {priority}")
        self.workers.append(worker)
        return worker

    def stream_destroy(self, handle: Worker) -> None:
        """Finish the work and end the thread."""
        self.need_streams()
        if os.getpid() != self._pid or handle not in self.workers:
            return  # a stream may outlive its device, which ended the thread
        self.workers.remove(handle)
        handle.stop()
        handle.raise_error()

    def stream_query(self, handle: Worker | None) -> bool:
        """Return whether a queue is idle."""
        self.need_streams()
        self.check()
        return self.stream(handle).idle()

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        """Wait for a queue and raise its first failure."""
        self.need_streams()
        self.check()
        self.stream(handle).synchronize(timeout)

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        """Let a queue wait for the event's present recording."""
        self.need_streams()
        self.check()
        marker = event.marker
        if marker is not None:
            self.stream(handle).follow(marker)

    def event_create(self, timed: bool) -> EventHandle:
        """Return a new event."""
        self.need_streams()
        return EventHandle()

    def event_destroy(self, event: EventHandle) -> None:
        """Note that the event must not be used again; those that wait hold the marker."""
        self.need_streams()
        assert not event.destroyed
        event.destroyed = True

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        """Put another marker behind the work so far."""
        self.need_streams()
        self.check()
        marker, worker = Marker(), self.stream(handle)
        worker.put(lambda: marker.set(worker.failure()))
        event.marker, event.worker = marker, worker  # another thread may record the event, too

    def event_query(self, event: EventHandle) -> bool:
        """Return whether the queue has come to the marker; so it has if there is none."""
        self.need_streams()
        return event.marker is None or event.marker.passed.is_set()

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        """Wait for the marker and raise what failed before it."""
        self.need_streams()
        self.check()
        if event.marker is not None:
            event.marker.wait(timeout, "an event")
        if event.worker is not None:
            event.worker.raise_error()

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        """Return the seconds between two markers."""
        self.need_streams()
        if begin.marker is None or end.marker is None:
            raise ValueError(f"{self.name}: an event is not recorded")
        return end.marker.time - begin.marker.time

    def stream_inject_failure(self, handle: Worker | None) -> None:
        """Put work in that fails."""
        self.need_streams()
        self.check()

        def fail() -> None:
            raise RuntimeError("it was asked for")

        self.submit(handle, fail, "an injected failure")


def poison(block: HostArray) -> None:
    """Overwrite either end of a block."""
    block[:POISONED_SIZE] = POISON
    block[-POISONED_SIZE:] = POISON
