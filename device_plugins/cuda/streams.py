"""Streams and events of the CUDA devices: the part of the driver that belongs to them."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from phalanx.kernels_cuda.sessions import Libraries
from phalanx.vendor import Deadline, ForkSafeLock, OpenDevice

from .api import Api, Context, CudaError
from .errors import is_loss
from .queue import Queue, is_passed, settle

_LEGACY = 1  # CU_STREAM_LEGACY
_DISABLE_TIMING = 2  # CU_EVENT_DISABLE_TIMING


class CudaEvent:
    """An event of the driver's, and the queue whose work it was last put behind."""

    __slots__ = ("checks", "queue", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.queue: Queue | None = None
        #: How many checks of the queue are before it: see `LateChecks`.
        self.checks = 0


class CudaStreams(OpenDevice):
    """The calls that wait, and those of ``Capability.STREAMS`` and ``EVENT_TIMING``.

    The handle of a stream is a `Queue`, ``None`` the device's own one; an address, as CuPy's
    ``stream.ptr`` and PyTorch's ``stream.cuda_stream``, is somebody else's stream.
    """

    api: Api
    name: str
    context: Context
    libraries: Libraries
    #: Of the default stream.
    default: Queue
    #: The others that are in use, and who changes or walks them holds the lock.
    streams: set[Queue]
    streams_lock: ForkSafeLock
    #: Those that a destructor gave back during a walk, which destroys them at its end.
    leaving: list[Queue] | None

    @property
    @abstractmethod
    def is_usable(self) -> bool:
        """Whether the device is open and there."""

    @abstractmethod
    def check(self) -> None:
        """Raise an error if the device cannot be used, be it that it was lost before."""

    @abstractmethod
    def failure(self, error: CudaError, what: str, size: int = 0) -> Exception:
        """Return our error for the driver's."""

    @abstractmethod
    def queue(self, handle: Queue | int | None) -> Queue:
        """Return the queue of a stream's handle."""

    @contextlib.contextmanager
    def translated(self, what: str, queue: Queue | None = None) -> Iterator[None]:
        """Turn the driver's errors in the block into ours; that of lost work names the queue's."""
        try:
            yield
        except CudaError as error:
            raise self.told(error, what, queue) from error

    def told(self, error: CudaError, what: str, queue: Queue | None = None) -> Exception:
        """Return our error for the driver's; that of lost work names what the queue was given."""
        late = queue.recent() if queue is not None and is_loss(error) else ""
        return self.failure(error, f"an earlier command ({late})" if late else what)

    def finish(self, queue: Queue, timeout: float | None) -> None:
        """Wait for a queue; ``timeout`` in seconds, then TimeoutError."""
        with self.translated("waiting for work", queue):
            queue.finish(timeout)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait for all streams; tell the failures of the default one, as nobody else waits for it.

        The others keep theirs for whoever waits for them.
        """
        self.check()
        deadline = Deadline(timeout)
        with self._ends() as events:
            for event in events:
                with self.translated("waiting for work", event.queue):
                    what = f"the work of a stream of {self.name}"
                    settle(self.context, "cuEvent", event.raw, deadline.left(), what)
        self.stream_synchronize(None, deadline.left())

    @contextlib.contextmanager
    def _ends(self) -> Iterator[list[CudaEvent]]:
        """Give events behind the work of all streams but the default one: streams may go."""
        events = []
        try:
            with self._walked() as queues:
                for queue in queues:
                    events.append(self.event_create(timed=False))
                    self.event_record(events[-1], queue)
            yield events
        finally:
            for event in events:
                self.event_destroy(event)

    @contextlib.contextmanager
    def _walked(self) -> Iterator[tuple[Queue, ...]]:
        """Give all streams but the default one, which stay until the end of the block."""
        with self.streams_lock:
            leaving: list[Queue] = []
            self.leaving = leaving
            try:
                yield tuple(self.streams)
            finally:
                self.leaving = None
                for queue in leaving:
                    self._destroy(queue)

    def stream_create(self, priority: int) -> Queue:
        """Return a new stream; a lower ``priority`` is more urgent."""
        self.check()
        with self.translated("making a stream"):
            queue = Queue.create(self.context, self.name, priority)
        with self.streams_lock:
            self.streams.add(queue)
        return queue

    def stream_destroy(self, handle: Queue) -> None:
        """Finish the work and destroy the stream; one of a device that is gone went with it."""
        if self.is_usable:
            self.finish(handle, None)
            with self.streams_lock:
                self.streams.discard(handle)
                if self.leaving is None:
                    self._destroy(handle)
                else:
                    self.leaving.append(handle)

    def _destroy(self, queue: Queue) -> None:
        with self.translated("destroying a stream"):
            with self.context.current():
                self.libraries.forget(queue.number)
            queue.destroy()

    def stream_query(self, handle: Queue | int | None) -> bool:
        """Return whether a stream is idle."""
        self.check()
        queue = self.queue(handle)
        with self.translated("asking a stream", queue):
            return queue.is_idle()

    def stream_synchronize(self, handle: Queue | int | None, timeout: float | None = None) -> None:
        """Wait for a stream."""
        self.check()
        self.finish(self.queue(handle), timeout)

    def stream_wait_event(self, handle: Queue | int | None, event: CudaEvent) -> None:
        """Let later work of a stream wait for an event."""
        self.check()
        with self.translated("letting a stream wait for an event"):
            self.context.call("cuStreamWaitEvent", self.queue(handle).raw, event.raw, 0)

    def stream_number(self, handle: Queue | int | None) -> int:
        """Return a stream's address, as CuPy and PyTorch know it; 1 is the legacy default one."""
        return self.queue(handle).number or _LEGACY

    def event_create(self, timed: bool) -> CudaEvent:
        """Return a new event."""
        self.check()
        flags = 0 if timed else _DISABLE_TIMING
        with self.translated("making an event"):
            return CudaEvent(self.context.get("cuEventCreate", "CUevent", flags))

    def event_destroy(self, event: CudaEvent) -> None:
        """Destroy an event; those that wait for it go on waiting."""
        if self.is_usable:
            with self.translated("destroying an event"):
                self.context.call("cuEventDestroy_v2", event.raw)

    def event_record(self, event: CudaEvent, handle: Queue | int | None) -> None:
        """Put an event behind a stream's work."""
        self.check()
        queue = self.queue(handle)
        checks = queue.checks.so_far()
        with self.translated("recording an event"):
            self.context.call("cuEventRecord", event.raw, queue.raw)
        event.queue, event.checks = queue, checks

    def event_query(self, event: CudaEvent) -> bool:
        """Return whether an event has been passed; one that was never recorded is."""
        self.check()
        with self.translated("asking an event", event.queue):
            return event.queue is None or is_passed(self.context, "cuEventQuery", event.raw)

    def event_synchronize(self, event: CudaEvent, timeout: float | None = None) -> None:
        """Wait for an event."""
        self.check()
        with self.translated("waiting for an event", event.queue):
            what = f"the work before an event of {self.name}"
            settle(self.context, "cuEvent", event.raw, timeout, what)
        if event.queue is not None:
            event.queue.checks.tell(event.checks)

    def event_elapsed(self, begin: CudaEvent, end: CudaEvent) -> float:
        """Return the seconds between two events."""
        self.check()
        with self.translated("reading the time of an event"):
            milliseconds = self.context.get("cuEventElapsedTime", "float", begin.raw, end.raw)
        return float(milliseconds) * 1e-3
