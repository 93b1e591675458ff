"""Faults in what follows what: copies beside their stream, errors, threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

from phalanx.errors import LaunchError, OutOfMemoryError
from phalanx.testing import Task, Work, Worker
from phalanx.vendor import Array, Kernel, Place, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault


@driver_fault("runtime")
class HostCopyReadsLate(SoundDevice):
    """A large copy from the host reads its source after the stream says that it is done."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not src.on_host or size < 4096:
            super().copy(dst, src, size, stream=stream)
            return
        engine = self.worker("copy engine", 0.01)

        def read() -> None:
            target = self.bytes_at(dst.handle, dst.offset, size)
            target[:] = self.bytes_at(src.handle, src.offset, size, host=True)

        engine.submit(read)
        threading.Thread(target=engine.stop, daemon=True).start()


@driver_fault("runtime")
class HostReadOvertakesKernels(SoundDevice):
    """A copy to the host is done by an engine that does not wait for the stream's kernels."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if dst.on_host:
            target = self.bytes_at(dst.handle, dst.offset, size, host=True)
            target[:] = self.bytes_at(src.handle, src.offset, size)
        else:
            super().copy(dst, src, size, stream=stream)


@driver_fault("runtime")
class DeviceCopyOvertakesKernels(SoundDevice):
    """A copy inside the device is done by an engine that does not wait for the stream's kernels."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        if not (dst.on_host or src.on_host):
            self.bytes_at(dst.handle, dst.offset, size)[:] = self.bytes_at(
                src.handle, src.offset, size
            )
        else:
            super().copy(dst, src, size, stream=stream)


class _Exchangeable:
    """A task in a queue that another may take the place of until it begins."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.begun = False

    def __call__(self) -> None:
        self.begun = True
        self.task()


@driver_fault("programs")
class StreamRunsOutOfOrder(SoundDevice):
    """Of two kernels on one stream, the second may begin first if the first has not begun."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._newest: dict[Worker, _Exchangeable] = {}

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        if stream is None or what.startswith("copy of"):
            super().submit(stream, task, what)
            return
        place, before = _Exchangeable(task), self._newest.get(stream)
        if before is not None and not before.begun:
            before.task, place.task = place.task, before.task
        self._newest[stream] = place
        super().submit(stream, place, what)


@driver_fault("runtime")
class AsynchronousErrorLost(SoundDevice):
    """A kernel that fails after its launch returned tells nobody."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        self.stream(handle).error = None
        super().stream_synchronize(handle, timeout)
        self.stream(handle).error = None

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        def silent() -> None:
            try:
                task()
            except (LaunchError, IndexError):
                return

        super().submit(stream, silent, what)


@driver_fault("runtime")
class ErrorRaisedForEver(SoundDevice):
    """After a kernel failed, every later wait on the stream raises that error again."""

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        worker = self.stream(handle)
        try:
            super().stream_synchronize(handle, timeout)
        except (LaunchError, IndexError) as error:
            worker.error = error
            raise


@driver_fault("runtime")
class LaunchesLostAfterError(SoundDevice):
    """After a kernel failed and the error was reported, later launches are dropped silently."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._broken = False

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        try:
            super().stream_synchronize(handle, timeout)
        except (LaunchError, IndexError):
            self._broken = True
            raise

    def run(self, work: Work) -> None:
        if not self._broken:
            super().run(work)


@driver_fault("runtime")
class WrongDeviceAfterError(SoundDevice):
    """Running out of memory leaves another device current, to which the next kernel goes."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._current_is_wrong = False

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError:
            self._current_is_wrong = True
            raise

    def run(self, work: Work) -> None:
        if self._current_is_wrong:
            self._current_is_wrong = False  # the kernel ran on the other device
        else:
            super().run(work)


@driver_fault("runtime")
class ErrorNamesNoKernel(SoundDevice):
    """A kernel that failed is reported by a number, as another error, and without its name."""

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        def anonymous() -> None:
            try:
                task()
            except (LaunchError, IndexError):
                raise OSError(5, "Input/output error") from None

        super().submit(stream, anonymous, what)


@driver_fault("runtime")
class LaunchNotThreadSafe(SoundDevice):
    """The arguments of a launch lie in one place for all threads until the call returns."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._arguments: tuple[Any, ...] = ()

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        self._arguments = (kernel, inputs, outputs, params)
        time.sleep(0)  # where a native driver lets other threads run
        super().launch(*self._arguments, stream=stream)


@driver_fault("runtime")
class AllocationNotThreadSafe(SoundDevice):
    """Two threads that allocate at the same time may get the same block."""

    def alloc(self, size: int) -> int:
        handle = self.driver.next_handle
        time.sleep(1e-4)  # where a native driver lets other threads run
        taken = self.blocks.get(handle)
        if taken is not None and taken.size >= size:
            return handle
        return super().alloc(size)
