"""Faults of streams and events."""

from __future__ import annotations

from phalanx._warm import Device
from phalanx.errors import LaunchError

from .device import SoundDriver
from .fault import driver_fault
from .streams import EventHandle, Marker, Task, Worker


@driver_fault("runtime")
class WaitDoesNothing(SoundDriver):
    """A stream that is told to wait for an event goes on at once."""

    def stream_wait_event(self, index: int, handle: Worker | None, event: EventHandle) -> None:
        pass


@driver_fault("runtime")
class WaitForgetsSecondEvent(SoundDriver):
    """A stream waits for the first event only, of two it is told to wait for in a row."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._waiting: set[Worker] = set()

    def stream_wait_event(self, index: int, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(index, handle)
        if worker not in self._waiting:
            super().stream_wait_event(index, handle, event)
            self._waiting.add(worker)
            worker.put(lambda: self._waiting.discard(worker))


@driver_fault("runtime")
class EventCompleteEarly(SoundDriver):
    """An event is complete when it is recorded, not when the stream comes to it."""

    def event_record(self, index: int, event: EventHandle, handle: Worker | None) -> None:
        event.marker, event.worker = Marker(), self.stream(index, handle)
        event.marker.set()


@driver_fault("runtime")
class EventBeforeLastTask(SoundDriver):
    """An event is complete when the stream comes to the last task before it."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._last: dict[Worker, Marker] = {}

    def submit(self, index: int, stream: Worker | None, task: Task, what: str) -> None:
        worker = self.stream(index, stream)
        self._last[worker] = Marker()
        worker.put(self._last[worker].set)
        super().submit(index, stream, task, what)

    def event_record(self, index: int, event: EventHandle, handle: Worker | None) -> None:
        event.worker = self.stream(index, handle)
        last = self._last.get(event.worker)
        if last is None:
            super().event_record(index, event, handle)
        else:
            event.marker = last


@driver_fault("runtime")
class EventQueryAlwaysTrue(SoundDriver):
    """Asking an event always says that it has been passed."""

    def event_query(self, index: int, event: EventHandle) -> bool:
        return True


@driver_fault("runtime")
class EventQueryNeverTrue(SoundDriver):
    """Asking an event says that it has been passed only after somebody waited for it."""

    def event_query(self, index: int, event: EventHandle) -> bool:
        return False


@driver_fault("runtime")
class EventSynchronizeReturnsAtOnce(SoundDriver):
    """Waiting on the host for an event does not wait."""

    def event_synchronize(
        self, index: int, event: EventHandle, timeout: float | None = None
    ) -> None:
        pass


@driver_fault("runtime")
class EventKeepsFirstRecording(SoundDriver):
    """Recording an event again leaves it where it was recorded first."""

    def event_record(self, index: int, event: EventHandle, handle: Worker | None) -> None:
        if event.marker is None:
            super().event_record(index, event, handle)


@driver_fault("runtime")
class WaitFollowsLaterRecording(SoundDriver):
    """A wait refers to an event as it is when the stream comes to the wait."""

    def stream_wait_event(self, index: int, handle: Worker | None, event: EventHandle) -> None:
        def wait() -> None:
            if event.marker is not None:
                event.marker.wait(None, "an event")

        self.stream(index, handle).put(wait)


@driver_fault("runtime")
class DestroyedEventReleasesWaiters(SoundDriver):
    """Destroying an event that is pending lets those that wait for it go on."""

    def event_destroy(self, index: int, event: EventHandle) -> None:
        if event.marker is not None:
            event.marker.set()


@driver_fault("runtime")
class EventDiesWithItsStream(SoundDriver):
    """An event cannot be asked or destroyed any more after its stream was closed."""

    def _check(self, event: EventHandle) -> None:
        workers = [w for found in self._workers.values() for w in found]
        if event.worker is not None and event.worker not in workers:
            raise LaunchError("invalid handle: the event's queue has been released")

    def event_query(self, index: int, event: EventHandle) -> bool:
        self._check(event)
        return super().event_query(index, event)

    def event_synchronize(
        self, index: int, event: EventHandle, timeout: float | None = None
    ) -> None:
        self._check(event)
        super().event_synchronize(index, event, timeout)

    def event_destroy(self, index: int, event: EventHandle) -> None:
        self._check(event)
        super().event_destroy(index, event)


def _without_limit(timeout: float | None) -> float | None:
    return timeout if timeout is not None and timeout < 0 else None


@driver_fault("runtime")
class TimeoutIgnored(SoundDriver):
    """Waiting with a timeout waits without one."""

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        super().stream_synchronize(index, handle, _without_limit(timeout))

    def event_synchronize(
        self, index: int, event: EventHandle, timeout: float | None = None
    ) -> None:
        super().event_synchronize(index, event, _without_limit(timeout))


@driver_fault("runtime")
class ElapsedInMilliseconds(SoundDriver):
    """The time between two events comes in milliseconds."""

    def event_elapsed(self, index: int, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(index, begin, end) * 1e3


@driver_fault("runtime")
class ElapsedInClockTicks(SoundDriver):
    """The time between two events comes in ticks of 38.4 MHz that are taken for nanoseconds."""

    def event_elapsed(self, index: int, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(index, begin, end) * 0.0384


@driver_fault("runtime")
class ElapsedNegative(SoundDriver):
    """The time between two events is counted from the second to the first."""

    def event_elapsed(self, index: int, begin: EventHandle, end: EventHandle) -> float:
        return super().event_elapsed(index, end, begin)


@driver_fault("runtime")
class StreamSynchronizeReturnsAtOnce(SoundDriver):
    """Waiting for a stream other than the default one does not wait."""

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        if handle is None:
            super().stream_synchronize(index, handle, timeout)


@driver_fault("runtime")
class StreamQueryAlwaysTrue(SoundDriver):
    """Asking a stream always says that it is idle."""

    def stream_query(self, index: int, handle: Worker | None) -> bool:
        return True


@driver_fault("runtime")
class ClosedStreamDropsWork(SoundDriver):
    """Closing a stream throws away the work that has not begun."""

    def stream_destroy(self, index: int, handle: Worker) -> None:
        handle.error = LaunchError("the queue has been released")
        handle.discard()
        handle.stop()


@driver_fault("runtime")
class NinthStreamIsTheFirst(SoundDriver):
    """There are eight hardware queues, and closing the ninth stream closes the one it shares."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._queues: list[Worker] = []

    def stream_create(self, index: int, priority: int) -> Worker:
        self._queues = [w for w in self._queues if w in self._opened(index)]
        if len(self._queues) >= 8:
            return self._queues[0]
        self._queues.append(super().stream_create(index, priority))
        return self._queues[-1]
