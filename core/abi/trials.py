"""What ``phalanx abi-check --run`` tries, each trial in a child process of its own.

A trial gets an open device and a list for what it finds wrong; what it raises is one more fault.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from phalanx.discovery.guard import Observer
from phalanx.driver import Layout
from phalanx.errors import PhalanxError

from . import structs as abi
from .check import NATIVE_FAILURES
from .kernel_table import KernelRow
from .library import open_library
from .problem import Problem
from .structs import ffi
from .subject import Subject, Tensor

_FOREVER = 2**64 - 1
_SIZES = (1, 4099, (1 << 20) + 1)
Trial = Callable[[Subject, list[Problem], Observer], "str | None"]


def run_trial(path: str, index: int, name: str, observe: Observer) -> dict[str, Any]:
    """Try one thing on one device; return ``problems`` (pairs) and ``note``: what was not tried."""
    problems: list[Problem] = []
    note = None
    try:
        subject = Subject(open_library(Path(path)), index)
        note = TRIALS[name](subject, problems, observe)
        observe(f"device_close after {name}")
        subject.close()
    except NATIVE_FAILURES as error:
        problems.append(Problem(name, str(error)))
    return {"problems": problems, "note": note}


def _random(size: int) -> Any:
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)


def _alloc(subject: Subject, problems: list[Problem], observe: Observer) -> None:
    taken: list[tuple[int, int]] = []
    alignment = int(subject.info.alignment)
    for size in _SIZES:
        observe(f"alloc of {size} bytes")
        out = ffi().new("void **")
        subject.call("alloc", subject.device, size, alignment, out, size=size)
        if not out[0]:
            problems.append(Problem("alloc", f"{size} bytes: no handle and no error"))
            continue
        taken.append((int(ffi().cast("uintptr_t", out[0])), size))
    if subject.is_addressable:
        problems += [
            Problem("alloc", f"{size} bytes lie at {at:#x}, not aligned to {alignment}")
            for at, size in taken
            if at % alignment
        ]
    ends = sorted((at, at + size if subject.is_addressable else at + 1) for at, size in taken)
    if any(second[0] < first[1] for first, second in itertools.pairwise(ends)):
        problems.append(Problem("alloc", "two living blocks overlap, or have one handle"))
    observe("memory_info")
    sizes = ffi().new("uint64_t[2]")
    subject.call("memory_info", subject.device, sizes, sizes + 1)
    if sizes[0] > sizes[1]:
        problems.append(Problem("memory_info", f"{sizes[0]} of {sizes[1]} bytes are free"))
    for at, size in taken:
        observe(f"free of {size} bytes")
        subject.call("free", subject.device, ffi().cast("void *", at))
    _alloc_too_much(subject, problems, observe)


def _alloc_too_much(subject: Subject, problems: list[Problem], observe: Observer) -> None:
    observe("alloc of 2^62 bytes")
    try:
        with subject.block(1 << 62):
            problems.append(Problem("alloc", "2^62 bytes: it succeeds"))
    except (MemoryError, ValueError):
        return
    except PhalanxError as error:
        wrong = f"2^62 bytes: not PHX_OUT_OF_MEMORY, and the pool would not try again: {error}"
        problems.append(Problem("alloc", wrong))


def _copy(subject: Subject, problems: list[Problem], observe: Observer) -> None:
    for size in _SIZES:
        _copy_there_and_back(subject, size, subject.stream, problems, observe)


def _copy_there_and_back(
    subject: Subject, size: int, stream: Any, problems: list[Problem], observe: Observer
) -> None:
    """Copy at odd offsets, and look at the bytes beside, too."""
    data, around = _random(size), _random(size + 64)
    with subject.block(size + 64) as first, subject.block(size + 64) as second:
        steps: tuple[tuple[str, Callable[[], None]], ...] = (
            ("the host to the device", lambda: subject.write(first, 0, around, stream)),
            ("the host to the device", lambda: subject.write(first, 3, data, stream)),
            ("block to block", lambda: subject.move(second, 5, first, 3, size, stream)),
        )
        for what, work in steps:
            observe(f"copy of {size} bytes from {what}")
            work()
        observe(f"copy of {size} bytes from the device to the host")
        got = subject.read(second, 5, size, stream)
        beside = subject.read(first, 0, size + 64, stream)
    around[3 : 3 + size] = data
    if not np.array_equal(got, data):
        problems.append(Problem("copy", f"{size} bytes to the device and back are not the same"))
    if not np.array_equal(beside, around):
        problems.append(Problem("copy", f"a copy of {size} bytes writes beside its destination"))


def _fill(subject: Subject, problems: list[Problem], observe: Observer) -> str | None:
    """Let a kernel write one element of the host everywhere, as ``full`` does."""
    rows = [r for r in subject.rows() if r.op == "copy"]
    if not rows:
        return "there is no kernel for copy"
    for row in rows:
        observe(f"copy({row.dtypes[0]}) of a scalar")
        item = _itemsize(row)
        value = np.zeros(item, np.uint8)
        value[0] = 1  # a value of every dtype, and not that of a bool alone
        for count in (1, 4099):
            with subject.block(count * item) as handle:
                out = Tensor(subject, handle, row.dtypes[0], [count])
                one = Tensor(subject, value, row.dtypes[0], [])
                subject.launch(row, [one, out], scalars=1)
                got = subject.read(handle, 0, count * item)
            if not np.array_equal(got.reshape(count, item), np.tile(value, (count, 1))):
                wrong = f"copy({row.dtypes[0]}) of a scalar into {count} elements is wrong"
                problems.append(Problem("phx_kernel.run", wrong))
    return None


def _itemsize(row: KernelRow) -> int:
    from phalanx.optable import DTYPES

    return DTYPES[row.dtypes[0]].size


#: Ops whose results are exact for small integers, with NumPy's function.
_EXACT = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "negative": np.negative,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "copy": np.positive,
}
_DTYPES = ("int32", "int64", "float32", "float64")


def _launch(subject: Subject, problems: list[Problem], observe: Observer) -> str | None:
    rows = [r for r in subject.rows() if r.op in _EXACT and set(r.dtypes) <= {*_DTYPES}]
    if not rows:
        return f"there is no kernel for {', '.join(_EXACT)} of common dtypes: none was launched"
    for row in rows:
        shapes = [] if row.layout == Layout.STRIDED else [(1,), (17,), (4099,)]
        for shape in shapes:
            _launch_one(subject, row, shape, None, problems, observe)
        if row.layout != Layout.CONTIGUOUS:
            _launch_one(subject, row, (5, 7), (1, 5), problems, observe)
    return None


def _launch_one(
    subject: Subject,
    row: KernelRow,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    problems: list[Problem],
    observe: Observer,
) -> None:
    """Launch on small integers at an odd offset; inputs have the strides, the output C order."""
    what = f"{row.op}({', '.join(row.dtypes)}) {row.layout.name.lower()} of shape {shape}"
    observe(what)
    kind, n = np.dtype(row.dtypes[0]), int(np.prod(shape))
    values = [(_random(n + k)[:n] % 50).astype(kind) for k in range(len(row.dtypes) - 1)]
    size = (n + 1) * kind.itemsize
    blocks = [subject.block(size) for _ in row.dtypes]
    handles = [block.__enter__() for block in blocks]
    for handle, value in zip(handles, values, strict=False):
        subject.write(handle, kind.itemsize, value.view(np.uint8))
    shapes = [strides] * len(values) + [None]
    tensors = [
        Tensor(subject, handle, row.dtypes[0], shape, strides=steps, offset=kind.itemsize)
        for handle, steps in zip(handles, shapes, strict=True)
    ]
    subject.launch(row, tensors)
    got = subject.read(handles[-1], kind.itemsize, n * kind.itemsize).view(kind).reshape(shape)
    for block in blocks:
        block.__exit__(None, None, None)
    views = [v.reshape(shape) if strides is None else v.reshape(shape[::-1]).T for v in values]
    if not np.array_equal(got, _EXACT[row.op](*views)):
        problems.append(Problem("phx_kernel.run", f"{what} has wrong values"))


def _streams(subject: Subject, problems: list[Problem], observe: Observer) -> str | None:
    """Copy in two streams, of which one waits for the other's event."""
    if not subject.can(abi.Capability.STREAMS):
        return "there are no streams"
    streams = [_made(subject, "stream_create", "phx_stream", n - 1, observe) for n in range(2)]
    timed = int(subject.can(abi.Capability.EVENT_TIMING))
    events = [_made(subject, "event_create", "phx_event", timed, observe) for _ in range(2)]
    for stream in streams:
        _copy_there_and_back(subject, _SIZES[1], stream, problems, observe)
    data, size = _random(_SIZES[2]), _SIZES[2]
    with subject.block(size) as first, subject.block(size) as second:
        observe("copies in two streams, the second behind the first's event")
        subject.call("event_record", events[0], streams[0])
        subject.write(first, 0, data, streams[0])
        subject.call("event_record", events[1], streams[0])
        subject.call("stream_wait_event", subject.device, streams[1], events[1])
        subject.move(second, 0, first, 0, size, streams[1])
        got = subject.read(second, 0, size, streams[1])
    if not np.array_equal(got, data):
        problems.append(Problem("stream_wait_event", "the second stream did not wait"))
    flag = ffi().new("int32_t *")
    for event in events:
        observe("event_synchronize, event_query")
        subject.call("event_synchronize", event, _FOREVER)
        subject.call("event_query", event, flag)
        if not flag[0]:
            problems.append(Problem("event_query", "an event that was waited for is not done"))
    if timed:
        subject.call("event_elapsed", events[0], events[1], ffi().new("uint64_t *"))
    for stream in streams:
        observe("stream_synchronize, stream_query, stream_destroy")
        subject.call("stream_synchronize", stream, _FOREVER)
        subject.call("stream_query", stream, flag)
        if not flag[0]:
            problems.append(Problem("stream_query", "a stream that was waited for is not idle"))
    for event in events:
        subject.call("event_destroy", event)
    for stream in streams:
        subject.call("stream_destroy", stream)
    return None


def _failures(subject: Subject, problems: list[Problem], observe: Observer) -> str | None:
    """Let a stream fail: a copy behind that is passed over, and the first wait tells it."""
    if not subject.can(abi.Capability.FAULT_INJECTION):
        return "no command fails on demand"
    stream = _made(subject, "stream_create", "phx_stream", 0, observe)
    old = _random(_SIZES[1])
    with subject.block(old.size) as block:
        subject.write(block, 0, old, stream)
        observe("stream_inject_failure")
        subject.call("stream_inject_failure", subject.device, stream)
        new = ~old
        subject.write(block, 0, new, stream)
        observe("stream_synchronize behind a failure")
        try:
            subject.call("stream_synchronize", stream, _FOREVER)
        except PhalanxError:
            pass
        else:
            problems.append(Problem("stream_inject_failure", "no wait tells the failure"))
        subject.call("stream_synchronize", stream, _FOREVER)
        observe("a copy behind a failure that was told")
        if not np.array_equal(subject.read(block, 0, old.size, stream), old):
            problems.append(Problem("stream_inject_failure", "a copy behind the failure is done"))
    subject.call("stream_destroy", stream)
    return None


def _made(subject: Subject, function: str, kind: str, number: int, observe: Observer) -> Any:
    observe(function)
    out = ffi().new(f"{kind} **")
    subject.call(function, subject.device, number, out)
    if not out[0]:
        raise ValueError(f"{function} gives no {kind} and no error")
    return out[0]


def _threads(subject: Subject, problems: list[Problem], observe: Observer) -> None:
    """Copy from four threads at once; every call may come from any thread."""
    observe("copies from four threads")
    failures: list[Exception] = []

    def work() -> None:
        try:
            for size in _SIZES[:2] * 8:
                _copy_there_and_back(subject, size, subject.stream, problems, lambda _: None)
        except NATIVE_FAILURES as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    problems += [Problem("threads", str(error)) for error in failures]


TRIALS: dict[str, Trial] = {
    "alloc": _alloc,
    "copy": _copy,
    "fill": _fill,
    "launch": _launch,
    "streams": _streams,
    "failures": _failures,
    "threads": _threads,
}
