"""The state of the model: plain records whose fields hold immutable values only.

So a shallow copy of each record is a copy of the state, and the tuple of all fields is its key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

Frame = tuple[Any, ...]  # the name of a transition and its arguments
Use = tuple[str, bool]  # a buffer, and whether the launch writes it

OPEN, CLOSING, ENDED = "open", "closing", "ended"
#: States of memory. The first four are the pool's; owned and dropped belong to borrowed memory.
USED, FREE, PENDING, TAKEN, GIVEN = "used", "free", "pending", "taken", "given"
OWNED, DROPPED = "owned", "dropped"


class Violation(Exception):
    """An invariant does not hold; ``invariant`` is its short name."""

    def __init__(self, invariant: str, reason: str) -> None:
        super().__init__(f"{invariant}: {reason}")
        self.invariant = invariant


class Place(NamedTuple):
    """A point of a queue: reached when so many of its entries have run."""

    queue: int
    entries: int


class Mark(NamedTuple):
    """A driver event behind number ``seq`` of a timeline; ``place`` is where it really lies."""

    event: tuple[int, int]
    timeline: int
    seq: int
    place: Place | None = None


class Access(NamedTuple):
    """What a kernel must find in a cell: so many writes, and before a write so many reads."""

    cell: int
    writes: int
    reads: int  # meaningful for a write only
    since: int  # writes before the present owner of the memory
    write: bool


class Kernel(NamedTuple):
    """A queue entry that works on memory."""

    accesses: tuple[Access, ...]


class Barrier(NamedTuple):
    """A queue entry that blocks its queue until a place is reached."""

    place: Place


@dataclass(eq=False)
class Record:
    """Named fields with immutable values."""

    def copy(self) -> Self:
        """Return another record with the same values."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new

    def key(self) -> tuple[Any, ...]:
        """Return the values."""
        return tuple(self.__dict__.values())


@dataclass(eq=False)
class Timeline(Record):
    """The numbered work of one stream.

    ``native``, ``base`` and ``needs`` are the truth that invariants look at, not the protocol.
    """

    id: int
    queue: int | None  # the handle, until it is taken out
    native: int = 0  # the queue that it was
    inline: bool = False
    seq: int = 0
    done: int = 0
    users: int = 0
    state: str = OPEN
    forgotten: bool = False
    marker: Mark | None = None
    marks: int = 0  # made so far, to name their events
    waited: tuple[tuple[int, int], ...] = ()  # id -> number, sorted
    base: int = 0  # the number at which this timeline began
    needs: tuple[int, ...] = ()  # for each number the entries that must have run


@dataclass(eq=False)
class Queue(Record):
    """A native queue: entries that have not run, and how many have."""

    entries: tuple[Kernel | Barrier, ...] = ()
    ran: int = 0
    alive: bool = True

    @property
    def length(self) -> int:
        """How many entries were ever put in."""
        return self.ran + len(self.entries)


@dataclass(eq=False)
class Cell(Record):
    """Memory that one buffer at a time uses: the pool's view, and what is planned and has run."""

    state: str
    home: int = 0  # id of the timeline whose bins it belongs to
    waits: tuple[tuple[int, int], ...] = ()  # (id, number) while pending
    taker: int = -1  # the thread that holds it while it is taken
    since: int = 0
    planned_writes: int = 0
    planned_reads: int = 0  # after the last planned write
    writes: int = 0
    reads: int = 0
    written_since: int = 0  # `since` of the last write that ran


@dataclass(eq=False)
class Buffer(Record):
    """What hazards are found from: the last uses of some memory."""

    cell: int
    home: int  # id of a timeline; -1 for borrowed memory
    timeline: int
    write_seq: int = 0
    read_seq: int = 0
    readers: tuple[tuple[int, int], ...] = ()  # other timelines -> number, sorted
    holders: int = 1  # the program, and each launch on its way
    dropped: bool = False  # by the program


@dataclass(eq=False)
class Thread(Record):
    """The next operation of a thread's program, and what is left of the present one."""

    pc: int = 0
    stack: tuple[Frame, ...] = ()  # the next transition is the last
    value: Any = None  # what the last call returned


class World:
    """One state of threads, library, driver and device."""

    timelines: list[Timeline]
    queues: list[Queue]
    cells: list[Cell]
    threads: list[Thread]
    streams: dict[str, int | None]  # the program's names
    buffers: dict[str, Buffer | None]
    events: dict[str, Mark | None]
    recorded: dict[tuple[int, int], Place | None]  # driver events that exist
    raised: bool  # whether a call has raised; one per program does
    handed: tuple[str, ...]
    parked: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]  # cell of an owner, its waits
    ids: tuple[tuple[int, int], ...]  # free ids with the number from which to go on
    completed: tuple[int, ...]  # by id, as far as the pool was told

    def __init__(self) -> None:
        self.timelines, self.queues, self.cells, self.threads = [], [], [], []
        self.streams, self.buffers, self.events, self.recorded = {}, {}, {}, {}
        self.raised = False
        self.handed = self.parked = self.ids = self.completed = ()

    def copy(self) -> World:
        """Return an independent state with the same values."""
        new = object.__new__(World)
        new.__dict__.update(self.__dict__)
        new.timelines = [record.copy() for record in self.timelines]
        new.queues = [record.copy() for record in self.queues]
        new.cells = [record.copy() for record in self.cells]
        new.threads = [record.copy() for record in self.threads]
        new.streams = self.streams.copy()
        new.buffers = {n: b.copy() if b else None for n, b in self.buffers.items()}
        new.events = self.events.copy()
        new.recorded = self.recorded.copy()
        return new

    def key(self) -> int:
        """Return 64 bits that stand for this state."""
        return hash((
            tuple([record.key() for record in self.timelines]),
            tuple([record.key() for record in self.queues]),
            tuple([record.key() for record in self.cells]),
            tuple([record.key() for record in self.threads]),
            tuple(self.streams.values()),
            tuple([b.key() if b else None for b in self.buffers.values()]),
            tuple(self.events.values()),
            tuple(sorted(self.recorded.items())),
            self.raised, self.handed, self.parked, self.ids, self.completed,
        ))  # fmt: skip

    def then(self, me: int, *frames: Frame) -> None:
        """Let thread ``me`` go on with these transitions, the first of them first."""
        thread = self.threads[me]
        thread.stack += frames[::-1]

    # ---- what must happen, and what has ----

    def plan(self, uses: tuple[Use, ...]) -> Kernel:
        """Give a launch its place in the history of its operands, in the order of the program."""
        accesses = []
        for name, write in uses:
            buffer = self.buffers[name]
            assert buffer is not None, f"the program uses {name}, which it has not"
            cell = self.cells[buffer.cell]
            accesses.append(
                Access(buffer.cell, cell.planned_writes, cell.planned_reads, cell.since, write)
            )
            if write:
                cell.planned_writes += 1
                cell.planned_reads = 0
            else:
                cell.planned_reads += 1
        return Kernel(tuple(accesses))

    def unplan(self, kernel: Kernel) -> None:
        """Take a launch that never reached a queue out of the history."""
        for access in reversed(kernel.accesses):
            cell = self.cells[access.cell]
            if access.write:
                cell.planned_writes -= 1
                cell.planned_reads = access.reads
            else:
                cell.planned_reads -= 1

    def execute(self, kernel: Kernel) -> None:
        """Run a kernel: reads see the planned write, writes come after all that was before."""
        for access in kernel.accesses:
            cell = self.cells[access.cell]
            ordered = cell.writes == access.writes
            if access.write:
                ordered = ordered and cell.reads == access.reads
            if not ordered:
                foreign = cell.written_since != access.since or access.writes == access.since
                raise Violation(
                    "I2" if foreign else "I4",
                    f"a kernel {'writes' if access.write else 'reads'} memory {access.cell} behind "
                    f"{access.writes} writes and {access.reads} reads, but {cell.writes} and "
                    f"{cell.reads} have run",
                )
            if access.write:
                cell.writes, cell.reads, cell.written_since = access.writes + 1, 0, access.since
            else:
                cell.reads += 1

    def execute_on_host(self, number: int, write: bool) -> None:
        """Access memory from the host, which must find all that the program put before."""
        cell = self.cells[number]
        if cell.state in (GIVEN, DROPPED):
            raise Violation("I1", f"the host uses memory {number}, which is {cell.state}")
        if cell.writes != cell.planned_writes or (write and cell.reads != cell.planned_reads):
            raise Violation(
                "I4",
                f"the host {'writes' if write else 'reads'} memory {number} when {cell.writes} of "
                f"{cell.planned_writes} writes and {cell.reads} of {cell.planned_reads} reads "
                "have run",
            )
        if write:
            cell.writes = cell.planned_writes = cell.planned_writes + 1
            cell.reads = cell.planned_reads = 0
            cell.written_since = cell.since

    def place(self, queue: int) -> Place:
        """Return the present end of a queue."""
        return Place(queue, self.queues[queue].length)

    def advance(self) -> None:
        """Pass the barriers whose place is reached."""
        moved = True
        while moved:
            moved = False
            for queue in self.queues:
                while queue.entries and isinstance(queue.entries[0], Barrier):
                    if not self.reached(queue.entries[0].place):
                        break
                    queue.entries = queue.entries[1:]
                    queue.ran += 1
                    moved = True

    def reached(self, place: Place) -> bool:
        """Whether a queue has come to a place."""
        return self.queues[place.queue].ran >= place.entries

    def collect_events(self) -> None:
        """Destroy the driver events of marks that nobody refers to any more."""
        if not self.recorded:
            return
        kept = [t.marker for t in self.timelines]
        kept += self.events.values()
        for thread in self.threads:
            kept.append(thread.value)
            for frame in thread.stack:
                kept += frame
        events = {item.event for item in kept if isinstance(item, Mark)}
        for event in [event for event in self.recorded if event not in events]:
            del self.recorded[event]

    # ---- invariants of every state ----

    def check(self) -> None:
        """Check that memory in use exists, and that nothing is taken for done that is not."""
        for number, queue in enumerate(self.queues):
            for entry in queue.entries:
                if isinstance(entry, Kernel):
                    for access in entry.accesses:
                        if self.cells[access.cell].state in (GIVEN, DROPPED):
                            raise Violation(
                                "I1",
                                f"queue {number} will touch memory {access.cell}, which is "
                                f"{self.cells[access.cell].state}",
                            )
        for number, timeline in enumerate(self.timelines):
            if timeline.inline:
                continue
            known = timeline.done - timeline.base
            if known > len(timeline.needs):
                raise Violation("I5", f"timeline {number} takes {timeline.done} for done")
            self.check_ran(number, known)

    def check_ran(self, number: int, count: int) -> None:
        """Check that the first launches of a timeline have run."""
        timeline = self.timelines[number]
        ran = self.queues[timeline.native].ran
        if any(need > ran for need in timeline.needs[:count]):
            raise Violation(
                "I5",
                f"{count} launches of timeline {number} are taken for done; they need "
                f"{timeline.needs[:count]} entries, {ran} have run",
            )

    def check_quiet(self) -> None:
        """Check that nothing is left over at the end."""
        if self.parked:
            raise Violation("I6", f"owners are never dropped: {self.parked}")
        for number, cell in enumerate(self.cells):
            kept = any(b and b.cell == number for b in self.buffers.values())
            if cell.state in (PENDING, TAKEN) or (cell.state == OWNED and not kept):
                raise Violation("I6", f"memory {number} stays {cell.state}")
        for number, timeline in enumerate(self.timelines):
            if timeline.users or timeline.state == CLOSING:
                raise Violation("I6", f"timeline {number} is never ended")
            if timeline.state == OPEN and timeline.forgotten:
                raise Violation("I6", f"timeline {number} was forgotten and is never ended")
        living = [t.id for t in self.timelines if t.state != ENDED] + [i for i, _ in self.ids]
        if sorted(living) != list(range(len(self.completed))):
            raise Violation("I6", f"ids in use or free are {living} of {len(self.completed)}")
        ends = [t.queue for t in self.timelines if t.state != ENDED and t.queue is not None]
        if [n for n, queue in enumerate(self.queues) if queue.alive] != sorted(ends):
            raise Violation("I6", "a queue was never destroyed")
