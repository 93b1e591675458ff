"""DLPack in both directions: protocol, ownership, devices, copies."""

from __future__ import annotations

import gc
import os
import time
import warnings
import weakref
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy
from phalanx.conformance.layouts import HostArray

_HOST = (1, 0)
_DTYPES = ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "complex64")


def test_device_of_array(case: Case) -> None:
    """``__dlpack_device__`` is what the device says of itself."""
    kind, number = px.ones(3, dtype=px.float32).__dlpack_device__()
    assert (int(kind), int(number)) == case.device.info.dlpack_device


@pytest.mark.parametrize("dtype", _DTYPES)
def test_from_host(case: Case, dtype: str) -> None:
    """A host array comes in through ``from_dlpack`` with its values."""
    if not case.moves(dtype):
        pytest.skip(f"the device has no {dtype}")
    source = np.arange(24).reshape(4, 6).astype(dtype)
    for view in (source, source.T, source[::2], source[:, 1:4]):
        x = px.from_dlpack(view, device=case.device, copy=True)
        assert x.device is case.device
        assert np.array_equal(px.asnumpy(x), view), f"{dtype}, strides {view.strides}"


@pytest.mark.parametrize("dtype", _DTYPES)
def test_to_host(case: Case, dtype: str) -> None:
    """An array goes out to NumPy as a copy on the host."""
    if not case.moves(dtype):
        pytest.skip(f"the device has no {dtype}")
    source = np.arange(24).reshape(4, 6).astype(dtype)
    x = px.asarray(source)
    for array, want in ((x, source), (x.T, source.T), (x[::2, 1:], source[::2, 1:])):
        found = _on_host(array)
        assert np.array_equal(found, want), f"{dtype}, strides {array.strides}"


def _on_host(array: px.Array) -> HostArray:
    taker: Any = _OnHost(array)
    return np.asarray(np.from_dlpack(taker))


class _OnHost:
    """Asks an array for a copy on the host, as a consumer on the host does."""

    def __init__(self, array: px.Array) -> None:
        self._array = array

    def __dlpack_device__(self) -> tuple[int, int]:
        return _HOST

    def __dlpack__(self, **options: object) -> object:
        return self._array.__dlpack__(max_version=(1, 0), dl_device=_HOST, copy=True)


def test_own_round_trip(case: Case) -> None:
    """An array taken in by the device that it lies on shares its memory."""
    x = px.arange(20, dtype=px.int32)
    y = px.from_dlpack(x)
    assert y.device is case.device
    x += 1
    assert px.asnumpy(y).tolist() == list(range(1, 21))


def test_copy_is_apart(case: Case) -> None:
    """``copy=True`` gives memory of its own."""
    x = px.arange(20, dtype=px.int32)
    y = px.from_dlpack(x, copy=True)
    x += 1
    assert px.asnumpy(y).tolist() == list(range(20))


def test_owner_lives(case: Case) -> None:
    """Memory that came in through DLPack lives as long as an array uses it."""
    arrays = []
    for number in range(30):
        source = np.full(4096, number, np.int32)
        arrays.append(px.from_dlpack(source, device=case.device))
        del source
    gc.collect()
    for number, x in enumerate(arrays):
        assert (px.asnumpy(x + 1) == number + 1).all(), f"array {number} lost its memory"


def test_exported_memory_lives(case: Case) -> None:
    """Memory that went out lives after the array is gone."""
    x = px.arange(5000, dtype=px.int32)
    out = _on_host(x)
    del x
    gc.collect()
    px.full(5000, -1, dtype=px.int32)
    assert np.array_equal(out, np.arange(5000))


def test_pending_work_is_waited_for(case: Case) -> None:
    """What goes out is complete."""
    x = px.zeros(1 << 18, dtype=px.float32)
    for _ in range(30):
        x = x + 1.0
    assert (_on_host(x) == 30.0).all()


#: Of which the last one is borrowed: more than numbers of few bits tell apart.
_STREAMS = 40


def test_a_borrowed_stream_waits(case: Case) -> None:
    """A consumer's stream, which it names by its number, waits for the work on the array."""
    opened, device = case.device.ensure_open(), case.device
    streams = [px.Stream(device) for _ in range(_STREAMS)]
    consumer = streams[-1]
    number = opened.stream_number(consumer.handle)
    if number is None:
        pytest.skip("streams of the device have no numbers")
    producer = busy(case, 0.2)
    with producer:
        x = px.zeros(1000, dtype=px.float32) + 1
        x.__dlpack__(stream=number, max_version=(1, 0))
        made = producer.record()
    seen = consumer.record()
    while not made.query():
        early = seen.query() and not made.query()
        assert not early, "the consumer's stream did not wait for the array"
        time.sleep(1e-3)
    seen.synchronize()


def test_unused_capsules(case: Case) -> None:
    """Capsules that nobody takes free what they hold."""
    x = px.ones(10_000, dtype=px.float32)
    before = px.memory_stats(case.device)["requested"]
    for _ in range(100):
        x.__dlpack__(max_version=(1, 0))
    gc.collect()
    case.device.synchronize()
    assert px.memory_stats(case.device)["requested"] <= before


@pytest.mark.parametrize("count", [1, 4096, (1 << 20) + 3], ids=str)
def test_no_copy_is_honest(case: Case, count: int) -> None:
    """``copy=False`` shares memory, or refuses with BufferError or ValueError."""
    source = np.arange(count, dtype=np.int32)
    try:
        x = px.from_dlpack(source, device=case.device, copy=False)
    except (BufferError, ValueError):
        return
    source[-1] = -5
    assert int(px.asnumpy(x)[-1]) == -5, "copy=False made a copy"
    x += 1
    case.device.synchronize()
    assert int(source[-1]) == -4, "what was written to the array is not in its source"


def test_owners_are_let_go(case: Case) -> None:
    """Host memory that was used in place is nobody's any more when the last array on it is gone."""
    host = np.arange(100_000, dtype=np.float32)
    owner = weakref.ref(host)
    try:
        x = px.asarray(host, copy=False)
    except (BufferError, ValueError):
        pytest.skip("the device does not use memory of the host")
    y = x + 1
    px.synchronize(case.device)
    del x, y, host
    gc.collect()
    px.synchronize(case.device)
    assert owner() is None, "an array of the host is kept"


def _in_place(case: Case, source: HostArray) -> px.Array:
    """Return an array on memory of the host; skip where the device does not use that."""
    try:
        return px.from_dlpack(source, device=case.device, copy=False)
    except (BufferError, ValueError):
        pytest.skip("the device does not use memory of the host")


def test_two_arrays_of_one_memory(case: Case) -> None:
    """Of two arrays that share memory of the host, each stays when the other one goes."""
    for first in (slice(None), slice(1000)):
        source = np.arange(5000, dtype=np.float32)
        gone, kept = _in_place(case, source[first]), _in_place(case, source[:2000])
        assert (px.asnumpy(gone + 1.0) == source[first] + 1).all()
        del gone
        gc.collect()
        px.synchronize(case.device)  # whoever lets go of memory may do so behind the work on it
        source[7] = -3
        assert (px.asnumpy(kept + 1.0) == source[:2000] + 1).all(), "an array lost its memory"


@pytest.mark.parametrize("count", [100, 5000, (1 << 18) + 5], ids=str)
def test_memory_that_is_shared_again(case: Case, count: int) -> None:
    """Memory of the host that was let go is seen as it is then, when it is shared anew."""
    memory = np.zeros(count, dtype=np.float32)
    for number in range(3):
        memory[:] = np.arange(count, dtype=np.float32) + number
        x = _in_place(case, memory[:])
        assert (px.asnumpy(x + 1.0) == memory + 1).all(), f"time {number}: other contents"
        del x
        gc.collect()
        px.synchronize(case.device)


def test_memory_is_shared_behind_a_fork(case: Case) -> None:
    """What the host writes to shared memory when a child was forked is still seen."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    source = np.arange(5000, dtype=np.float32)
    x = _in_place(case, source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    source[:] = 3
    assert (px.asnumpy(x + 1.0) == 4).all(), "a child that was forked took the memory with it"


@pytest.mark.parametrize("count", [1, 5000, (17 << 18) + 5], ids=str)
def test_memory_that_the_host_sees(case: Case, count: int) -> None:
    """The host sees what is written later on any stream, once that was waited for."""
    x = px.asarray(np.zeros(count, dtype=np.float32))
    px.synchronize(case.device)
    try:
        seen = px.from_dlpack(x, device="cpu:0", copy=False)
    except (BufferError, ValueError, px.DeviceNotFoundError):
        pytest.skip("the host does not see the device's memory")
    for number, stream in enumerate((case.device.default_stream, px.Stream(case.device)), 1):
        with stream:
            x += 2.0
        stream.synchronize()
        assert (px.asnumpy(seen) == 2 * number).all(), "the host sees what was there before"


def test_blocks_are_aligned_for_the_host(case: Case) -> None:
    """The host's address of a block of any size is aligned as the device states."""
    opened = case.device.ensure_open()
    for size in (1, 100, 5000, 70_001):
        handle = opened.alloc(size)
        address = opened.host_address(handle)
        opened.free(handle)
        if address is not None:
            wanted = case.device.info.alignment
            assert address % wanted == 0, f"a block of {size} bytes is not aligned to {wanted}"
