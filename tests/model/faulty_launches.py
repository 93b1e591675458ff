"""Launches that wait, count or clean up wrongly."""

from __future__ import annotations

from typing import NamedTuple

from .memory import buffer
from .mutant_table import mutant
from .protocol import Protocol
from .world import OPEN, Frame, Kernel, Mark, Place, Timeline, Use, World


class Unheld(NamedTuple):
    """As a mark, but it does not keep the event alive."""

    event: tuple[int, int]
    timeline: int
    seq: int
    place: Place | None


@mutant("marker moves", "I3")
class WaitHoldsNoReference(Protocol):
    """The wait passes the bare handle of the marker, which another thread replaces meanwhile."""

    def wait(self, w: World, me: int, t: int, mark: Mark | None) -> None:
        super().wait(w, me, t, mark)
        thread = w.threads[me]
        thread.stack = tuple(
            tuple(Unheld(*item) if isinstance(item, Mark) else item for item in frame)
            for frame in thread.stack
        )


@mutant("marker moves", "I4")
class WaitedTakesNewestMark(Protocol):
    """After the wait the number of the present marker is remembered, not of the one waited for."""

    def remember(self, w: World, t: int, mark: Mark) -> None:
        super().remember(w, t, w.timelines[mark.timeline].marker or mark)


@mutant("same hazard twice", "I4")
class WaitedIsNotedFirst(Protocol):
    """The number is remembered before the wait is in the queue, so another thread skips its own."""

    def wait(self, w: World, me: int, t: int, mark: Mark | None) -> None:
        found = mark or w.threads[me].value
        super().wait(w, me, t, mark)
        if found is not None:
            self.remember(w, t, found)


@mutant("marker moves", "I4")
class MarkIsNumberedLate(Protocol):
    """The number of a mark is read after the event was recorded."""

    def marked(self, w: World, me: int, mark: Mark) -> None:
        super().marked(w, me, mark._replace(seq=w.timelines[mark.timeline].seq))


@mutant("marker moves", "I3")
class EventIsRecordedAgain(Protocol):
    """One driver event per timeline is recorded again in place of a new one per mark."""

    def mark(self, w: World, me: int, t: int) -> None:
        w.timelines[t].marks = 0
        super().mark(w, me, t)


@mutant("poll while marks are made", "I5")
class PassedTakesNewestMark(Protocol):
    """After asking a mark, the number of the present marker is taken for done."""

    def passed(self, w: World, me: int, mark: Mark) -> None:
        super().passed(w, me, w.timelines[mark.timeline].marker or mark)


@mutant("write after reads", "I4")
class WriteForgetsReaders(Protocol):
    """A write waits for the last writer alone."""

    def hazards(self, w: World, name: str, write: bool) -> list[tuple[int, int]]:
        return super().hazards(w, name, write)[:1]


@mutant("hand over", "I4")
class ReadForgetsWriter(Protocol):
    """A read waits for nobody, as if hazards were found by hand."""

    def is_ordered(self, w: World, t: int, other: int, number: int) -> bool:
        return True


@mutant("inline", "I4")
class InlineDoesNotWait(Protocol):
    """A launch of the inline stream runs before what it depends on."""

    def order(self, w: World, me: int, t: int, other: int, number: int) -> None:
        if w.timelines[t].inline:
            w.threads[me].stack = tuple(f for f in w.threads[me].stack if f[0] != "depend")
        else:
            super().order(w, me, t, other, number)


@mutant("one stream", "I5")
class NumberComesBeforeWork(Protocol):
    """A launch is counted when it begins: another thread waits, and takes it for done."""

    NOT_YET = 99

    def begin(self, w: World, me: int, t: int, uses: tuple[Use, ...], kernel: Kernel) -> None:
        o = w.timelines[t]
        if o.state == OPEN:
            o.seq += 1
            o.needs += (self.NOT_YET,)
        super().begin(w, me, t, uses, kernel)

    def number(self, w: World, me: int, t: int) -> None:
        o = w.timelines[t]
        needs = list(o.needs)
        needs[needs.index(self.NOT_YET)] = w.threads[me].value or 0
        o.needs = tuple(needs)


@mutant("one stream", "I4")
class NumberIsForeseen(Protocol):
    """Operands get the number that was next at the launch's begin; two threads get the same."""

    def begin(self, w: World, me: int, t: int, uses: tuple[Use, ...], kernel: Kernel) -> None:
        number = w.timelines[t].seq + 1
        super().begin(w, me, t, uses, kernel)
        thread = w.threads[me]
        thread.stack = tuple(
            ("publish_as", t, uses, number) if frame[0] == "publish" else frame
            for frame in thread.stack
        )

    def publish_as(self, w: World, me: int, t: int, uses: tuple[Use, ...], number: int) -> None:
        """Count the launch, but note what was foreseen."""
        self.number(w, me, t)
        for name, write in uses:
            self.note_use(buffer(w, name), t, number, write)
        self.leave(w, me, t)


@mutant("one stream", "I5")
class DoneIsReadAfterWait(Protocol):
    """After a wait all is taken for done that was published until then."""

    def finished(self, w: World, me: int, t: int, before: int) -> None:
        super().finished(w, me, t, w.timelines[t].seq)


@mutant("poll", "I5")
class QueryIsNumberedLate(Protocol):
    """After an idle answer all is taken for done that was published until then."""

    def answered(self, w: World, me: int, t: int, before: int) -> None:
        super().answered(w, me, t, w.timelines[t].seq)


@mutant("ids", "I2")
class NumbersBeginAgain(Protocol):
    """A timeline with an id that was used before counts from 0."""

    def take_id(self, w: World) -> tuple[int, int]:
        return super().take_id(w)[0], 0


@mutant("ids and what is waited for", "I4")
class NumbersBeginAgainForWaits(NumbersBeginAgain):
    """The same, and what others wait for by id is taken for the old timeline's."""


@mutant("ids of closing streams", "I2")
class IdReturnsEarly(Protocol):
    """An id is used again while the work of its old timeline still runs."""

    def close(self, w: World, me: int, stream: str) -> None:
        t = w.streams[stream]
        if t is not None and w.timelines[t].state == OPEN:
            super().return_id(w, w.timelines[t])
        super().close(w, me, stream)

    def return_id(self, w: World, o: Timeline) -> None:
        """Do nothing: it is done already."""


@mutant("close", "I6")
class UsesAreNotedBeforeBegin(Protocol):
    """Operands get the next number before the stream is seen to be closed; it is never given."""

    def begin(self, w: World, me: int, t: int, uses: tuple[Use, ...], kernel: Kernel) -> None:
        for name, write in uses:
            self.note_use(buffer(w, name), t, w.timelines[t].seq + 1, write)
        super().begin(w, me, t, uses, kernel)


@mutant("launch that fails", "I4")
class FailedLaunchIsNotNoted(Protocol):
    """A launch that raised leaves no number on its operands, though its work is in the queue."""

    def on_error(self, frame: Frame) -> Frame | None:
        return ("leave", frame[1]) if frame[0] == "publish" else super().on_error(frame)


@mutant("order that fails", "I6")
class ErrorKeepsCount(Protocol):
    """A call that raised is counted as a user of the queue for ever."""

    def on_error(self, frame: Frame) -> Frame | None:
        found = super().on_error(frame)
        return None if found and found[0] == "leave" else found


@mutant("wait that fails", "I5")
class FailedWaitCountsAsDone(Protocol):
    """A wait that raised, such as one that ran out of time, moves the number of what is done."""

    def on_error(self, frame: Frame) -> Frame | None:
        return frame if frame[0] == "finished" else super().on_error(frame)


@mutant("wait that fails", "I6")
class FailedCloseStaysClosing(Protocol):
    """A close whose wait raised never ends its timeline."""

    def on_error(self, frame: Frame) -> Frame | None:
        if frame[0] == "finished":
            return ("left", frame[1])
        return None if frame[0] == "settle" else super().on_error(frame)

    def left(self, w: World, me: int, t: int) -> None:
        """Be done with the handle, and look no further."""
        w.timelines[t].users -= 1


@mutant("close", "I3")
class BeginDoesNotLook(Protocol):
    """A launch enters the queue of a closed stream."""

    def begin(self, w: World, me: int, t: int, uses: tuple[Use, ...], kernel: Kernel) -> None:
        self.enter(w.timelines[t])
        w.then(me, ("enqueue", w.timelines[t].native, kernel), ("publish", t, uses))
