"""In-order queues of work with a worker thread each, so that a missing wait shows."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from copy import copy
from queue import Empty, SimpleQueue

from phalanx.errors import LaunchError
from phalanx.runtime.locks import ForkSafeLock
from phalanx.runtime.waiting import check_timeout

Task = Callable[[], None]


class Marker:
    """One recording of an event."""

    def __init__(self) -> None:
        self.passed = threading.Event()
        self.time = 0.0
        self.failure: BaseException | None = None

    def set(self, failure: BaseException | None = None) -> None:
        """Note that the stream has come here, when, and what failed before."""
        self.time = time.perf_counter()
        self.failure = _detached(failure)
        self.passed.set()

    def wait(self, timeout: float | None, what: str) -> None:
        """Block until the stream has come here; ``timeout`` in seconds, then ``TimeoutError``.

        Raises:
            TypeError, ValueError: what is not a time to wait.
        """
        if not self.passed.wait(check_timeout(timeout)):
            raise TimeoutError(f"{what} is not done after {timeout} s")


def _detached(failure: BaseException | None) -> BaseException | None:
    """Return the failure without the frames that it has come and will come through.

    A marker may live long, and the frames hold the arrays of whoever was told.
    """
    try:
        detached = copy(failure)
    except Exception:  # noqa: BLE001 - whatever a vendor's exception does when it is copied
        detached = (IndexError if isinstance(failure, IndexError) else LaunchError)(str(failure))
    if detached is not None and hasattr(detached, "__notes__"):
        detached.__notes__ = list(detached.__notes__)
    return detached


def stops(failure: BaseException | None) -> bool:
    """Tell whether a failure stops its queue; a wrong index does not."""
    return failure is not None and not isinstance(failure, IndexError)


class EventHandle:
    """What ``event_create`` returns; every recording puts another marker in."""

    def __init__(self) -> None:
        self.marker: Marker | None = None
        self.worker: Worker | None = None
        self.destroyed = False


class Worker:
    """A stream: a daemon thread that does one task after another.

    After a task failed, those that were enqueued before somebody waits and receives the error are
    skipped, so that nothing computes with results that never came. An index out of range stops
    nothing: what is taken by it is zeros.

    Args:
        name: of the thread.
        latency: seconds from the start of a task to its work, as a device has.

    Attributes:
        gate: tasks begin only while it is set.
    """

    def __init__(self, name: str, latency: float = 0.0) -> None:
        self.name = name
        self.latency = latency
        self.error: BaseException | None = None
        self.gate = threading.Event()
        self.gate.set()
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        self._lock = ForkSafeLock()
        self._enqueued = self._done = 0
        #: What stopped the queue last; tasks up to that number were enqueued before it was told.
        self._cause: BaseException | None = None
        self._passed_over = 0
        self._stopped = False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, task: Task) -> None:
        """Enqueue work."""

        def guarded() -> None:
            if self.latency:
                time.sleep(self.latency)
            if not stops(self.failure()):
                try:
                    task()
                except BaseException as error:  # noqa: BLE001 - it travels to whoever waits
                    self._keep(error)

        self.put(guarded)

    def put(self, task: Task) -> None:
        """Enqueue what runs even after a failure: markers and waits.

        After ``stop`` all work is done, and the task runs at once: another thread may wait for all
        queues while one is being released.
        """
        with self._lock:
            stopped = self._stopped
            if not stopped:
                self._enqueued += 1
                self._tasks.put(task)
        if stopped:
            self._join()
            task()

    def follow(self, marker: Marker) -> None:
        """Let later work wait for another queue; if work before the marker failed, this has too."""

        def wait() -> None:
            marker.wait(None, "an event")
            if stops(marker.failure):
                self._keep(_detached(marker.failure))

        self.put(wait)

    def _keep(self, error: BaseException | None) -> None:
        """Keep the first failure; a wrong index, which stops nothing, gives way to another."""
        if self.error is None or (stops(error) and not stops(self.error)):
            self.error = error
            self._cause = _detached(error) if stops(error) else self._cause

    def failure(self) -> BaseException | None:
        """Return what failed before the task that runs, if that was enqueued before it was told."""
        if self.error is None and self._done < self._passed_over:
            return self._cause
        return self.error

    def idle(self) -> bool:
        """Tell whether all tasks are done."""
        return self._enqueued == self._done

    def synchronize(self, timeout: float | None) -> None:
        """Wait for the work so far and raise the first error in it."""
        marker = Marker()
        self.put(marker.set)
        marker.wait(timeout, self.name)
        self.raise_error()

    def raise_error(self) -> None:
        """Raise the first error since the last call, if there was one."""
        error, self.error = self.error, None
        if stops(error):
            self._passed_over = self._enqueued
        if error is not None:
            raise error

    def stop(self) -> None:
        """Finish the work and end the thread."""
        self.gate.set()
        with self._lock:
            if not self._stopped:
                self._tasks.put(None)
            self._stopped = True
        self._join()

    def discard(self) -> None:
        """Throw away the tasks that have not begun, markers and waits among them."""
        with contextlib.suppress(Empty):
            while True:
                self._tasks.get_nowait()
                with self._lock:
                    self._done += 1

    def _join(self) -> None:
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=60)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            self.gate.wait()
            task()
            with self._lock:
                self._done += 1
