"""Large copies to and from a device with memory of its own, through the runtime's pinned memory."""

from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

import numpy as np
from phalanx.vendor import SLOT_SIZE, Slot, Staging

from .queue import Queue, still_runs


class _Slot(Slot):
    """A buffer that the runtime pins, mapped once and for all."""

    def __init__(self, cl: ModuleType, context: Any, queue: Any) -> None:
        self._cl = cl
        flags, ways = cl.mem_flags, cl.map_flags
        self._buffer = cl.Buffer(context, flags.READ_WRITE | flags.ALLOC_HOST_PTR, SLOT_SIZE)
        self.room, _ = cl.enqueue_map_buffer(
            queue, self._buffer, ways.READ | ways.WRITE, 0, (SLOT_SIZE,), np.uint8, is_blocking=True
        )
        self.address = self.room.ctypes.data
        self.event: Any = None

    def is_idle(self) -> bool:
        return self.event is None or not still_runs(self._cl, self.event)

    def settle(self) -> None:
        event, self.event = self.event, None
        if event is not None:
            with contextlib.suppress(self._cl.Error):
                event.wait()


class OpenCLStaging(Staging[_Slot]):
    """The pinned memory of one device. Safe from any thread."""

    def __init__(self, cl: ModuleType, context: Any, device: Any) -> None:
        self._cl = cl

        def make() -> _Slot:
            # Mapping waits for its queue, so it has one of its own.
            return _Slot(self._cl, context, self._cl.CommandQueue(context, device))

        super().__init__(make, (cl.Error,))

    def send_to(self, buffer: Any, offset: int, address: int, size: int, queue: Queue) -> bool:
        """Copy to a buffer; see `Staging.send`.

        Raises:
            pyopencl.Error: a command was refused. What is on its way goes on; nothing is lost.
            LaunchError: an earlier command of the queue failed; the message names it.
        """

        def put(slot: _Slot, start: int, length: int) -> None:
            slot.event = queue.put(
                f"copy of {size} bytes",
                self._cl.enqueue_copy,
                buffer,
                slot.room[:length],
                dst_offset=offset + start,
                is_blocking=False,
            )

        return self.send(address, size, put)

    def fetch_from(self, buffer: Any, offset: int, address: int, size: int, queue: Queue) -> bool:
        """Copy to the host; see `Staging.fetch`.

        Raises: as `send_to`.
        """

        def put(slot: _Slot, start: int, length: int) -> None:
            slot.event = queue.put(
                f"copy of {size} bytes",
                self._cl.enqueue_copy,
                slot.room[:length],
                buffer,
                src_offset=offset + start,
                is_blocking=False,
            )

        return self.fetch(address, size, put, lambda slot: queue.wait_for(slot.event))
