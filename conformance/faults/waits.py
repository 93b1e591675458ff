"""Faults of waits and times: how many streams and events there may be, and which clock."""

from __future__ import annotations

import ctypes
import time
from collections import deque

import numpy as np
from phalanx.errors import DeviceError, LaunchError
from phalanx.testing import EventHandle, HostArray, Marker, Task, Worker
from phalanx.vendor import Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

_passed = Marker()
_passed.set()


def _wait_for_copy(worker: Worker, event: EventHandle) -> EventHandle:
    """Let a stream wait for an event's place, which is returned: another marker ends the wait."""
    own = EventHandle()
    own.marker, own.worker = event.marker, event.worker

    def wait() -> None:
        while own.marker is not None and not own.marker.passed.wait(0.005):
            pass

    worker.put(wait)
    return own


def _is_over(event: EventHandle) -> bool:
    return event.marker is None or event.marker.passed.is_set()


@driver_fault("runtime")
class StreamHoldsSixteenWaits(SoundDevice):
    """The seventeenth wait of a stream that is not over takes the place of the first."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._held: dict[Worker, deque[EventHandle]] = {}

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        held = self._held.setdefault(worker, deque())
        while held and _is_over(held[0]):
            held.popleft()
        held.append(_wait_for_copy(worker, event))
        if len(held) > 16:
            held.popleft().marker = _passed


@driver_fault("runtime")
class RestedStreamMissesWait(SoundDevice):
    """A stream that has had nothing to do for 0.2 s misses a wait, which only wakes it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._since: dict[Worker, float] = {}

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        self._since[self.stream(handle)] = time.monotonic()
        super().submit(handle, task, what)

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        since = self._since.pop(worker, time.monotonic())
        if not worker.idle() or time.monotonic() - since < 0.2:
            super().stream_wait_event(handle, event)


@driver_fault("runtime")
class LateHostOpensFence(SoundDevice):
    """A host that waits for an event and runs out of time lets the streams go that wait for it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._waits: list[tuple[EventHandle, EventHandle]] = []

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if event.marker is not None:
            self._waits = [pair for pair in self._waits if not _is_over(pair[1])]
            self._waits.append((event, _wait_for_copy(self.stream(handle), event)))

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        try:
            super().event_synchronize(event, timeout)
        except TimeoutError:
            for of, wait in self._waits if timeout else ():
                if of is event:
                    wait.marker = _passed
            raise


@driver_fault("runtime")
class SomeStreamsDoNotWait(SoundDevice):
    """Streams beyond the 24th have nothing by which they could wait for others."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if handle is None or handle not in self.workers[25:]:
            super().stream_wait_event(handle, event)


@driver_fault("runtime")
class EventOvertakesTheDefaultStream(SoundDevice):
    """An event right behind a wait for the default stream is passed before that wait is over."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._before: dict[Worker, Marker] = {}

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        self._before.pop(worker, None)
        if event.worker is self.workers[0] and worker is not event.worker:
            marker = self._before[worker] = Marker()
            worker.put(marker.set)
        super().stream_wait_event(handle, event)

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        self._before.pop(self.stream(handle), None)
        super().submit(handle, task, what)

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        before = self._before.get(self.stream(handle))
        if before is None:
            super().event_record(event, handle)
        else:
            event.marker, event.worker = before, self.stream(handle)


class _WithUrgent(SoundDevice):
    """A device that knows its streams of a negative priority."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._urgent: set[Worker] = set()

    def stream_create(self, priority: int) -> Worker:
        worker = super().stream_create(priority)
        if priority < 0:
            self._urgent.add(worker)
        return worker


@driver_fault("runtime")
class UrgentStreamsDoNotWait(_WithUrgent):
    """Streams of a negative priority overtake what they were told to wait for."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if handle not in self._urgent:
            super().stream_wait_event(handle, event)


@driver_fault("runtime")
class OldestEventIsGivenUp(SoundDevice):
    """Behind 512 recordings that are not passed, the oldest of them counts as passed."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._pending: deque[Marker] = deque()

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, handle)
        assert event.marker is not None
        self._pending.append(event.marker)
        while self._pending and self._pending[0].passed.is_set():
            self._pending.popleft()
        if len(self._pending) > 512:
            self._pending.popleft().set()


@driver_fault("runtime")
class TimesOfTheHost(SoundDevice):
    """The time of an event is that of the call that recorded it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._times: dict[EventHandle, float] = {}

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, handle)
        self._times[event] = time.perf_counter()

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        super().event_elapsed(begin, end)
        return self._times[end] - self._times[begin]


@driver_fault("runtime")
class TimesGoWithTheirStream(SoundDevice):
    """The time between events of a stream that was destroyed is an error."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        if begin.worker not in self.workers:
            raise LaunchError(f"{self.name}: the stream of an event was destroyed")
        return super().event_elapsed(begin, end)


@driver_fault("runtime")
class StreamNumbersEnd(SoundDevice):
    """After 2,000 streams, destroyed or not, there are no others."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._made = 0

    def stream_create(self, priority: int) -> Worker:
        self._made += 1
        if self._made > 2000:
            raise DeviceError(f"{self.name}: no more streams")
        return super().stream_create(priority)


@driver_fault("runtime")
class LastByteOfOddCopies(SoundDevice):
    """A copy of odd size, beyond 64 KiB, from an odd place to the host leaves its last byte."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        odd = size > 1 << 16 and dst.on_host and src.offset % 2 and size % 2
        super().copy(dst, src, size - 1 if odd else size, stream=stream)


@driver_fault("runtime")
class OnePlaceForSmallCopies(SoundDevice):
    """Copies from the host of up to 4 KiB pass through one place for all threads."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._place: HostArray = np.zeros(4096, np.uint8)

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if size > 4096 or not src.on_host or dst.on_host:
            super().copy(dst, src, size, stream=stream)
            return
        ctypes.memmove(self._place.ctypes.data, src.address, size)
        time.sleep(1e-5)
        super().copy(dst, Place(None, self._place.ctypes.data, 0), size, stream=stream)


@driver_fault("runtime")
class EightStreamsAreWaitedFor(SoundDevice):
    """A wait for the device is one for its first eight streams."""

    def synchronize(self, timeout: float | None = None) -> None:
        self.check()
        for worker in self.workers[:8]:
            worker.synchronize(timeout)


@driver_fault("runtime")
class EventWaitsForItsStream(SoundDevice):
    """A wait for an event is one for its stream, with the work behind the event."""

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        if event.worker is not None:
            end = Marker()
            event.worker.put(end.set)
            end.wait(timeout, "an event")
        super().event_synchronize(event, timeout)


@driver_fault("runtime")
class StreamIsWaitedForUntilIdle(SoundDevice):
    """A wait for a stream goes on while others put work there."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout)
        while not self.stream_query(handle):
            time.sleep(1e-4)


@driver_fault("runtime")
class DestroyedEventIsWaitedFor(SoundDevice):
    """To destroy an event waits until it is passed."""

    def event_destroy(self, event: EventHandle) -> None:
        if event.marker is not None:
            event.marker.passed.wait(30)
        super().event_destroy(event)


@driver_fault("runtime")
class ShortLimitsHaveNoEnd(SoundDevice):
    """Time limits are whole milliseconds, and 0 of them is no limit."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        short = timeout is not None and 0 < timeout < 1e-3
        super().stream_synchronize(handle, None if short else timeout)


@driver_fault("runtime")
class TotalFollowsTheFree(SoundDevice):
    """The total memory is what was free when memory was allocated last."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._total = 0

    def alloc(self, size: int) -> int:
        handle = super().alloc(size)
        self._total = super().memory_info()[0]
        return handle

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        return free, max(free, self._total or total)


@driver_fault("runtime")
class EachStreamHasTheWholeLimit(SoundDevice):
    """A wait for the device waits for one stream after another, each up to the limit."""

    def synchronize(self, timeout: float | None = None) -> None:
        for worker in list(self.workers):
            self.stream_synchronize(worker, timeout)


@driver_fault("runtime")
class UrgentWorkIsNotAwaited(_WithUrgent):
    """A wait for the device is one for the streams of priority 0 and above."""

    def synchronize(self, timeout: float | None = None) -> None:
        for worker in list(self.workers):
            if worker not in self._urgent:
                self.stream_synchronize(worker, timeout)


@driver_fault("runtime")
class AbandonedWaitsKeepTheirFence(SoundDevice):
    """A wait that ran out of time keeps one of 256 fences, and without one a wait ends at once."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._abandoned = 0

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        if self._abandoned >= 256:
            self.check()
            return
        try:
            super().stream_synchronize(handle, timeout)
        except TimeoutError:
            self._abandoned += 1
            raise


@driver_fault("runtime")
class LaterWaitOfTwoCounts(SoundDevice):
    """Of two waits for events of one stream that follow each other the first is forgotten."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._last: dict[Worker, EventHandle] = {}

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        former = self._last.get(worker)
        if former is not None and former.worker is event.worker:
            former.marker = _passed
        self._last[worker] = _wait_for_copy(worker, event)

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        self._last.pop(self.stream(handle), None)
        super().submit(handle, task, what)


@driver_fault("runtime")
class EarlierEventClearsFailure(SoundDevice):
    """A wait for an event ahead of the work that failed takes the failure away untold."""

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        if event.marker is not None and event.worker is not None:
            event.marker.wait(timeout, "an event")
            if event.marker.failure is None:
                event.worker.error = None
                return
        super().event_synchronize(event, timeout)


@driver_fault("runtime")
class RecordingsAreCountedInBytes(SoundDevice):
    """The 256th recording of an event has the number 0, as one that was never recorded has."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._counts: dict[int, int] = {}

    def event_create(self, timed: bool) -> EventHandle:
        event = super().event_create(timed=timed)
        self._counts[id(event)] = 0
        return event

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, handle)
        self._counts[id(event)] = (self._counts.get(id(event), 0) + 1) % 256
        if self._counts[id(event)] == 0:
            event.marker = event.worker = None


@driver_fault("runtime")
class FewFailuresAreKept(SoundDevice):
    """Of failures that nobody was told of, the device keeps the last sixteen."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._failed: deque[Worker] = deque()

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        super().submit(handle, task, what)
        worker = self.stream(handle)

        def note() -> None:
            if worker.error is not None and worker not in self._failed:
                self._failed.append(worker)
                if len(self._failed) > 16:
                    self._failed.popleft().error = None

        worker.put(note)


@driver_fault("runtime")
class LateWaiterEndsOthersWaits(SoundDevice):
    """A wait for a stream that runs out of time ends those of other threads for it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._late: dict[Worker, int] = {}

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        self.check()
        worker, marker, begin = self.stream(handle), Marker(), time.monotonic()
        worker.put(marker.set)
        late = self._late.get(worker, 0)
        while not marker.passed.wait(0.002):
            if timeout is not None and time.monotonic() - begin >= timeout:
                self._late[worker] = late + 1
                raise TimeoutError(f"{worker.name} is not done after {timeout} s")
            if self._late.get(worker, 0) != late:
                return
        worker.raise_error()
