"""A forked child that computes and ends, or is ended."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager


def prepare() -> None:
    """Let the alarm of a forked child write its stacks to stderr before it ends the child.

    ``faulthandler.dump_traceback_later`` is of no use there: its thread is the parent's.
    """
    faulthandler.register(signal.SIGALRM, file=sys.__stderr__, chain=True)


def in_child(work: Callable[[], bool], limit: float, quiet: AbstractContextManager[object]) -> None:
    """Fork, and let the child do some work and end without any clean-up; blocks until then.

    ``quiet`` is entered for the fork itself: the child inherits what the process is set to.

    Raises:
        AssertionError: the work returned false or raised, or the child was ended after ``limit``
            seconds; what it said, or its stacks, are then on stderr.
    """
    with quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads is the test
        pid = os.fork()
    if pid == 0:
        _be_child(work, limit)
    deadline = time.monotonic() + limit + 10
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    code = os.waitstatus_to_exitcode(status)
    assert code not in (-signal.SIGALRM, -signal.SIGKILL), f"a forked child hangs ({limit:g} s)"
    assert code == 0, f"a forked child ended with {code}; what it said is on stderr"


def _be_child(work: Callable[[], bool], limit: float) -> None:
    code = 1
    try:
        signal.setitimer(signal.ITIMER_REAL, limit)
        code = 0 if work() else 3
    except BaseException:  # noqa: BLE001 - the child has nobody to raise it to
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(code)
