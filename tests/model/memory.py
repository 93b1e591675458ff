"""Memory: handing out, releasing, and taking over."""

from __future__ import annotations

from .world import FREE, OPEN, OWNED, PENDING, TAKEN, USED, Buffer, Cell, Timeline, World


class Memory:
    """Blocks of the pool and owners of borrowed memory."""

    def allocate(self, w: World, me: int, name: str, stream: str) -> None:
        """Take a free block of a stream's own, else memory from the driver."""
        t = w.streams[stream]
        assert t is not None
        if w.buffers[name] is not None or not self.may_allocate(w.timelines[t]):
            return
        if not self.hand_out_free(w, name, t):
            w.then(me, ("memory_alloc",), ("add_segment", name, stream, t))

    def may_allocate(self, o: Timeline) -> bool:
        return o.state == OPEN

    def hand_out_free(self, w: World, name: str, t: int) -> bool:
        for number, cell in enumerate(w.cells):
            if cell.state == FREE and cell.home == w.timelines[t].id:
                self.hand_out(w, name, number, t)
                return True
        return False

    def add_segment(self, w: World, me: int, name: str, stream: str, t: int) -> None:
        """Put new memory into a stream's bins, and look there again."""
        cell = w.cells[w.threads[me].value]
        cell.state, cell.home, cell.taker = FREE, w.timelines[t].id, -1
        w.then(me, ("allocate", name, stream))

    def hand_out(self, w: World, name: str, number: int, t: int) -> None:
        """Make a buffer; earlier work of its stream may still use the memory, so it counts."""
        o, cell = w.timelines[t], w.cells[number]
        cell.state, cell.home, cell.since, cell.taker = USED, o.id, cell.planned_writes, -1
        w.buffers[name] = Buffer(number, o.id, t, read_seq=self.first_use(o))

    def first_use(self, o: Timeline) -> int:
        return o.seq

    def drop(self, w: World, me: int, name: str) -> None:
        """Drop the program's reference to a buffer."""
        if is_held(w, name):
            buffer(w, name).dropped = True
            self.let_go(w, me, name)

    def let_go(self, w: World, me: int, name: str) -> None:
        """Drop one reference to a buffer; the last one releases it."""
        b = buffer(w, name)
        b.holders -= 1
        if not b.holders:
            w.buffers[name] = None
            self.release(w, me, b)

    def release(self, w: World, me: int, b: Buffer) -> None:
        """Give memory back: free, or pending behind foreign uses; calls no driver."""
        cell = w.cells[b.cell]
        if cell.state == OWNED:
            self.park(w, me, b)
            return
        cell.waits = tuple(
            (w.timelines[t].id, number)
            for t, number in self.uses_to_pass(w, b)
            if w.timelines[t].id != b.home
        )
        cell.state = PENDING if cell.waits else FREE

    def uses_to_pass(self, w: World, b: Buffer) -> list[tuple[int, int]]:
        """Return the last use of a buffer on each timeline that is not known to be past it."""
        uses = [(b.timeline, max(b.write_seq, b.read_seq)), *b.readers]
        return [(t, number) for t, number in uses if w.timelines[t].done < number]

    def park(self, w: World, me: int, b: Buffer) -> None:
        """Drop the owner of borrowed memory, or keep it until its last uses are done."""
        uses = self.uses_to_pass(w, b)
        if uses:
            w.parked += ((b.cell, tuple(uses)),)
        else:
            w.then(me, ("drop_owner", b.cell))

    def reap(self, w: World, me: int) -> None:
        """Tell the pool what is done, free what waited for it, drop owners that did.

        An owner's destructor may do anything, so it is off the list before it is dropped.
        """
        self.tell_pool(w)
        for cell in w.cells:
            if cell.state == PENDING and all(w.completed[i] >= n for i, n in cell.waits):
                cell.state, cell.waits = FREE, ()
        passed = [parked for parked in w.parked if self.is_passed(w, parked[1])]
        w.parked = tuple(parked for parked in w.parked if parked not in passed)
        w.then(me, *[("drop_owner", number) for number, _ in passed])

    def is_passed(self, w: World, uses: tuple[tuple[int, int], ...]) -> bool:
        return all(w.timelines[t].done >= number for t, number in uses)

    def tell_pool(self, w: World) -> None:
        completed = list(w.completed)
        for o in w.timelines:
            completed[o.id] = max(completed[o.id], o.done)
        w.completed = tuple(completed)

    def trim(self, w: World, me: int) -> None:
        """Give free memory back to the driver."""
        w.then(me, ("take_segments",), ("finish_all",), ("give_segments",))

    def take_segments(self, w: World, me: int) -> None:
        """Take the free memory out of the pool."""
        self.take(w, me, [cell for cell in w.cells if cell.state == FREE])

    def take(self, w: World, me: int, cells: list[Cell]) -> None:
        for cell in cells:
            cell.state, cell.taker = TAKEN, me

    def finish_all(self, w: World, me: int) -> None:
        """Wait for the work so far of all timelines, also of those that close or were dropped."""
        w.then(me, *[("finish", t, o.seq) for t, o in enumerate(w.timelines) if self.is_waited(o)])

    def is_waited(self, o: Timeline) -> bool:
        return o.done < o.seq

    def give_segments(self, w: World, me: int) -> None:
        """Give what was taken to the driver."""
        w.then(me, *[("memory_free", number) for number in self.taken_by(w, me)])

    def put_back(self, w: World, me: int) -> None:
        """Give what was taken back to the bins that it comes from, as the wait raised."""
        for number in self.taken_by(w, me):
            w.cells[number].state, w.cells[number].taker = FREE, -1

    def taken_by(self, w: World, me: int) -> list[int]:
        return [n for n, c in enumerate(w.cells) if c.state == TAKEN and c.taker == me]

    def adopt_free(self, w: World, me: int, stream: str) -> None:
        """Take over the free blocks of all other streams."""
        t = w.streams[stream]
        assert t is not None
        if w.timelines[t].state == OPEN:
            id = w.timelines[t].id
            w.then(me, ("take_free", id), ("finish_all",), ("adopt", id))

    def take_free(self, w: World, me: int, id: int) -> None:
        """Take the free blocks of other streams out of their bins."""
        self.take(w, me, [c for c in w.cells if c.state == FREE and c.home != id])

    def adopt(self, w: World, me: int, id: int) -> None:
        """Put what was taken into a stream's own bins."""
        for number in self.taken_by(w, me):
            cell = w.cells[number]
            cell.state, cell.home, cell.taker = FREE, id, -1


def buffer(w: World, name: str) -> Buffer:
    """Return a buffer that the program holds."""
    b = w.buffers[name]
    assert b is not None
    return b


def is_held(w: World, name: str) -> bool:
    """Return whether the program still has a buffer, or has it yet."""
    b = w.buffers[name]
    return b is not None and not b.dropped
