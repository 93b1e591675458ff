"""Large copies between the host and a CUDA device, through memory that the driver pins."""

from __future__ import annotations

import contextlib
from typing import Any

from phalanx.vendor import SLOT_SIZE, ForkSafeLock, Slot, Staging

from .api import Context, CudaError
from .queue import Queue, is_passed

_NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING
#: Numbers that a kernel tells the host at a time, and how often before the host has looked.
_WORDS, _ROOMS = 2, 256


class _Slot(Slot):
    """Pinned memory, and an event behind the last command that uses it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._memory = context.get("cuMemHostAlloc", "void *", SLOT_SIZE, 0)
        self.address = int(context.api.ffi.cast("uintptr_t", self._memory))
        try:
            self._event = context.get("cuEventCreate", "CUevent", _NO_TIMING)
        except CudaError:
            context.call("cuMemFreeHost", self._memory)
            raise
        self._is_used = False

    def is_idle(self) -> bool:
        return not self._is_used or is_passed(self._context, "cuEventQuery", self._event)

    def record(self, queue: Queue) -> None:
        """Note that the queue's last command uses the slot."""
        self._context.call("cuEventRecord", self._event, queue.raw)
        self._is_used = True

    def wait(self) -> None:
        """Wait for the last command; raises CudaError if the work before failed."""
        self._context.call("cuEventSynchronize", self._event)

    def settle(self) -> None:
        if self._is_used:
            self._is_used = False
            with contextlib.suppress(CudaError):
                self.wait()

    def free(self) -> None:
        with contextlib.suppress(CudaError):
            self._context.call("cuEventDestroy_v2", self._event)
            self._context.call("cuMemFreeHost", self._memory)


class Words:
    """A few numbers in pinned memory, on their way from the device."""

    def __init__(self, room: PinnedWords, place: int) -> None:
        self._room = room
        self._place = place

    def fetch(self, pointer: int, queue: Queue) -> None:
        """Enqueue the copy of the numbers at an address of the device; does not block."""
        self._room.copy(self._place, pointer, queue)

    def read(self) -> list[int]:
        """Return the numbers, whose copy is done, and give the room back."""
        return self._room.give_back(self._place)


class PinnedWords:
    """Room for what kernels tell the host, without a wait. Safe from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = ForkSafeLock()
        self._memory: Any = None
        self._free: list[int] = []

    def take(self, size: int) -> Words | None:
        """Return room for ``size`` bytes; ``None`` if there is none."""
        if size != _WORDS * 8:
            return None
        with self._lock:
            if self._memory is None:
                try:
                    self._memory = self._context.get("cuMemHostAlloc", "void *", _ROOMS * size, 0)
                except CudaError:
                    return None
                self._free = list(range(_ROOMS))
            return Words(self, self._free.pop()) if self._free else None

    def _at(self, place: int) -> Any:
        return self._context.api.ffi.cast("int64_t *", self._memory) + _WORDS * place

    def copy(self, place: int, pointer: int, queue: Queue) -> None:
        """Enqueue a copy to a place."""
        name = "cuMemcpyDtoHAsync_v2"
        function, size = self._context.api.function(name), _WORDS * 8
        code = queue.put("a check of indices", function, self._at(place), pointer, size, queue.raw)
        if code:
            self.give_back(place)
            raise self._context.api.error(code, name)

    def give_back(self, place: int) -> list[int]:
        """Return what is at a place, which is free then."""
        at = self._at(place)
        found = [int(at[i]) for i in range(_WORDS)]
        with self._lock:
            self._free.append(place)
        return found

    def close(self) -> None:
        """Give the memory back; nothing is on its way any more."""
        if self._memory is not None:
            self._context.call("cuMemFreeHost", self._memory)
            self._memory = None


class CudaStaging(Staging[_Slot]):
    """The pinned memory of one device. Safe from any thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        super().__init__(lambda: _Slot(context), (CudaError,))

    def send_to(self, pointer: int, address: int, size: int, queue: Queue) -> bool:
        """Copy to device memory; see `Staging.send`. Raises CudaError."""
        copy = self._context.api.function("cuMemcpyHtoDAsync_v2")
        return self.send(address, size, self._putter(copy, pointer, size, queue, to_device=True))

    def fetch_from(self, pointer: int, address: int, size: int, queue: Queue) -> bool:
        """Copy to the host; see `Staging.fetch`. Raises CudaError."""
        copy = self._context.api.function("cuMemcpyDtoHAsync_v2")
        put = self._putter(copy, pointer, size, queue, to_device=False)
        return self.fetch(address, size, put, _Slot.wait)

    def _putter(self, copy: Any, pointer: int, size: int, queue: Queue, *, to_device: bool) -> Any:
        name = "cuMemcpyHtoDAsync_v2" if to_device else "cuMemcpyDtoHAsync_v2"
        ffi = self._context.api.ffi

        def put(slot: _Slot, start: int, length: int) -> None:
            pinned = ffi.cast("void *", slot.address)
            ends = (pointer + start, pinned) if to_device else (pinned, pointer + start)
            code = queue.put(f"copy of {size} bytes", copy, *ends, length, queue.raw)
            if code:
                raise self._context.api.error(code, name)
            slot.record(queue)

        return put
