"""Copies inside the host's memory by several threads: one is slower than the bus to a device."""

from __future__ import annotations

import ctypes
import os
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

#: Most threads of a copy, and the least bytes for each: waking one takes as long as to copy these.
_MOST_THREADS, _LEAST_PART = 4, 1 << 20


def copy_bytes(target: int, source: int, size: int) -> None:
    """Copy bytes between two addresses, which must not overlap; done on return.

    Other Python threads run meanwhile.
    """
    parts = min(_threads(), size // _LEAST_PART)
    if parts < 2:
        ctypes.memmove(target, source, size)
        return
    step = -(-size // parts)
    others: list[Future[int]] = []
    try:
        for start in range(step, size, step):
            ends = (target + start, source + start, min(step, size - start))
            others.append(_pool().submit(ctypes.memmove, *ends))
        own = step
    except RuntimeError:  # the interpreter ends: no thread begins any more
        own = size
    ctypes.memmove(target, source, own)
    for other in others:
        other.result()


@cache
def _threads() -> int:
    """How many cores this process may use, up to the most threads of a copy."""
    if hasattr(os, "sched_getaffinity"):
        return min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    return min(_MOST_THREADS, os.cpu_count() or 1)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_THREADS - 1, "phalanx-copy")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a child has none of these threads
