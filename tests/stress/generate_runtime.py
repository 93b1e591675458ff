"""Steps around the computing: streams, events, threads, the host, memory, and what goes wrong."""

from __future__ import annotations

from .generate_values import Rule
from .state import MOST_VALUES, NUMBERS, Mail, State, Thread, Value

_MOST_STREAMS = 4

# Looking


def check(state: State, thread: Thread) -> bool:
    """Compare a value with the reference, seen in one of several ways."""
    x = state.pick(thread)
    if x is None:
        return False
    show(state, thread, x)
    return True


def show(state: State, thread: Thread, x: Value) -> None:
    """Add a check of one value."""
    ways = ["asnumpy", "asnumpy", "to_device"]
    if state.devices[x.device].on_host:
        ways += ["asarray", "dlpack"]
    if x.size <= 200:
        ways += ["tolist"]
    on = state.streams(thread, x.device)
    state.emit(thread, "check", x, on=on, way=state.random.choice(ways))


# Streams and events


def _device(state: State) -> int:
    return state.random.randrange(len(state.devices)) if state.chance(0.15) else 0


def stream(state: State, thread: Thread) -> bool:
    """Make a stream, or use one that is there in another way than for work."""
    if not thread.streams or (len(thread.streams) < _MOST_STREAMS and state.chance(0.4)):
        name, device = state.name(), _device(state)
        thread.streams[name] = device
        priority = state.random.choice((0, 0, -1, 1))
        state.emit(thread, "stream_new", stream=name, device=device, priority=priority)
        return True
    name = state.random.choice(tuple(thread.streams))
    kind = state.random.choice(
        ("stream_sync", "stream_sync", "stream_query", "stream_close", "stream_drop")
    )
    if kind in ("stream_close", "stream_drop"):
        del thread.streams[name]
    limit = state.random.choice((None, None, 0.0, 0.001))
    args = {"limit": limit} if kind == "stream_sync" else {}
    state.emit(thread, kind, stream=name, **args)
    return True


def event(state: State, thread: Thread) -> bool:
    """Record an event, or do something with one; some events belong to all threads."""
    if not thread.events or (len(thread.events) < 4 and state.chance(0.4)):
        name, device = state.name(), _device(state)
        thread.events[name] = device
        on = state.streams(thread, device)
        state.emit(thread, "event_record", on=on, event=name, device=device)
        return True
    own = state.chance(0.7)
    events = thread.events if own else state.common_events
    name = state.random.choice(tuple(events))
    device = events[name]
    kinds = ["event_again", "event_wait", "event_wait", "event_query", "event_sync"]
    kind = state.random.choice([*kinds, "event_time", "event_close", "event_drop"])
    if kind in ("event_close", "event_drop"):
        if not own:
            return False
        del thread.events[name]
    on = state.streams(thread, device if state.chance(0.8) else _device(state))
    if kind == "event_again":
        on = state.streams(thread, device)
    args = {"limit": state.random.choice((None, 0.0, 0.001))} if kind == "event_sync" else {}
    state.emit(thread, kind, on=on, event=name, device=device, **args)
    return True


def device_sync(state: State, thread: Thread) -> bool:
    """Wait for a device, maybe not to the end."""
    limit = state.random.choice((None, 0.0, 0.001, 0.05))
    state.emit(thread, "device_sync", device=_device(state), limit=limit)
    return True


# Between threads


def hand_over(state: State, thread: Thread) -> bool:
    """Give a value to another thread, or let several threads read it; maybe end the stream."""
    x = state.pick(thread)
    others = [t for t in state.threads if t is not thread]
    if x is None or not others:
        return False
    state.drop_aliases(thread, x)
    if x.memory.frozen or state.chance(0.3):
        x.memory.frozen = True
        for other in state.random.sample(others, min(len(others), 3)):
            _send(state, thread, other, x, "share")
    else:
        thread.values.remove(x)
        _send(state, thread, state.random.choice(others), x, "send")
    if thread.streams and state.chance(0.3):
        name = state.random.choice(tuple(thread.streams))
        del thread.streams[name]
        state.emit(thread, "stream_close", stream=name)
    return True


def _send(state: State, thread: Thread, other: Thread, x: Value, kind: str) -> None:
    channel = state.emit(thread, kind, x, to=other.number)
    copied = Value(
        x.number, x.device, x.dtype, x.shape, x.bound, x.negative, x.memory, x.writable
    )  # fmt: skip
    other.mail.append(Mail(channel, copied))


def receive(state: State, thread: Thread) -> bool:
    """Take a value that another thread gave."""
    if not thread.mail:
        return False
    mail = thread.mail.pop(state.random.randrange(len(thread.mail)))
    if any(v.number == mail.value.number for v in thread.values):
        state.emit(thread, "discard", channel=mail.channel)
        return True
    state.emit(thread, "receive", out=mail.value, channel=mail.channel)
    return True


def visitor(state: State, thread: Thread) -> bool:
    """Let a new thread compute on a stream of its own, which it leaves alive when it ends."""
    x = state.pick(thread, dtypes=NUMBERS)
    if x is None:
        return False
    out = state.made(x.device, x.dtype, x.shape, x.bound, negative=x.negative)
    way = state.random.choice(("keep", "drop", "close"))
    state.emit(thread, "visitor", x, out=out, way=way)
    return True


def move(state: State, thread: Thread) -> bool:
    """Copy a value to another device."""
    x = state.pick(thread)
    if x is None or len(state.devices) < 2:
        return False
    device = state.random.choice([d for d in range(len(state.devices)) if d != x.device])
    if x.dtype not in state.devices[device].dtypes:
        return False
    out = state.made(device, x.dtype, x.shape, x.bound, negative=x.negative)
    on = (*state.streams(thread, x.device), *state.streams(thread, device))
    state.emit(thread, "move", x, on=on, out=out, device=device)
    return True


# The host's view of the memory


def host_write(state: State, thread: Thread) -> bool:
    """Let the host write through ``numpy.asarray(x)``, or keep that export for later."""
    x = state.pick(thread, dtypes=NUMBERS, writable=True, filled=True)
    if x is None or not state.devices[x.device].on_host or not x.shape:
        return False
    kind = state.random.choice(("host_write", "export_keep", "export_keep"))
    if kind == "host_write":
        key = tuple(slice(None, None, 2) for _ in x.shape)
        state.emit(thread, kind, x, on=state.streams(thread, x.device), key=key, number=1)
    elif len(thread.exports) < 3:
        name = state.name()
        thread.exports[name] = x
        x.memory.exports.append(name)
        state.emit(thread, kind, x, export=name)
    else:
        return False
    return True


def export(state: State, thread: Thread) -> bool:
    """Use an export that was kept: look at it, write through it, or drop it.

    Its array may be gone: then the export is the last hold on the memory.
    """
    if not thread.exports:
        return False
    name = state.random.choice(tuple(thread.exports))
    x = thread.exports[name]
    kind = state.random.choice(("export_write", "export_check", "export_check", "export_drop"))
    if kind == "export_drop":
        state.drop_export(thread, name)
        return True
    args: dict[str, object] = {"export": name, "device": x.device}
    if kind == "export_write":
        args |= {"key": tuple(slice(None, None, 3) for _ in x.shape), "number": 1}
    state.emit(thread, kind, **args)
    return True


# Memory, the process, and what goes wrong


def drop(state: State, thread: Thread) -> bool:
    """Forget a value while work on it may be queued."""
    x = state.pick(thread)
    if x is None:
        return False
    state.drop(thread, x)
    return True


def memory(state: State, thread: Thread) -> bool:
    """Put the pool under pressure, or look at it."""
    kinds = ("empty_cache", "empty_cache", "memory_limit", "limit_allocator", "fault_injection")
    kind = state.random.choice((*kinds, "statistics", "memory_stats"))
    state.emit(thread, kind, device=_device(state))
    return True


def settings(state: State, thread: Thread) -> bool:
    """Change or read what holds for the whole process."""
    kind = state.random.choice(("deterministic", "fallback_report", "collect", "exception"))
    state.emit(thread, kind, on=state.streams(thread, 0))
    return True


def bad_index(state: State, thread: Thread) -> bool:
    """Ask for a place that is not there, on a stream of its own."""
    x = state.pick(thread, dtypes=NUMBERS, filled=True)
    if x is None or not x.shape:
        return False
    place = x.shape[0] + state.random.randint(0, 9)
    way = state.random.choice(("sync", "close", "event"))
    state.emit(thread, "bad_index", x, place=place, way=way)
    return True


def fork(state: State, thread: Thread) -> bool:
    """Let a forked child compute on the default stream."""
    x = state.pick(thread, dtypes=NUMBERS)
    if x is None or len(state.devices) > 1 or not state.devices[0].inline:
        return False
    state.emit(thread, "fork", x)
    return True


def ends(state: State) -> None:
    """Add what every thread does last: take its mail, check and drop what it has."""
    for thread in state.threads:
        while thread.mail:
            receive(state, thread)
    for thread in state.threads:
        for name in list(thread.exports):
            state.drop_export(thread, name)
        for x in list(thread.values):
            show(state, thread, x)
            state.drop(thread, x)


def tidy(state: State, thread: Thread) -> None:
    """Drop values of a thread that has too many."""
    while len(thread.values) > MOST_VALUES:
        drop(state, thread)


#: The rules of this file with their weights.
RULES: dict[str, tuple[float, Rule]] = {
    "check": (8, check),
    "stream": (5, stream),
    "event": (5, event),
    "device_sync": (0.7, device_sync),
    "hand_over": (4, hand_over),
    "receive": (9, receive),
    "visitor": (0.7, visitor),
    "move": (3, move),
    "host_write": (2, host_write),
    "export": (2, export),
    "drop": (1.5, drop),
    "memory": (2, memory),
    "settings": (1.5, settings),
    "bad_index": (1, bad_index),
    "fork": (0.12, fork),
}
