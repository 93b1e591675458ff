"""Large copies between the host and a device with memory of its own, through pinned memory.

A device reads and writes only memory that stays in place by itself. The pieces of a copy go through
two such slots in turn: while the device moves one, threads of the host copy the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from .host_copy import copy_bytes
from .locks import ForkSafeLock

#: Bytes of a slot: long enough that the cost of a command does not count, and far below a cache.
SLOT_SIZE = 4 << 20
#: Copies below this go to the runtime as they are.
LEAST_STAGED = 1 << 20
#: Pairs of slots: as many copies can be on their way at once; further ones go unpinned.
MOST_PAIRS = 4


class Slot(ABC):
    """`SLOT_SIZE` bytes of the host's pinned memory at ``address``, and the last command on them.

    A driver derives its own.
    """

    address: int

    @abstractmethod
    def is_idle(self) -> bool:
        """Return whether no command uses the slot; does not block."""

    @abstractmethod
    def settle(self) -> None:
        """Wait until no command uses the slot; a failure is told by its own stream."""

    def free(self) -> None:
        """Give the memory back, of a slot that is settled; by default it goes with the slot."""
        return


S = TypeVar("S", bound=Slot)


class Staging(Generic[S]):
    """The pinned memory of one device: at most ``2 * MOST_PAIRS`` slots. Safe from any thread.

    ``make`` returns a new slot, and raises one of ``refusals`` where no memory can be pinned.
    """

    def __init__(self, make: Callable[[], S], refusals: tuple[type[Exception], ...]) -> None:
        self._make = make
        self._refusals = refusals
        self._lock = ForkSafeLock()
        self._free: list[tuple[S, S]] = []
        self._made = 0

    def send(self, address: int, size: int, put: Callable[[S, int, int], None]) -> bool:
        """Copy from the host; False if there is no pinned memory at the moment.

        ``put(slot, start, length)`` enqueues the copy of a piece from the slot to ``start`` bytes
        behind where the copy goes, and notes the command in the slot. What it raises ends the copy.
        The host's memory has been read on return, and all but the last two pieces are done.
        """
        pair = self._take()
        if pair is None:
            return False
        try:
            for slot, start, length in _pieces(pair, size):
                slot.settle()
                copy_bytes(slot.address, address + start, length)
                put(slot, start, length)
        finally:
            self._give_back(pair)
        return True

    def fetch(
        self,
        address: int,
        size: int,
        put: Callable[[S, int, int], None],
        wait: Callable[[S], None],
    ) -> bool:
        """Copy to the host; False if there is no pinned memory at the moment. Done on return.

        ``put`` is that of `send` in the other direction; ``wait`` waits for a slot's command and
        raises what failed.
        """
        pair = self._take()
        if pair is None:
            return False
        behind: tuple[S, int, int] | None = None
        try:
            for piece in (*_pieces(pair, size), None):
                if piece is not None:
                    piece[0].settle()
                    put(*piece)
                if behind is not None:
                    slot, start, length = behind
                    wait(slot)
                    copy_bytes(address + start, slot.address, length)
                behind = piece
        finally:
            self._give_back(pair)
        return True

    def _take(self) -> tuple[S, S] | None:
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
        slots: list[S] = []
        try:
            slots = [self._make()]
            slots.append(self._make())
        except self._refusals:  # no memory to pin: the copy goes unpinned
            for slot in slots:
                slot.free()
            return None
        finally:
            if len(slots) < 2:
                with self._lock:
                    self._made -= 1
        return slots[0], slots[1]

    def _give_back(self, pair: tuple[S, S]) -> None:
        with self._lock:
            self._free.append(pair)

    def trim(self) -> None:
        """Give the slots that no copy holds back to the system; waits for their last commands."""
        with self._lock:
            dropped, self._free = self._free, []
            self._made -= len(dropped)
        for pair in dropped:
            for slot in pair:
                slot.settle()
                slot.free()


def _pieces(pair: tuple[S, S], size: int) -> Iterator[tuple[S, int, int]]:
    """Return the pieces of a copy: slot, place and length in bytes."""
    for number, start in enumerate(range(0, size, SLOT_SIZE)):
        yield pair[number % 2], start, min(SLOT_SIZE, size - start)
