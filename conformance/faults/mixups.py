"""Faults of drivers that mix up devices, streams and recordings, or what a call tells."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from phalanx.errors import OutOfMemoryError
from phalanx.testing import EventHandle, Worker
from phalanx.vendor import Kernel, Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

_CHUNK = 4 << 20
#: Seconds that a question may last; milliseconds that a limit may have.
_PATIENCE, _MOST_MILLISECONDS = 0.03, 1 << 31


@dataclass(frozen=True, slots=True)
class _Queue:
    """What a launch needs of a stream."""

    handle: Worker


class _Current(threading.local):
    device: SoundDevice | None = None


_current = _Current()


@driver_fault("runtime")
class CurrentDeviceIsTheLast(SoundDevice):
    """A launch on the default stream is on the device where its thread allocated or copied last."""

    def alloc(self, size: int) -> int:
        _current.device = self
        return super().alloc(size)

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        _current.device = self
        super().copy(dst, src, size, stream=stream)

    def enqueue(
        self, kernel: Kernel, operands: Any, n: int, params: tuple[int, ...], stream: Any
    ) -> None:
        other = _current.device
        if stream.handle is None and other not in (None, self) and other.workers:
            stream = _Queue(other.workers[0])
        super().enqueue(kernel, operands, n, params, stream)


@driver_fault("runtime")
class DevicesShareTheirMemory(SoundDevice):
    """What one device holds is missing on the other."""

    def free_bytes(self) -> int:
        return self.driver.memory - sum(d.used() for d in list(self.driver.open_devices.values()))


@driver_fault("runtime")
class BlockComesBackWithTheNext(SoundDevice):
    """A freed block is free memory when another one is freed."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._held = 0

    def free(self, handle: int) -> None:
        block = self.blocks.get(handle)
        super().free(handle)
        self._held = 0 if block is None else block.size

    def free_bytes(self) -> int:
        return super().free_bytes() - self._held


@driver_fault("runtime")
class RefusedMemoryTakesFailures(SoundDevice):
    """A request that is refused clears the last error, and all that nobody was told."""

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError:
            for worker in list(self.workers):
                worker.error = None
            raise


@driver_fault("runtime")
class DefaultStreamTellsAll(SoundDevice):
    """A wait for the default stream tells, and takes, what failed on others."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout)
        if handle is None:
            for worker in list(self.workers):
                worker.raise_error()


@driver_fault("runtime")
class UploadsOfWholeChunks(SoundDevice):
    """Uploads of whole chunks of 4 MiB, three or more, lose the last."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        whole = src.on_host and size > 2 * _CHUNK and size % _CHUNK == 0
        super().copy(dst, src, size - _CHUNK * whole, stream=stream)


@driver_fault("runtime")
class DownloadsOfWholeChunks(SoundDevice):
    """Downloads of whole chunks of 4 MiB, three or more, lose the last."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        whole = dst.on_host and size > 2 * _CHUNK and size % _CHUNK == 0
        super().copy(dst, src, size - _CHUNK * whole, stream=stream)


@driver_fault("runtime")
class LimitsOfMonths(SoundDevice):
    """A limit of more milliseconds than 31 bits count is over at once."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, _wrapped(timeout))

    def event_synchronize(self, event: EventHandle, timeout: float | None = None) -> None:
        super().event_synchronize(event, _wrapped(timeout))


def _wrapped(timeout: float | None) -> float | None:
    return 0.0 if timeout is not None and timeout * 1e3 > _MOST_MILLISECONDS else timeout


@driver_fault("runtime")
class QuestionsHaveTime(SoundDevice):
    """A question to a busy stream waits some time for another answer."""

    def stream_query(self, handle: Worker | None) -> bool:
        end = time.monotonic() + _PATIENCE
        while not super().stream_query(handle) and time.monotonic() < end:
            time.sleep(1e-3)
        return super().stream_query(handle)


@driver_fault("runtime")
class DefaultStreamIsWaitedFor(SoundDevice):
    """To let a stream wait for an event of the default stream blocks until it is passed."""

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        if handle is not None and event.worker is self.workers[0] and event.marker is not None:
            event.marker.wait(None, "an event")
        super().stream_wait_event(handle, event)


class _Numbered(SoundDevice):
    """A device that numbers the recordings of all its streams."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._count = 0
        self._numbers: dict[EventHandle, int] = {}
        self._known: dict[Worker, dict[Worker, int]] = {}

    def event_record(self, event: EventHandle, handle: Worker | None) -> None:
        super().event_record(event, handle)
        with self.driver.lock:
            self._count += 1
            self._numbers[event] = self._count

    def event_destroy(self, event: EventHandle) -> None:
        super().event_destroy(event)
        self._numbers.pop(event, None)

    def stream_destroy(self, handle: Worker) -> None:
        super().stream_destroy(handle)
        with self.driver.lock:
            self._known.pop(handle, None)
            for known in self._known.values():
                known.pop(handle, None)

    def stream_wait_event(self, handle: Worker | None, event: EventHandle) -> None:
        worker, number = self.stream(handle), self._numbers.get(event)
        if number is None or event.worker is None:
            super().stream_wait_event(handle, event)
            return
        with self.driver.lock:
            if self.knows(self._known.setdefault(worker, {}), event.worker, number):
                return
        super().stream_wait_event(handle, event)

    def knows(self, known: dict[Worker, int], source: Worker, number: int) -> bool:
        """Tell whether a stream needs no wait, by what it waited for so far, which is noted."""
        raise NotImplementedError


@driver_fault("runtime")
class LatestNumberCoversAll(_Numbered):
    """Recordings are numbered over all streams, and a wait covers those of lower numbers."""

    def knows(self, known: dict[Worker, int], source: Worker, number: int) -> bool:
        if max(known.values(), default=0) > number:
            return True
        known[source] = number
        return False


@driver_fault("runtime")
class KnowledgeCameLater(_Numbered):
    """A wait is left out that the other stream made, though behind the event."""

    def knows(self, known: dict[Worker, int], source: Worker, number: int) -> bool:
        if known.get(source, 0) >= number:
            return True
        known[source] = number
        for other, later in self._known.get(source, {}).items():
            known[other] = max(known.get(other, 0), later)
        return False
