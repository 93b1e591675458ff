"""Timelines: who uses their queue, how far they are, how they begin and end."""

from __future__ import annotations

from .memory import Memory
from .world import CLOSING, ENDED, OPEN, Mark, Timeline, World


class Timelines(Memory):
    """The numbered work of streams."""

    def enter(self, o: Timeline) -> None:
        """Count a native call that uses the handle of a timeline, which keeps it alive."""
        o.users += 1

    def leave(self, w: World, me: int, t: int) -> None:
        """Be done with the handle of a timeline; whoever is the last one ends it if it closes."""
        w.timelines[t].users -= 1
        self.settle(w, me, t)

    # ---- progress ----

    def finish(self, w: World, me: int, t: int, number: int) -> None:
        """Wait on the host until a number of a timeline is done, whatever its state."""
        o = w.timelines[t]
        if o.done >= number:
            return
        if o.queue is None:
            w.then(me, ("starve",))
            return
        self.enter(o)
        place = w.place(o.queue)
        w.then(me, ("stream_synchronize", place), ("finished", t, o.seq))

    def finished(self, w: World, me: int, t: int, before: int) -> None:
        """Know that all is done that was published before the wait."""
        self.note_done(w, me, t, before)
        self.leave(w, me, t)

    def note_done(self, w: World, me: int, t: int, number: int) -> None:
        o = w.timelines[t]
        o.done = max(o.done, number)
        self.reap(w, me)

    def synchronize(self, w: World, me: int, stream: str) -> None:
        """Wait for the work so far of a stream."""
        t = w.streams[stream]
        assert t is not None
        if w.timelines[t].state == OPEN:
            w.then(me, ("finish", t, w.timelines[t].seq))

    def poll(self, w: World, me: int) -> None:
        """Ask all timelines how far they are, without blocking, and end what was forgotten."""
        w.then(me, *[("ask", t) for t, o in enumerate(w.timelines) if self.is_asked(o)])

    def is_asked(self, o: Timeline) -> bool:
        return o.queue is not None and (o.done < o.seq or o.forgotten)

    def ask(self, w: World, me: int, t: int) -> None:
        """Ask the newest mark of a timeline if it says anything new, else the queue."""
        o = w.timelines[t]
        if o.queue is None:
            return
        if o.marker and o.marker.seq > o.done:
            w.then(me, ("event_query", o.marker), ("passed", o.marker))
        else:
            self.enter(o)
            w.then(me, ("stream_query", o.queue), ("answered", t, o.seq))

    def passed(self, w: World, me: int, mark: Mark) -> None:
        """Know that all is done that was published before a mark, if it was passed."""
        if w.threads[me].value:
            self.note_done(w, me, mark.timeline, mark.seq)

    def answered(self, w: World, me: int, t: int, before: int) -> None:
        """Know that all is done that was published before the question, if the queue is idle."""
        o = w.timelines[t]
        idle = w.threads[me].value
        o.users -= 1
        if idle:
            self.note_done(w, me, t, before)
        if o.forgotten and self.is_idle(o):
            self.end(w, me, t)
        else:
            self.settle(w, me, t)

    def is_idle(self, o: Timeline) -> bool:
        """Whether nothing runs in a timeline and nobody is about to use its queue."""
        return o.state != ENDED and o.users == 0 and o.done == o.seq

    # ---- streams ----

    def open(self, w: World, me: int, stream: str) -> None:
        """Make a stream."""
        w.then(me, ("stream_create",), ("attach", stream))

    def attach(self, w: World, me: int, stream: str) -> None:
        """Give a new queue a timeline; an id that is used again goes on from its last number."""
        id, seq = self.take_id(w)
        queue = w.threads[me].value
        w.streams[stream] = len(w.timelines)
        w.timelines.append(Timeline(id, queue, queue, seq=seq, done=seq, base=seq))

    def take_id(self, w: World) -> tuple[int, int]:
        if not w.ids:
            w.completed += (0,)
            return len(w.completed) - 1, 0
        *rest, last = w.ids
        w.ids = tuple(rest)
        return last

    def close(self, w: World, me: int, stream: str) -> None:
        """Let no new work begin, finish what has begun, and end the timeline."""
        t = w.streams[stream]
        assert t is not None
        o = w.timelines[t]
        if o.state == OPEN:
            o.state = CLOSING
        w.then(me, ("finish", t, o.seq), ("settle", t), ("closed", t, len(o.needs)))

    def closed(self, w: World, me: int, t: int, count: int) -> None:
        """Return from close: the work up to its start is done."""
        w.check_ran(t, count)

    def settle(self, w: World, me: int, t: int) -> None:
        """End a closing timeline that nobody uses; first finish what was published meanwhile."""
        o = w.timelines[t]
        if o.state != CLOSING or o.users:
            return
        if o.done < o.seq:
            w.then(me, ("finish", t, o.seq))
        else:
            self.end(w, me, t)

    def end(self, w: World, me: int, t: int) -> None:
        """Take the handle out of a timeline that is idle, return its id, destroy the queue."""
        o = w.timelines[t]
        queue, o.queue = o.queue, None
        o.state, o.done, o.marker = ENDED, o.seq, None
        self.return_id(w, o)
        self.reap(w, me)
        w.then(me, ("stream_destroy", queue))

    def return_id(self, w: World, o: Timeline) -> None:
        w.ids += ((o.id, o.seq),)

    def forget(self, w: World, me: int, stream: str) -> None:
        """Drop a stream without closing it."""
        t = w.streams[stream]
        assert t is not None
        w.streams[stream] = None
        w.timelines[t].forgotten = True
