"""Launches that come again on OpenCL: ``device_plugins/opencl/_prepared.pyx``."""

from __future__ import annotations

import sys
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.device_plugins.opencl import device as opencl_device
from phalanx.device_plugins.opencl._prepared import Runtime
from phalanx.device_plugins.opencl.device import OpenCLDevice
from phalanx.vendor import PreparedLaunch


def _numbers(count: int, device: px.Device, seed: int = 0) -> tuple[Any, px.Array]:
    host = np.random.default_rng(seed).integers(-99, 99, count).astype(np.float32)
    return host, px.asarray(host, device=device)


def test_launches_are_noted_with_what_they_are(device: px.Device) -> None:
    """The message of a failure names the launch."""
    _, x = _numbers(33, device)
    queue = device.ensure_open().queue
    for _ in range(4):
        queue.finish(None)
        x * x
        assert queue.recent[-1][1].op == "multiply"
    event = queue.recent[-1][0]
    queue.finish(None)
    assert event.command_execution_status == 0
    assert queue.is_idle()


def _prepared(own: OpenCLDevice, device: px.Device) -> PreparedLaunch:
    kernel = own.kernel("add", ("float32",) * 3, px.Layout.CONTIGUOUS)
    assert isinstance(kernel, px.Kernel)
    _, x = _numbers(8, device)
    found = own.prepare(kernel, [x, x], [x], (), stream=device.default_stream)
    assert found is not None
    return found


def test_a_closed_device_launches_nothing(own: OpenCLDevice, device: px.Device) -> None:
    prepared = _prepared(own, device)
    own.close()
    with pytest.raises(px.ClosedError):
        prepared(bytes(48), device.default_stream)


def test_a_refused_launch_is_told(own: OpenCLDevice, device: px.Device) -> None:
    """With the runtime's code, the op and its dtypes."""
    prepared = _prepared(own, device)
    handle = own.alloc(64)
    places = np.asarray([handle, 0] * 3, np.uint64).tobytes()
    own.queue.raw = SimpleNamespace(int_ptr=0)
    with pytest.raises(px.DeviceLostError, match=r"add\(float32, float32, float32\)") as got:
        prepared(places, device.default_stream)
    assert "CL_INVALID_COMMAND_QUEUE" in str(got.value)
    with pytest.raises(px.DeviceLostError, match="was lost before"):
        prepared(places, device.default_stream)
    own.free(handle)


def test_without_the_functions_of_the_runtime_nothing_is_prepared(
    device: px.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where pyopencl does not show them, launches go their ordinary way."""
    monkeypatch.setattr(opencl_device, "_runtime", lambda cl: None)
    host, x = _numbers(77, device)
    for _ in range(4):
        assert (px.asnumpy(x - x * 2) == -host).all()


def test_runtime_of_another_library() -> None:
    with pytest.raises((AttributeError, OSError)):
        Runtime(sys.executable)
    with pytest.raises(OSError, match="nowhere"):
        Runtime("/nowhere/lib.so")


def test_threads_on_one_stream_and_on_their_own(device: px.Device) -> None:
    """One prepared launch in eight threads: places of one are never another's."""
    wrong: list[str] = []
    shared = px.Stream(device)

    def work(number: int) -> None:
        host, x = _numbers(501, device, number)
        stream = shared if number % 2 else px.Stream(device)
        with stream:
            for _ in range(60):
                y = px.sum(x * x, keepdims=True) + x
                if (px.asnumpy(y) != (host * host).sum() + host).any():
                    wrong.append(f"thread {number}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not wrong
    assert shared.query() is not None


def test_indices_out_of_range_are_told_each_time(device: px.Device) -> None:
    """The check behind a prepared launch is that launch's."""
    _, x = _numbers(10, device)
    good, bad = (px.asarray(i, dtype=px.int64, device=device) for i in ([1, 2, 3], [1, 2, 30]))
    for indices in (good, good, good, bad, good, bad):
        taken = px.take(x, indices)
        if indices is bad:
            with pytest.raises(IndexError, match="index 30 at place 2"):
                px.asnumpy(taken)
        else:
            assert px.asnumpy(taken).shape == (3,)
