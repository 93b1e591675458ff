"""Faults that one thread never sees: what a driver shares over threads that must be their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from phalanx._warm import Array, Device, Kernel, Stream
from phalanx.driver import Direction

from .device import SoundDriver
from .fault import driver_fault
from .streams import EventHandle, Marker, Worker
from .work import HostArray, Work

#: Seconds in which a native driver lets other threads run, in the middle of a call.
_WINDOW = 2e-4


@driver_fault("programs")
class RecordingSlotShared(SoundDriver):
    """Two threads that record events at once may both get the place of the later one."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._slot = Marker()

    def event_record(self, index: int, event: EventHandle, handle: Worker | None) -> None:
        self._slot = marker = Marker()
        worker = self.stream(index, handle)
        worker.put(marker.set)
        time.sleep(_WINDOW)
        event.marker, event.worker = self._slot, worker


@driver_fault("programs")
class WaitSlotShared(SoundDriver):
    """Two streams that are told to wait at once may both wait for the later one's event."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._slot = EventHandle()

    def stream_wait_event(self, index: int, handle: Worker | None, event: EventHandle) -> None:
        self._slot = event
        time.sleep(_WINDOW)
        super().stream_wait_event(index, handle, self._slot)


@driver_fault("programs")
class RecordingAgainLosesRecord(SoundDriver):
    """While one thread records an event again, another that waits for it waits for nothing."""

    def event_record(self, index: int, event: EventHandle, handle: Worker | None) -> None:
        event.marker = None
        time.sleep(_WINDOW)
        super().event_record(index, event, handle)


@driver_fault("programs")
class SecondWaiterReturnsAtOnce(SoundDriver):
    """Of two threads that wait for one event, the second does not wait."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._waited_for: set[EventHandle] = set()

    def event_synchronize(
        self, index: int, event: EventHandle, timeout: float | None = None
    ) -> None:
        if event in self._waited_for:
            return
        self._waited_for.add(event)
        try:
            super().event_synchronize(index, event, timeout)
        finally:
            self._waited_for.discard(event)


@driver_fault("programs")
class StreamsOfThreadsTakenForOne(SoundDriver):
    """A stream does not wait for one that another thread made, as for one that is the same."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._makers: dict[Worker, int] = {}

    def stream_create(self, index: int, priority: int) -> Worker:
        worker = super().stream_create(index, priority)
        self._makers[worker] = threading.get_ident()
        return worker

    def stream_wait_event(self, index: int, handle: Worker | None, event: EventHandle) -> None:
        mine = self._makers.get(self.stream(index, handle))
        other = None if event.worker is None else self._makers.get(event.worker)
        if mine is None or other is None or mine == other:
            super().stream_wait_event(index, handle, event)


@driver_fault("programs")
class DefaultStreamOfEachThread(SoundDriver):
    """Every thread has a default stream of its own, in no order with those of the others."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._own = threading.local()

    def stream(self, index: int, handle: Worker | None) -> Worker:
        if handle is not None or threading.current_thread() is threading.main_thread():
            return super().stream(index, handle)
        if not hasattr(self._own, "queues"):
            self._own.queues = {}
        queues: dict[int, Worker] = self._own.queues
        if index not in queues:
            queues[index] = super().stream_create(index, 0)
        return queues[index]


@driver_fault("programs")
class DestroyFinishesAnother(SoundDriver):
    """Of two streams that threads destroy at once, only the later one's work is waited for."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._dying: Worker | None = None

    def stream_destroy(self, index: int, handle: Worker) -> None:
        self._dying = handle
        time.sleep(_WINDOW)
        super().stream_destroy(index, self._dying)


@driver_fault("programs")
class ArgumentsOfStreamShared(SoundDriver):
    """Two threads that launch on one stream at once may launch with the later one's arguments."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._arguments: dict[Worker, tuple[Any, ...]] = {}

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
        arguments: tuple[Any, ...] = (index, kernel, inputs, outputs, params)
        if isinstance(stream.handle, Worker):
            self._arguments[stream.handle] = arguments
            time.sleep(_WINDOW)
            arguments = self._arguments[stream.handle]
        super().launch(*arguments, stream=stream)


@driver_fault("programs")
class StagingBufferShared(SoundDriver):
    """Copies from the host on streams go through a buffer that another thread may overwrite."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._staging: HostArray = np.empty(0, np.uint8)

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
        if direction is not Direction.HOST_TO_DEVICE or stream.handle is None:
            arguments = (index, direction, dst, dst_offset, src, src_offset, size)
            super().copy(*arguments, stream=stream)
            return
        self._staging = np.array(self.bytes_at(src, src_offset, size, host=True))

        def from_staging() -> None:
            count = min(size, self._staging.size)
            self.bytes_at(dst, dst_offset, count)[:] = self._staging[:count]

        self.submit(index, stream.handle, from_staging, f"copy of {size} bytes")


@driver_fault("programs")
class SecondCopyReadsLate(SoundDriver):
    """A copy from the host that begins during another one reads its source after it is done."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._copying = 0

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
        arguments = (index, direction, dst, dst_offset, src, src_offset, size)
        if direction is not Direction.HOST_TO_DEVICE or stream.handle is None:
            super().copy(*arguments, stream=stream)
        elif self._copying:
            self._copy_later(dst, dst_offset, src, src_offset, size)
        else:
            self._copying += 1
            time.sleep(_WINDOW)
            super().copy(*arguments, stream=stream)
            self._copying -= 1

    def _copy_later(self, dst: int, dst_offset: int, src: int, src_offset: int, size: int) -> None:
        engine = self.worker("copy engine", 0.01)

        def read() -> None:
            target = self.bytes_at(dst, dst_offset, size)
            target[:] = self.bytes_at(src, src_offset, size, host=True)

        engine.submit(read)
        threading.Thread(target=engine.stop, daemon=True).start()


@driver_fault("programs")
class FreeListRaces(SoundDriver):
    """A large block that a thread takes while another gives one back may be given out twice."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._kept: dict[tuple[int, int], list[int]] = {}

    def free(self, index: int, handle: int) -> None:
        block = self._blocks.get(handle)
        if block is None or block.size < 1 << 20:
            super().free(index, handle)
            return
        del self._owners[handle]
        self._kept.setdefault((index, block.size), []).append(handle)

    def alloc(self, index: int, size: int) -> int:
        kept = self._kept.get((index, size))
        if not kept:
            return super().alloc(index, size)
        handle = kept[-1]
        time.sleep(_WINDOW)
        if kept:
            kept.pop()  # the last one, which may be another by now
        self._owners[handle] = index
        return handle


@driver_fault("programs")
class ProgramCacheRaces(SoundDriver):
    """The cache holds four programs; two threads that compile at once may get the later one's."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._programs: dict[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {}
        self._compiling: tuple[str, tuple[str, ...]] = ("", ())

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
        if stream.handle is not None and kernel.handle not in self._programs:
            self._compiling = kernel.handle
            time.sleep(_WINDOW)
            self._programs[kernel.handle] = self._compiling
            for old in list(self._programs)[:-4]:
                self._programs.pop(old, None)
        super().launch(index, kernel, inputs, outputs, params, stream=stream)

    def run(self, work: Work) -> None:
        op, dtypes = self._programs.get((work.op, work.dtypes), (work.op, work.dtypes))
        if work.elementwise and dtypes == work.dtypes:
            work.op = op
        super().run(work)
