"""Launches: what they wait for, and how they get their number."""

from __future__ import annotations

from .memory import buffer, is_held
from .timelines import Timelines
from .world import OPEN, Buffer, Frame, Kernel, Mark, Use, World


class Launches(Timelines):
    """From operands to a number that is noted on them."""

    def launch(self, w: World, me: int, stream: str, uses: tuple[Use, ...]) -> None:
        """Launch a kernel on a stream."""
        t = w.streams[stream]
        assert t is not None
        if not all(is_held(w, name) for name, _ in uses):
            return  # an earlier operation raised
        kernel = w.plan(uses)
        for name, _ in uses:
            buffer(w, name).holders += 1
        letting_go = [("let_go", name) for name, _ in uses]
        w.then(me, ("depend", t, uses), ("begin", t, uses, kernel), *letting_go)

    def depend(self, w: World, me: int, t: int, uses: tuple[Use, ...]) -> None:
        """Order a timeline behind the foreign uses that matter, one at a time."""
        for name, write in uses:
            for other, number in self.hazards(w, name, write):
                if other != t and not self.is_ordered(w, t, other, number):
                    w.then(me, ("order", t, other, number), ("depend", t, uses))
                    return

    def hazards(self, w: World, name: str, write: bool) -> list[tuple[int, int]]:
        """Return the last uses that a read or a write must come after."""
        b = buffer(w, name)
        if not write:
            return [(b.timeline, b.write_seq)]
        return [(b.timeline, max(b.write_seq, b.read_seq)), *b.readers]

    def is_ordered(self, w: World, t: int, other: int, number: int) -> bool:
        """Whether later work of a timeline comes after a number of another one already."""
        o = w.timelines[other]
        return o.done >= number or dict(w.timelines[t].waited).get(o.id, 0) >= number

    def order(self, w: World, me: int, t: int, other: int, number: int) -> None:
        """Let a timeline wait for a number of another one; inline, the thread itself waits."""
        marker = w.timelines[other].marker
        if w.timelines[t].inline:
            w.then(me, ("finish", other, number))
        elif marker and marker.seq >= number:
            w.then(me, ("wait", t, marker))
        else:
            w.then(me, ("mark", other), ("wait", t, None))

    def mark(self, w: World, me: int, t: int) -> None:
        """Record a new event behind the work so far, under a number that is read first."""
        o = w.timelines[t]
        if o.queue is None:
            w.threads[me].value = None
            return
        self.enter(o)
        mark = Mark((t, o.marks), t, o.seq)
        o.marks += 1
        w.then(me, ("event_record", o.queue, mark), ("marked", mark))

    def marked(self, w: World, me: int, mark: Mark) -> None:
        """Keep a mark as the newest of its timeline, and return it."""
        o = w.timelines[mark.timeline]
        mark = mark._replace(place=w.recorded[mark.event])
        if o.marker is None or o.marker.seq <= mark.seq:
            o.marker = mark
        w.threads[me].value = mark
        self.leave(w, me, mark.timeline)

    def wait(self, w: World, me: int, t: int, mark: Mark | None) -> None:
        """Put a mark's event before later work of a timeline."""
        o = w.timelines[t]
        mark = mark or w.threads[me].value
        w.threads[me].value = None
        if o.state != OPEN:
            self.refuse(w, me)
        elif mark is not None:  # else the other timeline has ended meanwhile
            self.enter(o)
            w.then(me, ("stream_wait_event", o.queue, mark), ("waited", t, mark))

    def waited(self, w: World, me: int, t: int, mark: Mark) -> None:
        """Remember what a timeline waits for: the number of that very mark."""
        self.remember(w, t, mark)
        self.leave(w, me, t)

    def remember(self, w: World, t: int, mark: Mark) -> None:
        o, other = w.timelines[t], w.timelines[mark.timeline]
        waited = dict(o.waited)
        waited[other.id] = max(waited.get(other.id, 0), mark.seq)
        o.waited = tuple(sorted(waited.items()))

    def begin(self, w: World, me: int, t: int, uses: tuple[Use, ...], kernel: Kernel) -> None:
        """Enter the queue of a timeline that is open."""
        o = w.timelines[t]
        if o.state != OPEN:
            w.unplan(kernel)
            self.refuse(w, me)
            return
        self.enter(o)
        run = ("run_inline", kernel) if o.inline else ("enqueue", o.queue, kernel)
        w.then(me, run, ("publish", t, uses))

    def refuse(self, w: World, me: int) -> None:
        """Raise that the stream is closed; nothing was noted."""
        self.unwind(w, me)

    def publish(self, w: World, me: int, t: int, uses: tuple[Use, ...]) -> None:
        """Give the work in the queue its number, and note it on the operands."""
        self.number(w, me, t)
        self.note_uses(w, t, uses)
        self.leave(w, me, t)

    def number(self, w: World, me: int, t: int) -> None:
        o = w.timelines[t]
        o.seq += 1
        o.needs += (w.threads[me].value or 0,)
        w.threads[me].value = None
        if o.inline:
            o.done = o.seq

    def note_uses(self, w: World, t: int, uses: tuple[Use, ...]) -> None:
        for name, write in uses:
            self.note_use(buffer(w, name), t, w.timelines[t].seq, write)

    def note_use(self, b: Buffer, t: int, number: int, write: bool) -> None:
        readers = dict(b.readers)
        if b.timeline == t and write:
            b.write_seq = number
        elif b.timeline == t:
            b.read_seq = number
        elif write:
            readers[b.timeline] = max(b.write_seq, b.read_seq)
            readers.pop(t, None)
            b.timeline, b.write_seq, b.read_seq = t, number, 0
        else:
            readers[t] = number
        b.readers = tuple(sorted(readers.items()))

    # ---- errors ----

    def unwind(self, w: World, me: int) -> None:
        """Raise: of what the operation had to do, only what cleans up remains."""
        thread = w.threads[me]
        for frame in thread.stack:
            if frame[0] == "begin":
                w.unplan(frame[-1])
        kept = (self.on_error(frame) for frame in thread.stack)
        thread.stack = tuple(frame for frame in kept if frame)

    def on_error(self, frame: Frame) -> Frame | None:
        """Return what remains of a transition if what comes before it raises.

        A launch is published all the same, since a part of its work may be in the queue.
        """
        match frame:
            case ("publish" | "let_go" | "settle" | "drop_owner", *_):
                return frame
            case ("marked", mark):
                return ("leave", mark.timeline)
            case ("waited" | "finished" | "answered", t, _):
                return ("leave", t)
            case ("give_segments" | "adopt", *_):
                return ("put_back",)
        return None
