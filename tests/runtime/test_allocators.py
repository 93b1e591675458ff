"""Adaptors around a device's pool: ``core/runtime/allocators.py``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver


@pytest.fixture
def pool(device: px.Device) -> Iterator[object]:
    """The pool of the device; whatever a test puts before it is taken away."""
    former = px.set_allocator(None, device)
    yield device.pool
    px.set_allocator(former, device)


def test_set_allocator_returns_the_former(device: px.Device, pool: object) -> None:
    first, second = px.StatisticsAllocator(pool), px.StatisticsAllocator(pool)
    assert px.set_allocator(first, device) is None
    assert px.set_allocator(second, device.name) is first
    assert px.set_allocator(None, device) is second


def test_adaptors_compose(device: px.Device, pool: object) -> None:
    counted = px.StatisticsAllocator(pool)
    limited = px.LimitAllocator(counted, 4096)
    px.set_allocator(px.TrackingAllocator(limited), device)
    x = px.ones(16)
    assert px.asnumpy(x + x).tolist() == [2.0] * 16
    assert counted.statistics.used == 128
    assert limited.used == 128
    del x
    assert counted.statistics.used == limited.used == 0


def test_removed_adaptor_still_hears_of_its_buffers(device: px.Device, pool: object) -> None:
    counted = px.StatisticsAllocator(pool)
    px.set_allocator(counted, device)
    x = px.ones(16)
    px.set_allocator(None, device)
    assert counted.statistics.releases == counted.statistics.allocations - 1
    del x
    assert counted.statistics.releases == counted.statistics.allocations


def test_the_pool_of_a_device_that_was_not_used_yet(
    make_driver: Callable[..., ReferenceDriver],
) -> None:
    make_driver()
    with px.device("own:0") as device:
        assert not device.is_open
        counted = px.StatisticsAllocator(device.pool)
        px.set_allocator(counted, device)
        x = px.ones(4)
        assert counted.statistics.used == x.nbytes
        px.set_allocator(None, device)


def test_memory_for_a_stream_of_another_device(device: px.Device, pool: px.Allocator) -> None:
    other = "fakehost:0" if device.name != "fakehost:0" else "fakestream:0"
    with pytest.raises(px.DeviceMismatchError, match=f"a stream of {other} for memory of {device}"):
        pool.allocate(64, stream=px.Stream(other))


@pytest.mark.parametrize("call", ["alloc", "free"])
def test_a_device_stays_open_while_its_memory_is_on_the_way(
    make_driver: Callable[..., ReferenceDriver], monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Closed and opened anew meanwhile, it would get memory of its former life."""
    driver = make_driver()
    with px.device("own:0") as device:
        opened = device.ensure_open()
        plain = getattr(opened, call)

        def slow(*given: int) -> int | None:
            monkeypatch.undo()
            closer = threading.Thread(target=device.close)
            closer.start()
            closer.join(60)
            return plain(*given)

        if call == "free":
            px.ones(4)
        monkeypatch.setattr(opened, call, slow)
        if call == "free":
            px.empty_cache()
        x = px.ones(4)
        assert px.asnumpy(x).tolist() == [1.0] * 4
        assert px.memory_stats()["requested"] == x.nbytes
        assert px.memory_stats()["segments"] == 1
    assert driver.opened == [0]


@pytest.mark.parametrize("streams", [False, True])
def test_the_pool_stays_when_the_device_is_closed_and_opened_anew(
    make_driver: Callable[..., ReferenceDriver], streams: bool
) -> None:
    driver = make_driver(streams=streams)
    with px.device("own:0") as device:
        counted = px.StatisticsAllocator(device.pool)
        px.set_allocator(counted, device)
        for number in range(3):
            device.close()
            assert not device.is_open
            x = px.ones(4)
            if streams:
                with px.Stream(device):
                    x = x + number
            device.close()
            assert device.is_open  # an array lies on it
            assert counted.statistics.used == px.memory_stats()["requested"] == x.nbytes
            assert px.asnumpy(x).tolist() == [1.0 + number * streams] * 4
            del x
        px.set_allocator(None, device)
    assert driver.opened == [0, 0, 0, 0]


class TestStatistics:
    def test_counts(self, device: px.Device, pool: object) -> None:
        counted = px.StatisticsAllocator(pool)
        px.set_allocator(counted, device)
        x = px.empty(1000, dtype=px.uint8)
        y = px.empty(500, dtype=px.uint8)
        del x
        s = counted.statistics
        assert (s.used, s.peak, s.total) == (500, 1500, 1500)
        assert (s.allocations, s.releases, s.failures) == (2, 1, 0)
        assert y.size == 500

    def test_failure(self, device: px.Device, pool: object) -> None:
        counted = px.StatisticsAllocator(px.FaultInjectionAllocator(pool, first=1))
        px.set_allocator(counted, device)
        with pytest.raises(px.OutOfMemoryError):
            px.empty(10)
        assert (counted.statistics.failures, counted.statistics.used) == (1, 0)


class TestLimit:
    def test_refuses_and_recovers(self, device: px.Device, pool: object) -> None:
        limited = px.LimitAllocator(pool, 1000)
        px.set_allocator(limited, device)
        x = px.empty(900, dtype=px.uint8)
        with pytest.raises(
            px.OutOfMemoryError, match=rf"{device}: 200 bytes.*900 of 1000"
        ) as caught:
            px.empty(200, dtype=px.uint8)
        assert (caught.value.verdict, caught.value.size) == ("limit", 200)
        del x
        assert px.empty(1000, dtype=px.uint8).size == 1000

    def test_failure_above_gives_the_room_back(self, device: px.Device, pool: object) -> None:
        limited = px.LimitAllocator(px.FaultInjectionAllocator(pool, first=1), 1000)
        px.set_allocator(limited, device)
        with pytest.raises(px.OutOfMemoryError, match="on purpose"):
            px.empty(900, dtype=px.uint8)
        assert limited.used == 0

    @pytest.mark.parametrize("limit", [0, -5])
    def test_limit_must_be_positive(self, device: px.Device, pool: object, limit: int) -> None:
        with pytest.raises(ValueError, match="positive"):
            px.LimitAllocator(pool, limit)

    def test_is_exact_with_many_threads(self, device: px.Device, pool: object) -> None:
        limited = px.LimitAllocator(pool, 1 << 30)
        stream = device.default_stream

        def work() -> None:
            for i in range(500):
                limited.allocate(i, stream=stream)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert limited.used == 0


class TestTracking:
    def test_names_the_leak(self, device: px.Device, pool: object) -> None:
        tracked = px.TrackingAllocator(pool)
        px.set_allocator(tracked, device)

        def leaky() -> px.Array:
            return px.empty(777, dtype=px.uint8)

        small, large = px.empty(5, dtype=px.uint8), leaky()
        report = tracked.report()
        assert [size for size, _ in report] == [777, 5]
        assert "leaky" in report[0][1]
        del large
        assert [size for size, _ in tracked.report()] == [5]
        assert small.size == 5

    def test_depth(self, device: px.Device, pool: object) -> None:
        tracked = px.TrackingAllocator(pool, depth=1)
        buffer = tracked.allocate(10, stream=device.default_stream)
        ((_, stack),) = tracked.report()
        assert stack.count("File ") == 1
        assert "test_allocators" in stack
        assert buffer.size == 10


class TestFaultInjection:
    def failures(self, allocator: px.Allocator, device: px.Device, n: int) -> list[int]:
        failed = []
        for i in range(1, n + 1):
            try:
                allocator.allocate(8, stream=device.default_stream)
            except px.OutOfMemoryError:
                failed.append(i)
        return failed

    def test_first_only(self, device: px.Device, pool: object) -> None:
        allocator = px.FaultInjectionAllocator(pool, first=3)
        assert self.failures(allocator, device, 10) == [3]

    def test_first_and_every(self, device: px.Device, pool: object) -> None:
        allocator = px.FaultInjectionAllocator(pool, first=2, every=3)
        assert self.failures(allocator, device, 10) == [2, 5, 8]

    @pytest.mark.parametrize(("first", "every"), [(0, 0), (1, -1)])
    def test_bad_numbers(self, device: px.Device, pool: object, first: int, every: int) -> None:
        with pytest.raises(ValueError, match="counts from 1"):
            px.FaultInjectionAllocator(pool, first=first, every=every)

    def test_every_allocation_of_a_program_may_fail(self, device: px.Device, pool: object) -> None:
        """Whichever allocation fails, the inputs stay right and nothing leaks."""
        x = px.reshape(px.arange(12.0), (3, 4))
        want = px.asnumpy(px.sort(px.exp(x.T @ x - 500)[:, 1:], axis=0)).tolist()

        def program() -> list[list[float]]:
            return px.asnumpy(px.sort(px.exp(x.T @ x - 500)[:, 1:], axis=0)).tolist()

        px.synchronize()
        before = px.memory_stats()["requested"]
        survived = 0
        for n in range(1, 40):
            px.set_allocator(px.FaultInjectionAllocator(pool, first=n), device)
            try:
                assert program() == want
                survived += 1
            except px.OutOfMemoryError:
                pass
            finally:
                px.set_allocator(None, device)
            px.synchronize()
            assert px.memory_stats()["requested"] == before
        assert 0 < survived < 39
        assert program() == want
