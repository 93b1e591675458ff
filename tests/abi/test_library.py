"""The services of the host: a plugin may log from any thread, whatever locks it holds."""

from __future__ import annotations

import ctypes
import logging
import os
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from phalanx._warm import deliver_log
from phalanx.abi import library
from phalanx.abi.build import HEADER
from phalanx.abi.structs import ffi
from plugin_kit import ACME, run_python

LOGGER = "phalanx.talker"
PROLOGUE = """
import ctypes, faulthandler, logging, os, signal, sys, threading, time
faulthandler.dump_traceback_later(60, exit=True)  # a hang is a failure that shows where
from phalanx.abi import library
from phalanx._warm import deliver_log
from phalanx.abi.structs import ffi
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append(record.getMessage())
logging.getLogger().addHandler(Keep())
logging.getLogger().setLevel(logging.DEBUG)
table = library._host_table("talker")
talker = ctypes.CDLL(sys.argv[1])  # releases the interpreter's lock
holding = ctypes.PyDLL(sys.argv[1])  # holds it
talker.talker_use(ctypes.c_void_p(int(ffi().cast("uintptr_t", table))))
def say(text):
    talker.talker_say(20, text.encode(), ctypes.c_uint64(len(text)))
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("talker") / "libtalker.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    source = ACME.with_name("talker.c")
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-O1", "-pthread"]
    command = [compiler, *flags, f"-I{HEADER.parent}", str(source), "-o", str(out)]
    subprocess.run(command, check=True, timeout=120)
    return out


@pytest.fixture
def talker(path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Any]:
    found = ctypes.CDLL(str(path))
    table = library._host_table("talker")
    found.talker_use(ctypes.c_void_p(int(ffi().cast("uintptr_t", table))))
    with caplog.at_level(logging.DEBUG, LOGGER):
        yield found


def run(path: Path, code: str, *, begin: str = "") -> str:
    """Run a program with the talker in a fresh interpreter; return what it printed."""
    done = run_python("-W", "ignore::DeprecationWarning", "-c", begin + PROLOGUE + code, str(path))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def say(talker: Any, level: int, text: bytes) -> None:
    talker.talker_say(level, text, ctypes.c_uint64(len(text)))


class TestLog:
    def test_order_level_and_logger(self, talker: Any, caplog: pytest.LogCaptureFixture) -> None:
        for i, level in enumerate((10, 20, 30, 40, 50)):
            say(talker, level, b"number %d" % i)
        deliver_log()
        got = [(r.name, r.levelno, r.getMessage()) for r in caplog.records]
        assert got == [(LOGGER, 10 * (i + 1), f"number {i}") for i in range(5)]

    @pytest.mark.parametrize(("level", "logged"), [(99, 50), (2**31 - 1, 50), (15, 15)])
    def test_levels_are_those_of_logging(
        self, talker: Any, level: int, logged: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        say(talker, level, b"x")
        deliver_log()
        assert [r.levelno for r in caplog.records] == [logged]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("größer 🦾".encode(), "größer 🦾"),
            (b"bad \xff end", "bad � end"),
            (b"%s %d", "%s %d"),
            (b"a\0b", "a\0b"),
            (b"", ""),
            (b"x" * 100_000, "x" * 65_536),
        ],
    )
    def test_text(
        self, talker: Any, text: bytes, message: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        say(talker, 20, text)
        deliver_log()
        assert [r.getMessage() for r in caplog.records] == [message]

    def test_a_length_that_cannot_be(self, talker: Any, caplog: pytest.LogCaptureFixture) -> None:
        talker.talker_say(20, b"x", ctypes.c_uint64(2**62))
        deliver_log()
        assert [r.getMessage() for r in caplog.records] == [
            "a message with a wrong length, which was not read"
        ]

    def test_no_text(self, talker: Any, caplog: pytest.LogCaptureFixture) -> None:
        talker.talker_say(20, None, ctypes.c_uint64(7))
        deliver_log()
        assert [r.getMessage() for r in caplog.records] == [""]

    def test_comes_by_itself(self, talker: Any, caplog: pytest.LogCaptureFixture) -> None:
        """The main thread fetches messages between two steps of any Python code."""
        talker.talker_crowd(1, 3)
        deadline = time.monotonic() + 60
        while len(caplog.records) < 3:
            assert time.monotonic() < deadline, "nobody fetched the messages"
        assert [r.getMessage() for r in caplog.records] == ["0 0", "0 1", "0 2"]

    def test_none_is_lost_of_many_threads(
        self, talker: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        talker.talker_crowd(8, 2000)
        deliver_log()
        got = [tuple(map(int, r.getMessage().split())) for r in caplog.records]
        assert sorted(got) == [(n, i) for n in range(8) for i in range(2000)]
        for n in range(8):
            assert [i for thread, i in got if thread == n] == list(range(2000))

    def test_a_flood_is_bounded_and_told(
        self, talker: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Called without a step of Python between: nothing can be fetched meanwhile."""
        monkeypatch.setattr(logging.getLogger(LOGGER), "disabled", True)
        talker.talker_flood(1500)
        deliver_log()
        (record,) = [r for r in caplog.records if "were lost" in r.getMessage()]
        assert (record.name, record.levelno) == ("phalanx.plugins", logging.WARNING)
        assert 0 < int(record.getMessage().split()[0]) < 1500
        monkeypatch.undo()
        say(talker, 40, b"after it")
        deliver_log()
        assert caplog.records[-1].getMessage() == "after it"

    def test_a_handler_that_logs_through_a_plugin(self, path: Path) -> None:
        out = run(
            path,
            """
class Echo(logging.Handler):
    def emit(self, record):
        if record.getMessage() == "first":
            say("second")
            deliver_log()
            deliver_log()
logging.getLogger().handlers.insert(0, Echo())
say("first")
deliver_log()
deliver_log()
print(records)
""",
        )
        assert out.strip() == "['first', 'second']"

    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_a_handler_that_raises_spoils_no_call(
        self, talker: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(record: logging.LogRecord) -> bool:
            if record.getMessage() == "bad":
                raise ZeroDivisionError
            return True

        logger = logging.getLogger(LOGGER)
        logger.addFilter(refuse)
        try:
            for text in (b"one", b"bad", b"two"):
                say(talker, 20, text)
            deliver_log()
        finally:
            logger.removeFilter(refuse)
        assert [r.getMessage() for r in caplog.records] == ["one", "two"]

    def test_from_a_thread_whose_lock_a_kernel_needs(self, path: Path) -> None:
        """Small kernels are called with the interpreter's lock held, so log must not want it."""
        out = run(
            path,
            """
for _ in range(20):
    holding.talker_start()
    holding.talker_run()
deliver_log()
print(len(records), set(records))
""",
        )
        assert out.strip() == "2000 {'the worker has the lock'}"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    def test_a_forked_child_does_not_say_it_again(self, path: Path) -> None:
        out = run(
            path,
            """
threads = [threading.Thread(target=talker.talker_crowd, args=(4, 20_000)) for _ in range(2)]
for t in threads: t.start()
codes = []
for _ in range(10):
    holding.talker_say(20, b"parent", ctypes.c_uint64(6)); pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        records.clear()
        say("child")
        deliver_log()
        os._exit(7 if records == ["child"] else 8)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
for t in threads: t.join()
deliver_log()
print(set(codes), len(records))
""",
        )
        assert out.strip() == f"{{7}} {10 + 2 * 4 * 20_000}"

    @pytest.mark.parametrize("registered", ["before", "after"])
    def test_at_exit(self, path: Path, registered: str) -> None:
        """Functions of atexit may log, and threads that go on logging do not hurt the end."""
        function = """
import atexit
@atexit.register
def last():
    say("last")
    deliver_log()
    print("last" in records)
"""
        begin, end = (function, "") if registered == "before" else ("", function)
        crowd = "threading.Thread(target=talker.talker_crowd, args=(4, 100_000), daemon=True)"
        assert run(path, f"{end}\n{crowd}.start()\n", begin=begin) == "True\n"


def test_the_clock_is_monotonic(talker: Any) -> None:
    talker.talker_clock.restype = ctypes.c_uint64
    before = time.monotonic_ns()
    between = talker.talker_clock()
    assert before <= between <= time.monotonic_ns()
