"""The queue of a stream, under several threads too: ``device_plugins/opencl/queue.py``."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import phalanx as px
import pytest
from phalanx.device_plugins.opencl.interop import queue_of
from phalanx.device_plugins.opencl.queue import Marker, Queue

RUNNING, DONE = 1, 0


class Raw:
    """A queue of the runtime that is told nothing but to begin."""

    def flush(self) -> None:
        pass

    def finish(self) -> None:
        pass


def test_the_last_command_is_the_last_in_the_queue() -> None:
    """A thread that enqueues first and notes last made a busy queue look idle."""
    queue = Queue(SimpleNamespace(Error=RuntimeError), Raw(), "opencl:0")
    order: list[str] = []
    second: list[threading.Thread] = []

    def enqueue_first(_: Any) -> Any:
        order.append("first")
        thread = threading.Thread(target=lambda: queue.put("second", enqueue_second))
        second.append(thread)
        thread.start()
        thread.join(0.2)  # the runtime lets other threads run
        return SimpleNamespace(command_execution_status=DONE)

    def enqueue_second(_: Any) -> Any:
        order.append("second")
        return SimpleNamespace(command_execution_status=RUNNING)

    queue.put("first", enqueue_first)
    second[0].join(60)
    assert order == ["first", "second"]
    assert not queue.is_idle()
    assert queue.last_pending() is not None


def test_a_question_leaves_a_failure_to_the_next_wait() -> None:
    """It is answered; one of a device that is lost tells so."""
    cl = pytest.importorskip("pyopencl")
    queue = Queue(cl, Raw(), "opencl:0")
    queue.put("copy of 7 bytes", lambda _: SimpleNamespace(command_execution_status=-5))
    assert queue.is_idle()
    assert queue.is_idle()
    with pytest.raises(px.PhalanxError, match="copy of 7 bytes"):
        queue.finish(None)
    queue.finish(None)
    queue.put("copy of 8 bytes", lambda _: SimpleNamespace(command_execution_status=-9999))
    for _ in range(2):
        with pytest.raises(px.DeviceLostError, match="copy of 8 bytes"):
            queue.is_idle()


def test_a_failure_is_told_by_the_stream_or_an_event_behind_it() -> None:
    """By whichever is waited for first, once; another failure by the next one."""
    cl = pytest.importorskip("pyopencl")

    def failed(_: Any) -> Any:
        return SimpleNamespace(command_execution_status=-5, wait=lambda: None)

    markers = SimpleNamespace(Error=cl.Error, enqueue_marker=failed)
    queue = Queue(cl, Raw(), "opencl:0")
    for first in ("stream", "event"):
        queue.put("copy of 7 bytes", failed)
        marker = Marker(markers, "opencl:0", timed=False)
        marker.record(queue)
        assert marker.is_passed()
        waits = [lambda: queue.finish(None), lambda marker=marker: marker.synchronize(1.0)]
        for number, wait in enumerate(waits if first == "stream" else waits[::-1]):
            if number == 0:
                with pytest.raises(px.PhalanxError, match="copy of 7 bytes"):
                    wait()
            wait()


class TestTiming:
    """Times are noted from the first event on that has one."""

    def test_an_untimed_stream_turns_into_a_timed_one(self, device: px.Device) -> None:
        stream = px.Stream(device)
        profiled = device.ensure_open().cl.command_queue_properties.PROFILING_ENABLE
        with stream:
            x = px.arange(100_000, dtype=px.float32, device=device)
            for _ in range(5):
                x = x + 1
            plain = stream.record(timing=False)
        assert not stream.handle.raw.properties & profiled
        begin = stream.record()
        assert stream.handle.raw.properties & profiled
        with stream:
            for _ in range(5):
                x = x + 1
        end = stream.record()
        end.synchronize()
        assert plain.query()
        assert 0 < begin.elapsed_time(end) < 10
        assert px.asnumpy(x).tolist() == list(range(10, 100_010))
        stream.close()

    def test_failed_work_before_the_change_is_told(self, device: px.Device) -> None:
        stream = px.Stream(device)
        with stream:
            x = px.zeros(3, device=device)
            x[px.asarray([9], device=device)]
        stream.record()
        with pytest.raises(IndexError, match="index 9"):
            stream.synchronize()
        stream.close()

    def test_threads_that_launch_meanwhile(self, device: px.Device) -> None:
        stream = px.Stream(device)
        wrong: list[object] = []

        def work() -> None:
            with stream:
                x = px.zeros(1000, device=device)
                for _ in range(50):
                    x = x + 1
                wrong.extend(set(px.asnumpy(x).tolist()) - {50.0})

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        stream.record()
        for thread in threads:
            thread.join()
        assert wrong == []
        stream.close()

    def test_a_queue_that_others_hold_stays(self, device: px.Device) -> None:
        stream = px.Stream(device)
        queue = queue_of(stream)
        stream.record().synchronize()
        assert queue_of(stream) == queue
        stream.close()
