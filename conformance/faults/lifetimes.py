"""Faults of lifetimes: memory of the host and of the device, calls, processes, and the log."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from dataclasses import replace
from functools import partial

from phalanx.errors import DriverCallError
from phalanx.testing import EventHandle, Task, Work, Worker
from phalanx.testing.work import Operands
from phalanx.vendor import Kernel, OpenDevice, Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

_log = logging.getLogger("phalanx.faulty")


@driver_fault("runtime")
class SourceReadWithTheNextCommand(SoundDevice):
    """Copies from the host are collected: each is done with the next command of its stream."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._late: dict[Worker, list[Task]] = {}

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        late = partial(super().copy, dst, src, size, stream=stream)
        if src.on_host:
            self._late.setdefault(self.stream(stream.handle), []).append(late)
        else:
            late()

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        for late in self._late.pop(self.stream(handle), ()):
            late()
        super().submit(handle, task, what)


@driver_fault("runtime")
class HostTargetWrittenAgain(SoundDevice):
    """A copy to the host is written a second time when the next copy comes."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._last: Task | None = None
        self._size = 0

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        last, self._last = self._last, None
        if last is not None and self._size == size:
            last()
        super().copy(dst, src, size, stream=stream)
        self._size = size
        if dst.on_host:
            self._last = partial(super().copy, dst, src, size, stream=stream)


@driver_fault("runtime")
class ParamsOfTheLastLaunch(SoundDevice):
    """Params lie in one place for all launches: one that waits in a queue takes the latest ones."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._params: dict[str, tuple[int, ...]] = {}

    def enqueue(
        self,
        kernel: Kernel,
        operands: Operands,
        n: int,
        params: tuple[int, ...],
        stream: Stream,
    ) -> None:
        self._params[kernel.op] = params
        super().enqueue(kernel, operands, n, params, stream)

    def run(self, work: Work) -> None:
        super().run(replace(work, params=self._params[work.op]))


@driver_fault("runtime")
class FreeDropsQueuedWork(SoundDevice):
    """Freeing a block throws away what waits in the queues."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._frees = 0

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        before = self._frees
        super().submit(handle, lambda: task() if before == self._frees else None, what)

    def free(self, handle: int) -> None:
        self._frees += 1
        super().free(handle)


@driver_fault("runtime")
class FreeNeedsWaiting(SoundDevice):
    """A block that a queue has used can be freed only after somebody has waited for the queue."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._used: dict[int, Worker] = {}

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        for place in (dst, src):
            if not place.on_host:
                self._used[place.handle] = self.stream(stream.handle)
        super().copy(dst, src, size, stream=stream)

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout)
        worker = self.stream(handle)
        self._used = {h: w for h, w in self._used.items() if w is not worker}

    def synchronize(self, timeout: float | None = None) -> None:
        super().synchronize(timeout)
        self._used.clear()

    def free(self, handle: int) -> None:
        if handle in self._used:
            raise DriverCallError(f"{self.name}: the block is in use")
        super().free(handle)


@driver_fault("runtime")
class ForkedChildWaits(SoundDevice):
    """In a forked child the queues are used as before, though their threads are not there."""

    def check(self) -> None:
        if os.getpid() == self._pid:
            super().check()


@driver_fault("runtime")
class FreeFailsInForkedChildren(SoundDevice):
    """In a forked child even memory cannot be given back."""

    def free(self, handle: int) -> None:
        self.check()
        super().free(handle)


@driver_fault("runtime")
class LogsInsideItsLock(SoundDevice):
    """Allocation writes to the log while it holds the lock that it needs."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._lock = threading.Lock()

    def alloc(self, size: int) -> int:
        with self._lock:
            _log.debug("%s: a block of %d bytes", self.name, size)
            return super().alloc(size)


@driver_fault("runtime")
class LogsFromItsQueueInsideTheLock(SoundDevice):
    """The threads of the queues write to the log while they hold the lock that launches need."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._lock = threading.Lock()

    def enqueue(
        self,
        kernel: Kernel,
        operands: Operands,
        n: int,
        params: tuple[int, ...],
        stream: Stream,
    ) -> None:
        with self._lock:
            super().enqueue(kernel, operands, n, params, stream)

    def run(self, work: Work) -> None:
        with self._lock:
            _log.debug("%s: %s", self.name, work.op)
        super().run(work)


@driver_fault("runtime")
class ReopenedLosesItsFirstLaunch(SoundDevice):
    """A device that was closed and opened again passes over the first launch it is given."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._loses = driver.opened.count(index) > 1

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        if self._loses and not what.startswith("copy"):
            self._loses = False
        else:
            super().submit(handle, task, what)


@driver_fault("runtime")
class PeerCopiesAtOnce(SoundDevice):
    """Copies from another device, which this one reaches, are done before what is queued here."""

    def reaches(self, other: OpenDevice) -> bool:
        return isinstance(other, SoundDevice)

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if isinstance(src.device, SoundDevice) and src.device is not self:
            source = src.device.bytes_at(src.handle, src.offset, size)
            self.bytes_at(dst.handle, dst.offset, size)[:] = source
        else:
            super().copy(dst, src, size, stream=stream)


@driver_fault("runtime")
class GrandchildWaitsForever(SoundDevice):
    """The child of a forked child is not told that the device is lost, and waits for no thread."""

    def check(self) -> None:
        if os.getpid() == self._pid or os.getppid() == self._pid:
            super().check()


@driver_fault("runtime")
class ForkLetsWaitsGo(SoundDevice):
    """A fork ends the waits for events that are in the queues of the parent."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._forks = 0
        alive = weakref.ref(self)

        def count() -> None:
            if (device := alive()) is not None:
                device._forks += 1

        os.register_at_fork(after_in_parent=count)

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        marker, forks = event.marker, self._forks

        def wait() -> None:
            while marker is not None and not marker.passed.wait(0.002) and self._forks == forks:
                pass

        self.stream(handle).put(wait)
