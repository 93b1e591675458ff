"""What ops cost that a device computes by others: calls and launches, while a program runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from phalanx._warm import Device, Stream
from phalanx.runtime.locks import ForkSafeLock

_lock = ForkSafeLock()
#: The recordings that are under way, each by device, op and dtypes: calls and launches.
_under_way: list[dict[tuple[str, str, tuple[str, ...]], list[int]]] = []


@dataclass(frozen=True, slots=True)
class Decomposed:
    """An overload that a device computed by others.

    ``launches`` are those of all its calls, with those of what was decomposed inside of it, and
    with copies. A kernel of its own would need one launch for each call.
    """

    op: str
    dtypes: tuple[str, ...]
    device: str
    calls: int
    launches: int

    @property
    def saved(self) -> int:
        """The launches that a kernel of its own would spare."""
        return self.launches - self.calls


@contextmanager
def recorded_launches() -> Iterator[list[Decomposed]]:
    """Collect what devices compute by other ops inside the block, in all threads.

    The list is filled at the end of the block, what a kernel would spare most first.
    """
    counts: dict[tuple[str, str, tuple[str, ...]], list[int]] = {}
    found: list[Decomposed] = []
    with _lock:
        _under_way.append(counts)
    try:
        yield found
    finally:
        with _lock:
            _under_way[:] = [other for other in _under_way if other is not counts]
            entries = [
                Decomposed(op, dtypes, device, calls, launches)
                for (device, op, dtypes), (calls, launches) in counts.items()
            ]
        found += sorted(entries, key=lambda e: (-e.saved, e.op, e.dtypes))


@contextmanager
def counted(device: Device, op: str, dtypes: tuple[str, ...], stream: Stream) -> Iterator[None]:
    """Count one call and what it launches on its stream, if a recording is under way."""
    if not _under_way:
        yield
        return
    before = stream.timeline.seq
    yield
    launches = stream.timeline.seq - before
    with _lock:
        for counts in _under_way:
            entry = counts.setdefault((str(device), op, dtypes), [0, 0])
            entry[0] += 1
            entry[1] += launches
