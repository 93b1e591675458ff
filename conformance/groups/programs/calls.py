"""Random calls of a driver, over streams and threads, ordered by no more than they need.

So a wait that is dropped, or holds too little, shows in the bytes, of which there is a model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import phalanx as px
from phalanx._warm import Array, launch_elementwise
from phalanx.conformance.blocks import place_of, read_block, write_block
from phalanx.conformance.case import Case
from phalanx.driver import Capability, OpenDevice, Place

from .queues import Queues, Used

Bytes = npt.NDArray[np.uint8]

_ARRAYS, _BLOCKS, _BUFFERS = 3, 3, 4
#: Elements and launches that keep a stream busy for about a millisecond.
_SLOW_SIZE, _SLOW_STEPS = 1 << 17, (10, 60)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a program is made of.

    Attributes:
        streams: how many there are beside the default stream.
        events: how many there are.
        sizes: bytes of memories, to which some are added that may be no whole number of words.
        part: of the steps are done.
    """

    streams: int = 4
    events: int = 6
    sizes: tuple[int, ...] = (96, 4100, 65_536, 300_000)
    part: float = 1.0


@dataclass(eq=False, slots=True, kw_only=True)
class _Memory(Used):
    """Bytes and what they should be.

    ``host`` are the bytes themselves where the host sees them; the device may, too. ``peer`` is
    another device that has them, of which this one only reads.
    """

    name: str
    place: Callable[[int], Place]
    model: Bytes
    array: Array | None = None
    host: Bytes | None = None
    handle: int | None = None
    peer: px.Device | None = None


class DriverProgram:
    """A program of random calls; `run` ends with AssertionError where bytes are wrong."""

    def __init__(self, case: Case, rng: np.random.Generator, kind: Kind) -> None:
        self._rng, self._kind = rng, kind
        self._device = case.device
        self._opened = case.device.ensure_open()
        self._memories: list[_Memory] = []
        self._adopted: list[int] = []
        self._peers: list[tuple[OpenDevice, int]] = []
        self._kept: list[object] = []
        self._blocks = 0

    # The program

    def run(self, steps: int) -> None:
        """Do so many steps, then wait for all and look at every byte."""
        with px.device(self._device), px.hazards("manual"):
            self._queues = Queues(self._device, self._rng, self._kind.streams, self._kind.events)
            try:
                self._begin()
                kinds = self._steps()
                weights = np.array([weight for weight, _ in kinds], float)
                chances = weights / weights.sum()
                count = int(steps * self._kind.part)
                for number in self._rng.choice(len(kinds), count, p=chances).tolist():
                    kinds[number][1]()
                self._queues.finish()
                for memory in self._memories:
                    self._look(memory)
            finally:
                self._end()

    def _steps(self) -> list[tuple[int, Callable[[], None]]]:
        return [
            (12, self._copy),
            (8, self._compute),
            (4, self._keep_busy),
            (5, self._read_on_host),
            (2, self._write_on_host),
            (2, self._new_block),
            (2, self._ask_memory),
            *self._queues.steps(),
        ]

    def _begin(self) -> None:
        for number in range(_ARRAYS):
            size = self._size() // 4 * 4
            array = px.zeros(size // 4, dtype=px.int32)
            self._memories.append(
                _Memory(
                    name=f"array {number}",
                    place=partial(place_of, array),
                    model=np.zeros(size, np.uint8),
                    array=array,
                )
            )
        self._scratch = px.zeros(_SLOW_SIZE, dtype=px.float32)
        self._ones = px.ones(1, dtype=px.int32)
        px.synchronize(self._device)
        for number in range(_BUFFERS):
            self._memories.append(_on_host(f"buffer {number}", self._bytes(self._size())))
        self._adopt()
        self._reach()
        for _ in range(_BLOCKS):
            self._new_block()

    def _adopt(self) -> None:
        """Let the device work on memory of the host, if it can."""
        data = self._bytes(self._size())
        found = self._opened.adopt_host(data.ctypes.data, data.size, data)
        if found is not None:
            self._adopted.append(found.handle)
            self._memories.append(
                _Memory(
                    name="memory of the host",
                    place=self._places(found.handle, found.offset),
                    model=data.copy(),
                    host=data,
                )
            )

    def _reach(self) -> None:
        """Have blocks on other devices from which this one copies."""
        for other in px.devices(self._device.driver.name):
            opened = other.ensure_open()
            if other is not self._device and self._opened.reaches(opened):
                data = self._bytes(self._size())
                handle = opened.alloc(data.size)
                self._peers.append((opened, handle))
                write_block(other, handle, data)
                name, place = f"memory of {other}", partial(Place, opened, handle)
                self._memories.append(_Memory(name=name, place=place, model=data, peer=other))

    def _end(self) -> None:
        self._queues.close()
        for opened, handle in self._peers:
            opened.free(handle)
        for memory in self._memories:
            if memory.handle is not None:
                self._opened.free(memory.handle)
        for handle in self._adopted:
            self._opened.release_host(handle)

    # What is drawn

    def _size(self) -> int:
        return int(self._queues.pick(self._kind.sizes)) + int(self._rng.integers(0, 64))

    def _bytes(self, size: int) -> Bytes:
        return self._rng.integers(0, 256, size, np.uint8)

    def _part(self, most: int) -> int:
        """So many bytes of a memory: few, or most of it, a power of two, or any number of them."""
        power = 1 << int(self._rng.integers(most.bit_length()))
        few, some = (int(self._rng.integers(1, n + 1)) for n in (min(most, 100), most))
        return self._queues.pick((few, most, power, some))

    def _places(self, handle: int, first: int) -> Callable[[int], Place]:
        return lambda offset: Place(self._opened, handle, first + offset)

    # The kinds of steps

    def _queue(
        self, said: str, source: _Memory, to: _Memory, call: Callable[[px.Stream], None]
    ) -> None:
        """Call with a stream, behind what it needs, what reads one memory and writes another."""
        stream = self._queues.pick(self._queues.streams)
        self._queues.order(stream, [source], [to])
        chosen = self._queues.streams[stream]
        self._queues.call(f"{said} on stream {stream}", lambda: call(chosen))
        self._queues.queued(stream, [source], [to])

    def _copy(self) -> None:
        """Copy some bytes from one memory into another one, or further along in the same."""
        source, to = self._queues.pick(self._memories), self._queues.pick(self._memories)
        elsewhere = [m.peer is not None or m.place(0).on_host for m in (source, to)]
        if to.peer is not None or all(elsewhere):
            return
        size = self._part(min(source.model.size, to.model.size) // (1 + (source is to)))
        if source is to:
            first = int(self._rng.integers(0, source.model.size - 2 * size + 1))
            at, of = (first, first + size)[:: self._queues.pick((1, -1))]
        else:
            at, of = (int(self._rng.integers(0, m.model.size - size + 1)) for m in (to, source))
        self._queue(
            f"copy {size} bytes of {source.name} at {of} to {to.name} at {at}",
            source,
            to,
            lambda stream: self._opened.copy(to.place(at), source.place(of), size, stream=stream),
        )
        to.model[at : at + size] = source.model[of : of + size].copy()

    def _compute(self) -> None:
        """Add one to a part of an array, or copy it, where it is or into another; some by twos."""
        arrays = [m for m in self._memories if m.array is not None]
        x, y = self._queues.pick(arrays), self._queues.pick(arrays)
        assert x.array is not None
        assert y.array is not None
        step = self._queues.pick((1, 1, 2))
        n = max(1, self._part(min(x.model.size, y.model.size) - 4) // (4 * step))
        reach = (n - 1) * step + 1
        starts = [int(self._rng.integers(0, m.model.size // 4 - reach + 1)) for m in (x, y)]
        if x is y:
            starts[1] = starts[0]
        of, at = (slice(start, start + reach, step) for start in starts)
        taken, into, adds = x.array[of], y.array[at], bool(self._rng.random() < 0.7)

        def launch(stream: px.Stream) -> None:
            with stream:
                if adds:
                    launch_elementwise("add", (taken, self._ones), into)
                else:
                    launch_elementwise("copy", (taken,), into)

        what = f"{'add one to' if adds else 'take'} {n} elements, each {step}, of {x.name}"
        self._queue(f"{what} at {starts[0]} for {y.name} at {starts[1]}", x, y, launch)
        y.model.view(np.int32)[at] = x.model.view(np.int32)[of] + np.int32(adds)

    def _keep_busy(self) -> None:
        """Work of a stream that nobody looks at."""
        number, steps = (
            self._queues.pick(self._queues.streams),
            int(self._rng.integers(*_SLOW_STEPS)),
        )
        stream = self._queues.streams[number]
        with stream:
            aside = px.empty(_SLOW_SIZE, dtype=px.float32)
        self._kept.append(aside)  # alive until all is done

        def launches() -> None:
            with stream:
                for _ in range(steps):
                    launch_elementwise("copy", (self._scratch,), aside)

        self._queues.call(f"keep stream {number} busy", launches)
        self._queues.queued(number, [], [])

    def _seen_by_host(self) -> _Memory:
        return self._queues.pick(m for m in self._memories if m.host is not None)

    def _read_on_host(self) -> None:
        """Look at memory of the host behind what wrote it, and behind nothing else."""
        memory = self._seen_by_host()
        self._queues.order_host([memory], [])
        self._look(memory)

    def _write_on_host(self) -> None:
        """Change memory of the host behind all that used it."""
        memory = self._seen_by_host()
        assert memory.host is not None
        self._queues.order_host([], [memory])
        memory.model[:] = self._bytes(memory.model.size)
        memory.host[:] = memory.model

    def _new_block(self) -> None:
        """Take a block and fill it; give one back when there are many, behind its last use."""
        blocks = [m for m in self._memories if m.handle is not None]
        if len(blocks) >= 2 * _BLOCKS:
            old = self._queues.pick(blocks)
            assert old.handle is not None
            handle = old.handle
            self._queues.order_host([], [old])
            self._memories.remove(old)
            self._queues.call(f"free {old.name}", lambda: self._opened.free(handle))
        data = self._bytes(self._size())
        self._blocks += 1
        name = f"block {self._blocks}"
        made = self._queues.call(
            f"allocate {data.size} bytes for {name}", lambda: self._opened.alloc(data.size)
        )
        block = _Memory(name=name, place=self._places(made, 0), model=data.copy(), handle=made)
        self._memories.append(block)
        self._kept.append(data)
        source = _on_host("the host", data)
        self._queue(
            f"fill {name}",
            source,
            block,
            lambda stream: self._opened.copy(
                block.place(0), source.place(0), data.size, stream=stream
            ),
        )

    def _ask_memory(self) -> None:
        """Ask for free memory, or have the driver give back what it keeps."""
        if Capability.TRIM in self._opened.capabilities and self._rng.random() < 0.5:
            self._queues.call("trim", self._opened.trim)
            return
        free, total = self._queues.call("ask for free memory", self._opened.memory_info)
        self._queues.check(0 <= free <= total, f"{free} of {total} bytes are free")

    def _look(self, memory: _Memory) -> None:
        """Compare bytes that are known to be there."""
        found = memory.host
        if found is None:
            _, handle, offset = memory.place(0)
            device = memory.peer or self._device
            found = read_block(device, handle, memory.model.size, offset)
        wrong = np.flatnonzero(found != memory.model)
        first = wrong[0] if wrong.size else 0
        told = (
            f"{wrong.size} of {found.size} bytes of {memory.name} are wrong, the first at {first}"
        )
        self._queues.check(not wrong.size, told)


def _on_host(name: str, data: Bytes) -> _Memory:
    address = data.ctypes.data
    return _Memory(
        name=name,
        place=lambda offset: Place(None, address + offset, 0),
        model=data.copy(),
        host=data,
    )
