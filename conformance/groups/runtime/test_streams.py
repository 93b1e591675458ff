"""Streams: order inside one, independence of two, waits that wait."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.driver import Capability
from phalanx.errors import ClosedError

#: Elements and additions of the work that must still run when the next call comes.
_SIZE = 1 << 18
_STEPS = 24
_F32 = "float32"


def _slow(x: px.Array, steps: int = _STEPS) -> px.Array:
    """Add one many times; the caller's stream is busy for a while."""
    for _ in range(steps):
        x = x + 1.0
    return x


def _all_are(x: px.Array, value: float, what: str) -> None:
    found = px.asnumpy(x)
    wrong = np.flatnonzero(found != value)
    assert not wrong.size, f"{what}: {wrong.size} elements are not {value}, but {found[wrong[:3]]}"


def test_order_inside(case: Case) -> None:
    """Work on one stream runs in the order of the calls."""
    stream = px.Stream(case.device)
    with stream:
        x = px.zeros(_SIZE, dtype=px.float32)
        for step in range(60):
            x = x * 0.5 + float(step)
        y = x * 1.0
    want = np.zeros(1, np.float32)
    for step in range(60):
        want = want * np.float32(0.5) + np.float32(step)
    _all_are(y, float(want[0]), "a chain on one stream")


def test_in_place_order(case: Case) -> None:
    """Updates in place of one array, from one stream, all count."""
    with px.Stream(case.device):
        x = px.zeros(_SIZE, dtype=px.int32)
        for _ in range(50):
            x += 1
    _all_are(x, 50, "50 additions in place")


@pytest.mark.parametrize("shape", [(), (1,)], ids=["no axes", "one axis"])
def test_one_element_is_read_when_the_launch_runs(case: Case, shape: tuple[int, ...]) -> None:
    """An operand of one element is that of the work in front of the launch, not of the call."""
    if not case.has("add", *[_F32] * 3):
        pytest.skip("the device does not add")
    with px.Stream(case.device):
        one = px.zeros(shape, dtype=px.float32)
        many, flags = px.zeros(1000, dtype=px.float32), px.ones(1000, dtype=px.bool)
        _slow(px.zeros(_SIZE, dtype=px.float32))
        one += 7.0
        found = {"add": many + one}
        if case.has("subtract", *[_F32] * 3):
            found["subtract"] = one - many
        if case.has("maximum", *[_F32] * 3):
            found["maximum"] = px.maximum(many, one)
        if case.has("where", "bool", *[_F32] * 3):
            found["where"] = px.where(flags, one, many)
    for op, x in found.items():
        _all_are(x, 7.0, f"{op} of an element that queued work changes")


def test_automatic_order(case: Case) -> None:
    """An array that another stream writes is waited for."""
    first, second = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        with first:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        with second:
            y = x + 0.0
        _all_are(y, _STEPS, "an array from another stream")


def test_write_waits_for_reads(case: Case) -> None:
    """Writing to an array waits for another stream that still reads it."""
    first, second = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        x = px.ones(_SIZE, dtype=px.float32)
        with first:
            _slow(x)
            y = x + 1.0
        with second:
            x[...] = 100.0
        _all_are(y, 2.0, "a read before a write on another stream")


@pytest.mark.parametrize("priority", [-1, 0, 1])
def test_wait_for_event(case: Case, priority: int) -> None:
    """With manual hazards, ``wait`` alone orders two streams, whatever their priorities."""
    first = px.Stream(case.device, priority=priority)
    second = px.Stream(case.device, priority=-priority)
    for _ in range(5 if case.quick else 20):
        with px.hazards("manual"):
            with first:
                x = _slow(px.zeros(_SIZE, dtype=px.float32))
            second.wait(first.record())
            with second:
                y = x + 0.0
            second.synchronize()
        _all_are(y, _STEPS, "work behind stream.wait(event)")
        first.synchronize()


@pytest.mark.parametrize("default", ["none", "first", "between", "last"])
def test_wait_over_three_streams(case: Case, default: str) -> None:
    """A stream with nothing but a wait for another one is waited for, one being the default one."""
    first, between, last = (
        case.device.default_stream if default == name else px.Stream(case.device)
        for name in ("first", "between", "last")
    )
    for _ in range(5 if case.quick else 20):
        with px.hazards("manual"):
            with first:
                x = _slow(px.zeros(_SIZE, dtype=px.float32))
            between.wait(first.record())
            last.wait(between.record())
            with last:
                y = x + 0.0
            last.synchronize()
        _all_are(y, _STEPS, "work behind a wait for a stream that waits for another")
        first.synchronize()


@pytest.mark.parametrize("default", [False, True], ids=["stream", "default stream"])
def test_driver_counts_waits(case: Case, default: bool) -> None:
    """The driver's own calls: a queue is not idle, nor its event passed, while it only waits."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    stream = device.default_stream if default else px.Stream(device)
    before, behind = opened.event_create(timed=False), opened.event_create(timed=False)
    for _ in range(5 if case.quick else 20):
        queue = opened.stream_create(0)
        with stream:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        opened.event_record(before, stream.handle)
        opened.stream_wait_event(queue, before)
        opened.event_record(behind, queue)
        passed, idle = opened.event_query(behind), opened.stream_query(queue)
        done = opened.event_query(before)
        assert done or not idle, "a queue is idle while it waits for another"
        assert done or not passed, "an event is passed while its queue waits for another"
        opened.event_synchronize(behind, 60.0)
        _all_are(x, _STEPS, "work that a queue waited for, which has no work of its own")
        opened.stream_destroy(queue)
    opened.event_destroy(before)
    opened.event_destroy(behind)


@pytest.mark.parametrize("longest", ["last", "first"])
def test_many_waits(case: Case, longest: str) -> None:
    """A stream waits for hundreds of events before it goes on, for the last as for the first."""
    first, second, reader = (px.Stream(case.device) for _ in range(3))
    with px.hazards("manual"):
        with first:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        with second:
            y = _slow(px.zeros(_SIZE, dtype=px.float32), 4 * _STEPS)
        if longest == "first":
            reader.wait(second.record())
        for _ in range(300):
            reader.wait(first.record())
        if longest == "last":
            reader.wait(second.record())
        with reader:
            z = y + 0.0
        reader.synchronize()
    _all_are(z, 4 * _STEPS, f"work behind 301 waits, the {longest} of which is the longest")
    _all_are(x, _STEPS, "work before 300 events")
    second.synchronize()


def test_events_wait_in_a_ring(case: Case) -> None:
    """Three streams take turns, each waits for the one before through one event, used again."""
    streams = [px.Stream(case.device) for _ in range(3)]
    events = [px.Event(case.device) for _ in streams]
    with px.hazards("manual"):
        with streams[0]:
            x = px.zeros(_SIZE, dtype=px.float32)
        events[0].record(streams[0])
        for turn in range(1, 13):
            stream = streams[turn % 3]
            stream.wait(events[(turn - 1) % 3])
            with stream:
                x = _slow(x, 6)
            events[turn % 3].record(stream)
        streams[12 % 3].synchronize()
    _all_are(x, 72, "work that three streams did in turn")
    px.synchronize(case.device)


def test_workspaces_are_apart(case: Case) -> None:
    """Ops that need room beside their operands do not share it over streams."""
    rng = case.rng()
    values = rng.integers(-9, 10, (4, 3, 20_000)).astype(np.float32)  # exact sums in any order
    streams = [px.Stream(case.device) for _ in values]
    whole = [px.asarray(v) for v in values]
    sorts, finds = (case.has(op, "float32", "float32") for op in ("sort", "max"))

    def results(x: px.Array) -> list[px.Array]:
        flat = px.reshape(x, (-1,))
        found = [px.sum(flat), px.cumulative_sum(flat), px.sum(x, axis=-1)]
        return found + [f(x) for f, there in ((px.sort, sorts), (px.max, finds)) if there]

    want = [[px.asnumpy(y) for y in results(x)] for x in whole]
    px.synchronize(case.device)
    for _ in range(2 if case.quick else 10):
        got = []
        for stream, x in zip(streams, whole, strict=True):
            with stream:
                got.append(results(x))
        for number, (ours, theirs) in enumerate(zip(got, want, strict=True)):
            same = [np.array_equal(px.asnumpy(a), b) for a, b in zip(ours, theirs, strict=True)]
            assert all(same), (
                f"stream {number} of 4: {same} of sum, scan, sums, sort, max are right"
            )


def test_every_stream_waits(case: Case) -> None:
    """Dozens of streams, of every priority, wait for one event."""
    first = px.Stream(case.device)
    others = [px.Stream(case.device, priority=number % 3 - 1) for number in range(40)]
    with px.hazards("manual"):
        with first:
            x = _slow(px.zeros(_SIZE, dtype=px.float32), 12 * _STEPS)
        event, found = first.record(), []
        for stream in others:
            stream.wait(event)
            with stream:
                found.append(x[:9] + 0.0)
        for stream in others:
            stream.synchronize()
    for number, y in enumerate(found):
        _all_are(y, 12 * _STEPS, f"work of stream {number} of 40 behind an event of another")
    first.synchronize()


def test_wait_holds_later_work_only(case: Case) -> None:
    """A wait for an event of an idle stream does not block."""
    first, second = px.Stream(case.device), px.Stream(case.device)
    event = first.record()
    second.wait(event)
    with second:
        x = px.ones(10, dtype=px.int32) + 1
    second.synchronize(timeout=60)
    _all_are(x, 2, "work behind an event that is passed")


def test_stream_synchronize_waits(case: Case) -> None:
    """After ``synchronize`` the work is done, as another stream can see without any order."""
    first, second = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        with first:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        first.synchronize()
        assert first.query(), "a stream is busy after synchronize()"
        with px.hazards("manual"):
            with second:
                y = x + 0.0
            second.synchronize()
        _all_are(y, _STEPS, "work after stream.synchronize()")


def test_stream_query_tells_the_truth(case: Case) -> None:
    """When ``query`` says that a stream is idle, its work is done."""
    first, second = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        with first:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        while not first.query():
            pass
        with px.hazards("manual"):
            with second:
                y = x + 0.0
            second.synchronize()
        _all_are(y, _STEPS, "work after stream.query() said yes")


def test_device_synchronize_waits(case: Case) -> None:
    """``phalanx.synchronize`` waits for every stream, of whatever priority."""
    streams = [px.Stream(case.device, priority=number) for number in (-1, 0, 1)]
    reader = px.Stream(case.device)
    arrays = []
    for stream in streams:
        with stream:
            arrays.append(_slow(px.zeros(_SIZE, dtype=px.float32)))
    px.synchronize(case.device)
    assert all(stream.query() for stream in streams)
    opened = case.device.ensure_open()
    if case.device.has_streams:  # the driver's own wait, too, for more than a word has bits
        streams += [px.Stream(case.device, priority=number % 3 - 1) for number in range(66)]
        for stream in streams[-3:]:
            with stream:
                _slow(px.zeros(_SIZE, dtype=px.float32), 8 * _STEPS)
            opened.synchronize(60.0)
            assert all(opened.stream_query(stream.handle) for stream in streams)
    with px.hazards("manual"):
        with reader:
            copies = [x + 0.0 for x in arrays]
        reader.synchronize()
    for y in copies:
        _all_are(y, _STEPS, "work after phalanx.synchronize()")


def test_independent(case: Case) -> None:
    """Streams do not disturb each other's work."""
    streams = [px.Stream(case.device) for _ in range(4)]
    arrays = [px.zeros(10_001, dtype=px.int32) for _ in streams]
    for _ in range(40):
        for number, stream in enumerate(streams):
            with stream:
                arrays[number] = arrays[number] + (number + 1)
    for number, x in enumerate(arrays):
        _all_are(x, 40 * (number + 1), f"stream {number} of 4")


def test_memory_is_not_reused_early(case: Case) -> None:
    """Memory that a stream still reads goes to no other stream."""
    first, second = px.Stream(case.device), px.Stream(case.device)
    for _ in range(5 if case.quick else 20):
        with first:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
            y = x + 1.0
            del x
        with second:
            others = [px.full(_SIZE, -7.0, dtype=px.float32) for _ in range(4)]
        _all_are(y, _STEPS + 1, "an array whose source was dropped at once")
        for other in others:
            _all_are(other, -7.0, "an array in memory that came free")


def test_many_streams(case: Case) -> None:
    """Streams can be made and closed again and again."""
    for number in range(40):
        stream = px.Stream(case.device, priority=number % 3 - 1)
        with stream:
            x = px.full(5, number, dtype=px.int32)
        stream.close()
        _all_are(x, number, "work on a stream that was closed")


def test_any_priority(case: Case) -> None:
    """Priorities are any numbers of 32 bits: those beyond the device's are its ends."""
    for priority in (-(2**31), -1000, -5, 5, 1000, 2**31 - 1):
        stream = px.Stream(case.device, priority=priority)
        with stream:
            x = px.full(5, priority, dtype=px.int32)
        stream.close()
        _all_are(x, priority, f"work on a stream of priority {priority}")


def test_stream_close_twice(case: Case) -> None:
    """A second ``close`` does nothing; use after it is a ClosedError."""
    stream = px.Stream(case.device)
    stream.close()
    stream.close()
    with pytest.raises(ClosedError):
        stream.synchronize()


def test_driver_streams(case: Case) -> None:
    """The driver's own calls: an idle stream says so, and waits end."""
    opened = case.device.ensure_open()
    if Capability.STREAMS not in opened.capabilities:
        pytest.skip("the device has no streams of its own")
    handle, other = opened.stream_create(0), opened.stream_create(0)
    opened.stream_synchronize(handle, 60.0)
    assert opened.stream_query(handle) is True
    default = case.device.default_stream.handle
    known = [opened.stream_number(one) for one in (default, handle, other)]
    known = [number for number in known if number is not None]
    assert len(set(known)) == len(known), f"streams have the same numbers: {known}"
    opened.stream_destroy(other)
    opened.stream_destroy(handle)


def test_driver_finishes_what_it_destroys(case: Case) -> None:
    """The driver's own call: a queue that is destroyed has waited for what it was told to."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    stream = px.Stream(device)
    before, behind = opened.event_create(timed=False), opened.event_create(timed=False)
    for _ in range(5 if case.quick else 20):
        with stream:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        opened.event_record(before, stream.handle)
        queue = opened.stream_create(0)
        opened.stream_wait_event(queue, before)
        opened.event_record(behind, queue)
        opened.stream_destroy(queue)
        for event in (before, behind):
            assert opened.event_query(event), "a queue was destroyed before its work was done"
        _all_are(x, _STEPS, "work that a destroyed queue has waited for")
    opened.event_destroy(before)
    opened.event_destroy(behind)


def test_driver_keeps_waits_for_what_it_destroys(case: Case) -> None:
    """The driver's own call: a queue goes on waiting for an event that was destroyed."""
    device = case.device
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    opened = device.ensure_open()
    stream, queue = px.Stream(device), opened.stream_create(0)
    for _ in range(5 if case.quick else 20):
        with stream:
            x = _slow(px.zeros(_SIZE, dtype=px.float32))
        event = opened.event_create(timed=False)
        opened.event_record(event, stream.handle)
        opened.stream_wait_event(queue, event)
        opened.event_destroy(event)
        opened.stream_synchronize(queue, 60.0)
        assert stream.query(), "a wait ended when its event was destroyed"
        _all_are(x, _STEPS, "work before an event that was destroyed")
    opened.stream_destroy(queue)


def test_timeout(case: Case) -> None:
    """A wait with a time limit raises TimeoutError or is done; the work goes on either way."""
    stream = px.Stream(case.device)
    with stream:
        x = _slow(px.zeros(1 << 20, dtype=px.float32), 64)
    try:
        stream.synchronize(timeout=0.0)
        assert stream.query()
    except TimeoutError:
        pass
    _all_are(x, 64, "work after a wait that timed out")


def test_bad_timeout(case: Case) -> None:
    """A negative time limit is a ValueError."""
    stream = px.Stream(case.device)
    with stream:
        x = px.ones(10, dtype=px.int32) + 1
    if case.device.has_streams:
        with pytest.raises(ValueError, match="timeout"):
            stream.synchronize(timeout=-1.0)
    _all_are(x, 2, "work after a wrong wait")
