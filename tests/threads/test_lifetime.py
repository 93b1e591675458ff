"""How long memory stays: borrowed, exported, trimmed, adopted, given by allocators."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import keep_behind
from phalanx.testing import ReferenceDriver
from threads.steps import during, values


class TestBorrowed:
    def test_owner_stays_until_the_work_is_done(
        self, make_driver: Callable[..., ReferenceDriver]
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
        self, make_driver: Callable[..., ReferenceDriver]
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

        worker = driver.open_devices[0].stream(stream.handle)

        def use_and_drop() -> None:
            worker.gate.clear()
            with stream:
                keep[0] += 1
            keep.clear()
            threading.Timer(0.2, worker.gate.set).start()

        with stream:
            busy = px.ones(4) + 1
        with during(driver, "event_query", use_and_drop, after=True):
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
        before = driver.used()

        def interrupt(*args: Any) -> None:
            del opened.event_query
            raise KeyboardInterrupt

        opened = asynchronous.ensure_open()
        opened.event_query = interrupt
        with pytest.raises(KeyboardInterrupt):
            px.empty_cache()
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
        self, make_driver: Callable[..., ReferenceDriver]
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
                driver.open_devices[0].stream(stream.handle).gate.clear()
                with stream:
                    keep[0] += 1
                keep.clear()

            with stream:
                busy = held + 1
            with during(driver, "event_query", use_and_drop, after=True):
                threading.Timer(0.3, driver.open_devices[0].stream(stream.handle).gate.set).start()
                other = px.empty(30 << 20, dtype=px.uint8)
            other[...] = 3
            driver.open_devices[0].stream(stream.handle).gate.set()
            stream.synchronize()
            assert int(px.max(other)) == int(px.min(other)) == 3, "queued work wrote into it"
            assert int(busy[0]) == 2

    def test_a_refused_segment_goes_back_to_the_driver(
        self, make_driver: Callable[..., ReferenceDriver]
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

        device.ensure_open()
        px.set_allocator(Odd(device.pool), device)
        try:
            with pytest.raises(TypeError, match="Buffer"):
                px.ones(100)
        finally:
            px.set_allocator(None, device)
        assert values(px.ones(1)) == [1.0]


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
