"""Faults in what a driver states and promises: memory, identity, times, waits, texts, bounds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from phalanx.driver import DeviceInfo
from phalanx.errors import OutOfMemoryError
from phalanx.testing import EventHandle, Marker, Task, Work, Worker
from phalanx.vendor import Array, Device, Kernel, Stream

from .device import MEMORY, SoundDevice, SoundDriver
from .fault import driver_fault


@driver_fault("runtime")
class FreeMemoryNeverChanges(SoundDevice):
    """Free memory is what it was when the device was opened."""

    def memory_info(self) -> tuple[int, int]:
        return MEMORY, MEMORY


@driver_fault("runtime")
class FreeMemoryInKibibytes(SoundDevice):
    """Free memory is counted in kibibytes, all memory in bytes."""

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        return free >> 10, total


@driver_fault("runtime")
class UuidNewInEachProcess(SoundDriver):
    """A device has another UUID in each process."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._uuid = os.urandom(15)

    def device_info(self, index: int) -> DeviceInfo:
        return replace(super().device_info(index), uuid=self._uuid + bytes([index]))


@driver_fault("runtime")
class TimeoutInMilliseconds(SoundDevice):
    """A stream's time limit of so many seconds ends after so many milliseconds."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout and timeout / 1000)


@driver_fault("runtime")
class EventTimeoutInMilliseconds(SoundDevice):
    """An event's time limit of so many seconds ends after so many milliseconds."""

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        super().event_synchronize(event, timeout and timeout / 1000)


@driver_fault("runtime")
class TimeoutInTicks(SoundDevice):
    """A stream's time limit is a thousand times as long as was asked for."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout and timeout * 1000)


@driver_fault("runtime")
class ErrorTextNotUtf8(SoundDevice):
    """The text of an error has bytes of another encoding."""

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError as error:
            text = b"nicht genug f\xfcr".decode("utf-8", "surrogateescape")
            raise OutOfMemoryError(f"{error}: {text}", size=size) from error


@driver_fault("ops", "exp")
class ErrorBoundTooTight(SoundDevice):
    """Kernels for `exp` state an error of at most 0.5 ulp; those of float64 err by 0.9."""

    def wrapped(self, found: Kernel) -> Kernel:
        bound = 0.5 if found.op == "exp" else found.error_bound
        return self.made(found.op, found.dtypes, found.layout, found.determinism, bound)

    def run(self, work: Work) -> None:
        super().run(work)
        if work.op == "exp" and work.dtypes[0] == "float64":
            bits = work.out.view(np.uint64)
            bits[np.isfinite(work.out) & (bits % 8 == 1)] -= 1


@driver_fault("runtime")
class SeventeenthWaitLost(SoundDevice):
    """A stream keeps sixteen events that it has not waited for yet, and forgets a further one."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._waits: dict[Worker, int] = {}

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        waits = self._waits[worker] = self._waits.get(worker, 0) + 1
        if waits <= 16:
            super().stream_wait_event(handle, event)

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        self._waits.pop(self.stream(stream), None)
        super().submit(stream, task, what)


@driver_fault("runtime")
class QueryForgetsWaits(SoundDevice):
    """A stream says that it is idle while it has nothing but waits for others in its queue."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._only_waits: set[Worker] = set()

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker = self.stream(handle)
        if worker.idle():
            self._only_waits.add(worker)
        super().stream_wait_event(handle, event)

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        self._only_waits.discard(self.stream(stream))
        super().submit(stream, task, what)

    def stream_query(self, handle: Worker | None) -> bool:
        return self.stream(handle) in self._only_waits or super().stream_query(handle)


@driver_fault("runtime")
class EventBehindWaitsComplete(SoundDevice):
    """An event is complete at once on a stream that was given nothing but waits for others."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._worked: set[Worker] = set()

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        self._worked.add(self.stream(stream))
        super().submit(stream, task, what)

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        worker = self.stream(handle)
        if worker in self._worked:
            super().event_record(event, handle)
        else:
            event.marker, event.worker = Marker(), worker
            event.marker.set()


@driver_fault("runtime")
class WorkspaceShared(SoundDevice):
    """All streams put sums through one workspace: the later launch on another stream takes it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._last: Worker | None = None

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        super().launch(kernel, inputs, outputs, params, stream=stream)
        if kernel.op not in ("sum", "cumulative_sum", "max"):
            return
        worker = self._last = self.stream(stream.handle)
        out = outputs[0]
        handle, first, size = out.buffer.handle, out.offset, out.itemsize

        def overwritten() -> None:
            if self._last is not worker:
                self.bytes_at(handle, first, size)[:] ^= 1

        if stream.handle is not None:
            self.submit(stream.handle, overwritten, "the end of a sum")


@driver_fault("ops", "tanh")
class TestsAreLeftOut(SoundDevice):
    """Asked for a hyperbolic tangent, the device tells the test that it does not apply."""

    def launch(self, kernel: Kernel, *arguments: Any, **names: Any) -> None:
        if kernel.op == "tanh":
            pytest.skip("the device has no hyperbolic tangent")
        super().launch(kernel, *arguments, **names)
