"""Locks in a forked child: free, or the forking thread's own, and never somebody's who is gone."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest
from phalanx.runtime import locks
from phalanx.runtime.locks import ForkSafeLock
from plugin_kit import run_python
from test_import import ROOT, sources

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

PROLOGUE = """
import os, signal, sys, threading
import phalanx as px
from phalanx.abi import library, structs as abi
from phalanx.dispatch import fallback
from phalanx.discovery import plugins
from phalanx.errors import PluginLoadError
from phalanx.device_plugins.native import NativeDriver
from phalanx.runtime.locks import ForkSafeLock

def in_child(work):
    '''Run work in a forked child; a child that hangs is killed by its own alarm.'''
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)
"""


def run(code: str, *arguments: str) -> None:
    """Run a program in a fresh interpreter, which must end by itself without an error."""
    done = run_python(
        "-W",
        "ignore::DeprecationWarning",  # of a fork of a process with threads: that is the test
        "-c",
        PROLOGUE + code,
        *arguments,
        PHALANX_PLUGINS="none",
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(autouse=True)
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement of coverage has locks of its own, which would hang a forked child."""
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)


class TestForkSafeLock:
    def test_excludes_other_threads(self) -> None:
        lock, counts = ForkSafeLock(), [0]

        def work() -> None:
            for _ in range(2000):
                with lock:
                    before = counts[0]
                    counts[0] = before + 1

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [8000]

    def test_one_thread_may_enter_again(self) -> None:
        lock = ForkSafeLock()
        with lock, lock:
            pass

    def test_nothing_keeps_it_alive(self) -> None:
        lock = ForkSafeLock()
        gone = weakref.ref(lock)
        assert lock in locks._known
        del lock
        gc.collect()
        assert gone() is None

    def test_held_by_another_thread(self) -> None:
        run("""
lock, held, done = ForkSafeLock(), threading.Event(), threading.Event()
def hold():
    with lock, lock:
        held.set()
        done.wait()
thread = threading.Thread(target=hold)
thread.start()
held.wait()
def work():
    with lock: pass
code = in_child(work)
assert not lock.acquire(blocking=False), "the parent's is as it was"
done.set()
thread.join()
assert code == 0, code
with lock: pass
""")

    def test_held_by_the_forking_thread(self) -> None:
        run("""
lock, entered = ForkSafeLock(), []
def enter():
    if lock.acquire(blocking=False):
        entered.append(1)
def work():
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert not entered, "the section is the forking thread's"
    lock.release()
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered
with lock:
    code = in_child(work)
assert code == 0, code
""")


def test_children_of_a_process_whose_threads_use_every_lock() -> None:
    run("""
driver = NativeDriver("nobody", lambda: library.open_library("/nowhere/lib.so"))
def everything():
    fallback.fallback_report()
    abi._ffi = None
    abi.ffi()
    plugins.host().drivers()
    plugins.host().listed()
    try:
        driver.device_count()
    except PluginLoadError:
        pass

stop = threading.Event()
def hammer():
    while not stop.is_set():
        everything()
everything()  # a child that was forked during an import would wait for Python's own locks
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=hammer) for _ in range(4)]
for thread in threads: thread.start()
codes = [in_child(everything) for _ in range(20)]
stop.set()
for thread in threads: thread.join()
assert codes == [0] * 20, codes
""")


@pytest.mark.parametrize("room", ["core", "device_plugins", "kernels_opencl"])
def test_no_other_lock_is_waited_for(room: str) -> None:
    """A lock of `threading` is held for ever in a child that was forked at the wrong moment."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in sources(room)
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if ("threading.Lock()" in line or "threading.RLock()" in line) and "only tried" not in line
    ]
    assert found == []
