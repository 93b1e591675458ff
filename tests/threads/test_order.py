"""Order between streams under several threads: marks, launches, first uses."""

from __future__ import annotations

import gc
import threading
import time
from typing import Any

import numpy as np
import phalanx as px
import pytest
from threads.steps import during, in_thread, values


class TestMarks:
    def test_a_mark_replaced_during_the_wait_is_kept(self, asynchronous: px.Device) -> None:
        """The wait that is enqueued is the one that counts, not what another thread recorded."""
        writer, reader, other = px.Stream(), px.Stream(), px.Stream()
        driver = asynchronous.driver
        x = px.zeros(8)
        px.synchronize()
        waited = []
        opened = asynchronous.ensure_open()
        inner = opened.stream_wait_event

        def watch(handle: Any, event: Any) -> None:
            opened.stream_wait_event = inner
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
            inner(handle, event)

        with driver.paused(writer):
            with writer:
                x += 1
            opened.stream_wait_event = watch
            try:
                with reader:
                    z = x + 1
            finally:
                del opened.stream_wait_event
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
        driver.open_devices[0].stream(stream.handle).gate.clear()
        with stream:
            z = y + 1
        assert not stream.query(), "the launch before was taken for the end of this one"
        driver.open_devices[0].stream(stream.handle).gate.set()
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
        opened = asynchronous.ensure_open()
        inner = opened.launch

        def halfway(*args: Any, **options: Any) -> None:
            inner(*args, **options)
            raise px.LaunchError("the second kernel did not start")

        opened.launch = halfway
        try:
            with driver.paused(stream):
                with stream, pytest.raises(px.LaunchError, match="second kernel"):
                    x += 1
                opened.launch = inner
                with px.Stream() as other:
                    y = x + 1
                assert not other.query()
        finally:
            del opened.launch
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
