"""Faults in what a driver says of itself: free memory, names, numbers, clocks."""

from __future__ import annotations

import time
from dataclasses import replace

from phalanx.driver import DeviceInfo
from phalanx.errors import OutOfMemoryError
from phalanx.testing import EventHandle, Worker

from .device import SoundDevice, SoundDriver
from .fault import driver_fault


@driver_fault("runtime")
class RefusedMemoryIsTaken(SoundDevice):
    """Each request that was refused takes some memory, which does not come back."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._lost = 0

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError:
            self._lost += self.driver.memory // 256
            raise

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        return max(free - self._lost, 0), total


@driver_fault("runtime")
class FreeMemoryAboveTheTotal(SoundDevice):
    """Free memory counts that of the host, too."""

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        return free + total, total


@driver_fault("runtime")
class FreeMemoryNeverGrows(SoundDevice):
    """Free memory is the least that was ever free."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._least = driver.memory

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        self._least = min(free, self._least)
        return self._least, total


@driver_fault("runtime")
class NameWithItsBuffer(SoundDriver):
    """The name of a device has the rest of its buffer behind it."""

    def device_info(self, index: int) -> DeviceInfo:
        return replace(super().device_info(index), name=f"Device {index}\0\0\0")


@driver_fault("runtime")
class DlpackIdsShared(SoundDriver):
    """Two devices have one id in DLPack."""

    def device_info(self, index: int) -> DeviceInfo:
        return replace(super().device_info(index), dlpack_device=(12, 0))


@driver_fault("runtime")
class DlpackIdOfTheHost(SoundDriver):
    """A device with memory of its own has the id of the host in DLPack."""

    def device_info(self, index: int) -> DeviceInfo:
        return replace(super().device_info(index), dlpack_device=(1, index))


@driver_fault("runtime")
class ClockOfWholeMilliseconds(SoundDevice):
    """The time between two events is a whole number of milliseconds."""

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        return round(super().event_elapsed(begin, end), 3)


@driver_fault("runtime")
class TimeOfTheCall(SoundDevice):
    """The time of an event is that of the call that recorded it, before its stream came there."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._times: dict[EventHandle, float] = {}

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        self._times[event] = time.perf_counter()
        super().event_record(event, handle)

    def event_elapsed(self, begin: EventHandle, end: EventHandle) -> float:
        super().event_elapsed(begin, end)
        return self._times[end] - self._times[begin]
