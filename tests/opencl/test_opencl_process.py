"""Fork after use and exit with work in flight: a clear error and no hang."""

from __future__ import annotations

import phalanx as px
import pytest
from plugin_kit import run_python

PROLOGUE = """
import gc, os, signal, sys, threading
import phalanx as px
signal.alarm(60)
px.set_device("{device}")
x = px.asarray([1.0, 2.0, 3.0])
y = px.exp(x)

def in_child(work):
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        code = 1
        try:
            work()
            code = 0
        except px.PhalanxError as error:
            print("clear error:", error, flush=True)
            code = 7
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
"""


@pytest.fixture
def run(device: px.Device):
    """Run a program in a fresh interpreter; it must end by itself without an error."""

    def call(code: str) -> str:
        text = PROLOGUE.format(device=device.name) + code
        result = run_python("-W", "ignore::DeprecationWarning", "-c", text)
        assert result.returncode == 0, f"{result.returncode}\n{result.stdout}\n{result.stderr}"
        return result.stdout

    return call


class TestFork:
    def test_child_gets_a_clear_error_and_the_parent_goes_on(self, run) -> None:
        out = run("""
for work in (lambda: px.asnumpy(x + 1), lambda: px.synchronize(), lambda: px.Stream(),
             lambda: px.asarray([5.0])):
    assert in_child(work) == 7
assert px.asnumpy(x + 1).tolist() == [2.0, 3.0, 4.0]
""")
        assert out.count("clear error") == 4
        assert out.count("fork") >= 4
        assert "spawn" in out

    def test_why_in_the_child_says_what_to_do(self, run) -> None:
        out = run("""
assert in_child(lambda: print(px.why("opencl:0"))) == 0
""")
        assert "opencl:0: not usable" in out
        assert "an OpenCL runtime does not survive a fork" in " ".join(out.split())
        assert "-> start processes with the method 'spawn'" in " ".join(out.split())

    def test_child_may_free_and_end(self, run) -> None:
        run("""
stream = px.Stream()
def work():
    global x, y, stream
    del x, y
    stream = None
    gc.collect()
assert in_child(work) == 0
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    sys.exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
""")

    def test_child_may_end_behind_queued_work(self, run) -> None:
        """The threads that would do the work stay in the parent: the child waits for none."""
        run("""
big = px.ones((1200, 1200))
big = big @ big
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    sys.exit(5)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
assert float(big[0, 0]) == 1200.0
""")


class TestExit:
    def test_with_work_in_flight(self, run) -> None:
        run("""
big = px.ones(1 << 20, dtype=px.float64)
with px.Stream():
    for _ in range(30):
        big = px.sin(big)
z = px.ones(1 << 20) * 2
""")

    def test_while_another_thread_launches(self, run) -> None:
        run("""
def work():
    with px.device(px.get_device()):
        while True:
            px.ones(1000) * 2
threading.Thread(target=work, daemon=True).start()
import time; time.sleep(0.3)
""")

    def test_with_an_exception(self, device: px.Device) -> None:
        text = (
            PROLOGUE.format(device=device.name) + "z = px.sin(px.ones(1 << 20)); raise KeyError(3)"
        )
        result = run_python("-c", text)
        assert result.returncode == 1
        assert "KeyError: 3" in result.stderr
