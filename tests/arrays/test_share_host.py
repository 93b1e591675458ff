"""Memory shared between the host and a device without addresses: the calls of the driver for it."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.discovery.plugins import host
from phalanx.driver import Place
from phalanx.testing import ReferenceDevice, ReferenceDriver

#: The driver reaches back to a multiple of this, as devices do.
ALIGNMENT = 64


class Sharing(ReferenceDevice):
    """Opaque handles, also for memory of the host; ``refuses`` makes it say no."""

    def __init__(self, driver: ReferenceDriver, index: int) -> None:
        super().__init__(driver, index)
        self.refuses = False
        self.adopted: dict[int, tuple[int, int, Any]] = {}

    def adopt_host(self, address: int, size: int, owner: Any) -> Place | None:
        assert size > 0
        if self.refuses:
            return None
        offset = address % ALIGNMENT
        room = (ctypes.c_uint8 * (offset + size)).from_address(address - offset)
        with self.driver.lock:
            handle = self.driver.next_handle
            self.driver.next_handle += 1
            self.blocks[handle] = np.frombuffer(room, np.uint8)
        self.adopted[handle] = (address, size, owner)
        return Place(self, handle, offset)

    def release_host(self, handle: int) -> None:
        del self.adopted[handle], self.blocks[handle]

    def host_address(self, handle: int) -> int | None:
        return None if self.refuses else int(self.blocks[handle].ctypes.data)


@pytest.fixture
def opened() -> Iterator[Sharing]:
    """An open device that is the current one."""
    made = ReferenceDriver("sharing", device=Sharing)
    host().register_driver(made)
    try:
        with px.device("sharing:0") as device:
            opened = device.ensure_open()
            assert isinstance(opened, Sharing)
            yield opened
    finally:
        host().unregister_driver(made)


@pytest.mark.parametrize("part", [np.s_[:], np.s_[3:], np.s_[::-2], np.s_[5:5], np.s_[7]])
def test_numpy_array(opened: Sharing, part: Any) -> None:
    data = np.arange(20, dtype=np.float32)
    want = data.copy()
    want[part] += 1
    view = data[part : part + 1].reshape(()) if isinstance(part, int) else data[part]
    x = px.asarray(view, copy=False)
    x += 1
    assert np.array_equal(data, want)
    assert np.array_equal(px.asnumpy(x), view)


def test_only_the_bytes_of_the_array_are_adopted(opened: Sharing) -> None:
    data = np.zeros((4, 6), dtype=np.int16)
    part = data[2:0:-1, 1:5:2]
    x = px.asarray(part, copy=False)
    assert x.shape == (2, 2)
    ((address, size, owner),) = opened.adopted.values()
    assert (address, size) == (data[1, 1:].ctypes.data, 12 + 4 + 2)
    assert owner is part


def test_adopted_memory_is_released_with_the_last_view(opened: Sharing) -> None:
    x = px.asarray(np.ones(8), copy=False)
    y = x[2:4]
    assert len(opened.adopted) == 1
    del x
    assert len(opened.adopted) == 1
    assert px.asnumpy(y).tolist() == [1.0, 1.0]
    del y
    assert opened.adopted == {}


def test_memory_that_was_shared_is_forgotten(opened: Sharing) -> None:
    """What is known of memory that others reach does not grow with all that was ever shared."""
    data = np.ones(8)

    def known() -> int:
        # not isinstance: some objects of other libraries warn when they are asked for their class
        return sum(issubclass(type(x), weakref.ref) for x in gc.get_objects())

    for _ in range(200):
        px.asarray(data, copy=False)
    before = known()
    for _ in range(2000):
        px.asarray(data, copy=False)
    assert not opened.adopted
    assert known() < before + 200


def test_read_only_stays_read_only(opened: Sharing) -> None:
    data = np.ones(3)
    data.flags.writeable = False
    x = px.asarray(data, copy=False)
    with pytest.raises(ValueError, match="read"):
        x += 1


def test_refusal_copies_or_says_so(opened: Sharing) -> None:
    opened.refuses = True
    data = np.ones(3)
    with pytest.raises(ValueError, match="cannot be shared between the host and sharing:0"):
        px.asarray(data, copy=False)
    x = px.asarray(data)
    x += 1
    assert data.tolist() == [1.0] * 3


@pytest.mark.needs_cpu
def test_dlpack_refusal_copies_or_says_so(opened: Sharing) -> None:
    opened.refuses = True
    data = np.ones(3)
    with pytest.raises(BufferError, match="copy=False"):
        px.from_dlpack(data, device="sharing:0", copy=False)
    x = px.from_dlpack(data, device="sharing:0")
    x += 1
    assert data.tolist() == [1.0] * 3
    with pytest.raises(BufferError, match="cannot be exported"):
        np.from_dlpack(x, device="cpu", copy=False)
    assert np.from_dlpack(x, device="cpu").tolist() == [2.0] * 3


@pytest.mark.needs_cpu
def test_dlpack_both_ways(opened: Sharing) -> None:
    source = px.asarray(np.arange(12.0).reshape(3, 4), device="cpu:0")
    x = px.from_dlpack(source[::-1, 1:], device="sharing:0", copy=False)
    x *= 2
    assert px.asnumpy(source)[2].tolist() == [8.0, 18.0, 20.0, 22.0]
    back = np.from_dlpack(x[:, 1:], device="cpu", copy=False)
    assert back.tolist() == [[20.0, 22.0], [12.0, 14.0], [4.0, 6.0]]
    back[0, 0] = -1
    assert px.asnumpy(source)[2, 2] == -1
    copied = np.from_dlpack(x, device="cpu", copy=True)
    copied[...] = 0
    assert px.asnumpy(source)[2, 2] == -1


@pytest.mark.needs_cpu
def test_export_keeps_the_array(opened: Sharing) -> None:
    x = px.ones(5)
    seen = np.from_dlpack(x, device="cpu", copy=False)
    handle = x.buffer.handle
    x += 1
    del x
    px.empty_cache("sharing:0")
    assert handle in opened.blocks
    assert seen.tolist() == [2.0] * 5


@pytest.mark.needs_cpu
def test_memory_that_is_lent_again_and_again_keeps_one_record_of_its_uses() -> None:
    x = px.ones(3, device="cpu:0")
    others = [px.from_dlpack(x) for _ in range(10)]
    before = sys.getallocatedblocks()
    for _ in range(10_000):  # dead ranges are forgotten after a thousand or so
        y = px.from_dlpack(x)
        y += 1
    assert sys.getallocatedblocks() - before < 10_000
    assert x.tolist() == others[0].tolist() == [10_001.0] * 3
    two = [px.from_dlpack(px.from_dlpack(a)) for a in (px.zeros(4, device="cpu:0"), x)]
    del others, y
    two[1][0] = 5.0
    assert x.tolist() == [5.0, 10_001.0, 10_001.0]
