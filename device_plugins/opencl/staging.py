"""Large copies between the host and a device with memory of its own, through pinned memory.

A device reads and writes only memory that stays in place by itself. The pieces of a copy go through
two such slots in turn: while the device moves one, the host copies the other.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from phalanx.vendor import ForkSafeLock

from .queue import Queue, still_runs

#: Bytes of a slot: long enough that the cost of a command does not count, and far below a cache.
CHUNK = 4 << 20
#: Copies below this go to the runtime as they are.
LEAST = 1 << 20
#: Pairs of slots: as many copies can be on their way at once; further ones go unpinned.
MOST_PAIRS = 4


class _Slot:
    """Pinned memory of the host, and the last command that uses it."""

    __slots__ = ("_buffer", "_cl", "address", "event", "room")

    def __init__(self, cl: ModuleType, context: Any, queue: Any) -> None:
        self._cl = cl
        flags, ways = cl.mem_flags, cl.map_flags
        self._buffer = cl.Buffer(context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, CHUNK)
        self.room, _ = cl.enqueue_map_buffer(
            queue, self._buffer, ways.READ | ways.WRITE, 0, (CHUNK,), np.uint8, is_blocking=True
        )
        self.address: int = self.room.ctypes.data
        self.event: Any = None

    def is_idle(self) -> bool:
        """Return whether no command uses the slot."""
        return self.event is None or not still_runs(self._cl, self.event)

    def settle(self) -> None:
        """Wait until no command uses the slot; one that failed is told by its own queue."""
        event, self.event = self.event, None
        if event is not None:
            with contextlib.suppress(self._cl.Error):
                event.wait()


_Pair = tuple[_Slot, _Slot]


class Staging:
    """The pinned memory of one device: at most ``2 * MOST_PAIRS`` slots. Safe from any thread."""

    def __init__(self, cl: ModuleType, context: Any, device: Any) -> None:
        self._cl = cl
        self._context = context
        self._device = device
        self._lock = ForkSafeLock()
        self._free: list[_Pair] = []
        self._made = 0

    def send(self, buffer: Any, offset: int, address: int, size: int, queue: Queue) -> bool:
        """Copy to a buffer; False if there is no pinned memory at the moment.

        The host's memory has been read on return, and all but the last two pieces are done.

        Raises:
            pyopencl.Error: a command was refused. What is on its way goes on; nothing is lost.
            LaunchError: an earlier command of the queue failed; the message names it.
        """
        return self._move(self._send, buffer, offset, address, size, queue)

    def fetch(self, buffer: Any, offset: int, address: int, size: int, queue: Queue) -> bool:
        """Copy to the host; False if there is no pinned memory at the moment. Done on return.

        Raises: as `send`.
        """
        return self._move(self._fetch, buffer, offset, address, size, queue)

    def _move(
        self,
        move: Callable[[_Pair, Any, int, int, int, Queue], None],
        buffer: Any,
        offset: int,
        address: int,
        size: int,
        queue: Queue,
    ) -> bool:
        pair = self._take()
        if pair is None:
            return False
        try:
            move(pair, buffer, offset, address, size, queue)
        finally:
            with self._lock:
                self._free.append(pair)
        return True

    def _send(
        self, pair: _Pair, buffer: Any, offset: int, address: int, size: int, queue: Queue
    ) -> None:
        for slot, start, length in _pieces(pair, size):
            slot.settle()
            ctypes.memmove(slot.address, address + start, length)
            slot.event = queue.put(
                f"copy of {size} bytes",
                self._cl.enqueue_copy,
                buffer,
                slot.room[:length],
                dst_offset=offset + start,
                is_blocking=False,
            )

    def _fetch(
        self, pair: _Pair, buffer: Any, offset: int, address: int, size: int, queue: Queue
    ) -> None:
        behind: tuple[_Slot, int, int] | None = None
        for piece in (*_pieces(pair, size), None):
            if piece is not None:
                slot, start, length = piece
                slot.settle()
                slot.event = queue.put(
                    f"copy of {size} bytes",
                    self._cl.enqueue_copy,
                    slot.room[:length],
                    buffer,
                    src_offset=offset + start,
                    is_blocking=False,
                )
            if behind is not None:
                slot, start, length = behind
                queue.wait_for(slot.event)
                ctypes.memmove(address + start, slot.address, length)
            behind = piece

    def _take(self) -> _Pair | None:
        """Return a pair of slots: an idle one, else a new one, else one to be waited for."""
        with self._lock:
            idle = (pair for pair in self._free if pair[0].is_idle() and pair[1].is_idle())
            pair = next(idle, None)
            if pair is None and self._made >= MOST_PAIRS:
                pair = next(iter(self._free), None)
                if pair is None:
                    return None
            if pair is not None:
                self._free.remove(pair)
                return pair
            self._made += 1
        try:
            return self._make()
        except self._cl.Error:  # no memory to pin: the copy goes unpinned
            with self._lock:
                self._made -= 1
            return None

    def _make(self) -> _Pair:
        # Mapping waits for its queue, so it has one of its own.
        queue = self._cl.CommandQueue(self._context, self._device)
        return _Slot(self._cl, self._context, queue), _Slot(self._cl, self._context, queue)

    def trim(self) -> None:
        """Give the slots that no copy holds back to the system; waits for their last commands."""
        with self._lock:
            dropped, self._free = self._free, []
            self._made -= len(dropped)


def _pieces(pair: _Pair, size: int) -> Iterator[tuple[_Slot, int, int]]:
    """Return the pieces of a copy: slot, place and length in bytes."""
    for number, start in enumerate(range(0, size, CHUNK)):
        yield pair[number % 2], start, min(CHUNK, size - start)
