"""Allocators that wrap another one and add one duty each.

The default allocator of a device is its caching ``Pool``. An adaptor takes an ``upstream`` and is
put in place with ``set_allocator``; buffers keep their memory until they die.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass

from phalanx._warm import Buffer, Device, Pool, Stream
from phalanx.errors import OutOfMemoryError

from .locks import ForkSafeLock


class Allocator(ABC):
    """Gives buffers; taking them back is the buffer's own business when it dies.

    Examples:
        >>> class Rounding(px.Allocator):
        ...     def allocate(self, size, *, stream):
        ...         return self.upstream.allocate(-(-size // 4096) * 4096, stream=stream)
        >>> stream = px.current_stream()
        >>> Rounding(stream.device.pool).allocate(100, stream=stream).size
        4096
    """

    def __init__(self, upstream: Allocator | Pool) -> None:
        self.upstream = upstream

    @abstractmethod
    def allocate(self, size: int, *, stream: Stream) -> Buffer:
        """Return a buffer of ``size`` bytes (0 is legal) for use on ``stream``.

        Raises:
            OutOfMemoryError: with the verdict.
        """


def set_allocator(allocator: Allocator | None, device: str | Device) -> Allocator | None:
    """Let a device allocate through an adaptor, or ``None``: from its pool; return the former.

    Examples:
        >>> device = px.current_stream().device
        >>> counting = px.StatisticsAllocator(device.pool)
        >>> former = px.set_allocator(counting, device)
        >>> x = px.zeros(100, dtype=px.float32)
        >>> px.set_allocator(former, device) is counting, counting.statistics.used
        (True, 400)
    """
    from phalanx.discovery.devices import find_device

    if allocator is not None and not isinstance(allocator, Allocator):
        raise TypeError(
            f"an allocator is a phalanx.Allocator or None, got {type(allocator).__name__}"
        )
    where = find_device(device)
    where.ensure_open()
    former: Allocator | None = where.allocator
    where.allocator = allocator
    return former


class LimitAllocator(Allocator):
    """Refuses to have more than ``limit`` bytes in use at once through this adaptor.

    Examples:
        >>> stream = px.current_stream()
        >>> limited = px.LimitAllocator(stream.device.pool, limit=1000)
        >>> buffer = limited.allocate(800, stream=stream)
        >>> limited.allocate(800, stream=stream)
        Traceback (most recent call last):
        phalanx.errors.OutOfMemoryError: ... 800 bytes do not fit: 800 of 1000 bytes are in use ...
    """

    def __init__(self, upstream: Allocator | Pool, limit: int) -> None:
        super().__init__(upstream)
        if isinstance(limit, bool) or not isinstance(limit, int):
            raise TypeError(f"a limit is a number of bytes, got {limit!r}")
        if limit <= 0:
            raise ValueError(f"a limit is a positive number of bytes, got {limit}")
        self.limit = limit
        self.used = 0
        self._lock = ForkSafeLock()

    def allocate(self, size: int, *, stream: Stream) -> Buffer:
        """Allocate if the limit leaves room; raises ``OutOfMemoryError`` (verdict ``limit``)."""
        with self._lock:
            if self.used + size > self.limit:
                raise OutOfMemoryError(
                    f"{stream.device}: {size} bytes do not fit: {self.used} of {self.limit} bytes "
                    "are in use through this LimitAllocator",
                    remedy="free arrays or raise the limit",
                    size=size,
                    verdict="limit",
                )
            self.used += size
        try:
            buffer = self.upstream.allocate(size, stream=stream)
        except BaseException:
            self._give(size)
            raise
        buffer.on_release(lambda: self._give(size))
        return buffer

    def _give(self, size: int) -> None:
        self.used -= size  # no lock: a finaliser may run while this thread holds it


@dataclass(slots=True)
class Statistics:
    """What went through a ``StatisticsAllocator``: bytes and calls."""

    used: int = 0
    peak: int = 0
    total: int = 0
    allocations: int = 0
    releases: int = 0
    failures: int = 0


class StatisticsAllocator(Allocator):
    """Counts what goes through it; read ``statistics``.

    Examples:
        >>> stream = px.current_stream()
        >>> counting = px.StatisticsAllocator(stream.device.pool)
        >>> buffer = counting.allocate(800, stream=stream)
        >>> counting.statistics
        Statistics(used=800, peak=800, total=800, allocations=1, releases=0, failures=0)
    """

    def __init__(self, upstream: Allocator | Pool) -> None:
        super().__init__(upstream)
        self.statistics = Statistics()

    def allocate(self, size: int, *, stream: Stream) -> Buffer:
        """Allocate and count."""
        counts = self.statistics
        try:
            buffer = self.upstream.allocate(size, stream=stream)
        except OutOfMemoryError:
            counts.failures += 1
            raise
        counts.allocations += 1
        counts.used += size
        counts.total += size
        counts.peak = max(counts.peak, counts.used)
        buffer.on_release(lambda: self._give(size))
        return buffer

    def _give(self, size: int) -> None:
        self.statistics.used -= size
        self.statistics.releases += 1


class TrackingAllocator(Allocator):
    """Remembers where each live buffer was allocated; ``report()`` names the leaks.

    Examples:
        >>> stream = px.current_stream()
        >>> tracking = px.TrackingAllocator(stream.device.pool)
        >>> leak = tracking.allocate(800, stream=stream)
        >>> [size for size, stack in tracking.report()]
        [800]
    """

    def __init__(self, upstream: Allocator | Pool, *, depth: int = 8) -> None:
        super().__init__(upstream)
        self.depth = depth
        self._live: dict[int, tuple[int, traceback.StackSummary]] = {}
        self._next = 0

    def allocate(self, size: int, *, stream: Stream) -> Buffer:
        """Allocate and remember the call stack."""
        buffer = self.upstream.allocate(size, stream=stream)
        number, self._next = self._next, self._next + 1
        self._live[number] = (
            size,
            traceback.StackSummary.from_list(traceback.extract_stack(limit=self.depth + 1)[:-1]),
        )
        buffer.on_release(lambda: self._live.pop(number, None))
        return buffer

    def report(self) -> list[tuple[int, str]]:
        """Return size and call stack of every live buffer, largest first."""
        entries = sorted(self._live.values(), key=lambda e: -e[0])
        return [(size, "".join(stack.format())) for size, stack in entries]


class FaultInjectionAllocator(Allocator):
    """Fails on purpose, to test how a program survives: the n-th allocation and then every m-th.

    Examples:
        >>> stream = px.current_stream()
        >>> faulty = px.FaultInjectionAllocator(stream.device.pool, first=2)
        >>> buffer = faulty.allocate(800, stream=stream)
        >>> faulty.allocate(800, stream=stream)
        Traceback (most recent call last):
        phalanx.errors.OutOfMemoryError: ... allocation 2 of 800 bytes fails on purpose ...
    """

    def __init__(self, upstream: Allocator | Pool, *, first: int, every: int = 0) -> None:
        super().__init__(upstream)
        if first < 1 or every < 0:
            raise ValueError(f"first counts from 1 and every from 0, got {first} and {every}")
        self.first = first
        self.every = every
        self.calls = 0

    def allocate(self, size: int, *, stream: Stream) -> Buffer:
        """Allocate, or raise the ``OutOfMemoryError`` that is due."""
        self.calls += 1
        late = self.calls - self.first
        if late == 0 or (late > 0 and self.every and late % self.every == 0):
            raise OutOfMemoryError(
                f"{stream.device}: allocation {self.calls} of {size} bytes fails on purpose "
                "(FaultInjectionAllocator)",
                size=size,
                verdict="genuine",
            )
        return self.upstream.allocate(size, stream=stream)
