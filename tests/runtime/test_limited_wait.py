"""Waits with a limit by waits that have none: ``LimitedWait``."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections.abc import Callable

import pytest
from phalanx.vendor import LimitedWait

WHAT = "the work"


class Work:
    """Work that ends when it is told to; waits for it have no limit, and are counted."""

    def __init__(self) -> None:
        self.waits = 0
        self.failure: Exception | None = None
        self.is_over = threading.Event()

    def wait(self) -> None:
        self.waits += 1
        self.is_over.wait()
        if self.failure is not None:
            raise self.failure

    def within(self, limited: LimitedWait, timeout: float) -> None:
        limited(self.wait, self.is_over.is_set, timeout, WHAT)


@pytest.fixture
def work() -> Work:
    return Work()


def helpers() -> int:
    return sum(thread.name == "phalanx-wait" for thread in threading.enumerate())


def after(seconds: float, function: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(seconds, function)
    timer.start()
    return timer


def test_what_is_done_needs_no_thread(work: Work) -> None:
    work.is_over.set()
    before = helpers()
    for timeout in (0.0, 10.0):
        work.within(LimitedWait(), timeout)
    assert (work.waits, helpers()) == (0, before)


def test_it_ends_with_the_work(work: Work) -> None:
    after(0.05, work.is_over.set)
    work.within(LimitedWait(), 60)
    assert work.is_over.is_set()
    assert work.waits == 1


@pytest.mark.parametrize("timeout", [0.0, 1e-6, 0.02])
def test_a_limit_is_kept(work: Work, timeout: float) -> None:
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=f"^{WHAT} is not done after {timeout:g} s$"):
        work.within(LimitedWait(), timeout)
    assert timeout <= time.monotonic() - begin < 30
    work.is_over.set()


def test_waits_that_are_given_up_share_a_thread(work: Work) -> None:
    limited = LimitedWait()
    before = helpers()
    for _ in range(50):
        with pytest.raises(TimeoutError):
            work.within(limited, 0.001)
    assert work.waits == 1
    assert helpers() <= before + 1
    after(0.02, work.is_over.set)
    work.within(limited, 60)


def test_what_was_given_up_may_end_before_what_comes(work: Work) -> None:
    limited, later = LimitedWait(), Work()
    with pytest.raises(TimeoutError):
        work.within(limited, 0.001)
    after(0.02, work.is_over.set)
    after(0.05, later.is_over.set)
    later.within(limited, 60)
    assert later.is_over.is_set()


def test_a_limit_is_for_what_was_given_up_and_what_comes(work: Work) -> None:
    limited, later = LimitedWait(), Work()
    for each in (work, later, later):
        with pytest.raises(TimeoutError):
            each.within(limited, 0.01)
    assert (work.waits, later.waits) == (1, 0)
    later.is_over.set()
    later.within(limited, 0.01)  # is over, whatever the other does
    work.is_over.set()


def test_a_failure_of_the_wait_is_raised(work: Work) -> None:
    work.failure = OSError("the runtime")
    after(0.02, work.is_over.set)
    with pytest.raises(OSError, match="the runtime"):
        LimitedWait()(work.wait, lambda: False, 60, WHAT)


def test_a_failure_of_work_that_is_over_is_left(work: Work) -> None:
    """Who waits looks at what the work came to; of what was given up another wait has told."""
    limited = LimitedWait()
    work.failure = OSError("the work")
    with pytest.raises(TimeoutError):
        work.within(limited, 0.001)
    after(0.02, work.is_over.set)
    work.within(limited, 60)


def test_what_was_given_up_is_let_go_when_it_is_over() -> None:
    limited, work, later = LimitedWait(), Work(), Work()
    with pytest.raises(TimeoutError):
        work.within(limited, 0.001)
    for each in (work, later):
        each.is_over.set()
    later.within(limited, 60)
    kept = weakref.ref(work)
    del work, each
    end = time.monotonic() + 10
    while kept() is not None and time.monotonic() < end:
        time.sleep(0.001)
    assert kept() is None


def test_many_threads_wait_for_the_same(work: Work) -> None:
    limited = LimitedWait()
    ended: list[bool] = []

    def body() -> None:
        for _ in range(5):
            try:
                work.within(limited, 0.002)
            except TimeoutError:
                continue
        work.within(limited, 60)
        ended.append(work.is_over.is_set())

    threads = [threading.Thread(target=body) for _ in range(16)]
    for thread in threads:
        thread.start()
    after(0.1, work.is_over.set)
    for thread in threads:
        thread.join(60)
    assert ended == [True] * 16


def test_threads_are_used_again() -> None:
    before = helpers()
    limited = LimitedWait()
    for _ in range(20):
        work = Work()
        after(0.001, work.is_over.set)
        work.within(limited, 60)
    assert helpers() <= before + 2


def test_an_interrupted_wait_goes_on(work: Work) -> None:
    limited = LimitedWait()
    main = threading.get_ident()
    after(0.05, lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        work.within(limited, 60)
    after(0.02, work.is_over.set)
    work.within(limited, 60)
    assert work.waits == 1


def test_without_threads_it_asks_again_and_again(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("phalanx.runtime.limited_wait._idle", [])
    after(0.02, work.is_over.set)

    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(TimeoutError):
        work.within(LimitedWait(), 0.001)
    work.within(LimitedWait(), 60)
    assert work.waits == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_has_threads_of_its_own(work: Work) -> None:
    after(0.001, work.is_over.set)
    work.within(LimitedWait(), 60)  # there is an idle one
    child = os.fork()
    if child == 0:
        code = 1
        try:
            mine = Work()
            after(0.02, mine.is_over.set)
            mine.within(LimitedWait(), 10)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
