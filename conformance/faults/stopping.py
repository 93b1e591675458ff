"""Faults of what happens behind a command that failed."""

from __future__ import annotations

from phalanx.errors import LaunchError
from phalanx.testing import EventHandle, Marker, Task, Worker
from phalanx.testing.streams import stops

from .device import SoundDevice, SoundDriver
from .fault import driver_fault


class _GoesOn(Worker):
    def failure(self) -> BaseException | None:
        return None


@driver_fault("runtime")
class WorkGoesOnBehindFailures(SoundDevice):
    """What lies behind a command that failed is done all the same."""

    queue = _GoesOn


class _Forgets(Worker):
    def raise_error(self) -> None:
        try:
            super().raise_error()
        finally:
            self._passed_over = 0


@driver_fault("runtime")
class TellingLetsTheQueueGoOn(SoundDevice):
    """When a failure was told, what is in the queue since before is done."""

    queue = _Forgets


@driver_fault("runtime")
class CopiesGoOnBehindFailures(SoundDevice):
    """Launches behind a command that failed are passed over, copies are not."""

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        if not what.startswith("copy of"):
            super().submit(handle, task, what)
            return
        worker = self.stream(handle)

        def copy() -> None:
            try:
                task()
            except IndexError as error:
                worker.error = worker.error or error

        worker.put(copy)


@driver_fault("runtime")
class EventsHandOnNoFailure(SoundDevice):
    """A stream that waits for an event behind a failure works on."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        self.check()
        if (marker := event.marker) is not None:
            self.stream(handle).put(lambda: marker.wait(None, "an event"))


@driver_fault("runtime")
class SeenEventsHandOnNoFailure(SoundDevice):
    """A wait for an event that has been passed is left out, though work before it failed."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if event.marker is None or not event.marker.passed.is_set():
            super().stream_wait_event(handle, event)


@driver_fault("runtime")
class FailuresGoOneEventFar(SoundDevice):
    """A failure that came by an event is not handed on by another one."""

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        self.check()
        marker, worker = Marker(), self.stream(handle)

        def mark() -> None:
            failure = worker.failure()
            marker.set(None if getattr(failure, "came_far", False) else failure)
            if marker.failure is not None:
                marker.failure.came_far = True  # type: ignore[attr-defined]

        worker.put(mark)
        event.marker, event.worker = marker, worker


@driver_fault("runtime")
class FailuresAreThoseOfStreams(SoundDevice):
    """Who waits for an event fails if its stream has failed since."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        self.check()
        marker, of = event.marker, event.worker
        if marker is None or of is None:
            return

        def set_late() -> None:
            marker.wait(None, "an event")
            if stops(of.error):
                raise LaunchError("a stream that is waited for has failed")

        super().stream_wait_event(handle, event)
        self.submit(handle, set_late, "a wait")


@driver_fault("runtime")
class EachFailureIsTold(SoundDevice):
    """A second command that fails is run behind the first one, and told by the next wait."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._further: dict[Worker, int] = {}

    def stream_inject_failure(self, handle: Worker | None) -> None:
        worker = self.stream(handle)

        def fail() -> None:
            if worker.error is None:
                worker.error = LaunchError(f"a failure on {self.name}")
                worker._cause = worker.error
            else:
                self._further[worker] = self._further.get(worker, 0) + 1

        worker.put(fail)

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout)
        worker = self.stream(handle)
        if self._further.pop(worker, 0):
            raise LaunchError(f"a further failure on {self.name}")


class _Stays(Worker):
    def raise_error(self) -> None:
        error = self.error
        try:
            super().raise_error()
        finally:
            if stops(error):
                self._passed_over = 1 << 62


@driver_fault("runtime")
class StreamsStayStopped(SoundDevice):
    """A stream on which a command failed does nothing any more, and says no more."""

    queue = _Stays


@driver_fault("runtime")
class FailureStopsAllStreams(SoundDevice):
    """A command that fails on a stream is told by waits for the others, too."""

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        def fail_everywhere() -> None:
            try:
                task()
            except IndexError:
                raise
            except Exception as error:
                for worker in list(self.workers):
                    if worker.error is None:
                        worker.error = error
                raise

        super().submit(handle, fail_everywhere, what)


@driver_fault("runtime")
class EventsTellAgain(SoundDevice):
    """A wait for an event behind a failure tells it, though another wait has."""

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        super().event_synchronize(event, timeout)
        if event.marker is not None and stops(event.marker.failure):
            raise LaunchError(str(event.marker.failure))


@driver_fault("runtime")
class QuestionsTakeFailures(SoundDevice):
    """A question whether a stream is idle takes the failure of a command that nobody was told."""

    def stream_query(self, handle: Worker | None) -> bool:
        worker = self.stream(handle)
        if (idle := super().stream_query(handle)) and stops(worker.error):
            worker.error = None
        return idle


@driver_fault("runtime")
class EndsTellNoFailure(SoundDevice):
    """To destroy a stream drops the failure of a command on it."""

    def stream_destroy(self, handle: Worker) -> None:
        handle.put(lambda: setattr(handle, "error", None))
        super().stream_destroy(handle)


class _Counts(Worker):
    """Passes over 64 commands."""

    passed = 0

    def failure(self) -> BaseException | None:
        failure = super().failure()
        if not stops(failure):
            self.passed = 0
            return failure
        self.passed += 1
        return failure if self.passed <= 64 else None


@driver_fault("runtime")
class FewArePassedOver(SoundDevice):
    """Behind a command that failed, 64 are passed over."""

    queue = _Counts
