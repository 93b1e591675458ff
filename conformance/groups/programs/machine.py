"""Random programs: the device and a model in NumPy do the same, and must agree."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import phalanx as px
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule
from phalanx._warm import assign

if TYPE_CHECKING:
    from phalanx.conformance.layouts import HostArray

_SIZES = (1, 7, 65, 1025, 40_001)
_STREAMS = 4
_BINARY = ("add", "subtract", "multiply", "maximum")
_VIEWS: dict[str, slice] = {
    "every second": slice(None, None, 2),
    "backwards": slice(None, None, -1),
    "without the first": slice(1, None),
    "the middle": slice(3, -3),
}

streams = st.integers(0, _STREAMS - 1)
numbers = st.integers(-1000, 1000)


class Pair:
    """An array on the device and its model; views of one memory share ``memory``."""

    def __init__(self, array: px.Array, model: HostArray, memory: Memory) -> None:
        self.array = array
        self.model = model
        self.memory = memory


class Memory:
    """Who used a block last: what a program without automatic order must wait for."""

    def __init__(self) -> None:
        self.written: px.Event | None = None
        self.read: list[px.Event] = []


class Machine(RuleBasedStateMachine):
    """A program on one device over several streams. Subclasses set ``device`` and ``manual``.

    With ``manual`` the core orders nothing: the program records and waits for every use itself.
    """

    device: px.Device
    manual = False

    pairs: Bundle[Pair] = Bundle("pairs")
    events: Bundle[px.Event] = Bundle("events")

    def __init__(self) -> None:
        super().__init__()
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(px.device(self.device))
        self._stack.enter_context(px.hazards("manual" if self.manual else "auto"))
        self._streams = [px.Stream(self.device) for _ in range(_STREAMS)]
        self._live: list[Pair] = []

    # What the program does around each use

    @contextlib.contextmanager
    def _on(self, stream: int, *, reads: tuple[Pair, ...] = (), writes: Any = ()) -> Any:
        chosen = self._streams[stream]
        if self.manual:
            for pair in (*reads, *writes):
                if pair.memory.written is not None:
                    chosen.wait(pair.memory.written)
            for pair in writes:
                for event in pair.memory.read:
                    chosen.wait(event)
        with chosen:
            yield
        if self.manual:
            done = chosen.record()
            for pair in reads:
                pair.memory.read.append(done)
            for pair in writes:
                pair.memory.written, pair.memory.read = done, []

    def _new(self, stream: int, array: px.Array, model: HostArray) -> Pair:
        memory = Memory()
        if self.manual:
            memory.written = self._streams[stream].record()
        pair = Pair(array, model, memory)
        self._live.append(pair)
        return pair

    # Rules

    @rule(target=pairs, stream=streams, size=st.sampled_from(_SIZES), value=numbers)
    def fill(self, stream: int, size: int, value: int) -> Pair:
        """Make an array of one number."""
        with self._streams[stream]:
            array = px.full(size, value, dtype=px.int32)
        return self._new(stream, array, np.full(size, value, np.int32))

    @rule(target=pairs, stream=streams, size=st.sampled_from(_SIZES), value=numbers)
    def upload(self, stream: int, size: int, value: int) -> Pair:
        """Copy an array from the host, whose memory changes at once."""
        source = np.arange(size, dtype=np.int32) * 3 + value
        model = source.copy()
        with self._streams[stream]:
            array = px.asarray(source, copy=True)
        source[:] = -1
        return self._new(stream, array, model)

    @rule(target=pairs, stream=streams, x=pairs, y=pairs, op=st.sampled_from(_BINARY))
    def binary(self, stream: int, x: Pair, y: Pair, op: str) -> Pair:
        """Compute a new array from two; of the larger one, only the first elements."""
        size = min(x.model.size, y.model.size)
        with self._on(stream, reads=(x, y)):
            array = getattr(px, op)(x.array[:size], y.array[:size])
        return self._new(stream, array, getattr(np, op)(x.model[:size], y.model[:size]))

    @rule(stream=streams, x=pairs, number=numbers)
    def in_place(self, stream: int, x: Pair, number: int) -> None:
        """Change an array in place."""
        with self._on(stream, writes=(x,)):
            x.array += number
        x.model += np.int32(number)

    @rule(stream=streams, x=pairs, y=pairs)
    def copy_into(self, stream: int, x: Pair, y: Pair) -> None:
        """Write one array into another one, which may be a view of the same memory."""
        size = min(x.model.size, y.model.size)
        with self._on(stream, reads=(y,), writes=(x,)):
            assign(x.array[:size], y.array[:size])
        x.model[:size] = y.model[:size].copy()

    @rule(target=pairs, x=pairs, kind=st.sampled_from(sorted(_VIEWS)))
    def view(self, x: Pair, kind: str) -> Pair:
        """Look at the same memory in another way."""
        pair = Pair(x.array[_VIEWS[kind]], x.model[_VIEWS[kind]], x.memory)
        self._live.append(pair)
        return pair

    @rule(target=pairs, stream=streams, x=pairs)
    def scan(self, stream: int, x: Pair) -> Pair:
        """Running sums, in the dtype of the elements."""
        with self._on(stream, reads=(x,)):
            array = px.cumulative_sum(x.array, dtype=px.int32)
        return self._new(stream, array, np.cumsum(x.model, dtype=np.int32))

    @rule(stream=streams, x=pairs)
    def total(self, stream: int, x: Pair) -> None:
        """Compare the sum of all elements."""
        with self._on(stream, reads=(x,)):
            found = px.sum(x.array)
        self._finish(stream)
        assert int(px.asnumpy(found)) == int(x.model.sum(dtype=np.int64)), "a sum is wrong"

    @rule(target=events, stream=streams)
    def record(self, stream: int) -> px.Event:
        """Record an event."""
        return self._streams[stream].record()

    @rule(stream=streams, event=events)
    def wait(self, stream: int, event: px.Event) -> None:
        """Let a stream wait for an event."""
        self._streams[stream].wait(event)

    @rule(event=events)
    def wait_on_host(self, event: px.Event) -> None:
        """Wait for an event on the host."""
        event.synchronize(60)
        assert event.query(), "an event that was waited for is not passed"

    @rule(stream=streams)
    def synchronize(self, stream: int) -> None:
        """Wait for a stream."""
        self._finish(stream)

    @rule(x=consumes(pairs))
    def drop(self, x: Pair) -> None:
        """Forget an array; its memory comes free, maybe while work on it is pending."""
        if self.manual:
            self.device.synchronize()
        self._live.remove(x)
        x.array, x.model = px.zeros(0, dtype=px.int32), np.zeros(0, np.int32)

    @rule(x=pairs)
    def check(self, x: Pair) -> None:
        """Compare an array with its model."""
        self._compare(x)

    @rule()
    def empty_cache(self) -> None:
        """Give cached memory back."""
        px.empty_cache(self.device)

    # The end

    def _finish(self, stream: int) -> None:
        self._streams[stream].synchronize(60)

    def _compare(self, pair: Pair) -> None:
        if self.manual:
            self.device.synchronize(60)
        found = px.asnumpy(pair.array)
        wrong = np.flatnonzero(found != pair.model)
        assert not wrong.size, (
            f"{wrong.size} of {found.size} elements are wrong, the first at {wrong[0]}: got "
            f"{found[wrong[0]]}, want {pair.model[wrong[0]]}"
        )

    def teardown(self) -> None:
        """Compare all arrays that are left, and end the streams."""
        try:
            for pair in self._live:
                self._compare(pair)
        finally:
            self._live.clear()
            for stream in self._streams:
                stream.close()
            self._stack.close()
