"""Events, and failures of asynchronous work: ``core/warm/stream.pxi``."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver


def values(x: px.Array) -> list[float]:
    return px.asnumpy(x).tolist()


class TestEvents:
    def test_elapsed_seconds_cover_the_work_between(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        make_driver(streams=True, delay=0.03)
        stream = px.Stream("own:0")
        x = px.ones(4, device="own:0")
        begin = stream.record()
        with stream:
            x + 1
        end = stream.record()
        end.synchronize()
        assert 0.03 <= begin.elapsed_time(end) < 5

    def test_elapsed_on_an_emulated_stream(self, fake: px.Device) -> None:
        stream = px.Stream()
        begin = stream.record()
        time.sleep(0.01)
        end = stream.record()
        assert 0.01 <= begin.elapsed_time(end) < 5

    def test_elapsed_between_two_devices(
        self, fake: px.Device, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        make_driver()
        events = [px.Stream("own:0").record(), px.Stream().record()]
        with pytest.raises(px.DeviceMismatchError, match=f"events of own:0 and {fake}"):
            events[0].elapsed_time(events[1])

    def test_elapsed_of_an_event_that_is_not_passed(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        begin = stream.record()
        with asynchronous.driver.paused(stream):
            end = stream.record()
            with pytest.raises(ValueError, match="synchronize"):
                begin.elapsed_time(end)
            with pytest.raises(ValueError, match="not recorded"):
                begin.elapsed_time(px.Event())

    def test_an_event_without_timing(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        with stream:
            x = px.ones(4) + 1
        plain, timed = stream.record(timing=False), stream.record()
        assert (plain.timing, timed.timing) == (False, True)
        plain.synchronize()
        assert plain.query()
        timed.synchronize()
        for begin, end in ((plain, timed), (timed, plain)):
            with pytest.raises(ValueError, match="timing=False"):
                begin.elapsed_time(end)
        assert values(x) == [2.0] * 4

    def test_only_events_with_timing_ask_the_driver_for_it(
        self, make_driver: Callable[..., ReferenceDriver], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_driver(streams=True)
        opened = px.devices("own")[0].ensure_open()
        asked: list[bool] = []
        create = opened.event_create
        monkeypatch.setattr(
            opened, "event_create", lambda timed: asked.append(timed) or create(timed)
        )
        stream, other = px.Stream("own:0"), px.Stream("own:0")
        with stream:
            x = px.ones(4, device="own:0") + 1
        with other:
            x + 1
        plain = stream.record(timing=False)
        assert asked
        assert not any(asked)
        events = [stream.record() for _ in range(2)]
        events[-1].synchronize()
        assert asked.count(True) == 2
        assert events[0].elapsed_time(events[1]) >= 0
        handles = {events[0].handle, events[1].handle}
        del events
        assert plain.query()
        assert stream.record().handle in handles
        assert asked.count(True) == 2

    def test_driver_without_timing(self, make_driver: Callable[..., ReferenceDriver]) -> None:
        driver = make_driver(streams=True)
        px.devices("own")[0].ensure_open()
        driver.open_devices[0].capabilities = px.Capability.STREAMS
        stream = px.Stream("own:0")
        begin, end = stream.record(), stream.record()
        end.synchronize()
        with pytest.raises(NotImplementedError, match="own:0 cannot time"):
            begin.elapsed_time(end)

    def test_query_and_synchronize(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        event = px.Event(asynchronous)
        assert not event.query()
        with asynchronous.driver.paused(stream):
            event.record(stream)
            assert not event.query()
            with pytest.raises(TimeoutError):
                event.synchronize(timeout=0.01)
        event.synchronize(timeout=10)
        assert event.query()

    def test_recording_again_moves_the_event(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        event = stream.record()
        event.synchronize()
        with asynchronous.driver.paused(stream):
            event.record(stream)
            assert not event.query()

    def test_event_that_was_never_recorded(self, device: px.Device) -> None:
        event = px.Event(device)
        with pytest.raises(ValueError, match="never recorded"):
            event.synchronize()
        with pytest.raises(ValueError, match="never recorded"):
            px.Stream(device).wait(event)
        assert "new" in repr(event)

    def test_event_of_another_device(self, drivers: dict[str, ReferenceDriver]) -> None:
        with pytest.raises(px.DeviceMismatchError, match=r"fakestream:1.*fake:0"):
            px.Event("fakestream:1").record(px.Stream("fake:0"))

    def test_wait_for_an_event_of_another_device_blocks_the_host(
        self, drivers: dict[str, ReferenceDriver]
    ) -> None:
        first, second = px.devices("fakestream")
        producer, consumer = px.Stream(first), px.Stream(second)
        with first.driver.paused(producer):
            event = producer.record()
            threading.Timer(0.05, producer.handle.gate.set).start()
            begin = time.perf_counter()
            consumer.wait(event)
            assert time.perf_counter() - begin > 0.02
        assert event.query()

    def test_closed_event(self, device: px.Device) -> None:
        stream = px.Stream(device)
        event = stream.record()
        event.close()
        event.close()
        for use in (event.query, event.synchronize, lambda: event.record(stream)):
            with pytest.raises(px.ClosedError, match="event"):
                use()
        with pytest.raises(px.ClosedError):
            stream.wait(event)

    def test_collected_event_serves_again(self, asynchronous: px.Device) -> None:
        """A destructor calls no driver: the handle waits for the next recording."""
        gc.collect()
        event = px.current_stream().record()
        handle = event.handle
        del event
        assert not handle.destroyed
        assert px.current_stream().record().handle is handle

    def test_handle_of_a_former_point_is_kept_for_those_who_wait(
        self, asynchronous: px.Device
    ) -> None:
        first, second = px.Stream(), px.Stream()
        event = first.record()
        handle = event.handle
        event.record(second)
        assert event.handle is not handle


class TestFailures:
    def test_asynchronous_failure_names_the_launch(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver(streams=True)
        x = px.ones(4, device="own:0")
        px.synchronize("own:0")
        driver.faults.launch["exp"] = RuntimeError("illegal address")
        y = px.exp(x)
        with pytest.raises(
            px.LaunchError, match=r"exp\(float64, float64\) on own:0: illegal address"
        ):
            px.asnumpy(y)
        driver.faults.launch.clear()
        assert values(x + 1) == [2.0] * 4

    def test_inline_failure_raises_at_once(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver()
        x = px.ones(4, device="own:0")
        driver.faults.launch["exp"] = RuntimeError("illegal address")
        with pytest.raises(RuntimeError, match="illegal address"):
            px.exp(x)
        assert values(x + 1) == [2.0] * 4

    def test_bad_index_in_a_stream_is_reported(self, device: px.Device) -> None:
        x = px.arange(10, device=device)
        stream = px.Stream(device)
        with pytest.raises(IndexError, match="99"), stream:
            px.asnumpy(x[px.asarray([1, 99])])
        stream.synchronize()
        assert values(x[px.asarray([1, 9])]) == [1, 9]

    def test_copy_failure(self, make_driver: Callable[..., ReferenceDriver]) -> None:
        driver = make_driver()
        x = px.ones(4, device="own:0")
        driver.faults.copy = px.DriverCallError("DMA failed", code=7, name="E_DMA", call="copy")
        with pytest.raises(px.DriverCallError, match="DMA failed"):
            px.asnumpy(x)
        driver.faults.copy = None
        assert values(x) == [1.0] * 4

    def test_open_failure_and_later_success(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver()
        driver.faults.open = px.DeviceError("own:0 is in use by another process")
        with pytest.raises(px.DeviceError, match="in use"):
            px.ones(4, device="own:0")
        assert not px.devices("own")[0].is_open
        driver.faults.open = None
        assert values(px.ones(2, device="own:0")) == [1.0, 1.0]
        assert driver.opened == [0]


def test_a_wait_for_the_device_tells_of_every_stream_that_failed(cpu: px.Device) -> None:
    x = px.arange(10)
    streams = [px.Stream(cpu), px.Stream(cpu)]
    for stream, place in zip(streams, (77, 88), strict=True):
        with stream:
            x[px.asarray([place])]
    with pytest.raises(IndexError) as caught:
        cpu.synchronize()
    text = "\n".join([str(caught.value), *caught.value.__notes__])
    assert "index 77" in text
    assert "index 88" in text
    cpu.synchronize()  # each was told once
