"""Copies by several threads: every byte, whatever the threads of the process are doing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from phalanx.runtime import host_copy
from phalanx.runtime.host_copy import copy_bytes

_PART = 1 << 20


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with many cores."""
    monkeypatch.setattr(host_copy, "_threads", lambda: 4)


def arrives(size: int, skew: int = 0) -> bool:
    """Whether ``size`` bytes arrive, and none beside them is touched."""
    source = np.random.default_rng(size).integers(0, 255, size + 64, np.uint8)
    target = np.full(size + 64, 77, np.uint8)
    copy_bytes(target.ctypes.data + skew, source.ctypes.data + skew, size)
    want = np.full(size + 64, 77, np.uint8)
    want[skew : skew + size] = source[skew : skew + size]
    return bool(np.array_equal(target, want))


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("skew", [0, 3])
@pytest.mark.parametrize(
    "size", [0, 1, 2 * _PART - 1, 2 * _PART, 3 * _PART + 1, 4 * _PART, 9 * _PART + 5]
)
def test_every_byte_arrives(size: int, skew: int) -> None:
    assert arrives(size, skew)


@pytest.mark.usefixtures("four_threads")
def test_from_many_threads() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        wrong.extend(turn for turn in range(10) if not arrives(3 * _PART + number))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.usefixtures("four_threads")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_after_a_fork() -> None:
    assert arrives(4 * _PART)
    child = os.fork()
    if child == 0:
        os._exit(0 if arrives(4 * _PART) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_while_the_interpreter_ends() -> None:
    program = """
import atexit, ctypes
from phalanx.runtime import host_copy
host_copy._threads = lambda: 4
size = 4 << 20
source, target = (ctypes.create_string_buffer(size) for _ in range(2))
source[size - 1] = b"x"
def copy():
    ends = map(ctypes.addressof, (target, source))
    host_copy.copy_bytes(*ends, size)
    print(target[size - 1])
atexit.register(copy)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("b'x'", "")
