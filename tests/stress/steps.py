"""The steps that do more than compute: each function takes one, in the thread of its worker."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import phalanx as px

from .forked import in_child
from .program import HostArray, Step, host_data

if TYPE_CHECKING:
    from .execution import Worker

Take = Callable[["Worker", Step], None]


# Making and moving


def _upload(worker: Worker, step: Step) -> None:
    device = worker.run.devices[step.args["device"]]
    source = host_data(**step.args["data"])
    with worker.on(step):
        worker.values[step.out] = px.asarray(source, copy=True, device=device)
    source[...] = 0  # the copy is complete when the call returns


def _borrow(worker: Worker, step: Step) -> None:
    device = worker.run.devices[step.args["device"]]
    source = host_data(**step.args["data"])
    with worker.on(step):
        try:
            if step.kind == "borrow":
                worker.values[step.out] = px.asarray(source, copy=False, device=device)
            else:
                worker.values[step.out] = px.from_dlpack(source, device=device)
        except ValueError:
            if device.host_addressable:
                raise
            worker.values[step.out] = px.asarray(source, device=device)  # it cannot be shared


def _full(worker: Worker, step: Step) -> None:
    device, data = worker.run.devices[step.args["device"]], step.args["data"]
    dtype = getattr(px, data["dtype"])
    with worker.on(step):
        found = px.full(data["shape"], data["fill_value"], dtype=dtype, device=device)
    worker.values[step.out] = found


def _move(worker: Worker, step: Step) -> None:
    target = worker.run.devices[step.args["device"]]
    with worker.on(step):
        worker.values[step.out] = worker.values[step.inputs[0]].to_device(target)


def _send(worker: Worker, step: Step) -> None:
    (name,) = step.inputs
    value = worker.values.pop(name) if step.kind == "send" else worker.values[name]
    worker.run.channels[step.number, step.args["to"]].put(value)


def _receive(worker: Worker, step: Step) -> None:
    value = worker.receive(step.args["channel"])
    if step.kind == "receive":
        worker.values[step.out] = value


def _drop(worker: Worker, step: Step) -> None:
    del worker.values[step.inputs[0]]


def _visitor(worker: Worker, step: Step) -> None:
    """A thread that ends while its stream lives, with work in it."""
    x = worker.values[step.inputs[0]]
    found: list[px.Array] = []
    errors: list[BaseException] = []

    def visit() -> None:
        try:
            stream = px.Stream(x.device)
            with stream:
                found.append(px.asarray(x, copy=True))
            if step.args["way"] == "keep":
                worker.run.left.append(stream)
            elif step.args["way"] == "close":
                stream.close()
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    thread = threading.Thread(target=visit, name="visitor")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    worker.values[step.out] = found[0]


# Looking


def _check(worker: Worker, step: Step) -> None:
    x = worker.values[step.inputs[0]]
    with worker.on(step):
        found = _seen(x, step.args["way"])
    worker.show(step, found)


def _seen(x: px.Array, way: str) -> HostArray:
    match way:
        case "asarray":
            return np.asarray(x)
        case "dlpack":
            return np.from_dlpack(x)
        case "to_device":
            return px.asnumpy(x.to_device("cpu:0"))
        case "tolist":
            return np.asarray(x.tolist(), px.asnumpy(x).dtype).reshape(x.shape)
        case _:
            return px.asnumpy(x)


def _host_write(worker: Worker, step: Step) -> None:
    x = worker.values[step.inputs[0]]
    with worker.on(step):
        host = np.asarray(x)
        host[step.args["key"]] = step.args["number"]


def _export_keep(worker: Worker, step: Step) -> None:
    worker.exports[step.args["export"]] = np.asarray(worker.values[step.inputs[0]])


def _export_use(worker: Worker, step: Step) -> None:
    worker.run.devices[step.args["device"]].synchronize()
    host = worker.exports[step.args["export"]]
    if step.kind == "export_check":
        worker.show(step, host)
    else:
        host[step.args["key"]] = step.args["number"]


def _export_drop(worker: Worker, step: Step) -> None:
    del worker.exports[step.args["export"]]


# Streams and events


def _stream_new(worker: Worker, step: Step) -> None:
    device = worker.run.devices[step.args["device"]]
    worker.streams[step.args["stream"]] = px.Stream(device, priority=step.args["priority"])


def _stream_end(worker: Worker, step: Step) -> None:
    stream = worker.streams.pop(step.args["stream"])
    if step.kind == "stream_close":
        stream.close()


def _stream_look(worker: Worker, step: Step) -> None:
    stream = worker.stream(step.args["stream"])
    if step.kind == "stream_query":
        assert stream.query() in (True, False)
        return
    _limited(stream.synchronize, step)


def _limited(wait: Callable[[float | None], object], step: Step) -> None:
    """Wait; with a time limit, the wait may end in ``TimeoutError``."""
    limit = step.args["limit"]
    try:
        wait(limit)
    except TimeoutError:
        if limit is None:
            raise


def _device_sync(worker: Worker, step: Step) -> None:
    device = worker.run.devices[step.args["device"]]
    _limited(lambda limit: px.synchronize(device, limit), step)


def _event_record(worker: Worker, step: Step) -> None:
    with worker.on(step):
        stream = px.current_stream(worker.run.devices[step.args["device"]])
    name = step.args["event"]
    if step.kind == "event_record":
        worker.events[name] = stream.record()
    else:
        worker.event(name).record(stream)


def _event_wait(worker: Worker, step: Step) -> None:
    with worker.on(step):
        stream = px.current_stream(worker.run.devices[step.args["device"]])
    stream.wait(worker.event(step.args["event"]))


def _event_look(worker: Worker, step: Step) -> None:
    event = worker.event(step.args["event"])
    if step.kind == "event_query":
        assert event.query() in (True, False)
        return
    _limited(event.synchronize, step)


def _event_time(worker: Worker, step: Step) -> None:
    name = step.args["event"]
    begin, own = worker.event(name), name in worker.events
    begin.synchronize()
    end = begin.device.default_stream.record()
    end.synchronize()
    try:
        elapsed = begin.elapsed_time(end)
    except ValueError:
        if own:  # else another thread has recorded it again
            raise
    else:
        assert not own or elapsed > -1.0, elapsed


def _event_end(worker: Worker, step: Step) -> None:
    event = worker.events.pop(step.args["event"])
    if step.kind == "event_close":
        event.close()


# Memory and settings


def _empty_cache(worker: Worker, step: Step) -> None:
    px.empty_cache(worker.run.devices[step.args["device"]])


def _memory_stats(worker: Worker, step: Step) -> None:
    device = worker.run.devices[step.args["device"]]
    stats = px.memory_stats(device)
    assert 0 <= stats["requested"] <= stats["allocated"] <= stats["reserved"], stats
    assert px.memory_summary(device)


def _shortage(worker: Worker, step: Step) -> None:
    """Make memory short for all threads for a moment."""
    device = worker.run.devices[step.args["device"]]
    with worker.run.one_at_a_time, worker.run.shortage:
        try:
            if step.kind == "memory_limit":
                reserved = px.memory_stats(device)["reserved"]
                px.set_memory_limit(max(1, reserved), device)
            elif step.kind == "limit_allocator":
                px.set_allocator(px.LimitAllocator(device.pool, 1 << 16), device)
            else:
                failing = px.FaultInjectionAllocator(device.pool, first=2, every=3)
                px.set_allocator(failing, device)
            for size in (10, 1000, 300_000):
                with contextlib.suppress(px.OutOfMemoryError):
                    px.zeros(size, device=device)
            time.sleep(0.001)
        finally:
            px.set_allocator(None, device)
            px.set_memory_limit(None, device)


def _statistics(worker: Worker, step: Step) -> None:
    """Count what all threads allocate for a moment; the counts must add up in the end."""
    device = worker.run.devices[step.args["device"]]
    with worker.run.one_at_a_time:
        counting = px.StatisticsAllocator(device.pool)
        px.set_allocator(counting, device)
        try:
            px.zeros(100, device=device)
            time.sleep(0.001)
        finally:
            px.set_allocator(None, device)
        worker.run.counted.append(counting)


def _deterministic(worker: Worker, step: Step) -> None:
    with worker.run.one_at_a_time:
        px.use_deterministic_algorithms("bitwise")
        time.sleep(0)
        px.use_deterministic_algorithms(None)


def _fallback_report(worker: Worker, step: Step) -> None:
    for entry in px.fallback_report():
        assert entry.op, entry


def _collect(worker: Worker, step: Step) -> None:
    """Leave a cycle with an array and a stream to the collector."""
    with worker.on(step):
        cycle: list[Any] = [px.ones(1000) + 1, px.Stream(px.get_device())]
    cycle.append(cycle)
    del cycle
    gc.collect()


class _DeliberateError(Exception):
    """Raised in the middle of a program."""


def _exception(worker: Worker, step: Step) -> None:
    before = px.current_stream()
    with contextlib.suppress(_DeliberateError), worker.on(step):
        px.ones(1000) * 2.0
        raise _DeliberateError
    assert px.current_stream() is before, "an exception left a stream current"


def _bad_index(worker: Worker, step: Step) -> None:
    """The failure is raised by a wait, once, and only the stream's own results are lost."""
    x = worker.values[step.inputs[0]]
    # no other step has the same index: whose failure it is shows in the message
    index = step.args["place"] + 1_000_000 * (step.number + 1)
    places, mine = px.asarray(np.array([index]), device=x.device), f"index {index} at place 0 "

    def is_told() -> bool:
        return any(mine in text for text in tuple(worker.run.bad_indices.told))

    with worker.run.bad_indices:
        try:
            _use_bad_index(x, places, step.args["way"])
        except IndexError as error:
            if mine not in str(error):
                raise AssertionError("the error of another index") from error
        else:
            # whoever waits for the whole device may be told in our place, and has to say so yet
            deadline = time.monotonic() + 10
            while not is_told() and not worker.run.stop.is_set():
                assert time.monotonic() < deadline, "a bad index went unnoticed"
                time.sleep(0.002)


def _use_bad_index(x: px.Array, places: px.Array, way: str) -> None:
    stream = px.Stream(x.device)
    try:
        with stream:
            found = x[places]
    except px.OutOfMemoryError:  # behind the check of the index; the step is taken again
        with contextlib.suppress(IndexError):
            stream.close()
        raise
    if way == "event":
        stream.record().synchronize()
    elif way == "sync":
        stream.synchronize()
    del found
    stream.close()


def _fork(worker: Worker, step: Step) -> None:
    x = worker.values[step.inputs[0]]
    want = px.asnumpy(x)
    worker.show(step, want)
    one = want.dtype.type(1)

    def work() -> bool:
        return np.array_equal(px.asnumpy(x + 1), want + one)

    in_child(work, worker.run.limit, worker.run.one_at_a_time)


# What only the tests of the stress test use


def _die(worker: Worker, step: Step) -> None:
    signal.pthread_kill(threading.get_ident(), signal.SIGSEGV)


def _stall(worker: Worker, step: Step) -> None:
    time.sleep(1e6)


def _lie(worker: Worker, step: Step) -> None:
    for name, x in worker.values.items():
        worker.values[name] = px.full_like(x, 1)


STEPS: dict[str, Take] = {
    "upload": _upload,
    "borrow": _borrow,
    "borrow_dlpack": _borrow,
    "full": _full,
    "move": _move,
    "send": _send,
    "share": _send,
    "receive": _receive,
    "discard": _receive,
    "drop": _drop,
    "release": _drop,
    "visitor": _visitor,
    "check": _check,
    "host_write": _host_write,
    "export_keep": _export_keep,
    "export_check": _export_use,
    "export_write": _export_use,
    "export_drop": _export_drop,
    "stream_new": _stream_new,
    "stream_close": _stream_end,
    "stream_drop": _stream_end,
    "stream_sync": _stream_look,
    "stream_query": _stream_look,
    "device_sync": _device_sync,
    "event_record": _event_record,
    "event_again": _event_record,
    "event_wait": _event_wait,
    "event_query": _event_look,
    "event_sync": _event_look,
    "event_time": _event_time,
    "event_close": _event_end,
    "event_drop": _event_end,
    "empty_cache": _empty_cache,
    "memory_stats": _memory_stats,
    "memory_limit": _shortage,
    "limit_allocator": _shortage,
    "fault_injection": _shortage,
    "statistics": _statistics,
    "deterministic": _deterministic,
    "fallback_report": _fallback_report,
    "collect": _collect,
    "exception": _exception,
    "bad_index": _bad_index,
    "fork": _fork,
    "die": _die,
    "stall": _stall,
    "lie": _lie,
}
#: Kinds that wait for a whole device, and so may be told of another thread's bad index.
WAITING = ("device_sync", "export_check", "export_write", "check", "memory_limit", "empty_cache")
