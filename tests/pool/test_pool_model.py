"""Random calls of the memory pool against a model that knows who may use which byte when."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

ALIGNMENT = 256
MIB = 1 << 20


class Region:
    """Model of released memory: whose it is, and what must happen before another use."""

    def __init__(self, where: tuple[int, int, int], stream: int, waits: dict[int, int]) -> None:
        self.handle, self.start, self.end = where
        self.stream = stream
        self.waits = {s: seq for s, seq in waits.items() if s != stream and seq}
        self.device = len(self.waits) > 4


STREAM = st.integers(0, 6)
SIZE = st.one_of(
    st.integers(0, 3000), st.integers(0, 3 * MIB), st.sampled_from([1, MIB, MIB + 1, 20 * MIB])
)


class PoolMachine(RuleBasedStateMachine):
    """Random calls; after each the block map must tile the segments and agree with the model."""

    def __init__(self, make_pool: Callable[..., Any]) -> None:
        super().__init__()
        self.limit = 256 * MIB
        self.pool = make_pool(self.limit)
        self.lib = self.pool.lib
        self.blocks: list[Any] = []
        self.released: list[Region] = []
        self.completed = dict.fromkeys(range(7), 0)
        for stream in self.completed:
            assert self.lib.phx_pool_add_stream(self.pool.c, stream) == 0

    def teardown(self) -> None:
        for block in self.blocks:
            assert self.pool.free(block) == 0
        self.pool.sync()
        self.pool.adopt(self.lib.PHX_POOL_ALL_STREAMS, 0)
        stats = self.pool.stats()
        assert stats.pending == stats.allocated == stats.requested == stats.active_blocks == 0
        assert stats.free == stats.reserved
        assert stats.free_blocks == stats.segments
        while self.pool.take_empty():
            pass
        assert self.pool.stats().reserved == 0
        self.lib.phx_pool_destroy(self.pool.c)

    def blocked(self, region: Region) -> bool:
        return region.device or any(self.completed[s] < q for s, q in region.waits.items())

    def claim(self, where: tuple[int, int, int], stream: int) -> None:
        """Check that `stream` may use each released byte under a new block, then forget it."""
        handle, start, end = where
        kept = []
        for region in self.released:
            if region.handle != handle or region.end <= start or region.start >= end:
                kept.append(region)
                continue
            assert region.stream == stream
            assert not self.blocked(region)
            for low, high in ((region.start, start), (end, region.end)):
                if low < high and region.start <= low and high <= region.end:
                    kept.append(Region((handle, low, high), region.stream, region.waits))
        self.released = kept

    @rule(size=SIZE, stream=STREAM)
    def alloc(self, size: int, stream: int) -> None:
        before = self.pool.snapshot()
        small = {s.id for s in self.pool.segments() if s.small}
        rounded = self.lib.phx_pool_round_size(self.pool.c, size)
        fits = any(
            b.state == self.lib.PHX_BLOCK_FREE
            and b.stream == stream
            and b.size >= rounded
            and (b.segment in small) == (rounded <= MIB)
            for b in before
        )
        block, status = self.pool.alloc(size, stream, grow=False)
        assert bool(block) == fits
        if status == self.lib.PHX_POOL_NEEDS_SEGMENT:
            bytes_ = self.lib.phx_pool_segment_size(self.pool.c, size, stream)
            handle = self.pool.add_segment(bytes_, stream, size)
            self.released.append(Region((handle, 0, bytes_), stream, {}))
            block, status = self.pool.alloc(size, stream, grow=False)
            assert block
        if not block:
            assert status == self.lib.PHX_POOL_OVER_LIMIT
            assert self.pool.stats().reserved + rounded > self.limit
            assert self.lib.phx_pool_segment_size(self.pool.c, size, stream) == 0
            return
        assert block.requested == size
        assert block.size >= max(size, 1)
        assert block.size - rounded < max(ALIGNMENT, rounded / 64 + 1)
        assert block.offset % ALIGNMENT == block.size % ALIGNMENT == 0
        self.claim(self.pool.address(block), stream)
        self.blocks.append(block)

    @precondition(lambda self: self.blocks)
    @rule(data=st.data())
    def free(self, data: st.DataObject) -> None:
        block = self.blocks.pop(data.draw(st.integers(0, len(self.blocks) - 1)))
        self.released.append(Region(self.pool.address(block), block.stream, {}))
        assert self.pool.free(block) == 0

    @precondition(lambda self: self.blocks)
    @rule(data=st.data(), waits=st.dictionaries(STREAM, st.integers(0, 20)))
    def free_pending(self, data: st.DataObject, waits: dict[int, int]) -> None:
        block = self.blocks.pop(data.draw(st.integers(0, len(self.blocks) - 1)))
        self.released.append(Region(self.pool.address(block), block.stream, waits))
        assert self.pool.free(block, waits) == 0

    @rule(stream=STREAM, seq=st.integers(0, 20))
    def set_completed(self, stream: int, seq: int) -> None:
        self.completed[stream] = max(self.completed[stream], seq)
        assert self.lib.phx_pool_set_completed(self.pool.c, stream, seq) == 0

    @rule()
    def sync(self) -> None:
        self.pool.sync()
        for region in self.released:
            region.waits, region.device = {}, False

    @rule(source=STREAM, to=STREAM)
    def adopt(self, source: int, to: int) -> None:
        moved = self.pool.adopt(source, to)
        for region in self.released:
            if region.stream == source != to and not self.blocked(region):
                region.stream = to
                region.waits = {}
                moved -= region.end - region.start
        assert source == to or moved == 0

    @rule()
    def trim(self) -> None:
        info = self.pool.take_empty()
        if info:
            handle = int(self.pool.ffi.cast("uintptr_t", info.handle))
            gone = [r for r in self.released if r.handle == handle]
            assert sum(r.end - r.start for r in gone) == info.size
            assert info.allocated == 0
            assert not any(self.blocked(r) for r in gone)
            self.released = [r for r in self.released if r.handle != handle]

    @invariant()
    def the_map_is_right(self) -> None:
        cast, lib = self.pool.ffi.cast, self.lib
        used = {self.pool.address(block): block for block in self.blocks}
        ends: dict[int, int] = {}
        previous = None
        for b in self.pool.snapshot():
            handle = int(cast("uintptr_t", b.handle))
            assert b.offset == ends.get(b.segment, 0), "blocks do not tile the segment"
            ends[b.segment] = b.offset + b.size
            block = used.pop((handle, b.offset, b.offset + b.size), None)
            assert (block is not None) == (b.state == lib.PHX_BLOCK_USED)
            assert block is None or (block.requested, block.stream) == (b.requested, b.stream)
            key = (b.segment, b.stream) if b.state == lib.PHX_BLOCK_FREE else None
            assert key is None or key != previous, "free neighbours were not joined"
            previous = key
        assert not used
        assert ends == {s.id: s.size for s in self.pool.segments()}

    @invariant()
    def the_statistics_are_right(self) -> None:
        stats, blocks = self.pool.stats(), self.pool.snapshot()
        free = [b.size for b in blocks if b.state == self.lib.PHX_BLOCK_FREE]
        pending = [b.size for b in blocks if b.state == self.lib.PHX_BLOCK_PENDING]
        assert (stats.free, stats.free_blocks) == (sum(free), len(free))
        assert (stats.pending, stats.pending_blocks) == (sum(pending), len(pending))
        assert stats.pending == sum(r.end - r.start for r in self.released if self.blocked(r))
        assert stats.allocated == sum(b.size for b in self.blocks)
        assert stats.requested == sum(b.requested for b in self.blocks)
        assert stats.active_blocks == len(self.blocks) == stats.allocs - stats.frees
        assert stats.reserved == stats.allocated + stats.pending + stats.free <= self.limit
        assert stats.allocated_peak >= stats.allocated
        assert stats.reserved_peak >= stats.reserved
        assert stats.largest_free == max(free, default=0)
        whole = 1 - max(free) / sum(free) if free else 0
        assert stats.fragmentation == pytest.approx(whole)
        assert self.lib.phx_pool_pending_bytes(self.pool.c) == stats.pending


def test_random_calls_agree_with_the_model(make_pool: Callable[..., Any]) -> None:
    class Machine(PoolMachine):
        def __init__(self) -> None:
            super().__init__(make_pool)

    run_state_machine_as_test(
        Machine,
        settings=settings(max_examples=80, stateful_step_count=60, deadline=None),
    )
