"""An in-order command queue that knows which of its commands may still run."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from types import ModuleType
from typing import Any

from phalanx.device_code.late import LateChecks
from phalanx.vendor import ForkSafeLock, LimitedWait, check_timeout

from .errors import code_name, is_loss, lost, translate

#: Commands that are remembered before the finished ones are looked for.
_LOOK_AFTER = 64


class Queue:
    """A stream's queue. Commands are noted with what they are, for the message if one fails.

    An event of a copy keeps the host's memory alive, so it is dropped only when it is done.
    """

    __slots__ = (
        "__weakref__",
        "_cl",
        "_device",
        "_forgetting",
        "_limited",
        "_make_timed",
        "checks",
        "count",
        "look_at",
        "order",
        "raw",
        "recent",
        "told",
    )

    def __init__(
        self, cl: ModuleType, raw: Any, device: str, make_timed: Callable[[], Any] | None = None
    ) -> None:
        self.raw = raw
        self._make_timed = make_timed
        #: What the host has to look at behind its work.
        self.checks = LateChecks()
        self._cl = cl
        self._device = device
        #: The events of commands that may still run, with what they are; behind `order`.
        self.recent: deque[tuple[Any, Any]] = deque()
        #: How many there are when the finished ones are looked for.
        self.look_at = _LOOK_AFTER
        #: How many commands there were; ahead of which of them a failure was told.
        self.count = self.told = 0
        self._forgetting = threading.Lock()  # only tried
        self._limited = LimitedWait()
        #: Held while a command is enqueued and remembered.
        self.order = ForkSafeLock()

    def put(self, label: Any, enqueue: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Enqueue a command, remember it with what it is, and let the device begin.

        Commands of several threads are remembered in the order of the queue: the last one that is
        done stands for all before it.
        """
        with self.order:
            event = enqueue(self.raw, *args, **options)
            self.count += 1
            self.recent.append((event, label))
        self.raw.flush()
        if len(self.recent) >= self.look_at:
            self.forget_finished()
        return event

    def be_timed(self) -> None:
        """Have the runtime note times from here on: it must be told when a queue is made.

        So work goes on in another queue of the runtime's, which waits for the former one.
        """
        with self.order:
            if self._make_timed is None:
                return
            raw = self._make_timed()
            before = self._cl.enqueue_marker(self.raw)
            self.raw.flush()
            self._cl.enqueue_barrier(raw, wait_for=[before])
            self.raw, self._make_timed = raw, None

    def forget_finished(self) -> None:
        """Drop the finished commands; one that failed stays for the next wait to tell."""
        if not self._forgetting.acquire(blocking=False):
            return  # another thread does it: two would drop each other's first
        try:
            recent = self.recent
            while recent and recent[0][0].command_execution_status == 0:
                recent.popleft()
            self.look_at = len(recent) + _LOOK_AFTER
        finally:
            self._forgetting.release()

    def _last(self) -> Any:
        """Return the event of the last command that is remembered, or ``None``."""
        try:
            return self.recent[-1][0]
        except IndexError:
            return None

    def last_pending(self) -> Any:
        """Return the event of the last command, ``None`` if all commands are done."""
        event = self._last()
        return event if event is not None and still_runs(self._cl, event) else None

    def settle(self, timeout: float | None) -> None:
        """Wait until nothing runs, as `wait` does; failures are left to a wait for the queue."""
        event = self.last_pending()
        if event is not None:
            self.raw.flush()
            with contextlib.suppress(self._cl.Error):
                self._wait(event, timeout)

    def is_idle(self) -> bool:
        """Return whether all commands are done; does not block, and leaves failures to a wait.

        Raises:
            DeviceLostError: the device does not answer any more.
        """
        event = self._last()
        if event is None:
            return True
        self.raw.flush()
        status: int = event.command_execution_status
        if is_loss(status):
            raise self._failure(status)
        return status <= 0

    def wait_for(self, event: Any) -> None:
        """Wait for a command of this queue.

        Raises:
            LaunchError: it failed, or one before it; the message names the first.
        """
        try:
            event.wait()
        except self._cl.Error as error:
            self.raise_failure(int(getattr(error, "code", 0)), error)

    def finish(self, timeout: float | None) -> None:
        """Wait for all commands; ``timeout`` in seconds, then TimeoutError.

        Raises:
            LaunchError: a command failed; the message names it.
            IndexError: of `checks`.
        """
        timeout = check_timeout(timeout)
        checks = self.checks.so_far()
        try:
            if timeout is None:
                self.raw.finish()
            else:
                marker = self._cl.enqueue_marker(self.raw)
                self.raw.flush()
                self._wait(marker, timeout)
        except self._cl.Error as error:
            self.raise_failure(int(getattr(error, "code", 0)), error)
        self._check_recent()
        self.checks.tell(checks)

    def _wait(self, event: Any, timeout: float | None) -> None:
        wait(event, timeout, f"the work of a stream of {self._device}", self._limited)

    def _check_recent(self) -> None:
        for event, _ in tuple(self.recent):
            status = event.command_execution_status
            if status < 0:
                self.raise_failure(status)
        self.forget_finished()

    def raise_failure(self, code: int, error: BaseException | None = None) -> None:
        """Raise the error for a failed command, which is named if it is known, and forget it."""
        failure = self._failure(code, error)
        self.told = self.count
        self.recent.clear()
        raise failure from error

    def _failure(self, code: int, error: BaseException | None = None) -> Exception:
        failed = [
            (event.command_execution_status, label)
            for event, label in tuple(self.recent)
            if event.command_execution_status < 0
        ]
        # -14: a command failed because one that it waits for did
        first = next(((c, label) for c, label in failed if c != -14), (code, None))
        what = f"an earlier {label_text(first[1])}" if first[1] is not None else "waiting for work"
        failure = _Failure(first[0], error)
        return translate(self._cl, failure, self._device, what)


def still_runs(cl: ModuleType, event: Any) -> bool:
    """Return whether a command is not done; one of a device that does not answer is."""
    try:
        return bool(event.command_execution_status > 0)
    except cl.Error:
        return False


class _Failure:
    """The code of a failed command in the form of the runtime's errors."""

    def __init__(self, code: int, error: BaseException | None) -> None:
        self.code = code
        self.routine = str(getattr(error, "routine", "") or "the command")


def label_text(label: Any) -> str:
    """Return what a command is: kernels are noted as themselves, since text costs time."""
    if isinstance(label, str):
        return label
    return f"launch of {label.op}({', '.join(label.dtypes)})"


def wait(event: Any, timeout: float | None, what: str, limited: LimitedWait) -> None:
    """Wait for an event of the runtime; one of a failure may be taken for the end.

    Intel's runtime for CPUs computes in the thread that waits, too, and is half as fast without.

    Raises:
        TimeoutError: after ``timeout`` seconds; the work goes on.
        pyopencl.Error: the work failed.
    """
    if timeout is None:
        event.wait()
    else:
        limited(event.wait, lambda: event.command_execution_status <= 0, timeout, what)


class Marker:
    """What the core calls an event: a marker in a queue, made anew at each recording."""

    __slots__ = ("_behind", "_checks", "_cl", "_device", "_limited", "_queue", "_timed", "raw")

    def __init__(self, cl: ModuleType, device: str, *, timed: bool) -> None:
        self._cl = cl
        self._timed = timed
        self._device = device
        self._queue: Queue | None = None
        self._checks = 0
        #: How many commands of the queue are ahead of it.
        self._behind = 0
        self._limited = LimitedWait()
        self.raw: Any = None

    def record(self, queue: Queue) -> None:
        """Put the marker behind the queue's work so far, as a command: the queue waits for it."""
        if self._timed:
            queue.be_timed()
        self._checks, self._behind = queue.checks.so_far(), queue.count
        self._limited = LimitedWait()  # the former recording may be in a queue that hangs
        self.raw = queue.put("event", self._cl.enqueue_marker)
        self._queue = queue

    def is_passed(self) -> bool:
        """Return whether the queue has come to the marker; does not block, and tells no failure."""
        if self.raw is None:
            return True  # never recorded: nothing stands before it
        status: int = self.raw.command_execution_status
        if is_loss(status):
            what = "work before an event"
            raise lost(self._device, what, code_name(self._cl, status))
        return status <= 0

    def synchronize(self, timeout: float | None) -> None:
        """Wait for the marker; ``timeout`` in seconds.

        Raises:
            LaunchError: the work before it failed, and no other wait has told so; the message names
                what was first.
        """
        queue = self._queue
        if queue is None:
            return
        failure: BaseException | None = None
        try:
            wait(self.raw, timeout, f"the work before an event of {self._device}", self._limited)
            status: int = self.raw.command_execution_status
        except self._cl.Error as error:
            failure, status = error, int(getattr(error, "code", 0))
        if (failure is not None or status < 0) and self._behind > queue.told:
            queue.raise_failure(status, failure)
        queue.checks.tell(self._checks)

    def seconds(self) -> float:
        """Return the device's time at the marker."""
        return int(self.raw.profile.end) * 1e-9
