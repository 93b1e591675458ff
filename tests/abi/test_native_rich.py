"""The optional calls of the ABI: kernels on demand, memory of the host, a device in every call."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.device_plugins.native import load_library
from phalanx.discovery.devices import find_device
from phalanx.discovery.diagnosis import why
from phalanx.driver import Layout
from phalanx.errors import PluginLoadError, UnsupportedOpError
from plugin_kit import build_acme, fresh_host

F32 = ("float32",)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_acme(tmp_path_factory.mktemp("rich"), "RICH")


@pytest.fixture
def device(path: Path) -> Iterator[px.Device]:
    with fresh_host(load_library(path)):
        found = find_device("acme:0")
        with px.device(found):
            yield found


def native(path: Path, name: str) -> int:
    import cffi

    own = cffi.FFI()
    own.cdef(f"int32_t {name}(void);")
    return int(getattr(own.dlopen(str(path)), name)())


def test_a_kernel_is_found_on_demand_and_knows_its_device(device: px.Device) -> None:
    """``run_subtract`` refuses a launch without a device, or on a null stream."""
    x = px.asarray([[5.0, 7.0, 9.0]], dtype=px.float32)
    assert px.asnumpy(x - px.asarray([1.0], dtype=px.float32)).tolist() == [[4, 6, 8]]
    assert px.asnumpy(x.T - x).tolist() == (np.asarray([[5], [7], [9]]) - [[5, 7, 9]]).tolist()
    with px.Stream(device) as stream:
        y = x - x
    stream.synchronize()
    assert px.asnumpy(y).tolist() == [[0, 0, 0]]
    assert "subtract" in {kernel.op for kernel in px.kernels(device=device)}


def test_the_answer_is_kept(device: px.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Any = device.ensure_open()
    first = opened.kernel("subtract", F32 * 3, Layout.ANY)
    monkeypatch.setitem(opened._library.functions, "kernel_find", None)
    assert opened.kernel("subtract", F32 * 3, Layout.ANY) is first


def test_the_library_says_why_not(device: px.Device) -> None:
    x = px.asarray([1.0], dtype=px.float32)
    with pytest.raises(UnsupportedOpError, match=r"the Acme compiler knows no loops yet"):
        px.exp(x)
    with pytest.raises(UnsupportedOpError, match=r"acme subtracts float32 only"):
        px.subtract(px.asarray([1], dtype=px.int32), px.asarray([1], dtype=px.int32))


def test_kernels_are_compiled_ahead(device: px.Device) -> None:
    opened = device.ensure_open()
    subtract = opened.kernel("subtract", F32 * 3, Layout.ANY)
    counts = [opened.compile_ahead(subtract) for _ in range(2)]
    assert sum(counts, ()) in ((1, 0, 0, 1), (0, 1, 0, 1))  # one process compiles once
    assert opened.compile_ahead(opened.kernel("add", F32 * 3, Layout.ANY)) == (0, 0)


def test_memory_of_the_host_is_used_in_place(device: px.Device, path: Path) -> None:
    before = native(path, "acme_adopted")
    host = np.arange(12, dtype=np.float32)
    x = px.asarray(host, copy=False)
    assert native(path, "acme_adopted") == before + 1
    host[3] = 100
    assert px.asnumpy(x - x[:1])[3] == 100
    assert device.ensure_open().host_address(x.buffer.handle) == x.buffer.handle
    del x
    gc.collect()
    assert native(path, "acme_adopted") == before


def test_two_arrays_over_one_handle_keep_both_owners(device: px.Device) -> None:
    opened: Any = device.ensure_open()
    host = np.zeros(64, dtype=np.uint8)
    address = host.ctypes.data + (-host.ctypes.data % 64)
    places = [opened.adopt_host(address + at, 4, host) for at in (0, 4)]
    assert [place.offset for place in places] == [0, 4]
    opened.release_host(places[0].handle)
    assert opened._adopted == {places[0].handle: [host]}
    opened.release_host(places[1].handle)
    assert not opened._adopted


def test_why_tells_that_kernels_are_compiled(device: px.Device) -> None:
    found = why(device)
    assert found.usable
    assert "compiled at first use" in found.steps[-1].detail


def test_a_found_row_is_checked(tmp_path: Path) -> None:
    driver = load_library(build_acme(tmp_path, "RICH", "FAULT_FOUND"))
    opened = driver.open(0)
    with pytest.raises(PluginLoadError, match=r"kernel_find on acme:0.*'subtractt'; did you mean"):
        opened.kernel("subtract", F32 * 3, Layout.ANY)
    opened.close()


def test_a_library_without_these_calls(tmp_path: Path) -> None:
    opened = load_library(build_acme(tmp_path)).open(0)
    assert opened.adopt_host(64, 1, None) is None
    assert opened.host_address(64) is None
    assert opened.compile_ahead(opened.kernel("add", F32 * 3, Layout.ANY)) is None
    assert opened.kernel("subtract", F32 * 3, Layout.ANY) == px.Refusal()
    opened.close()
