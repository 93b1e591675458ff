"""Threads that run one random program together: each has its streams, and gives to the others."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import numpy as np
import phalanx as px
from phalanx.conformance.case import Case

if TYPE_CHECKING:
    from phalanx.conformance.layouts import HostArray

#: Seconds for one wait on the host, and for the whole program.
PATIENCE = 40.0
_STREAMS = 2
#: Launches of a chain that must still run when the next call comes, and their elements.
_STEPS, _SIZE = 20, 1 << 13

Part = Callable[["Member"], None]


class Crew:
    """What the threads of a program share.

    Args:
        case: whose device and random numbers are used.
        threads: how many there are.
        manual: whether the program orders its streams itself.
    """

    def __init__(self, case: Case, threads: int, *, manual: bool) -> None:
        self.case = case
        self.device = case.device
        self.manual = manual
        self.mail: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in range(threads)]
        self.size = threads
        self.common = px.Stream(self.device)
        self._barrier = threading.Barrier(threads)
        self._errors: list[BaseException] = []

    def run(self, parts: list[Part]) -> None:
        """Let every thread do the parts, one after another; raise the first error of any thread."""
        with px.hazards("manual" if self.manual else "auto"):
            threads = [
                threading.Thread(
                    target=copy_context().run, args=(self._work, number, parts), daemon=True
                )
                for number in range(self.size)
            ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        stuck = sum(thread.is_alive() for thread in threads)
        if self._errors:
            raise self._errors[0]
        assert not stuck, f"{stuck} of {len(threads)} threads hang"
        self.common.close()

    def meet(self) -> None:
        """Wait until every thread has come here."""
        self._barrier.wait(PATIENCE)

    def _work(self, number: int, parts: list[Part]) -> None:
        try:
            with px.device(self.device):
                member = Member(self, number)  # here, so that its streams are this thread's
                self.meet()
                for part in parts:
                    part(member)
                    member.check_all()
                member.close()
        except BaseException as error:  # noqa: BLE001 - it is raised again by the caller
            if not isinstance(error, threading.BrokenBarrierError):
                self._errors.append(error)
            self._barrier.abort()


class Point:
    """An event that is recorded again and again: the driver's own, as the core takes fresh ones.

    ``handle`` is ``None`` on a device without streams.
    """

    def __init__(self, device: px.Device) -> None:
        self._device = device
        self.handle = device.ensure_open().event_create(timed=False) if device.has_streams else None

    def record(self, stream: px.Stream) -> None:
        """Put it behind the stream's work so far."""
        opened = self._device.ensure_open()
        if self.handle is None:
            opened.synchronize()
        else:
            opened.event_record(self.handle, stream.handle)

    def hold_back(self, stream: px.Stream) -> None:
        """Let later work of a stream wait for it."""
        if self.handle is not None:
            opened = self._device.ensure_open()
            opened.stream_wait_event(stream.handle, self.handle)

    def close(self) -> None:
        """Destroy it."""
        if self.handle is not None:
            self._device.ensure_open().event_destroy(self.handle)


class Member:
    """One thread: its random numbers, its streams, and the arrays that it will check."""

    def __init__(self, crew: Crew, number: int) -> None:
        self.crew = crew
        self.number = number
        self.rng = crew.case.rng("thread", number)
        self.streams = [px.Stream(crew.device) for _ in range(_STREAMS)]
        self.reader = px.Stream(crew.device)
        self.point = Point(crew.device)
        self.held: list[tuple[px.Array, HostArray]] = []

    def pick(self, low: int, high: int) -> int:
        """Return a random number from ``low`` up to below ``high``."""
        return int(self.rng.integers(low, high))

    def stream(self) -> px.Stream:
        """Return one of the thread's streams."""
        return self.streams[self.pick(0, _STREAMS)]

    @contextlib.contextmanager
    def anywhere(self) -> Iterator[px.Stream]:
        """Enter one of the thread's streams, or none: then work goes to the default stream."""
        if self.pick(0, 3):
            with self.stream() as stream:
                yield stream
        else:
            yield self.crew.device.default_stream

    def neighbour(self, distance: int = 1) -> int:
        """Return the number of another thread, the same one for the same distance."""
        return (self.number + distance) % self.crew.size

    def give(self, to: int, *what: Any) -> None:
        """Give something to another thread."""
        self.crew.mail[to].put(what)

    def take(self) -> Any:
        """Wait for what another thread gives."""
        try:
            return self.crew.mail[self.number].get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"thread {self.number} got nothing from the others") from None

    def chain(self, steps: int = _STEPS) -> tuple[px.Array, HostArray]:
        """Return an array that is the result of many launches on the current stream."""
        start = self.pick(-1000, 1000)
        x = px.full(_SIZE, start, dtype=px.int32)
        for _ in range(steps):
            x = x + 1
        return x, np.full(_SIZE, start + steps, np.int32)

    def hold(self, x: px.Array, model: HostArray) -> None:
        """Have an array checked at the end of the part."""
        self.held.append((x, model))

    def check(self, x: px.Array, model: HostArray, what: str) -> None:
        """Compare an array with its model; with manual order, after its work was waited for."""
        if self.crew.manual:
            with self.reader:
                x = px.asarray(x, copy=True)
            self.reader.synchronize(PATIENCE)
        found = px.asnumpy(x)
        wrong = np.flatnonzero(found != model)
        assert not wrong.size, (
            f"{what}, thread {self.number}: {wrong.size} of {found.size} elements are wrong, the "
            f"first at {wrong[0]}: got {found.flat[wrong[0]]}, want {model.flat[wrong[0]]}"
        )

    def check_all(self) -> None:
        """Compare what is held, and let it go."""
        while self.held:
            self.check(*self.held.pop(), "an array at the end of a part")

    def close(self) -> None:
        """End the thread's streams."""
        for stream in (*self.streams, self.reader):
            stream.synchronize(PATIENCE)
            stream.close()
        self.point.close()
