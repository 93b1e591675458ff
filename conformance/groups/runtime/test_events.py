"""Events: passed when the work before them is done, and not earlier; times in seconds."""

from __future__ import annotations

import contextlib
import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch_elementwise
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, need_streams
from phalanx.driver import Capability

_SIZE = 1 << 18
_STEPS = 24
#: Seconds of work whose time is compared with the host's clock.
_WINDOW = 0.05
#: How often it may be a smaller part: a busy machine lets a device wait.
_TRIES = 5


def _slow(x: px.Array, steps: int = _STEPS) -> px.Array:
    for _ in range(steps):
        x = x + 1.0
    return x


def _seen_from_outside(x: px.Array, reader: px.Stream) -> set[float]:
    """Return the values of an array as a stream sees them that waits for nothing."""
    with px.hazards("manual"):
        with reader:
            y = x + 0.0
        reader.synchronize()
    return {float(v) for v in np.unique(px.asnumpy(y))}


def test_event_synchronize_waits(case: Case) -> None:
    """After ``event.synchronize`` the work before the event is done."""
    stream, reader = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        with stream:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        event = stream.record()
        event.synchronize()
        assert event.query(), "an event is not passed after synchronize()"
        seen = _seen_from_outside(x, reader)
        assert seen == {_STEPS}, f"an event was passed before its work was done: {seen}"


def test_event_query_tells_the_truth(case: Case) -> None:
    """When ``event.query`` says yes, the work before the event is done."""
    stream, reader = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        with stream:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        event = stream.record()
        deadline = time.monotonic() + 60
        while not event.query():
            assert time.monotonic() < deadline, "an event is not passed within a minute"
        seen = _seen_from_outside(x, reader)
        assert seen == {_STEPS}, f"event.query() was true before the work was done: {seen}"


def test_is_passed_in_the_end(case: Case) -> None:
    """An event is passed without anybody waiting for it."""
    stream = px.Stream(case.device)
    with stream:
        _slow(px.zeros(_SIZE, dtype=px.float32))
    event = stream.record()
    deadline = time.monotonic() + 60
    while not event.query():
        assert time.monotonic() < deadline, "an event is not passed within a minute"
        time.sleep(0.001)


def test_recorded_again(case: Case) -> None:
    """An event that is recorded again stands for the later place."""
    stream, reader = px.Stream(case.device), px.Stream(case.device)
    event = px.Event(case.device)
    x = px.zeros(_SIZE, dtype=px.float32)
    for number in range(1, 6):
        with stream:
            x = _slow(x)
        event.record(stream)
        event.synchronize()
        seen = _seen_from_outside(x, reader)
        assert seen == {number * _STEPS}, f"recording {number} of one event: {seen}"


def test_recorded_again_by_another_thread(case: Case) -> None:
    """A thread that has seen an event passed asks, and waits, for the later recording."""
    need_streams(case)
    opened, stream = case.device.ensure_open(), px.Stream(case.device)
    event, was_busy = opened.event_create(timed=False), False
    with ThreadPoolExecutor(1) as other:
        for _ in range(_TRIES):
            opened.event_record(event, stream.handle)
            opened.event_synchronize(event, 60.0)
            assert other.submit(opened.event_query, event).result(), "an event that was waited for"
            opened.event_record(event, busy(case, 0.1, asks=False, stream=stream).handle)
            seen = other.submit(opened.event_query, event).result()
            is_busy = not opened.event_query(event)
            assert not (seen and is_busy), "a thread sees a former recording of an event"
            was_busy |= is_busy
            other.submit(opened.event_synchronize, event, 60.0).result()
            assert opened.event_query(event), "a thread waited for a former recording of an event"
            if was_busy:
                break
    stream.synchronize()
    opened.event_destroy(event)
    if not was_busy:
        pytest.skip("the device is too fast for this case")


def test_recorded_behind_each_launch(case: Case) -> None:
    """One event is recorded behind thousands of launches: if it is passed, its stream is idle."""
    need_streams(case)
    opened, stream = case.device.ensure_open(), px.Stream(case.device)
    event = opened.event_create(timed=False)
    x, y = px.ones(1 << 15, dtype=px.float32), px.zeros(1 << 15, dtype=px.float32)
    px.synchronize(case.device)
    early = None
    with stream:
        for number in range(1, 1000 if case.quick else 66_000):
            launch_elementwise("add", (x, x), y)
            opened.event_record(event, stream.handle)
            if opened.event_query(event) and not opened.stream_query(stream.handle):
                early = number
                break
            if number % 1000 == 0:
                stream.synchronize()
                if not opened.stream_query(stream.handle):
                    early = number
                    break
    stream.synchronize()
    opened.event_destroy(event)
    assert early is None, f"a wait or an event of launch {early} is over before its work"


def test_never_recorded(case: Case) -> None:
    """Waiting for an event that was never recorded is an error that says so."""
    with pytest.raises(ValueError, match="never recorded"):
        px.Stream(case.device).wait(px.Event(case.device))


def test_what_is_passed_from_the_beginning(case: Case) -> None:
    """The driver's own waits for events that nothing stands before: none recorded, none queued."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    event = opened.event_create(timed=False)
    for stream in (None, device.default_stream, px.Stream(device)):
        if stream is not None:
            stream.synchronize()
            opened.event_record(event, stream.handle)
            opened.stream_wait_event(stream.handle, event)  # its own, which is before it anyway
        opened.event_synchronize(event, 60.0)
        assert opened.event_query(event), "an event is not passed behind nothing"
        with px.Stream(device) as behind:
            opened.stream_wait_event(behind.handle, event)
            x = px.ones(3, dtype=px.int32) + 1
        behind.synchronize(60.0)
        assert px.asnumpy(x).tolist() == [2, 2, 2]
    opened.event_destroy(event)


def test_no_time_to_itself(case: Case) -> None:
    """Between an event and itself there is no time."""
    if Capability.EVENT_TIMING not in case.device.ensure_open().capabilities:
        pytest.skip("the device does not time events")
    event = px.Stream(case.device).record()
    event.synchronize()
    assert event.elapsed_time(event) == 0


def test_elapsed_time(case: Case) -> None:
    """The time between two events fits the host's clock: seconds, and not other units."""
    if Capability.EVENT_TIMING not in case.device.ensure_open().capabilities:
        pytest.skip("the device does not time events")
    stream = px.Stream(case.device)
    x = px.zeros(1 << 20, dtype=px.float32)
    with stream:
        _slow(x, 4)
    stream.synchronize()
    steps, tries = 8, 0
    while True:
        begin_host = time.perf_counter()
        begin = stream.record()
        with stream:
            _slow(x, steps)
        end = stream.record()
        end.synchronize()
        host = time.perf_counter() - begin_host
        elapsed, what = begin.elapsed_time(end), f"within {host} s of the host"
        assert 0 <= elapsed <= host * 1.05 + 0.005, f"{elapsed} s elapsed {what}"
        if host < _WINDOW and steps < 1 << 16:
            steps *= 4
            continue
        tries += 1
        if elapsed >= host / 4:
            break
        assert tries < _TRIES, f"only {elapsed} s elapsed {what}, which were full of work"
    with contextlib.suppress(px.PhalanxError, ValueError):
        back = end.elapsed_time(begin)
        assert back <= 0, f"{back} s from the later event to the earlier one"


def test_elapsed_time_adds_up(case: Case) -> None:
    """Times between events in a row add up, short ones, too, and none is negative."""
    if Capability.EVENT_TIMING not in case.device.ensure_open().capabilities:
        pytest.skip("the device does not time events")
    stream = px.Stream(case.device)
    x = px.zeros(_SIZE, dtype=px.float32)
    events = [stream.record()]
    for _ in range(6):
        with stream:
            x = _slow(x, 4)
        events.append(stream.record())
    with stream:
        for _ in range(60):
            x[:9] += 1.0
            events.append(stream.record())
    events[-1].synchronize()
    parts = [a.elapsed_time(b) for a, b in itertools.pairwise(events)]
    whole = events[0].elapsed_time(events[-1])
    assert min(parts) >= 0, f"negative times: {parts}"
    assert abs(sum(parts) - whole) <= 1e-6 + 1e-3 * whole, f"{parts} do not add up to {whole}"


def test_an_event_of_the_default_stream(case: Case) -> None:
    """It is behind the work of that stream, whichever stream the thread used last."""
    opened, device = case.device.ensure_open(), case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    own, default = px.Stream(device), device.default_stream
    for _ in range(_TRIES):
        busy(case, 0.1, asks=False, stream=default)
        with own:
            x = px.zeros(9, dtype=px.float32) + 1.0
        opened.stream_synchronize(own.handle, 60.0)
        event = opened.event_create(timed=False)
        opened.event_record(event, default.handle)
        passed = opened.event_query(event)
        idle = opened.stream_query(default.handle)
        assert idle or not passed, "an event of the default stream is passed before its work"
        opened.event_synchronize(event, 60.0)
        opened.event_destroy(event)
        del x
        if not idle:
            return
    pytest.skip("the device is too fast for this case")


def test_time_of_an_event_behind_a_wait(case: Case) -> None:
    """An event straight behind a wait has no earlier time than what was waited for."""
    if Capability.EVENT_TIMING not in case.device.ensure_open().capabilities:
        pytest.skip("the device does not time events")
    for seconds in (0.02, 0.05, 0.1, 0.2):
        stream, waiting = px.Stream(case.device), px.Stream(case.device)
        begin = stream.record()
        busy(case, seconds, asks=False, stream=stream)
        end = stream.record()
        waiting.wait(end)
        was_busy = not end.query()
        behind = waiting.record()
        behind.synchronize()
        whole, waited = begin.elapsed_time(end), begin.elapsed_time(behind)
        told = f"{waited} s to an event behind a wait, {whole} s to what was waited for"
        assert waited >= 0.99 * whole - 0.005, told
        if was_busy:
            return
    pytest.skip("the device is too fast for this case")


def test_elapsed_time_of_a_closed_stream(case: Case) -> None:
    """Events outlive their stream, and so do times; in full runs of more ns than 32 bits count."""
    if Capability.EVENT_TIMING not in case.device.ensure_open().capabilities:
        pytest.skip("the device does not time events")
    rest = 0.01 if case.quick else 4.4
    with px.Stream(case.device) as stream:
        begin, begin_host = stream.record(), time.perf_counter()
        time.sleep(rest)
        if Capability.TRIM in case.device.ensure_open().capabilities:
            case.device.ensure_open().trim()
        end = stream.record()
        end.synchronize()
        host = time.perf_counter() - begin_host
    stream.close()
    elapsed = begin.elapsed_time(end)
    least = rest / 2 - 0.1  # the device may have begun late
    assert least <= elapsed <= host * 1.05 + 0.005, f"{elapsed} s elapsed within {host} s"


def test_times_stay(case: Case) -> None:
    """The time between two events is the same when thousands were recorded behind them."""
    if Capability.EVENT_TIMING not in case.device.ensure_open().capabilities:
        pytest.skip("the device does not time events")
    with px.Stream(case.device) as stream:
        begin = stream.record()
        time.sleep(0.02)
        end = stream.record()
        end.synchronize()
        before = begin.elapsed_time(end)
        others = [stream.record() for _ in range(1_100 if case.quick else 4_200)]
        others[-1].synchronize()
    after = begin.elapsed_time(end)
    assert abs(after - before) <= 1e-3, f"{before} s became {after} s"


def test_passed_stays_passed(case: Case) -> None:
    """Events of a stream that was closed stay passed when others take its place."""
    opened = case.device.ensure_open()
    need_streams(case)
    for _ in range(3):
        stream = opened.stream_create(0)
        events = [opened.event_create(timed=False) for _ in range(5)]
        for event in events:
            opened.event_record(event, stream)
        opened.stream_synchronize(stream, 60.0)
        opened.stream_destroy(stream)
        others = [opened.stream_create(0) for _ in range(3)]
        pending = [number for number, event in enumerate(events) if not opened.event_query(event)]
        for event in events:
            opened.event_synchronize(event, 60.0)
            opened.event_destroy(event)
        for other in others:
            opened.stream_destroy(other)
        assert not pending, f"events {pending} of a stream that was closed are not passed any more"


def test_event_close_twice(case: Case) -> None:
    """A second ``close`` of an event does nothing."""
    event = px.Stream(case.device).record()
    event.synchronize()
    event.close()
    event.close()


def test_old_events_stay(case: Case) -> None:
    """An event that is passed stays so, however many are recorded later behind work that is not."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    idle, busy, waiting, reader = (px.Stream(device) for _ in range(4))
    old = [idle.record() for _ in range(3)]
    idle.synchronize()
    with busy:
        x = _slow(px.zeros(_SIZE, dtype=px.float32), 8 * _STEPS)
        later = []
        for number in range(4200):
            later.append(busy.record())
            if number % 300 == 0 and later[0].query():
                seen = _seen_from_outside(x, reader)
                assert seen == {8 * _STEPS}, f"passed before its work, with {number} behind: {seen}"
        assert all(event.query() for event in old), "a passed event is not, after 4,200 others"
        with px.hazards("manual"):
            for event in old:
                waiting.wait(event)
        for event in later[::300]:
            assert not event.query() or later[0].query(), "a later event is passed first"
    busy.synchronize()
    assert all(event.query() for event in later), "an event behind work that is done is not passed"
    waiting.synchronize(60)
    assert (px.asnumpy(x) == 8 * _STEPS).all()


def test_an_event_behind_many(case: Case) -> None:
    """An event is passed behind its work, though thousands were recorded; in full runs 2^16."""
    stream, reader = px.Stream(case.device), px.Stream(case.device)
    event, old = px.Event(case.device), stream.record()
    stream.synchronize()
    for number in range(4_000 if case.quick else 65_530):
        event.record(stream)
        if number % 16_384 == 0:
            assert old.query(), f"a passed event is not, with {number} behind it"
    stream.synchronize()
    assert old.query(), "a passed event is not, behind all others"
    for number in range(3 if case.quick else 10):
        with stream:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        event.record(stream)
        event.synchronize()
        seen = _seen_from_outside(x, reader)
        assert seen == {_STEPS}, f"event {number} behind thousands is passed early: {seen}"


def test_an_event_in_place_of_another(case: Case) -> None:
    """An event that is made when one has gone, which was not passed, is passed as a new one is."""
    opened, device = case.device.ensure_open(), case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    stream = px.Stream(device)
    with stream:
        x = _slow(px.zeros(_SIZE, dtype=px.float32), 8 * _STEPS)
    for _ in range(5):
        old = opened.event_create(timed=False)
        opened.event_record(old, stream.handle)
        opened.event_destroy(old)
        fresh = opened.event_create(timed=False)
        passed = opened.event_query(fresh)
        opened.event_destroy(fresh)
        assert passed, "an event that was never recorded is not passed"
    stream.synchronize()
    assert (px.asnumpy(x) == 8 * _STEPS).all()


def test_many_events(case: Case) -> None:
    """Thousands of events, most of them dropped unused."""
    stream = px.Stream(case.device)
    kept = []
    for number in range(2000):
        event = stream.record()
        if number % 100 == 0:
            kept.append(event)
    for event in kept:
        event.synchronize(timeout=60)
