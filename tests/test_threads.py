"""Threads and streams together: what may not be lost, freed or seen too early.

The fakes' driver calls are places where other threads run; `during` puts a step of one there.
"""

from __future__ import annotations

import contextvars
import ctypes
import gc
import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import phalanx as px
import pytest
from fake_driver import FakeDriver
from phalanx._warm import keep_behind


def values(x: px.Array) -> list[float]:
    return px.asnumpy(x).tolist()


def in_thread(step: Callable[[], Any]) -> Any:
    """Run a step in a thread of its own, to its end, and return what it returns."""
    got: list[Any] = []

    def run() -> None:
        try:
            got.append(step())
        except BaseException as error:  # noqa: BLE001 - it travels to the test
            got.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    thread.join(60)
    assert got, "the step did not end"
    if isinstance(got[0], BaseException):
        raise got[0]
    return got[0]


@contextmanager
def during(
    driver: FakeDriver, call: str, step: Callable[[], Any], *, after: bool = False
) -> Iterator[None]:
    """Let another thread make a step inside the next call of a driver's function."""
    inner = getattr(driver, call)

    def outer(*args: Any, **options: Any) -> Any:
        setattr(driver, call, inner)
        if after:
            result = inner(*args, **options)
            in_thread(step)
            return result
        in_thread(step)
        return inner(*args, **options)

    setattr(driver, call, outer)
    try:
        yield
        assert getattr(driver, call) is not outer, f"{call} was not called"
    finally:
        delattr(driver, call)


class TestMarks:
    def test_a_mark_replaced_during_the_wait_is_kept(self, asynchronous: px.Device) -> None:
        """The wait that is enqueued is the one that counts, not what another thread recorded."""
        writer, reader, other = px.Stream(), px.Stream(), px.Stream()
        driver = asynchronous.driver
        x = px.zeros(8)
        px.synchronize()
        waited = []
        inner = driver.stream_wait_event

        def watch(index: int, handle: Any, event: Any) -> None:
            driver.stream_wait_event = inner
            before = event.marker
            with writer:
                y = px.ones(8) + 1
            in_thread(lambda: (other.wait(writer.record()), gc.collect()))
            with other:
                y += 1  # the writer's newest mark is another one now
            gc.collect()
            assert not event.destroyed
            assert event.marker is before, "the event was recorded anew under a wait"
            waited.append(event)
            inner(index, handle, event)

        with driver.paused(writer):
            with writer:
                x += 1
            driver.stream_wait_event = watch
            try:
                with reader:
                    z = x + 1
            finally:
                del driver.stream_wait_event
            assert not reader.query()
        assert waited
        assert values(z) == [2.0] * 8

    def test_event_recorded_anew_leaves_earlier_waits_alone(self, asynchronous: px.Device) -> None:
        first, second, waiting = px.Stream(), px.Stream(), px.Stream()
        event = px.Event()
        with asynchronous.driver.paused(first), first:
            x = px.zeros(4) + 1
            event.record(first)
            with during(asynchronous.driver, "stream_wait_event", lambda: event.record(second)):
                waiting.wait(event)
            with waiting:
                y = px.ones(4) + 1
            assert not waiting.query()
        assert values(y) == [2.0] * 4
        assert values(x) == [1.0] * 4

    def test_two_threads_with_a_stream_each(self, cpu: px.Device) -> None:
        """Crashed within a second."""
        end = time.monotonic() + 2
        wrong: list[Any] = []

        def run() -> None:
            stream = px.Stream(cpu)
            while time.monotonic() < end:
                x = px.ones(10, device=cpu)
                with stream:
                    y = x + 1.0
                z = y * 2.0
                if values(z) != [4.0] * 10:
                    wrong.append(values(z))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


class TestTransaction:
    def test_a_launch_has_no_number_before_it_is_in_the_queue(
        self, asynchronous: px.Device
    ) -> None:
        stream = px.Stream()
        driver = asynchronous.driver
        x = px.ones(8)
        px.synchronize()
        with during(driver, "launch", lambda: (stream.synchronize(), stream.query())), stream:
            y = x + 1
        driver._worker(0, stream.handle).gate.clear()
        with stream:
            z = y + 1
        assert not stream.query(), "the launch before was taken for the end of this one"
        driver._worker(0, stream.handle).gate.set()
        assert values(z) == [3.0] * 8

    def test_event_recorded_during_a_launch_does_not_cover_it(
        self, asynchronous: px.Device
    ) -> None:
        stream, reader = px.Stream(), px.Stream()
        driver = asynchronous.driver
        x = px.zeros(8)
        px.synchronize()

        def record() -> None:
            reader.wait(stream.record())

        with driver.paused(stream):
            with during(driver, "launch", record), stream:
                x += 1
            with reader:
                y = x + 1
            assert not reader.query(), "the reader does not wait for the write"
        assert values(y) == [2.0] * 8

    def test_a_refused_launch_leaves_its_operands_alone(self, asynchronous: px.Device) -> None:
        x = px.ones(4)
        stream = px.Stream()
        with stream:
            stream.close()
            with pytest.raises(px.ClosedError, match="closed"):
                px.exp(x)
            with pytest.raises(px.ClosedError, match="closed"):
                x += 1
        other = px.Stream()
        with other:
            y = x + 1
            x += 5
        assert values(x) + values(y) == [6.0] * 4 + [2.0] * 4

    def test_a_launch_that_raises_counts_as_begun(self, asynchronous: px.Device) -> None:
        """Part of its work may be in the queue, so its operands stay behind it."""
        driver, stream = asynchronous.driver, px.Stream()
        x = px.zeros(4)
        px.synchronize()
        inner = driver.launch

        def halfway(*args: Any, **options: Any) -> None:
            inner(*args, **options)
            raise px.LaunchError("the second kernel did not start")

        driver.launch = halfway
        try:
            with driver.paused(stream):
                with stream, pytest.raises(px.LaunchError, match="second kernel"):
                    x += 1
                driver.launch = inner
                with px.Stream() as other:
                    y = x + 1
                assert not other.query()
        finally:
            del driver.launch
        assert values(y) == [2.0] * 4

    def test_kernels_chosen_anew_under_a_call(self, cpu: px.Device) -> None:
        """The table of kernels went from under the call: SIGSEGV."""

        class Switching(px.Allocator):
            def allocate(self, size: int, *, stream: px.Stream) -> px.Buffer:
                px.use_deterministic_algorithms("reproducible")
                px.use_deterministic_algorithms(None)
                gc.collect()
                return self.upstream.allocate(size, stream=stream)

        x = px.ones((50, 4), device=cpu)
        px.set_allocator(Switching(cpu.pool), cpu)
        try:
            results = [
                x + 1,
                x.T * 2,
                px.sum(x, axis=0),
                x.T @ x,
                px.exp(x),
                px.take(x, px.asarray([1]), axis=0),
            ]
        finally:
            px.set_allocator(None, cpu)
        assert values(results[0]) == [[2.0] * 4] * 50
        assert values(results[2]) == [50.0] * 4

    def test_kernels_chosen_anew_by_another_thread(self, cpu: px.Device) -> None:
        done = threading.Event()

        def switch() -> None:
            while not done.is_set():
                px.use_deterministic_algorithms("bitwise")
                px.use_deterministic_algorithms(None)

        thread = threading.Thread(target=switch)
        thread.start()
        try:
            x = px.ones(70000, device=cpu)
            for _ in range(300):
                y = px.sqrt(x) + x
                assert float(px.sum(y)) == 140000.0
        finally:
            done.set()
            thread.join()


class TestFirstUse:
    """A block's former owner may still have work on it."""

    def test_a_new_array_written_on_another_stream(self, asynchronous: px.Device) -> None:
        first, second = px.Stream(), px.Stream()
        a = px.ones(1000)
        with asynchronous.driver.paused(first):
            with first:
                b = a + 1
                handle, offset = b.buffer.handle, b.buffer.offset
                del b
                c = px.empty((1000,))
            assert (c.buffer.handle, c.buffer.offset) == (handle, offset)
            with second:
                c[:] = 7.0
            assert not second.query(), "it wrote before the block's former work"
        assert values(c) == [7.0] * 1000

    def test_a_new_array_written_by_the_host(self, cpu: px.Device) -> None:
        stream = px.Stream(cpu)
        a = px.ones(300_000, device=cpu)
        for _ in range(10):
            with stream:
                busy = px.ones((300, 300), device=cpu)
                for _ in range(4):
                    busy = busy @ busy * 0.01
                b = a + 1
                del b
                c = px.empty((300_000,), device=cpu)
            np.asarray(c)[:] = 7.0
            stream.synchronize()
            assert float(px.min(c)) == 7.0

    def test_a_closed_stream_allocates_nothing(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        with stream:
            stream.close()
            with pytest.raises(px.ClosedError, match="closed"):
                px.empty((4,))
        other = px.Stream()
        with pytest.raises(px.ClosedError, match="closed"):
            asynchronous.pool.allocate(100, stream=stream)
        other.close()


class TestClose:
    def test_close_waits_for_the_work_before_it_says_closed(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        read: list[Any] = []
        with asynchronous.driver.paused(stream):
            with stream:
                y = px.zeros(8) + 1
            closer = threading.Thread(target=stream.close)
            closer.start()
            while not stream.closed:
                time.sleep(0.001)
            reader = threading.Thread(target=lambda: read.append(values(y)))
            reader.start()
            reader.join(0.1)
            assert not read, "the host read what was still being computed"
            with px.Stream(asynchronous) as other:
                z = y + 1
            assert not other.query(), "another stream read what was still being computed"
        closer.join(60)
        reader.join(60)
        assert read == [[1.0] * 8]
        assert values(z) == [2.0] * 8

    @pytest.mark.parametrize(
        "call", ["launch", "stream_synchronize", "event_record", "stream_wait_event"]
    )
    def test_close_during_a_call_keeps_the_queue_for_it(
        self, asynchronous: px.Device, call: str
    ) -> None:
        driver = asynchronous.driver
        stream, other = px.Stream(), px.Stream()
        x = px.ones(8)
        event = other.record()
        px.synchronize()
        worker = stream.handle
        ended: list[bool] = []

        def close() -> None:
            stream.close()
            ended.append(worker._stopped)

        with during(driver, call, close):
            match call:
                case "launch":
                    with stream:
                        y = x + 1
                    assert values(y) == [2.0] * 8
                case "stream_synchronize":
                    stream.synchronize()
                case "event_record":
                    assert stream.record().query() in (True, False)
                case _:
                    stream.wait(event)
        assert ended == [False], "the queue ended under a call"
        assert worker._stopped
        assert stream.closed
        assert stream.handle is None

    def test_close_by_many_threads(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        with stream:
            x = px.zeros(8) + 1
        threads = [threading.Thread(target=stream.close) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert stream.closed
        assert values(x) == [1.0] * 8

    def test_producers_that_close_their_streams(self, cpu: px.Device) -> None:
        from queue import Queue

        handed: Queue[tuple[int, px.Array]] = Queue()

        def produce(number: int) -> None:
            for _ in range(30):
                with px.Stream(cpu) as stream:
                    x = px.full(20000, float(number), device=cpu)
                    for _ in range(5):
                        x = x + 1.0
                handed.put((number, x))
                stream.close()

        producers = [threading.Thread(target=produce, args=(i,)) for i in range(4)]
        for producer in producers:
            producer.start()
        for _ in range(120):
            number, x = handed.get(timeout=60)
            assert (px.asnumpy(x) == number + 5).all()
        for producer in producers:
            producer.join()

    def test_interrupted_close_goes_on_when_closed_again(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        worker = stream.handle
        inner = asynchronous.driver.stream_synchronize

        def interrupt(*args: Any) -> None:
            asynchronous.driver.stream_synchronize = inner
            raise KeyboardInterrupt

        asynchronous.driver.stream_synchronize = interrupt
        try:
            with pytest.raises(KeyboardInterrupt):
                stream.close()
            assert not worker._stopped
            stream.close()
        finally:
            del asynchronous.driver.stream_synchronize
        assert worker._stopped


class TestBorrowed:
    def test_owner_stays_until_the_work_is_done(
        self, make_driver: Callable[..., FakeDriver]
    ) -> None:
        driver = make_driver(streams=True, host_addressable=True)
        with px.device("own:0"):
            stream = px.Stream()
            data = np.ones(1000)
            alive = weakref.ref(data)
            x = px.asarray(data, copy=False)
            with driver.paused(stream):
                with stream:
                    y = x + 1
                del x, data
                gc.collect()
                assert alive() is not None, "the owner went under the work"
            assert values(y) == [2.0] * 1000
            gc.collect()
            assert alive() is None

    def test_owner_goes_at_once_where_nothing_uses_it(self, cpu: px.Device) -> None:
        data = np.ones(1000)
        alive = weakref.ref(data)
        x = px.asarray(data, copy=False, device=cpu)
        y = x + 1
        del x, data
        assert alive() is None
        assert values(y[:1]) == [2.0]

    def test_linalg_results_read_on_a_busy_stream(self, cpu: px.Device) -> None:
        """Wrong 20 times in 20."""
        stream = px.Stream(cpu)
        matrix = px.eye(60, device=cpu) * 2.0
        for _ in range(20):
            with stream:
                busy = px.ones((400, 400), device=cpu)
                for _ in range(3):
                    busy = busy @ busy * 0.0025
                y = px.linalg.inv(matrix) + 0.0
            rubbish = [np.full((60, 60), 7.0) for _ in range(20)]
            assert (px.asnumpy(y) == np.eye(60) / 2).all()
            del rubbish

    def test_what_keeps_behind_goes_with_the_work(self, asynchronous: px.Device) -> None:
        class Owner:
            pass

        stream, owner = px.Stream(), Owner()
        alive = weakref.ref(owner)
        with asynchronous.driver.paused(stream):
            with stream:
                px.ones(4) + 1
            keep_behind(stream, owner)
            del owner
            assert alive() is not None
        stream.synchronize()
        assert alive() is None

    def test_memory_borrowed_twice_has_one_order(
        self, make_driver: Callable[..., FakeDriver]
    ) -> None:
        driver = make_driver(streams=True, host_addressable=True)
        with px.device("own:0"):
            data = np.zeros(100)
            a, b = px.asarray(data, copy=False), px.asarray(data[50:], copy=False)
            c = px.asarray(data[:50], copy=False)
            writer, reader = px.Stream(), px.Stream()
            with driver.paused(writer):
                with writer:
                    a += 1
                with reader:
                    y = b * 2
                assert not reader.query(), (
                    "the reader did not wait for the other array over its memory"
                )
            assert values(y) == [2.0] * 50
            assert values(c) == [1.0] * 50

    def test_arrays_over_one_memory_are_seen_as_overlapping(self, cpu: px.Device) -> None:
        data = np.arange(10.0)
        low, high = (px.asarray(d, copy=False, device=cpu) for d in (data[:8], data[2:]))
        high[...] = low
        assert data.tolist() == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7]
        low += high
        assert data[:8].tolist() == [0, 2, 2, 4, 6, 8, 10, 12]

    def test_an_exported_array_and_its_import_are_one(self, cpu: px.Device) -> None:
        x = px.arange(10.0, device=cpu)
        again = px.asarray(np.asarray(x)[2:], copy=False, device=cpu)
        again[...] = x[:8]
        assert values(x) == [0, 1, 0, 1, 2, 3, 4, 5, 6, 7]

    def test_writing_through_an_export_waits_for_queued_readers(self, cpu: px.Device) -> None:
        stream = px.Stream(cpu)
        for _ in range(10):
            x = px.ones(300_000, device=cpu)
            with stream:
                busy = px.ones((300, 300), device=cpu)
                for _ in range(4):
                    busy = busy @ busy * 0.01
                y = x + 0.0
            np.asarray(x)[:] = 100.0
            assert float(px.max(y)) == 1.0


class TestTrim:
    def test_memory_that_is_freed_during_the_wait_stays(self, asynchronous: px.Device) -> None:
        """Waiting first and taking afterwards gave memory in use back to the driver."""
        driver, stream = asynchronous.driver, px.Stream()
        px.empty_cache()
        with stream:
            first = px.ones(1 << 20)
            late = px.ones(1 << 20)
        px.synchronize()
        handle = late.buffer.handle
        keep = [late]
        del first, late

        worker = driver._worker(0, stream.handle)

        def use_and_drop() -> None:
            worker.gate.clear()
            with stream:
                keep[0] += 1
            keep.clear()
            threading.Timer(0.2, worker.gate.set).start()

        with stream:
            busy = px.ones(4) + 1
        with during(driver, "stream_synchronize", use_and_drop, after=True):
            px.empty_cache()
        stream.synchronize()  # would tell of a handle that is gone
        assert values(busy) == [2.0] * 4
        px.empty_cache()
        assert handle not in driver._blocks

    def test_an_interrupted_trim_loses_nothing(self, asynchronous: px.Device) -> None:
        driver, stream = asynchronous.driver, px.Stream()
        px.empty_cache()
        with stream:
            x = px.ones(1 << 20)
        px.synchronize()
        with stream:
            y = px.ones(4) + 1
        del x
        before, inner = driver.used(), driver.stream_synchronize

        def interrupt(*args: Any) -> None:
            del driver.stream_synchronize
            raise KeyboardInterrupt

        driver.stream_synchronize = interrupt
        with pytest.raises(KeyboardInterrupt):
            px.empty_cache()
        assert driver.stream_synchronize == inner
        assert driver.used() == before == px.memory_stats()["reserved"]
        assert px.empty_cache() > 0
        assert values(y) == [2.0] * 4

    def test_a_trim_keeps_the_errors_of_streams(self, asynchronous: px.Device) -> None:
        driver, stream = asynchronous.driver, px.Stream()
        with stream:
            x = px.ones(1 << 20)
        px.synchronize()
        driver.faults.launch["exp"] = RuntimeError("illegal address")
        try:
            with stream:
                y = px.exp(px.ones(4))
            del x
            px.empty_cache()
            with pytest.raises(px.LaunchError, match="illegal address"):
                stream.synchronize()
            with stream:
                z = px.exp(px.ones(4))
            px.empty_cache()
            with pytest.raises(px.LaunchError, match="illegal address"):
                px.asnumpy(z)
        finally:
            driver.faults.launch.clear()
        stream.synchronize()
        del y

    def test_adoption_leaves_what_is_freed_meanwhile(
        self, make_driver: Callable[..., FakeDriver]
    ) -> None:
        driver = make_driver(streams=True, memory=64 << 20)
        with px.device("own:0"):
            stream = px.Stream()
            with stream:
                keep = [px.ones(20 << 20, dtype=px.uint8)]
                first = px.ones(20 << 20, dtype=px.uint8)
            px.synchronize()
            held = px.ones(1 << 20, dtype=px.uint8)
            del first

            def use_and_drop() -> None:
                driver._worker(0, stream.handle).gate.clear()
                with stream:
                    keep[0] += 1
                keep.clear()

            with stream:
                busy = held + 1
            with during(driver, "stream_synchronize", use_and_drop, after=True):
                threading.Timer(0.3, driver._worker(0, stream.handle).gate.set).start()
                other = px.empty(30 << 20, dtype=px.uint8)
            other[...] = 3
            driver._worker(0, stream.handle).gate.set()
            stream.synchronize()
            assert int(px.max(other)) == int(px.min(other)) == 3, "queued work wrote into it"
            assert int(busy[0]) == 2

    def test_a_refused_segment_goes_back_to_the_driver(
        self, make_driver: Callable[..., FakeDriver]
    ) -> None:
        driver = make_driver()
        with px.device("own:0") as device:
            px.ones(4)
            px.empty_cache()
            with (
                during(driver, "alloc", lambda: px.set_memory_limit(1024, device)),
                pytest.raises(px.OutOfMemoryError, match="limit"),
            ):
                px.ones(1 << 20)
            assert driver.used() == px.memory_stats()["reserved"]
            px.set_memory_limit(None, device)


class TestDropped:
    def test_dropped_streams_give_threads_and_numbers_back(self, asynchronous: px.Device) -> None:
        px.synchronize()
        threads = threading.active_count()
        x = px.ones(4)
        highest = 0
        for _ in range(300):
            stream = px.Stream()
            with stream:
                x = x + 1
            y = x * 2  # marks
            highest = max(highest, stream.id)
        del stream
        assert values(y) == [602.0] * 4
        px.synchronize()
        assert threading.active_count() <= threads
        assert highest < 100

    def test_readers_do_not_keep_streams(self, asynchronous: px.Device) -> None:
        x = px.ones(4)
        stream = px.Stream()
        alive = weakref.ref(stream)
        with stream:
            y = x + 1
        del stream
        assert alive() is None
        assert values(x) + values(y) == [1.0] * 4 + [2.0] * 4

    def test_a_dropped_stream_finishes_its_work(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        worker = stream.handle
        worker.gate.clear()
        with stream:
            y = px.zeros(4) + 1
        del stream
        gc.collect()
        px.Stream().close()
        assert not worker._stopped, "ended with work in the queue"
        worker.gate.set()
        assert values(y) == [1.0] * 4
        px.synchronize()
        assert worker._stopped

    def test_a_dropped_stream_whose_work_failed_is_told(self, asynchronous: px.Device) -> None:
        asynchronous.driver.faults.launch["exp"] = RuntimeError("illegal address")
        try:
            stream = px.Stream()
            with stream:
                px.exp(px.ones(4))
            del stream
            with pytest.raises((ResourceWarning, px.LaunchError), match="illegal address"):
                px.synchronize()
        finally:
            asynchronous.driver.faults.launch.clear()
        px.synchronize()

    def test_memory_of_a_closed_stream_serves_the_default_one(
        self, asynchronous: px.Device
    ) -> None:
        px.empty_cache()
        stream = px.Stream()
        with stream:
            x = px.ones(1 << 20)
        px.synchronize()
        del x
        stream.close()
        before = px.memory_stats()["segments_added"]
        y = px.ones(1 << 20)
        assert px.memory_stats()["segments_added"] == before
        del y

    def test_a_hundred_streams_of_a_few_bytes(self, make_driver: Callable[..., FakeDriver]) -> None:
        """Reserved 2.4 GB."""
        driver = make_driver(streams=True, memory=1 << 29)
        streams = [px.Stream("own:0") for _ in range(100)]
        arrays = []
        for stream in streams:
            with stream:
                arrays.append(px.ones(10, device="own:0"))
        assert driver.used() <= 101 * (2 << 20)
        for stream in streams:
            stream.close()

    def test_no_number_is_left(
        self, make_driver: Callable[..., FakeDriver], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver = make_driver(streams=True)
        monkeypatch.setattr(
            driver, "stream_create", lambda index, priority: driver._workers[index][0]
        )
        monkeypatch.setattr(driver, "stream_destroy", lambda index, handle: None)
        streams = []
        with pytest.raises(px.DeviceError, match="close some"):  # noqa: PT012 - the last one raises
            while True:
                streams.append(px.Stream("own:0"))
        assert len(streams) > 65_000
        for stream in streams:
            stream.close()
        px.Stream("own:0").close()


class TestUnregister:
    def test_devices_are_closed(self, make_driver: Callable[..., FakeDriver]) -> None:
        from phalanx.plugins import host

        driver = make_driver("gone", streams=True)
        closed: list[int] = []
        inner = driver.close
        driver.close = lambda index: (closed.append(index), inner(index))  # type: ignore[method-assign]
        with px.Stream("gone:0"):
            assert values(px.ones(4, device="gone:0") + 1) == [2.0] * 4
        host().unregister_driver(driver)
        assert closed == [0]
        assert driver.used() == 0
        host().register_driver(driver)
        assert values(px.ones(4, device="gone:0") + 2) == [3.0] * 4

    def test_arrays_keep_their_device_open(self, make_driver: Callable[..., FakeDriver]) -> None:
        from phalanx.plugins import host

        driver = make_driver("kept")
        x = px.ones(4, device="kept:0")
        host().unregister_driver(driver)
        assert values(x + 1) == [2.0] * 4
        host().register_driver(driver)


class TestAllocators:
    @pytest.mark.parametrize("given", [None, 7, "small", "foreign"])
    def test_what_an_allocator_gives_is_looked_at(self, device: px.Device, given: Any) -> None:
        class Odd(px.Allocator):
            def allocate(self, size: int, *, stream: px.Stream) -> Any:
                if given == "small":
                    return self.upstream.allocate(max(0, size - 1), stream=stream)
                if given == "foreign":
                    other = px.devices(device.driver.name)[-1]
                    other.ensure_open()
                    found = other.pool.allocate(size, stream=other.default_stream)
                    return None if other is device else found
                return given

        px.set_allocator(Odd(device.pool), device)
        try:
            with pytest.raises(TypeError, match="Buffer"):
                px.ones(100)
        finally:
            px.set_allocator(None, device)
        assert values(px.ones(1)) == [1.0]


class TestInterrupt:
    def interrupted(self, step: Callable[[], Any]) -> None:
        timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        try:
            with pytest.raises(KeyboardInterrupt):
                step()
        finally:
            timer.join()

    def test_waits_end_with_ctrl_c(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        with asynchronous.driver.paused(stream):
            with stream:
                y = px.ones(4) + 1
            self.interrupted(stream.synchronize)
            self.interrupted(stream.record().synchronize)
            self.interrupted(lambda: px.asnumpy(y))
            self.interrupted(px.synchronize)
        assert values(y) == [2.0] * 4

    def test_an_interrupted_copy_keeps_the_hosts_memory(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        data = np.ones(1000)
        alive = weakref.ref(data)
        with asynchronous.driver.paused(stream), stream:
            self.interrupted(partial(px.asarray, data, copy=True))
            del data
            gc.collect()
            assert alive() is not None
        stream.synchronize()
        gc.collect()
        assert alive() is None


class TestOddities:
    def test_with_block_left_in_another_context(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        stream.__enter__()
        try:
            with pytest.raises(RuntimeError, match="thread or task that entered"):
                contextvars.Context().run(stream.__exit__)
        finally:
            stream.__exit__()

    def test_nbytes_of_a_huge_view(self, cpu: px.Device) -> None:
        x = px.broadcast_to(px.zeros((), dtype=px.complex128, device=cpu), (2**59,))
        assert x.nbytes == 2**63

    @pytest.mark.parametrize("name", ["Array", "Buffer", "DType"])
    def test_what_nobody_may_make(self, name: str) -> None:
        import phalanx._warm as warm

        made = getattr(warm, name)
        with pytest.raises(TypeError, match="not made this way"):
            made()
        with pytest.raises(TypeError, match="not made this way"):
            made.__new__(made)
        with pytest.raises(TypeError):
            object.__new__(made)

    def test_streams_and_events_made_without_init_work(self, asynchronous: px.Device) -> None:
        stream = px.Stream.__new__(px.Stream)
        stream.synchronize()
        stream.close()
        assert not px.Event.__new__(px.Event).query()

    @pytest.mark.parametrize("kind", ["Device", "Kernel", "Pool"])
    def test_no_object_without_its_arguments(self, kind: str) -> None:
        import phalanx._warm as warm

        with pytest.raises(TypeError, match="argument"):
            getattr(warm, kind).__new__(getattr(warm, kind))

    def test_views_of_a_broadcast_array_refuse_writing(self, device: px.Device) -> None:
        x = px.zeros((4,))
        spread = px.broadcast_to(x, (3, 4))
        row = spread[0]
        with pytest.raises(ValueError, match="copy=True"):
            row += 1
        with pytest.raises(ValueError, match="copy=True"):
            row[1] = 2
        with pytest.raises(ValueError, match="copy=True"):
            px.reshape(spread, (3, 4))[1, 2] = 5
        assert values(x) == [0.0] * 4
        row = row + 1
        row += 1
        assert values(row) == [2.0] * 4

    def test_export_of_a_broadcast_view_is_read_only(self, cpu: px.Device) -> None:
        row = px.broadcast_to(px.zeros(4, device=cpu), (3, 4))[0]
        assert not np.asarray(row).flags.writeable


class TestCapsules:
    def test_a_deleter_that_is_called_twice(self, cpu: px.Device) -> None:
        """PyTorch refuses a capsule, calls its deleter, and leaves it as it was."""
        capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
        capsule_pointer.restype, capsule_pointer.argtypes = (
            ctypes.c_void_p,
            [ctypes.py_object, ctypes.c_char_p],
        )
        for versioned in (False, True):
            x = px.ones(1000, device=cpu)
            alive = weakref.ref(x)
            capsule = x.__dlpack__(max_version=(1, 0) if versioned else None)
            name = b"dltensor_versioned" if versioned else b"dltensor"
            managed = capsule_pointer(capsule, name)
            # context and deleter: behind the version, or behind the tensor of 48 bytes
            at = managed + 16 if versioned else managed + 56
            deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(
                ctypes.c_void_p.from_address(at).value
            )
            deleter(managed)
            del x
            gc.collect()
            assert alive() is None
            del capsule

    def test_a_capsule_that_outlives_its_consumer_and_one_that_does_not(
        self, cpu: px.Device
    ) -> None:
        x = px.ones(10, device=cpu)
        alive = weakref.ref(x)
        capsule = x.__dlpack__()
        seen = px.from_dlpack(_Given(capsule))
        del x, seen
        gc.collect()
        assert alive() is None
        del capsule


class _Given:
    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)
