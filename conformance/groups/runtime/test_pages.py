"""Memory that comes and goes behind addresses, page by page: the driver's own calls."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import Bytes, read_block, write_block
from phalanx.conformance.case import Case
from phalanx.virtual_memory import VirtualMemory


def _memory(case: Case) -> VirtualMemory:
    opened = case.device.ensure_open()
    memory = opened.virtual_memory()
    if memory is None:
        pytest.skip("the device has no virtual memory")
    assert memory is opened.virtual_memory(), "virtual_memory() returns another object each time"
    return memory


def test_pages_keep_what_is_written(case: Case) -> None:
    """Pages of several calls are one memory; what comes and goes beside them changes nothing."""
    memory, rng = _memory(case), case.rng()
    page = memory.granularity
    handle = memory.reserve(8 * page, page)
    data = rng.integers(0, 256, 8 * page, np.uint8)

    def pages(first: int, last: int) -> Bytes:
        return data[first * page : last * page]

    memory.map(handle, 2 * page, 2 * page)
    memory.map(handle, 4 * page, 3 * page)
    write_block(case.device, handle, pages(2, 7), 2 * page)
    memory.map(handle, page, page)
    memory.map(handle, 7 * page, page)
    assert np.array_equal(read_block(case.device, handle, 5 * page, 2 * page), pages(2, 7)), (
        "beside new pages"
    )
    memory.unmap(handle, 3 * page, 2 * page)
    for first, last in ((2, 3), (5, 7)):
        found = read_block(case.device, handle, (last - first) * page, first * page)
        assert np.array_equal(found, pages(first, last)), "beside pages that were taken away"
    memory.map(handle, 3 * page, 2 * page)
    write_block(case.device, handle, pages(0, 2), 3 * page)
    found = read_block(case.device, handle, 5 * page, 2 * page)
    want = np.concatenate([pages(2, 3), pages(0, 2), pages(5, 7)])
    assert np.array_equal(found, want), "beside pages that came again"
    memory.unmap(handle, page, 7 * page)
    memory.release(handle)


def test_many_pages_come_again(case: Case) -> None:
    """Of many pages that went and came in one call each, each has what is written to it then."""
    memory, rng = _memory(case), case.rng()
    page, device = memory.granularity, case.device
    count = 40 if page <= 1 << 20 else 20
    handle, some = _reserved(memory, count * page, page), min(page, 4096)
    for parts in (1, 1, count):
        data = rng.integers(0, 256, (count, some), np.uint8)
        for begin in range(0, count, count // parts):
            memory.map(handle, begin * page, count // parts * page)
        for number in rng.permutation(count).tolist():
            write_block(device, handle, data[number], number * page)
        for number, want in enumerate(data):
            found = read_block(device, handle, some, number * page)
            assert np.array_equal(found, want), f"page {number} of {count}"
        memory.unmap(handle, 0, count * page)
    memory.release(handle)


def _reserved(memory: VirtualMemory, size: int, page: int) -> int:
    try:
        return memory.reserve(size, page)
    except px.OutOfMemoryError:
        pytest.skip("the device has no such addresses")


def test_ranges_are_apart(case: Case) -> None:
    """What is written behind some addresses is not seen behind others, also of larger pages."""
    memory = _memory(case)
    pages = (memory.granularity, 2 * memory.granularity)
    handles = [_reserved(memory, 4 * page, page) for page in pages]
    for number, (handle, page) in enumerate(zip(handles, pages, strict=True)):
        memory.map(handle, page, 2 * page)
        write_block(case.device, handle, np.full(2 * page, number + 1, np.uint8), page)
    for number, (handle, page) in enumerate(zip(handles, pages, strict=True)):
        assert (read_block(case.device, handle, 2 * page, page) == number + 1).all(), (
            "two ranges share memory"
        )
        memory.unmap(handle, page, 2 * page)
        memory.release(handle)


def test_free_memory_follows_pages(case: Case) -> None:
    """Free memory is less by pages that are behind addresses, and no longer."""
    memory, opened = _memory(case), case.device.ensure_open()
    total = opened.memory_info()[1]
    if total == 0:
        pytest.skip("the driver does not tell how much memory is free")
    page, found = memory.granularity, []
    for attempt in range(6):  # others may use the memory, too: more pages outweigh them
        size = min(total // 16, (64 << 20) << attempt // 2) // page * page or page
        handle = _reserved(memory, size, page)
        before, _ = opened.memory_info()
        some = size // page // 4 * page  # what came in two calls goes in one
        if some:
            memory.map(handle, 0, some)
        memory.map(handle, some, size - some)
        held, _ = opened.memory_info()
        memory.unmap(handle, 0, size)
        shrunk, grown = before - held, opened.memory_info()[0] - held
        memory.release(handle)
        if size / 2 <= shrunk <= 2 * size and size / 2 <= grown <= 2 * size:
            return
        found.append(f"{shrunk} while {size} bytes were behind addresses, and grew by {grown}")
    pytest.fail(f"free memory of {total} shrank by {', '.join(found)}")


def test_refused_pages_have_no_memory(case: Case) -> None:
    """More pages than there is memory are an OutOfMemoryError, and none of them has any."""
    memory, opened = _memory(case), case.device.ensure_open()
    page = memory.granularity
    size = (max(opened.memory_info()[1], case.device.info.total_memory) // page + 2) * page
    handle = _reserved(memory, size, page)
    with pytest.raises(px.OutOfMemoryError):
        memory.map(handle, 0, size)
    for offset in (0, size // page // 2 * page, size - page):
        memory.map(handle, offset, page)
        memory.unmap(handle, offset, page)
    memory.release(handle)
