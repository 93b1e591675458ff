"""Two devices of one driver: each keeps its own queue and its own memory."""

from __future__ import annotations

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from threading import Barrier

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import Device
from phalanx.conformance.blocks import (
    free_memory,
    has_own_memory,
    place_of,
    read_block,
    write_block,
)
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import busy, by_a_thread
from phalanx.conformance.groups.runtime.failing import let_fail, of_either_kind
from phalanx.driver import Capability, OpenDevice, Place

_SIZE = 1 << 12
#: Streams of each device.
_NUMBERS = 9


def _two(case: Case) -> tuple[Device, Device]:
    if not case.others:
        pytest.skip("the driver has one device")
    return case.device, case.others[0]


def _allocate(opened: OpenDevice, _: Device) -> None:
    opened.free(opened.alloc(_SIZE))


def _copy(opened: OpenDevice, device: Device) -> None:
    data, stream = np.ones(_SIZE, np.uint8), px.Stream(device)
    block = opened.alloc(_SIZE)
    opened.copy(Place(opened, block), Place(None, data.ctypes.data), _SIZE, stream=stream)
    stream.synchronize()
    opened.free(block)


def _make_stream(_: OpenDevice, device: Device) -> None:
    px.Stream(device).close()


_CALLS: dict[str, Callable[[OpenDevice, Device], None]] = {
    "alloc": _allocate,
    "copy": _copy,
    "stream": _make_stream,
}


@pytest.mark.parametrize("call", _CALLS)
def test_a_call_for_another_device_moves_no_work(case: Case, call: str) -> None:
    """Behind a call for a busy device a thread's work on another one is in the queue of that."""
    both = _two(case)
    for first, second in (both, both[::-1]):
        with px.device(first):
            x = px.ones(_SIZE, dtype=px.float32)
            _ = x + 1.0  # so that all is compiled
        px.synchronize(first)
        with px.device(second):
            busy(case, 0.1, stream=second.default_stream, asks=False)
        _CALLS[call](second.ensure_open(), second)
        y = x + 5.0
        found = px.asnumpy(y)
        px.synchronize(second)
        assert (found == 6).all(), f"work of {first} was not done when it was waited for"


@pytest.mark.parametrize("threads", [0, 1], ids=["this thread", "another thread"])
def test_each_default_stream_answers_for_itself(case: Case, threads: int) -> None:
    """Of two default streams the idle one says so, and the busy one does not."""
    both = _two(case)
    if not all(d.ensure_open().capabilities & Capability.STREAMS for d in both):
        pytest.skip("the devices have no streams of their own")
    for idle, working in (both, both[::-1]):
        px.synchronize(idle)

        def work(device: Device = working) -> px.Event:
            with px.device(device):
                return busy(case, 0.1, stream=device.default_stream, asks=False).record()

        event = by_a_thread(work) if threads else work()
        is_idle, is_done = (
            device.ensure_open().stream_query(device.default_stream.handle)
            for device in (idle, working)
        )
        passed = event.query()
        px.synchronize(working)
        assert is_idle, f"the default stream of {idle} is not idle while {working} works"
        assert passed or not is_done, f"the default stream of {working} says that it is idle"


def test_memory_of_another_device_is_not_taken(case: Case) -> None:
    """What one device holds is not missing on another one."""
    first, second = _two(case)
    if not all(has_own_memory(d) for d in (first, second)):
        pytest.skip("the devices share the memory of the host")
    opened, other = first.ensure_open(), second.ensure_open()
    if opened.memory_info()[1] == 0:
        pytest.skip("the driver does not tell how much memory is free")
    size = min(second.info.max_allocation, max(1 << 20, second.info.total_memory // 16))
    lost = []
    for _ in range(4):  # others may use the memory, too
        before = opened.memory_info()[0]
        block = other.alloc(size)
        lost.append(before - opened.memory_info()[0])
        other.free(block)
        if lost[-1] < size / 2:
            return
    pytest.fail(f"free memory of {first} shrank by {min(lost)} when {second} took {size} bytes")


def test_blocks_of_two_devices(case: Case) -> None:
    """What is freed on one device is not a block of another one, whatever its handle is."""
    both = _two(case)
    kept = np.full(_SIZE, 7, np.uint8)
    for first, second in (both, both[::-1]):
        freed, blocks = ([d.ensure_open().alloc(_SIZE) for _ in range(3)] for d in (first, second))
        for block in blocks:
            write_block(second, block, kept)
        for block in freed:
            first.ensure_open().free(block)
        for block in blocks:
            found = read_block(second, block, _SIZE)
            assert (found == kept).all(), f"a block of {second} went with one of {first}"
            second.ensure_open().free(block)


@of_either_kind
def test_failures_are_told_by_their_device(case: Case, kind: str) -> None:
    """What failed on one device is told by waits for it, and not by those for the other."""
    both = _two(case)
    streams = {device: [px.Stream(device) for _ in range(_NUMBERS)] for device in both}
    for failing, other in (both, both[::-1]):
        with px.device(failing):
            found = let_fail(case, kind, streams[failing][_NUMBERS // 2])
        opened = other.ensure_open()
        opened.synchronize(60.0)
        for stream in streams[other]:  # one of them has the number of the other device's
            stream.synchronize()
        for device in (other, failing):
            told: AbstractContextManager[object] = (
                nullcontext() if device is other else pytest.raises(found.error)
            )
            with told:
                px.synchronize(device)


@pytest.mark.parametrize("threads", [0, 1], ids=["this thread", "another thread"])
def test_closing_one_leaves_the_other(case: Case, threads: int) -> None:
    """Streams of a device compute when any thread closed the other one, and it is open again."""
    both, host = _two(case), np.arange(1 << 16, dtype=np.int32)
    for closed, other in (both, both[::-1]):
        gc.collect()
        stream = px.Stream(other)
        with px.device(other), stream:
            kept = queued = px.asarray(host)
            for _ in range(40):
                queued = queued + 1
        if threads:
            by_a_thread(closed.close)
        else:
            closed.close()
        if closed.is_open:
            pytest.skip("arrays lie on the device")
        for _ in range(2):
            with stream:
                x = px.ones(_SIZE, dtype=px.float32, device=other) + 1.0
            stream.synchronize()
            assert (px.asnumpy(x) == 2).all(), f"{other} lost work when {closed} was closed"
            closed.ensure_open()
        assert (px.asnumpy(kept) == host).all(), f"{other} lost memory when {closed} was closed"
        assert (px.asnumpy(queued) == host + 40).all(), f"{other} lost work that was queued"
        del x, kept, queued
        stream.close()


def test_a_copy_from_another_device_is_in_its_stream(case: Case) -> None:
    """It comes behind what the stream was given before, and in front of what it is given then."""
    for first, second in (_two(case), _two(case)[::-1]):
        opened = first.ensure_open()
        if not opened.reaches(second.ensure_open()):
            pytest.skip("the device does not reach the other one")
        count = 1 << 20
        with px.device(second):
            source = px.full(count, 7, dtype=px.int32)
            px.synchronize(second)
        with px.device(first), px.hazards("manual"):
            target = px.zeros(count, dtype=px.int32)
            stream = px.Stream(first)
            stream.wait(first.default_stream.record())
            with stream:
                for _ in range(40):
                    target += 1
                opened.copy(place_of(target), place_of(source), 4 * count, stream=stream)
                result = target + 1
            stream.synchronize()
            assert (px.asnumpy(target) == 7).all(), "a copy was overtaken by what was there before"
            assert (px.asnumpy(result) == 8).all(), "a copy was overtaken by what came behind it"


def test_copies_between_both_at_once(case: Case) -> None:
    """Threads move arrays from each device to the other, and two of them the same way."""
    first, second = _two(case)

    def move(number: int) -> None:
        source, target = (first, second) if number < 2 else (second, first)
        for step in range(5 if case.quick else 20):
            host = np.full(100_003 + number, 100 * number + step, np.int32)
            with px.device(source), px.Stream(source):
                x = px.asarray(host)
            moved = x.to_device(target)
            assert (px.asnumpy(moved) == host).all(), f"{source} to {target} beside other copies"

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(copy_context().run, move, number) for number in range(4)]:
            done.result()


#: Ops that need room beside their operands, with the dtypes of their overloads.
_ROOMY: dict[str, tuple[tuple[str, ...], Callable[[px.Array], px.Array]]] = {
    "matmul": (("int32",) * 3, lambda x: x @ x.T),
    "sort": (("int32",) * 2, lambda x: px.sort(px.reshape(x, (-1,)))),
    "sum": (("int64",) * 2, lambda x: px.sum(x, axis=0)),
    "cumulative_sum": (("int64",) * 2, lambda x: px.cumulative_sum(x, axis=1)),
}


@pytest.mark.parametrize("op", _ROOMY)
def test_both_compute_at_once(case: Case, op: str) -> None:
    """What an op needs beside its operands is none of another device's."""
    both = _two(case)
    dtypes, compute = _ROOMY[op]
    if not case.has(op, *dtypes):
        pytest.skip(f"the device has no {op} of {dtypes[0]}")
    hosts = [case.rng(n).integers(-99, 99, (130, 90)).astype(dtypes[0]) for n in (0, 1)]
    alone = [
        px.asnumpy(compute(px.asarray(host, device=device)))
        for host, device in zip(hosts, both, strict=True)
    ]
    barrier = Barrier(2)

    def work(number: int) -> None:
        with px.device(both[number]), px.Stream(both[number]):
            x = px.asarray(hosts[number])
            barrier.wait(60)
            for _ in range(20 if case.quick else 80):
                found = px.asnumpy(compute(x))
                assert (found == alone[number]).all(), f"{op} on {both[number]} beside the other"

    with ThreadPoolExecutor(2) as threads:
        running = [threads.submit(copy_context().run, work, number) for number in (0, 1)]
        errors = [done.exception() for done in running]
    assert not any(errors), next(error for error in errors if error)


def test_opening_costs_no_memory(case: Case) -> None:
    """A device that was closed and opened again many times has as much memory as before."""
    _, other = _two(case)
    if not has_own_memory(other):
        pytest.skip("the devices share the memory of the host")
    if other.ensure_open().memory_info()[1] == 0:
        pytest.skip("the driver does not tell how much memory is free")
    lost = []
    for _ in range(3):  # others may use the memory, too
        gc.collect()
        before = other.ensure_open().memory_info()[0]
        for _ in range(10):
            assert (px.asnumpy(px.ones(_SIZE, dtype=px.float32, device=other)) == 1).all()
            gc.collect()
            other.close()
            other.ensure_open()
        lost.append(before - free_memory(other.ensure_open(), before))
        if lost[-1] < 1 << 23:
            return
    pytest.fail(f"{min(lost)} bytes are gone when a device was closed ten times")
