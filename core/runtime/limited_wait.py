"""Waiting with a limit through waits that have none."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import Lock, Thread

from .waiting import Deadline, wait_until

#: Seconds in which a caller asks by itself: handing a wait to a thread and back takes as long.
_SPIN = 10e-6


class LimitedWait:
    """Waits with a limit, made of waits of a runtime that have none; for things that end in order.

    Those are called by a thread, which goes on when the caller gives up; the next wait begins with
    what it waits for. Against `wait_until` the caller does not sleep beyond the end, and runtimes
    that let those who wait for them compute have one who does. Safe from any thread.
    """

    __slots__ = ("_given_up",)

    def __init__(self) -> None:
        self._given_up: _Call | None = None

    def __call__(
        self, wait: Callable[[], object], is_done: Callable[[], bool], timeout: float, what: str
    ) -> None:
        """Call ``wait`` until ``timeout`` seconds are over; not for what is done in microseconds.

        Raises:
            TimeoutError: after ``timeout`` seconds; the work goes on. ``what`` names it.
            Exception: what ``wait`` raises, unless ``is_done`` says that it is over.
        """
        deadline = Deadline(timeout)
        if _is_soon(is_done, min(timeout, _SPIN)):
            self._given_up = None  # over as well, and may hold memory
            return
        earlier, self._given_up = self._given_up, None
        if (earlier is None or self._ends(earlier, deadline)) and not is_done():
            try:
                call = _Call(wait)
            except RuntimeError:  # no thread can be started, as at the end of the interpreter
                wait_until(is_done, timeout, what)
                return
            if self._ends(call, deadline):
                if call.failure is not None and not is_done():
                    raise call.failure
                return
        if not is_done():
            raise TimeoutError(f"{what} is not done after {timeout:g} s")

    def _ends(self, call: _Call, deadline: Deadline) -> bool:
        """Wait for the end of a call; one that goes on is given up."""
        is_over = False
        try:
            is_over = call.is_over.acquire(timeout=deadline.left() or 0)
        finally:  # Ctrl-C is one
            if is_over:
                call.is_over.release()  # others wait for it, too
            else:
                self._given_up = call
        return is_over


class _Call:
    """A call of another thread."""

    __slots__ = ("_function", "failure", "is_over")

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self.failure: Exception | None = None
        #: Held until then.
        self.is_over = Lock()
        self.is_over.acquire()
        try:
            helper = _idle.pop()
        except IndexError:
            helper = _Helper()
        helper.begin(self)

    def __call__(self) -> None:
        try:
            self._function()
        except Exception as error:  # noqa: BLE001 - it travels to whoever waits
            self.failure = error


class _Helper:
    """A thread that calls what it is given; it ends with the process."""

    def __init__(self) -> None:
        self._call: _Call | None = None
        self._has_call = Lock()
        self._has_call.acquire()
        Thread(target=self._serve, name="phalanx-wait", daemon=True).start()

    def begin(self, call: _Call) -> None:
        """Take a call; there is none."""
        self._call = call
        self._has_call.release()

    def _serve(self) -> None:
        while True:
            self._has_call.acquire()
            call, self._call = self._call, None
            assert call is not None
            call()
            _idle.append(self)
            call.is_over.release()
            del call  # what it holds


#: Threads without a call.
_idle: list[_Helper] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of these threads


def _is_soon(is_done: Callable[[], bool], seconds: float) -> bool:
    """Ask again and again for some microseconds whether something is done."""
    begin = time.monotonic()
    while not is_done():
        if time.monotonic() - begin >= seconds:
            return False
    return True
