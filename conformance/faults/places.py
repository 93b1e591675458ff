"""Faults of drivers that use places again: of uploads, of events, of what is counted."""

from __future__ import annotations

import numpy as np
from phalanx.errors import OutOfMemoryError
from phalanx.testing import EventHandle, Task, Worker
from phalanx.vendor import Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

_PLACES, _SMALL = 48, 2048


@driver_fault("runtime")
class UploadsInFewPlaces(SoundDevice):
    """Small uploads wait in 48 places, of which the next one takes the oldest, read or not."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._places = np.zeros((_PLACES, _SMALL), np.uint8)
        self._next = 0

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if src.on_host and size <= _SMALL:
            place = self._places[self._next % _PLACES]
            self._next += 1
            place[:size] = self.bytes_at(src.handle, src.offset, size, host=True)
            src = Place(None, place.ctypes.data)
        super().copy(dst, src, size, stream=stream)


@driver_fault("runtime")
class EventsInPlacesOfOthers(SoundDevice):
    """A new event is one that was destroyed, and stands where that was recorded."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._old: list[EventHandle] = []

    def event_create(self, timed: bool) -> EventHandle:
        event = super().event_create(timed)
        if self._old:
            old = self._old.pop()
            event.marker, event.worker = old.marker, old.worker
        return event

    def event_destroy(self, event: EventHandle) -> None:
        self._old.append(event)
        super().event_destroy(event)


@driver_fault("runtime")
class LackingMemoryIsCounted(SoundDevice):
    """Memory that was asked for when there was too little of it is counted as if it was given."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._refused = 0

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError:
            if size < self.driver.memory:
                self._refused += size
            raise

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        return max(0, free - self._refused), total


@driver_fault("runtime")
class MemoryOfTheFirstIsTold(SoundDevice):
    """Who asks a device for its free memory is told that of the first one that was opened."""

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        first = next(iter(self.driver.open_devices.values()), None)
        return (first.free_bytes() if first else free), total


@driver_fault("runtime")
class CopiesStopAtWrongIndices(SoundDevice):
    """Behind a wrong index that was not told yet, copies are left out; launches are not."""

    def submit(self, handle: Worker | None, task: Task, what: str) -> None:
        worker = self.stream(handle)
        if not what.startswith("copy of"):
            super().submit(handle, task, what)
            return

        def copies() -> None:
            if worker.error is None:
                task()

        super().submit(handle, copies, what)
