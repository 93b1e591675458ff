"""What the threads of a program do: each part is taken by all of them at the same time."""

from __future__ import annotations

import numpy as np
import phalanx as px

from .crew import PATIENCE, Member, Part

#: An array of these elements lies in a segment of its own, which the driver gives and takes back.
_LARGE = 1 << 19
_DTYPES = ("int64", "float64", "uint8", "float32", "int16", "uint32", "uint64", "int8")
_OPS = ("add", "subtract", "multiply", "maximum", "minimum", "bitwise_xor", "bitwise_or", "less")


def order(member: Member) -> None:
    """A thread writes an array on one stream, changes it on another and reads it on a third."""
    with member.streams[0]:
        x, model = member.chain()
    with member.streams[1]:
        x *= 3
    with member.anywhere():
        y = x[::-1] + x
    with member.streams[0]:
        x += 1  # after the read
    member.hold(y, model * 6)
    member.hold(x, model * 3 + 1)


def hand_over(member: Member) -> None:
    """An array goes round: each thread changes it in place, with its work still queued."""
    with member.anywhere():
        x, model = member.chain()
    for step in range(3):
        member.give(member.neighbour(), x, model)
        del x
        x, model = member.take()
        with member.anywhere():
            y = x + 7
            x *= 2
            x += step
        member.hold(y, model + 7)
        model = model * 2 + step
    member.hold(x, model)


def reuse(member: Member) -> None:
    """Memory is dropped under queued work, and given back to the driver, while others allocate."""
    for _ in range(4):
        value = member.pick(-100, 100)
        size = _LARGE + member.pick(0, 5000)
        with member.anywhere():
            x = px.full(size, value, dtype=px.int32)
            y = x + 1
            del x
            z = px.full(size // 64, value, dtype=px.int32)
        member.check(y[:: size - 1], np.full(2, value + 1, np.int32), "an array in reused memory")
        member.hold(z, np.full(size // 64, value, np.int32))
        del y
        px.empty_cache()


def come_and_go(member: Member) -> None:
    """Streams are made and closed while the others launch; what they did is given to another."""
    for _ in range(2):
        stream = px.Stream(member.crew.device, priority=member.pick(-1, 2))
        with stream:
            x, model = member.chain()
        stream.close()
        member.give(member.neighbour(), x, model)
        x, model = member.take()
        with member.anywhere():
            member.hold(x - 5, model - 5)


def borrow(member: Member) -> None:
    """Memory of the host is dropped or changed as soon as the call that takes it returns."""
    for number in range(3):
        source = member.rng.integers(-100, 100, 20_000).astype(np.int32)
        model = source.copy()
        with member.anywhere():
            if number % 2 == 0:
                x = px.asarray(source, copy=True)
                source[:] = -1
            else:
                x = _shared(source)
            y = x + 1
            del source, x
        np.full(20_000, -2, np.int32)  # where the memory of the host came free
        member.hold(y, model + 1)


def _shared(source: np.ndarray[tuple[int], np.dtype[np.int32]]) -> px.Array:
    """Return an array over memory of the host, or a copy where the device cannot share it."""
    try:
        return px.asarray(source, copy=False)
    except ValueError:
        return px.asarray(source)


def wait(member: Member) -> None:
    """A thread waits for its stream or for the device while the others launch."""
    for _ in range(3):
        with member.anywhere() as stream:
            x, model = member.chain()
        if member.pick(0, 2):
            stream.synchronize(PATIENCE)
        else:
            px.synchronize(timeout=PATIENCE)
        member.hold(x, model)


def one_stream(member: Member) -> None:
    """All threads launch on one stream; each on arrays of its own."""
    for _ in range(4):
        with member.crew.common:
            x, model = member.chain(6)
            x *= member.number + 2
        member.hold(x, model * (member.number + 2))


def kernels(member: Member) -> None:
    """The threads launch different ops on their streams, two and two with the same dtype."""
    dtypes = [d for d in _DTYPES if _computes(member, d)]
    dtype = dtypes[member.number // 2 % len(dtypes)]
    host = member.rng.integers(1, 10, 50).astype(dtype)
    with member.streams[0]:
        x = px.asarray(host)
        for op in np.roll(_OPS, member.number).tolist():
            if op.startswith("bitwise") and host.dtype.kind == "f":
                continue
            member.hold(getattr(px, op)(x, x[::-1]), getattr(np, op)(host, host[::-1]))


def _computes(member: Member, dtype: str) -> bool:
    """Tell whether the device has a dtype's kernels, which its profile may leave out."""
    case = member.crew.case
    bits = () if dtype.startswith("float") else ("bitwise_xor", "bitwise_or")
    return case.has("less", dtype, dtype, "bool") and all(
        case.has(op, dtype, dtype, dtype) for op in (*_OPS[:5], *bits)
    )


# With manual order


def record_again(member: Member) -> None:
    """Two threads' streams wait for an event that its owner goes on to record again."""
    for _ in range(3):
        with member.streams[0] as stream:
            x, model = member.chain()
        member.point.record(stream)
        for distance in (1, 2):
            member.give(member.neighbour(distance), x, model, member.point)
        for _ in range(10):  # each is behind the work, so a wait for any of them will do
            member.point.record(stream)
        for _ in range(2):
            x, model, point = member.take()
            with member.streams[1] as stream:
                point.hold_back(stream)
                y = x + 1
            stream.synchronize(PATIENCE)
            member.check(y, model + 1, "an array behind another thread's event")
        member.crew.meet()


def destroy(member: Member) -> None:
    """The driver destroys queues that still wait: it has finished them when the call returns."""
    device = member.crew.device
    if not device.has_streams:
        return
    opened = device.ensure_open()
    for _ in range(3):
        with member.streams[0] as stream:
            x, model = member.chain(10 + 20 * ((member.number + member.pick(0, 2)) % 2))
        member.point.record(stream)
        queue = opened.stream_create(0)
        opened.stream_wait_event(queue, member.point.handle)
        opened.stream_destroy(queue)
        done = opened.event_query(member.point.handle)
        assert done, "a queue was destroyed while it waited for an event"
        member.check(x, model, "an array that a destroyed queue has waited for")


def wait_together(member: Member) -> None:
    """All threads wait on the host for one event."""
    crew = member.crew
    for leader in range(min(3, crew.size)):
        if member.number == leader:
            with member.streams[0] as stream:
                x, model = member.chain()
            event = stream.record()
            for other in range(crew.size):
                member.give(other, x, model, event)
        x, model, event = member.take()
        event.synchronize(PATIENCE)
        assert event.query(), "an event that was waited for is not passed"
        member.check(x, model, "an array behind an event that several threads wait for")
        crew.meet()


def cross(member: Member) -> None:
    """The threads' streams wait for each other's, by events that each records for itself."""
    for _ in range(3):
        with member.streams[0] as stream:
            x, model = member.chain()
            done = stream.record()
        member.give(member.neighbour(), x, model, done)
        x, model, done = member.take()
        with member.streams[1] as stream:
            stream.wait(done)
            y = x * 2
        stream.synchronize(PATIENCE)
        member.check(y, model * 2, "an array behind another stream's event")
        member.crew.meet()


#: The parts of programs that the core orders, and of those that order themselves.
AUTOMATIC: dict[str, Part] = {
    "borrow": borrow,
    "come-and-go": come_and_go,
    "hand-over": hand_over,
    "kernels": kernels,
    "one-stream": one_stream,
    "order": order,
    "reuse": reuse,
    "wait": wait,
}
MANUAL: dict[str, Part] = {
    "cross": cross,
    "destroy": destroy,
    "record-again": record_again,
    "wait-together": wait_together,
}
