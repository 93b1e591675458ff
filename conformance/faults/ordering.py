"""Faults in what follows what: copies beside their stream, errors, threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from phalanx._warm import Array, Device, Kernel, Stream
from phalanx.driver import Direction
from phalanx.errors import LaunchError, OutOfMemoryError

from .device import SoundDriver
from .fault import driver_fault
from .streams import Task, Worker
from .work import Work


@driver_fault("runtime")
class HostCopyReadsLate(SoundDriver):
    """A large copy from the host reads its source after the stream says that it is done."""

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
        stream: Stream,
    ) -> None:
        arguments = (index, direction, dst, dst_offset, src, src_offset, size)
        if direction is not Direction.HOST_TO_DEVICE or size < 4096:
            super().copy(*arguments, stream=stream)
            return
        engine = self.worker("copy engine", 0.01)

        def read() -> None:
            target = self.bytes_at(dst, dst_offset, size)
            target[:] = self.bytes_at(src, src_offset, size, host=True)

        engine.submit(read)
        threading.Thread(target=engine.stop, daemon=True).start()


@driver_fault("runtime")
class HostReadOvertakesKernels(SoundDriver):
    """A copy to the host is done by an engine that does not wait for the stream's kernels."""

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
        stream: Stream,
    ) -> None:
        if direction is Direction.DEVICE_TO_HOST:
            target = self.bytes_at(dst, dst_offset, size, host=True)
            target[:] = self.bytes_at(src, src_offset, size)
        else:
            arguments = (index, direction, dst, dst_offset, src, src_offset, size)
            super().copy(*arguments, stream=stream)


@driver_fault("runtime")
class DeviceCopyOvertakesKernels(SoundDriver):
    """A copy inside the device is done by an engine that does not wait for the stream's kernels."""

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
        stream: Stream,
    ) -> None:
        if direction is Direction.DEVICE_TO_DEVICE:
            self.bytes_at(dst, dst_offset, size)[:] = self.bytes_at(src, src_offset, size)
        else:
            arguments = (index, direction, dst, dst_offset, src, src_offset, size)
            super().copy(*arguments, stream=stream)


class _Exchangeable:
    """A task in a queue that another may take the place of until it begins."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.begun = False

    def __call__(self) -> None:
        self.begun = True
        self.task()


@driver_fault("programs")
class StreamRunsOutOfOrder(SoundDriver):
    """Of two kernels on one stream, the second may begin first if the first has not begun."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._newest: dict[Worker, _Exchangeable] = {}

    def submit(self, index: int, stream: Worker | None, task: Task, what: str) -> None:
        if stream is None or what.startswith("copy of"):
            super().submit(index, stream, task, what)
            return
        place, before = _Exchangeable(task), self._newest.get(stream)
        if before is not None and not before.begun:
            before.task, place.task = place.task, before.task
        self._newest[stream] = place
        super().submit(index, stream, place, what)


@driver_fault("runtime")
class AsynchronousErrorLost(SoundDriver):
    """A kernel that fails after its launch returned tells nobody."""

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        self.stream(index, handle).error = None
        super().stream_synchronize(index, handle, timeout)
        self.stream(index, handle).error = None

    def submit(self, index: int, stream: Worker | None, task: Task, what: str) -> None:
        def silent() -> None:
            try:
                task()
            except (LaunchError, IndexError):
                return

        super().submit(index, stream, silent, what)


@driver_fault("runtime")
class ErrorRaisedForEver(SoundDriver):
    """After a kernel failed, every later wait on the stream raises that error again."""

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        worker = self.stream(index, handle)
        try:
            super().stream_synchronize(index, handle, timeout)
        except (LaunchError, IndexError) as error:
            worker.error = error
            raise


@driver_fault("runtime")
class LaunchesLostAfterError(SoundDriver):
    """After a kernel failed and the error was reported, later launches are dropped silently."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._broken = False

    def stream_synchronize(
        self, index: int, handle: Worker | None, timeout: float | None = None
    ) -> None:
        try:
            super().stream_synchronize(index, handle, timeout)
        except (LaunchError, IndexError):
            self._broken = True
            raise

    def run(self, work: Work) -> None:
        if not self._broken:
            super().run(work)


@driver_fault("runtime")
class WrongDeviceAfterError(SoundDriver):
    """Running out of memory leaves another device current, to which the next kernel goes."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._current_is_wrong = False

    def alloc(self, index: int, size: int) -> int:
        try:
            return super().alloc(index, size)
        except OutOfMemoryError:
            self._current_is_wrong = True
            raise

    def run(self, work: Work) -> None:
        if self._current_is_wrong:
            self._current_is_wrong = False  # the kernel ran on the other device
        else:
            super().run(work)


@driver_fault("runtime")
class ErrorNamesNoKernel(SoundDriver):
    """A kernel that failed is reported by a number, as another error, and without its name."""

    def submit(self, index: int, stream: Worker | None, task: Task, what: str) -> None:
        def anonymous() -> None:
            try:
                task()
            except (LaunchError, IndexError):
                raise OSError(5, "Input/output error") from None

        super().submit(index, stream, anonymous, what)


@driver_fault("runtime")
class LaunchNotThreadSafe(SoundDriver):
    """The arguments of a launch lie in one place for all threads until the call returns."""

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu)
        self._arguments: tuple[Any, ...] = ()

    def launch(
        self,
        index: int,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        self._arguments = (index, kernel, inputs, outputs, params)
        time.sleep(0)  # where a native driver lets other threads run
        super().launch(*self._arguments, stream=stream)


@driver_fault("runtime")
class AllocationNotThreadSafe(SoundDriver):
    """Two threads that allocate at the same time may get the same block."""

    def alloc(self, index: int, size: int) -> int:
        handle = self._next_handle
        time.sleep(1e-4)  # where a native driver lets other threads run
        if self._next_handle != handle and self._blocks[handle].size >= size:
            return handle
        return super().alloc(index, size)
