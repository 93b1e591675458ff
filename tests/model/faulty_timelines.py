"""Streams that end wrongly."""

from __future__ import annotations

from .mutant_table import mutant
from .protocol import Protocol
from .world import CLOSING, ENDED, OPEN, Mark, Timeline, World


@mutant("close", "I5")
class EndsBeforeFinishing(Protocol):
    """Close says that all is done, and finishes afterwards."""

    def close(self, w: World, me: int, stream: str) -> None:
        t = w.streams[stream]
        assert t is not None
        if w.timelines[t].state == OPEN:
            self.end(w, me, t)


@mutant("close", "I5")
class EndsWithLateLaunches(Protocol):
    """The last user of a closing stream ends it without a wait for what was published meanwhile."""

    def settle(self, w: World, me: int, t: int) -> None:
        if w.timelines[t].state == CLOSING and not w.timelines[t].users:
            self.end(w, me, t)


@mutant("close", "I6")
class HandleIsTakenBeforeWorkIsDone(Protocol):
    """The handle is gone while the queue is finished and destroyed: a waiter cannot ask it."""

    def settle(self, w: World, me: int, t: int) -> None:
        o = w.timelines[t]
        if o.state == CLOSING and not o.users and o.queue is not None:
            queue, o.queue = o.queue, None
            w.then(me, ("stream_destroy", queue), ("ended", t))

    def ended(self, w: World, me: int, t: int) -> None:
        """Note the end after the queue was destroyed."""
        o = w.timelines[t]
        o.state, o.done, o.marker = ENDED, o.seq, None
        self.return_id(w, o)
        self.reap(w, me)


@mutant("close", "I3")
class QueueIsDestroyedUnderUsers(Protocol):
    """Close destroys the queue whoever still uses it."""

    def settle(self, w: World, me: int, t: int) -> None:
        o = w.timelines[t]
        if o.state == CLOSING and o.done == o.seq:
            self.end(w, me, t)
        else:
            super().settle(w, me, t)


@mutant("close", "I3")
class NobodyIsCounted(Protocol):
    """Nobody says that it uses the handle."""

    def enter(self, o: Timeline) -> None:
        """Do nothing."""

    def leave(self, w: World, me: int, t: int) -> None:
        self.settle(w, me, t)

    def answered(self, w: World, me: int, t: int, before: int) -> None:
        w.timelines[t].users += 1
        super().answered(w, me, t, before)


@mutant("close what others wait for", "I3")
class RecordIsNotCounted(Protocol):
    """An event is recorded in a foreign queue that may be destroyed meanwhile."""

    def mark(self, w: World, me: int, t: int) -> None:
        users = w.timelines[t].users
        super().mark(w, me, t)
        w.timelines[t].users = users

    def marked(self, w: World, me: int, mark: Mark) -> None:
        w.timelines[mark.timeline].users += 1
        super().marked(w, me, mark)


@mutant("close who waits", "I3")
class WaitIsNotCounted(Protocol):
    """A wait is put into the launch's own queue, which another thread closes."""

    def wait(self, w: World, me: int, t: int, mark: Mark | None) -> None:
        users = w.timelines[t].users
        super().wait(w, me, t, mark)
        w.timelines[t].users = users

    def waited(self, w: World, me: int, t: int, mark: Mark) -> None:
        w.timelines[t].users += 1
        super().waited(w, me, t, mark)


@mutant("close", "I3")
class HostWaitIsNotCounted(Protocol):
    """The host waits for a queue that another thread destroys."""

    def finish(self, w: World, me: int, t: int, number: int) -> None:
        users = w.timelines[t].users
        super().finish(w, me, t, number)
        w.timelines[t].users = users

    def finished(self, w: World, me: int, t: int, before: int) -> None:
        w.timelines[t].users += 1
        super().finished(w, me, t, before)


@mutant("close twice", "I5")
class SecondCloseReturnsAtOnce(Protocol):
    """Close of a stream that another thread closes returns though the work still runs."""

    def close(self, w: World, me: int, stream: str) -> None:
        t = w.streams[stream]
        assert t is not None
        if w.timelines[t].state == OPEN:
            super().close(w, me, stream)
        else:
            w.then(me, ("closed", t, len(w.timelines[t].needs)))


@mutant("close twice", "I3")
class EndsAfterDestroying(Protocol):
    """The handle stays in the timeline while the queue is destroyed, so it is destroyed twice."""

    def end(self, w: World, me: int, t: int) -> None:
        w.then(me, ("stream_destroy", w.timelines[t].queue), ("ended", t))

    def ended(self, w: World, me: int, t: int) -> None:
        """Note the end after the queue was destroyed."""
        o = w.timelines[t]
        o.state, o.done, o.marker, o.queue = ENDED, o.seq, None, None
        self.return_id(w, o)
        self.reap(w, me)


@mutant("close", "I4")
class ClosingCountsAsDone(Protocol):
    """The host does not wait for a stream that closes."""

    def waits_of_host(self, w: World, name: str, write: bool) -> list[tuple[str, int, int]]:
        waits = super().waits_of_host(w, name, write)
        return [wait for wait in waits if w.timelines[wait[1]].state == OPEN]


@mutant("forget", "I5")
class ForgottenIsEndedBusy(Protocol):
    """A stream that was dropped is ended without looking whether its work is done."""

    def ask(self, w: World, me: int, t: int) -> None:
        if w.timelines[t].forgotten and w.timelines[t].queue is not None:
            self.end(w, me, t)
        else:
            super().ask(w, me, t)


@mutant("forget", "I3")
class ForgottenIsEndedInUse(Protocol):
    """A stream that was dropped is ended though another thread is about to use its queue."""

    def is_idle(self, o: Timeline) -> bool:
        return o.state != ENDED and o.done == o.seq


@mutant("forget", "I3")
class ForgottenIsEndedTwice(Protocol):
    """Two threads find the same dropped stream idle."""

    def answered(self, w: World, me: int, t: int, before: int) -> None:
        o = w.timelines[t]
        o.users -= 1
        if o.forgotten and w.threads[me].value and o.users == 0:
            w.then(me, ("stream_destroy", o.native))


@mutant("forget", "I6")
class ForgottenIsNeverEnded(Protocol):
    """Nobody looks after a stream that was dropped."""

    def is_idle(self, o: Timeline) -> bool:
        return False
