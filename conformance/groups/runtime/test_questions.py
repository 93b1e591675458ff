"""Questions and waits with a limit: they alone move work on, and leave nothing behind."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, by_a_thread, need_streams

#: More than rings of commands and tables of waits are known to have.
_MANY = 300
#: Seconds until somebody who only asks gives up.
_PATIENCE = 30.0


def _true_in_the_end(question: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + _PATIENCE
    while not question():
        if time.monotonic() > deadline:
            return False
    return True


def test_asking_is_enough(case: Case) -> None:
    """Each of hundreds of commands is done though nothing but a question follows it."""
    need_streams(case)
    opened, stream = case.device.ensure_open(), px.Stream(case.device)
    x = px.zeros(64, dtype=px.float32)
    px.synchronize(case.device)
    for number in range(_MANY if case.quick else 4 * _MANY):
        with stream:
            x = x + 1
        done = _true_in_the_end(lambda: opened.stream_query(stream.handle))
        assert done, f"command {number} was not done within {_PATIENCE:g} s of questions"
    assert (px.asnumpy(x) == np.float32(number + 1)).all()


@pytest.mark.parametrize("of", ["event", "stream"])
def test_questions_of_a_new_thread(case: Case, of: str) -> None:
    """A thread that has done nothing but ask is told the truth, and sees the work's end."""
    need_streams(case)
    opened = case.device.ensure_open()
    stream = busy(case, 0.1, asks=False)
    event = opened.event_create(timed=False)
    opened.event_record(event, stream.handle)

    def question() -> bool:
        if of == "event":
            return opened.event_query(event)
        return opened.stream_query(stream.handle)

    if by_a_thread(question):  # then it is so for everybody
        assert question(), f"a new thread was told that the {of} is done, which it is not"
    ended = by_a_thread(lambda: _true_in_the_end(question))
    assert ended, f"the {of} was not done within {_PATIENCE:g} s of another thread's questions"
    opened.event_destroy(event)
    stream.synchronize()


@pytest.mark.parametrize("of", ["stream", "event"])
def test_hundreds_of_waits_run_out(case: Case, of: str) -> None:
    """Waits that ran out of time leave nothing: the next one waits, and ends with the work."""
    need_streams(case)
    opened = case.device.ensure_open()
    event = opened.event_create(timed=False)

    def wait(stream: px.Stream, limit: float) -> None:
        if of == "stream":
            opened.stream_synchronize(stream.handle, limit)
        else:
            opened.event_synchronize(event, limit)

    ran_out, told = 0, "a wait returned at once when {} had run out of time"
    for _ in range(5):
        stream = busy(case, 0.2, asks=False)
        opened.event_record(event, stream.handle)
        while ran_out < _MANY and not opened.event_query(event):
            try:
                wait(stream, 1e-4)
            except TimeoutError:
                ran_out += 1
            else:
                assert opened.event_query(event), told.format(ran_out)
        stream.synchronize()
    if ran_out < _MANY:
        pytest.skip("the device is too fast for this case")
    last = busy(case, 0.05, asks=False)
    opened.event_record(event, last.handle)
    wait(last, 60.0)
    assert opened.event_query(event), told.format(ran_out)
    opened.event_destroy(event)
