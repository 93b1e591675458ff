"""Memory of the host that a device works on in place: its own blocks, and borrowed ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from cffi import FFI

from .queue import Queue, still_runs

_ffi = FFI()
#: Blocks of the device's own begin at a page, as those of the runtimes do.
_PAGE = 4096
#: Blocks up to this size, which many small arrays share, have all their pages from the beginning.
#: Lanes beyond the end of an array are stores that store nothing; where there is no page yet, each
#: takes some 100 ns (PoCL 3.0 on an EPYC with AVX-512: `a + a` of 10 float64 37 us, not 3).
_TOUCHED = 2**21


class _Block(NamedTuple):
    """Where a block lies, and what keeps its memory."""

    address: int
    owner: Any


class _Retired(NamedTuple):
    """A block that nobody uses any more, but work that was enqueued before: its last commands."""

    events: tuple[Any, ...]
    buffer: Any
    block: _Block | None


class HostMemory:
    """The blocks in host memory of one device. Safe from any thread and from destructors.

    ``queues`` returns the device's queues: a released block is kept until their work is done,
    since a runtime that works in place does not own the memory that it works on.
    """

    def __init__(
        self,
        cl: ModuleType,
        context: Any,
        alignment: int,
        queues: Callable[[], Iterable[Queue]],
    ) -> None:
        self._cl = cl
        self._context = context
        self._alignment = alignment
        self._queues = queues
        self._blocks: dict[int, _Block] = {}
        self._retired: deque[_Retired] = deque()

    def alloc(self, size: int) -> Any:
        """Return a new buffer whose memory the host can reach.

        Raises:
            MemoryError: the host has no such block.
        """
        room = _aligned(size, max(self._alignment, _PAGE))
        if size <= _TOUCHED:
            room[::_PAGE] = 0
        return self._over(room.ctypes.data, size, room)

    def adopt(self, address: int, size: int, owner: Any) -> tuple[Any, int]:
        """Return a buffer over memory of ``owner``, and the place of ``address`` in it in bytes.

        The buffer reaches to whole multiples of the alignment, which stays within the same pages.
        """
        offset = address % self._alignment
        whole = -(-(offset + size) // self._alignment) * self._alignment
        return self._over(address - offset, whole, owner), offset

    def _over(self, address: int, size: int, owner: Any) -> Any:
        flags = self._cl.mem_flags
        buffer = self._cl.Buffer(
            self._context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=host_bytes(address, size)
        )
        self._blocks[buffer.int_ptr] = _Block(address, owner)
        return buffer

    def address(self, handle: int) -> int | None:
        """Return where a block begins, ``None`` if it is not one of these."""
        block = self._blocks.get(handle)
        return None if block is None else block.address

    def release(self, handle: int, buffer: Any) -> None:
        """Let go of a block as soon as the work so far is done; does not block."""
        events = tuple(e for q in self._queues() if (e := q.last_pending()) is not None)
        self._retired.append(_Retired(events, buffer, self._blocks.pop(handle, None)))
        self.collect()

    def collect(self) -> None:
        """Drop the released blocks whose work is done."""
        kept = []
        while self._retired:
            try:
                retired = self._retired.popleft()
            except IndexError:  # another thread was quicker
                break
            if any(still_runs(self._cl, event) for event in retired.events):
                kept.append(retired)
        self._retired.extend(kept)


def works_in_place(cl: ModuleType, context: Any, queue: Any, alignment: int) -> bool:
    """Return whether a device and the host see each other's writes to one block.

    OpenCL leaves a runtime free to copy a block of the host (3.0 API specification, section 5.2.1,
    CL_MEM_USE_HOST_PTR), so it is tried out with one that is aligned to just ``alignment`` bytes.
    """
    room = _aligned(3 * alignment, 2 * alignment)
    room[:] = 1
    block = room[alignment : 2 * alignment]
    flags = cl.mem_flags.READ_WRITE
    try:
        buffer = cl.Buffer(context, flags | cl.mem_flags.USE_HOST_PTR, hostbuf=block)
        cl.enqueue_fill_buffer(queue, buffer, b"\2", 0, alignment).wait()
        if not np.all(block == 2) or np.count_nonzero(room == 1) != 2 * alignment:
            return False
        block[:] = 3
        other = cl.Buffer(context, flags, alignment)
        cl.enqueue_copy(queue, other, buffer, byte_count=alignment)
        seen = np.empty_like(block)
        cl.enqueue_copy(queue, seen, other)
    except cl.Error:
        return False
    return bool(np.all(seen == 3))


def _aligned(size: int, alignment: int) -> Any:
    """Return ``size`` uninitialised bytes of the host at a multiple of ``alignment``."""
    room = np.empty(size + alignment, dtype=np.uint8)
    start = -room.ctypes.data % alignment
    return room[start : start + size]


def host_bytes(address: int, size: int) -> Any:
    """Return host memory as an object with the buffer protocol."""
    return _ffi.buffer(_ffi.cast("char *", address), size)
