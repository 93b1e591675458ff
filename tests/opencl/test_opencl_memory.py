"""Pinned memory for large copies, memory shared with the host, limits, priorities."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.arrays.transfer import copy_from_host, copy_to_host
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.device_plugins.opencl.device import OpenCLDevice
from phalanx.device_plugins.opencl.listing import Found, Listing
from phalanx.device_plugins.opencl.memory import works_in_place
from phalanx.device_plugins.opencl.queue import Marker
from phalanx.discovery.plugins import host
from phalanx.driver import DeviceKind, Feature, Layout, Place
from phalanx.errors import DriverCallError, LaunchError, OutOfMemoryError
from phalanx.runtime.staging import LEAST_STAGED, MOST_PAIRS, SLOT_SIZE


def as_discrete(found: Found) -> Found:
    """The same device, as if it had memory of its own."""
    features = found.info.features & ~Feature.UNIFIED_MEMORY
    info = replace(found.info, features=features, kind=DeviceKind.ACCELERATOR)
    return replace(found, info=info, traits=replace(found.traits, is_cpu=False))


class Discrete(OpenCLDriver):
    """All OpenCL devices, as if they had memory of their own."""

    name = "discrete"

    def list_devices(self) -> Listing:
        listing = super().list_devices()
        return replace(listing, devices=tuple(as_discrete(found) for found in listing.devices))


class Changed:
    """A module with some names replaced."""

    def __init__(self, module: Any, **changes: Any) -> None:
        self._module = module
        self.__dict__.update(changes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@pytest.fixture
def discrete(device: px.Device) -> Iterator[px.Device]:
    """The device as a discrete one, and as the current one."""
    driver = Discrete()
    host().register_driver(driver)
    try:
        with px.device(f"discrete:{device.index}") as found:
            found.ensure_open()
            yield found
    finally:
        host().unregister_driver(driver)


@pytest.fixture
def own(device: px.Device, driver: OpenCLDriver) -> OpenCLDevice:
    """The device as a discrete one, opened apart, so that faults stay there."""
    return OpenCLDevice(driver._cl, as_discrete(driver._listed().devices[device.index]), "opencl:9")


def opened(device: px.Device) -> OpenCLDevice:
    """The driver's object of a device."""
    found = device.ensure_open()
    assert isinstance(found, OpenCLDevice)
    return found


def numbers(size: int) -> Any:
    """Bytes that tell where they belong."""
    return (np.arange(size, dtype=np.uint32) * 2654435761 >> 24).astype(np.uint8)


def send(own: OpenCLDevice, handle: int, data: Any) -> None:
    own.move(Place(own, handle), Place(None, data.ctypes.data), data.nbytes, own.queue)


def fetch(own: OpenCLDevice, handle: int, size: int) -> Any:
    data = np.zeros(size, dtype=np.uint8)
    own.move(Place(None, data.ctypes.data), Place(own, handle), size, own.queue)
    own.queue.finish(None)
    return data


def failing_at(call: int, what: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    """The function, with an error at its n-th call only."""
    calls = 0

    def changed(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error
        return what(*args, **kwargs)

    return changed


class TestStaging:
    @pytest.mark.parametrize(
        "size",
        [
            1,
            LEAST_STAGED - 1,
            LEAST_STAGED,
            SLOT_SIZE,
            SLOT_SIZE + 1,
            2 * SLOT_SIZE,
            5 * SLOT_SIZE + 17,
        ],
    )
    def test_every_byte_arrives(self, discrete: px.Device, size: int) -> None:
        data = numbers(size + 3)
        x = px.asarray(data)
        assert np.array_equal(px.asnumpy(x), data)
        assert np.array_equal(px.asnumpy(x[3:]), data[3:])  # from an offset
        assert np.array_equal(px.asnumpy(x[:size] + 1), data[:size] + 1)
        staging = opened(discrete).staging
        assert staging is not None
        assert (staging._made > 0) == (size + 3 >= LEAST_STAGED)

    def test_devices_that_share_memory_copy_directly(self, device: px.Device) -> None:
        assert opened(device).staging is None

    def test_source_is_read_on_return(self, own: OpenCLDevice) -> None:
        data = numbers(3 * SLOT_SIZE)
        kept, handle = data.copy(), own.alloc(data.nbytes)
        send(own, handle, data)
        data[:] = 0
        assert np.array_equal(fetch(own, handle, data.nbytes), kept)

    def test_slots_are_reused(self, own: OpenCLDevice) -> None:
        handle = own.alloc(3 * SLOT_SIZE)
        for _ in range(5):
            send(own, handle, numbers(3 * SLOT_SIZE))
            own.queue.finish(None)
        assert own.staging is not None
        assert own.staging._made == 1

    def test_threads_share_a_bounded_number_of_slots(self, discrete: px.Device) -> None:
        wrong: list[Any] = []

        def work(number: int) -> None:
            try:
                data = numbers(2 * SLOT_SIZE + 1000 * number) ^ number
                with px.device(discrete), px.Stream():
                    came = [px.asnumpy(px.asarray(data)) for _ in range(3)]
                if not all(np.array_equal(data, back) for back in came):
                    wrong.append(number)
            except BaseException as error:  # noqa: BLE001 - whatever a thread raises
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(2 * MOST_PAIRS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert wrong == []
        staging = opened(discrete).staging
        assert staging is not None
        assert staging._made == len(staging._free) <= MOST_PAIRS

    @pytest.mark.parametrize("direction", ["send", "fetch"])
    def test_failure_half_way_loses_nothing(self, own: OpenCLDevice, direction: str) -> None:
        data = numbers(4 * SLOT_SIZE)
        handle, staging, cl = own.alloc(data.nbytes), own.staging, own.cl
        assert staging is not None
        send(own, handle, data)
        own.queue.finish(None)
        refused = type("Refused", (cl.Error,), {"code": -59, "routine": "clEnqueue"})
        staging._cl = Changed(cl, enqueue_copy=failing_at(3, cl.enqueue_copy, refused()))
        with pytest.raises(DriverCallError, match="CL_INVALID_OPERATION") as got:
            send(own, handle, data) if direction == "send" else fetch(own, handle, data.nbytes)
        assert f"a copy of {data.nbytes} bytes" in str(got.value)
        assert staging._made == len(staging._free) == 1
        own.queue.finish(None)
        assert np.array_equal(fetch(own, handle, data.nbytes), data)
        assert staging._made == len(staging._free) == 1

    def test_failed_launch_is_named_by_the_copy_behind_it(
        self, own: OpenCLDevice, device: px.Device, driver: OpenCLDriver
    ) -> None:
        kernel = device.ensure_open().kernel("exp", ("float32", "float32"), Layout.CONTIGUOUS)
        failed = type("Failed", (own.cl.Error,), {"code": -14, "routine": "clWaitForEvents"})

        def wait() -> None:
            raise failed()

        own.queue.put(kernel, lambda _: SimpleNamespace(command_execution_status=-5))
        with pytest.raises(LaunchError, match=r"exp\(float32, float32\).*CL_OUT_OF_RESOURCES"):
            own.queue.wait_for(SimpleNamespace(command_execution_status=-14, wait=wait))

    def test_without_memory_to_pin_copies_go_directly(self, own: OpenCLDevice) -> None:
        data = numbers(2 * SLOT_SIZE)
        handle, staging, cl = own.alloc(data.nbytes), own.staging, own.cl
        assert staging is not None
        none = type("None_", (cl.Error,), {"code": -4, "routine": "clCreateBuffer"})

        for call in (1, 2):  # the first slot of a pair, and the second
            staging._cl = Changed(cl, Buffer=failing_at(call, cl.Buffer, none()))
            send(own, handle, data)
            assert staging._made == len(staging._free) == 0
        assert np.array_equal(fetch(own, handle, data.nbytes), data)

    def test_trim_gives_the_slots_back(self, discrete: px.Device) -> None:
        x = px.asarray(numbers(2 * SLOT_SIZE))
        staging = opened(discrete).staging
        assert staging is not None
        slot = weakref.ref(staging._free[0][0].room)
        px.empty_cache(discrete)
        assert staging._made == len(staging._free) == 0
        assert slot() is None
        assert np.array_equal(px.asnumpy(x), numbers(2 * SLOT_SIZE))

    def test_busy_slots_are_passed_over(self, own: OpenCLDevice) -> None:
        staging = own.staging
        assert staging is not None
        pairs = [staging._take() for _ in range(MOST_PAIRS + 1)]
        assert pairs.pop() is None  # all are held
        for pair in pairs:
            assert pair is not None
            pair[0].event = SimpleNamespace(command_execution_status=3, wait=lambda: None)
        staging._free = list(pairs)  # type: ignore[arg-type]
        pairs[2][0].event = None  # type: ignore[index]
        assert staging._take() is pairs[2]
        assert staging._take() is pairs[0]  # to be waited for
        assert staging._made == MOST_PAIRS


class TestSharedWithTheHost:
    @pytest.mark.parametrize("start", [0, 1, 5])
    @pytest.mark.parametrize("step", [1, 3, -2])
    def test_numpy_array_is_used_in_place(self, device: px.Device, start: int, step: int) -> None:
        data = np.arange(1000, dtype=np.float32)
        part, want = data[start::step], data[start::step] + 1
        x = px.asarray(part, copy=False)
        assert x.device is device
        x += 1
        px.synchronize(device)
        assert np.array_equal(part, want)
        part[...] = 7
        assert px.asnumpy(x + 1).tolist() == [8.0] * part.size
        rest = np.ones(1000, dtype=bool)
        rest[start::step] = False
        assert np.array_equal(data[rest], np.arange(1000, dtype=np.float32)[rest])

    @pytest.mark.parametrize("shape", [(), (0,), (3, 0), (1,), (5, 7)])
    def test_shapes(self, device: px.Device, shape: tuple[int, ...]) -> None:
        data = np.full(shape, 2, dtype=np.int16)
        x = px.from_dlpack(data, device=device, copy=False)
        assert x.shape == shape
        assert np.array_equal(px.asnumpy(x * x), data * data)

    def test_dlpack_from_the_cpu_device(self, device: px.Device) -> None:
        source = px.asarray(np.arange(6.0), device="cpu:0")
        x = px.from_dlpack(source[1::2], device=device)
        x *= 10
        px.synchronize(device)
        assert px.asnumpy(source).tolist() == [0.0, 10.0, 2.0, 30.0, 4.0, 50.0]
        copied = px.from_dlpack(source, device=device, copy=True)
        copied *= 0
        px.synchronize(device)
        assert px.asnumpy(source)[1] == 10.0

    def test_read_only_memory_is_not_written(self, device: px.Device) -> None:
        data = np.arange(4.0)
        data.flags.writeable = False
        x = px.asarray(data, copy=False)
        with pytest.raises(ValueError, match="read"):
            x += 1
        assert px.asnumpy(x + 1).tolist() == [1.0, 2.0, 3.0, 4.0]

    def test_owner_is_kept_until_the_work_is_done(self, device: px.Device) -> None:
        data = np.ones(1 << 20)
        owner = weakref.ref(data)
        with px.Stream(device) as stream:
            x = px.asarray(data, copy=False)
            del data
            assert owner() is not None
            y = px.sin(x)
            for _ in range(60):
                y = px.sin(y)
            del x
            assert not stream.query()
            assert owner() is not None
            stream.synchronize()
        assert owner() is None
        assert np.isfinite(px.asnumpy(y)).all()
        stream.close()

    def test_released_at_once_when_idle(self, device: px.Device) -> None:
        data = np.ones(100)
        owner = weakref.ref(data)
        x = px.asarray(data, copy=False)
        assert px.asnumpy(x + 1)[0] == 2
        handle = x.buffer.handle
        del data, x
        assert owner() is None
        assert handle not in opened(device).memory

    def test_export_without_a_copy(self, device: px.Device) -> None:
        x = px.asarray(np.arange(12.0).reshape(3, 4))
        part = np.from_dlpack(x[::-1, 1:3], device="cpu", copy=False)
        whole = np.from_dlpack(x, device="cpu")
        assert np.array_equal(part, np.arange(12.0).reshape(3, 4)[::-1, 1:3])
        x += 100
        px.synchronize(device)
        del x
        px.empty_cache(device)
        assert part[2, 0] == whole[0, 1] == 101.0
        copied = np.from_dlpack(px.ones(3), device="cpu", copy=True)
        assert copied.tolist() == [1.0] * 3

    def test_export_waits_for_the_work(self, device: px.Device) -> None:
        x = px.full(1 << 18, 0.5)
        for _ in range(20):
            x = px.sin(x)
        seen = np.from_dlpack(x, device="cpu", copy=False).copy()
        assert np.array_equal(seen, px.asnumpy(x))

    def test_host_array_goes_there_and_back(self, device: px.Device) -> None:
        data = np.arange(5.0)
        x = px.asarray(data, copy=False)
        back = np.from_dlpack(x, device="cpu", copy=False)
        assert back.ctypes.data == data.ctypes.data

    def test_discrete_devices_copy_or_say_no(self, discrete: px.Device) -> None:
        data = np.arange(5.0)
        with pytest.raises(ValueError, match="cannot be shared"):
            px.asarray(data, copy=False)
        with pytest.raises(BufferError, match="copy=False"):
            px.from_dlpack(data, device=discrete, copy=False)
        x = px.from_dlpack(data, device=discrete)
        x += 1
        px.synchronize(discrete)
        assert data.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
        with pytest.raises(BufferError, match="cannot be exported"):
            np.from_dlpack(x, device="cpu", copy=False)
        assert np.from_dlpack(x, device="cpu").tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]

    def test_runtime_that_copies_is_found_out(self, device: px.Device) -> None:
        found = opened(device)
        cl, context, align = found.cl, found.context, found.info.alignment
        assert works_in_place(cl, context, found.queue.raw, align)

        def copying(where: Any, flags: int, size: int = 0, hostbuf: Any = None) -> Any:
            if hostbuf is not None:
                flags = flags & ~cl.mem_flags.USE_HOST_PTR | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(where, flags, size, hostbuf=hostbuf)

        assert not works_in_place(Changed(cl, Buffer=copying), context, found.queue.raw, align)

    def test_host_without_memory(
        self, device: px.Device, driver: OpenCLDriver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def empty(*_: Any, **__: Any) -> None:
            raise MemoryError

        assert opened(device).shares_host
        monkeypatch.setattr("phalanx.device_plugins.opencl.memory.np.empty", empty)
        with pytest.raises(OutOfMemoryError, match="the host has no memory") as got:
            device.ensure_open().alloc(1 << 20)
        assert got.value.size == 1 << 20

    def test_the_host_in_front_of_a_borrowed_array(self, device: px.Device) -> None:
        """PoCL leaves out copies whose host end is where the buffer begins, whatever the offset."""
        alignment = device.info.alignment
        room = np.zeros(4 * alignment + 96, np.uint8)
        start = -room.ctypes.data % alignment
        front, inner = room[start : start + 16], room[start + 16 : start + 112].view(np.float64)
        inner[:] = np.arange(12.0)
        x = px.asarray(inner, copy=False, device=device)
        half = px.asarray(inner[:2], copy=False, device=device)
        copy_to_host(half, front.ctypes.data, room)
        assert front.view(np.float64).tolist() == [0.0, 1.0]
        front.view(np.float64)[:] = [7.0, 8.0]
        copy_from_host(half, front.ctypes.data, room)
        assert px.asnumpy(x)[:3].tolist() == [7.0, 8.0, 2.0]


class TestLimits:
    def test_small_arrays_are_places_in_one_buffer(self, device: px.Device) -> None:
        arrays = [px.full(3, float(n)) for n in range(20)]
        places = {(x.buffer.handle, x.offset) for x in arrays}
        assert len(places) == 20
        assert len({handle for handle, _ in places}) < 20
        assert all(offset % device.info.alignment == 0 for _, offset in places)
        assert [px.asnumpy(x)[2] for x in arrays] == list(range(20))

    def test_largest_allocation(self, device: px.Device, driver: OpenCLDriver) -> None:
        most = device.info.max_allocation
        with pytest.raises(OutOfMemoryError, match=f"at most {most} bytes"):
            device.ensure_open().alloc(most + 1)

    def test_a_block_beyond_what_the_runtime_says_is_asked_for(
        self, device: px.Device, driver: OpenCLDriver
    ) -> None:
        """Intel's cards give it for a flag, and reach it for an option of the compiler."""
        cl, flags = driver._cl, dict[int, int]()
        found = as_discrete(driver._listed().devices[device.index])
        own = OpenCLDevice(cl, replace(found, unrestricted=True), "opencl:9")
        assert "-cl-intel-greater-than-4GB-buffer-required" in own.programs._options

        def buffer(context: Any, asked: int, size: int) -> Any:
            flags[size] = asked
            return cl.Buffer(context, cl.mem_flags.READ_WRITE, 8)

        own.device = SimpleNamespace(max_mem_alloc_size=1000)
        own.cl = Changed(cl, Buffer=buffer)
        for size in (1000, 1001):
            own.free(own.alloc(size))
        own.stream_synchronize(None)
        assert flags == {1000: cl.mem_flags.READ_WRITE, 1001: cl.mem_flags.READ_WRITE | 1 << 23}
        plain = OpenCLDevice(cl, found, "opencl:9")
        assert not any("intel" in option for option in plain.programs._options)


class TestPriorities:
    @pytest.mark.parametrize(("priority", "hint"), [(-1, 1), (-5, 1), (1, 4), (0, None)])
    def test_hint_where_the_runtime_takes_one(
        self, own: OpenCLDevice, priority: int, hint: int | None
    ) -> None:
        asked: list[Any] = []
        cl = own.cl

        def make(context: Any, device: Any, *, properties: Any) -> Any:
            asked.append(properties)
            return cl.CommandQueue(context, own_device)

        own_device = own.device
        own.cl = Changed(cl, CommandQueue=make)
        own.device = SimpleNamespace(extensions="cl_khr_fp64 cl_khr_priority_hints")
        queue = own.new_queue(priority)
        queue.be_timed()
        queue.be_timed()
        for properties, profiling in zip(asked, (0, 2), strict=True):
            hinted = [0x1093, profiling, 0x1096, hint, 0]
            assert properties == (profiling if hint is None else hinted)

    @pytest.mark.parametrize("priority", [-1, 0, 1])
    def test_streams_of_any_priority_work(self, device: px.Device, priority: int) -> None:
        with px.Stream(device, priority=priority) as stream:
            assert px.asnumpy(px.ones(3) + 1).tolist() == [2.0] * 3
        stream.close()


def test_failure_before_an_event_names_the_launch(
    own: OpenCLDevice, device: px.Device, driver: OpenCLDriver
) -> None:
    kernel = device.ensure_open().kernel("exp", ("float32", "float32"), Layout.CONTIGUOUS)
    marker = Marker(own.cl, own.name, timed=False)
    own.queue.put(kernel, lambda _: SimpleNamespace(command_execution_status=-5))
    marker.record(own.queue)
    marker.raw = SimpleNamespace(command_execution_status=-14, wait=lambda: None)
    with pytest.raises(LaunchError, match=r"exp\(float32, float32\)"):
        marker.synchronize(1.0)


def test_an_allocation_that_fails_late_is_told_as_one(own: OpenCLDevice) -> None:
    """Runtimes may find out only when the memory is to be there."""
    event = SimpleNamespace(command_execution_status=-4)
    own.cl = Changed(own.cl, enqueue_migrate_mem_objects=lambda *_, **__: event)
    own.free(own.alloc(1000))
    with pytest.raises(OutOfMemoryError, match="an earlier allocation of 1000 bytes"):
        own.stream_synchronize(None)
    own.stream_synchronize(None)
