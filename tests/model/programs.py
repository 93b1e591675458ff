"""Small programs of two threads, each free of races of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .world import Frame


@dataclass(frozen=True)
class Program:
    """What each thread does, in order, and what is there before.

    ``buffers`` are buffers that exist with the stream that they come from, or ``""`` for borrowed
    memory. ``raises`` names native calls that may raise; at most one call does. ``epilogue`` runs
    when all else has come to its end.
    """

    name: str
    threads: tuple[tuple[Frame, ...], ...]
    buffers: Mapping[str, str] = field(default_factory=dict)
    streams: tuple[str, ...] = ("s1", "s2")
    inline: str = ""
    raises: tuple[str, ...] = ()
    epilogue: tuple[Frame, ...] = (("poll",), ("poll",), ("poll",))

    def names(self, operation: str) -> list[str]:
        """Return what the operations of a kind make, by name."""
        return sorted({f[1] for thread in self.threads for f in thread if f[0] == operation})


def launch(stream: str, reads: str = "", writes: str = "") -> Frame:
    """Launch a kernel that reads and writes buffers of one letter each."""
    uses = tuple((name, False) for name in reads) + tuple((name, True) for name in writes)
    return ("launch", stream, uses)


def allocate(name: str, stream: str) -> Frame:
    """Make a buffer of a stream's own memory."""
    return ("allocate", name, stream)


def drop(name: str) -> Frame:
    """Drop the last reference to a buffer."""
    return ("drop", name)


def read(name: str) -> Frame:
    """Read a buffer on the host."""
    return ("read", name)


def write(name: str) -> Frame:
    """Write a buffer on the host."""
    return ("write", name)


def synchronize(stream: str) -> Frame:
    """Wait for a stream on the host."""
    return ("synchronize", stream)


def close(stream: str) -> Frame:
    """Close a stream."""
    return ("close", stream)


def forget(stream: str) -> Frame:
    """Drop the last reference to a stream that is open."""
    return ("forget", stream)


def open_stream(stream: str) -> Frame:
    """Make a stream."""
    return ("open", stream)


def poll() -> Frame:
    """Look how far all streams are."""
    return ("poll",)


def trim() -> Frame:
    """Give free memory back to the driver."""
    return ("trim",)


def adopt(stream: str) -> Frame:
    """Let a stream take over the free memory of the others."""
    return ("adopt_free", stream)


def record(event: str, stream: str) -> Frame:
    """Record an event in a stream."""
    return ("record", event, stream)


def wait(stream: str, event: str) -> Frame:
    """Let a stream wait for an event."""
    return ("wait_event", stream, event)


def finish(event: str) -> Frame:
    """Wait for an event on the host."""
    return ("finish_event", event)


def give(what: str) -> Frame:
    """Tell the other thread that it may go on with something."""
    return ("give", what)


def receive(what: str) -> Frame:
    """Wait until the other thread has told so."""
    return ("receive", what)


PROGRAMS = {
    program.name: program
    for program in (
        Program(
            "hand over",
            (
                (launch("s1", writes="A"), give("A"), launch("s1", reads="C", writes="D")),
                (receive("A"), launch("s2", reads="AC", writes="B"), read("B"), drop("A")),
            ),
            {"A": "s1", "B": "s2", "C": "s1", "D": "s1"},
        ),
        Program(
            "same hazard twice",
            (
                (launch("s1", writes="A"), give("A"), launch("s2", reads="A")),
                (receive("A"), launch("s2", reads="A", writes="B"), read("B")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "marker moves",
            (
                (launch("s1", writes="A"), give("A"), launch("s1", writes="B"), give("B"),
                 record("E", "s1")),
                (receive("A"), launch("s2", reads="A"), receive("B"), launch("s2", reads="B")),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "write after reads",
            (
                (launch("s1", writes="A"), give("A"), receive("R"), launch("s1", writes="A")),
                (receive("A"), launch("s2", reads="A"), give("R"), launch("s2", writes="B")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "one stream",
            (
                (launch("s1", writes="A"), read("A")),
                (launch("s1", writes="B"), synchronize("s1"), read("B")),
            ),
            {"A": "s1", "B": "s1"},
            streams=("s1",),
        ),
        Program(
            "poll",
            (
                (launch("s1", writes="A"), launch("s2", reads="A"), launch("s1", writes="B")),
                (poll(), poll()),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "poll while marks are made",
            (
                (launch("s1", writes="A"), launch("s2", reads="A"),
                 launch("s1", writes="B"), launch("s2", reads="B")),
                (poll(),),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "reuse",
            (
                (launch("s1", writes="A"), launch("s2", reads="A"), drop("A"),
                 allocate("B", "s1"), launch("s1", writes="B"), read("B")),
                (launch("s2", writes="C"), synchronize("s2")),
            ),
            {"A": "s1", "C": "s2"},
        ),
        Program(
            "reuse after several readers",
            (
                (launch("s2", reads="A"), launch("s3", reads="A"), drop("A"),
                 allocate("B", "s1"), launch("s1", writes="B")),
                (synchronize("s3"), synchronize("s2")),
            ),
            {"A": "s1"},
            streams=("s1", "s2", "s3"),
        ),
        Program(
            "dropped on the way",
            (
                (launch("s2", reads="A", writes="B"), drop("B"), allocate("C", "s1")),
                (drop("A"), allocate("D", "s1"), launch("s1", writes="D")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "first use on another stream",
            (
                (launch("s1", writes="A"), drop("A"), allocate("B", "s1"),
                 launch("s2", writes="B"), read("B")),
                (launch("s1", writes="C"),),
            ),
            {"A": "s1", "C": "s1"},
        ),
        Program(
            "first use by the host",
            (
                (launch("s1", writes="A"), drop("A"), allocate("B", "s1"), write("B"), read("B")),
                (launch("s1", writes="C"),),
            ),
            {"A": "s1", "C": "s1"},
        ),
        Program(
            "close",
            (
                (launch("s1", writes="A"), close("s1"), read("A")),
                (launch("s1", writes="B"), read("B"), drop("B"), allocate("C", "s2"),
                 launch("s2", writes="C")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "close what others wait for",
            (
                (launch("s1", writes="A"), give("A"), close("s1")),
                (receive("A"), launch("s2", reads="A", writes="B"), read("A"), read("B")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "close who waits",
            (
                (launch("s1", writes="A"), give("A"), launch("s2", reads="A")),
                (receive("A"), close("s2")),
            ),
            {"A": "s1"},
        ),
        Program(
            "close twice",
            (
                (launch("s1", writes="A"), close("s1")),
                (launch("s1", writes="B"), close("s1"), poll()),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "forget",
            (
                (launch("s1", writes="A"), give("A"), forget("s1"), poll()),
                (receive("A"), launch("s2", reads="A", writes="B"), poll(), read("B")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "forget and adopt",
            (
                (launch("s1", writes="A"), drop("A"), forget("s1"), poll()),
                (adopt("s2"), allocate("B", "s2"), launch("s2", writes="B")),
            ),
            {"A": "s1"},
        ),
        Program(
            "ids",
            (
                (launch("s2", writes="B"), close("s2"), open_stream("s3"),
                 launch("s3", reads="A"), drop("A"), allocate("C", "s1"),
                 launch("s1", writes="C")),
                (launch("s1", writes="D"), poll()),
            ),
            {"A": "s1", "B": "s2", "D": "s1"},
        ),
        Program(
            "ids of closing streams",
            (
                (launch("s2", reads="A"), drop("A"), give("A"), open_stream("s3"),
                 launch("s3", writes="B"), synchronize("s3"), allocate("C", "s1"),
                 launch("s1", writes="C")),
                (receive("A"), close("s2")),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "ids and what is waited for",
            (
                (launch("s2", writes="A"), launch("s1", reads="A"), close("s2"),
                 open_stream("s3"), launch("s3", writes="B"), launch("s1", reads="B")),
                (),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "allocate on a closed stream",
            (
                (close("s1"), give("closed"), receive("used"), allocate("A", "s1"),
                 launch("s2", writes="A")),
                (receive("closed"), open_stream("s3"), allocate("B", "s3"),
                 launch("s3", writes="B"), drop("B"), give("used")),
            ),
        ),
        Program(
            "allocate while a stream closes",
            (
                (allocate("A", "s1"), launch("s2", writes="A")),
                (close("s1"), open_stream("s3"), allocate("B", "s3"), launch("s3", writes="B"),
                 drop("B")),
            ),
        ),
        Program(
            "trim",
            (
                (launch("s1", writes="A"), drop("A"), trim()),
                (allocate("B", "s1"), launch("s1", writes="B"), drop("B"), trim()),
            ),
            {"A": "s1"},
        ),
        Program(
            "trim that fails",
            (
                (launch("s1", writes="A"), drop("A"), launch("s2", writes="B"), drop("B"),
                 trim()),
                (allocate("C", "s1"), launch("s1", writes="C")),
            ),
            {"A": "s1", "B": "s2"},
            raises=("stream_synchronize",),
        ),
        Program(
            "trim while a stream closes",
            (
                (launch("s1", writes="A"), launch("s1", writes="B"), drop("A"), close("s1")),
                (trim(),),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "adopt",
            (
                (launch("s1", writes="A"), drop("A"), allocate("B", "s1"),
                 launch("s1", writes="B"), drop("B")),
                (adopt("s2"), allocate("C", "s2"), launch("s2", writes="C"), read("C")),
            ),
            {"A": "s1"},
        ),
        Program(
            "adopt twice",
            (
                (launch("s1", writes="A"), drop("A"), adopt("s2"), allocate("B", "s2"),
                 launch("s2", writes="B")),
                (adopt("s1"), allocate("C", "s1"), launch("s1", writes="C"), drop("C")),
            ),
            {"A": "s1"},
        ),
        Program(
            "borrowed",
            (
                (launch("s1", reads="X"), launch("s2", reads="X"), drop("X")),
                (synchronize("s1"), poll()),
            ),
            {"X": ""},
        ),
        Program(
            "borrowed and waited for twice",
            (
                (launch("s2", reads="X"), drop("X"), synchronize("s2")),
                (launch("s2", writes="A"), synchronize("s2")),
            ),
            {"X": "", "A": "s2"},
        ),
        Program(
            "borrowed and closed",
            (
                (launch("s2", writes="X"), drop("X"), synchronize("s2")),
                (close("s2"),),
            ),
            {"X": ""},
        ),
        Program(
            "host writes",
            (
                (launch("s1", writes="A"), give("A"), receive("R"), write("A"),
                 launch("s2", reads="A")),
                (receive("A"), launch("s2", reads="A"), give("R"), launch("s2", writes="B")),
            ),
            {"A": "s1", "B": "s2"},
        ),
        Program(
            "inline",
            (
                (launch("s1", writes="A"), launch("s0", reads="A", writes="B"), read("B"),
                 launch("s1", writes="B")),
                (launch("s0", writes="C"), launch("s1", reads="C"), drop("C"),
                 allocate("D", "s0"), launch("s0", writes="D")),
            ),
            {"A": "s1", "B": "s1", "C": "s0"},
            streams=("s0", "s1"),
            inline="s0",
        ),
        Program(
            "events",
            (
                (launch("s1", writes="A"), record("E", "s1"), give("A"),
                 launch("s1", writes="B"), give("B"), record("E", "s1")),
                (receive("A"), wait("s2", "E"), launch("s2", reads="A"), finish("E"),
                 receive("B"), launch("s2", reads="B")),
            ),
            {"A": "s1", "B": "s1"},
        ),
        Program(
            "launch that fails",
            (
                (launch("s2", reads="A"), drop("A"), allocate("B", "s1"),
                 launch("s1", writes="B")),
                (launch("s2", writes="C"), read("C"), synchronize("s2")),
            ),
            {"A": "s1", "C": "s2"},
            raises=("enqueue",),
        ),
        Program(
            "order that fails",
            (
                (launch("s1", writes="A"), launch("s2", reads="A", writes="B"), read("B")),
                (close("s1"), poll()),
            ),
            {"A": "s1", "B": "s2"},
            raises=("event_record", "stream_wait_event", "event_query"),
        ),
        Program(
            "adoption that fails",
            (
                (launch("s1", writes="A"), drop("A")),
                (adopt("s2"), allocate("B", "s2"), launch("s2", writes="B"), read("B")),
            ),
            {"A": "s1"},
            raises=("stream_synchronize",),
        ),
        Program(
            "wait that fails",
            (
                (launch("s1", writes="A"), read("A"), drop("A"), allocate("B", "s2"),
                 launch("s2", writes="B")),
                (close("s1"), adopt("s2")),
            ),
            {"A": "s1"},
            raises=("stream_synchronize", "stream_query"),
        ),
    )
}  # fmt: skip
