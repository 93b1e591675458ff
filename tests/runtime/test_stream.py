"""Streams, events and their order: ``core/warm/stream.pxi``, ``core/runtime/streams.py``."""

from __future__ import annotations

import contextvars
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver


def values(x: px.Array) -> list[float]:
    return px.asnumpy(x).tolist()


class TestOrder:
    def test_work_of_one_stream_runs_in_order(self, device: px.Device) -> None:
        with px.Stream(device):
            x = px.zeros(64, dtype=px.float32)
            for i in range(1, 30):
                x = x * 2 + i
        want = 0.0
        for i in range(1, 30):
            want = float(np.float32(want * 2 + i))
        assert values(x) == [want] * 64

    def test_launch_returns_before_the_work_is_done(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        x = px.ones(8)
        with asynchronous.driver.paused(stream), stream:
            y = x + x
            assert not stream.query()
        assert values(y) == [2.0] * 8
        assert stream.query()

    def test_default_stream_is_asynchronous_where_the_driver_has_streams(
        self, asynchronous: px.Device
    ) -> None:
        x = px.ones(4)
        default = px.current_stream()
        assert default.is_default
        with asynchronous.driver.paused(default):
            y = x + 1
            assert not default.query()
        assert values(y) == [2.0] * 4

    def test_host_read_waits(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        x = px.ones(4)
        opened = threading.Event()
        with asynchronous.driver.paused(stream):
            with stream:
                y = x * 3
            threading.Timer(0.05, opened.set).start()
            reader = threading.Thread(target=lambda: got.append(values(y)))
            got: list[list[float]] = []
            reader.start()
            opened.wait()
            assert not got
        reader.join(10)
        assert got == [[3.0] * 4]


class TestHazards:
    """One array on two streams."""

    def test_read_waits_for_the_write_of_another_stream(self, asynchronous: px.Device) -> None:
        writer, reader = px.Stream(), px.Stream()
        x = px.zeros(16)
        with asynchronous.driver.paused(writer):
            with writer:
                x += 1
            with reader:
                y = x + 0
            assert not reader.query(), "the reader did not wait"
        assert values(y) == [1.0] * 16

    def test_write_waits_for_the_reads_of_other_streams(self, asynchronous: px.Device) -> None:
        readers, writer = [px.Stream() for _ in range(3)], px.Stream()
        x = px.zeros(16)
        px.synchronize()
        results = []
        with asynchronous.driver.paused(readers[1]):
            for reader in readers:
                with reader:
                    results.append(x + 1)
            with writer:
                x += 100
            readers[0].synchronize()
            readers[2].synchronize()
            assert not writer.query(), "the writer did not wait for the second reader"
        assert [values(r) for r in results] == [[1.0] * 16] * 3
        assert values(x) == [100.0] * 16

    def test_write_waits_for_a_write(self, asynchronous: px.Device) -> None:
        first, second = px.Stream(), px.Stream()
        x = px.zeros(4)
        with asynchronous.driver.paused(first):
            with first:
                x += 1
            with second:
                x *= 10
            assert not second.query()
        assert values(x) == [10.0] * 4

    def test_read_after_read_does_not_wait(self, asynchronous: px.Device) -> None:
        slow, fast = px.Stream(), px.Stream()
        x = px.ones(4)
        px.synchronize()
        with asynchronous.driver.paused(slow):
            with slow:
                y = x + 1
            with fast:
                z = x + 2
            fast.synchronize(timeout=10)
            assert not slow.query()
        assert values(y) + values(z) == [2.0] * 4 + [3.0] * 4

    def test_structured_ops_and_copies_wait_too(self, asynchronous: px.Device) -> None:
        writer = px.Stream()
        x, rows = px.zeros((4, 4)), px.asarray([1, 2])
        with asynchronous.driver.paused(writer):
            with writer:
                x += 1
            total = px.sum(x, axis=0)
            product = x @ x
            picked = px.take(x, rows, axis=0)
            x[1] = 5.0
            assert not px.current_stream().query()
        assert values(total) == [4.0] * 4
        assert values(product) == [[4.0] * 4] * 4
        assert values(picked) == [[1.0] * 4] * 2
        assert values(x[1]) == [5.0] * 4

    def test_manual_mode_does_not_wait(self, asynchronous: px.Device) -> None:
        writer, reader = px.Stream(), px.Stream()
        x = px.zeros(16)
        px.synchronize()
        with asynchronous.driver.paused(writer), px.hazards("manual"):
            with writer:
                x += 1
            with reader:
                y = x + 0
            reader.synchronize(timeout=10)
            assert not writer.query()
        assert values(y) == [0.0] * 16, "the race did not show: something waited"
        assert values(x) == [1.0] * 16

    def test_manual_mode_with_an_event_is_ordered(self, asynchronous: px.Device) -> None:
        writer, reader = px.Stream(), px.Stream()
        x = px.zeros(16)
        px.synchronize()
        with asynchronous.driver.paused(writer), px.hazards("manual"):
            with writer:
                x += 1
            reader.wait(writer.record())
            with reader:
                y = x + 0
            assert not reader.query()
        assert values(y) == [1.0] * 16

    def test_explicit_wait_is_not_repeated_by_the_core(self, asynchronous: px.Device) -> None:
        """After ``wait`` the stream is behind the event even for writes of before."""
        writer, reader = px.Stream(), px.Stream()
        with writer:
            x = px.zeros(16) + 1
        reader.wait(writer.record())
        with reader:
            y = x + 1
        assert values(y) == [2.0] * 16

    def test_two_devices_meet_only_through_the_host(
        self, drivers: dict[str, ReferenceDriver]
    ) -> None:
        first, second = px.devices("fakestream")
        stream = px.Stream(first)
        x = px.zeros(4, device=first)
        with first.driver.paused(stream):
            with stream:
                x += 1
            threading.Timer(0.05, stream.handle.gate.set).start()
            y = x.to_device(second)
        assert values(y) == [1.0] * 4

    def test_hazards_refuses_other_words(self) -> None:
        with pytest.raises(ValueError, match='"auto" or "manual"'):
            px.hazards("off")  # type: ignore[arg-type]

    def test_hazards_without_with_stays(self, asynchronous: px.Device) -> None:
        px.hazards("manual")
        try:
            with px.hazards("auto"):
                pass
            x = px.zeros(4)
            stream = px.Stream()
            px.synchronize()
            with asynchronous.driver.paused(px.current_stream()):
                x += 1
                with stream:
                    y = x + 0
                stream.synchronize(timeout=10)
            assert values(y) == [0.0] * 4
        finally:
            px.hazards("auto")


class TestScope:
    def test_with_block_takes_the_work_and_gives_it_back(self, device: px.Device) -> None:
        outer, inner = px.Stream(device), px.Stream(device)
        default = px.current_stream(device)
        with outer:
            assert px.current_stream() is outer
            with inner:
                assert px.current_stream() is inner
                with inner:
                    assert px.current_stream() is inner
            assert px.current_stream() is outer
        assert px.current_stream() is default

    def test_with_block_is_undone_by_an_error(self, device: px.Device) -> None:
        stream = px.Stream(device)
        with pytest.raises(KeyError), stream:
            raise KeyError
        assert px.current_stream().is_default

    def test_scope_holds_for_its_device_only(self, drivers: dict[str, ReferenceDriver]) -> None:
        with px.Stream("fake:0"):
            assert px.current_stream("fake:1").is_default

    def test_scope_holds_for_its_thread_only(self, device: px.Device) -> None:
        seen: list[px.Stream] = []
        with px.Stream(device):
            thread = threading.Thread(target=lambda: seen.append(px.current_stream(device)))
            thread.start()
            thread.join()
        assert seen == [device.default_stream]

    def test_scope_travels_with_a_copied_context(self, device: px.Device) -> None:
        with px.Stream(device) as stream:
            assert contextvars.copy_context().run(px.current_stream, device) is stream

    def test_one_stream_in_two_threads(self, device: px.Device) -> None:
        """Blocks of two threads that overlap in time must not undo each other."""
        stream = px.Stream(device)
        inside, leave = threading.Barrier(2), threading.Barrier(2)
        errors: list[BaseException] = []

        def work(first_out: bool) -> None:
            try:
                with stream:
                    inside.wait(10)
                    if not first_out:
                        leave.wait(10)
                    assert px.current_stream(device) is stream
                if first_out:
                    leave.wait(10)
                assert px.current_stream(device).is_default
            except BaseException as error:  # noqa: BLE001 - shown by the assert below
                errors.append(error)

        threads = [threading.Thread(target=work, args=(first,)) for first in (True, False)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []


class TestClose:
    def test_close_finishes_the_work(self, asynchronous: px.Device) -> None:
        stream = px.Stream()
        x = px.ones(4)
        with stream:
            y = x + 1
        stream.close()
        assert stream.closed
        assert values(y) == [2.0] * 4
        assert values(y + x) == [3.0] * 4

    def test_close_twice(self, device: px.Device) -> None:
        stream = px.Stream(device)
        stream.close()
        stream.close()
        assert "closed" in repr(stream)

    def test_default_stream_stays_open(self, device: px.Device) -> None:
        default = px.current_stream(device)
        default.close()
        assert not default.closed
        assert "default" in repr(default)

    @pytest.mark.parametrize(
        "options", [{}, {"streams": True}, {"host_addressable": True}], ids=str
    )
    def test_default_stream_opens_a_closed_device(
        self, make_driver: Callable[..., ReferenceDriver], options: dict[str, Any]
    ) -> None:
        driver = make_driver(**options)
        with px.device("own:0") as device:
            assert values(px.ones(2)) == [1.0] * 2
            device.close()
            assert not device.is_open
            with device.default_stream:
                assert values(px.ones(2)) == [1.0] * 2
            assert device.default_stream is px.current_stream(device)
        assert driver.opened == [0, 0]

    def test_use_after_close(self, device: px.Device) -> None:
        stream, other = px.Stream(device), px.Stream(device)
        x = px.ones(4)
        event = other.record()
        stream.close()
        for use in (
            stream.query,
            stream.synchronize,
            stream.record,
            stream.__enter__,
            lambda: stream.wait(event),
            lambda: event.record(stream),
        ):
            with pytest.raises(px.ClosedError, match=device.name):
                use()
        assert px.current_stream() is device.default_stream
        assert values(x + 1) == [2.0] * 4

    def test_closed_inside_its_block(self, device: px.Device) -> None:
        stream = px.Stream(device)
        x = px.ones(4)
        with stream:
            stream.close()
            with pytest.raises(px.ClosedError, match=device.name):
                x + 1
        assert values(x + 1) == [2.0] * 4

    def test_error_of_pending_work_is_not_lost(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver(streams=True)
        driver.faults.launch["add"] = ValueError("broken on purpose")
        x = px.ones(4, device="own:0")
        stream = px.Stream("own:0")
        with stream:
            x + x
        with pytest.raises(px.LaunchError, match=r"add\(float64.*broken on purpose"):
            stream.close()
        assert stream.closed

    def test_collected_stream_is_destroyed(self, asynchronous: px.Device) -> None:
        gc.collect()
        before = threading.active_count()
        streams = [px.Stream() for _ in range(5)]
        assert threading.active_count() == before + 5
        streams.clear()
        gc.collect()
        assert threading.active_count() == before + 5, "a destructor called the driver"
        px.synchronize()
        assert threading.active_count() == before

    def test_many_streams_one_after_the_other(self, asynchronous: px.Device) -> None:
        x = px.zeros(4)
        for _ in range(40):
            with px.Stream() as stream:
                x = x + 1
            stream.close()
        assert values(x) == [40.0] * 4


class TestFromHandle:
    """A stream over a queue that somebody else made and destroys."""

    def test_work_goes_to_the_queue_and_it_stays(self, asynchronous: px.Device) -> None:
        owner = px.Stream()
        stream = px.Stream.from_handle("fakestream:0", owner.handle)
        assert (stream.handle, stream.device, stream.emulated) == (
            owner.handle,
            asynchronous,
            False,
        )
        assert stream.id != owner.id
        with stream:
            y = px.ones(4) + 1
        stream.close()
        stream.close()
        assert stream.closed
        with owner:  # the queue still works
            z = y + 1
        assert values(z) == [3.0] * 4
        owner.close()

    def test_close_waits(self, asynchronous: px.Device) -> None:
        owner = px.Stream()
        stream = px.Stream.from_handle(asynchronous, owner.handle)
        with stream:
            y = px.ones(4) + 1
        event = stream.record()
        stream.close()
        assert event.query()
        assert values(y) == [2.0] * 4
        owner.close()

    def test_collected_stream_waits_and_lets_the_owner_go(self, asynchronous: px.Device) -> None:
        class Owner:
            pass

        maker, owner = px.Stream(), Owner()
        alive = weakref.ref(owner)
        stream = px.Stream.from_handle(asynchronous, maker.handle, owner=owner)
        del owner
        gc.collect()
        assert alive() is not None
        with stream:
            px.ones(4) + 1
        del stream
        gc.collect()
        px.synchronize()
        assert alive() is None
        assert asynchronous.ensure_open().stream_query(maker.handle)
        maker.close()

    def test_other_streams_wait_for_its_work(self, asynchronous: px.Device) -> None:
        owner = px.Stream()
        stream = px.Stream.from_handle(asynchronous, owner.handle)
        with stream:
            y = px.ones(4) + 1
        assert values(y * 2) == [4.0] * 4
        stream.close()
        owner.close()

    def test_device_without_streams_has_none_to_borrow(self, fake: px.Device) -> None:
        with pytest.raises(NotImplementedError, match=r"fake:0 has no streams .*; make a Stream"):
            px.Stream.from_handle(fake, 1)


class TestEmulated:
    def test_device_without_streams_says_so(self, device: px.Device) -> None:
        emulated = device.name in ("fake:0", "fakehost:0")
        assert px.Stream(device).emulated is emulated

    def test_emulated_stream_behaves(self, fake: px.Device) -> None:
        first, second = px.Stream(priority=-1), px.Stream()
        assert first.priority == -1
        x = px.zeros(4)
        with first:
            x += 1
        event = first.record()
        second.wait(event)
        with second:
            x *= 3
        assert first.query()
        assert event.query()
        second.synchronize(timeout=1)
        assert values(x) == [3.0] * 4

    def test_stream_of_an_unknown_device(self, drivers: dict[str, ReferenceDriver]) -> None:
        with pytest.raises(px.DeviceNotFoundError, match="fakestream"):
            px.Stream("fakestream:7")


class TestNumbering:
    def test_array_outlives_its_closed_stream(self, asynchronous: px.Device) -> None:
        """A new stream may get the number of a closed one, but not what that one waited for."""
        first = px.Stream()
        with first:
            x = px.zeros(16) + 1
        first.close()
        second, third = px.Stream(), px.Stream()
        with asynchronous.driver.paused(second):
            with second:
                x += 1
            with third:
                y = x * 10
            assert not third.query()
        assert values(y) == [20.0] * 16

    def test_array_used_by_many_streams(self, asynchronous: px.Device) -> None:
        """The block of an array that many streams read is not reused while one of them reads."""
        px.empty_cache()  # without room the pool would wait for the stream that is paused
        streams = [px.Stream() for _ in range(10)]
        x = px.ones(1000)
        px.synchronize()
        results = []
        with asynchronous.driver.paused(streams[-1]):
            for stream in streams:
                with stream:
                    results.append(px.sum(x))
            place = (x.buffer.handle, x.buffer.offset)
            del x
            others = [px.zeros(1000) for _ in range(8)]
            assert place not in [(o.buffer.handle, o.buffer.offset) for o in others]
        assert [float(r) for r in results] == [1000.0] * 10
        for stream in streams:
            stream.close()
