"""Memory, copies, streams, events and errors of the OpenCL devices."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl import errors as opencl_errors
from phalanx.device_plugins.opencl.device import OpenCLDevice
from phalanx.device_plugins.opencl.queue import Queue
from phalanx.driver import Place
from phalanx.errors import (
    DeviceLostError,
    DriverCallError,
    LaunchError,
    OutOfMemoryError,
)

Device = px.Device


def long_work(x: px.Array, rounds: int = 60) -> px.Array:
    """Enqueue some tenths of a second of work."""
    for _ in range(rounds):
        x = px.sin(x)
    return x


class TestMemory:
    def test_copies_with_offsets_in_all_directions(
        self, device: Device, driver: OpenCLDriver
    ) -> None:
        source = np.arange(1000, dtype=np.uint8)
        target = np.zeros(1000, dtype=np.uint8)
        opened = device.ensure_open()
        first, second = opened.alloc(1000), opened.alloc(1000)
        stream = px.current_stream(device)

        def block(handle: int, offset: int) -> px.Place:
            return px.Place(opened, handle, offset)

        opened.copy(block(first, 100), px.Place(None, source.ctypes.data, 7), 500, stream=stream)
        opened.copy(block(second, 3), block(first, 100), 500, stream=stream)
        opened.copy(px.Place(None, target.ctypes.data, 11), block(second, 3), 500, stream=stream)
        stream.synchronize()
        assert np.array_equal(target[11:511], source[7:507])
        assert not target[:11].any()
        assert not target[511:].any()
        opened.free(first)
        opened.free(second)

    def test_host_memory_lives_until_the_copy_is_done(
        self, device: Device, driver: OpenCLDriver
    ) -> None:
        """The driver's object over host memory must not make the call wait, nor die before."""
        x = px.zeros(1 << 20, dtype=px.uint8)
        room = ctypes.create_string_buffer(b"\7" * (1 << 20), 1 << 20)
        stream = px.current_stream(device)
        opened = device.ensure_open()
        target = px.Place(opened, x.buffer.handle, x.offset)
        opened.copy(target, px.Place(None, ctypes.addressof(room)), 1 << 20, stream=stream)
        assert np.all(px.asnumpy(x) == 7)

    @pytest.mark.parametrize("value", [1, 2.5, -1j, True])
    def test_fill(self, device: Device, value: Any) -> None:
        x = px.full((3, 5), value)
        assert px.asnumpy(x).tolist() == [[value] * 5] * 3

    def test_too_large_is_out_of_memory_with_the_size(
        self, device: Device, driver: OpenCLDriver
    ) -> None:
        with pytest.raises(OutOfMemoryError) as got:
            device.ensure_open().alloc(2**55)
        assert got.value.size == 2**55
        with pytest.raises(OutOfMemoryError, match=device.name):
            px.empty(2**50, dtype=px.uint8)

    def test_works_after_out_of_memory(self, device: Device) -> None:
        with pytest.raises(OutOfMemoryError):
            px.zeros(2**55, dtype=px.uint8)
        assert float(px.asnumpy(px.ones(3) + 1)[2]) == 2.0

    def test_views_into_one_buffer(self, device: Device) -> None:
        x = px.asarray(np.arange(100, dtype=np.int32))
        y = x[10:20] + x[50:90:4]
        assert px.asnumpy(y).tolist() == [10 + i + 50 + 4 * i for i in range(10)]


class TestStreams:
    def test_order_between_streams(self, device: Device) -> None:
        x = px.ones(1 << 18)
        first, second = px.Stream(device), px.Stream(device)
        with first:
            y = long_work(x, 10)
        with second:
            z = y * 2
        assert np.array_equal(px.asnumpy(z), 2 * px.asnumpy(y))
        first.close()
        second.close()

    def test_launches_do_not_block_and_timeouts_do_not_wait(self, device: Device) -> None:
        x = px.ones(1 << 20, dtype=px.float64)
        px.asnumpy(long_work(x, 1))
        with px.Stream(device) as stream:
            long_work(x)
            assert not stream.query()
            with pytest.raises(TimeoutError):
                stream.synchronize(timeout=0.001)
            event = stream.record()
            assert not event.query()
            with pytest.raises(TimeoutError):
                event.synchronize(timeout=0.001)
            stream.synchronize()
            assert event.query()
            assert stream.query()
        stream.close()

    @pytest.mark.parametrize("timeout", [-1.0, float("nan")])
    def test_bad_timeout(self, device: Device, timeout: float) -> None:
        with px.Stream(device) as stream, pytest.raises(ValueError, match="timeout"):
            stream.synchronize(timeout)

    def test_elapsed_time_is_seconds(self, device: Device) -> None:
        import time

        x = px.ones(1 << 20, dtype=px.float64)
        px.asnumpy(long_work(x, 1))
        with px.Stream(device) as stream:
            stream.synchronize()
            begin, begin_host = stream.record(), time.perf_counter()
            long_work(x, 20)
            end = stream.record()
            end.synchronize()
            host_time = time.perf_counter() - begin_host
        assert 0.5 * host_time < begin.elapsed_time(end) < 1.2 * host_time + 0.01

    def test_eight_threads_launch_at_once(self, device: Device) -> None:
        wrong: list[Any] = []

        def work(number: int) -> None:
            try:
                with px.device(device):
                    x = px.full(1000, float(number), dtype=px.float32)
                    for step in range(100):
                        y = x * 2.0 + float(step)
                        if step % 10 == 0 and px.asnumpy(y)[999] != 2.0 * number + step:
                            wrong.append((number, step))
            except BaseException as error:  # noqa: BLE001 - whatever a thread raises
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert wrong == []


class FailedEvent:
    """A command that ended with an error."""

    command_execution_status = -5


class TestErrors:
    def test_names_of_codes(self, driver: OpenCLDriver) -> None:
        name = opencl_errors.code_name
        assert name(driver._cl, -5) == "CL_OUT_OF_RESOURCES"
        assert name(driver._cl, -1001) == "CL_PLATFORM_NOT_FOUND_KHR"
        assert name(driver._cl, -12345) == "-12345"

    def test_failed_call_has_code_name_and_call(self, own: OpenCLDevice) -> None:
        far, near = Place(own, own.alloc(16), 1 << 40), Place(own, own.alloc(16))
        with pytest.raises(DriverCallError) as got:
            own.move(far, near, 16, own.queue)
        assert got.value.code < 0
        assert got.value.name.startswith("CL_INVALID")
        assert "copy of 16 bytes on opencl:9" in str(got.value)

    def test_refused_launch_names_op_and_sizes(self, device: Device, driver: OpenCLDriver) -> None:
        from phalanx.device_plugins.opencl.launch import LaunchEnv
        from phalanx.driver import Layout

        kernel = device.ensure_open().kernel("negative", ("int8", "int8"), Layout.CONTIGUOUS)
        open_device = device.ensure_open()
        stream = px.current_stream(device)
        env = LaunchEnv(open_device, open_device.queue, stream, kernel)
        bound = env.kernel(kernel.handle.programs[0], "run")
        x = px.ones(4, dtype=px.int8)
        too_large = 2 * open_device.traits.max_work_group + 1  # an odd size is not made smaller
        with pytest.raises(LaunchError, match=r"negative\(int8, int8\)") as got:
            env.enqueue(bound, (too_large,), (too_large,), x, x, 4)
        assert "CL_INVALID_WORK_GROUP_SIZE" in str(got.value)
        with pytest.raises(TypeError, match="a kernel argument is"):
            env.enqueue(bound, (64,), (64,), x, x, 4.0)

    def test_asynchronous_failure_names_the_launch(
        self, device: Device, driver: OpenCLDriver, own: OpenCLDevice
    ) -> None:
        kernel = device.ensure_open().kernel(
            "exp", ("float32", "float32"), px.driver.Layout.CONTIGUOUS
        )
        own.queue.put(kernel, lambda _: FailedEvent())
        with pytest.raises(LaunchError, match=r"exp\(float32, float32\)") as got:
            own.queue.finish(None)
        assert "CL_OUT_OF_RESOURCES" in str(got.value)
        own.queue.finish(None)  # told once

    def test_lost_device_is_told_in_full_once(self, own: OpenCLDevice) -> None:
        cl = own.cl

        class LostQueue:
            def flush(self) -> None: ...

        lost = type("Lost", (cl.Error,), {"code": -2, "routine": "clEnqueueCopyBuffer"})

        def fail(*_: Any, **__: Any) -> None:
            raise lost()

        handle = own.alloc(16)
        own.cl = _with(cl, enqueue_copy=fail)
        queue = Queue(cl, LostQueue(), own.name)
        with pytest.raises(DeviceLostError, match="CL_DEVICE_NOT_AVAILABLE"):
            own.move(Place(own, handle, 8), Place(own, handle), 8, queue)
        with pytest.raises(DeviceLostError, match="was lost before"):
            own.alloc(16)
        own.free(handle)


def _with(module: Any, **changes: Any) -> Any:
    class Changed:
        def __getattr__(self, name: str) -> Any:
            return changes[name] if name in changes else getattr(module, name)

    return Changed()
