"""Locks that a forked child finds open."""

from __future__ import annotations

import os
import signal
import threading
import warnings

from phalanx.locks import ForkSafeLock


def test_a_child_takes_a_lock_that_another_thread_of_the_parent_holds() -> None:
    lock = ForkSafeLock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads is the test
        pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        with lock, lock:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_one_thread_at_a_time() -> None:
    lock = ForkSafeLock()
    inside: list[int] = []

    def enter(number: int) -> None:
        for _ in range(200):
            with lock:
                inside.append(number)
                assert inside == [number]
                inside.pop()

    threads = [threading.Thread(target=enter, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not inside
