"""Faults of a device whose results depend on who asks, or on what else it has and does."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
from phalanx.driver import Capability
from phalanx.testing import HostArray, Task, Work, Worker
from phalanx.vendor import Kernel, Place, Stream

from .device import MEMORY, SoundDevice, SoundDriver
from .fault import driver_fault

_FEW_STREAMS = 7
#: Bytes of copies that go through a buffer.
_LEAST, _MOST = 1 << 15, 1 << 20


class _Otherwise(SoundDevice):
    """Runs one op on reversed rows where something is so: sums have other roundings there."""

    op = "sum"

    def is_so(self) -> bool:
        raise NotImplementedError

    def run(self, work: Work) -> None:
        super().run(work)
        if work.op == self.op and work.dtypes[0] == "float32" and self.is_so():
            first, second = work.x, work.inputs[-1]
            if self.op == "matmul":
                work.out[...] = first[..., ::-1] @ second[..., ::-1, :]
            else:
                work.out[...] = np.add.reduce(first[..., ::-1], axis=-1, dtype=np.float32)


@driver_fault("determinism")
class SumDependsOnTheMemory(_Otherwise):
    """A sum has fewer partial sums where more than half of the memory is in use."""

    def is_so(self) -> bool:
        return self.free_bytes() < MEMORY // 2


@driver_fault("determinism")
class SumDependsOnTheStreams(_Otherwise):
    """A sum has as many partial sums as a stream has units, which many streams share."""

    def is_so(self) -> bool:
        return len(self.workers) > _FEW_STREAMS


@driver_fault("determinism")
class ProductDependsOnTheThreads(_Otherwise):
    """Each thread adds its part of a product, and their number can be set."""

    op = "matmul"
    count = 2

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self.capabilities |= Capability.THREADS

    def threads(self, count: int | None = None) -> int:
        if count is not None:
            self.count = count or 2
        return self.count

    def is_so(self) -> bool:
        return self.count != 2


@driver_fault("determinism")
class SumDependsOnFailures(_Otherwise):
    """After a failure a sum is made by another kernel, to be safe."""

    failed = False

    def is_so(self) -> bool:
        return self.failed

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        def noted() -> None:
            try:
                task()
            except BaseException:
                self.failed = True
                raise

        super().submit(handle, noted, what)


@driver_fault("determinism")
class SumDependsOnTheCaller(_Otherwise):
    """A thread that is not the first to launch has a handle of its own, with other defaults."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._first = 0
        self._others: set[int] = set()
        self._is_other = False

    def enqueue(
        self, kernel: Kernel, operands: Any, n: int, params: tuple[int, ...], stream: Stream
    ) -> None:
        caller = threading.get_ident()
        self._first = self._first or caller
        if caller != self._first and kernel.op == self.op:
            self._others.add(id(operands[-1]))
        super().enqueue(kernel, operands, n, params, stream)

    def run(self, work: Work) -> None:
        self._is_other = id(work.operands[-1]) in self._others
        self._others.discard(id(work.operands[-1]))
        super().run(work)

    def is_so(self) -> bool:
        return self._is_other


@driver_fault("runtime")
class FailuresShareOneSlot(SoundDevice):
    """A failure is lost while that of another stream waits to be told."""

    _untold: Worker | None = None

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        worker = handle or self.workers[0]

        def once() -> None:
            try:
                task()
            except BaseException:
                other = self._untold
                if other is None or other is worker or other.error is None:
                    self._untold = worker
                    raise

        super().submit(handle, once, what)


@driver_fault("runtime")
class DownloadsShareOneBuffer(SoundDevice):
    """All streams copy to the host through one buffer."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._buffer: HostArray = np.zeros(_MOST, np.uint8)

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not dst.on_host or src.on_host or not _LEAST <= size <= _MOST:
            super().copy(dst, src, size, stream=stream)
            return

        def task() -> None:
            self._buffer[:size] = self.bytes_at(src.handle, src.offset, size)
            time.sleep(0)
            self.bytes_at(dst.handle, dst.offset, size, True)[:] = self._buffer[:size]

        self.submit(stream.handle, task, f"copy of {size} bytes")
