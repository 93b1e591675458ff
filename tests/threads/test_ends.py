"""The ends of streams and devices: closed, dropped, unregistered."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver
from threads.steps import during, values


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
        opened = asynchronous.ensure_open()
        inner = opened.stream_synchronize

        def interrupt(*args: Any) -> None:
            opened.stream_synchronize = inner
            raise KeyboardInterrupt

        opened.stream_synchronize = interrupt
        try:
            with pytest.raises(KeyboardInterrupt):
                stream.close()
            assert not worker._stopped
            stream.close()
        finally:
            del opened.stream_synchronize
        assert worker._stopped


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

    def test_a_hundred_streams_of_a_few_bytes(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
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
        self, make_driver: Callable[..., ReferenceDriver], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        driver = make_driver(streams=True)
        px.devices("own")[0].ensure_open()
        opened = driver.open_devices[0]
        monkeypatch.setattr(opened, "stream_create", lambda priority: opened.workers[0])
        monkeypatch.setattr(opened, "stream_destroy", lambda handle: None)
        streams = []
        with pytest.raises(px.DeviceError, match="close some"):  # noqa: PT012 - the last one raises
            while True:
                streams.append(px.Stream("own:0"))
        assert len(streams) > 65_000
        for stream in streams:
            stream.close()
        px.Stream("own:0").close()


class TestUnregister:
    def test_devices_are_closed(self, make_driver: Callable[..., ReferenceDriver]) -> None:
        from phalanx.discovery.plugins import host

        driver = make_driver("gone", streams=True)
        with px.Stream("gone:0"):
            assert values(px.ones(4, device="gone:0") + 1) == [2.0] * 4
        opened = driver.open_devices[0]
        host().unregister_driver(driver)
        assert driver.open_devices == {}
        assert opened.used() == 0
        with pytest.raises(px.ClosedError, match="gone:0 is closed"):
            opened.alloc(64)
        host().register_driver(driver)
        assert values(px.ones(4, device="gone:0") + 2) == [3.0] * 4

    def test_arrays_keep_their_device_open(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        from phalanx.discovery.plugins import host

        driver = make_driver("kept")
        x = px.ones(4, device="kept:0")
        host().unregister_driver(driver)
        assert values(x + 1) == [2.0] * 4
        host().register_driver(driver)
