"""What a driver promises beyond single calls: lifetimes, limits, clocks, long queues, siblings."""

from __future__ import annotations

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import place_of
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, chain, need_streams
from phalanx.driver import Capability, Place
from phalanx.vendor import begin_use


def test_event_outlives_its_stream(case: Case) -> None:
    """An event can be asked, waited for and closed after its stream was closed."""
    stream, other = px.Stream(case.device), px.Stream(case.device)
    with stream:
        x = px.zeros(1000, dtype=px.float32) + 1
    event = stream.record()
    stream.close()
    other.wait(event)
    event.synchronize()
    assert event.query(), "an event is not passed after its stream was closed"
    event.close()
    assert (px.asnumpy(x) == 1).all()


@pytest.mark.parametrize("streams", [1, 2])
def test_elapsed_time_is_not_too_short(case: Case, streams: int) -> None:
    """The seconds between events, of two streams, too, are not fewer than the host waited."""
    device = case.device
    if device.has_streams and not device.ensure_open().capabilities & Capability.EVENT_TIMING:
        pytest.skip("the driver cannot time events")
    stream = px.Stream(device)
    with stream:  # the time is not that of the work before
        px.zeros(100, dtype=px.float32) + 1
    first = stream.record()
    first.synchronize()
    begin = time.perf_counter()
    time.sleep(0.05 if streams == 1 else 0.5 if case.quick else 1.3)
    waited = time.perf_counter() - begin
    second = (stream if streams == 1 else px.Stream(device)).record()
    second.synchronize()
    elapsed = first.elapsed_time(second)
    assert elapsed >= 0.9 * waited, f"{elapsed} s elapsed while the host waited {waited} s"


@pytest.mark.parametrize("waits", ["stream", "event", "device"])
def test_timeout_is_kept(case: Case, waits: str) -> None:
    """A wait of no time for a stream that has just said that it works raises TimeoutError."""
    need_streams(case)
    was_busy = 0
    for length in (50, 100, 200, 400, 800, 1600):
        stream = px.Stream(case.device)
        with stream:
            x = chain(px.zeros(1 << 16, dtype=px.float32), length)
        event = stream.record()
        if not stream.query():
            was_busy += 1
            try:
                _wait(case, waits, stream, event, 0.0)
            except TimeoutError:
                stream.synchronize()
                return
        assert float(x[0]) == length
    if was_busy < 3:
        pytest.skip("the device is too fast for this case")
    pytest.fail(f"{was_busy} waits of no time for a busy {waits} waited until it was idle")


def _wait(case: Case, waits: str, stream: px.Stream, event: px.Event, limit: float) -> None:
    """Have the driver wait for a stream, for an event on it, or for all of the device."""
    opened = case.device.ensure_open()
    if waits == "stream":
        opened.stream_synchronize(stream.handle, limit)
    elif waits == "event":
        opened.event_synchronize(event.handle, limit)
    else:
        opened.synchronize(limit)


@pytest.mark.parametrize("default", ["neither", "the source", "the waiter"])
def test_a_stream_waits_without_the_host(case: Case, default: str) -> None:
    """To let a stream wait for an event does not block until the event is passed."""
    need_streams(case)
    opened = case.device.ensure_open()
    source = waiting = None
    if default == "the source":
        source = case.device.default_stream
    if default == "the waiter":
        waiting = busy(case, 0.02, stream=case.device.default_stream)  # unless it runs inline
        waiting.synchronize()
    waiting = waiting or px.Stream(case.device)
    blocked = 0
    for seconds in (0.02, 0.02, 0.05, 0.1, 0.2):
        event = busy(case, seconds, stream=source).record()
        if event.query():
            continue
        opened.stream_wait_event(waiting.handle, event.handle)
        if not event.query():
            break
        blocked += 1
    else:
        if blocked < 3:
            pytest.skip("the device is too fast for this case")
        pytest.fail(f"{blocked} calls of stream_wait_event blocked until the event was passed")
    waiting.synchronize()
    assert event.query(), "a stream did not wait for an event"


def _short_wait(case: Case, waits: str, stream: px.Stream, event: px.Event, limit: float) -> float:
    """Return the seconds of a wait with a limit."""
    begin = time.perf_counter()
    with suppress(TimeoutError):
        _wait(case, waits, stream, event, limit)
    return time.perf_counter() - begin


@pytest.mark.parametrize("waits", ["stream", "event", "device"])
def test_timeout_is_in_seconds(case: Case, waits: str) -> None:
    """A wait of a minute does not give up early, one of a hundredth of a second not late."""
    need_streams(case)
    took = []
    for _ in range(3):
        stream = busy(case, 0.5)
        event = stream.record()
        took.append(max(_short_wait(case, waits, stream, event, s) for s in (0.0003, 0.01)))
        if took[-1] < 0.12:
            break
    else:
        pytest.fail(f"of short waits for a {waits} one took {min(took):.2g} s each time")
    begin = time.perf_counter()
    given_up = 0.0
    try:
        _wait(case, waits, stream, stream.record(), 60.0)
    except TimeoutError:
        given_up = time.perf_counter() - begin
    px.synchronize(case.device)
    if 0 < given_up < 50:
        pytest.fail(f"a wait of 60 s for a {waits} gave up within {given_up:.3g} s")


#: Just beyond nanoseconds, microseconds and milliseconds of 31 and 32 bits, and more; in seconds.
_LONG_LIMITS = (*(2**b * u + 0.02 for u in (1e-9, 1e-6, 1e-3) for b in (31, 32)), 1e7, 1e9)


@pytest.mark.parametrize("waits", ["stream", "event", "device"])
def test_long_timeouts(case: Case, waits: str) -> None:
    """Waits with limits that leave a counter of 31 or 32 bits do not give up."""
    need_streams(case)
    stream = busy(case, 0.1, asks=False)
    event = stream.record()
    with ThreadPoolExecutor(len(_LONG_LIMITS)) as threads:
        waiting = [threads.submit(_wait, case, waits, stream, event, s) for s in _LONG_LIMITS]
        told = {s: wait.exception() for s, wait in zip(_LONG_LIMITS, waiting, strict=True)}
    px.synchronize(case.device)
    wrong = [f"{limit:g} s: {error!r}" for limit, error in told.items() if error is not None]
    assert not wrong, f"waits for a {waits} gave up: {'; '.join(wrong)}"


#: How often a question is asked, and the seconds within which one answer comes: others may be late,
#: as threads of the driver share the processors and the interpreter.
_QUESTIONS, _ANSWER = 20, 0.015


@pytest.mark.parametrize("asked", ["stream", "event"])
def test_a_question_does_not_wait(case: Case, asked: str) -> None:
    """Asking a busy stream, or an event behind its work, says no at once."""
    need_streams(case)
    opened = case.device.ensure_open()
    took = []
    for _ in range(3):
        stream = busy(case, 0.3, asks=False)
        event = opened.event_create(timed=False)
        opened.event_record(event, stream.handle)
        answers = []
        for _ in range(_QUESTIONS):
            begin = time.perf_counter()
            on_stream = asked == "stream"
            done = opened.stream_query(stream.handle) if on_stream else opened.event_query(event)
            answers.append(time.perf_counter() - begin)
            if done:
                break
        took.append(min(answers[:-1] or answers) if done else min(answers))
        stream.synchronize()
        opened.event_destroy(event)
        if took[-1] < _ANSWER:
            return
    pytest.fail(f"asking a busy {asked} took {min(took):.2g} s: it waits")


def test_hundreds_of_arrays(case: Case) -> None:
    """Hundreds of arrays are joined in their order."""
    arrays = [px.full((2, 3), number, dtype=px.int32) for number in range(300)]
    stacked, joined = px.stack(arrays), px.concat(arrays)
    want = np.repeat(np.arange(300, dtype=np.int32), 6).reshape(300, 2, 3)
    assert np.array_equal(px.asnumpy(stacked), want), "300 arrays stacked"
    assert np.array_equal(px.asnumpy(joined), want.reshape(600, 3)), "300 arrays joined"


def test_long_queue(case: Case) -> None:
    """Launches without a wait are all done: more than a ring of commands, or 16 bits, hold."""
    stream = px.Stream(case.device)
    for queue, length in (
        (case.device.default_stream, 9000),
        (stream, 9000 if case.quick else 70_001),
    ):
        with queue:
            x = chain(px.zeros(5, dtype=px.float32), length)
            assert px.asnumpy(x).tolist() == [length] * 5


def test_largest_allocation(case: Case) -> None:
    """A block of the size that the properties state can be had while there is twice as much."""
    device = case.device
    free, _ = device.ensure_open().memory_info()
    size = device.info.max_allocation
    if not 0 < size <= free // 2:
        pytest.skip("the device does not tell of enough free memory")
    device.ensure_open().free(device.ensure_open().alloc(size))


def test_total_memory(case: Case) -> None:
    """The properties and the driver's count of memory tell of one size."""
    device = case.device
    _, total = device.ensure_open().memory_info()
    if not total:
        pytest.skip("the driver does not tell of its memory")
    assert 0.8 * total <= device.info.total_memory <= 1.25 * total, (total, device.info)


def test_devices_have_memory_of_their_own(case: Case) -> None:
    """What is written on one device does not change another one of the driver."""
    devices = px.devices(case.device.driver.name)
    size, held = 1 << 16, []
    for number, device in enumerate(devices):
        opened = device.ensure_open()
        data = ctypes.create_string_buffer(bytes([number + 1]) * size, size)
        block = Place(opened, opened.alloc(size))
        source = Place(None, ctypes.addressof(data))
        opened.copy(block, source, size, stream=device.default_stream)
        device.synchronize()
        held.append((device, block, data))
    for device, block, data in held:
        found = ctypes.create_string_buffer(size)
        target, opened = Place(None, ctypes.addressof(found)), device.ensure_open()
        opened.copy(target, block, size, stream=device.default_stream)
        device.synchronize()
        opened.free(block.handle)
        assert found.raw == data.raw, f"{device}: its memory was changed from another device"


def test_device_copy_waits_for_kernels(case: Case) -> None:
    """A copy inside the device, on a stream, comes after the kernels before it."""
    stream, opened = px.Stream(case.device), case.device.ensure_open()
    with stream:
        target = px.zeros(1 << 16, dtype=px.float32)
        for length in (1, 50):
            source = chain(px.zeros(1 << 16, dtype=px.float32), length)
            begin_use(stream, source.buffer, target.buffer)
            opened.copy(place_of(target), place_of(source), source.nbytes, stream=stream)
            found = px.asnumpy(target)
            assert (found == length).all(), f"not {length}, but {np.unique(found)}"


def test_allocation_from_threads(case: Case) -> None:
    """Blocks that threads allocate at the same time are different ones."""
    opened = case.device.ensure_open()

    def take(_: int) -> list[int]:
        return [opened.alloc(4096) for _ in range(25)]

    with ThreadPoolExecutor(8) as threads:
        handles = [h for found in threads.map(take, range(8)) for h in found]
    for handle in set(handles):
        opened.free(handle)
    assert len(set(handles)) == len(handles), "a block was given twice"
