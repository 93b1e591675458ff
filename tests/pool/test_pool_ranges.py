"""Ranges of the pool in C: random calls against a model that knows which pages have memory."""

from collections.abc import Callable, Iterator
from itertools import pairwise
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

MIB = 1 << 20
PAGE = 2 * MIB
EXTENT = 32 * MIB
LIMIT = 40 * MIB
STREAMS = 3
STREAM = st.integers(0, STREAMS - 1)
SIZE = st.one_of(st.integers(0, 3000), st.integers(MIB, 9 * MIB), st.just(EXTENT))


def words(block: Any) -> tuple[int, int, int]:
    """Handle, offset and size."""
    return int(block.handle), block.offset, block.size


class RangeMachine(RuleBasedStateMachine):
    """After each call the blocks tile what has memory, and nothing is counted twice."""

    def __init__(self, pool: Any) -> None:
        super().__init__()
        self.pool, self.lib, self.ffi = pool, pool.lib, pool.ffi
        self.blocks: list[Any] = []
        self.pages: set[tuple[int, int]] = set()  # handle and number of those with memory
        self.coming: list[Any] = []
        self.ticket = 0

    def number(self, block: Any) -> int:
        return int(self.ffi.cast("uintptr_t", block.handle))

    def span(self, block: Any) -> set[tuple[int, int]]:
        assert block.offset % PAGE == block.size % PAGE == 0 < block.size
        handle = self.number(block)
        first, last = block.offset // PAGE, (block.offset + block.size) // PAGE
        return {(handle, page) for page in range(first, last)}

    def teardown(self) -> None:
        while self.coming:
            self.lib.phx_pool_end_map(self.pool.c, self.coming.pop(), False)
        for block in self.blocks:
            assert self.pool.free(block) == 0
        self.pool.sync()
        self.unmap(True)
        assert not self.pages
        info = self.ffi.new("phx_segment_info *")
        while self.lib.phx_pool_take_empty_range(self.pool.c, info):
            assert (info.size, info.extent) == (0, EXTENT)
        stats = self.pool.stats()
        assert stats.reserved == stats.segments == stats.free == stats.free_blocks == 0
        self.lib.phx_pool_destroy(self.pool.c)

    def begin_map(self, size: int, stream: int, least: bool) -> Any:
        out = self.ffi.new("phx_block **")
        before = self.pool.stats()
        status = self.lib.phx_pool_begin_map(self.pool.c, size, stream, least, out)
        if status == self.lib.PHX_POOL_NEEDS_SEGMENT and before.segments < 8:
            handle = self.ffi.cast("void *", self.pool.next_handle)
            self.pool.next_handle += 1
            added = self.lib.phx_pool_add_range(self.pool.c, handle, EXTENT, PAGE, stream, size)
            assert added == 0
            status = self.lib.phx_pool_begin_map(self.pool.c, size, stream, least, out)
        if status == self.lib.PHX_POOL_OVER_LIMIT:
            assert before.reserved + size + PAGE > LIMIT
        if status:
            return None
        assert not self.span(out[0]) & self.pages
        if least:
            assert out[0].size < size + PAGE + 256
        return out[0]

    def end_map(self, block: Any, mapped: bool) -> None:
        span = self.span(block)
        if mapped:
            assert not span & self.pages
            self.pages |= span
        self.lib.phx_pool_end_map(self.pool.c, block, mapped)

    def unmap(self, unmapped: bool) -> None:
        block = self.lib.phx_pool_begin_unmap(self.pool.c)
        self.pool.sync()  # what a caller does before it takes memory away
        while block != self.ffi.NULL:
            following = block.next_free
            assert self.span(block) <= self.pages
            if unmapped:
                self.pages -= self.span(block)
            self.lib.phx_pool_end_unmap(self.pool.c, block, unmapped)
            block = following

    @rule(size=SIZE, stream=STREAM, least=st.booleans(), mapped=st.booleans())
    def alloc(self, size: int, stream: int, least: bool, mapped: bool) -> None:
        block, status = self.pool.alloc(size, stream, grow=False)
        if status == self.lib.PHX_POOL_NEEDS_SEGMENT:
            piece = self.begin_map(size, stream, least)
            if piece is None:
                return
            self.end_map(piece, mapped)
            block, status = self.pool.alloc(size, stream, grow=False)
            assert bool(block) == mapped, "what was mapped does not serve the request"
        if block:
            self.blocks.append(block)

    @rule(size=SIZE, stream=STREAM)
    def begin(self, size: int, stream: int) -> None:
        """Memory of another thread's, on its way while other calls come."""
        if len(self.coming) < 3 and (piece := self.begin_map(size, stream, False)) is not None:
            self.coming.append(piece)

    @precondition(lambda self: self.coming)
    @rule(data=st.data(), mapped=st.booleans())
    def end(self, data: st.DataObject, mapped: bool) -> None:
        at = data.draw(st.integers(0, len(self.coming) - 1))
        self.end_map(self.coming.pop(at), mapped)

    @precondition(lambda self: self.blocks)
    @rule(data=st.data(), waits=st.dictionaries(STREAM, st.integers(0, 5)))
    def free(self, data: st.DataObject, waits: dict[int, int]) -> None:
        block = self.blocks.pop(data.draw(st.integers(0, len(self.blocks) - 1)))
        assert self.pool.free(block, waits) == 0

    @rule()
    def sync(self) -> None:
        self.pool.sync()

    @rule(source=STREAM, to=STREAM)
    def adopt(self, source: int, to: int) -> None:
        self.pool.adopt(source, to)

    @rule(unmapped=st.booleans())
    def trim(self, unmapped: bool) -> None:
        """Afterwards every page that still has memory has a byte of it in use, or on its way."""
        self.pool.sync()
        self.unmap(unmapped)
        if not unmapped:
            return
        busy: set[tuple[int, int]] = set()
        for b in self.pool.snapshot():
            if b.state != self.lib.PHX_BLOCK_FREE:
                handle = int(self.ffi.cast("uintptr_t", b.handle))
                pages = range(b.offset // PAGE, -(-(b.offset + b.size) // PAGE))
                busy |= {(handle, page) for page in pages}
        assert self.pages <= busy

    @invariant()
    def the_map_is_right(self) -> None:
        stats, found = self.pool.stats(), self.pool.snapshot()
        covered = {}
        for b in found:
            handle = int(self.ffi.cast("uintptr_t", b.handle))
            covered.setdefault(handle, []).append((b.offset, b.offset + b.size))
        for handle, spans in covered.items():
            pages = {page for number, page in self.pages if number == handle}
            assert sum(end - start for start, end in spans) == PAGE * len(pages)
            assert all(a[1] <= b[0] for a, b in pairwise(spans))
            touched = {p for a, b in spans for p in range(a // PAGE, -(-b // PAGE))}
            assert touched == pages, "a block lies where no memory is"
        coming = sum(block.size for block in self.coming)
        assert stats.reserved == PAGE * len(self.pages) + coming <= LIMIT
        assert stats.allocated + stats.pending + stats.free == stats.reserved - coming
        free = [b.size for b in found if b.state == self.lib.PHX_BLOCK_FREE]
        assert (stats.free, stats.free_blocks) == (sum(free), len(free))
        assert stats.largest_free == max(free, default=0)
        assert stats.allocated == sum(block.size for block in self.blocks)
        assert sum(s.size for s in self.pool.segments()) == stats.reserved
        ends = [(b.segment, b.stream, b.offset) for b in found if b.state == 1]
        starts = {(b.segment, b.stream, b.offset + b.size) for b in found if b.state == 1}
        assert not starts.intersection(ends), "free neighbours were not joined"


@pytest.fixture
def pools(make_pool: Callable[..., Any]) -> Iterator[Callable[[], Any]]:
    def make() -> Any:
        pool = make_pool(LIMIT)
        for stream in range(STREAMS):
            assert pool.lib.phx_pool_add_stream(pool.c, stream) == 0
        return pool

    return make


def test_random_calls_agree_with_the_model(pools: Callable[[], Any]) -> None:
    class Machine(RangeMachine):
        def __init__(self) -> None:
            super().__init__(pools())

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=60, stateful_step_count=50, deadline=None)
    )


def test_bad_arguments_have_names(pool: Any) -> None:
    lib, null = pool.lib, pool.ffi.NULL

    def add(size: int, page: int, stream: int = 0) -> int:
        return lib.phx_pool_add_range(pool.c, null, size, page, stream, 1)

    for size, page, stream in ((0, PAGE, 0), (PAGE, 0, 0), (PAGE + 256, PAGE, 0), (512, 128, 0)):
        assert add(size, page, stream) == lib.PHX_POOL_BAD_ARGUMENT
    assert add(PAGE, PAGE, 65536) == lib.PHX_POOL_BAD_ARGUMENT
    assert add(2**48, PAGE) == lib.PHX_POOL_TOO_LARGE
    out = pool.ffi.new("phx_block **")
    begin = lib.phx_pool_begin_map
    assert begin(pool.c, 5, 0, False, out) == lib.PHX_POOL_NEEDS_SEGMENT
    assert begin(pool.c, 2**48, 0, False, out) == lib.PHX_POOL_TOO_LARGE
    assert add(PAGE, PAGE) == 0
    assert begin(pool.c, 2 * PAGE, 0, False, out) == lib.PHX_POOL_NEEDS_SEGMENT
    lib.phx_pool_set_limit(pool.c, PAGE - 1)
    assert begin(pool.c, 5, 0, False, out) == lib.PHX_POOL_OVER_LIMIT
    lib.phx_pool_close(pool.c)
    assert begin(pool.c, 5, 0, False, out) == lib.PHX_POOL_CLOSED
    assert pool.stats().reserved == 0
