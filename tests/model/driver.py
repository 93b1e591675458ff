"""The driver and the device: what a native call does, and when it may return.

A call is one transition, at any time after the one that made it, and what follows in its thread is
another: in between the lock is free and all other threads may go on.
"""

from __future__ import annotations

from .world import (
    DROPPED,
    GIVEN,
    TAKEN,
    Barrier,
    Cell,
    Frame,
    Kernel,
    Mark,
    Place,
    Queue,
    Violation,
    World,
)


class Driver:
    """In-order queues, events and memory; each method is a native call."""

    def returns(self, w: World, frame: Frame) -> bool:
        """Whether a call that blocks may return."""
        match frame:
            case ("stream_synchronize", place):
                return w.reached(place)
            case ("stream_destroy", number):
                return not w.queues[number].entries
            case ("event_synchronize", mark):
                place = w.recorded.get(mark.event)
                return place is None or w.reached(place)
        return True

    def enqueue(self, w: World, me: int, number: int, kernel: Kernel) -> None:
        """Put a kernel into a queue."""
        queue = self._queue(w, number)
        queue.entries += (kernel,)
        w.threads[me].value = queue.length

    def run_inline(self, w: World, me: int, kernel: Kernel) -> None:
        """Run a kernel before the call returns."""
        w.execute(kernel)

    def event_record(self, w: World, me: int, number: int, mark: Mark) -> None:
        """Put an event behind what is in a queue now."""
        w.recorded[mark.event] = Place(number, self._queue(w, number).length)

    def event_query(self, w: World, me: int, mark: Mark) -> None:
        """Return whether an event was passed."""
        w.threads[me].value = w.reached(self._event(w, mark))

    def event_synchronize(self, w: World, me: int, mark: Mark) -> None:
        """Wait until an event was passed."""
        self._event(w, mark)

    def stream_wait_event(self, w: World, me: int, number: int, mark: Mark) -> None:
        """Let a queue wait for what an event stands for at the time of the call."""
        place = self._event(w, mark)
        queue = self._queue(w, number)
        if not w.reached(place):
            queue.entries += (Barrier(place),)

    def stream_query(self, w: World, me: int, number: int) -> None:
        """Return whether a queue is empty."""
        w.threads[me].value = not self._queue(w, number).entries

    def stream_synchronize(self, w: World, me: int, place: Place) -> None:
        """Wait for what was in a queue when the call was made."""
        self._queue(w, place.queue)

    def stream_create(self, w: World, me: int) -> None:
        """Make a queue and return its number."""
        w.queues.append(Queue())
        w.threads[me].value = len(w.queues) - 1

    def stream_destroy(self, w: World, me: int, number: int) -> None:
        """Finish the work of a queue and end it."""
        self._queue(w, number).alive = False

    def memory_alloc(self, w: World, me: int) -> None:
        """Return new memory."""
        w.cells.append(Cell(TAKEN, taker=me))
        w.threads[me].value = len(w.cells) - 1

    def memory_free(self, w: World, me: int, number: int) -> None:
        """Take memory back."""
        w.cells[number].state = GIVEN

    def drop_owner(self, w: World, me: int, number: int) -> None:
        """Tell the owner of borrowed memory that it is no longer used."""
        if w.cells[number].state == DROPPED:
            raise Violation("I1", f"the owner of memory {number} is dropped twice")
        w.cells[number].state = DROPPED

    def run_head(self, w: World, number: int) -> None:
        """Let the device run the first entry of a queue."""
        queue = w.queues[number]
        kernel = queue.entries[0]
        assert isinstance(kernel, Kernel)
        w.execute(kernel)
        queue.entries = queue.entries[1:]
        queue.ran += 1

    def _queue(self, w: World, number: int) -> Queue:
        if not w.queues[number].alive:
            raise Violation("I3", f"a call uses queue {number}, which is destroyed")
        return w.queues[number]

    def _event(self, w: World, mark: Mark) -> Place:
        place = w.recorded.get(mark.event)
        if place is None:
            raise Violation("I3", f"a call uses event {mark.event}, which is destroyed")
        if mark.place is not None and place != mark.place:
            raise Violation("I3", f"event {mark.event} was recorded again at {place}")
        return place
