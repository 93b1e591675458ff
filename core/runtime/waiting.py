"""Waiting with a limit on runtimes whose own waits have none."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_FIRST_NAP, _LONGEST_NAP = 20e-6, 1e-3
#: A nap is this part of the time waited so far, so that a wait is hardly longer than its work.
_NAP_PART = 16


#: Seconds, 136 years: waits of Python take no more than some 292.
_LONGEST_WAIT = 2.0**32


def check_timeout(timeout: float | None) -> float | None:
    """Return a time to wait in seconds; any number with ``__float__`` is one, however long.

    Raises:
        TypeError, ValueError: for what is not a time to wait.
    """
    if timeout is None:
        return None
    try:
        seconds = float(timeout) if hasattr(timeout, "__float__") else None
    except OverflowError:  # of an int
        seconds = math.inf if timeout > 0 else -math.inf
    except TypeError:
        seconds = None
    if seconds is None:
        raise TypeError(f"a timeout is a number of seconds from 0 up or None, not {timeout!r}")
    if math.isnan(seconds) or seconds < 0:
        raise ValueError(f"a timeout is a number of seconds from 0 up or None, not {timeout!r}")
    return min(seconds, _LONGEST_WAIT)


class Deadline:
    """The end of a wait of several steps that may take ``timeout`` seconds together.

    Raises:
        TypeError, ValueError: as `check_timeout`.
    """

    __slots__ = ("_end",)

    def __init__(self, timeout: float | None) -> None:
        seconds = check_timeout(timeout)
        self._end = None if seconds is None else time.monotonic() + seconds

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
    timeout = check_timeout(timeout)
    begin = time.monotonic()
    while not is_done():
        passed = time.monotonic() - begin
        if timeout is not None and passed >= timeout:
            raise TimeoutError(f"{what} is not done after {timeout:g} s")
        if passed < spin:
            continue
        nap = min(max(_FIRST_NAP, passed / _NAP_PART), _LONGEST_NAP)
        time.sleep(nap if timeout is None else min(nap, timeout - passed))
