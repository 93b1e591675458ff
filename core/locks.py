"""Locks that a forked child finds open: the thread that held one is not there to open it."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

_locks: WeakSet[ForkSafeLock] = WeakSet()


class ForkSafeLock:
    """A lock for ``with``, which the thread that holds it may take again.

    It must guard what is complete at any moment, such as a table that is put in place whole: a
    child may come to be while another thread is inside.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Open it, whoever holds it."""
        self._lock = threading.RLock()


def _after_fork_in_child() -> None:
    for lock in list(_locks):
        lock.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
