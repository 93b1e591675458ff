"""Work that keeps a stream busy while a case looks at what else goes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.vendor import Array

Made = TypeVar("Made")


def by_a_thread(work: Callable[[], Made]) -> Made:
    """Return what a thread makes, which has ended then."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, work).result(60)


def chain(x: Array, length: int) -> Array:
    """Add one to an array so many times."""
    for _ in range(length):
        x = x + 1
    return x


def need_streams(case: Case) -> None:
    """Skip the case where all work is in one queue."""
    if not case.device.has_streams:
        pytest.skip("the device has no streams of its own")


def takes(case: Case) -> bool:
    """Tell whether the device takes elements by an index, of which one may be wrong."""
    return case.has("gather", "float32", "int64", "float32")


def take_wrongly(case: Case, stream: px.Stream) -> Array | None:
    """Take by a wrong index on a stream; ``None`` if the call told it: nothing is left to tell."""
    if not takes(case):
        pytest.skip("the device takes nothing by an index")
    x, bad = px.asarray(np.arange(10, dtype=np.float32)), px.asarray([0, 99], dtype=px.int64)
    px.synchronize(case.device)
    with stream:
        try:
            return px.take(x, bad)
        except IndexError:
            return None


def busy(
    case: Case,
    seconds: float,
    *,
    behind: px.Event | None = None,
    asks: bool = True,
    stream: px.Stream | None = None,
) -> px.Stream:
    """Return a stream with work for at least about so long, which may wait for an event first.

    It is a new one of the case's device, or ``stream``, of the current device. Skips the case if
    the device is too fast, unless it shall not ask.
    """
    stream, took = stream or px.Stream(case.device), []
    for _ in range(4):  # others may use the device, too: the fastest counts
        begin = time.perf_counter()
        with stream:
            chain(px.zeros(1 << 20, dtype=px.float32), 4)
        stream.synchronize()
        took.append(time.perf_counter() - begin)
    each = min(took) / 4
    if behind is not None:
        case.device.ensure_open().stream_wait_event(stream.handle, behind.handle)
    with stream:
        chain(px.zeros(1 << 20, dtype=px.float32), min(5000, int(seconds / each) + 1))
    if asks and stream.query():
        pytest.skip("the device is too fast for this case")
    return stream


def looks_until(case: Case, long: Any, ends: tuple[Any, ...], what: str) -> int:
    """Return how often an event was not passed; fail if one behind it was, and wait for all."""
    opened, looks = case.device.ensure_open(), 0
    while not opened.event_query(long):
        looks += 1
        passed = [end for end in ends if opened.event_query(end)]
        early = bool(passed) and not opened.event_query(long)
        assert not early, what
        time.sleep(1e-3)
    px.synchronize(case.device)
    return looks
