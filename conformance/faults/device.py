"""The sound device that the faulty ones are made from.

It is the reference device of `phalanx.testing` with the kernels of ``cpu:0``, so it conforms at
every level; all else is as far from ``cpu:0`` as a driver can be.
"""

from __future__ import annotations

from dataclasses import replace

from phalanx.dispatch.registry import ask_for_kernel
from phalanx.driver import DeviceInfo, Feature, Layout, Refusal
from phalanx.testing import ReferenceDevice, ReferenceDriver, Task, Work, Worker
from phalanx.vendor import Device, Kernel

from .work import compute

NAME = "faulty"
#: Bytes of each device.
MEMORY = 1 << 30
#: Seconds before a task on a stream other than the default one.
_LATENCY = 1e-4
_KEPT = Feature.FP64 | Feature.FP16 | Feature.SUBNORMALS


class SoundDevice(ReferenceDevice):
    """A device that computes as ``cpu:0`` does."""

    driver: SoundDriver

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        found = ask_for_kernel(self.driver.cpu, op, dtypes, layout)
        return found if isinstance(found, Refusal) else self.wrapped(found)

    def wrapped(self, found: Kernel) -> Kernel:
        """Return the device's kernel for one of ``cpu:0``."""
        return self.made(found.op, found.dtypes, found.layout, found.determinism, found.error_bound)

    def run(self, work: Work) -> None:
        compute(work, self.driver.cpu)

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        def named() -> None:
            try:
                task()
            except IndexError as error:
                raise IndexError(str(error).replace("cpu:0", self.name)) from error

        super().submit(handle, named, what)

    def stream_create(self, priority: int) -> Worker:
        worker = self.worker(f"stream of {self.name}", _LATENCY)
        self.workers.append(worker)
        return worker


class SoundDriver(ReferenceDriver):
    """Two devices; ``cpu`` is the opened ``cpu:0``."""

    def __init__(self, cpu: Device, device: type[SoundDevice] = SoundDevice) -> None:
        super().__init__(NAME, streams=True, memory=MEMORY, device=device)
        self.cpu = cpu

    def device_info(self, index: int) -> DeviceInfo:
        return replace(
            super().device_info(index),
            name=f"Device {index} of the self-test",
            features=self.cpu.info.features & _KEPT,
            max_allocation=MEMORY // 4,
            uuid=b"phalanx selftest"[:15] + bytes([index]),
        )

    def note(self, index: int, kernel: Kernel, shapes: tuple[tuple[int, ...], ...]) -> int:
        number = super().note(index, kernel, shapes)
        self.launches.clear()  # there will be many
        return number
