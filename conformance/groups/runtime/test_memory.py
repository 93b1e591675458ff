"""Allocation: alignment, limits, exhaustion and recovery; memory that is one's own."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.blocks import Bytes, free_memory, has_own_memory, read_block, write_block
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, by_a_thread
from phalanx.driver import Feature

_TRIES = 3
_SIZES = (1, 2, 3, 63, 64, 65, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1)


def _raw_fill(case: Case, handle: int, size: int, value: int) -> None:
    write_block(case.device, handle, np.full(size, value, np.uint8))


def test_sizes(case: Case) -> None:
    """Blocks of every size, alive together, are aligned and do not overlap."""
    opened = case.device.ensure_open()
    handles: list[int] = []
    try:
        handles.extend(opened.alloc(size) for size in _SIZES)
        assert len(set(handles)) == len(handles), "two live blocks have one handle"
        assert all(0 <= h < 1 << 64 for h in handles), f"handles {handles}"
        if Feature.HOST_ADDRESSABLE in case.device.info.features:
            wrong = [h for h in handles if h % case.device.info.alignment]
            assert not wrong, f"not aligned to {case.device.info.alignment} bytes: {wrong}"
        for number, (handle, size) in enumerate(zip(handles, _SIZES, strict=True)):
            _raw_fill(case, handle, size, number + 1)
        for number, (handle, size) in enumerate(zip(handles, _SIZES, strict=True)):
            found = read_block(case.device, handle, size)
            assert (found == number + 1).all(), f"a block of {size} bytes was overwritten"
    finally:
        for handle in handles:
            opened.free(handle)


def test_reuse(case: Case) -> None:
    """Allocating and freeing many times does not exhaust the device."""
    opened = case.device.ensure_open()
    size = max(1, min(case.device.info.max_allocation // 8, 1 << 24))
    for _ in range(200):
        opened.free(opened.alloc(size))


def test_a_block_in_place_of_another_is_left_alone(case: Case) -> None:
    """What is written to a block right when one of its size was freed is there a while later."""
    opened = case.device.ensure_open()
    most, blocks = case.device.info.max_allocation // 8, []
    try:
        for size in (4096, 1 << 20, 8 << 20):
            if size > most:
                break
            opened.free(opened.alloc(size))
            blocks.append((opened.alloc(size), size))
            _raw_fill(case, *blocks[-1], 0xA5)
        time.sleep(0.05)
        for handle, size in blocks:
            wrong = np.flatnonzero(read_block(case.device, handle, size) != 0xA5)
            assert not wrong.size, f"byte {wrong[0]} of {size} has changed"
    finally:
        for handle, _ in blocks:
            opened.free(handle)


def test_free_memory_counts(case: Case) -> None:
    """Free memory shrinks while a large block is held, where the driver tells it."""
    opened = case.device.ensure_open()
    free, total = opened.memory_info()
    if total == 0:
        pytest.skip("the driver does not tell how much memory is free")
    assert total <= case.device.info.total_memory * 1.01 + (1 << 20)
    assert free > 0


@pytest.mark.parametrize("other", [False, True], ids=["this device", "another one"])
def test_free_memory_follows(case: Case, other: bool) -> None:
    """Free memory is less by a large block while that is held, and no longer, in its unit."""
    if other and not case.others:
        pytest.skip("the driver has one device")
    device = case.others[0] if other else case.device
    opened = device.ensure_open()
    total = opened.memory_info()[1]
    if total == 0:
        pytest.skip("the driver does not tell how much memory is free")
    most = min(device.info.max_allocation, max(1 << 20, device.info.total_memory // 16))
    found = []
    for attempt in range(8):  # others may use the memory, too: a larger block outweighs them
        size = min(most, (64 << 20) << attempt // 2) >> 2 * (attempt % 2)
        before, _ = opened.memory_info()
        handle = opened.alloc(size)
        write_block(device, handle, np.full(size, 1, np.uint8))
        held, _ = by_a_thread(opened.memory_info)  # whose current device may be another one
        opened.free(handle)
        shrunk, grown = before - held, free_memory(opened, before - size / 4) - held
        if size / 2 <= shrunk <= 2 * size and size / 2 <= grown <= 2 * size:
            return
        found.append(f"{shrunk} while {size} bytes were held, and grew by {grown} behind that")
    pytest.fail(f"free memory of {total} shrank by {', '.join(found)}")


def test_blocks_are_given_back_in_any_order(case: Case) -> None:
    """Small blocks keep their bytes when those that were made before and behind them go."""
    opened, rng = case.device.ensure_open(), case.rng()
    sizes = [1, 64, 100, 1000, 1024, 4096, 5000] * 4
    held = {number: (opened.alloc(size), size) for number, size in enumerate(sizes)}
    for number, (handle, size) in held.items():
        _raw_fill(case, handle, size, number + 1)
    while held:
        for number in rng.permutation(list(held))[:7].tolist():
            opened.free(held.pop(number)[0])
        for number, (handle, size) in held.items():
            found = read_block(case.device, handle, size)
            assert (found == number + 1).all(), f"a block of {size} bytes went with another one"


def test_free_memory_behind_a_later_block(case: Case) -> None:
    """A block that is given back is free, though one that was made behind it is still held."""
    opened, device = case.device.ensure_open(), case.device
    if opened.memory_info()[1] == 0:
        pytest.skip("the driver does not tell how much memory is free")
    most = min(device.info.max_allocation, max(1 << 20, device.info.total_memory // 16))
    found = []
    for attempt in range(8):  # others may use the memory, too: a larger block outweighs them
        size = min(most, (64 << 20) << attempt // 2)
        block, later = opened.alloc(size), opened.alloc(4096)
        _raw_fill(case, block, size, 1)
        before, _ = opened.memory_info()
        opened.free(block)
        grown = free_memory(opened, before + 3 * size / 4) - before
        opened.free(later)
        if size / 2 <= grown <= 2 * size:
            return
        found.append(f"{grown} when {size} bytes were given back")
    pytest.fail(f"free memory grew by {', '.join(found)}")


@pytest.mark.parametrize("kibibytes", [64, 1024, 8192])
def test_freed_memory_stays_free(case: Case, kibibytes: int) -> None:
    """Blocks that are given back one after another take no memory, whichever thread does it."""
    opened = case.device.ensure_open()
    total = opened.memory_info()[1]
    if total == 0:
        pytest.skip("the driver does not tell how much memory is free")
    size = max(1, min(kibibytes << 10, case.device.info.max_allocation, total // 64))
    few = 40 if kibibytes == 8192 else (40 << 20 if case.quick else 160 << 20) // size
    found = []
    for attempt in range(6):  # others may use the memory, too: more blocks outweigh them
        blocks = few << attempt // 2
        before, _ = opened.memory_info()
        with ThreadPoolExecutor(1) as other:
            for number in range(blocks):
                handle = opened.alloc(size)
                _raw_fill(case, handle, size, 1)
                if number % 2:
                    other.submit(opened.free, handle).result()
                else:
                    opened.free(handle)
        lost = before - free_memory(opened, before)
        if lost < blocks * size / 20:
            return
        found.append(f"{lost} when {blocks} blocks of {size} were given back")
        time.sleep(0.2 * 2**attempt)
    pytest.fail(f"free memory shrank by {', by '.join(found)}")


def test_free_memory_after_a_failure(case: Case) -> None:
    """What was refused takes no memory."""
    opened = case.device.ensure_open()
    if opened.memory_info()[1] == 0:
        pytest.skip("the driver does not tell how much memory is free")
    lost = []
    for _ in range(4):  # others may use the memory, too
        before, total = opened.memory_info()
        for _ in range(8):
            with pytest.raises(px.OutOfMemoryError):
                opened.alloc(max(total, case.device.info.max_allocation) + 1)
        lost.append(before - opened.memory_info()[0])
        if lost[-1] < total / 64:
            return
    pytest.fail(f"free memory shrank by {min(lost)} of {total} bytes when 8 requests were refused")


def test_large_block(case: Case) -> None:
    """Half of what is free, and of the largest block that is promised, can be had as one."""
    opened, device = case.device.ensure_open(), case.device
    marks = np.arange(1, 65, dtype=np.uint8)
    for attempt in range(4):  # others may take memory meanwhile
        free, total = opened.memory_info()
        if total == 0:
            pytest.skip("the driver does not tell how much memory is free")
        size = min(device.info.max_allocation, free) // 2
        try:
            handle = opened.alloc(size)
            break
        except px.OutOfMemoryError:
            assert attempt < 3, f"no block of {size} bytes, of {free} that are free"
    for offset in (size - marks.size, 0):
        write_block(device, handle, marks, offset)
    found = read_block(device, handle, marks.size, size - marks.size)
    opened.free(handle)
    assert (found == marks).all(), f"the last bytes of a block of {size} changed"


def test_pages_of_large_blocks(case: Case) -> None:
    """Each mebibyte of a large block, and of two that are as large, is memory of its own."""
    opened, device = case.device.ensure_open(), case.device
    free, total = opened.memory_info()
    most = min(device.info.max_allocation, (free if total else 1 << 28) // 4)
    sizes = [min(most, (200 << 20) + 4096), *(min(most // 2, (34 << 20) + 4096),) * 2]
    blocks = [(opened.alloc(size), size) for size in sizes]
    places = [
        (number, handle, offset)
        for number, (handle, size) in enumerate(blocks)
        for offset in (*range(0, size - 64, 1 << 20), size - 64)
    ]

    def marks(number: int, offset: int) -> Bytes:
        return np.arange(number * offset // 8, number * offset // 8 + 8).view(np.uint8)

    try:
        for number, handle, offset in places:
            write_block(device, handle, marks(number + 1, offset + 8), offset)
        for number, handle, offset in places:
            found = read_block(device, handle, 64, offset)
            told = f"block {number} of {sizes[number]} bytes changed at {offset} by other writes"
            assert (found == marks(number + 1, offset + 8)).all(), told
    finally:
        for handle, _ in blocks:
            opened.free(handle)


def test_too_large(case: Case) -> None:
    """More than the largest allocation is an OutOfMemoryError, and the device goes on."""
    opened = case.device.ensure_open()
    for size in (case.device.info.max_allocation + 1, 1 << 62):
        with pytest.raises(px.OutOfMemoryError):
            opened.free(opened.alloc(size))
    assert px.asnumpy(px.ones(3, dtype=px.int32)).tolist() == [1, 1, 1]


_MARK = 4096


def _take(case: Case, size: int, total: int, taken: dict[int, int], *, marked: bool) -> None:
    """Take blocks until one is refused; each begins with marks of its own, if that is asked for.

    ``taken`` has their sizes; when they are more than the total, no other is taken.
    """
    opened = case.device.ensure_open()
    while sum(taken.values()) <= total:
        handle = opened.alloc(size)
        taken[handle] = size
        if marked:
            _raw_fill(case, handle, _MARK, len(taken) % 251)


def _check_marks(case: Case, taken: dict[int, int]) -> None:
    for number, handle in enumerate(taken, 1):
        found = read_block(case.device, handle, _MARK)
        assert (found == number % 251).all(), f"block {number} changed when the memory became full"


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
def test_no_more_than_there_is(case: Case, is_busy: bool) -> None:
    """Blocks are refused before they are more than the memory of the device, and come back.

    They keep what they have to the last, and are refused likewise while the device works.
    """
    opened, device = case.device.ensure_open(), case.device
    if not has_own_memory(device):
        pytest.skip("the device has the memory of the host")
    total = opened.memory_info()[1]
    if total == 0:
        pytest.skip("the driver does not tell how much memory there is")
    size = max(_MARK, min(device.info.max_allocation, total // 6))
    x, many = px.arange(1 << 19, dtype=px.int64), 1 << 19
    px.asnumpy(px.sum(x[:-1]))  # so that all is compiled
    lost = []
    for _ in range(_TRIES):  # others may use the memory, too
        px.empty_cache(device)  # what nobody uses need not be kept
        if is_busy:
            busy(case, 0.1, asks=False)
        before, taken = opened.memory_info()[0], dict[int, int]()
        try:
            for smaller in (1, 4, 16, 256):  # less and less is left
                with pytest.raises(px.OutOfMemoryError):
                    _take(case, max(_MARK, size // smaller), total, taken, marked=not is_busy)
            if not is_busy:
                _check_marks(case, taken)
            with suppress(px.OutOfMemoryError):
                found = int(px.asnumpy(px.sum(x)))
                assert found == many * (many - 1) // 2, "a sum is wrong where memory is short"
        finally:
            for handle in taken:
                opened.free(handle)
        device.synchronize()
        opened.free(opened.alloc(size))
        lost.append(before - free_memory(opened, before))
        if lost[-1] < size // 2:
            return
    pytest.fail(f"free memory is less by {min(lost)} bytes when one of {size} was refused")


def test_huge_array(case: Case) -> None:
    """An array that cannot fit is an OutOfMemoryError with its size; nothing is lost."""
    kept = px.asarray(np.arange(100, dtype=np.int32))
    with pytest.raises(px.OutOfMemoryError) as caught:
        px.empty(case.device.info.total_memory * 4, dtype=px.uint8)
    assert caught.value.size >= case.device.info.total_memory
    assert px.asnumpy(kept).tolist() == list(range(100))


def test_limit_and_recovery(case: Case) -> None:
    """At its limit the pool refuses; when memory is given back, it serves again."""
    px.empty_cache(case.device)
    held = px.memory_stats(case.device)["reserved"]
    px.set_memory_limit(held + (64 << 20), case.device)
    try:
        blocks: list[px.Array] = []
        with pytest.raises(px.OutOfMemoryError):
            blocks.extend(px.empty(4 << 20, dtype=px.uint8) for _ in range(64))
        assert blocks, "not one block fits below the limit"
        blocks.clear()
        case.device.synchronize()
        again = px.full(4 << 20, 7, dtype=px.uint8)
        assert int(px.asnumpy(again)[-1]) == 7
    finally:
        px.set_memory_limit(None, case.device)


def test_zero_size(case: Case) -> None:
    """Arrays without elements work and need no memory."""
    x = px.empty((0, 3), dtype=px.float32)
    assert (x + x).shape == (0, 3)
    assert px.asnumpy(x).shape == (0, 3)
    assert float(px.asnumpy(px.sum(x))) == 0.0


def test_nothing_leaks(case: Case) -> None:
    """What an array held is free when it is gone."""
    case.device.synchronize()
    before = px.memory_stats(case.device)["requested"]
    for _ in range(50):
        x = px.ones(10_001, dtype=px.float32)
        x = x + x
    del x
    case.device.synchronize()
    assert px.memory_stats(case.device)["requested"] <= before


def test_arrays_are_apart(case: Case) -> None:
    """Arrays of random sizes, made and dropped at random, keep their values."""
    rng = case.rng()
    kept: dict[int, tuple[px.Array, int]] = {}
    for step in range(60 if case.quick else 300):
        size = int(rng.integers(1, 50_000))
        kept[step] = (px.full(size, step % 251, dtype=px.uint8), step % 251)
        if len(kept) > 20:
            array, value = kept.pop(int(rng.choice(list(kept))))
            assert (px.asnumpy(array) == value).all(), f"an array of {array.size} bytes changed"
    for array, value in kept.values():
        assert (px.asnumpy(array) == value).all(), f"an array of {array.size} bytes changed"
