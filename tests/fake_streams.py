"""Streams with a real worker thread each, so that a missing wait shows."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable


class Marker:
    """One recording of an event."""

    def __init__(self) -> None:
        self.passed = threading.Event()
        self.time = 0.0

    def set(self) -> None:
        self.time = time.perf_counter()
        self.passed.set()


class FakeEvent:
    """What ``event_create`` returns; every recording puts another marker in."""

    def __init__(self) -> None:
        self.marker: Marker | None = None
        self.worker: Worker | None = None
        self.destroyed = False


class Worker:
    """An in-order queue of tasks on a daemon thread.

    After a task failed the later ones are skipped until somebody waits and receives the error, so
    that nothing computes with results that never came.
    """

    def __init__(self, name: str, delay: float) -> None:
        self.delay = delay
        self.gate = threading.Event()
        self.gate.set()
        self.error: BaseException | None = None
        self._tasks: deque[Callable[[], None]] = deque()
        self._changed = threading.Condition()
        self._busy = False
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, task: Callable[[], None]) -> None:
        """Enqueue work; it starts after ``delay`` seconds and when the gate is open."""

        def guarded() -> None:
            if self.delay:
                time.sleep(self.delay)
            if self.error is None:
                try:
                    task()
                except BaseException as error:  # noqa: BLE001 - it travels to whoever waits
                    self.error = error

        self._put(guarded)

    def record(self, marker: Marker) -> None:
        self._put(marker.set)

    def wait_for(self, marker: Marker) -> None:
        self._put(lambda: marker.passed.wait() and None)

    def idle(self) -> bool:
        with self._changed:
            return not self._tasks and not self._busy

    def synchronize(self, timeout: float | None) -> None:
        """Wait for the work so far and raise the first error in it."""
        marker = Marker()
        self.record(marker)
        if not marker.passed.wait(timeout):
            raise TimeoutError(f"the stream still works after {timeout} s")
        self.raise_error()

    def raise_error(self) -> None:
        error, self.error = self.error, None
        if error is not None:
            raise error

    def stop(self) -> None:
        """Finish the work and end the thread."""
        self.gate.set()
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=60)

    def _put(self, task: Callable[[], None]) -> None:
        with self._changed:
            self._tasks.append(task)
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                while not self._tasks:
                    if self._stopped:
                        return
                    self._changed.wait()
                self._busy = True
                task = self._tasks.popleft()
            self.gate.wait()
            task()
