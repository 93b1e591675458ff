"""Locks that a forked child finds free.

A fork copies a lock that another thread holds, and not the thread that would give it back.
"""

from __future__ import annotations

import os
import weakref
from _thread import RLock  # the class behind the function of that name in threading

_known: weakref.WeakSet[ForkSafeLock] = weakref.WeakSet()


class ForkSafeLock(RLock):  # type: ignore[misc] # typeshed calls it final; it is not
    """A re-entrant lock for ``with``; in a forked child only the thread that forked may hold it.

    What it protects must be consistent whenever the interpreter may switch threads, since the child
    finds it as it was at the fork: make a change whole first, and then put it in place.
    """

    def __init__(self) -> None:
        _known.add(self)


def _free_in_child() -> None:
    for lock in tuple(_known):
        if lock.acquire(blocking=False):  # free, or this thread's own
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined] # as `logging` does with its


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
