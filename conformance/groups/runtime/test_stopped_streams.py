"""Behind a command that failed: what is passed over, whom it reaches, when work goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import Bytes, read_block, write_block
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy
from phalanx.conformance.groups.runtime.failing import FAILURES, let_fail, need_injection, until
from phalanx.driver import OpenDevice, Place

_SIZE = 4096
_OLD, _NEW = (np.full(_SIZE, value, np.uint8) for value in (17, 99))
#: More than queues and rings of slots have.
_MANY, _MANY_QUICK = 1_500, 300
_THREADS = 4
#: Streams that wait for one event.
_FAN = 6


class _Bench:
    """Blocks with old bytes, and copies that would put new ones there."""

    def __init__(self, case: Case, count: int) -> None:
        self.device, self.opened = case.device, need_injection(case)
        self.blocks = [self.opened.alloc(_SIZE) for _ in range(count + 1)]
        for block in self.blocks[:count]:
            write_block(self.device, block, _OLD)
        self.new = self.blocks.pop()
        write_block(self.device, self.new, _NEW)

    def copy(self, number: int, stream: px.Stream) -> None:
        """Enqueue the copy of new bytes to a block."""
        there, here = (Place(self.opened, block) for block in (self.blocks[number], self.new))
        self.opened.copy(there, here, _SIZE, stream=stream)

    def check(self, number: int, want: Bytes, what: str) -> None:
        found = read_block(self.device, self.blocks[number], _SIZE)
        assert (found == want).all(), f"{what}: {set(found.tolist())}, want {set(want.tolist())}"


@contextmanager
def _bench(case: Case, count: int = 1) -> Iterator[_Bench]:
    bench = _Bench(case, count)
    try:
        yield bench
    finally:
        with suppress(*FAILURES):  # of a case that has failed already
            px.synchronize(case.device)
        for block in (*bench.blocks, bench.new):
            bench.opened.free(block)


def _recorded(opened: OpenDevice, stream: px.Stream) -> Any:
    event = opened.event_create(timed=False)
    opened.event_record(event, stream.handle)
    return event


def _tells(wait: Callable[[], object], what: str) -> None:
    """Wait, and be told that a command failed."""
    with pytest.raises(FAILURES) as told:
        wait()
    assert str(told.value).strip(), f"{what} failed without a word"


@pytest.mark.parametrize("stays", [True, False], ids=["seen", "unseen"])
def test_copies_behind_it_are_passed_over(case: Case, stays: bool) -> None:
    """A copy behind the failure is not done, and the first one behind the wait that told it is."""
    with _bench(case, 3) as bench:
        failing = let_fail(case, "command")
        if stays:
            until(lambda: bench.opened.stream_query(failing.stream.handle))
        for number in (0, 1):
            bench.copy(number, failing.stream)
        _tells(failing.stream.synchronize, "the stream")
        bench.copy(2, failing.stream)
        failing.stream.synchronize()
        for number, want in ((0, _OLD), (1, _OLD), (2, _NEW)):
            bench.check(number, want, f"copy {number}, of which two were behind a failure")


def test_copies_of_the_host_are_passed_over(case: Case) -> None:
    """Neither the device's nor the host's memory is written behind a failure."""
    with _bench(case) as bench:
        failing, host, source = let_fail(case, "command"), _OLD.copy(), _NEW.copy()
        block = Place(bench.opened, bench.blocks[0])
        bench.opened.copy(block, Place(None, source.ctypes.data), _SIZE, stream=failing.stream)
        bench.opened.copy(
            Place(None, host.ctypes.data),
            Place(bench.opened, bench.new),
            _SIZE,
            stream=failing.stream,
        )
        _tells(failing.stream.synchronize, "the stream")
        failing.stream.synchronize()
        bench.check(0, _OLD, "an upload behind a failure")
        assert (host == _OLD).all(), "a download behind a failure was done"


def test_launches_behind_it_are_passed_over(case: Case) -> None:
    """What a launch would have changed in place is as it was, and has no value for the reader."""
    need_injection(case)
    if not case.has("add", "float32", "float32", "float32"):
        pytest.skip("the device does not add float32")
    x, y = (px.asarray(np.arange(1000, dtype=np.float32)) for _ in range(2))
    px.synchronize(case.device)
    failing = let_fail(case, "command")
    with failing.stream:
        x += 1.0
        x += y
    _tells(failing.stream.synchronize, "the stream")
    for _ in range(2):
        _tells(lambda: px.asnumpy(x), "reading what has no value")
    place = Place(case.device.ensure_open(), x.buffer.handle)
    found = read_block(case.device, place.handle, x.nbytes, x.offset).view(np.float32)
    assert (found == np.arange(1000)).all(), "a launch behind a failure was done"
    with failing.stream:
        y += 1.0
    failing.stream.synchronize()
    assert (px.asnumpy(y) == np.arange(1, 1001)).all(), "a launch behind the wait that told it"


def test_many_behind_it_are_passed_over(case: Case) -> None:
    """However many were queued before it was told; an event right behind it tells it."""
    many = _MANY_QUICK if case.quick else _MANY
    with _bench(case, 2) as bench:
        stream = px.Stream(case.device)
        stream.wait(busy(case, 0.1, asks=False).record())
        let_fail(case, "command", stream)
        behind = _recorded(bench.opened, stream)
        for _ in range(many):
            bench.copy(0, stream)
        _tells(lambda: bench.opened.event_synchronize(behind, 60.0), "an event behind it")
        bench.copy(1, stream)
        stream.synchronize()
        bench.opened.event_destroy(behind)
        bench.check(0, _OLD, "one of many copies behind a failure")
        bench.check(1, _NEW, "a copy behind the wait that told it")


def test_work_ahead_of_it_is_done(case: Case) -> None:
    """What was enqueued before the command that fails is not touched by it."""
    with _bench(case, 2) as bench:
        stream = px.Stream(case.device)
        stream.wait(busy(case, 0.05, asks=False).record())
        bench.copy(0, stream)
        let_fail(case, "command", stream)
        bench.copy(1, stream)
        _tells(stream.synchronize, "the stream")
        stream.synchronize()
        bench.check(0, _NEW, "a copy ahead of a failure")
        bench.check(1, _OLD, "a copy behind it")


def test_two_of_them_are_told_once(case: Case) -> None:
    """The second is passed over as all else; one behind the wait is told again, five times."""
    opened = need_injection(case)
    stream = px.Stream(case.device)
    for _ in range(5):
        for _ in range(2):
            opened.stream_inject_failure(stream.handle)
        event = _recorded(opened, stream)
        _tells(lambda: opened.stream_synchronize(stream.handle, 60.0), "the stream")
        opened.stream_synchronize(stream.handle, 60.0)
        opened.event_synchronize(event, 60.0)  # another wait has told it
        opened.event_destroy(event)


@pytest.mark.parametrize("light", ["before", "behind"])
@pytest.mark.parametrize("hops", [1, 2, 3])
def test_events_hand_it_on(case: Case, hops: int, light: str) -> None:
    """Streams that wait for an event behind it fail too: what they have to do is passed over.

    The failure comes to light before they wait, or when all is enqueued.
    """
    with _bench(case, 2 * hops + 2) as bench:
        first, streams = px.Stream(case.device), [px.Stream(case.device) for _ in range(hops)]
        if light == "behind":
            first.wait(busy(case, 0.1, asks=False).record())
        let_fail(case, "command", first)
        if light == "before":
            until(lambda: bench.opened.stream_query(first.handle))
        before, events = first, []
        for number, stream in enumerate(streams):
            events.append(_recorded(bench.opened, before))
            if light == "before":
                until(lambda event=events[-1]: bench.opened.event_query(event))  # type: ignore[misc]
            bench.opened.stream_wait_event(stream.handle, events[-1])
            bench.copy(number, stream)
            before = stream
        other = px.Stream(case.device)
        bench.copy(hops, other)
        other.synchronize()
        for number, stream in reversed(list(enumerate((first, *streams)))):
            _tells(stream.synchronize, f"the stream {number} events away")
            stream.synchronize()
        for number, stream in enumerate(streams):
            bench.check(number, _OLD, f"a copy {number + 1} events behind a failure")
            bench.copy(hops + 1 + number, stream)
            stream.synchronize()
            bench.check(hops + 1 + number, _NEW, "a copy behind the wait that told it")
        bench.check(hops, _NEW, "a copy on a stream of its own")
        for event in events:
            bench.opened.event_destroy(event)


def test_all_who_wait_for_an_event_fail(case: Case) -> None:
    """However many streams wait for one event behind it, before it comes to light or later."""
    with _bench(case, _FAN) as bench:
        first, streams = px.Stream(case.device), [px.Stream(case.device) for _ in range(_FAN)]
        first.wait(busy(case, 0.05, asks=False).record())
        let_fail(case, "command", first)
        event = _recorded(bench.opened, first)
        for number, stream in enumerate(streams):
            if number == _FAN // 2:
                until(lambda: bench.opened.event_query(event))
            bench.opened.stream_wait_event(stream.handle, event)
            bench.copy(number, stream)
        for number, stream in enumerate((*streams, first)):
            _tells(stream.synchronize, f"stream {number} of {_FAN} that wait for one event")
        for number in range(_FAN):
            bench.check(number, _OLD, f"a copy of stream {number} that waited for a failure")
        bench.opened.event_destroy(event)


def test_questions_are_answered_behind_it(case: Case) -> None:
    """A stream that failed becomes idle and its events are passed, though nobody was told."""
    opened = need_injection(case)
    failing = let_fail(case, "command")
    event = _recorded(opened, failing.stream)
    until(lambda: opened.event_query(event) and opened.stream_query(failing.stream.handle))
    assert opened.event_query(event), "an event behind a failure is never passed"
    assert opened.stream_query(failing.stream.handle), "a stream with a failure is never idle"
    _tells(failing.stream.synchronize, "the stream")
    opened.event_destroy(event)


def test_an_event_ahead_of_it_hands_nothing_on(case: Case) -> None:
    """Who waits for what came before works on, though the stream has failed meanwhile."""
    with _bench(case, 2) as bench:
        stream, other = (px.Stream(case.device) for _ in range(2))
        ahead = _recorded(bench.opened, stream)
        let_fail(case, "command", stream)
        until(lambda: bench.opened.stream_query(stream.handle))
        bench.opened.stream_wait_event(other.handle, ahead)
        bench.copy(0, other)
        other.synchronize()
        _tells(stream.synchronize, "the stream")
        bench.check(0, _NEW, "a copy behind an event ahead of a failure")
        bench.opened.event_destroy(ahead)


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
def test_a_new_recording_hands_nothing_on(case: Case, told: bool) -> None:
    """An event that was behind it is as any other when it is recorded on another stream."""
    with _bench(case) as bench:
        failing, sound, late = let_fail(case, "command"), *(px.Stream(case.device) for _ in "ab")
        event = _recorded(bench.opened, failing.stream)
        until(lambda: bench.opened.event_query(event))
        if told:
            _tells(failing.stream.synchronize, "the stream")
        bench.opened.event_record(event, sound.handle)
        bench.opened.stream_wait_event(late.handle, event)
        bench.copy(0, late)
        for stream in (late, sound):
            stream.synchronize()
        bench.opened.event_synchronize(event, 60.0)
        if not told:
            _tells(failing.stream.synchronize, "the stream")
        bench.check(0, _NEW, "a copy behind a new recording of an event")
        bench.opened.event_destroy(event)


@pytest.mark.parametrize("then", ["recorded anew", "destroyed"])
def test_a_wait_keeps_the_recording_behind_it(case: Case, then: str) -> None:
    """A stream fails by the recording that it waits for, whatever comes of the event."""
    with _bench(case, 2) as bench:
        failing, sound, waiting, late = (px.Stream(case.device) for _ in range(4))
        failing.wait(busy(case, 0.05, asks=False).record())
        let_fail(case, "command", failing)
        event = _recorded(bench.opened, failing)
        bench.opened.stream_wait_event(waiting.handle, event)
        if then == "destroyed":
            bench.opened.event_destroy(event)
            event = bench.opened.event_create(timed=False)  # it may be the same
        bench.opened.event_record(event, sound.handle)
        bench.opened.stream_wait_event(late.handle, event)
        bench.copy(0, waiting)
        bench.copy(1, late)
        late.synchronize()
        _tells(waiting.synchronize, "who waits for the former recording")
        _tells(failing.synchronize, "the stream")
        bench.check(0, _OLD, "a copy behind the recording that was behind a failure")
        bench.check(1, _NEW, "a copy behind a recording elsewhere")
        bench.opened.event_destroy(event)


def test_it_ends_with_its_telling(case: Case) -> None:
    """An event that is recorded behind the wait which told it hands nothing on."""
    with _bench(case) as bench:
        failing, other = let_fail(case, "command"), px.Stream(case.device)
        _tells(failing.stream.synchronize, "the stream")
        event = _recorded(bench.opened, failing.stream)
        bench.opened.stream_wait_event(other.handle, event)
        bench.copy(0, other)
        other.synchronize()
        failing.stream.synchronize()
        bench.check(0, _NEW, "a copy behind an event of a stream whose failure was told")
        bench.opened.event_destroy(event)


def test_what_comes_from_it_has_no_value(case: Case) -> None:
    """Arrays from work behind it cannot be read, on whichever stream, though a question saw it."""
    need_injection(case)
    if not case.has("add", "float32", "float32", "float32"):
        pytest.skip("the device does not add float32")
    x, other = px.asarray(np.ones(100, np.float32)), px.Stream(case.device)
    px.synchronize(case.device)
    for seen in (False, True):
        failing = let_fail(case, "command")
        with failing.stream:
            y = x + 1.0
        if seen:
            until(failing.stream.query)
        _tells(lambda stream=other, y=y: _read_sum(stream, y), "a sum on another stream")  # type: ignore[misc]
        _tells(lambda y=y: px.asnumpy(y), "reading what comes from it")  # type: ignore[misc]
        for stream in (failing.stream, other):
            with stream:
                z = x + 2.0
            _told_or_done(stream)
            with stream:
                z = x + 2.0
            stream.synchronize()
            assert (px.asnumpy(z) == 3).all(), "work behind the waits that told it"
        assert (px.asnumpy(x) == 1).all()


def _read_sum(stream: px.Stream, y: px.Array) -> None:
    with stream:
        z = y + 1.0
    px.asnumpy(z)


def _told_or_done(stream: px.Stream) -> None:
    try:
        stream.synchronize()
    except FAILURES:
        stream.synchronize()


def test_threads_are_told_their_own(case: Case) -> None:
    """Of streams of several threads every second one fails: that one is told so, each time."""
    opened = need_injection(case)
    rounds = 10 if case.quick else 40

    def work(number: int) -> list[str]:
        stream, wrong = px.Stream(case.device), []
        for turn in range(rounds):
            fails = (number + turn) % 2 == 0
            if fails:
                opened.stream_inject_failure(stream.handle)
            try:
                opened.stream_synchronize(stream.handle, 60.0)
                told = False
            except FAILURES:
                told = True
            if told != fails:
                wrong.append(f"stream {number}, round {turn}: fails {fails}, told {told}")
        return wrong

    with ThreadPoolExecutor(_THREADS) as pool:
        wrong = [line for lines in pool.map(work, range(_THREADS)) for line in lines]
    assert not wrong, f"{len(wrong)} rounds of threads: {wrong[0]}"


def test_streams_with_failures_come_and_go(case: Case) -> None:
    """Hundreds of them, told by the end of the stream, leave the device as it was."""
    opened = need_injection(case)
    for turn in range(100 if case.quick else 300):
        handle = opened.stream_create(0)
        opened.stream_inject_failure(handle)
        if turn % 2:
            _tells(lambda handle=handle: opened.stream_synchronize(handle, 60.0), "the stream")  # type: ignore[misc]
            opened.stream_destroy(handle)
        else:
            _tells(lambda handle=handle: opened.stream_destroy(handle), "the end of the stream")  # type: ignore[misc]
    with _bench(case) as bench:
        stream = px.Stream(case.device)
        bench.copy(0, stream)
        stream.synchronize()
        bench.check(0, _NEW, "a copy behind hundreds of failures")
