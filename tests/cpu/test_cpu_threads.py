"""The CPU library's streams, events and worker threads."""

from __future__ import annotations

import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import cpu_abi
import numpy as np
import pytest
from cpu_abi import PluginError, check, ffi, run
from plugin_kit import run_python

pytestmark = pytest.mark.needs_cpu
MILLISECOND = 1_000_000
#: Place and size of e_phoff, e_phentsize and e_phnum in an ELF file of 64 bits (elf(5)).
_HEADERS = ((32, 8), (54, 2), (56, 2))


@pytest.fixture(scope="module")
def library():
    for path in cpu_abi.library_paths():
        opened = cpu_abi.Library(path)
        if opened.score() > 0:
            return opened
    return pytest.fail("no CPU library runs on this processor")


@pytest.fixture
def stream(library):
    made = library.stream()
    yield made
    check(library.api.stream_destroy(made))


@contextmanager
def held(library, stream):
    """Hold a stream until the block ends."""
    gate, reached = threading.Event(), threading.Event()

    def wait():
        reached.set()
        gate.wait(60)

    library.call_in(stream, wait)
    try:
        assert reached.wait(60)
        yield
    finally:
        gate.set()
        library.synchronize(stream)


def idle(library, stream):
    out = ffi.new("int32_t *")
    check(library.api.stream_query(stream, out))
    return bool(out[0])


@pytest.mark.parametrize("path", cpu_abi.library_paths(), ids=lambda path: path.name.split(".")[0])
def test_nothing_is_thread_local(path):
    """Else a thread would need memory when it first enters the library, or end the process."""
    elf = path.read_bytes()
    if elf[:5] != b"\x7fELF\x02":
        pytest.skip("no ELF file of 64 bits")
    begin, size, count = (int.from_bytes(elf[a : a + n], "little") for a, n in _HEADERS)
    kinds = [int.from_bytes(elf[begin + i * size :][:4], "little") for i in range(count)]
    assert 1 in kinds, "nothing is loaded: the headers were not found"
    assert 7 not in kinds


def done(library, event):
    out = ffi.new("int32_t *")
    check(library.api.event_query(event, out))
    return bool(out[0])


def elapsed(library, begin, end):
    out = ffi.new("uint64_t *")
    check(library.api.event_elapsed(begin, end, out))
    return out[0]


def test_work_of_a_stream_is_done_in_order(library, stream):
    a, two, one = np.zeros(10_000), np.array(2.0), np.array(1.0)
    for _ in range(20):
        library.launch("add", [a, one, a], stream=stream, scalars=2)
        library.launch("multiply", [a, two, a], stream=stream, scalars=2)
    library.synchronize(stream)
    assert (a == sum(2.0**k for k in range(1, 21))).all()
    assert idle(library, stream)


def test_a_launch_returns_at_once_and_keeps_its_arguments(library, stream):
    a, out, value = np.arange(1000.0), np.zeros(1000), np.array(5.0)
    with held(library, stream):
        library.launch("add", [a, value, out], stream=stream, scalars=2)
        value[()] = -1.0
        assert not idle(library, stream)
        assert not out.any()
    assert np.array_equal(out, a + 5)


def test_streams_are_independent(library, stream):
    other = library.stream()
    a = np.ones(1000)
    with held(library, stream):
        library.launch("add", [a, a, a], stream=other)
        library.synchronize(other)
        assert (a == 2).all()
        assert not idle(library, stream)
    check(library.api.stream_destroy(other))


def test_copies_are_asynchronous(library, stream):
    a, b, c = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8), np.zeros(64, np.uint8)
    with held(library, stream):
        library.copy(b, a, 64, stream)
        library.copy(c, b, 64, stream)
        assert not b.any()
        assert not c.any()
    assert np.array_equal(c, a)


def test_synchronize_times_out(library, stream):
    with held(library, stream):
        waits = (
            lambda: library.api.stream_synchronize(stream, 20 * MILLISECOND),
            lambda: library.api.device_synchronize(library.device, 20 * MILLISECOND),
        )
        for wait in waits:
            begin = time.monotonic()
            with pytest.raises(PluginError, match="not finished") as caught:
                check(wait())
            assert caught.value.code == cpu_abi.TIMEOUT
            assert time.monotonic() - begin >= 0.02
        with pytest.raises(PluginError, match="not finished"):
            library.synchronize(stream, 0)
    library.synchronize(stream, 0)
    check(library.api.device_synchronize(library.device, cpu_abi.FOREVER))


def test_events_time_a_stream(library, stream):
    begin = library.event(stream)

    def rest():
        time.sleep(0.02)

    library.call_in(stream, rest)
    end = library.event(stream)
    check(library.api.event_synchronize(end, cpu_abi.FOREVER))
    assert 20 * MILLISECOND <= elapsed(library, begin, end) < 20_000 * MILLISECOND
    with pytest.raises(PluginError, match="before the first"):
        elapsed(library, end, begin)
    for event in (begin, end):
        check(library.api.event_destroy(event))


def test_event_of_the_default_stream_is_reached_at_once(library):
    event = library.event()
    with pytest.raises(PluginError, match="never recorded"):
        elapsed(library, event, event)
    check(library.api.event_record(event, ffi.NULL))
    assert done(library, event)
    assert elapsed(library, event, event) == 0
    check(library.api.event_destroy(event))


def test_event_is_pending_until_its_place_is_passed(library, stream):
    fresh = library.event()
    assert done(library, fresh)
    check(library.api.event_synchronize(fresh, 0))
    with held(library, stream):
        event = library.event(stream)
        assert not done(library, event)
        with pytest.raises(PluginError, match="event_synchronize: not finished") as caught:
            check(library.api.event_synchronize(event, MILLISECOND))
        assert caught.value.code == cpu_abi.TIMEOUT
        with pytest.raises(PluginError, match="not reached yet"):
            elapsed(library, event, event)
    check(library.api.event_synchronize(event, cpu_abi.FOREVER))
    assert done(library, event)
    for e in (event, fresh):
        check(library.api.event_destroy(e))


def test_new_record_replaces_the_old_one_but_not_its_waits(library, stream):
    other = library.stream()
    a = np.zeros(100)
    with held(library, stream):
        event = library.event(stream)
        check(library.api.stream_wait_event(library.device, other, event))
        library.launch("add", [a, np.array(1.0), a], stream=other, scalars=2)
        check(library.api.event_record(event, ffi.NULL))
        assert done(library, event)
        assert not idle(library, other)
        assert not a.any()
        check(library.api.event_destroy(event))  # while the wait is pending
    library.synchronize(other)
    assert (a == 1).all()
    check(library.api.stream_destroy(other))


def test_default_stream_waits_for_an_event(library, stream):
    def rest():
        time.sleep(0.02)

    library.call_in(stream, rest)
    event = library.event(stream)
    check(library.api.stream_wait_event(library.device, ffi.NULL, event))
    assert done(library, event)
    check(library.api.event_destroy(event))


def out_of_range(library, stream):
    index, out = np.array([0, 7], np.int64), np.zeros(2, np.int64)
    library.launch("wrap_index", [index, out], layout=cpu_abi.ANY, params=[5, 1], stream=stream)
    return index, out


def test_error_of_a_stream_is_kept_and_told_once(library, stream):
    before = library.event(stream)
    operands = [out_of_range(library, stream)]
    after = library.event(stream)
    check(library.api.event_synchronize(before, cpu_abi.FOREVER))
    with pytest.raises(PluginError, match=r"'wrap_index'.*7") as caught:
        check(library.api.event_synchronize(after, cpu_abi.FOREVER))
    assert caught.value.code == cpu_abi.OUT_OF_RANGE
    library.synchronize(stream)
    operands.append(out_of_range(library, stream))
    with pytest.raises(PluginError, match="wrap_index"):
        library.synchronize(stream)
    library.synchronize(stream)
    for event in (before, after):
        check(library.api.event_destroy(event))


def test_error_on_the_default_stream_is_immediate(library):
    with pytest.raises(PluginError, match="7") as caught:
        out_of_range(library, ffi.NULL)
    assert caught.value.code == cpu_abi.OUT_OF_RANGE


def test_work_may_not_wait_for_its_own_stream(library, stream):
    seen = []

    def wait():
        try:
            library.synchronize(stream)
        except PluginError as error:
            seen.append(error.code)

    library.call_in(stream, wait)
    library.synchronize(stream)
    assert seen == [cpu_abi.INVALID_ARGUMENT]


def test_destroy_finishes_the_queue(library):
    stream = library.stream()
    a, one = np.zeros(50_000), np.array(1.0)
    for _ in range(200):
        library.launch("add", [a, one, a], stream=stream, scalars=2)
    check(library.api.stream_destroy(stream))
    assert (a == 200).all()


def test_error_of_work_that_comes_while_a_stream_is_destroyed(library):
    stream, operands = library.stream(), []

    def late():
        time.sleep(0.1)  # by now the stream is being destroyed
        operands.append(out_of_range(library, stream))

    library.call_in(stream, late)
    with pytest.raises(PluginError, match="wrap_index"):
        check(library.api.stream_destroy(stream))


def test_a_destroyed_stream_takes_no_work(library):
    stream = library.stream()
    event = library.event(stream)  # keeps the stream's memory
    check(library.api.stream_destroy(stream))
    for enqueue in (
        lambda: library.launch("add", [np.ones(3)] * 3, stream=stream),
        lambda: check(library.api.event_record(event, stream)),
    ):
        with pytest.raises(PluginError, match="has been destroyed") as caught:
            enqueue()
        assert caught.value.code == cpu_abi.INVALID_ARGUMENT
    assert done(library, event)
    check(library.api.event_destroy(event))


def test_device_synchronize_waits_for_all_though_one_failed(library):
    slow, bad, other = (library.stream() for _ in range(3))

    def rest():
        time.sleep(0.2)

    library.call_in(slow, rest)
    operands = [out_of_range(library, bad), out_of_range(library, other)]
    for _ in operands:  # each is told once
        with pytest.raises(PluginError, match="wrap_index"):
            check(library.api.device_synchronize(library.device, cpu_abi.FOREVER))
        assert idle(library, slow)
    check(library.api.device_synchronize(library.device, cpu_abi.FOREVER))
    for stream in (slow, bad, other):
        check(library.api.stream_destroy(stream))


def test_eight_threads_launch_at_once(library):
    def work(seed):
        rng = np.random.default_rng(seed)
        stream = library.stream() if seed % 2 else ffi.NULL
        a, b = rng.standard_normal((2, 200_000))
        out = np.empty_like(a)
        for _ in range(30):
            library.launch("add", [a, b, out], stream=stream)
            library.launch("multiply", [out, b, out], stream=stream)
        library.synchronize(stream)
        if stream != ffi.NULL:
            check(library.api.stream_destroy(stream))
        return np.array_equal(out, (a + b) * b)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_many_threads_share_one_stream(library, stream):
    a, one = np.zeros(100, np.int64), np.array(1, np.int64)

    def work(_):
        for _ in range(200):
            library.launch("add", [a, one, a], stream=stream, scalars=2)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    library.synchronize(stream)
    assert (a == 1600).all()


def test_library_stays_when_its_handle_is_dropped(library):
    run(
        """
        import gc
        stream = L.stream()
        api, device = L.api, L.device
        del L
        gc.collect()
        check(api.stream_synchronize(stream, cpu_abi.FOREVER))
        check(api.stream_destroy(stream))
        """
    )


def test_bits_do_not_depend_on_the_number_of_threads(library):
    code = """
        import hashlib
        rng = np.random.default_rng(0)
        seen = hashlib.sha256()
        for dtype in ("float32", "float64"):
            a, b = rng.standard_normal((2, 700, 900)).astype(dtype)
            for op, operands, layout in (
                ("exp", [a], 0), ("add", [a, b], 0), ("pow", [abs(a), b], 0),
                ("add", [a.T, b.T[::-1]], 1), ("exp", [a.T], 1),
            ):
                out = np.empty(operands[0].shape, dtype)
                L.launch(op, [*operands, out], layout=layout)
                seen.update(out.tobytes())
            total = np.empty(700, dtype)
            L.launch("sum", [a, total], layout=2)
            seen.update(total.tobytes())
            product = np.empty((700, 700), dtype)
            L.launch("matmul", [a, b.T, product], layout=2)
            seen.update(product.tobytes())
        print(seen.hexdigest())
        """
    assert len({run(code, PHALANX_NUM_THREADS=n) for n in ("1", "2", "5")}) == 1


@pytest.mark.parametrize("value", ["two", "0", "-3", "1.5"])
def test_bad_number_of_threads_is_an_error(library, value):
    with pytest.raises(AssertionError, match="PHALANX_NUM_THREADS is '" + value):
        run("pass", PHALANX_NUM_THREADS=value)


def products(library, shape_a, shape_b, dtype):
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-8, 9, shape).astype(dtype) for shape in (shape_a, shape_b))
    batch = np.broadcast_shapes(shape_a[:-2], shape_b[:-2])
    a, b = (np.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b))
    out = np.empty((*batch, a.shape[-2], b.shape[-1]), dtype)
    library.launch("matmul", [a, b, out], layout=cpu_abi.ANY)
    return out, a @ b


@pytest.mark.parametrize("dtype", ["int8", "uint32", "int64", "float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((3, 4), (4, 5)),
        ((500, 1, 3, 4), (7, 4, 5)),
        ((2, 150, 150), (150, 150)),
        ((3, 0), (0, 5)),
        ((0, 3, 4), (4, 5)),
        ((4, 0, 4), (4, 5)),
    ],
)
def test_batches_of_products(library, dtype, shape_a, shape_b):
    got, want = products(library, shape_a, shape_b, dtype)
    assert np.array_equal(got, want)


_PLACES = """
import os, numpy, phalanx as px

def others():
    return {int(t) for t in os.listdir("/proc/self/task")} - before

def work():
    x = px.ones(2**20, dtype=px.float32)
    for _ in range(20):
        y = px.exp(x)
    assert abs(float(px.max(y)) - 2.7182817) < 1e-6

before = {int(t) for t in os.listdir("/proc/self/task")}
whole = os.sched_getaffinity(0)
work()
work()
assert os.sched_getaffinity(0) == whole, "the caller was moved"
workers = others()
assert workers
placed = {t: os.sched_getaffinity(t) for t in workers}
assert all(mask <= whole and len(mask) >= len(whole) - 1 for mask in placed.values()), placed
for t in workers:
    os.sched_setaffinity(t, {min(whole)})
for core in sorted(whole):
    os.sched_setaffinity(0, {core})
    work()
assert all(os.sched_getaffinity(t) == {min(whole)} for t in workers), "placed anew"
print(len(workers))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone places threads")
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is one core")
def test_workers_stay_off_the_callers_core_unless_somebody_places_them() -> None:
    assert int(run_python("-c", _PLACES, PHALANX_NUM_THREADS="3").stdout) == 2
