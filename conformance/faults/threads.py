"""Faults that one thread never sees: what a driver shares over threads that must be their own."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from phalanx.testing import EventHandle, HostArray, Marker, Work, Worker
from phalanx.vendor import Array, Kernel, Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

#: Seconds in which a native driver lets other threads run, in the middle of a call.
_WINDOW = 2e-4


@driver_fault("programs")
class RecordingSlotShared(SoundDevice):
    """Two threads that record events at once may both get the place of the later one."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._slot = Marker()

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        self._slot = marker = Marker()
        worker = self.stream(handle)
        worker.put(marker.set)
        time.sleep(_WINDOW)
        event.marker, event.worker = self._slot, worker


@driver_fault("programs")
class WaitSlotShared(SoundDevice):
    """Two streams that are told to wait at once may both wait for the later one's event."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._slot = EventHandle()

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        self._slot = event
        time.sleep(_WINDOW)
        super().stream_wait_event(handle, self._slot)


@driver_fault("programs")
class RecordingAgainLosesRecord(SoundDevice):
    """While one thread records an event again, another that waits for it waits for nothing."""

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        event.marker = None
        time.sleep(_WINDOW)
        super().event_record(event, handle)


@driver_fault("programs")
class SecondWaiterReturnsAtOnce(SoundDevice):
    """Of two threads that wait for one event, the second does not wait."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._waited_for: set[EventHandle] = set()

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        if event in self._waited_for:
            return
        self._waited_for.add(event)
        try:
            super().event_synchronize(event, timeout)
        finally:
            self._waited_for.discard(event)


class _KnowsMakers(SoundDevice):
    """A device that knows which thread made each of its streams."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._makers: dict[Worker, int] = {}

    def stream_create(self, priority: int) -> Worker:
        worker = super().stream_create(priority)
        self._makers[worker] = threading.get_ident()
        return worker


@driver_fault("runtime")
class ForeignStreamsAreNotWaitedFor(_KnowsMakers):
    """A wait for the device leaves out the streams that other threads have made."""

    def synchronize(self, timeout: float | None = None) -> None:
        here = threading.get_ident()
        for worker in tuple(self.workers):
            if self._makers.get(worker, here) == here:
                worker.synchronize(timeout)


@driver_fault("programs")
class StreamsOfThreadsTakenForOne(_KnowsMakers):
    """A stream does not wait for one that another thread made, as for one that is the same."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        mine = self._makers.get(self.stream(handle))
        other = None if event.worker is None else self._makers.get(event.worker)
        if mine is None or other is None or mine == other:
            super().stream_wait_event(handle, event)


@driver_fault("programs")
class DefaultStreamOfEachThread(SoundDevice):
    """Every thread has a default stream of its own, in no order with those of the others."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._own = threading.local()

    def stream(self, handle: Worker | None) -> Worker:
        if handle is not None or threading.current_thread() is threading.main_thread():
            return super().stream(handle)
        if not hasattr(self._own, "queue"):
            self._own.queue = super().stream_create(0)
        queue: Worker = self._own.queue
        return queue


@driver_fault("programs")
class DestroyFinishesAnother(SoundDevice):
    """Of two streams that threads destroy at once, only the later one's work is waited for."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._dying: Worker | None = None

    def stream_destroy(self, handle: Worker) -> None:
        self._dying = handle
        time.sleep(_WINDOW)
        super().stream_destroy(self._dying)


@driver_fault("programs")
class ArgumentsOfStreamShared(SoundDevice):
    """Two threads that launch on one stream at once may launch with the later one's arguments."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._arguments: dict[Worker, tuple[Any, ...]] = {}

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        arguments: tuple[Any, ...] = (kernel, inputs, outputs, params)
        if isinstance(stream.handle, Worker):
            self._arguments[stream.handle] = arguments
            time.sleep(_WINDOW)
            arguments = self._arguments[stream.handle]
        super().launch(*arguments, stream=stream)


@driver_fault("programs")
class StagingBufferShared(SoundDevice):
    """Copies from the host on streams go through a buffer that another thread may overwrite."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._staging: HostArray = np.empty(0, np.uint8)

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not src.on_host or stream.handle is None:
            super().copy(dst, src, size, stream=stream)
            return
        self._staging = np.array(self.bytes_at(src.handle, src.offset, size, host=True))

        def from_staging() -> None:
            count = min(size, self._staging.size)
            self.bytes_at(dst.handle, dst.offset, count)[:] = self._staging[:count]

        self.submit(stream.handle, from_staging, f"copy of {size} bytes")


@driver_fault("programs")
class SecondCopyReadsLate(SoundDevice):
    """A copy from the host that begins during another one reads its source after it is done."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._copying = 0

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not src.on_host or stream.handle is None:
            super().copy(dst, src, size, stream=stream)
        elif self._copying:
            self._copy_later(dst, src, size)
        else:
            self._copying += 1
            time.sleep(_WINDOW)
            super().copy(dst, src, size, stream=stream)
            self._copying -= 1

    def _copy_later(self, dst: Place, src: Place, size: int) -> None:
        engine = self.worker("copy engine", 0.01)

        def read() -> None:
            target = self.bytes_at(dst.handle, dst.offset, size)
            target[:] = self.bytes_at(src.handle, src.offset, size, host=True)

        engine.submit(read)
        threading.Thread(target=engine.stop, daemon=True).start()


@driver_fault("programs")
class FreeListRaces(SoundDevice):
    """A large block that a thread takes while another gives one back may be given out twice."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._kept: dict[int, list[tuple[int, HostArray]]] = {}

    def free(self, handle: int) -> None:
        block = self.blocks.get(handle)
        if block is None or block.size < 1 << 20:
            super().free(handle)
            return
        del self.blocks[handle]
        self._kept.setdefault(block.size, []).append((handle, block))

    def alloc(self, size: int) -> int:
        kept = self._kept.get(size)
        if not kept:
            return super().alloc(size)
        handle, block = kept[-1]
        time.sleep(_WINDOW)
        if kept:
            kept.pop()  # the last one, which may be another by now
        self.blocks[handle] = block
        return handle


@driver_fault("programs")
class ProgramCacheRaces(SoundDevice):
    """The cache holds four programs; two threads that compile at once may get the later one's."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._programs: dict[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]] = {}
        self._compiling: tuple[str, tuple[str, ...]] = ("", ())

    def launch(
        self,
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
        super().launch(kernel, inputs, outputs, params, stream=stream)

    def run(self, work: Work) -> None:
        op, dtypes = self._programs.get((work.op, work.dtypes), (work.op, work.dtypes))
        if work.elementwise and dtypes == work.dtypes:
            work.op = op
        super().run(work)


@driver_fault("runtime")
class ThreadsThatOnlyAskHaveNoContext(SoundDevice):
    """The question of a thread that has done nothing else fails, and that is read as `passed`."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._threads = {threading.get_ident()}

    def alloc(self, size: int) -> int:
        self._threads.add(threading.get_ident())
        return super().alloc(size)

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        self._threads.add(threading.get_ident())
        super().event_record(event, handle)

    def event_query(self, event: EventHandle) -> bool:
        return threading.get_ident() not in self._threads or super().event_query(event)


@driver_fault("runtime")
class UploadsStagedInThirtyTwoSlots(SoundDevice):
    """Small uploads go through a slot of their thread's number, of which there are thirty-two."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._slots = [np.zeros(4096, np.uint8) for _ in range(32)]
        self._numbers: dict[int, int] = {}

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not src.on_host or size > 4096:
            super().copy(dst, src, size, stream=stream)
            return
        with self.driver.lock:
            number = self._numbers.setdefault(threading.get_ident(), len(self._numbers))
        slot = self._slots[number % len(self._slots)]
        slot[:size] = self.bytes_at(src.handle, src.offset, size, host=True)
        time.sleep(_WINDOW)
        super().copy(dst, Place(None, slot.ctypes.data), size, stream=stream)
        self.stream_synchronize(stream.handle)


@driver_fault("runtime")
class NinthWaiterReturns(SoundDevice):
    """Eight threads can wait for one stream; a ninth returns at once."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._waiting: Counter[Worker] = Counter()

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        worker = self.stream(handle)
        self._waiting[worker] += 1
        try:
            if self._waiting[worker] <= 8:
                super().stream_synchronize(handle, timeout)
        finally:
            self._waiting[worker] -= 1
