"""Faults of memory: allocation, offsets, copies, what is reported of it."""

from __future__ import annotations

from dataclasses import replace

from phalanx._warm import Array, Stream
from phalanx.driver import DeviceInfo, Direction, Layout
from phalanx.errors import OutOfMemoryError

from .device import MEMORY, SoundDriver, Tensor
from .fault import driver_fault


@driver_fault("runtime")
class OutOfMemoryIsRuntimeError(SoundDriver):
    """Too large a request raises RuntimeError, so that the core does not trim and try again."""

    def alloc(self, index: int, size: int) -> int:
        try:
            return super().alloc(index, size)
        except OutOfMemoryError as error:
            raise RuntimeError(f"error 2: {error}") from None


@driver_fault("runtime")
class MemoryOvercommitted(SoundDriver):
    """Too large a request succeeds, and only its use fails."""

    def alloc(self, index: int, size: int) -> int:
        try:
            return super().alloc(index, size)
        except OutOfMemoryError:
            return super().alloc(index, 4096)


@driver_fault("runtime")
class LargestAllocationOverstated(SoundDriver):
    """No block above an eighth of the stated largest allocation can be had."""

    def alloc(self, index: int, size: int) -> int:
        if size > self.device_info(index).max_allocation // 8:
            raise OutOfMemoryError(f"{self.name}:{index}: no {size} bytes", size=size)
        return super().alloc(index, size)


@driver_fault("runtime")
class AlignmentUnderstated(SoundDriver):
    """Kernels need addresses of 256 bytes, but 64 are stated; lower bits are dropped."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        return replace(super().tensor(x, dtype, layout), offset=x.offset // 256 * 256)


@driver_fault("ops")
class MisalignedOffsetRoundedDown(SoundDriver):
    """Vector loads of contiguous kernels drop the lower four bits of an address."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        found = super().tensor(x, dtype, layout)
        if layout is Layout.CONTIGUOUS and x.size >= 4:
            return replace(found, offset=x.offset // 16 * 16)
        return found


@driver_fault("ops")
class ViewOffsetIgnored(SoundDriver):
    """Contiguous kernels begin at the start of an array's memory, wherever the view begins."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        found = super().tensor(x, dtype, layout)
        if layout is Layout.CONTIGUOUS:
            return replace(found, offset=x.buffer.offset)
        return found


@driver_fault("runtime")
class FreedMemoryNeverReturns(SoundDriver):
    """Memory that is given back is not available again."""

    def free(self, index: int, handle: int) -> None:
        pass


@driver_fault("runtime")
class MemoryInfoSwapped(SoundDriver):
    """Free and total memory are reported in each other's place."""

    def memory_info(self, index: int) -> tuple[int, int]:
        free, total = super().memory_info(index)
        return total, free


@driver_fault("runtime")
class TotalMemoryOfAllDevices(SoundDriver):
    """The properties of a device state the memory of all devices together."""

    def device_info(self, index: int) -> DeviceInfo:
        return replace(super().device_info(index), total_memory=2 * MEMORY)


@driver_fault("runtime")
class DevicesShareMemory(SoundDriver):
    """The device number is ignored: memory of device 1 is that of device 0."""

    def alloc(self, index: int, size: int) -> int:
        handle = super().alloc(index, size)
        with self._lock:
            same = [
                h
                for h, owner in self._owners.items()
                if owner != index and self._blocks[h].size == size
            ]
            if same:
                self._blocks[handle] = self._blocks[same[0]]
        return handle


@driver_fault("runtime")
class DevicesShareIdentity(SoundDriver):
    """Two devices state one UUID."""

    def device_info(self, index: int) -> DeviceInfo:
        return super().device_info(0)


class _CopyFault(SoundDriver):
    """A device whose copies get other arguments than were given."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        """Return the offsets and the size that are used."""
        return dst_offset, src_offset, size

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
        dst_offset, src_offset, size = self.changed(direction, dst_offset, src_offset, size)
        super().copy(index, direction, dst, dst_offset, src, src_offset, size, stream=stream)


@driver_fault("runtime")
class CopyIgnoresTargetOffset(_CopyFault):
    """A copy inside the device writes to the start of its target."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        inside = direction is Direction.DEVICE_TO_DEVICE
        return (0 if inside else dst_offset), src_offset, size


@driver_fault("runtime")
class CopyIgnoresSourceOffset(_CopyFault):
    """A copy inside the device reads from the start of its source."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        inside = direction is Direction.DEVICE_TO_DEVICE
        return dst_offset, (0 if inside else src_offset), size


@driver_fault("runtime")
class ReadIgnoresHostOffset(_CopyFault):
    """A copy to the host ignores the offset in the host's memory."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        outward = direction is Direction.DEVICE_TO_HOST
        return (0 if outward else dst_offset), src_offset, size


@driver_fault("runtime")
class CopyRoundsOffsetDown(_CopyFault):
    """A copy from the host to an offset that is not a multiple of 4 bytes begins before it."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        inward = direction is Direction.HOST_TO_DEVICE
        return (dst_offset // 4 * 4 if inward else dst_offset), src_offset, size


@driver_fault("runtime")
class CopyInWholeWords(_CopyFault):
    """A copy leaves out the bytes behind the last whole 4."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        return dst_offset, src_offset, size // 4 * 4


@driver_fault("runtime")
class LargeCopyInWholeLines(_CopyFault):
    """A copy of more than 4096 bytes leaves out those behind the last whole 64."""

    def changed(
        self, direction: Direction, dst_offset: int, src_offset: int, size: int
    ) -> tuple[int, int, int]:
        return dst_offset, src_offset, size // 64 * 64 if size > 4096 else size


@driver_fault("runtime")
class FillPatternCutShort(SoundDriver):
    """A fill with a pattern of more than 4 bytes repeats its first 4."""

    def fill(
        self, index: int, dst: int, offset: int, size: int, pattern: bytes, *, stream: Stream
    ) -> bool:
        return super().fill(index, dst, offset, size, pattern[:4], stream=stream)


@driver_fault("runtime")
class FillIgnoresOffset(SoundDriver):
    """A fill begins at the start of the block."""

    def fill(
        self, index: int, dst: int, offset: int, size: int, pattern: bytes, *, stream: Stream
    ) -> bool:
        return super().fill(index, dst, 0, size, pattern, stream=stream)
