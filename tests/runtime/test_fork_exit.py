"""Fork after use, and exit with work in flight: an answer or a clear error, and never a hang."""

from __future__ import annotations

import pytest
from conftest import ONLY_FAKES
from plugin_kit import run_python

DEVICES = [
    "fake:0",
    "fakestream:0",
    "fakehost:0",
    pytest.param("cpu:0", marks=pytest.mark.needs_cpu),
]

PROLOGUE = """
import gc, os, signal, sys, threading, time, warnings
import phalanx as px
from phalanx.driver import DeviceKind
from phalanx.discovery.plugins import host
from phalanx.testing import ReferenceDriver
host().register_driver(ReferenceDriver("fake"))
host().register_driver(ReferenceDriver("fakestream", streams=True, delay={delay}))
host().register_driver(ReferenceDriver("fakehost", host_addressable=True, kind=DeviceKind.CPU))
device = px.set_device("{device}")
x = px.arange(1000.0)
stream = px.Stream()
with stream:
    y = px.exp(-x)

def in_child(work):
    '''Run work in a forked child; a child that hangs is killed by its own alarm.'''
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
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)
"""


@pytest.fixture(autouse=True)
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement of coverage has locks of its own, which would hang a forked child."""
    for name in ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START"):
        monkeypatch.delenv(name, raising=False)


def run(device: str, code: str, delay: float = 0.0) -> str:
    """Run a program in a fresh interpreter; it must end by itself, without a word on stderr."""
    plugins = {"PHALANX_PLUGINS": "none"} if ONLY_FAKES or not device.startswith("cpu") else {}
    # Python 3.12 and later warn of any fork of a process with threads; that is what is tested here.
    result = run_python(
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        PROLOGUE.format(device=device, delay=delay) + code,
        **plugins,
    )
    assert result.returncode == 0, (
        f"exit code {result.returncode}\n{result.stdout}\n{result.stderr}"
    )
    assert result.stderr == ""
    return result.stdout


@pytest.mark.parametrize("device", DEVICES)
class TestFork:
    def test_child_computes_or_says_why_not(self, device: str) -> None:
        out = run(
            device,
            """
px.synchronize()
def work():
    z = px.asnumpy(x * 2)
    assert z.tolist() == [2.0 * i for i in range(1000)]
    print("correct work")
code = in_child(work)
assert code in (0, 7), code
assert px.asnumpy(x + 1).tolist() == [i + 1.0 for i in range(1000)], "the parent goes on"
""",
        )
        assert "correct work" in out or "clear error" in out
        if "clear error" in out:
            assert device.split(":", maxsplit=1)[0] in out
            assert "fork" in out

    def test_child_of_a_parent_that_is_getting_memory(self, device: str) -> None:
        """The thread that did so stayed there: the child waits for nothing of it."""
        out = run(
            device,
            """
del x, y
px.synchronize()
px.empty_cache()
opened = device.ensure_open()
inside, go = threading.Event(), threading.Event()
plain = opened.alloc
def slow(size):
    inside.set()
    go.wait(30)
    return plain(size)
opened.alloc = slow
thread = threading.Thread(target=lambda: px.ones(4, device=device))
thread.start()
inside.wait(30)
opened.alloc = plain
def work():
    px.empty_cache()
    device.close()
    print("open:", device.is_open)
in_child(work)
go.set()
thread.join()
""",
        )
        assert "open: False" in out or "clear error" in out

    def test_child_with_the_streams_of_the_parent(self, device: str) -> None:
        out = run(
            device,
            """
def work():
    with stream:
        z = x + 1
    stream.synchronize()
    assert px.asnumpy(z)[0] == 1.0
    px.Stream().close()
    print("correct work")
code = in_child(work)
assert code in (0, 7), code
assert float(px.sum(y)) > 1.5
""",
        )
        assert "correct work" in out or "clear error" in out

    def test_child_may_free_and_collect(self, device: str) -> None:
        run(
            device,
            """
px.synchronize()
def work():
    global x, y, stream
    del x, y
    stream = None
    gc.collect()
assert in_child(work) == 0
assert float(px.sum(x)) == 499500.0
""",
        )

    def test_child_exits_as_a_program_does(self, device: str) -> None:
        out = run(
            device,
            """
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    sys.exit(5)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status))
""",
        )
        assert out.strip() == "5"

    def test_fork_while_others_allocate(self, device: str) -> None:
        """A lock that another thread held at the fork would hang the child for ever."""
        run(
            device,
            """
px.synchronize()
stop = threading.Event()
def churn():
    with px.device(device):
        while not stop.is_set():
            px.empty(100)
threads = [threading.Thread(target=churn) for _ in range(3)]
for t in threads: t.start()
def work():
    for _ in range(100):
        px.empty(100)
codes = {in_child(work) for _ in range(8)}
stop.set()
for t in threads: t.join()
assert codes == {0}, codes
""",
        )

    def test_fork_before_first_use(self, device: str) -> None:
        """A device that the parent never opened works in the child."""
        other = device.replace(":0", ":1") if not device.startswith("cpu") else device
        out = run(
            "fake:0",
            f"""
def work():
    with px.device("{other}" if "{other}".startswith("fakehost") else "fake:1"):
        assert px.asnumpy(px.ones(3) + 1).tolist() == [2.0] * 3
    print("correct work")
assert in_child(work) == 0
""",
        )
        assert "correct work" in out


@pytest.mark.parametrize("device", DEVICES)
class TestExit:
    def test_with_work_in_flight(self, device: str) -> None:
        run(
            device,
            """
big = px.ones(200_000)
for _ in range(20):
    with stream:
        big = px.sqrt(big + 1)
    z = big * 2
""",
            delay=0.01,
        )

    def test_from_another_thread_with_work_in_flight(self, device: str) -> None:
        run(
            device,
            """
def work():
    with px.device(device), px.Stream() as s:
        for _ in range(50):
            px.sum(x * 2)
t = threading.Thread(target=work, daemon=True)
t.start()
time.sleep(0.02)
""",
            delay=0.005,
        )

    def test_with_live_events_streams_and_cycles(self, device: str) -> None:
        run(
            device,
            """
class Node: pass
node = Node()
node.me, node.array, node.stream, node.event = node, x, stream, stream.record()
sys.modules["keeps"] = node
""",
        )

    def test_memory_freed_at_exit(self, device: str) -> None:
        out = run(
            device,
            """
import atexit
def last():
    global x, y
    del x, y
    print(float(px.sum(px.ones(4))))
atexit.register(last)
""",
        )
        assert out.strip() == "4.0"

    def test_device_that_is_first_used_at_exit(self, device: str) -> None:
        out = run(
            device,
            """
import atexit
atexit.register(lambda: print(float(px.sum(px.ones(4, device="fake:1")))))
""",
        )
        assert out.strip() == "4.0"
