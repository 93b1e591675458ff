"""``abi-check --run``: what a library does, in child processes, and faulty ones of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from phalanx.abi.judge import judge
from phalanx.abi.trials import TRIALS, run_trial
from phalanx.device_plugins.cpu import best_library
from plugin_kit import build_acme

Judge = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    folder = tmp_path_factory.mktemp("judged")

    def get(*defines: str, trials: Iterable[str] = TRIALS, limit: float = 30.0) -> dict[str, Any]:
        return judge(build_acme(folder, *defines), tuple(trials), limit=limit)

    return get


def lines(found: dict[str, Any]) -> list[str]:
    return [f"{p['file']}: {p['field']}: {p['detail']}" for p in found["problems"]]


def test_the_cpu_passes_every_trial() -> None:
    found = judge(best_library().path, tuple(TRIALS), limit=60)
    assert lines(found) == []
    assert found["trials"] == {"cpu:0": dict.fromkeys(TRIALS, "ok")}


def test_what_cannot_be_tried_is_told(judged: Judge) -> None:
    found = judged()
    assert lines(found) == []
    trials = found["trials"]["acme:0"]
    assert trials["streams"] == "there are no streams"
    assert trials["failures"] == "no command fails on demand"
    assert "no kernel for copy" in trials["fill"]
    assert {trials[name] for name in ("alloc", "copy", "launch", "threads")} == {"ok"}


def test_a_rich_library_passes(judged: Judge) -> None:
    trials = ("launch", "streams", "failures")
    found = judged("RICH", trials=trials)
    assert lines(found) == []
    assert found["trials"]["acme:0"] == dict.fromkeys(trials, "ok")


@pytest.mark.parametrize(
    ("defines", "trial", "problem"),
    [
        ("FAULT_MEMORY_INFO", "alloc", "memory_info: 67108864 of 6"),
        ("FAULT_ALLOC_NULL", "alloc", "alloc: 1 bytes: no handle and no error"),
        ("FAULT_ALLOC_SAME", "alloc", "alloc: two living blocks overlap"),
        ("FAULT_ALLOC_UNALIGNED", "alloc", "not aligned to 64"),
        ("FAULT_ALLOC_HUGE", "alloc", "alloc: 2^62 bytes: it succeeds"),
        ("FAULT_ALLOC_CODE", "alloc", "alloc: 2^62 bytes: not PHX_OUT_OF_MEMORY"),
        ("FAULT_COPY_OFFSET", "copy", "copy: 4099 bytes to the device and back are not the same"),
        ("FAULT_COPY_LONG", "copy", "copy: a copy of 4099 bytes writes beside its destination"),
        ("FAULT_COPY_LARGE", "copy", "copy: 1048577 bytes to the device and back are not"),
        ("FAULT_COPY_THREADS", "threads", "bytes to the device and back are not the same"),
        ("FAULT_SUM", "launch", "add(float32, float32, float32) any of shape (4099,) has wrong"),
        ("FAULT_LAUNCH_ERROR", "launch", "launch: multiply(float32, float32, float32) on acme:0"),
        ("FAULT_SCALAR", "fill", "copy(float32) of a scalar into 1 elements is wrong"),
        ("RICH FAULT_STREAM_NULL", "streams", "stream_create gives no phx_stream and no error"),
        ("RICH FAULT_FAILURE_UNTOLD", "failures", "no wait tells the failure"),
        ("RICH FAULT_FAILURE_GOES_ON", "failures", "a copy behind the failure is done"),
        ("RICH FAULT_STREAM_BUSY", "streams", "a stream that was waited for is not idle"),
    ],
)
def test_a_wrong_call(tmp_path: Path, defines: str, trial: str, problem: str) -> None:
    """Without the child process: these faults harm nobody."""
    path = build_acme(tmp_path, *defines.split())
    found = run_trial(str(path), 0, trial, lambda _: None)["problems"]
    assert any(problem in str(line) for line in found), found


@pytest.mark.parametrize(
    ("defines", "trial", "problem"),
    [
        ("FAULT_FREE_CRASH", "alloc", "crashed with SIGABRT at free of 1 bytes"),
        ("FAULT_COPY_CRASH", "copy", "crashed with SIGSEGV at copy of 1 bytes from the host"),
        ("FAULT_LAUNCH_CRASH", "launch", "crashed with SIGABRT at multiply(float32"),
        ("FAULT_COPY_HANG", "copy", "no answer within 3 s at copy of 1 bytes from the host"),
        ("RICH FAULT_WAIT_HANG", "streams", "no answer within 3 s at event_synchronize"),
    ],
)
def test_a_call_that_crashes_or_hangs(
    judged: Judge, defines: str, trial: str, problem: str
) -> None:
    limit = 3.0 if "HANG" in defines else 30.0
    found = judged(*defines.split(), trials=(trial,), limit=limit)
    if limit == 3.0 and "at start" in str(found["problems"]):
        pytest.skip("the machine is too busy for a limit of three seconds")
    (line,) = lines(found)
    file = f"lib{'_'.join(['acme', *defines.lower().split()])}.so"
    assert line.startswith(f"{file}: {trial}: {problem}")
    assert found["trials"]["acme:0"] == {trial: "fail"}


@pytest.mark.parametrize(
    ("define", "problem"),
    [
        ("FAULT_NULL_DEVICE", "device_open: acme:0: it gives no device and no error"),
        ("FAULT_OPEN_CRASH", "device_open of acme:0: crashed with SIGABRT"),
        ("FAULT_CLOSE_HANG", "device_close of acme:0: no answer within 3 s"),
        ("FAULT_NO_DESTROY", "phx_error.destroy: device_info(4294967295) returns an error where"),
        ("FAULT_ERROR_CODE", "phx_error.code: device_info(4294967295) returns an error with 4711"),
        ("FAULT_NO_MESSAGE", "phx_error.message: device_info(4294967295) returns an error without"),
        ("FAULT_NAME", "phx_plugin_info.name: its name is 'Acme GPU'"),
        ("FAULT_OUR_NAME", "phx_plugin_info.name: 'cpu' is the name of a driver of Phalanx"),
    ],
)
def test_a_fault_that_shows_without_a_run(judged: Judge, define: str, problem: str) -> None:
    found = judged(define, limit=3.0 if "HANG" in define else 30.0)
    assert any(problem in line for line in lines(found)), lines(found)
    assert "trials" not in found  # nothing is tried on what is known to be broken


def test_rows_of_a_newer_plugin_are_listed(judged: Judge) -> None:
    found = judged("NEWER_MINOR", "NEWER_ROWS", trials=())
    assert lines(found) == []
    (device,) = found["devices"]
    assert device["kernels"] == 4
    assert [row.partition("(")[0] for row in device["unknown_kernels"]] == [
        "shuffle_bits",
        *("sign", "exp", "abs", "abs"),
    ]
    assert any("8 more bytes, unknown capability bits 0x0" in note for note in found["notes"])
