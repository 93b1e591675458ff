"""What goes on while a failure has come to light and nobody was told of it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, need_streams
from phalanx.conformance.groups.runtime.failing import failed, let_fail, of_either_kind, until

_TRIES = 3


def _computes(stream: px.Stream) -> None:
    """Compute on a stream, of which nothing else is told."""
    with stream:
        x = px.asarray(np.arange(10, dtype=np.float32)) + 1.0
    stream.synchronize()
    assert px.asnumpy(x).tolist() == list(range(1, 11))


@of_either_kind
@pytest.mark.parametrize("of", ["stream", "event", "passed event"])
def test_a_wait_without_a_limit_tells_it(case: Case, of: str, kind: str) -> None:
    """The driver's own waits tell a failure once, as those with a limit do."""
    failing = failed(case, kind)
    stream = failing.stream
    opened = case.device.ensure_open()
    event = opened.event_create(timed=False)
    opened.event_record(event, stream.handle)
    if of == "passed event":
        until(lambda: opened.event_query(event))
    wait: Callable[[Any], None] = opened.event_synchronize
    what: Any = event
    if of == "stream":
        wait, what = opened.stream_synchronize, stream.handle
    with pytest.raises(failing.error):
        wait(what)
    opened.stream_synchronize(stream.handle)
    opened.event_destroy(event)


@of_either_kind
def test_a_wait_for_an_earlier_event_keeps_it(case: Case, kind: str) -> None:
    """An event ahead of the failing work tells the failure, or leaves it to its stream."""
    need_streams(case)
    opened, early = case.device.ensure_open(), px.Stream(case.device)
    event = opened.event_create(timed=False)
    with early:
        px.ones(1000, dtype=px.float32)
    opened.event_record(event, early.handle)
    failing = failed(case, kind, early)
    told = 0
    ahead: Callable[[], None] = partial(opened.event_synchronize, event, 60.0)
    for wait in (ahead, early.synchronize, early.synchronize):
        try:
            wait()
        except failing.error:
            told += 1
    opened.event_destroy(event)
    assert told == 1, f"a failure was told {told} times by an earlier event and two waits"


@of_either_kind
@pytest.mark.parametrize("limit", [None, 60.0], ids=["no limit", "limit"])
def test_a_wait_for_the_device_loses_nothing(case: Case, limit: float | None, kind: str) -> None:
    """It tells the failure of a stream, or leaves that to a wait for the stream."""
    failing = failed(case, kind)
    stream = failing.stream
    opened = case.device.ensure_open()
    told = 0
    waits = (partial(opened.synchronize, limit), stream.synchronize, stream.synchronize)
    for wait in waits:
        try:
            wait()
        except failing.error:
            told += 1
    assert told == 1, f"a failure was told {told} times by the device's wait and two of its stream"


@of_either_kind
@pytest.mark.parametrize("priority", [0, 1, -1])
def test_new_streams_begin_without_it(case: Case, priority: int, kind: str) -> None:
    """A stream that is made then, its work and its events have not failed."""
    failing = failed(case, kind)
    opened = case.device.ensure_open()
    another, event = opened.stream_create(priority), opened.event_create(timed=False)
    opened.event_record(event, another)
    opened.event_synchronize(event, 60.0)
    opened.stream_synchronize(another, 60.0)
    opened.event_destroy(event)
    opened.stream_destroy(another)
    _computes(px.Stream(case.device))
    with pytest.raises(failing.error):
        failing.stream.synchronize()


@of_either_kind
def test_streams_begin_without_those_of_ended_ones(case: Case, kind: str) -> None:
    """A stream that is made when one with a failure has ended has nothing to tell."""
    failing = failed(case, kind)
    del failing  # nobody is told at the end
    gc.collect()
    for _ in range(3):
        fresh = px.Stream(case.device)
        _computes(fresh)
        fresh.close()


@of_either_kind
def test_a_limit_that_ran_out_leaves_it(case: Case, kind: str) -> None:
    """Behind a failure goes on work that lasts: a wait that it outlasts leaves the failure."""
    failing = failed(case, kind)
    stream, opened = failing.stream, case.device.ensure_open()
    long = busy(case, 0.2, asks=False).record()
    opened.stream_wait_event(stream.handle, long.handle)
    try:
        opened.stream_synchronize(stream.handle, 0.02)
        pytest.fail("a wait told nothing of a failure")
    except TimeoutError:
        with pytest.raises(failing.error):
            opened.stream_synchronize(stream.handle, 60.0)
    except failing.error:
        opened.stream_synchronize(stream.handle, 60.0)
    px.synchronize(case.device)


@of_either_kind
def test_the_device_tells_that_of_its_default_stream_once(case: Case, kind: str) -> None:
    """A wait for the device takes the failure that it tells."""
    opened = case.device.ensure_open()
    failing = let_fail(case, kind, case.device.default_stream)
    with pytest.raises(failing.error):
        opened.synchronize(60.0)
    opened.synchronize(60.0)
    px.synchronize(case.device)


@pytest.mark.parametrize(
    ("kind", "of_the_waiter"),
    [("index", True), ("index", False), ("command", False)],
    ids=["where it waits", "elsewhere", "a command elsewhere"],
)
def test_streams_wait_all_the_same(case: Case, kind: str, of_the_waiter: bool) -> None:
    """A stream waits for events behind its own wrong index, which stops nothing, or another's."""
    opened = case.device.ensure_open()
    was_busy = 0
    for _ in range(_TRIES):
        failing = failed(case, kind)
        waiting = failing.stream if of_the_waiter else px.Stream(case.device)
        event, last = (opened.event_create(timed=False) for _ in range(2))
        opened.event_record(event, busy(case, 0.1, asks=False).handle)
        opened.stream_wait_event(waiting.handle, event)
        opened.event_record(last, waiting.handle)
        was_busy += not opened.event_query(event)
        until(lambda last=last: opened.event_query(last))  # type: ignore[misc]
        assert opened.event_query(event), "a stream with an untold failure did not wait"
        with pytest.raises(failing.error):
            failing.stream.synchronize()
        waiting.synchronize()
        opened.event_destroy(event)
        opened.event_destroy(last)
        if was_busy:
            return
    pytest.skip("the device is too fast for this case")


@of_either_kind
@pytest.mark.parametrize("priority", [1, -1])
def test_streams_of_one_priority_fail_apart(case: Case, priority: int, kind: str) -> None:
    """A failure of one of them is not told by another one, which works on."""
    need_streams(case)
    first, other = (px.Stream(case.device, priority=priority) for _ in range(2))
    failing = let_fail(case, kind, first)
    _computes(other)
    with pytest.raises(failing.error):
        first.synchronize()


@of_either_kind
def test_compiling_ahead_leaves_it(case: Case, kind: str) -> None:
    """A kernel that is compiled before its first launch takes no failure, and computes as ever."""
    opened = case.device.ensure_open()
    kernels = {k.layout: k for k in px.kernels("subtract", case.device) if k.dtypes[0] == "float32"}
    if not kernels:
        pytest.skip("the device has no such kernel")
    failing = failed(case, kind)
    for kernel in kernels.values():
        opened.compile_ahead(kernel)
    with pytest.raises(failing.error):
        failing.stream.synchronize()
    for count in (1003, 4099):
        host = np.arange(count, dtype=np.float32)
        x = px.asarray(host + 2)
        x -= 1.0
        x -= px.ones(count, dtype=px.float32)
        for kernel in kernels.values():  # it is launched no more than it was asked for
            opened.compile_ahead(kernel)
        for part, want in ((x - 1.0, host - 1), (x[::-1] - x, host[::-1] - host)):
            assert (px.asnumpy(part) == want).all(), f"{count} elements behind compile_ahead"
