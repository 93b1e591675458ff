"""Every call may come from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Literal

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import HostArray
from phalanx.driver import Capability

_THREADS, _MANY = 8, 48


def _together(work: Callable[[int], None], count: int = _THREADS) -> None:
    """Run work in several threads that begin at once; raise what the first of them raised."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            barrier.wait(60)
            work(number)
        except BaseException as error:  # noqa: BLE001 - it is raised again by the caller
            errors.append(error)

    threads = [threading.Thread(target=copy_context().run, args=(run, n)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(240)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]


def _check(x: px.Array, want: object, what: str) -> None:
    found = px.asnumpy(x)
    assert np.array_equal(found, np.asarray(want)), f"{what}: {found[:4]}"


def test_launches(case: Case) -> None:
    """Eight threads compute on the same device at once, each on its own arrays."""
    rounds = 20 if case.quick else 100

    def work(number: int) -> None:
        with px.device(case.device):
            for step in range(rounds):
                host = np.arange(1000 + 7 * number, dtype=np.float32) + step
                x = px.asarray(host)
                _check(x * 2.0 + float(number), host * 2 + number, f"thread {number}")
                _check(px.sum(px.asarray(host.astype(np.int64))), host.sum(dtype=np.int64), "sum")

    _together(work)


def test_one_source(case: Case) -> None:
    """Eight threads read one array."""
    host = np.arange(5000, dtype=np.int32)
    shared = px.asarray(host)

    def work(number: int) -> None:
        with px.device(case.device):
            for _ in range(20):
                _check(shared + number, host + number, f"thread {number}")

    _together(work)


def test_streams(case: Case) -> None:
    """Each thread makes, uses and closes streams and events."""

    def work(number: int) -> None:
        with px.device(case.device):
            for step in range(10 if case.quick else 50):
                stream = px.Stream(case.device)
                with stream:
                    x = px.full(300, number, dtype=px.int32) + step
                event = stream.record()
                event.synchronize(60)
                _check(x, np.full(300, number + step), f"thread {number}")
                stream.close()

    _together(work)


def test_allocation(case: Case) -> None:
    """Memory that threads get and give back at once belongs to one at a time."""

    def work(number: int) -> None:
        rng = np.random.default_rng([case.settings.seed, number])
        with px.device(case.device):
            for _ in range(50 if case.quick else 300):
                size = int(rng.integers(1, 20_000))
                value = int(rng.integers(0, 250))
                x = px.full(size, value, dtype=px.int32)
                y = px.full(size, value, dtype=px.int32)
                _check(x + y, np.full(size, value * 2, np.int32), f"thread {number}")

    _together(work)


@pytest.mark.parametrize("size", ["small", "large"])
def test_copies(case: Case, size: str) -> None:
    """Threads copy some bytes, or some hundred thousand, in and out, on streams of their own."""
    count, times = (37, (60, 400)) if size == "small" else (20_000, (15, 60))

    def work(number: int) -> None:
        with px.device(case.device), px.Stream(case.device):
            for step in range(times[0] if case.quick else times[1]):
                host = np.full(count * (number + 1), 1000 * number + step, np.int32)
                _check(px.asarray(host), host, f"a copy of thread {number}")

    _together(work)


def test_copies_of_many(case: Case) -> None:
    """Dozens of threads upload little at once, each to a stream of its own, and then read it."""

    def work(number: int) -> None:
        with px.device(case.device), px.Stream(case.device):
            for step in range(4):
                hosts = [np.full(37, 100 * number + 10 * step + k, np.int32) for k in range(6)]
                arrays = [px.asarray(host) for host in hosts]
                for x, host in zip(arrays, hosts, strict=True):
                    _check(x, host, f"a copy of thread {number}")

    _together(work, _MANY)


def test_params(case: Case) -> None:
    """Threads launch the same ops with params of their own, on streams of their own."""
    kind, index = "int32", "int64"
    own = ("native", "decomposed")
    sorts, searches, takes = (
        case.served[op, dtypes].how in own
        for op, dtypes in (
            ("sort", (kind, kind)),
            ("searchsorted", (kind, kind, index)),
            ("gather", (kind, index, kind)),
        )
    )
    if not (sorts or searches or takes):
        pytest.skip("the device has none of these ops")
    host = case.rng().permutation(500).astype(np.int32)
    inner, limits = np.sort(host)[::2].copy(), np.arange(0, 500, 3, dtype=np.int32)

    def work(number: int) -> None:
        rows = 5 + number
        table = np.arange(rows * (number + 1), dtype=np.int32).reshape(rows, number + 1)
        places = np.arange(-rows, rows)
        side: Literal["left", "right"] = "right" if number % 2 else "left"
        with px.device(case.device), px.Stream(case.device):
            x, y, z, at = (px.asarray(a) for a in (host, inner, limits, places))
            t = px.asarray(table)
            for _ in range(10 if case.quick else 60):
                if sorts:
                    want = np.sort(host)[:: -1 if number % 2 else 1]
                    _check(px.sort(x, descending=number % 2 == 1), want, f"sort of {number}")
                if searches:
                    found = px.searchsorted(y, z, side=side)
                    _check(found, np.searchsorted(inner, limits, side), f"search of {number}")
                if takes:
                    _check(px.take(t, at, axis=0), table[places], f"take of {number}")

    _together(work)


def test_long_reductions(case: Case) -> None:
    """Threads reduce long rows at once, on streams of their own, each with partial results."""
    rows = [np.arange(number, 20_000 + number, dtype=np.int64) for number in range(_THREADS)]

    def work(number: int) -> None:
        with px.device(case.device), px.Stream(case.device):
            x = px.asarray(rows[number])
            for _ in range(10 if case.quick else 60):
                _check(px.sum(x), rows[number].sum(), f"sum of thread {number}")
                _check(px.max(x), rows[number].max(), f"max of thread {number}")

    _together(work)


def test_subnormal_numbers(case: Case) -> None:
    """The floating-point mode is the same in every thread and on every stream."""
    if case.flushes:
        pytest.skip("the device takes subnormal numbers for zero, and says so")
    least = np.finfo(np.float32).smallest_subnormal
    host = np.arange(1, 300, dtype=np.float32) * least

    def work(number: int) -> None:
        with px.device(case.device), px.Stream(case.device):
            x = px.asarray(host)
            _check(x + x, host + host, f"sums of thread {number}")
            _check(x * 0.5, host * np.float32(0.5), f"halves of thread {number}")
            _check(x - x[:1], host - host[:1], f"differences of thread {number}")

    _together(work)


def test_the_driver_waits_for_streams_of_others(case: Case) -> None:
    """A wait for the device is one for all its streams, whichever thread made them."""
    device, found = case.device, []
    if not device.has_streams:
        pytest.skip("the device has no streams of its own")
    stream = px.Stream(device)
    with stream:
        x = px.zeros(1 << 18, dtype=px.float32)
        for _ in range(24):
            x = x + 1.0

    def wait() -> None:
        opened = device.ensure_open()
        opened.synchronize(60.0)
        found.append(opened.stream_query(stream.handle))

    thread = threading.Thread(target=copy_context().run, args=(wait,))
    thread.start()
    thread.join(60)
    assert found == [True], "a stream of another thread is busy after a wait for the device"
    stream.synchronize()


def test_mixed_ops(case: Case) -> None:
    """Threads launch different ops with different dtypes: no kernel is taken for another."""
    every = ("int8", "int16", "int32", "int64", "uint8", "float32", "uint32", "uint64")
    ops = ("add", "subtract", "maximum")
    kinds = [d for d in every if all(case.has(op, d, d, d) for op in ops)]

    def work(number: int) -> None:
        host: HostArray = np.arange(1, 100, dtype=kinds[number % len(kinds)])
        with px.device(case.device):
            for _ in range(20):
                x = px.asarray(host)
                _check(x + x, host + host, f"add of {host.dtype}")
                _check(x - x, host - host, f"subtract of {host.dtype}")
                _check(px.maximum(x, x[::-1]), np.maximum(host, host[::-1]), "maximum")

    _together(work)


def test_threads_of_kernels_change_beside_work(case: Case) -> None:
    """What is in a queue is done though the number of threads of kernels is set meanwhile."""
    opened = case.device.ensure_open()
    if Capability.THREADS not in opened.capabilities:
        pytest.skip("the device does not let one choose how many threads its kernels use")
    before = opened.threads()
    host = np.arange(1 << 16, dtype=np.float32)
    try:
        for count in (1, 3, 2):
            with px.Stream(case.device) as stream:
                x = px.asarray(host)
                for _ in range(50):
                    x = x + 1.0
                    opened.threads(count)
            stream.synchronize()
            _check(x, host + 50, f"sums while there are {count} threads")
    finally:
        opened.threads(before)
