"""The example plugin in C: what it promises, and each of its faults as a program sees it.

`make examples` installs and certifies the package.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import phalanx as px
import pytest
from phalanx.abi.build import HEADER
from phalanx.device_plugins.native import load_library
from phalanx.driver import Capability, Feature
from phalanx.errors import DeviceLostError, DriverCallError, OutOfMemoryError
from plugin_kit import fresh_host

PACKAGE = Path(__file__).resolve().parents[2] / "examples" / "plugins" / "simchip"
SOURCES = PACKAGE / "src" / "simchip"
#: The chip knows nothing of Phalanx; the kernels and the driver take its public headers.
_INCLUDED = {
    "chip.c": [],
    "kernels.c": ["chip.c", "phalanx.h", "phalanx_kernels.h"],
    "driver.c": ["kernels.c", "phalanx_errors.h"],
}
Open = Callable[..., px.Device]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver, compiled without a warning."""
    out = tmp_path_factory.mktemp("simchip") / "libsimchip.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    flags = ["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-fwrapv", "-ffp-contract=off"]
    command = [compiler, *flags, "-D_GNU_SOURCE", '-DSIMCHIP_VERSION="1.0"', "-shared", "-fPIC"]
    command += [f"-I{HEADER.parent}", str(SOURCES / "driver.c"), "-o", str(out), "-pthread", "-lm"]
    subprocess.run(command, check=True, timeout=120)
    return out


@pytest.fixture
def chip(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens the device with dials such as ``FAIL_COPY=3``; each test has a chip of its own."""
    for name in os.environ:
        if name.startswith("SIMCHIP_"):
            monkeypatch.delenv(name)
    with fresh_host(load_library(shutil.copy(library, tmp_path))):
        device = px.devices("simchip")[0]

        def opened(**dials: str) -> px.Device:
            for name, value in dials.items():
                monkeypatch.setenv(f"SIMCHIP_{name}", value)
            device.ensure_open()
            return device

        yield opened
        with contextlib.suppress(DeviceLostError):
            device.close()


def numbers(device: px.Device, count: int = 100) -> px.Array:
    return px.asarray(np.arange(count, dtype=np.float32), device=device)


def test_it_tells_the_truth(chip: Open) -> None:
    device = chip()
    features = device.info.features
    assert not features & (Feature.FP64 | Feature.SYNCHRONOUS | Feature.HOST_ADDRESSABLE)
    assert device.info.alignment == 256
    assert device.ensure_open().capabilities == Capability.STREAMS | Capability.FAULT_INJECTION
    assert px.zeros(3, device=device).dtype == px.float32


def test_work_goes_on_behind_the_calls(chip: Open) -> None:
    """With a dialled latency the calls are quicker than the work, and waits wait for it."""
    device = chip(LATENCY="5000")
    begin = time.monotonic()
    x = numbers(device)
    px.synchronize(device)
    with px.Stream(device) as stream:
        for _ in range(10):
            x = x + 1
    assert not stream.query()
    with pytest.raises(TimeoutError, match="CHIP_LATE"):
        stream.synchronize(timeout=0.0)
    assert px.asnumpy(x)[0] == 10
    assert time.monotonic() - begin > 0.05


def test_one_allocation_that_fails_is_mended_by_the_pool(chip: Open) -> None:
    x = numbers(chip(FAIL_ALLOC="1"))
    assert px.asnumpy(x + x)[1] == 2


def test_no_memory(chip: Open) -> None:
    """The chip has 256 MiB, in blocks of at most 64."""
    device = chip()
    kept = [px.zeros(1 << 24, dtype=px.float32, device=device) for _ in range(3)]
    with pytest.raises(OutOfMemoryError, match=r"simchip:0 cannot allocate 128\.0 MiB"):
        px.zeros(1 << 25, dtype=px.float32, device=device)
    with pytest.raises(OutOfMemoryError, match=r"simchip:0 cannot allocate 64\.0 MiB"):
        kept += [px.ones(1 << 24, dtype=px.float32, device=device) for _ in range(2)]


def test_a_copy_that_fails(chip: Open) -> None:
    device = chip(FAIL_COPY="2")
    x = numbers(device)
    px.synchronize(device)
    with pytest.raises(DriverCallError, match="the chip stopped in copy, number 2") as caught:
        px.asnumpy(x)
    assert caught.value.name == "CHIP_FAULT"
    assert px.asnumpy(x)[7] == 7  # what was there before the failure is there


def test_a_launch_that_fails_is_named_by_whoever_waits(chip: Open) -> None:
    device = chip(FAIL_LAUNCH="2")
    x = numbers(device)
    px.synchronize(device)
    stream = px.Stream(device)
    with stream:
        y = x + x
        z = y * y
    with pytest.raises(DriverCallError, match="the chip stopped in multiply, number 2"):
        stream.synchronize()
    stream.synchronize()  # told once
    del z
    assert px.asnumpy(x)[5] == 5
    assert px.asnumpy(x + x)[5] == 10


def test_a_wait_for_failed_work_fails_too(chip: Open) -> None:
    """Another stream does not compute with what never came, and says why."""
    device = chip(FAIL_LAUNCH="1")
    x = numbers(device)
    px.synchronize(device)
    first, second = px.Stream(device), px.Stream(device)
    with px.hazards("manual"):
        with first:
            y = x + x
        second.wait(first.record())
        with second:
            z = y + y
        for stream in (second, first):
            with pytest.raises(DriverCallError, match="the chip stopped in add, number 1"):
                stream.synchronize()
    del z


def test_a_hang(chip: Open) -> None:
    """A wait with a time limit gives up; the watchdog stops the chip, and all calls say so."""
    device = chip(HANG="2")
    x = numbers(device)
    px.synchronize(device)
    y = x + x
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        px.synchronize(device, timeout=0.05)
    assert time.monotonic() - begin < 1
    with pytest.raises(DeviceLostError, match="does not answer any more"):
        px.asnumpy(y)
    assert time.monotonic() - begin < 4


def test_a_lost_device(chip: Open, caplog: pytest.LogCaptureFixture) -> None:
    device = chip(LOSE="2")
    x = numbers(device)
    px.synchronize(device)
    y = x + x
    for _ in range(2):
        with pytest.raises(DeviceLostError, match=r"\(CHIP_LOST"):
            px.asnumpy(y)
    assert "the chip fell off the bus" in caplog.text


def test_a_fork(chip: Open) -> None:
    """The chip works in the parent only; the child is told so and does not hang."""
    device = chip()
    x = numbers(device)
    px.synchronize(device)
    child = os.fork()
    if child == 0:
        try:
            px.asnumpy(x)
        except DeviceLostError as error:
            os._exit(0 if "the parent's" in str(error) else 2)
        except BaseException:  # noqa: BLE001 - the status tells the parent
            os._exit(3)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert px.asnumpy(x)[3] == 3


def test_memory_of_a_closed_device(chip: Open) -> None:
    """A device that is opened again has nothing of its former life."""
    device = chip()
    x = numbers(device)
    del x
    device.close()
    assert px.asnumpy(numbers(device))[9] == 9


def test_it_takes_public_names() -> None:
    public = re.compile(r"phalanx|phalanx\.(vendor|device_plugins\.native)")
    for node in ast.walk(ast.parse((SOURCES / "__init__.py").read_text("utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [a.name for a in node.names] if isinstance(node, ast.Import) else []
        assert all(n.partition(".")[0] != "phalanx" or public.fullmatch(n) for n in names), names
    for name, wanted in _INCLUDED.items():
        text = (SOURCES / name).read_text("utf-8")
        assert re.findall(r'#include "(.+)"', text) == wanted


def test_it_is_short() -> None:
    """The package's C and Python with comments: chip, kernels, driver and plugin; not its build."""
    texts = [p.read_text("utf-8") for p in (*SOURCES.glob("*.c"), *SOURCES.glob("*.py"))]
    lines = sum(len(text.splitlines()) for text in texts)
    assert 300 < lines <= 600
    assert max(len(line) for text in texts for line in text.splitlines()) <= 120
