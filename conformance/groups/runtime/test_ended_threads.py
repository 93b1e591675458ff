"""What threads leave behind when they end, and what others may do while one waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import free_memory, has_own_memory
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, by_a_thread, need_streams, takes
from phalanx.driver import OpenDevice

Made = TypeVar("Made")
#: How often a thread is tried that may have been late.
_TRIES = 5
_SIZE, _BLOCKS = 1 << 20, 8
#: That come one after another: more than have a slot each.
_THREADS = 300


def _beside_a_wait(of: px.Stream | px.Event, work: Callable[[], Made]) -> Made:
    """Return what work makes while a thread waits for a stream or event, when that has ended."""
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        of.synchronize(60)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(wait)
        begun.wait(60)
        try:
            return work()
        finally:
            waiting.result(60)


def test_numbers_outlive_their_thread(case: Case) -> None:
    """A launch with Python numbers runs when the thread that asked for it has ended."""
    stream = px.Stream(case.device)
    host = np.arange(1000, dtype=np.float32)
    with stream:
        x = px.asarray(host)

    def work() -> px.Array:
        with stream:
            return px.maximum(x + 2.5, 300.0)

    work()  # so that all is compiled
    stream.synchronize()
    for _ in range(3):
        if case.device.has_streams:
            stream.wait(busy(case, 0.05, asks=False).record())
        found = by_a_thread(work)
        stream.synchronize()
        assert (px.asnumpy(found) == np.maximum(host + np.float32(2.5), 300)).all()


def test_streams_outlive_their_thread(case: Case) -> None:
    """A stream takes work, events and waits when the thread that made it has ended."""
    for _ in range(3):
        stream = by_a_thread(lambda: px.Stream(case.device))
        with stream:
            x = px.zeros(5000, dtype=px.float32) + 3.0
        px.Stream(case.device).wait(stream.record())
        stream.synchronize()
        assert (px.asnumpy(x) == 3).all()
        stream.close()


def test_events_outlive_their_thread(case: Case) -> None:
    """An event is not passed before the work in front of it because its thread has ended."""
    need_streams(case)
    opened = case.device.ensure_open()
    stream, other = busy(case, 0.2), px.Stream(case.device)
    before, event, behind = (opened.event_create(timed=False) for _ in range(3))
    opened.event_record(before, stream.handle)
    by_a_thread(lambda: opened.event_record(event, stream.handle))
    opened.stream_wait_event(other.handle, event)
    opened.event_record(behind, other.handle)
    early = [opened.event_query(one) and not opened.event_query(before) for one in (event, behind)]
    px.synchronize(case.device)
    for one in (before, event, behind):
        opened.event_destroy(one)
    assert not any(early), "an event is passed though its stream works"


def test_failures_outlive_their_thread(case: Case) -> None:
    """What fails of a thread's work is told to who waits, also when the thread has ended."""
    need_streams(case)
    if not takes(case):
        pytest.skip("the device takes nothing by an index")
    x, bad = px.asarray(np.arange(10, dtype=np.float32)), px.asarray([0, 99], dtype=px.int64)
    px.synchronize(case.device)
    stream = busy(case, 0.1, asks=False)

    def take() -> px.Array | None:
        with stream:
            try:
                return px.take(x, bad)
            except IndexError:
                return None

    taken = by_a_thread(take)
    if taken is None:
        pytest.skip("a wrong index is told at the call")
    with pytest.raises(IndexError):
        case.device.ensure_open().stream_synchronize(stream.handle, 60.0)
    del taken


def _allocate(opened: OpenDevice) -> list[int]:
    return [opened.alloc(_SIZE) for _ in range(_BLOCKS)]


def _free(opened: OpenDevice, blocks: list[int]) -> None:
    for block in blocks:
        opened.free(block)


@pytest.mark.parametrize("freed_by", ["another thread", "the thread that is left"])
def test_memory_comes_back_from_any_thread(case: Case, freed_by: str) -> None:
    """Blocks that are freed by another thread than the one that got them are free."""
    opened = case.device.ensure_open()
    if opened.memory_info()[1] == 0:
        pytest.skip("the driver does not tell how much memory is free")
    lost = []
    for _ in range(_TRIES):  # others may use the memory, too
        before = opened.memory_info()[0]
        if freed_by == "another thread":
            blocks = _allocate(opened)
            by_a_thread(partial(_free, opened, blocks))
        else:
            blocks = by_a_thread(partial(_allocate, opened))
            _free(opened, blocks)
        lost.append(before - free_memory(opened, before))
        if lost[-1] < _BLOCKS * _SIZE / 2:
            return
    pytest.fail(f"{min(lost)} bytes are not free again")


def test_threads_leave_no_memory(case: Case) -> None:
    """What hundreds of threads had of the driver for their copies goes with them."""
    opened = case.device.ensure_open()
    host = np.arange(1024, dtype=np.float32)

    def there_and_back() -> bool:
        return bool((px.asnumpy(px.asarray(host)) == host).all())

    lost = []
    for _ in range(_TRIES):  # others may use the memory, too
        before = opened.memory_info()[0]
        assert all(by_a_thread(there_and_back) for _ in range(_THREADS))
        lost.append(before - free_memory(opened, before))
        if lost[-1] < _BLOCKS * _SIZE / 2 or not has_own_memory(case.device):
            return
    pytest.fail(f"{min(lost)} bytes are gone with {_THREADS} threads that copied and ended")


@pytest.mark.parametrize("waits", ["stream", "event"])
def test_a_limit_counts_beside_other_waits(case: Case, waits: str) -> None:
    """A wait runs out of time though another thread waits for the same, and does so longer."""
    need_streams(case)
    for _ in range(_TRIES):
        stream = busy(case, 0.4)
        of = stream if waits == "stream" else stream.record()
        try:
            _beside_a_wait(of, partial(of.synchronize, 0.05))
        except TimeoutError:
            return
    pytest.fail("no wait of 0.05 s beside a longer one ran out of time")


def test_questions_are_answered_beside_waits(case: Case) -> None:
    """Who asks streams and events gets the answer while another thread waits."""
    need_streams(case)
    for _ in range(_TRIES):
        stream, idle = busy(case, 0.3), px.Stream(case.device)
        event = stream.record()

        def ask(idle: px.Stream = idle, event: px.Event = event) -> bool:
            idle.query()
            return not event.query()

        if _beside_a_wait(event, ask):
            return
    pytest.fail("questions were answered when another thread's wait had ended")
