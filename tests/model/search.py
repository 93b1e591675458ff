"""Breadth-first search through all states of a program, and a readable trace of what went wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from .driver import Driver
from .programs import Program
from .protocol import Protocol
from .world import (
    OWNED,
    USED,
    Barrier,
    Buffer,
    Cell,
    Frame,
    Kernel,
    Mark,
    Queue,
    Thread,
    Timeline,
    Violation,
    World,
)

Label = tuple[str, int]  # "thread", "queue" or how a thread's call raises, and the index
RAISES = ("raise",)
RAISES_LATE = ("raise", "raise late")


@dataclass
class Result:
    """What a search found: the states that it saw and, if an invariant broke, which and how."""

    states: int = 0
    violation: Violation | None = None
    trace: list[str] = field(default_factory=list)

    @property
    def broken(self) -> str:
        """The short name of the invariant that does not hold, or ``""``."""
        return self.violation.invariant if self.violation else ""


class Model:
    """A program that runs under a protocol: its first state and the steps from each state."""

    def __init__(self, program: Program, protocol: Protocol) -> None:
        self.program = program
        self.protocol = protocol
        self.driver = Driver()
        self.told: list[tuple[int, Frame]] = []  # the last step: who, and what
        #: The last thread looks after everything once the others are done and the device is idle.
        self.threads = (*program.threads, program.epilogue)

    def first(self) -> World:
        """Return the state before the first step."""
        w = World()
        w.threads = [Thread() for _ in self.threads]
        w.streams = dict.fromkeys(self.program.names("open"))
        w.events = dict.fromkeys(self.program.names("record"))
        w.buffers = dict.fromkeys(self.program.names("allocate"))
        w.completed = (0,) * len(self.program.streams)
        for number, name in enumerate(self.program.streams):
            inline = name == self.program.inline
            w.streams[name] = number
            w.queues.append(Queue(alive=not inline))
            w.timelines.append(Timeline(number, None if inline else number, number, inline))
        for number, (name, stream) in enumerate(self.program.buffers.items()):
            t = w.streams[stream] if stream else 0
            assert t is not None
            w.cells.append(Cell(USED if stream else OWNED, t))
            w.buffers[name] = Buffer(number, t if stream else -1, t)
        return w

    def steps(self, w: World) -> Iterator[tuple[Label, World | Violation]]:
        """Yield every step that is possible now with the state after it."""
        labels = [
            ("queue", number)
            for number, queue in enumerate(w.queues)
            if queue.entries and isinstance(queue.entries[0], Kernel)
        ]
        last = len(self.threads) - 1
        labels += [("thread", me) for me in range(last) if self._may_run(w, me)]
        if not labels and self._may_run(w, last):
            labels = [("thread", last)]
        if not w.raised:
            labels += [
                (how, me)
                for me in range(last)
                if (frame := self._next(w, me)) and frame[0] in self.program.raises
                for how in (RAISES_LATE if frame[0] == "enqueue" else RAISES)
            ]
        for label in labels:
            try:
                yield label, self.step(w, label)
            except Violation as violation:
                yield label, violation

    def step(self, w: World, label: Label) -> World:
        """Return the state after a step; raises ``Violation``."""
        w = w.copy()
        kind, number = label
        self.told.clear()
        if kind == "queue":
            self.told.append((-1, ("run", number, w.queues[number].entries[0])))
            self.driver.run_head(w, number)
        elif kind != "thread":
            self._raise(w, number, late=kind == "raise late")
        else:
            self._go_on(w, number)
            while self._is_private(w, number):
                self._go_on(w, number)
        w.advance()
        w.collect_events()
        w.check()
        return w

    def _go_on(self, w: World, me: int) -> None:
        """Run the next transition of a thread."""
        thread = w.threads[me]
        frame = self._next(w, me)
        assert frame is not None
        self.told.append((me, frame))
        if thread.stack:
            thread.stack = thread.stack[:-1]
        else:
            thread.pc += 1
            thread.value = None
        name, *arguments = frame
        owner = self.driver if hasattr(self.driver, name) else self.protocol
        getattr(owner, name)(w, me, *arguments)

    def _raise(self, w: World, me: int, late: bool) -> None:
        """Let a native call raise, without its effect or behind it."""
        thread = w.threads[me]
        frame = thread.stack[-1]
        self.told.append((me, ("raise late" if late else "raise", frame)))
        thread.stack = thread.stack[:-1]
        w.raised, thread.value = True, None
        if late:
            getattr(self.driver, frame[0])(w, me, *frame[1:])
        elif frame[0] == "enqueue":
            w.unplan(frame[-1])
        self.protocol.unwind(w, me)

    def _is_private(self, w: World, me: int) -> bool:
        """Whether nobody can tell when the next transition of a thread happens: it need not wait.

        So are the start of a launch, which only notes what must happen, a word to the other thread,
        and a reference that is not the last.
        """
        match self._next(w, me):
            case ("launch" | "give", *_):
                return True
            case ("receive", what):
                return what in w.handed
            case ("let_go", name):
                buffer = w.buffers[name]
                return buffer is not None and buffer.holders > 1
        return False

    def check_quiet(self, w: World) -> None:
        """Check a state without a step: everybody came to the end, and nothing is left over."""
        for me in range(len(self.threads)):
            frame = self._next(w, me)
            if frame is not None:
                raise Violation("I6", f"{self.who(me)} waits for ever in {frame}")
        w.check_quiet()

    def tell(self) -> list[str]:
        """Return the last step in words, a line per transition."""
        return [
            f"{self.who(me)}  {name}({', '.join(show(a) for a in arguments)})"
            for me, (name, *arguments) in self.told
        ]

    def who(self, me: int) -> str:
        """Return the name of a thread, or of what acts otherwise."""
        return {-1: "device", len(self.threads) - 1: "end"}.get(me, f"T{me + 1}")

    def _next(self, w: World, me: int) -> Frame | None:
        thread = w.threads[me]
        if thread.stack:
            return thread.stack[-1]
        if thread.pc < len(self.threads[me]):
            return self.threads[me][thread.pc]
        return None

    def _may_run(self, w: World, me: int) -> bool:
        match self._next(w, me):
            case None | ("starve",):
                return False
            case ("receive", what):
                return what in w.handed
            case frame:
                return self.driver.returns(w, frame)


def explore(model: Model, limit: int = 0) -> Result:
    """Visit every state, or about ``limit`` of them, nearest first, up to a violation."""
    first = model.first()
    came_from: list[tuple[int, Label]] = [(-1, ("", 0))]
    seen = {first.key()}
    frontier = deque([(0, first)])
    while frontier:
        index, w = frontier.popleft()
        quiet = True
        for label, after in model.steps(w):
            quiet = False
            if isinstance(after, Violation):
                return Result(len(seen), after, _trace(model, came_from, index, label))
            key = after.key()
            if key not in seen:
                seen.add(key)
                frontier.append((len(came_from), after))
                came_from.append((index, label))
        if quiet:
            try:
                model.check_quiet(w)
            except Violation as violation:
                return Result(len(seen), violation, _trace(model, came_from, index, None))
        if limit and len(seen) > limit:
            break
    return Result(len(seen))


def _trace(
    model: Model, came_from: list[tuple[int, Label]], index: int, last: Label | None
) -> list[str]:
    """Replay the way to a state and tell each step and what it changed."""
    labels = [last] if last else []
    while index:
        index, label = came_from[index]
        labels.append(label)
    w, lines = model.first(), []
    for label in reversed(labels):
        try:
            after = model.step(w, label)
            end = "; ".join(changes(w, after))
        except Violation as violation:
            after, end = w, f"=> {violation}"
        lines += model.tell()
        lines[-1] += "  " + end
        w = after
    return lines


def changes(before: World, after: World) -> list[str]:
    """Return in words which fields of which records differ."""
    found = []
    for name in ("timelines", "queues", "cells"):
        for number, record in enumerate(getattr(after, name)):
            olds = getattr(before, name)
            old = olds[number].__dict__ if number < len(olds) else {}
            found += [
                f"{name[:-1]} {number}.{field}={show(value)}"
                for field, value in record.__dict__.items()
                if old.get(field, value) != value
            ]
    for name, buffer in after.buffers.items():
        old_buffer = before.buffers[name]
        if (buffer and buffer.key()) != (old_buffer and old_buffer.key()):
            found.append(f"{name}={show(buffer)}")
    found += [
        f"{name}={show(getattr(after, name))}"
        for name in ("recorded", "parked", "ids", "completed")
        if getattr(before, name) != getattr(after, name)
    ]
    return found


def show(value: object) -> str:
    """Return a value without the names of its classes' fields."""
    match value:
        case Buffer():
            return f"({', '.join(f'{k} {v}' for k, v in value.__dict__.items() if v)})"
        case Mark():
            return f"mark{value.event} behind {value.seq}"
        case Kernel():
            parts = ("write" if a.write else "read" for a in value.accesses)
            cells = (a.cell for a in value.accesses)
            return (
                "kernel(" + ", ".join(f"{p} {c}" for p, c in zip(parts, cells, strict=True)) + ")"
            )
        case Barrier():
            return f"wait{tuple(value.place)}"
        case (str(name), bool(writes)):
            return f"{'write' if writes else 'read'} {name}"
        case tuple():
            return f"({', '.join(show(item) for item in value)})"
    return str(value)
