"""Streams and events of the OpenCL devices: the part of the driver that belongs to them."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator

from phalanx.driver import Driver
from phalanx.errors import DeviceLostError

from .opencl_device import OpenDevice
from .opencl_queue import Marker, Queue, check_timeout


@contextlib.contextmanager
def noting_loss(device: OpenDevice) -> Iterator[None]:
    """Remember a loss that a wait found, so that later calls say so at once."""
    try:
        yield
    except DeviceLostError:
        device.lost = device.lost or "while waiting for work"
        raise


class OpenCLStreams(Driver):
    """The calls of ``Capability.STREAMS`` and ``EVENT_TIMING``.

    The handle of a stream is a `Queue`, ``None`` the device's default queue; that of an event is a
    `Marker`.
    """

    @abstractmethod
    def _device(self, index: int) -> OpenDevice:
        """Return an open device; raises where it is not open or the process was forked."""

    @abstractmethod
    def _find(self, index: int) -> OpenDevice | None:
        """Return an open device or ``None``."""

    def stream_create(self, index: int, priority: int) -> Queue:
        """Return a new in-order queue; its priority is a hint that few runtimes take."""
        device = self._device(index)
        device.check()
        try:
            return device.new_queue(priority)
        except device.cl.Error as error:
            raise device.failure(error, "making a stream") from error

    def stream_destroy(self, index: int, handle: Queue) -> None:
        """Finish the work; the queue goes with its last reference."""
        device = self._find(index)
        if device is not None and not device.lost:
            with noting_loss(device):
                handle.finish(None)

    def stream_query(self, index: int, handle: Queue | None) -> bool:
        """Return whether a queue is idle."""
        device = self._device(index)
        with noting_loss(device):
            return (handle or device.queue).is_idle()

    def stream_synchronize(
        self, index: int, handle: Queue | None, timeout: float | None = None
    ) -> None:
        """Wait for a queue."""
        device = self._device(index)
        device.check()
        with noting_loss(device):
            (handle or device.queue).finish(timeout)
        device.collect()

    def stream_wait_event(self, index: int, handle: Queue | None, event: Marker) -> None:
        """Let later work of a queue wait for a marker."""
        device = self._device(index)
        device.check()
        if event.raw is None:
            return
        queue = handle or device.queue
        try:
            queue.put("wait for an event", device.cl.enqueue_barrier, wait_for=[event.raw])
        except device.cl.Error as error:
            raise device.failure(error, "letting a stream wait for an event") from error

    def event_create(self, index: int) -> Marker:
        """Return a new event."""
        device = self._device(index)
        return Marker(device.cl, device.name)

    def event_destroy(self, index: int, event: Marker) -> None:  # noqa: ARG002 - the core's
        """Forget the marker; those that wait for it hold it themselves."""
        event.raw = None

    def event_record(self, index: int, event: Marker, handle: Queue | None) -> None:
        """Put an event behind a queue's work."""
        device = self._device(index)
        device.check()
        try:
            event.record(handle or device.queue)
        except device.cl.Error as error:
            raise device.failure(error, "recording an event") from error

    def event_query(self, index: int, event: Marker) -> bool:
        """Return whether an event has been passed."""
        self._device(index).check()
        return event.is_passed()

    def event_synchronize(self, index: int, event: Marker, timeout: float | None = None) -> None:
        """Wait for an event."""
        device = self._device(index)
        device.check()
        check_timeout(timeout)
        with noting_loss(device):
            event.synchronize(timeout)

    def event_elapsed(self, index: int, begin: Marker, end: Marker) -> float:
        """Return the seconds between two events."""
        device = self._device(index)
        try:
            return end.seconds() - begin.seconds()
        except device.cl.Error as error:
            raise device.failure(error, "reading the time of an event") from error
