"""Faults of streams and events."""

from __future__ import annotations

from phalanx.errors import LaunchError
from phalanx.testing import EventHandle, Marker, Task, Worker

from .device import SoundDevice, SoundDriver
from .fault import driver_fault


@driver_fault("runtime")
class WaitDoesNothing(SoundDevice):
    """A stream that is told to wait for an event goes on at once."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        pass


@driver_fault("runtime")
class WaitBlocksTheHost(SoundDevice):
    """A stream waits for an event by having the host wait for it."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if event.marker is not None:
            event.marker.wait(None, "an event")


@driver_fault("runtime")
class WaitForgetsSecondEvent(SoundDevice):
    """A stream waits for the first event only, of two it is told to wait for in a row."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._waiting: set[Worker] = set()

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        if worker not in self._waiting:
            super().stream_wait_event(handle, event)
            self._waiting.add(worker)
            worker.put(lambda: self._waiting.discard(worker))


@driver_fault("runtime")
class EventCompleteEarly(SoundDevice):
    """An event is complete when it is recorded, not when the stream comes to it."""

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        event.marker, event.worker = Marker(), self.stream(handle)
        event.marker.set()


@driver_fault("runtime")
class EventBeforeLastTask(SoundDevice):
    """An event is complete when the stream comes to the last task before it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._last: dict[Worker, Marker] = {}

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        worker = self.stream(stream)
        self._last[worker] = Marker()
        worker.put(self._last[worker].set)
        super().submit(stream, task, what)

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        event.worker = self.stream(handle)
        last = self._last.get(event.worker)
        if last is None:
            super().event_record(event, handle)
        else:
            event.marker = last


@driver_fault("runtime")
class EventQueryAlwaysTrue(SoundDevice):
    """Asking an event always says that it has been passed."""

    def event_query(self, event: EventHandle) -> bool:
        return True


@driver_fault("runtime")
class EventQueryNeverTrue(SoundDevice):
    """Asking an event says that it has been passed only after somebody waited for it."""

    def event_query(self, event: EventHandle) -> bool:
        return False


@driver_fault("runtime")
class EventQueryTakesTheFailure(SoundDevice):
    """Asking an event that has been passed takes the failure of the work before it."""

    def event_query(self, event: EventHandle) -> bool:
        passed = super().event_query(event)
        if passed and event.worker is not None:
            event.worker.error = None
        return passed


@driver_fault("runtime")
class EventSynchronizeReturnsAtOnce(SoundDevice):
    """Waiting on the host for an event does not wait."""

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        pass


@driver_fault("runtime")
class EventKeepsFirstRecording(SoundDevice):
    """Recording an event again leaves it where it was recorded first."""

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        if event.marker is None:
            super().event_record(event, handle)


@driver_fault("runtime")
class WaitFollowsLaterRecording(SoundDevice):
    """A wait refers to an event as it is when the stream comes to the wait."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        def wait() -> None:
            if event.marker is not None:
                event.marker.wait(None, "an event")

        self.stream(handle).put(wait)


@driver_fault("runtime")
class DestroyedEventReleasesWaiters(SoundDevice):
    """Destroying an event that is pending lets those that wait for it go on."""

    def event_destroy(self, event: EventHandle) -> None:
        if event.marker is not None:
            event.marker.set()


@driver_fault("runtime")
class EventDiesWithItsStream(SoundDevice):
    """An event cannot be asked or destroyed any more after its stream was closed."""

    def _check(self, event: EventHandle) -> None:
        if event.worker is not None and event.worker not in self.workers:
            raise LaunchError("invalid handle: the event's queue has been released")

    def event_query(self, event: EventHandle) -> bool:
        self._check(event)
        return super().event_query(event)

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        self._check(event)
        super().event_synchronize(event, timeout)

    def event_destroy(self, event: EventHandle) -> None:
        self._check(event)
        super().event_destroy(event)


def _without_limit(timeout: float | None) -> float | None:
    return timeout if timeout is not None and timeout < 0 else None


@driver_fault("runtime")
class TimeoutIgnored(SoundDevice):
    """Waiting with a timeout waits without one."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, _without_limit(timeout))

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        super().event_synchronize(event, _without_limit(timeout))


@driver_fault("runtime")
class ElapsedInMilliseconds(SoundDevice):
    """The time between two events comes in milliseconds."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(begin, end) * 1e3


@driver_fault("runtime")
class ElapsedWithoutSign(SoundDevice):
    """From an event to an earlier one time passes as it does forwards."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return abs(super().event_elapsed(begin, end))


@driver_fault("runtime")
class ElapsedInClockTicks(SoundDevice):
    """The time between two events comes in ticks of 38.4 MHz that are taken for nanoseconds."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(begin, end) * 0.0384


@driver_fault("runtime")
class ElapsedNegative(SoundDevice):
    """The time between two events is counted from the second to the first."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(end, begin)


@driver_fault("runtime")
class StreamSynchronizeReturnsAtOnce(SoundDevice):
    """Waiting for a stream other than the default one does not wait."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        if handle is None:
            super().stream_synchronize(handle, timeout)


@driver_fault("runtime")
class StreamQueryAlwaysTrue(SoundDevice):
    """Asking a stream always says that it is idle."""

    def stream_query(self, handle: Worker | None) -> bool:
        return True


@driver_fault("runtime")
class StreamQueryTakesTheFailure(SoundDevice):
    """Asking a stream that is idle takes the failure of its work."""

    def stream_query(self, handle: Worker | None) -> bool:
        is_idle = super().stream_query(handle)
        if is_idle:
            self.stream(handle).error = None
        return is_idle


@driver_fault("runtime")
class ClosedStreamDropsWork(SoundDevice):
    """Closing a stream throws away the work that has not begun."""

    def stream_destroy(self, handle: Worker) -> None:
        handle.error = LaunchError("the queue has been released")
        handle.discard()
        handle.stop()


@driver_fault("runtime")
class NinthStreamIsTheFirst(SoundDevice):
    """There are eight hardware queues, and closing the ninth stream closes the one it shares."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._queues: list[Worker] = []

    def stream_create(self, priority: int) -> Worker:
        self._queues = [w for w in self._queues if w in self.workers]
        if len(self._queues) >= 8:
            return self._queues[0]
        self._queues.append(super().stream_create(priority))
        return self._queues[-1]


@driver_fault("runtime")
class ElapsedOfTwentyFourBits(SoundDevice):
    """Times come from a counter of 24 bits at 38.4 MHz, which begins anew after 0.437 s."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(begin, end) % (2**24 / 38.4e6)


@driver_fault("runtime")
class ElapsedOnOneStreamOnly(SoundDevice):
    """Between events of two streams no time passes."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(begin, end) if begin.worker is end.worker else 0.0


@driver_fault("runtime")
class EventsAreUsedUp(SoundDevice):
    """There are 8,192 events, and none that is destroyed comes back."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._left = 8192

    def event_create(self, timed: bool) -> EventHandle:
        self._left -= 1
        if self._left < 0:
            raise LaunchError("no event is left")
        return super().event_create(timed)


@driver_fault("runtime")
class StreamNumberShared(SoundDevice):
    """All streams have the number of the default one for other libraries."""

    def stream_number(self, handle: Worker | None) -> int | None:
        del handle
        return 1


@driver_fault("runtime")
class FortyStreamsWaitForAnEvent(SoundDevice):
    """An event has room for forty streams that wait for it; further ones do not."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._waiting: dict[Marker, int] = {}

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if event.marker is not None:
            waiting = self._waiting[event.marker] = self._waiting.get(event.marker, 0) + 1
            if waiting > 40:
                return
        super().stream_wait_event(handle, event)


@driver_fault("runtime")
class ElapsedTakesFailure(SoundDevice):
    """To ask for the time between two events takes the failure of the second one's stream."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        seconds = super().event_elapsed(begin, end)
        if end.worker is not None:
            end.worker.error = None
        return seconds
