"""Streams and events of the OpenCL devices: the part of the driver that belongs to them."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from types import ModuleType

from phalanx.errors import DeviceLostError
from phalanx.vendor import Deadline, OpenDevice, check_timeout

from .queue import Marker, Queue


class OpenCLStreams(OpenDevice):
    """The calls that wait, and those of ``Capability.STREAMS`` and ``EVENT_TIMING``.

    The handle of a stream is a `Queue`, ``None`` the device's default queue; that of an event is a
    `Marker`.
    """

    cl: ModuleType
    name: str
    queue: Queue
    #: What was going on when the device was lost; empty if it is there.
    lost: str

    @abstractmethod
    def new_queue(self, priority: int = 0) -> Queue:
        """Return a new in-order queue."""

    @abstractmethod
    def queues(self) -> tuple[Queue, ...]:
        """Return the queues that are in use."""

    @property
    @abstractmethod
    def is_usable(self) -> bool:
        """Whether the device is open and there."""

    @abstractmethod
    def check_open(self) -> None:
        """Raise an error if the device was closed, or opened by another process."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if the device cannot be used, be it that it was lost before."""

    @abstractmethod
    def failure(self, error: Exception, what: str, size: int = 0) -> Exception:
        """Return our error for the runtime's."""

    @abstractmethod
    def collect(self) -> None:
        """Drop the released memory whose commands are done."""

    @contextlib.contextmanager
    def noting_loss(self) -> Iterator[None]:
        """Remember a loss that a wait found, so that later calls say so at once."""
        try:
            yield
        except DeviceLostError:
            self.lost = self.lost or "while waiting for work"
            raise

    def finish(self, queue: Queue, timeout: float | None) -> None:
        """Wait for a queue; ``timeout`` in seconds, then TimeoutError."""
        with self.noting_loss():
            queue.finish(timeout)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait for all queues; tell the failures of the default one, which the core does not count.

        The others keep theirs for whoever waits for them.
        """
        self.check()
        deadline = Deadline(timeout)
        for queue in self.queues():
            if queue is not self.queue:
                queue.settle(deadline.left())
        self.stream_synchronize(None, deadline.left())

    def stream_create(self, priority: int) -> Queue:
        """Return a new in-order queue; its priority is a hint that few runtimes take."""
        self.check()
        try:
            return self.new_queue(priority)
        except self.cl.Error as error:
            raise self.failure(error, "making a stream") from error

    def stream_destroy(self, handle: Queue) -> None:
        """Finish the work; the queue goes with its last reference."""
        if self.is_usable:
            self.finish(handle, None)

    def stream_query(self, handle: Queue | None) -> bool:
        """Return whether a queue is idle."""
        self.check_open()
        with self.noting_loss():
            return (handle or self.queue).is_idle()

    def stream_synchronize(self, handle: Queue | None, timeout: float | None = None) -> None:
        """Wait for a queue."""
        self.check()
        self.finish(handle or self.queue, timeout)
        self.collect()

    def stream_wait_event(self, handle: Queue | None, event: Marker) -> None:
        """Let later work of a queue wait for a marker."""
        self.check()
        if event.raw is None:
            return
        queue = handle or self.queue
        try:
            queue.put("wait for an event", self.cl.enqueue_barrier, wait_for=[event.raw])
        except self.cl.Error as error:
            raise self.failure(error, "letting a stream wait for an event") from error

    def event_create(self, timed: bool) -> Marker:
        """Return a new event."""
        self.check_open()
        return Marker(self.cl, self.name, timed=timed)

    def event_destroy(self, event: Marker) -> None:
        """Forget the marker; those that wait for it hold it themselves."""
        event.raw = None

    def event_record(self, event: Marker, handle: Queue | None) -> None:
        """Put an event behind a queue's work."""
        self.check()
        try:
            event.record(handle or self.queue)
        except self.cl.Error as error:
            raise self.failure(error, "recording an event") from error

    def event_query(self, event: Marker) -> bool:
        """Return whether an event has been passed."""
        self.check()
        return event.is_passed()

    def event_synchronize(self, event: Marker, timeout: float | None = None) -> None:
        """Wait for an event."""
        self.check()
        seconds = check_timeout(timeout)
        with self.noting_loss():
            event.synchronize(seconds)

    def event_elapsed(self, begin: Marker, end: Marker) -> float:
        """Return the seconds between two events."""
        self.check_open()
        try:
            return end.seconds() - begin.seconds()
        except self.cl.Error as error:
            raise self.failure(error, "reading the time of an event") from error
