"""Faults in what a driver says of itself, and devices that hang or die."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from phalanx.errors import LaunchError
from phalanx.testing import EventHandle, Work
from phalanx.vendor import (
    Array,
    Capability,
    Device,
    DeviceInfo,
    Feature,
    Kernel,
    Layout,
    Refusal,
    Stream,
)

from .device import SoundDevice, SoundDriver
from .fault import driver_fault, kernel_fault
from .work import REDUCTIONS


@driver_fault("runtime")
class TimingStatedButMissing(SoundDevice):
    """The bit for the timing of events is set, but the call is not there."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        raise NotImplementedError(f"{self.name}: event_elapsed")


@driver_fault("runtime")
class TrimStatedButMissing(SoundDevice):
    """The bit for trimming is set, but the call is not there."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self.capabilities |= Capability.TRIM


@driver_fault("runtime")
class ThreadsStatedButMissing(SoundDevice):
    """The bit for numbers of threads is set, but the call is not there."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self.capabilities |= Capability.THREADS


@driver_fault("runtime")
class StreamsThereButNotStated(SoundDevice):
    """The bit for streams is clear, but the calls are there and work."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self.capabilities = Capability(0)


@driver_fault("runtime")
class SynchronousButIsNot(SoundDriver):
    """The default stream is stated to be done when a call returns, but it runs behind."""

    def device_info(self, index: int) -> DeviceInfo:
        info = super().device_info(index)
        return replace(info, features=info.features | Feature.SYNCHRONOUS)


@driver_fault("ops", "hypot")
class KernelThatCannotBeLaunched(SoundDevice):
    """The device has a kernel for `hypot`, but does not launch it."""

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        if kernel.op == "hypot":
            raise LaunchError(f"{self.name}: hypot is not there yet")
        super().launch(kernel, inputs, outputs, params, stream=stream)


@driver_fault("runtime")
class AnswersOnKernelsChange(SoundDevice):
    """The device has a kernel for `atan2` at every other question for it."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._told: set[tuple[tuple[str, ...], Layout]] = set()

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        key = dtypes, layout
        if op == "atan2" and key in self._told:
            self._told.remove(key)
            return Refusal("not now")
        self._told.add(key)
        return super().kernel(op, dtypes, layout)


@driver_fault("runtime")
class PropertiesChange(SoundDriver):
    """A device states another UUID at every question."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._asked = 0

    def device_info(self, index: int) -> DeviceInfo:
        self._asked += 1
        return replace(super().device_info(index), uuid=self._asked.to_bytes(16, "little"))


@driver_fault("ops", "add", "multiply", "divide")
class SubnormalsStatedButFlushed(SoundDevice):
    """Subnormals are stated to be kept; sums and products of float64 that are such are 0."""

    def run(self, work: Work) -> None:
        super().run(work)
        if work.op in ("add", "subtract", "multiply", "divide") and work.dtypes[-1] == "float64":
            small = np.abs(work.out) < np.finfo(np.float64).tiny
            work.out[small] = np.copysign(0.0, work.out[small])


@driver_fault("bitwise", "hypot")
class BitwiseStatedButContracted(SoundDevice):
    """Float32 kernels of class `bitwise` for `hypot` end in another bit in some places."""

    def run(self, work: Work) -> None:
        super().run(work)
        if work.op == "hypot" and work.dtypes[-1] == "float32":
            bits = work.out.view(np.uint32)
            bits[np.isfinite(work.out) & (bits % 64 == 1)] -= 1


@kernel_fault("atan")
def kernel_hangs_once(work: Work, right: Callable[[Work], None]) -> None:
    """The first launch of `atan` after the fiftieth of all never ends."""
    if work.number > 50:
        threading.Event().wait()
    right(work)


@kernel_fault("asinh")
def device_dies(work: Work, right: Callable[[Work], None]) -> None:
    """A kernel for float64 ends the process by a signal."""
    if work.dtypes[0] == "float64":  # to this thread, which holds the lock: others stand still
        signal.pthread_kill(threading.get_ident(), signal.SIGSEGV)
    right(work)


@kernel_fault("acosh")
def driver_exits(work: Work, right: Callable[[Work], None]) -> None:
    """A driver ends the process, as if all were well, instead of returning an error."""
    if work.dtypes[0] == "float32":
        os._exit(0)
    right(work)


@kernel_fault(*REDUCTIONS)
def empty_launch_fails(work: Work, right: Callable[[Work], None]) -> None:
    """A reduction over nothing fails, as the device refuses a launch of no work-groups."""
    if work.x.size == 0:
        raise LaunchError("invalid global work size 0")
    right(work)
