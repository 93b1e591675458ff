"""A driver over host memory of its own with kernels in NumPy: ``core/`` runs without a device.

Handles are small numbers and not addresses, freed memory is poisoned and its handle forgotten, and
kernels check that their operands lie inside the memory and in the canonical form, so that a mistake
of the core shows as a failure and never as luck.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import phalanx as px
from fake_kernels import HostArray, compute, numpy_type
from fake_streams import FakeEvent, Marker, Worker
from phalanx.driver import Capability, DeviceInfo, DeviceKind, Direction, Driver, Feature, Layout
from phalanx.errors import DeviceLostError, LaunchError, OutOfMemoryError
from phalanx.optable import OPS, Structure
from phalanx.optable.structured import NO_PLACE

POISON = 0xDB
#: Bytes at the start of a block that are poisoned; all of a large one would take long.
POISONED_SIZE = 1 << 22
_NEEDS_FP64 = ("float64", "complex128")
_ASYNC = Capability.STREAMS | Capability.EVENT_TIMING


@dataclass
class Faults:
    """What fails on purpose; ``alloc`` holds the numbers, from 1, of the calls that fail."""

    launch: dict[str, BaseException] = field(default_factory=dict)
    alloc: set[int] = field(default_factory=set)
    copy: BaseException | None = None
    open: BaseException | None = None


@dataclass(frozen=True)
class Launch:
    """One entry of ``FakeDriver.launches``."""

    index: int
    op: str
    dtypes: tuple[str, ...]
    layout: Layout
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Tensor:
    """An operand without a hold on its memory: what a native kernel would get."""

    handle: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


class FakeDriver(Driver):
    """See the module.

    Args:
        name: the devices are ``name:0`` and on.
        devices: how many.
        streams: real asynchronous streams with events and timing; else the core emulates them.
        host_addressable: handles are addresses, and the default stream works inline.
        kind: what the devices are; a CPU can stand in for others.
        memory: bytes per device.
        missing: ops without a kernel.
        fp64: whether float64 and complex128 have kernels.
        determinism: class of all kernels.
        delay: seconds before each task of a worker thread.
    """

    def __init__(
        self,
        name: str = "fake",
        *,
        devices: int = 2,
        streams: bool = False,
        host_addressable: bool = False,
        kind: DeviceKind = DeviceKind.ACCELERATOR,
        memory: int = 1 << 28,
        missing: Iterable[str] = (),
        fp64: bool = True,
        determinism: str = "bitwise",
        delay: float = 0.0,
        score: int = 0,
    ) -> None:
        self.name = name
        self.capabilities = _ASYNC if streams else Capability(0)
        self.devices = devices
        self.memory = memory
        self.missing = set(missing)
        self.determinism = determinism
        self.delay = delay
        self.faults = Faults()
        self.launches: list[Launch] = []
        self.opened: list[int] = []
        self.alloc_calls = 0
        self.foreign = 0  # bytes that somebody else took from the device
        self._streams = streams
        self._features = Feature.SUBNORMALS | (Feature.FP64 if fp64 else Feature(0))
        if host_addressable:
            self._features |= Feature.HOST_ADDRESSABLE | Feature.SYNCHRONOUS
        self._kind, self._score = kind, score
        self._lock = threading.Lock()
        self._blocks: dict[int, HostArray] = {}
        self._owners: dict[int, int] = {}
        self._next_handle = 0  # 0 is a legal handle
        self._workers: dict[int, list[Worker]] = {}
        self._table: dict[tuple[str, tuple[str, ...], Layout], px.Kernel] = {}
        self._pid = os.getpid()
        os.register_at_fork(after_in_child=self._after_fork)

    # Devices

    def device_count(self) -> int:
        return self.devices

    def device_info(self, index: int) -> DeviceInfo:
        return DeviceInfo(
            f"Fake device {index}",
            self._kind,
            self._features,
            total_memory=self.memory,
            max_allocation=self.memory,
            score=self._score,
            dlpack_device=(1, 0) if self.host_addressable else (12, index),
            vendor="Phalanx tests",
        )

    @property
    def host_addressable(self) -> bool:
        return bool(self._features & Feature.HOST_ADDRESSABLE)

    def open(self, index: int) -> None:
        if self.faults.open is not None:
            raise self.faults.open
        self.opened.append(index)
        if self._streams:
            self._workers[index] = [self._new_worker(f"{self.name}:{index} default")]

    def close(self, index: int) -> None:
        for worker in self._workers.pop(index, []):
            worker.stop()

    def synchronize(self, index: int, timeout: float | None = None) -> None:
        self._check_process()
        for worker in list(self._workers.get(index, [])):
            worker.synchronize(timeout)

    def _after_fork(self) -> None:
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        if self._streams and os.getpid() != self._pid:
            raise DeviceLostError(
                f"{self.name}: the device was opened before the fork, and its streams are threads "
                "of the parent; start the process with the method 'spawn'"
            )

    # Memory

    def alloc(self, index: int, size: int) -> int:
        assert isinstance(size, int)
        assert size > 0
        with self._lock:
            self.alloc_calls += 1
            room = self.memory_info(index)[0]
            if self.alloc_calls in self.faults.alloc or size > room:
                raise OutOfMemoryError(f"{self.name}:{index}: no {size} bytes", size=size)
            whole = np.empty(size + 64, np.uint8)
            block = whole[-whole.ctypes.data % 64 :][:size]
            block[:POISONED_SIZE] = POISON
            handle = block.ctypes.data if self.host_addressable else self._next_handle
            self._next_handle += 1
            self._blocks[handle] = block
            self._owners[handle] = index
        return int(handle)

    def free(self, index: int, handle: int) -> None:
        with self._lock:
            assert self._owners.pop(handle) == index
            self._blocks.pop(handle)[:POISONED_SIZE] = POISON

    def used(self, index: int = 0) -> int:
        """Bytes that the core holds now."""
        return sum(
            self._blocks[h].size for h, owner in list(self._owners.items()) if owner == index
        )

    def memory_info(self, index: int) -> tuple[int, int]:
        return self.memory - self.foreign - self.used(index), self.memory

    def copy(
        self,
        index: int,
        direction: Direction,
        dst: int,
        dst_offset: int,
        src: int,
        src_offset: int,
        size: int,
        *,
        stream: px.Stream,
    ) -> None:
        assert stream.device.driver is self

        def task() -> None:
            if self.faults.copy is not None:
                raise self.faults.copy
            to_host = direction is Direction.DEVICE_TO_HOST
            from_host = direction is Direction.HOST_TO_DEVICE
            source = self._bytes(src, src_offset, size, host=from_host)
            self._bytes(dst, dst_offset, size, host=to_host)[:] = source

        self._submit(index, stream, task)

    def _bytes(self, handle: int, offset: int, size: int, *, host: bool = False) -> HostArray:
        """The bytes of a block, or of any memory where handles are addresses."""
        block = None if host else self._blocks.get(handle)
        if block is None:
            assert host or self.host_addressable, f"handle {handle} is not allocated"
            return np.frombuffer((ctypes.c_uint8 * size).from_address(handle + offset), np.uint8)
        assert 0 <= offset <= offset + size <= block.size, (offset, size, block.size)
        return block[offset : offset + size]

    # Kernels

    def kernel(
        self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout
    ) -> px.Kernel | None:
        if self.supports(index, op, dtypes) is not True:
            return None
        key = (op, dtypes, layout)
        if key not in self._table:
            self._table[key] = px.Kernel(
                op,
                dtypes,
                layout,
                determinism=self.determinism,
                provider="phalanx tests",
                handle=key,
            )
        return self._table[key]

    def kernels(self, index: int) -> Iterator[px.Kernel]:
        for row in OPS.values():
            elementwise = row.structure is Structure.ELEMENTWISE
            layouts = (Layout.CONTIGUOUS, Layout.STRIDED) if elementwise else (Layout.ANY,)
            for signature in row.signatures:
                for layout in layouts:
                    found = self.kernel(index, row.name, signature.dtypes, layout)
                    if found is not None:
                        yield found

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        if op in self.missing:
            return f"{self.name} was told to miss {op}"
        if not self._features & Feature.FP64 and set(dtypes) & set(_NEEDS_FP64):
            return "the device has no fp64"
        return any(s.dtypes == dtypes for s in OPS[op].signatures)

    def launch(
        self,
        index: int,
        kernel: px.Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[px.Array],
        params: tuple[int, ...],
        *,
        stream: px.Stream,
    ) -> None:
        assert stream.device.driver is self
        assert stream.device.index == index
        op = kernel.op
        arrays = [x for x in (*inputs, *outputs) if isinstance(x, px.Array)]
        assert all(a.device is stream.device for a in arrays), f"{op}: operands of another device"
        operands = [
            _tensor(x) if isinstance(x, px.Array) else np.asarray(x, numpy_type(name))
            for x, name in zip(inputs, kernel.dtypes, strict=False)
        ]
        results = [_tensor(x) for x in outputs]
        self.launches.append(
            Launch(index, op, kernel.dtypes, kernel.layout, tuple(a.shape for a in arrays))
        )

        def task() -> None:
            fault = self.faults.launch.get(op)
            if fault is not None:
                raise fault
            self._run(kernel, operands, results, params)

        self._submit(index, stream, task, what=f"{op}({', '.join(kernel.dtypes)})")

    def _run(
        self, kernel: px.Kernel, operands: list[Any], results: list[_Tensor], params: Any
    ) -> None:
        if kernel.op == "gather":
            slices, offsets = operands
            self._gather(slices, self._view(offsets), self._view(results[0]))
        elif kernel.op == "scatter":
            values, offsets = operands
            self._scatter(self._view(values), self._view(offsets), results[0])
        else:
            ins = [self._view(x) if isinstance(x, _Tensor) else x for x in operands]
            compute(kernel.op, kernel.layout, ins, [self._view(x) for x in results], params)

    def _gather(self, at: _Tensor, offsets: HostArray, out: HostArray) -> None:
        assert offsets.ndim == 1
        assert out.shape == (offsets.size, *at.shape)
        for i, place in enumerate(offsets):
            out[i] = self._view(at, int(place)) if place >= NO_PLACE // 2 else 0

    def _scatter(self, values: HostArray, offsets: HostArray, at: _Tensor) -> None:
        assert values.shape == (offsets.size, *at.shape)
        for i, place in enumerate(offsets):
            if place >= NO_PLACE // 2:
                self._view(at, int(place))[...] = values[i]

    def _view(self, x: _Tensor, shift: int = 0) -> HostArray:
        """A NumPy view, ``shift`` elements further; NumPy refuses one that leaves the block."""
        step = x.dtype.itemsize
        steps = [s * step for s in x.strides]
        if 0 in x.shape:
            return np.empty(x.shape, x.dtype)
        spans = [(n - 1) * s for n, s in zip(x.shape, steps, strict=True)]
        low = x.offset + shift * step + sum(s for s in spans if s < 0)
        size = sum(abs(s) for s in spans) + step
        memory = self._bytes(x.handle, low, size)
        return np.ndarray(x.shape, x.dtype, memory.data, -sum(s for s in spans if s < 0), steps)

    # Streams: what runs inline and what a worker takes

    def _new_worker(self, name: str) -> Worker:
        return Worker(name, self.delay)

    def _worker(self, index: int, handle: Worker | None) -> Worker:
        return handle if handle is not None else self._workers[index][0]

    def _submit(
        self, index: int, stream: px.Stream, task: Callable[[], None], what: str = "copy"
    ) -> None:
        if not self._streams:
            task()
            return
        self._check_process()

        def named() -> None:
            try:
                task()
            except (AssertionError, RuntimeError, ValueError) as error:
                raise LaunchError(f"{what} on {self.name}:{index}: {error}") from error

        self._worker(index, stream.handle).submit(named)

    def stream_create(self, index: int, priority: int) -> Worker:
        self._check_process()
        worker = self._new_worker(f"{self.name}:{index} stream of priority {priority}")
        self._workers[index].append(worker)
        return worker

    def stream_destroy(self, index: int, handle: Worker) -> None:
        # A stream may outlive its test in a cycle: `close` stopped its worker then.
        if os.getpid() == self._pid and index in self._workers:
            self._workers[index].remove(handle)
            handle.stop()
            handle.raise_error()

    def stream_query(self, index: int, handle: Worker | None) -> bool:
        self._check_process()
        return self._worker(index, handle).idle()

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        self._check_process()
        self._worker(index, handle).synchronize(timeout)

    def stream_wait_event(self, index: int, handle: Worker | None, event: FakeEvent) -> None:
        self._check_process()
        if event.marker is not None:
            self._worker(index, handle).wait_for(event.marker)

    def event_create(self, index: int) -> FakeEvent:
        return FakeEvent()

    def event_destroy(self, index: int, event: FakeEvent) -> None:
        assert not event.destroyed
        event.destroyed = True

    def event_record(self, index: int, event: FakeEvent, handle: Worker | None) -> None:
        self._check_process()
        event.marker, event.worker = Marker(), self._worker(index, handle)
        event.worker.record(event.marker)

    def event_query(self, index: int, event: FakeEvent) -> bool:
        return event.marker is not None and event.marker.passed.is_set()

    def event_synchronize(self, index: int, event: FakeEvent, timeout: float | None = None) -> None:
        self._check_process()
        if event.marker is not None and not event.marker.passed.wait(timeout):
            raise TimeoutError(f"the event is not passed after {timeout} s")
        if event.worker is not None:
            event.worker.raise_error()

    def event_elapsed(self, index: int, begin: FakeEvent, end: FakeEvent) -> float:
        assert begin.marker is not None
        assert end.marker is not None
        return end.marker.time - begin.marker.time

    @contextmanager
    def paused(self, stream: px.Stream) -> Iterator[None]:
        """Let a stream take work but not start it until the end of the block."""
        worker = self._worker(stream.device.index, stream.handle)
        worker.gate.clear()
        try:
            yield
        finally:
            worker.gate.set()


def _tensor(x: px.Array) -> _Tensor:
    return _Tensor(x.buffer.handle, x.offset, x.shape, x.strides, numpy_type(x.dtype.name))
