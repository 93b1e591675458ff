"""Waits end with what they wait for, not with later work; calls that do not wait return at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any

import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, chain, looks_until, need_streams
from phalanx.driver import Capability

_TRIES = 3
#: Threads that wait for the same.
_WAITERS = 10
#: Streams that wait for one event.
_STREAMS = 70
#: Streams behind the first, seconds of work of each, and the limit for all.
_BEHIND, _EACH, _TOGETHER = 9, 0.12, 0.2


def _judge(late: int, what: str) -> None:
    """Fail if that was so each time; a device that was never busy cannot tell."""
    if late < _TRIES:
        pytest.skip("the device is too fast for this case")
    pytest.fail(f"{late} times {what}")


def test_a_wait_for_an_event_ends_with_it(case: Case) -> None:
    """Work behind an event is not waited for."""
    need_streams(case)
    opened = case.device.ensure_open()
    late = 0
    for _ in range(_TRIES):
        stream, event = px.Stream(case.device), opened.event_create(timed=False)
        opened.event_record(event, stream.handle)
        other = busy(case, 0.3, asks=False).record()
        opened.stream_wait_event(stream.handle, other.handle)
        was_busy = not other.query()
        opened.event_synchronize(event, 60.0)
        is_busy = not other.query()
        stream.synchronize()
        opened.event_destroy(event)
        if is_busy:
            return
        late += was_busy
    _judge(late, "a wait for an event ended when the work behind it was done")


_OLDER, _BEHIND_A_WAIT, _BESIDE = "older", "behind what was waited for", "of one stream"


@pytest.mark.parametrize("which", [_OLDER, _BEHIND_A_WAIT, _BESIDE])
def test_waits_for_two_events(case: Case, which: str) -> None:
    """A stream waits for the later one to pass of two events, whichever it was told of first.

    The other one was recorded later, elsewhere; or earlier on a stream that itself waited for the
    first behind it; or earlier on the first one's own stream.
    """
    need_streams(case)
    opened = case.device.ensure_open()
    was_busy = 0
    for _ in range(_TRIES):
        other, waiting = px.Stream(case.device), px.Stream(case.device)
        long, short, end = (opened.event_create(timed=False) for _ in range(3))
        if which != _OLDER:
            opened.event_record(short, other.handle)
        working = busy(case, 0.1, asks=False, stream=other if which == _BESIDE else None)
        opened.event_record(long, working.handle)
        if which == _BEHIND_A_WAIT:
            opened.stream_wait_event(other.handle, long)
        elif which == _OLDER:
            opened.event_record(short, other.handle)
        for event in (long, short) if which == _BESIDE else (short, long):
            opened.stream_wait_event(waiting.handle, event)
        opened.event_record(end, waiting.handle)
        was_busy += looks_until(
            case, long, (end,), "a stream did not wait for the older of two events"
        )
        for event in (long, short, end):
            opened.event_destroy(event)
    if not was_busy:
        pytest.skip("the device is too fast for this case")


@pytest.mark.parametrize("before", ["a rest of the stream", "a limit of the host"])
def test_a_wait_behind(case: Case, before: str) -> None:
    """A stream that rested waits as others do, and all of them when the host's wait ran out."""
    need_streams(case)
    opened = case.device.ensure_open()
    waiting, early = px.Stream(case.device), px.Stream(case.device)
    with waiting:
        chain(px.zeros(64, dtype=px.float32), 2)
    waiting.synchronize()
    if before == "a rest of the stream":
        time.sleep(0.35)
    long, end, first = (opened.event_create(timed=False) for _ in range(3))
    opened.event_record(long, busy(case, 0.2, asks=False).handle)
    opened.stream_wait_event(early.handle, long)
    opened.event_record(first, early.handle)
    if before == "a limit of the host":
        with suppress(TimeoutError):
            opened.event_synchronize(long, 0.02)
    opened.stream_wait_event(waiting.handle, long)
    opened.event_record(end, waiting.handle)
    told = f"a stream did not wait, behind {before}"
    was_busy = looks_until(case, long, (first, end), told)
    for event in (long, end, first):
        opened.event_destroy(event)
    if not was_busy:
        pytest.skip("the device is too fast for this case")


def test_many_streams_wait_for_one_event(case: Case) -> None:
    """However many wait for it, none goes on before it is passed."""
    need_streams(case)
    opened = case.device.ensure_open()
    waiting = [px.Stream(case.device) for _ in range(_STREAMS)]
    long, *ends = (opened.event_create(timed=False) for _ in range(1 + _STREAMS))
    opened.event_record(long, busy(case, 0.2, asks=False).handle)
    for stream, end in zip(waiting, ends, strict=True):
        opened.stream_wait_event(stream.handle, long)
        opened.event_record(end, stream.handle)
    told = f"one of {_STREAMS} streams did not wait for an event"
    was_busy = looks_until(case, long, tuple(ends), told)
    for event in (long, *ends):
        opened.event_destroy(event)
    if not was_busy:
        pytest.skip("the device is too fast for this case")


def test_crossed_waits(case: Case) -> None:
    """Two streams wait for each other's events, none of which is behind such a wait."""
    need_streams(case)
    opened = case.device.ensure_open()
    was_busy = 0
    for _ in range(_TRIES):
        long, short, end = (opened.event_create(timed=False) for _ in range(3))
        one, other = busy(case, 0.2, asks=False), px.Stream(case.device)
        opened.event_record(long, one.handle)
        busy(case, 0.02, asks=False, stream=other)
        opened.event_record(short, other.handle)
        opened.stream_wait_event(one.handle, short)
        opened.stream_wait_event(other.handle, long)
        opened.event_record(end, other.handle)
        was_busy += looks_until(
            case, long, (end,), "a stream did not wait for one that waits for it"
        )
        for event in (long, short, end):
            opened.event_destroy(event)
    if not was_busy:
        pytest.skip("the device is too fast for this case")


def test_a_wait_for_a_stream_ends_with_its_work(case: Case) -> None:
    """What others put on a stream while somebody waits for it is not waited for."""
    need_streams(case)
    opened = case.device.ensure_open()
    late = 0
    for _ in range(_TRIES):
        stream = px.Stream(case.device)
        first = busy(case, 0.2, asks=False).record()
        opened.stream_wait_event(stream.handle, first.handle)
        begun = threading.Event()

        def wait(stream: px.Stream = stream, begun: threading.Event = begun) -> None:
            begun.set()
            opened.stream_synchronize(stream.handle, 60.0)

        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(wait)
            begun.wait()
            time.sleep(0.05)
            later = busy(case, 0.3, behind=first, asks=False).record()
            opened.stream_wait_event(stream.handle, later.handle)
            was_busy = not (later.query() or waiting.done())
            waiting.result()
            is_busy = not later.query()
        stream.synchronize()
        if is_busy:
            return
        late += was_busy
    _judge(late, "a wait for a stream went on for work that came behind it")


def test_waits_without_a_limit(case: Case) -> None:
    """The driver's own waits for a stream, an event and the device have patience without end.

    Others' waits for the same that run out of time are nothing to them.
    """
    need_streams(case)
    opened = case.device.ensure_open()
    for _ in range(_TRIES):
        stream, event = px.Stream(case.device), opened.event_create(timed=False)
        busy(case, 0.4 if case.quick else 1.2, asks=False, stream=stream)
        opened.event_record(event, stream.handle)
        was_busy = not opened.event_query(event)

        def is_passed(wait: Callable[..., None], *of: Any, event: Any = event) -> bool:
            wait(*of)
            return opened.event_query(event)

        with ThreadPoolExecutor(3 * _WAITERS) as threads:
            passed = [
                waiting
                for _ in range(_WAITERS)
                for waiting in (
                    threads.submit(is_passed, opened.stream_synchronize, stream.handle),
                    threads.submit(is_passed, opened.event_synchronize, event),
                    threads.submit(is_passed, opened.synchronize),
                )
            ]
            time.sleep(0.05)
            for limited in (opened.synchronize, partial(opened.event_synchronize, event)):
                with suppress(TimeoutError):
                    limited(0.01)
            with suppress(TimeoutError):
                opened.stream_synchronize(stream.handle, 0.01)
        kinds = ("a stream", "an event", "the device") * _WAITERS
        early = {name for name, wait in zip(kinds, passed, strict=True) if not wait.result()}
        stream.synchronize()
        opened.event_destroy(event)
        assert not early, f"waits without a limit ended before the work did: for {sorted(early)}"
        if was_busy:
            return
    pytest.skip("the device is too fast for this case")


def test_destroying_an_event_does_not_wait(case: Case) -> None:
    """An event that is not passed is destroyed at once."""
    need_streams(case)
    opened = case.device.ensure_open()
    took = []
    for _ in range(_TRIES):
        stream, event = busy(case, 0.3, asks=False), opened.event_create(timed=False)
        opened.event_record(event, stream.handle)
        begin = time.perf_counter()
        opened.event_destroy(event)
        took.append(time.perf_counter() - begin)
        stream.synchronize()
        if took[-1] < 0.1:
            return
    pytest.fail(f"event_destroy took {min(took):.2g} s behind work of 0.3 s: it waits")


def test_an_event_of_a_new_stream(case: Case) -> None:
    """An event on a stream that had no work yet is passed."""
    need_streams(case)
    opened = case.device.ensure_open()
    stream, event = px.Stream(case.device), opened.event_create(timed=False)
    opened.event_record(event, stream.handle)
    end = time.monotonic() + 10.0
    while not opened.event_query(event):
        assert time.monotonic() < end, "an event on a new stream is not passed after 10 s"
        time.sleep(1e-3)
    opened.event_destroy(event)


def _failing(case: Case, stream: px.Stream) -> bool:
    """Put work on a stream and a wrong index behind it; tell whether that is still to be told."""
    x, bad = px.arange(10, dtype=px.float32), px.asarray([0, 99], dtype=px.int64)
    px.synchronize(case.device)
    case.device.ensure_open().stream_wait_event(
        stream.handle, busy(case, 0.1, asks=False).record().handle
    )
    with stream:
        try:
            px.take(x, bad)
        except IndexError:
            return False
    return True


def test_one_of_two_is_told(case: Case) -> None:
    """Of two threads that wait for a stream one is told what failed there."""
    need_streams(case)
    opened = case.device.ensure_open()
    stream = px.Stream(case.device)
    if not _failing(case, stream):
        return
    with ThreadPoolExecutor(2) as threads:
        waits = [threads.submit(opened.stream_synchronize, stream.handle, 60.0) for _ in range(2)]
        told = [wait.exception() for wait in waits]
    failures = [error for error in told if error is not None]
    assert len(failures) == 1, f"two waits were told {told}"
    assert isinstance(failures[0], IndexError)


@pytest.mark.parametrize("of", ["stream", "event", "device"])
def test_a_wait_that_ran_out_takes_nothing(case: Case, of: str) -> None:
    """The stream is as busy as before, and tells later what fails on it."""
    need_streams(case)
    opened = case.device.ensure_open()
    stream, event = px.Stream(case.device), opened.event_create(timed=False)
    if not _failing(case, stream):
        return
    opened.event_record(event, stream.handle)
    with suppress(TimeoutError, IndexError):
        if of == "stream":
            opened.stream_synchronize(stream.handle, 0.0)
        elif of == "event":
            opened.event_synchronize(event, 0.0)
        else:
            opened.synchronize(0.0)
        pytest.skip("the device is too fast for this case")
    idle, passed = opened.stream_query(stream.handle), opened.event_query(event)
    assert passed or not idle, "a stream said that it is idle, behind a wait that ran out of time"
    passed, idle = opened.event_query(event), opened.stream_query(stream.handle)
    assert idle or not passed, "an event is passed, and the work before it is not done"
    with pytest.raises(IndexError):
        opened.stream_synchronize(stream.handle, 60.0)
    opened.event_destroy(event)


def test_trim_keeps_failures(case: Case) -> None:
    """To give memory back tells no failure, and takes none."""
    need_streams(case)
    opened = case.device.ensure_open()
    if Capability.TRIM not in opened.capabilities:
        pytest.skip("the driver keeps no memory")
    stream = px.Stream(case.device)
    if not _failing(case, stream):
        return
    end = time.monotonic() + 10.0
    while not opened.stream_query(stream.handle) and time.monotonic() < end:
        time.sleep(1e-3)
    opened.trim()
    with pytest.raises(IndexError):
        opened.stream_synchronize(stream.handle, 60.0)


def test_total_memory_stays(case: Case) -> None:
    """The total does not follow what is allocated, nor who asks."""
    opened = case.device.ensure_open()
    total = opened.memory_info()[1]
    block = opened.alloc(min(1 << 24, case.device.info.max_allocation))
    later = opened.memory_info()[1]
    with ThreadPoolExecutor(1) as threads:
        elsewhere = threads.submit(opened.memory_info).result()[1]
    opened.free(block)
    assert total == later == elsewhere, f"of {total} bytes there were {later}, then {elsewhere}"


def test_work_stays_on_its_device(case: Case) -> None:
    """While one device of a driver is busy, another one computes, and knows when it is done."""
    devices = px.devices(case.device.driver.name)
    if len(devices) < 2:
        pytest.skip("the driver has one device")
    for other, device in ((devices[0], devices[1]), (devices[1], devices[0])):
        with px.device(other):
            x = px.zeros(1 << 18, dtype=px.float32)
            for _ in range(40):
                x = x + 1.0
            moved = x.to_device(device)
        with px.device(device):
            y = px.ones(1 << 10, dtype=px.float32) + 1.0
            y = y * 3.0
            device.ensure_open().synchronize(60.0)
            assert (px.asnumpy(y) == 6).all(), f"{device} computed something else beside {other}"
        assert (px.asnumpy(x) == 40).all(), f"{other} lost work"
        assert (px.asnumpy(moved) == 40).all(), f"{device} was given what {other} had not yet made"


def test_a_limit_is_for_all_streams(case: Case) -> None:
    """A wait for the device has one limit, however many streams end one after another."""
    need_streams(case)
    opened, late = case.device.ensure_open(), 0
    for _ in range(_TRIES):
        stream = busy(case, _EACH, asks=False)
        for _ in range(_BEHIND):
            stream = busy(case, _EACH, behind=stream.record(), asks=False)
        was_busy, begin = not stream.query(), time.perf_counter()
        try:
            opened.synchronize(_TOGETHER)  # the core waits in slices
        except TimeoutError:
            px.synchronize(case.device)
            return
        late += was_busy and time.perf_counter() - begin > 2 * _TOGETHER
    _judge(late, f"a wait of {_TOGETHER} s for the device was longer, and did not say so")
