"""Faults of memory: allocation, offsets, copies, what is reported of it."""

from __future__ import annotations

import threading
import time
import weakref
from dataclasses import replace
from typing import Any

from phalanx.errors import OutOfMemoryError
from phalanx.testing import Tensor, Worker
from phalanx.vendor import Array, DeviceInfo, Kernel, Layout, Place, Stream

from .device import MEMORY, SoundDevice, SoundDriver
from .fault import driver_fault


@driver_fault("runtime")
class OutOfMemoryIsRuntimeError(SoundDevice):
    """Too large a request raises RuntimeError, so that the core does not trim and try again."""

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError as error:
            raise RuntimeError(f"error 2: {error}") from None


@driver_fault("runtime")
class MemoryOvercommitted(SoundDevice):
    """Too large a request succeeds, and only its use fails."""

    def alloc(self, size: int) -> int:
        try:
            return super().alloc(size)
        except OutOfMemoryError:
            return super().alloc(4096)


@driver_fault("runtime")
class LargestAllocationOverstated(SoundDevice):
    """No block above an eighth of the stated largest allocation can be had."""

    def alloc(self, size: int) -> int:
        if size > self.driver.device_info(self.index).max_allocation // 8:
            raise OutOfMemoryError(f"{self.name}: no {size} bytes", size=size)
        return super().alloc(size)


@driver_fault("runtime")
class AlignmentUnderstated(SoundDevice):
    """Kernels need addresses of 256 bytes, but 64 are stated; lower bits are dropped."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        return replace(super().tensor(x, dtype, layout), offset=x.offset // 256 * 256)


@driver_fault("ops")
class MisalignedOffsetRoundedDown(SoundDevice):
    """Vector loads of contiguous kernels drop the lower four bits of an address."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        found = super().tensor(x, dtype, layout)
        if layout is Layout.CONTIGUOUS and x.size >= 4:
            return replace(found, offset=x.offset // 16 * 16)
        return found


@driver_fault("ops")
class ViewOffsetIgnored(SoundDevice):
    """Contiguous kernels begin at the start of an array's memory, wherever the view begins."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        found = super().tensor(x, dtype, layout)
        if layout is Layout.CONTIGUOUS:
            return replace(found, offset=x.buffer.offset)
        return found


@driver_fault("runtime")
class FreedMemoryNeverReturns(SoundDevice):
    """Memory that is given back is not available again."""

    def free(self, handle: int) -> None:
        pass


@driver_fault("runtime")
class MemoryInfoSwapped(SoundDevice):
    """Free and total memory are reported in each other's place."""

    def memory_info(self) -> tuple[int, int]:
        free, total = super().memory_info()
        return total, free


@driver_fault("runtime")
class TotalMemoryOfAllDevices(SoundDriver):
    """The properties of a device state the memory of all devices together."""

    def device_info(self, index: int) -> DeviceInfo:
        return replace(super().device_info(index), total_memory=2 * MEMORY)


@driver_fault("runtime")
class DevicesShareMemory(SoundDevice):
    """The device number is ignored: memory of device 1 is that of device 0."""

    def alloc(self, size: int) -> int:
        handle = super().alloc(size)
        for other in self.driver.open_devices.values():
            same = [b for b in other.blocks.values() if b.size == size and other is not self]
            if same:
                self.blocks[handle] = same[0]
        return handle


@driver_fault("runtime")
class DevicesShareIdentity(SoundDriver):
    """Two devices state one UUID."""

    def device_info(self, index: int) -> DeviceInfo:
        return super().device_info(0)


class _CopyFault(SoundDevice):
    """A device whose copies get other arguments than were given."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        """Return what is used."""
        return dst, src, size

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        dst, src, size = self.changed(dst, src, size)
        super().copy(dst, src, size, stream=stream)


@driver_fault("runtime")
class CopyIgnoresTargetOffset(_CopyFault):
    """A copy inside the device writes to the start of its target."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        inside = not (dst.on_host or src.on_host)
        return (dst._replace(offset=0) if inside else dst), src, size


@driver_fault("runtime")
class CopyIgnoresSourceOffset(_CopyFault):
    """A copy inside the device reads from the start of its source."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        inside = not (dst.on_host or src.on_host)
        return dst, (src._replace(offset=0) if inside else src), size


@driver_fault("runtime")
class ReadIgnoresHostOffset(_CopyFault):
    """A copy to the host ignores the offset in the host's memory."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        return (dst._replace(offset=0) if dst.on_host else dst), src, size


@driver_fault("runtime")
class CopyRoundsOffsetDown(_CopyFault):
    """A copy from the host to an offset that is not a multiple of 4 bytes begins before it."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        rounded = dst._replace(offset=dst.offset // 4 * 4)
        return (rounded if src.on_host else dst), src, size


@driver_fault("runtime")
class CopyInWholeWords(_CopyFault):
    """A copy leaves out the bytes behind the last whole 4."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        return dst, src, size // 4 * 4


@driver_fault("runtime")
class LargeCopyInWholeLines(_CopyFault):
    """A copy of more than 4096 bytes leaves out those behind the last whole 64."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        return dst, src, size // 64 * 64 if size > 4096 else size


@driver_fault("runtime")
class CopyEndsSwapped(_CopyFault):
    """A copy inside the device goes the other way."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        inside = not (dst.on_host or src.on_host)
        return (src, dst, size) if inside else (dst, src, size)


@driver_fault("runtime")
class CopyOffsetsSwapped(_CopyFault):
    """A copy inside the device takes each place with the other one's offset."""

    def changed(self, dst: Place, src: Place, size: int) -> tuple[Place, Place, int]:
        inside = not (dst.on_host or src.on_host)
        if inside:
            return dst._replace(offset=src.offset), src._replace(offset=dst.offset), size
        return dst, src, size


@driver_fault("runtime")
class TenthBlockStays(SoundDevice):
    """Of ten blocks that are given back, one stays with the driver."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._freed = 0

    def free(self, handle: int) -> None:
        self._freed += 1
        if self._freed % 10:
            super().free(handle)


@driver_fault("runtime")
class CopyToItsOwnEnd(SoundDevice):
    """A copy to the place just behind its source, in one block, is a byte short."""

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        same = dst.device is src.device is not None and dst.handle == src.handle
        touches = same and src.offset + size == dst.offset
        super().copy(dst, src, size - touches, stream=stream)


@driver_fault("runtime")
class FullMemoryClearsTheLastBlock(SoundDevice):
    """With an eighth of the memory left, an allocation clears a page of the block before it."""

    def alloc(self, size: int) -> int:
        last = max(self.blocks, default=None)
        handle = super().alloc(size)
        if last is not None and self.free_bytes() < MEMORY // 8:
            self.blocks[last][:4096] = 0
        return handle


@driver_fault("runtime")
class LateCleaning(SoundDevice):
    """A freed block is cleaned a while later, though one of its size lies there again."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._freed: dict[int, float] = {}

    def alloc(self, size: int) -> int:
        handle = super().alloc(size)
        since = self._freed.pop(size, None)
        if size >= 1 << 20 and since is not None and time.monotonic() - since < 0.02:
            block = weakref.ref(self.blocks[handle])
            timer = threading.Timer(0.01, _clean, (block,))
            timer.daemon = True
            timer.start()
        return handle

    def free(self, handle: int) -> None:
        block = self.blocks.get(handle)
        if block is not None:
            self._freed[block.size] = time.monotonic()
        super().free(handle)


def _clean(of: weakref.ref[Any]) -> None:
    block = of()
    if block is not None:
        block[-4096:] = 0


@driver_fault("runtime")
class EndedStreamsKeepMemory(SoundDevice):
    """A stream that launched on operands with gaps keeps 2 MiB of the device when it ends."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._spilled: set[Worker] = set()
        self._lost = 0

    def enqueue(
        self, kernel: Kernel, operands: Any, n: int, params: tuple[int, ...], stream: Stream
    ) -> None:
        if kernel.layout is Layout.STRIDED:
            self._spilled.add(self.stream(stream.handle))
        super().enqueue(kernel, operands, n, params, stream)

    def stream_destroy(self, handle: Worker) -> None:
        if handle in self._spilled:
            self._spilled.discard(handle)
            self._lost += 2 << 20
        super().stream_destroy(handle)

    def used(self) -> int:
        return super().used() + self._lost
