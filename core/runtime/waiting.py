"""Waiting with a limit on runtimes whose own waits have none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_FIRST_NAP, _LONGEST_NAP = 20e-6, 1e-3
#: A nap is this part of the time waited so far, so that a wait is hardly longer than its work.
_NAP_PART = 16


def check_timeout(timeout: float | None) -> None:
    """Raise TypeError or ValueError for what is not a time to wait."""
    if timeout is not None and not hasattr(timeout, "__float__"):
        raise TypeError(f"a timeout is a number of seconds from 0 up or None, not {timeout!r}")
    if timeout is not None and (math.isnan(timeout) or timeout < 0):
        raise ValueError(f"a timeout is a number of seconds from 0 up or None, not {timeout!r}")


class Deadline:
    """The end of a wait of several steps that may take ``timeout`` seconds together.

    Raises:
        TypeError, ValueError: as `check_timeout`.
    """

    __slots__ = ("_end",)

    def __init__(self, timeout: float | None) -> None:
        check_timeout(timeout)
        self._end = None if timeout is None else time.monotonic() + timeout

    def left(self) -> float | None:
        """Return the seconds that are left, 0 after the end; None if there is no limit."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())


def wait_until(
    is_done: Callable[[], bool], timeout: float | None, what: str, *, spin: float = 0.0
) -> None:
    """Ask again and again until something is done; for the first ``spin`` seconds without sleep.

    Raises:
        TimeoutError: after ``timeout`` seconds; the work goes on. ``what`` names it.
        ValueError: ``timeout`` is negative or NaN.
    """
    check_timeout(timeout)
    begin = time.monotonic()
    while not is_done():
        passed = time.monotonic() - begin
        if timeout is not None and passed >= timeout:
            raise TimeoutError(f"{what} is not done after {timeout:g} s")
        if passed < spin:
            continue
        nap = min(max(_FIRST_NAP, passed / _NAP_PART), _LONGEST_NAP)
        time.sleep(nap if timeout is None else min(nap, timeout - passed))
