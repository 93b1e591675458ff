"""Memory, queues and contexts shared with pyopencl, and arrays of the host through DLPack."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx.device_plugins.opencl import (
    OpenCLDriver,
    buffer_of,
    context_of,
    queue_of,
    use_context,
    wrap_buffer,
    wrap_queue,
)
from phalanx.discovery.plugins import host
from phalanx.errors import DeviceError, DeviceMismatchError, DriverCallError
from plugin_kit import run_python


@pytest.fixture
def cl(driver: OpenCLDriver):
    """The module pyopencl."""
    return driver._cl


def test_buffer_of_pyopencl_becomes_an_array(device: px.Device, cl) -> None:
    data = np.arange(24, dtype=np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(context_of(device), flags, hostbuf=data)
    x = wrap_buffer(buffer, (4, 5), px.float32, device, offset=2)
    assert np.array_equal(px.asnumpy(x + 1), data[2:22].reshape(4, 5) + 1)
    x *= 2
    px.synchronize(device)
    back = np.empty_like(data)
    cl.enqueue_copy(queue_of(px.current_stream(device)), back, buffer).wait()
    assert np.array_equal(back[2:22], 2 * data[2:22])
    assert np.array_equal(back[[0, 1, 22, 23]], data[[0, 1, 22, 23]])


@pytest.mark.filterwarnings("ignore:Non-empty compiler output")  # pyopencl about any log
def test_array_is_handed_to_a_kernel_of_pyopencl(device: px.Device, cl) -> None:
    x = px.asarray(np.arange(10, dtype=np.int32))[3:]
    source = "__kernel void run(__global int *x, int at) { x[at + get_global_id(0)] += 100; }"
    kernel = cl.Kernel(cl.Program(context_of(device), source).build(), "run")
    buffer, offset = buffer_of(x)
    kernel(queue_of(px.current_stream(device)), (7,), None, buffer, np.int32(offset // 4))
    assert px.asnumpy(x).tolist() == [103 + i for i in range(7)]


def test_misfits_are_told(device: px.Device, cl, driver: OpenCLDriver) -> None:
    found = driver._listed().devices[device.index].device
    other = cl.Context([found])
    buffer = cl.Buffer(other, cl.mem_flags.READ_WRITE, 64)
    with pytest.raises(DeviceMismatchError, match="another context"):
        wrap_buffer(buffer, (4,), px.float32, device)
    own = cl.Buffer(context_of(device), cl.mem_flags.READ_WRITE, 64)
    for shape, offset in (((17,), 0), ((16,), 1), ((4,), -1)):
        with pytest.raises(ValueError, match="does not fit"):
            wrap_buffer(own, shape, px.float32, device, offset=offset)
    with pytest.raises(DeviceError, match="in use"):
        use_context(other)
    with pytest.raises(DeviceMismatchError, match="not a device of the driver"):
        context_of(next(d for d in px.devices() if d.driver is not host().drivers()["opencl"]))


def test_read_only_buffer_is_not_written(device: px.Device, cl) -> None:
    data = np.arange(4, dtype=np.float32)
    flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
    x = wrap_buffer(cl.Buffer(context_of(device), flags, hostbuf=data), (4,), px.float32, device)
    with pytest.raises(ValueError, match="read"):
        x += 1
    assert px.asnumpy(x + 1).tolist() == [1.0, 2.0, 3.0, 4.0]


class TestExistingQueue:
    @pytest.mark.filterwarnings("ignore:Non-empty compiler output")  # pyopencl about any log
    def test_work_is_in_order_with_its_owners(self, device: px.Device, cl) -> None:
        queue = cl.CommandQueue(context_of(device))
        source = "__kernel void run(__global float *x) { x[get_global_id(0)] *= 2.0f; }"
        kernel = cl.Kernel(cl.Program(context_of(device), source).build(), "run")
        buffer = cl.Buffer(context_of(device), cl.mem_flags.READ_WRITE, 4 << 10)
        with wrap_queue(queue, device) as stream:
            assert queue_of(stream) is queue
            x = wrap_buffer(buffer, (1 << 10,), px.float32, device)
            x[...] = 1
            for _ in range(3):  # 1 -> 2 -> 3 -> 6 -> 7 -> 14 -> 15
                kernel(queue, (1 << 10,), None, buffer)
                x += 1
            assert px.asnumpy(x).tolist() == [15.0] * 1024
        stream.close()

    def test_it_is_borrowed(self, device: px.Device, cl) -> None:
        queue = cl.CommandQueue(context_of(device))
        before = queue.reference_count
        stream = wrap_queue(queue, device)
        with stream:
            x = px.ones(100) + 1
        stream.close()
        assert px.asnumpy(x)[99] == 2
        cl.enqueue_marker(queue).wait()
        del stream, x
        assert queue.reference_count == before
        cl.enqueue_marker(queue).wait()
        other = px.Stream(device)  # later streams get queues of their own
        assert queue_of(other) != queue
        other.close()

    def test_order_with_other_streams(self, device: px.Device, cl) -> None:
        with wrap_queue(cl.CommandQueue(context_of(device)), device) as first:
            y = px.ones(1 << 18)
            for _ in range(10):
                y = px.sin(y)
            event = first.record()
        z = y * 2
        assert np.array_equal(px.asnumpy(z), 2 * px.asnumpy(y))
        assert event.query()
        first.close()

    def test_untimed_queue_says_so(self, device: px.Device, cl) -> None:
        with wrap_queue(cl.CommandQueue(context_of(device)), device) as stream:
            begin = stream.record()
            end = stream.record()
            stream.synchronize()
            with pytest.raises(DriverCallError, match="CL_PROFILING_INFO_NOT_AVAILABLE"):
                begin.elapsed_time(end)
        stream.close()

    def test_misfits_are_told(self, device: px.Device, cl, driver: OpenCLDriver) -> None:
        found = driver._listed().devices[device.index].device
        other = cl.Context([found])
        with pytest.raises(DeviceMismatchError, match="another context"):
            wrap_queue(cl.CommandQueue(other), device)
        properties = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
        try:
            unordered = cl.CommandQueue(context_of(device), properties=properties)
        except cl.Error:
            pytest.skip("this runtime has no queue that is out of order")
        with pytest.raises(ValueError, match="in order"):
            wrap_queue(unordered, device)


def test_existing_context_is_used(device: px.Device) -> None:
    code = f"""
import numpy as np, pyopencl as cl, phalanx as px
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl import use_context, wrap_buffer, context_of
context = cl.Context([OpenCLDriver()._listed().devices[{device.index}].device])
buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=np.ones(4, np.float32))
where = use_context(context)
assert where.name == "{device.name}" and context_of(where) == context
assert px.asnumpy(wrap_buffer(buffer, (4,), "float32", where) + 1).tolist() == [2.0] * 4
"""
    result = run_python("-c", code)
    assert result.returncode == 0, result.stderr


def test_host_arrays_through_dlpack(device: px.Device) -> None:
    data = np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::2]
    x = px.from_dlpack(data, device=device)
    assert x.device is device
    assert np.array_equal(px.asnumpy(x), data)


def test_memory_that_a_device_and_the_cpu_share_is_waited_for_once(device: px.Device) -> None:
    """The CPU has done nothing yet when it joins; numbers of the device's work are not its own."""
    code = (
        "import numpy as np, phalanx as px\n"
        "whole = np.zeros(2048)\n"
        "data = whole[-whole.ctypes.data % 4096 // 8:][:1024]\n"
        f"first, second = (px.asarray(data, copy=False, device='{device}') for _ in range(2))\n"
        "for _ in range(5): second += 1\n"
        "ours = [px.asarray(data, copy=False, device='cpu:0') for _ in range(2)]\n"
        f"third = px.asarray(data, copy=False, device='{device}')\n"
        "print(data[0], float(ours[1][9]), float(first[1]), float(third[2]))"
    )
    result = run_python("-c", code)
    assert result.stdout == "5.0 5.0 5.0 5.0\n", result.stderr
