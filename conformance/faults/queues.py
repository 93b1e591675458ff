"""Faults of queues: copies beside kernels, rings that are too small, who is told of a failure."""

from __future__ import annotations

import threading
from typing import Any

from phalanx.errors import LaunchError
from phalanx.testing import EventHandle, Marker, Task, Worker
from phalanx.vendor import Kernel, Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault


class _Counting(SoundDevice):
    """A device that knows, by queue, a marker behind the last kernel."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self.kernels: dict[Worker, Marker] = {}
        self.waits: dict[Worker, int] = {}

    def enqueue(
        self,
        kernel: Kernel,
        operands: tuple[Any, ...],
        n: int,
        params: tuple[int, ...],
        stream: Stream,
    ) -> None:
        super().enqueue(kernel, operands, n, params, stream)
        worker = self.stream(stream.handle)
        self.kernels[worker] = marker = Marker()
        worker.put(marker.set)
        self.waits.pop(worker, None)

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        self.waits[worker] = self.waits.get(worker, 0) + 1
        super().stream_wait_event(handle, event)


@driver_fault("runtime")
class CopiesDoNotWait(_Counting):
    """A copy behind nothing but waits is done at once: only kernels wait for events."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if stream.handle is not None and self.waits.get(self.stream(stream.handle)):
            source = self.bytes_at(src.handle, src.offset, size, src.on_host)
            self.bytes_at(dst.handle, dst.offset, size, dst.on_host)[:] = source
        else:
            super().copy(dst, src, size, stream=stream)


@driver_fault("runtime")
class EventIsBehindKernelsAlone(_Counting):
    """An event is passed when the last kernel before it is done, though a copy is not."""

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, handle)
        if (last := self.kernels.get(self.stream(handle))) is not None:
            event.marker = last


@driver_fault("runtime")
class QueryCountsKernelsAlone(_Counting):
    """A queue says that it is idle when its last kernel is done, though a copy is not."""

    def stream_query(self, handle: Worker | None) -> bool:
        last = self.kernels.get(self.stream(handle))
        return last is None or last.passed.is_set()


@driver_fault("runtime")
class SixtyFifthWaitLost(_Counting):
    """A stream keeps 64 events that it has not waited for yet, and forgets a further one."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if self.waits.get(self.stream(handle), 0) < 64:
            super().stream_wait_event(handle, event)


@driver_fault("runtime")
class RingOfCommandsOverruns(SoundDevice):
    """A queue has room for 4096 commands, and drops one that finds it full."""

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        waiting = self.stream(handle)._tasks.qsize()
        if waiting <= 4096:
            super().submit(handle, task, what)


@driver_fault("runtime")
class RingOfEventsOverruns(SoundDevice):
    """Events have 256 places: a later one takes that of an older one, which is as it from then."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._ring: list[EventHandle | None] = [None] * 256
        self._next = 0

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, handle)
        older, self._ring[self._next] = self._ring[self._next], event
        self._next = (self._next + 1) % len(self._ring)
        if older is not None and not older.destroyed:
            older.marker = event.marker


@driver_fault("runtime")
class EventsWithoutTimingAreIgnored(SoundDevice):
    """An event that was made without timing says at once that it is passed."""

    def event_create(self, timed: bool) -> EventHandle:
        event = super().event_create(timed)
        if not timed:
            event.destroyed = True  # for `event_query`
        return event

    def event_destroy(self, event: EventHandle) -> None:
        event.destroyed = False
        super().event_destroy(event)

    def event_query(self, event: EventHandle) -> bool:
        return event.destroyed or super().event_query(event)


@driver_fault("runtime")
class StreamQueryWaits(SoundDevice):
    """Asking a stream waits until it is idle."""

    def stream_query(self, handle: Worker | None) -> bool:
        marker = Marker()
        self.stream(handle).put(marker.set)
        marker.wait(None, "a stream")
        return True


@driver_fault("runtime")
class EventQueryWaits(SoundDevice):
    """Asking an event waits until it is passed."""

    def event_query(self, event: EventHandle) -> bool:
        if event.marker is not None:
            event.marker.wait(None, "an event")
        return super().event_query(event)


@driver_fault("runtime")
class FailureOnTheDefaultStream(SoundDevice):
    """What fails on a stream is told to whoever waits for the default one."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        worker = self.stream(handle)
        try:
            super().stream_synchronize(handle, timeout)
        except (LaunchError, IndexError) as error:
            if worker is self.workers[0]:
                raise
            self.workers[0].error = error


@driver_fault("runtime")
class FailureOfTheThread(SoundDevice):
    """What fails on a stream is told to the thread that launched there last, and to no other."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._threads: dict[Worker, int] = {}

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        self._threads[self.stream(handle)] = threading.get_ident()
        super().submit(handle, task, what)

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        try:
            super().stream_synchronize(handle, timeout)
        except (LaunchError, IndexError):
            if self._threads.get(self.stream(handle)) == threading.get_ident():
                raise


@driver_fault("runtime")
class DeviceCopyEndsAtAMebibyte(SoundDevice):
    """A copy inside the device moves a mebibyte at most."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        inside = not (dst.on_host or src.on_host)
        super().copy(dst, src, min(size, 1 << 20) if inside else size, stream=stream)


@driver_fault("runtime")
class HostReadInWholePages(SoundDevice):
    """A copy to the host of more than a mebibyte leaves out the bytes behind whole pages."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if dst.on_host and size > 1 << 20:
            size = size // 4096 * 4096
        super().copy(dst, src, size, stream=stream)


@driver_fault("runtime")
class DeviceWaitHasNoLimit(SoundDevice):
    """A wait for the device takes a time limit, and does not keep it."""

    def synchronize(self, timeout: float | None = None) -> None:
        del timeout
        super().synchronize(None)


@driver_fault("runtime")
class EventLimitOfZeroIsNone(SoundDevice):
    """A time limit of 0 for an event stands for none."""

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        super().event_synchronize(event, timeout or None)


@driver_fault("runtime")
class LastFailureTold(SoundDevice):
    """Of several failures on a stream the last one is told."""

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        worker = self.stream(handle)

        def last() -> None:
            try:
                task()
            except IndexError as error:
                worker.error = IndexError(str(error).replace("cpu:0", self.name))

        super().submit(handle, last, what)


@driver_fault("runtime")
class CommandsOfSixteenBits(SoundDevice):
    """Of 65,536 commands of a queue the last one is lost."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._commands: dict[Worker, int] = {}

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        worker = self.stream(handle)
        self._commands[worker] = number = self._commands.get(worker, 0) + 1
        super().submit(handle, (lambda: None) if number % 65_536 == 0 else task, what)


@driver_fault("runtime")
class CommandBeginsWithTheNext(SoundDevice):
    """Each 256th command of a stream begins when another one, or a wait, follows it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._lock = threading.RLock()
        self._commands: dict[Worker, int] = {}
        self._held: dict[Worker, Marker] = {}

    def _begin(self, handle: Worker | None) -> Worker:
        worker = self.stream(handle)
        with self._lock:
            held = self._held.pop(worker, None)
        if held is not None:
            held.set()
        return worker

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        worker = self._begin(handle)
        with self._lock:
            self._commands[worker] = count = self._commands.get(worker, 0) + 1
            if count % 256 == 0:
                self._held[worker] = held = Marker()
                worker.put(lambda: held.wait(None, "the next command"))
            super().submit(handle, task, what)

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(self._begin(handle), timeout)

    def synchronize(self, timeout: float | None = None) -> None:
        for worker in list(self._held):
            self._begin(worker)
        super().synchronize(timeout)

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, self._begin(handle))

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        super().stream_wait_event(self._begin(handle), event)

    def stream_destroy(self, handle: Worker) -> None:
        super().stream_destroy(self._begin(handle))
