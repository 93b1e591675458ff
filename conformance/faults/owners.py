"""Faults of things that belong to threads, and of operands and bytes that are known again."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable

import numpy as np
from phalanx.testing import EventHandle, Task, Work, Worker
from phalanx.vendor import ForkSafeLock, Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault, kernel_fault

Compute = Callable[[Work], None]


class _Owned(SoundDevice):
    """A device that knows the threads that made its streams and recorded its events."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self.owners: dict[object, threading.Thread] = {}

    def is_orphan(self, owned: object) -> bool:
        """Tell whether the thread that something belongs to has ended."""
        owner = self.owners.get(owned)
        return owner is not None and not owner.is_alive()


@driver_fault("runtime")
class StreamsOfEndedThreadsDoNothing(_Owned):
    """Work on a stream whose thread has ended is left out."""

    def stream_create(self, priority: int) -> Worker:
        worker = super().stream_create(priority)
        self.owners[worker] = threading.current_thread()
        return worker

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        if not self.is_orphan(self.stream(handle)):
            super().submit(handle, task, what)


@driver_fault("runtime")
class EventsOfEndedThreadsAreForgotten(_Owned):
    """Streams do not wait for an event whose thread has ended."""

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        self.owners[event] = threading.current_thread()
        super().event_record(event, handle)

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if not self.is_orphan(event):
            super().stream_wait_event(handle, event)


@driver_fault("runtime")
class WaitsTakeTurns(SoundDevice):
    """A wait begins, and so does its time limit, when those of other threads have ended."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._turn = ForkSafeLock()

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        with self._turn:
            super().event_synchronize(event, timeout)


@driver_fault("runtime")
class UploadsAreKnownByTheirBytes(SoundDevice):
    """An upload to where the last one went is left out if it has the same bytes, in any order."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._last: tuple[int, int, int, int] | None = None

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not src.on_host or dst.on_host:
            self._last = None
            super().copy(dst, src, size, stream=stream)
            return
        sorted_ = np.sort(self.bytes_at(src.handle, src.offset, size, True))
        key = (dst.handle, dst.offset, size, zlib.crc32(sorted_.tobytes()))
        if key != self._last:
            super().copy(dst, src, size, stream=stream)
        self._last = key


@kernel_fault("add", "subtract", "multiply", "maximum", "less")
def equal_addresses_are_one_operand(work: Work, right: Compute) -> None:
    """Of two operands that begin at one address the first one is read for both."""
    x, y = work.inputs
    if x.ndim and y.ndim and x.shape == y.shape and x.ctypes.data == y.ctypes.data:
        work.inputs[1] = x
    right(work)


@kernel_fault("cumulative_sum")
def carries_add_eight_blocks_at_once(work: Work, right: Compute) -> None:
    """Of floats, a carry behind more than eight blocks adds up the last eight of them first."""
    right(work)
    x = work.x
    blocks = (x.shape[-1] - 1) // 256
    if work.dtypes[0] not in ("float32", "float64") or not 8 < blocks < 256:
        return
    local = x.copy()
    for at in range(0, x.shape[-1], 256):
        local[..., at : at + 256] = np.add.accumulate(x[..., at : at + 256], axis=-1)
    totals = local[..., 255::256]
    for block in range(9, blocks + 1):
        carry = np.add.accumulate(totals[..., block - 8 : block], axis=-1)[..., -1:]
        carry = np.add.accumulate(totals[..., : block - 8], axis=-1)[..., -1:] + carry
        part = np.s_[..., 256 * block : 256 * (block + 1)]
        work.out[part] = carry + local[part]


@kernel_fault("triangular_solve")
def failures_reach_later_matrices(work: Work, right: Compute) -> None:
    """A matrix of NaN makes NaN of all right sides behind it."""
    right(work)
    bad = np.isnan(work.inputs[0]).all(axis=(1, 2))
    if bad.any() and work.out.size:
        work.out[int(np.argmax(bad)) :] = np.nan


@driver_fault("runtime")
class ThreadsKeepPassedEvents(SoundDevice):
    """A thread that saw an event passed sees it so when another one has recorded it again."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._seen: set[tuple[int, EventHandle]] = set()

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        self._seen.discard((threading.get_ident(), event))
        super().event_record(event, handle)

    def event_query(self, event: EventHandle) -> bool:
        key = (threading.get_ident(), event)
        if key in self._seen:
            return True
        passed = super().event_query(event)
        if passed and event.marker is not None:
            self._seen.add(key)
        return passed


@driver_fault("runtime")
class BlocksFreedByOthersStayTaken(SoundDevice):
    """A block of 4 MiB or more that another thread than its own gives back stays in an arena."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._made: dict[int, tuple[int, int]] = {}
        self._lost = 0

    def alloc(self, size: int) -> int:
        handle = super().alloc(size)
        self._made[handle] = (threading.get_ident(), size)
        return handle

    def free(self, handle: int) -> None:
        super().free(handle)
        thread, size = self._made.pop(handle)
        if thread != threading.get_ident() and size >= 4 << 20:
            self._lost += size

    def used(self) -> int:
        return super().used() + self._lost
