"""What a generator knows of the values, streams and events of the program that it writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from .program import Program, Step, Traits

#: The largest whole number up to which sums and products of a dtype are exact.
EXACT = {"float32": 1 << 24, "float64": 1 << 53}
_WIDTHS = {"int8": 8, "int32": 32, "int64": 64, "uint8": 8, "uint32": 32, "uint64": 64}
FLOATS = tuple(EXACT)
SIGNED = ("int8", "int32", "int64")
UNSIGNED = ("uint8", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
NUMBERS = INTEGERS + FLOATS
#: Values of one thread, beyond which it drops some.
MOST_VALUES = 14


def limit(dtype: str) -> int:
    """Return the largest magnitude that a dtype holds exactly."""
    if dtype == "bool":
        return 1
    if dtype in EXACT:
        return EXACT[dtype]
    return (1 << (_WIDTHS[dtype] - (dtype in SIGNED))) - 1


@dataclass(slots=True, eq=False)
class Memory:
    """A block that one value or several views use; ``frozen`` once several threads may read it."""

    frozen: bool = False
    exports: list[int] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Value:
    """An array: ``bound`` is the largest magnitude of its elements, which are whole numbers."""

    number: int
    device: int
    dtype: str
    shape: tuple[int, ...]
    bound: int
    negative: bool
    memory: Memory
    writable: bool = True

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count


@dataclass(slots=True)
class Mail:
    """A value on its way to a thread."""

    channel: int
    value: Value


@dataclass(slots=True)
class Thread:
    """What one thread has: its values, its own streams with their devices, its events, its mail."""

    number: int
    values: list[Value] = field(default_factory=list)
    streams: dict[int, int] = field(default_factory=dict)
    events: dict[int, int] = field(default_factory=dict)
    mail: list[Mail] = field(default_factory=list)
    exports: dict[int, Value] = field(default_factory=dict)


class State:
    """The program so far, and the means to add to it."""

    def __init__(
        self, seed: int, devices: tuple[Traits, ...], threads: int, *, with_streams: bool = True
    ) -> None:
        self.random = Random(seed)
        self.seed = seed
        self.devices = devices
        self.threads = [Thread(n) for n in range(threads)]
        self.steps: list[Step] = []
        self._names = 0
        self._with_streams = with_streams
        #: Streams and events that all threads use, with their devices.
        self.common = {self.name(): d for d in range(len(devices)) for _ in range(2)}
        self.common_events = {self.name(): d for d in range(len(devices)) for _ in range(2)}

    def finished(self) -> Program:
        """Return the program."""
        common = {**self.common, **{n: -1 - d for n, d in self.common_events.items()}}
        return Program(self.seed, self.devices, len(self.threads), common, tuple(self.steps))

    def name(self) -> int:
        """Return a number that no value, stream or event has yet."""
        self._names += 1
        return self._names

    def emit(
        self,
        thread: Thread,
        kind: str,
        *inputs: Value,
        on: tuple[int, ...] = (),
        out: Value | None = None,
        **args: object,
    ) -> int:
        """Add a step; return its number."""
        number = len(self.steps)
        names = tuple(value.number for value in inputs)
        made = -1 if out is None else out.number
        self.steps.append(Step(number, thread.number, kind, on, names, made, args))
        if out is not None:
            thread.values.append(out)
        return number

    def made(
        self,
        device: int,
        dtype: str,
        shape: tuple[int, ...],
        bound: int,
        *,
        negative: bool,
    ) -> Value:
        """Return a value in memory of its own, not yet of any thread. Integers wrap around."""
        if dtype in INTEGERS and bound > limit(dtype):
            bound, negative = limit(dtype) + 1, dtype in SIGNED
        return Value(self.name(), device, dtype, shape, bound, negative, Memory())

    def chance(self, probability: float) -> bool:
        """Return true with a probability."""
        return self.random.random() < probability

    def pick(
        self,
        thread: Thread,
        *,
        dtypes: tuple[str, ...] = (),
        ndim: int = -1,
        writable: bool = False,
        filled: bool = False,
    ) -> Value | None:
        """Return one of a thread's values that fits, ``None`` if there is none."""
        fitting = [
            v
            for v in thread.values
            if (not dtypes or v.dtype in dtypes)
            and ndim in (-1, len(v.shape))
            and (not writable or (v.writable and not v.memory.frozen))
            and (not filled or v.size)
        ]
        return self.random.choice(fitting) if fitting else None

    def streams(self, thread: Thread, device: int) -> tuple[int, ...]:
        """Return the streams to enter for work on a device; often none, sometimes several."""
        own = [s for s, d in thread.streams.items() if d == device]
        common = [s for s, d in self.common.items() if d == device]
        if not own or self.chance(0.25):
            own = common
        if self.chance(0.3) or not self._with_streams:
            return ()
        chosen = (self.random.choice(own),)
        if self.chance(0.1):
            every = [*thread.streams, *self.common]
            return (self.random.choice(every), *chosen)
        return chosen

    def drop(self, thread: Thread, value: Value) -> None:
        """Let a thread forget a value, while work on it may be queued."""
        thread.values.remove(value)
        self.emit(thread, "release" if value.memory.frozen else "drop", value)

    def drop_aliases(self, thread: Thread, value: Value) -> None:
        """Drop all other values over a value's memory, and its exports."""
        for other in [v for v in thread.values if v.memory is value.memory and v is not value]:
            self.drop(thread, other)
        for name in list(value.memory.exports):
            self.drop_export(thread, name)

    def drop_export(self, thread: Thread, name: int) -> None:
        """Let a thread forget an export."""
        value = thread.exports.pop(name)
        value.memory.exports.remove(name)
        self.emit(thread, "export_drop", export=name)

    def shape(self) -> tuple[int, ...]:
        """Return a shape: mostly small, rarely of a hundred thousand elements."""
        roll = self.random.random()
        if roll < 0.03:
            return (self.random.choice((40_001, 100_000)),)
        if roll < 0.2:
            return self.random.choice(((1025,), (33, 65), (4, 16, 17), (3000,)))
        ndim = self.random.choice((1, 1, 2, 2, 3))
        return tuple(self.random.choice((1, 2, 3, 4, 7, 16)) for _ in range(ndim))
