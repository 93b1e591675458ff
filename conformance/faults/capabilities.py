"""Faults in what a driver says of itself, and devices that hang or die."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from phalanx._warm import Device, Kernel
from phalanx.driver import Capability, DeviceInfo, Feature, Layout
from phalanx.errors import LaunchError

from .device import SoundDriver
from .fault import driver_fault, kernel_fault
from .streams import EventHandle
from .work import REDUCTIONS, Work


@driver_fault("runtime")
class TimingStatedButMissing(SoundDriver):
    """The bit for the timing of events is set, but the call is not there."""

    def event_elapsed(self, index: int, begin: EventHandle, end: EventHandle) -> float:
        raise NotImplementedError(f"{self.name}: event_elapsed")


@driver_fault("runtime")
class TrimStatedButMissing(SoundDriver):
    """The bit for trimming is set, but the call is not there."""

    capabilities = SoundDriver.capabilities | Capability.TRIM


@driver_fault("runtime")
class StreamsThereButNotStated(SoundDriver):
    """The bit for streams is clear, but the calls are there and work."""

    capabilities = Capability(0)


@driver_fault("runtime")
class SynchronousButIsNot(SoundDriver):
    """The default stream is stated to be done when a call returns, but it runs behind."""

    def device_info(self, index: int) -> DeviceInfo:
        info = super().device_info(index)
        return replace(info, features=info.features | Feature.SYNCHRONOUS)


@driver_fault("ops", "hypot")
class SupportsMoreThanItHas(SoundDriver):
    """The device says that it supports `hypot`, but has no kernel for it."""

    def kernel(self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
        return None if op == "hypot" else super().kernel(index, op, dtypes, layout)

    def kernels(self, index: int) -> Iterable[Kernel]:
        return [kernel for kernel in super().kernels(index) if kernel.op != "hypot"]


@driver_fault("ops", "atan2")
class ListsKernelsItLacks(SoundDriver):
    """The list of kernels has some for `atan2` that are not found when they are asked for."""

    def kernel(self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
        return None if op == "atan2" else super().kernel(index, op, dtypes, layout)

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        return "not yet" if op == "atan2" else super().supports(index, op, dtypes)


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
class SubnormalsStatedButFlushed(SoundDriver):
    """Subnormals are stated to be kept; sums and products of float64 that are such are 0."""

    def run(self, work: Work) -> None:
        super().run(work)
        if work.op in ("add", "subtract", "multiply", "divide") and work.dtypes[-1] == "float64":
            small = np.abs(work.out) < np.finfo(np.float64).tiny
            work.out[small] = np.copysign(0.0, work.out[small])


@driver_fault("bitwise", "hypot")
class BitwiseStatedButContracted(SoundDriver):
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
    if work.dtypes[0] == "float64":
        os.kill(os.getpid(), signal.SIGSEGV)
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
