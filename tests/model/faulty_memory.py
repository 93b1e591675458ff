"""Memory that is accessed or given away too early, or never."""

from __future__ import annotations

from .mutant_table import mutant
from .protocol import Protocol
from .world import FREE, OPEN, OWNED, PENDING, Buffer, Frame, Timeline, World


@mutant("host writes", "I4")
class HostWriteForgetsReaders(Protocol):
    """A writable export waits for the last writer alone."""

    def waits_of_host(self, w: World, name: str, write: bool) -> list[tuple[str, int, int]]:
        return super().waits_of_host(w, name, write=False)


@mutant("borrowed", "I1")
class OwnerIsDroppedAtOnce(Protocol):
    """Borrowed memory goes back to its owner while kernels use it."""

    def park(self, w: World, me: int, b: Buffer) -> None:
        w.then(me, ("drop_owner", b.cell))


@mutant("borrowed and waited for twice", "I1")
class OwnerIsDroppedFromTheList(Protocol):
    """A parked owner is dropped before it is off the list, so two threads drop it."""

    def reap(self, w: World, me: int) -> None:
        parked = w.parked
        super().reap(w, me)
        passed = [number for number, _ in parked if number not in dict(w.parked)]
        w.parked = parked
        thread = w.threads[me]
        thread.stack = thread.stack[: len(thread.stack) - len(passed)]
        for number in passed:
            w.then(me, ("drop_owner", number), ("unpark", number))

    def unpark(self, w: World, me: int, number: int) -> None:
        """Take an owner off the list."""
        w.parked = tuple(parked for parked in w.parked if parked[0] != number)


@mutant("borrowed", "I1")
class OwnerWaitsForWriterAlone(Protocol):
    """Borrowed memory goes back to its owner while other streams read it."""

    def uses_to_pass(self, w: World, b: Buffer) -> list[tuple[int, int]]:
        uses = super().uses_to_pass(w, b)
        owned = w.cells[b.cell].state == OWNED
        return [use for use in uses if use[0] == b.timeline] if owned else uses


@mutant("borrowed and closed", "I6")
class EndDoesNotReap(Protocol):
    """What waits for a stream that ends is never released, as nobody asks that stream again."""

    def reap(self, w: World, me: int) -> None:
        if all(o.state == OPEN for o in w.timelines):
            super().reap(w, me)


@mutant("reuse", "I2")
class BlockGoesHomeEarly(Protocol):
    """A block is free though another stream still uses it."""

    def release(self, w: World, me: int, b: Buffer) -> None:
        super().release(w, me, b)
        if w.cells[b.cell].state == PENDING:
            w.cells[b.cell].state = FREE


@mutant("reuse after several readers", "I2")
class ReadersAreLimited(Protocol):
    """Of several streams that read a block, only the first are waited for."""

    def uses_to_pass(self, w: World, b: Buffer) -> list[tuple[int, int]]:
        return [use for use in super().uses_to_pass(w, b) if use[0] != b.timeline][:1]


@mutant("reuse", "I2")
class PoolIsToldTooMuch(Protocol):
    """The pool takes what was published for done."""

    def tell_pool(self, w: World) -> None:
        completed = list(w.completed)
        for o in w.timelines:
            completed[o.id] = max(completed[o.id], o.seq)
        w.completed = tuple(completed)


@mutant("first use on another stream", "I2")
class NewBufferCountsAsUnused(Protocol):
    """A block of a stream's bins is first used on another stream, which waits for nothing."""

    def first_use(self, o: Timeline) -> int:
        return 0


@mutant("first use by the host", "I4")
class NewBufferCountsAsUnusedByHost(NewBufferCountsAsUnused):
    """The same, and the host writes it while a kernel of its last owner does."""


@mutant("allocate on a closed stream", "I2")
class ClosedStreamAllocates(Protocol):
    """A closed stream takes from the bins of the stream that has its id now."""

    def may_allocate(self, o: Timeline) -> bool:
        return True


@mutant("allocate while a stream closes", "I2")
class AllocationDoesNotLookAgain(Protocol):
    """A stream is closed while its allocation asks the driver, and then takes from a new one's."""

    def add_segment(self, w: World, me: int, name: str, stream: str, t: int) -> None:
        super().add_segment(w, me, name, stream, t)
        w.threads[me].stack = w.threads[me].stack[:-1]
        self.hand_out_free(w, name, t)


@mutant("trim", "I1")
class TrimWaitsFirst(Protocol):
    """Segments are taken after the wait, with blocks that were used and freed meanwhile."""

    def trim(self, w: World, me: int) -> None:
        w.then(me, ("finish_all",), ("take_segments",), ("give_segments",))


@mutant("trim", "I1")
class TrimDoesNotWait(Protocol):
    """Segments are given to the driver while kernels use them."""

    def finish_all(self, w: World, me: int) -> None:
        """Do nothing."""


@mutant("trim while a stream closes", "I1")
class OnlyOpenStreamsAreWaitedFor(Protocol):
    """A trim does not wait for the work of a stream that closes."""

    def is_waited(self, o: Timeline) -> bool:
        return o.state == OPEN and super().is_waited(o)


@mutant("forget and adopt", "I2")
class ForgottenStreamsAreNotWaitedFor(Protocol):
    """An adoption does not wait for the work of a stream that was dropped."""

    def is_waited(self, o: Timeline) -> bool:
        return not o.forgotten and super().is_waited(o)


@mutant("trim that fails", "I6")
class TrimLosesSegments(Protocol):
    """What was taken stays taken if the wait raises."""

    def on_error(self, frame: Frame) -> Frame | None:
        return None if frame[0] == "give_segments" else super().on_error(frame)


@mutant("trim that fails", "I1")
class TrimGivesAfterFailure(Protocol):
    """What was taken is given to the driver though the wait raised."""

    def on_error(self, frame: Frame) -> Frame | None:
        return frame if frame[0] == "give_segments" else super().on_error(frame)


@mutant("wait that fails", "I6")
class AdoptionLosesBlocks(Protocol):
    """Blocks stay taken if the wait raises."""

    def on_error(self, frame: Frame) -> Frame | None:
        return None if frame[0] == "adopt" else super().on_error(frame)


@mutant("adoption that fails", "I2")
class AdoptionGoesOnAfterFailure(Protocol):
    """Blocks are adopted though the wait raised."""

    def on_error(self, frame: Frame) -> Frame | None:
        return frame if frame[0] == "adopt" else super().on_error(frame)


@mutant("adopt", "I2")
class AdoptionWaitsFirst(Protocol):
    """Free blocks are taken after the wait, with those that were used and freed meanwhile."""

    def adopt_free(self, w: World, me: int, stream: str) -> None:
        t = w.streams[stream]
        assert t is not None
        id = w.timelines[t].id
        w.then(me, ("finish_all",), ("take_free", id), ("adopt", id))
