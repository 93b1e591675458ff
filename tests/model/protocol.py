"""The protocol of streams, events, hazards and memory, one method per transition.

A transition is atomic: it runs under the lock. Between two of them, and at any time during a
native call, other threads may go on. So a transition knows nothing that an earlier one of its
thread has seen but its arguments. ``w.then`` says what the thread does next.

Timelines are named by their index here, and by their id where the pool and ``waited`` need a small
number that is used again.
"""

from __future__ import annotations

from .launches import Launches
from .memory import buffer, is_held
from .world import OPEN, World


class Protocol(Launches):
    """All rules as they should be, with the operations of programs; a mutant overrides one."""

    # ---- events of the program ----

    def record(self, w: World, me: int, event: str, stream: str) -> None:
        """Move an event of the program behind the work of a stream."""
        t = w.streams[stream]
        assert t is not None
        if w.timelines[t].state == OPEN:
            w.then(me, ("mark", t), ("move", event))

    def move(self, w: World, me: int, event: str) -> None:
        """Let an event stand for a new mark."""
        w.events[event], w.threads[me].value = w.threads[me].value, None

    def wait_event(self, w: World, me: int, stream: str, event: str) -> None:
        """Let a stream wait for an event."""
        t, mark = w.streams[stream], w.events[event]
        assert t is not None
        if mark is not None:
            self.wait(w, me, t, mark)

    def finish_event(self, w: World, me: int, event: str) -> None:
        """Wait on the host for an event."""
        mark = w.events[event]
        if mark is not None:
            w.threads[me].value = True
            w.then(me, ("event_synchronize", mark), ("passed", mark))

    # ---- access by the host ----

    def read(self, w: World, me: int, name: str) -> None:
        """Read a buffer on the host, after its last write."""
        if is_held(w, name):
            w.then(me, *self.waits_of_host(w, name, write=False), ("look", name))

    def write(self, w: World, me: int, name: str) -> None:
        """Write a buffer on the host, after its last write and all reads."""
        if is_held(w, name):
            w.then(me, *self.waits_of_host(w, name, write=True), ("look", name), ("poke", name))

    def waits_of_host(self, w: World, name: str, write: bool) -> list[tuple[str, int, int]]:
        return [("finish", t, number) for t, number in self.hazards(w, name, write)]

    def look(self, w: World, me: int, name: str) -> None:
        """Read memory now."""
        w.execute_on_host(buffer(w, name).cell, write=False)

    def poke(self, w: World, me: int, name: str) -> None:
        """Write memory now."""
        w.execute_on_host(buffer(w, name).cell, write=True)

    # ---- between threads of the program ----

    def give(self, w: World, me: int, what: str) -> None:
        """Tell the other thread."""
        w.handed += (what,)

    def receive(self, w: World, me: int, what: str) -> None:
        """Go on once the other thread has given."""
