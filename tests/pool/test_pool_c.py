"""The memory pool in C: each promise of pool.h, eight threads, fork, and many holes."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

MIB = 1 << 20
MakePool = Callable[..., Any]


@pytest.mark.parametrize("size", [2**47 + 1, 2**63, 2**64 - 1])
def test_absurd_sizes_are_refused(pool: Any, size: int) -> None:
    assert pool.alloc(size) == (pool.ffi.NULL, pool.lib.PHX_POOL_TOO_LARGE)
    assert pool.lib.phx_pool_round_size(pool.c, size) == 0
    assert pool.lib.phx_pool_segment_size(pool.c, size, 0) == 0
    assert pool.stats().allocs == pool.stats().reserved == 0


def test_the_largest_size_is_served(pool: Any) -> None:
    block, _ = pool.alloc(2**47)
    assert block.size == 2**47 == pool.stats().reserved


@pytest.mark.parametrize("alignment", [1, 64, 512, 1 << 20])
def test_blocks_are_aligned(make_pool: MakePool, alignment: int) -> None:
    pool = make_pool(alignment=alignment)
    for size in (0, 1, 63, 65, 4097, 70_000):
        block, _ = pool.alloc(size)
        step = max(alignment, 64)
        assert block.offset % step == block.size % step == 0 < block.size


@pytest.mark.parametrize("alignment", [3, 96, 2**31, 2**63])
def test_bad_alignments_are_refused(built: Any, alignment: int) -> None:
    assert not built.lib.phx_pool_create(alignment, 0)


def test_bad_arguments_have_names(pool: Any) -> None:
    lib, null = pool.lib, pool.ffi.NULL
    assert pool.alloc(1, 65536)[1] == lib.PHX_POOL_BAD_ARGUMENT
    assert lib.phx_pool_add_segment(pool.c, null, 255, 0, 1) == lib.PHX_POOL_BAD_ARGUMENT
    assert lib.phx_pool_add_segment(pool.c, null, 2**48, 0, 1) == lib.PHX_POOL_TOO_LARGE
    assert lib.phx_pool_free(pool.c, null) == lib.PHX_POOL_BAD_ARGUMENT
    assert lib.phx_pool_add_stream(pool.c, 65536) == lib.PHX_POOL_BAD_ARGUMENT
    block, _ = pool.alloc(1, 65535)
    assert block.stream == 65535
    assert pool.free(block) == 0
    assert pool.free(block) == pool.free(block, {1: 1}) == lib.PHX_POOL_NOT_ALLOCATED
    assert pool.stats().frees == 1


def test_a_freed_block_is_the_next_of_its_size(pool: Any) -> None:
    keep = [pool.alloc(size)[0] for size in (99_840, 256, 102_144, 256)]
    first = pool.address(keep[0])
    pool.free(keep[2])
    pool.free(keep[0])
    assert pool.address(pool.alloc(99_840)[0]) == first


def test_a_fitting_block_deep_in_its_list_is_found(pool: Any) -> None:
    """Sizes 32..32.9 KiB * 8 share a list; only the first freed, hence last in it, fits."""
    sizes = [262_144 + 4096, *([262_144 + 256] * 20)]
    pool.add_segment(6 * MIB, request=1)
    blocks = [(pool.alloc(size)[0], pool.alloc(1)[0]) for size in sizes]
    rest = pool.stats().largest_free
    pool.alloc(rest - 512 * 1024 if rest > MIB else rest, grow=False)
    while pool.alloc(262_144 + 4096, grow=False)[0]:
        pass
    where = pool.address(blocks[0][0])
    for block, _ in blocks:
        pool.free(block)
    assert pool.address(pool.alloc(262_144 + 4096, grow=False)[0]) == where


def test_small_and_large_requests_use_separate_segments(pool: Any) -> None:
    large, _ = pool.alloc(3 * MIB)
    small, _ = pool.alloc(100)
    assert large.handle != small.handle
    assert [s.small for s in pool.segments()] == [0, 1]
    pool.free(large)
    block, status = pool.alloc(MIB, grow=False)
    other, _ = pool.alloc(MIB, grow=False)
    assert block
    assert not other
    assert status == 0
    found = pool.lib.phx_pool_alloc_any(pool.c, MIB, 0, pool.ffi.NULL)
    assert found.handle == large.handle


def test_segments_grow_with_what_the_stream_has(pool: Any) -> None:
    def size(n: int, stream: int = 0) -> int:
        return int(pool.lib.phx_pool_segment_size(pool.c, n, stream))

    assert size(1) == size(2 * MIB) == 2 * MIB
    assert size(2 * MIB + 1) == 4 * MIB
    pool.add_segment(64 * MIB, request=64 * MIB)
    assert size(1) == size(3 * MIB) == 8 * MIB
    assert size(17 * MIB) == 18 * MIB
    pool.add_segment(2**33, request=2**33)
    assert size(1) == 32 * MIB
    assert size(16 * MIB) == 16 * MIB
    assert size(1, stream=7) == 2 * MIB, "a new stream pays for what another one has"


def test_a_hundred_streams_of_a_few_bytes_reserve_a_step_each(pool: Any) -> None:
    for stream in range(100):
        assert pool.alloc(80, stream)[0]
    assert pool.stats().reserved == 100 * 2 * MIB


def test_the_limit_shrinks_and_then_refuses_segments(make_pool: MakePool) -> None:
    pool = make_pool(limit=3 * MIB + 1000)
    assert pool.alloc(MIB)[0]
    assert pool.alloc(MIB)[0]
    assert [s.size for s in pool.segments()] == [2 * MIB]
    third, _ = pool.alloc(MIB)
    assert third
    assert pool.stats().reserved == 3 * MIB + 768
    assert pool.alloc(1000)[1] == pool.lib.PHX_POOL_OVER_LIMIT
    status = pool.lib.phx_pool_add_segment(pool.c, pool.ffi.NULL, 512, 0, 1)
    assert status == pool.lib.PHX_POOL_OVER_LIMIT
    pool.lib.phx_pool_set_limit(pool.c, 0)
    assert pool.alloc(1000)[0]
    assert pool.stats().misses == 4


def test_counters_and_peaks(pool: Any) -> None:
    block, _ = pool.alloc(1000)
    pool.lib.phx_pool_note_retry(pool.c)
    pool.lib.phx_pool_note_oom(pool.c)
    pool.free(block)
    pool.free(pool.alloc(10)[0])
    stats = pool.stats()
    assert (stats.allocs, stats.frees, stats.misses, stats.retries, stats.ooms) == (2, 2, 1, 1, 1)
    assert (stats.requested_peak, stats.allocated_peak) == (1000, 1024)
    assert pool.take_empty().size == 2 * MIB
    pool.lib.phx_pool_reset_peaks(pool.c)
    stats = pool.stats()
    assert stats.requested_peak == stats.allocated_peak == stats.reserved_peak == 0
    assert (stats.segments, stats.segments_added) == (0, 1)


def test_trim_takes_the_oldest_empty_segment(pool: Any) -> None:
    blocks = [pool.alloc(20 * MIB)[0] for _ in range(4)]
    for i in (2, 0, 3):
        pool.free(blocks[i])
    taken = [pool.take_empty() for _ in range(4)]
    assert [info and info.id for info in taken] == [0, 2, 3, None]
    assert [s.id for s in pool.segments()] == [1]


def test_taken_blocks_are_nobodys_until_the_wait_has_ended(pool: Any) -> None:
    """What is freed during the wait is not among them: its work was not waited for."""
    early, _ = pool.alloc(3 * MIB, 1)
    late, _ = pool.alloc(5 * MIB, 1)
    pool.free(early)
    assert pool.lib.phx_pool_take_free(pool.c, 2) == 0
    ticket = pool.lib.phx_pool_sync_begin(pool.c)
    assert not pool.alloc(3 * MIB, 1, grow=False)[0]
    assert not pool.alloc(3 * MIB, 2, grow=False)[0]
    pool.free(late)
    taken = {s.id for s in pool.segments()}
    pool.lib.phx_pool_sync_end(pool.c, ticket)
    assert {s.id for s in pool.segments()} == taken
    assert pool.alloc(3 * MIB, 2, grow=False)[0]
    assert not pool.alloc(5 * MIB, 2, grow=False)[0], "freed after the wait began"
    assert pool.alloc(5 * MIB, 1, grow=False)[0]


def test_a_segment_of_taken_blocks_is_not_empty(pool: Any) -> None:
    block, _ = pool.alloc(3 * MIB, 1)
    pool.free(block)
    pool.lib.phx_pool_take_free(pool.c, 2)
    info = pool.ffi.new("phx_segment_info *")
    assert not pool.lib.phx_pool_take_empty_segment(pool.c, info)
    pool.lib.phx_pool_sync_end(pool.c, pool.lib.phx_pool_sync_begin(pool.c))
    assert pool.lib.phx_pool_take_empty_segment(pool.c, info)
    assert info.allocated == 0


def test_a_block_is_handed_over_by_itself(pool: Any) -> None:
    blocks = [pool.alloc(3 * MIB, stream=1)[0] for _ in range(4)]
    for block in blocks[::2]:
        pool.free(block)
    for size, fits in ((200 * MIB, 0), (0, 0), (3 * MIB, 1), (3 * MIB, 1)):
        assert pool.lib.phx_pool_hand_over(pool.c, 1, 2, size) == fits, size
    assert pool.lib.phx_pool_hand_over(pool.c, 9, 2, MIB) == 0
    assert pool.lib.phx_pool_hand_over(pool.c, 1, 2**16, MIB) == 0
    taken = [pool.alloc(3 * MIB, stream=2, grow=False)[0] for _ in range(2)]
    assert all(taken)
    assert {block.stream for block in taken} == {2}
    for block in (*taken, *blocks[1::2]):
        pool.free(block)
    pool.sync()
    pool.adopt(1, 2)
    assert pool.stats().free_blocks == pool.stats().segments


def test_other_streams_get_a_block_only_after_adoption(pool: Any) -> None:
    block, _ = pool.alloc(5 * MIB, stream=1)
    where = pool.address(block)
    pool.free(block)
    assert pool.alloc(5 * MIB, 2, grow=False)[1] == pool.lib.PHX_POOL_NEEDS_SEGMENT
    assert pool.lib.phx_pool_find_donor(pool.c, 5 * MIB, 2) == 1
    assert pool.lib.phx_pool_find_donor(pool.c, 7 * MIB, 2) == -1
    assert pool.adopt(1, 2) == 6 * MIB
    assert pool.address(pool.alloc(5 * MIB, 2, grow=False)[0]) == where


def test_an_empty_segment_of_two_streams_says_so(pool: Any) -> None:
    first, _ = pool.alloc(100, stream=0)
    pool.free(first)
    second, _ = pool.alloc(100, stream=0)
    pool.adopt(0, 3)
    pool.free(second)
    info = pool.take_empty()
    assert (info.mixed, info.stream, info.blocks) == (1, 0, 2)


def test_a_pending_block_waits_for_every_stream(pool: Any) -> None:
    lib = pool.lib
    for stream in range(1, 4):
        lib.phx_pool_add_stream(pool.c, stream)
    block, _ = pool.alloc(2 * MIB)
    assert pool.free(block, {0: 99, 1: 5, 2: 7, 3: 2}) == 0
    for stream, seq in ((2, 7), (3, 1), (1, 100), (3, 2)):
        assert pool.stats().pending == 2 * MIB
        assert pool.stats().active_blocks == 0
        assert not pool.take_empty()
        assert not pool.alloc(2 * MIB, grow=False)[0]
        lib.phx_pool_set_completed(pool.c, stream, seq)
    assert pool.stats().pending == 0
    assert pool.alloc(2 * MIB, grow=False)[0]


@pytest.mark.parametrize("waits", [{1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, {9: 1}])
def test_many_or_unknown_streams_wait_for_the_device(pool: Any, waits: dict[int, int]) -> None:
    lib = pool.lib
    if len(waits) > 1:
        for stream in waits:
            lib.phx_pool_add_stream(pool.c, stream)
    early = lib.phx_pool_sync_begin(pool.c)
    block, _ = pool.alloc(2 * MIB)
    pool.free(block, waits)
    for stream in waits:
        lib.phx_pool_set_completed(pool.c, stream, 50)
    lib.phx_pool_sync_end(pool.c, early)
    assert pool.stats().pending == 2 * MIB, "the synchronisation began before the release"
    pool.sync()
    assert pool.stats().pending == 0
    assert pool.stats().free == 2 * MIB


def test_a_release_that_a_synchronisation_overtakes_waits_no_more(pool: Any) -> None:
    pool.lib.phx_pool_add_stream(pool.c, 1)
    block, _ = pool.alloc(2 * MIB)
    pool.sync()
    pool.lib.hold_lock(pool.c)
    pool.free(block, {1: 3})
    block.stamp -= 1  # as if the release had been interrupted before sync_begin
    pool.lib.drop_lock(pool.c)
    assert pool.stats().pending == 0
    assert pool.alloc(2 * MIB, grow=False)[0]


def test_out_of_order_waits_are_released_in_the_end(pool: Any) -> None:
    pool.lib.phx_pool_add_stream(pool.c, 1)
    order = random.Random(0).sample(range(1, 301), 300)
    for block, seq in [(pool.alloc(256)[0], seq) for seq in order]:
        pool.free(block, {1: seq})
    for seq in range(0, 301, 50):
        pool.lib.phx_pool_set_completed(pool.c, 1, seq)
        assert pool.stats().pending_blocks >= 300 - seq
    assert pool.stats().pending_blocks == 0
    assert pool.stats().free_blocks == 1


def test_a_release_never_waits_for_the_lock(pool: Any) -> None:
    blocks = [pool.alloc(256)[0] for _ in range(20)]
    last = blocks.pop()
    pool.lib.phx_pool_add_stream(pool.c, 1)
    pool.lib.hold_lock(pool.c)
    for i, block in enumerate(blocks):
        assert pool.free(block, {1: 3} if i % 2 else None) == 0
        assert pool.free(block) == pool.lib.PHX_POOL_NOT_ALLOCATED
        assert block.state == pool.lib.PHX_BLOCK_QUEUED
    pool.lib.drop_lock(pool.c)
    pool.free(last)
    assert sum(block.state == pool.lib.PHX_BLOCK_QUEUED for block in blocks) == 19 - 8
    stats = pool.stats()
    assert (stats.frees, stats.queued_frees, stats.pending_blocks) == (20, 19, 9)
    pool.lib.phx_pool_set_completed(pool.c, 1, 3)
    assert pool.stats().free_blocks == 1


def test_a_closed_pool_takes_back_but_does_not_give(pool: Any) -> None:
    block, _ = pool.alloc(1)
    pool.lib.phx_pool_close(pool.c)
    assert pool.alloc(1)[1] == pool.lib.PHX_POOL_CLOSED
    status = pool.lib.phx_pool_add_segment(pool.c, pool.ffi.NULL, MIB, 0, 1)
    assert status == pool.lib.PHX_POOL_CLOSED
    assert pool.free(block) == 0
    assert pool.take_empty()


def test_blocks_may_outlive_the_pool(built: Any, make_pool: MakePool) -> None:
    for trial in range(200):
        pool = make_pool()
        blocks = [pool.alloc(256)[0] for _ in range(64)]
        built.lib.phx_pool_add_stream(pool.c, 1)
        pool.free(blocks.pop(), {1: 1})
        assert built.lib.free_while_destroying(pool.c, blocks, len(blocks), trial % 2) == 0


def test_the_last_block_frees_the_bookkeeping(built: Any) -> None:
    lost = built.lib.bytes_lost(100)
    if lost < 0:
        pytest.skip("this C library does not tell the size of its heap")
    assert lost < 100 * 1000, "a pool with one stream and 32 blocks takes more than 30,000 bytes"


def test_eight_threads(built: Any, make_pool: MakePool) -> None:
    pool = make_pool(limit=48 * MIB)
    h = built.lib.new_hammer(pool.c, 30_000, 300_000)
    built.lib.run_hammer(h, 8, 7)
    built.lib.empty_slots(h)
    assert built.lib.hammer_errors(h) == 0
    stats = pool.stats()
    assert stats.active_blocks == stats.allocated == 0
    assert stats.allocs == stats.frees > 100_000
    assert stats.reserved_peak <= 48 * MIB
    assert stats.segments_added > stats.segments
    pool.sync()
    pool.adopt(built.lib.PHX_POOL_ALL_STREAMS, 0)
    assert pool.stats().free_blocks == pool.stats().segments


def wait_for_child(pid: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail(f"the child of fork hung for {seconds} s")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_fork_while_threads_allocate(built: Any, make_pool: MakePool) -> None:
    pool = make_pool(limit=48 * MIB)
    h = built.lib.new_hammer(pool.c, 2**62, 1500)
    runner = threading.Thread(target=built.lib.run_hammer, args=(h, 3, 11))
    runner.start()
    try:
        for _ in range(60):
            pid = os.fork()
            if pid == 0:
                os._exit(built.lib.child_of_fork(h))
            assert wait_for_child(pid, 10) == 0
    finally:
        built.lib.stop_hammer(h)
        runner.join()
    assert built.lib.hammer_errors(h) == 0
    assert pool.stats().allocs > 1000


def test_time_does_not_grow_with_the_number_of_holes(built: Any, make_pool: MakePool) -> None:
    pool, few = make_pool(), make_pool()
    draw = random.Random(1)
    blocks = [pool.alloc(256 << draw.randrange(10))[0] for _ in range(2 * 68_000)]
    for block in blocks[::2]:
        pool.free(block)
    holes = pool.stats().free_blocks
    assert holes >= 65_536
    few.free(few.alloc(65_536)[0])
    rounds = [[built.lib.pair_seconds(p.c, 20_000) for p in (pool, few)] for _ in range(15)]
    many_best, few_best = (min(column) for column in zip(*rounds, strict=True))
    assert 0 < many_best < 8 * few_best
    assert pool.stats().free_blocks == holes
