"""The memory pool in C, compiled alone with the threads that test it, and a Python face for it."""

import importlib.util
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cffi
import pytest

CORE = Path(__file__).resolve().parents[2] / "core"
ALIGNMENT = 256

HELPER_DECLARATIONS = """
#define PHX_POOL_ALL_STREAMS ...
typedef struct hammer hammer;
hammer *new_hammer(phx_pool *pool, uint64_t steps, uint64_t largest);
void run_hammer(hammer *h, int n_threads, uint64_t seed);
void empty_slots(hammer *h);
uint64_t hammer_errors(hammer *h);
void stop_hammer(hammer *h);
int child_of_fork(hammer *h);
int64_t bytes_lost(int n);
double pair_seconds(phx_pool *pool, uint64_t n);
int free_while_destroying(phx_pool *pool, phx_block **blocks, uint64_t n, int pending);
void hold_lock(phx_pool *pool);
void drop_lock(phx_pool *pool);
"""


def declarations() -> str:
    """What cffi can read of pool.h: no preprocessor, comments or unknown qualifiers."""
    text = re.sub(r"/\*.*?\*/", "", (CORE / "pool" / "pool.h").read_text(), flags=re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    return text.replace("_Atomic ", "").replace("PHX_POOL_WAITS", "4")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("pool")
    ffi = cffi.FFI()
    ffi.cdef(declarations() + HELPER_DECLARATIONS)
    ffi.set_source(
        "pool_under_test",
        '#include "hammer.c"',
        sources=[str(path) for path in sorted(CORE.glob("pool/*.c"))],
        include_dirs=[str(CORE), str(Path(__file__).parent)],
        extra_compile_args=["-std=c11", "-O2", "-Wall", "-Wextra"],
        libraries=["pthread"],
    )
    target = ffi.compile(tmpdir=str(folder))
    spec = importlib.util.spec_from_file_location("pool_under_test", target)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Pool:
    """The C functions with Python's conventions, and a driver that hands out numbered segments."""

    def __init__(self, built: Any, limit: int = 0, alignment: int = ALIGNMENT) -> None:
        self.lib, self.ffi = built.lib, built.ffi
        self.c = self.lib.phx_pool_create(alignment, limit)
        self.next_handle = 1

    def alloc(self, size: int, stream: int = 0, grow: bool = True) -> tuple[Any, int]:
        """A block, or NULL and the status; gets segments as a caller should."""
        status = self.ffi.new("phx_pool_status *")
        while True:
            block = self.lib.phx_pool_alloc(self.c, size, stream, status)
            if block or not grow or status[0] != self.lib.PHX_POOL_NEEDS_SEGMENT:
                return block, status[0]
            self.add_segment(self.lib.phx_pool_segment_size(self.c, size, stream), stream, size)

    def add_segment(self, size: int, stream: int = 0, request: int = 0) -> int:
        handle = self.ffi.cast("void *", self.next_handle)
        status: int = self.lib.phx_pool_add_segment(self.c, handle, size, stream, request)
        assert status == self.lib.PHX_POOL_OK
        self.next_handle += 1
        return self.next_handle - 1

    def free(self, block: Any, waits: dict[int, int] | None = None) -> int:
        status: int
        if waits is None:
            status = self.lib.phx_pool_free(self.c, block)
        else:
            pairs = [{"stream": stream, "seq": seq} for stream, seq in waits.items()]
            status = self.lib.phx_pool_free_pending(
                self.c, block, len(pairs), self.ffi.new("phx_wait[]", pairs)
            )
        return status

    def stats(self) -> Any:
        out = self.ffi.new("phx_pool_stats *")
        self.lib.phx_pool_get_stats(self.c, out)
        return out

    def table(self, kind: str, fill: Any) -> list[SimpleNamespace]:
        """The rows of a report of unknown length, copied out of C."""
        n = fill(self.c, self.ffi.NULL, 0)
        out = self.ffi.new(kind + "[]", max(n, 1))
        assert fill(self.c, out, n) == n
        names = [name for name, _ in self.ffi.typeof(kind).fields]
        return [SimpleNamespace(**{k: getattr(out[i], k) for k in names}) for i in range(n)]

    def snapshot(self) -> list[SimpleNamespace]:
        return self.table("phx_block_info", self.lib.phx_pool_snapshot)

    def segments(self) -> list[SimpleNamespace]:
        return self.table("phx_segment_info", self.lib.phx_pool_segments)

    def take_empty(self) -> Any:
        out = self.ffi.new("phx_segment_info *")
        return out if self.lib.phx_pool_take_empty_segment(self.c, out) else None

    def sync(self) -> None:
        self.lib.phx_pool_sync_end(self.c, self.lib.phx_pool_sync_begin(self.c))

    def adopt(self, source: int, to: int) -> int:
        moved = self.ffi.new("uint64_t *")
        assert self.lib.phx_pool_adopt_stream(self.c, source, to, moved) == 0
        return int(moved[0])

    def address(self, block: Any) -> tuple[int, int, int]:
        handle = int(self.ffi.cast("uintptr_t", block.handle))
        return handle, block.offset, block.offset + block.size


@pytest.fixture
def make_pool(built: Any) -> Callable[..., Pool]:
    """``make_pool(limit=0, alignment=256)`` -> an empty pool."""
    return partial(Pool, built)


@pytest.fixture
def pool(make_pool: Callable[..., Pool]) -> Pool:
    return make_pool()
