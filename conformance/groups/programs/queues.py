"""Streams and events of a random program, and what is known to come behind what.

There is a clock for each stream (Lamport, 1978; vectors of them: Mattern, 1989): of what has been
queued, each stream and the host know which part they come behind. A call that needs work of another
stream gets one wait of some kind, and none where the order follows from former waits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import phalanx as px
from phalanx.driver import Capability

Made = TypeVar("Made")
#: So many calls of each stream are behind.
Clock = Counter[int]
#: A stream, and the number of a call there.
Stamp = tuple[int, int]

#: Seconds for a wait on the host.
_PATIENCE = 60.0
_THREADS = 3
#: The part of the calls that the program makes in its own thread.
_OWN = 0.6


@dataclass(eq=False, slots=True)
class _Event:
    """An event, and what is behind its last record."""

    handle: Any
    clock: Clock | None = None


@dataclass(eq=False, slots=True)
class Used:
    """Which calls wrote something last, and which have read it since."""

    written: list[Stamp] = field(default_factory=list)
    read: list[Stamp] = field(default_factory=list)


Uses = Sequence[Used]


class Queues:
    """The streams and events of a device on which a program makes its calls.

    Attributes:
        streams: those there are, by number; 0 is the default stream.
    """

    def __init__(
        self, device: px.Device, rng: np.random.Generator, streams: int, events: int
    ) -> None:
        self._rng, self._device = rng, device
        self._opened = device.ensure_open()
        self._most = streams
        self.streams: dict[int, px.Stream] = {0: device.default_stream}
        self._host: Clock = Counter()
        self._clocks: dict[int, Clock] = {0: Counter()}
        self._counts: Clock = Counter()
        self._events: list[_Event] = []
        self._said: list[str] = []
        self._made = 0
        self._threads = ThreadPoolExecutor(_THREADS)
        if device.has_streams:
            for _ in range(streams):
                self._new_stream()
            for _ in range(events):
                self._events.append(_Event(self._made_event()))

    def steps(self) -> list[tuple[int, Callable[[], None]]]:
        """Return what a program may do with streams and events alone, with its weights."""
        if not self._device.has_streams:
            return []
        return [
            (6, self._record),
            (2, self._needless_wait),
            (4, self._ask),
            (1, self._new_stream),
            (1, self._new_event),
        ]

    def close(self) -> None:
        """Wait for all, and give streams and events back."""
        self._threads.shutdown()
        self._opened.synchronize(_PATIENCE)
        for event in self._events:
            self._opened.event_destroy(event.handle)
        for number, stream in self.streams.items():
            if number:
                stream.close()

    # Calls, and what is behind them

    def pick(self, chosen: Iterable[Made]) -> Made:
        """Return one of some."""
        found = list(chosen)
        return found[int(self._rng.integers(len(found)))]

    def call(self, said: str, call: Callable[[], Made]) -> Made:
        """Call here or in another thread, and wait for the return."""
        self._said.append(said)
        if self._rng.random() < _OWN:
            return call()
        return self._threads.submit(copy_context().run, call).result(2 * _PATIENCE)

    def _behind(self, stream: int) -> Clock:
        return self._clocks[stream] | self._host

    def queued(self, stream: int, reads: Uses, writes: Uses) -> None:
        """Note a call that was queued."""
        stamp = (stream, self._tick(stream)[stream])
        for used in reads:
            used.read.append(stamp)
        for used in writes:
            used.written, used.read = [stamp], []

    def _tick(self, stream: int) -> Clock:
        """Note something that was queued; return what is behind it, itself included."""
        self._counts[stream] += 1
        self._clocks[stream] = self._behind(stream)
        self._clocks[stream][stream] = self._counts[stream]
        return Counter(self._clocks[stream])

    @staticmethod
    def _lacks(clock: Clock, reads: Uses, writes: Uses) -> Clock:
        """Return what a clock has not of that which reads and writes come behind."""
        lacks: Clock = Counter()
        stamps = [s for used in (*reads, *writes) for s in used.written]
        for stream, number in stamps + [s for used in writes for s in used.read]:
            if clock[stream] < number:
                lacks[stream] = max(lacks[stream], number)
        return lacks

    def order(self, stream: int, reads: Uses, writes: Uses) -> None:
        """Let the next call of a stream, which reads and writes these, come behind their uses."""
        while lacks := self._lacks(self._behind(stream), reads, writes):
            other = self.pick(lacks)
            way = self._rng.random()
            known = [e for e in self._events if e.clock and e.clock[other] >= lacks[other]]
            if way < 0.35 and known:
                self._wait(stream, self.pick(known))
            elif way < 0.7:
                self._wait(stream, self._recorded(other))
            elif way < 0.85:  # by way of a third
                third = self.pick(self.streams)
                self._wait(third, self._recorded(other))
                self._wait(stream, self._recorded(third))
            else:
                self._host_waits(lacks)

    def _recorded(self, stream: int) -> _Event:
        event = self.pick(self._events)
        handle = self.streams[stream].handle
        self.call(
            f"record an event on stream {stream}",
            lambda: self._opened.event_record(event.handle, handle),
        )
        event.clock = self._tick(stream)
        return event

    def _wait(self, stream: int, event: _Event) -> None:
        handle = self.streams[stream].handle
        self.call(
            f"let stream {stream} wait for {dict(event.clock or {})}",
            lambda: self._opened.stream_wait_event(handle, event.handle),
        )
        self._tick(stream)
        self._clocks[stream] |= event.clock or Counter()

    def order_host(self, reads: Uses, writes: Uses) -> None:
        """Wait on the host for what used these, which it reads and writes."""
        self._host_waits(self._lacks(self._host, reads, writes))

    def finish(self) -> None:
        """Wait on the host for all."""
        self.call("wait for the device", lambda: self._opened.synchronize(_PATIENCE))
        self._host = Counter(self._counts)

    def _host_waits(self, lacks: Clock) -> None:
        for stream, number in lacks.items():
            if self._host[stream] >= number:
                continue
            known = [e for e in self._events if e.clock and e.clock[stream] >= number]
            way = self._rng.random()
            if way < 0.4 and known:
                self._host_waits_for_event(self.pick(known))
            elif way < 0.9 and stream in self.streams and self._device.has_streams:
                self._host_waits_for_stream(stream)
            else:
                self.finish()

    def _host_waits_for_event(self, event: _Event) -> None:
        self.call(
            f"wait for an event behind {dict(event.clock or {})}",
            lambda: self._opened.event_synchronize(event.handle, _PATIENCE),
        )
        self._host |= event.clock or Counter()

    def _host_waits_for_stream(self, stream: int) -> None:
        handle = self.streams[stream].handle
        self.call(
            f"wait for stream {stream}",
            lambda: self._opened.stream_synchronize(handle, _PATIENCE),
        )
        self._host |= self._clocks[stream]

    # Steps

    def _record(self) -> None:
        """An event for later waits."""
        self._recorded(self.pick(self.streams))

    def _needless_wait(self) -> None:
        """A wait that nothing asked for, maybe for what was never recorded."""
        self._wait(self.pick(self.streams), self.pick(self._events))

    def _ask(self) -> None:
        """Ask whether an event or a stream has passed: what the host knows must have."""
        event, stream = self.pick(self._events), self.pick(self.streams)
        of_event = bool(self._rng.random() < 0.5)
        if of_event:
            clock = event.clock or Counter()
            passed = self.call("ask an event", lambda: self._opened.event_query(event.handle))
        else:
            clock, handle = self._clocks[stream], self.streams[stream].handle
            passed = self.call(f"ask stream {stream}", lambda: self._opened.stream_query(handle))
        if passed:
            self._host |= clock
            return
        waited = any(number > self._host[other] for other, number in clock.items())
        self.check(waited, "what has passed is told not to have")

    def _new_stream(self) -> None:
        """A stream more; when there are many, one ends, of whatever it still does."""
        if len(self.streams) > self._most + 1:
            number = self.pick(n for n in self.streams if n)
            old = self.streams.pop(number)
            self.call(f"destroy stream {number}", old.close)
            self._host |= self._clocks[number]
        self._made += 1
        number = self._made
        priority = int(self._rng.integers(-1, 2))
        self.streams[number] = self.call(
            f"make stream {number}", lambda: px.Stream(self._device, priority=priority)
        )
        self._clocks[number] = Counter(self._host)

    def _new_event(self) -> None:
        """Another event in place of one, which streams may still wait for."""
        event = self.pick(self._events)
        self._events.remove(event)
        self.call("destroy an event", lambda: self._opened.event_destroy(event.handle))
        self._events.append(_Event(self.call("make an event", self._made_event)))

    def _made_event(self) -> Any:
        timed = Capability.EVENT_TIMING in self._opened.capabilities and self._rng.random() < 0.5
        return self._opened.event_create(timed)

    def check(self, right: bool, told: str) -> None:
        """Raise AssertionError with the last calls unless something is right."""
        last = "; ".join(self._said[-12:])
        assert right, f"behind {len(self._said)} calls, {told}; the last calls: {last}"
