"""What a process leaves when it dies or hangs in a case."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from phalanx.conformance.watch import Watch, how_it_ended
from plugin_kit import run_python

PROGRAM = """
import ctypes, os, sys, threading, time
from phalanx.conformance.watch import Watch

watch = Watch(0.5, sys.argv[1])
watch.begin()

def stuck_in_native_code():
    ctypes.PyDLL(None).sleep(60)  # holds the interpreter's lock

def dies():
    ctypes.string_at(0)

def exits():
    os._exit(0)

def ends_in_time():
    watch.end()
    time.sleep(1)

globals()[sys.argv[2]]()
"""


@pytest.mark.parametrize(
    ("what", "words", "code"),
    [
        ("stuck_in_native_code", "the case did not end within 0.5 s, and its process was", -14),
        ("dies", "the process died in this case (Segmentation fault)", -11),
        ("exits", "the process ended in this case without a word", 0),
        ("ends_in_time", "the process ended in this case without a word", 0),
    ],
)
def test_how_a_process_ended(tmp_path: Path, what: str, words: str, code: int) -> None:
    program, trace = tmp_path / "program.py", tmp_path / "trace"
    program.write_text(PROGRAM)
    assert run_python(str(program), str(trace), what).returncode == code
    found, stacks = how_it_ended(trace, 0.5)
    assert found.startswith(words)
    assert (f"in {what}" in stacks) is (code != 0)


def test_no_trace_is_no_error(tmp_path: Path) -> None:
    without_a_word = "the process ended in this case without a word"
    assert how_it_ended(tmp_path / "none", 1.0) == (without_a_word, "")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (127, "(exit status 127)"),
        (-15, "(SIGTERM)"),
        (-9, "(SIGKILL, as the system does when memory runs out)"),
        (-99, "(signal 99)"),
    ],
)
def test_how_it_ended_without_a_word(tmp_path: Path, code: int, words: str) -> None:
    assert how_it_ended(tmp_path / "none", 1.0, code)[0].endswith(f"without a word {words}")


def test_the_timer_of_others_goes_on_without_a_limit() -> None:
    watch = Watch(0.0)
    former = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        signal.setitimer(signal.ITIMER_REAL, 60)
        watch.begin()
        watch.end()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
