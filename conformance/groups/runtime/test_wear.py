"""What is made and given back again and again leaves nothing behind in any memory."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import free_memory, has_own_memory
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import need_streams

#: Bytes that one lost object of a driver takes at least, with what the heap notes of it.
_LOST = 40


class _Heap(ctypes.Structure):
    """glibc's ``struct mallinfo2``: ten sizes, the eighth of which counts what is in use."""

    _fields_ = (("sizes", ctypes.c_size_t * 10),)


def _in_use() -> int:
    """Return how many bytes of the C library's heap are in use; skips where nobody tells."""
    tell = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if tell is None:
        pytest.skip("the C library does not tell how much of its heap is in use")
    tell.restype = _Heap
    gc.collect()
    return int(tell().sizes[7])


def _grown(work: Callable[[], None], count: int) -> float:
    """Return by how many bytes the heap grows for each of some calls, the least of three rounds."""
    for _ in range(count):
        work()  # pools and caches fill
    found = []
    for _ in range(3):
        before = _in_use()
        for _ in range(count):
            work()
        found.append((_in_use() - before) / count)
    return min(found)


def test_events_leave_nothing(case: Case) -> None:
    """Events that are recorded again and destroyed are gone."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened, stream = device.ensure_open(), px.Stream(device)

    def work() -> None:
        event = opened.event_create(timed=False)
        opened.event_record(event, stream.handle)
        opened.event_record(event, stream.handle)
        opened.event_synchronize(event, 60.0)
        opened.event_query(event)
        opened.event_destroy(event)

    lost = _grown(work, 500)
    assert lost < _LOST, f"each event leaves {lost:.0f} bytes behind"


def test_events_are_not_used_up(case: Case) -> None:
    """However many events were destroyed, there are others."""
    need_streams(case)
    opened = case.device.ensure_open()
    for number in range(66_000):
        event = opened.event_create(timed=False)
        if number % 100 == 0:
            opened.event_record(event, case.device.default_stream.handle)
        opened.event_destroy(event)


def test_streams_are_not_used_up(case: Case) -> None:
    """However many streams were destroyed, there are others."""
    need_streams(case)
    opened = case.device.ensure_open()
    for _ in range(2_100 if case.quick else 4_200):
        opened.stream_destroy(opened.stream_create(0))


def test_streams_leave_nothing(case: Case) -> None:
    """Streams that have worked, and for whose events others have waited, are gone."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened, other = device.ensure_open(), px.Stream(device)

    def work() -> None:
        stream, event = opened.stream_create(0), opened.event_create(timed=False)
        opened.event_record(event, stream)
        opened.stream_wait_event(other.handle, event)
        opened.stream_synchronize(stream, 60.0)
        opened.stream_destroy(stream)
        opened.event_destroy(event)
        opened.stream_synchronize(other.handle, 60.0)

    lost = _grown(work, 60)
    assert lost < _LOST, f"each stream leaves {lost:.0f} bytes behind"


def test_streams_leave_no_memory(case: Case) -> None:
    """What a stream had of the device for its launches and copies goes with it."""
    if not has_own_memory(case.device):
        pytest.skip("others may use the memory, too")
    opened, count = case.device.ensure_open(), 60
    host = np.arange(35, dtype=np.float32).reshape(5, 7)
    x = px.asarray(host)
    px.synchronize(case.device)

    def work() -> None:
        with px.Stream(case.device) as stream:
            found = px.asnumpy((x.T + 1.0) + (x[::-1].T + x.T))
        stream.close()
        assert (found == host.T + 1 + host[::-1].T + host.T).all()

    lost = []
    for _ in range(3):
        before = opened.memory_info()[0]
        for _ in range(count):
            work()
        lost.append((before - free_memory(opened, before)) // count)
    assert min(lost) < 1 << 12, f"each stream leaves {min(lost)} bytes of the device's behind"


def test_failures_leave_nothing(case: Case) -> None:
    """What is refused, and what fails on a stream, is gone with its error."""
    device = case.device
    opened, stream = device.ensure_open(), px.Stream(device)
    x = px.asarray(np.arange(10, dtype=np.float32))
    bad = px.asarray([99], dtype=px.int64)

    def work() -> None:
        with pytest.raises(px.OutOfMemoryError):
            opened.alloc(1 << 62)
        with pytest.raises(IndexError), stream:
            px.asnumpy(px.take(x, bad))

    lost = _grown(work, 300)
    assert lost < 2 * _LOST, f"each failure leaves {lost:.0f} bytes behind"
