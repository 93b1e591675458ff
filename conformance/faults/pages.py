"""Faults of memory behind addresses: which pages have it, and what is in them."""

from __future__ import annotations

from phalanx.errors import OutOfMemoryError
from phalanx.testing import ReferenceMemory
from phalanx.vendor import Device

from .device import SoundDevice, SoundDriver
from .fault import driver_fault

_PAGE = 1 << 16


class PagedDriver(SoundDriver):
    """Devices whose memory comes in pages of 64 KiB; the kind of it is of the class."""

    memory_kind: type[ReferenceMemory] = ReferenceMemory

    def __init__(self, cpu: Device) -> None:
        super().__init__(cpu, _device_of(self.memory_kind))
        self.page = _PAGE


def _device_of(memory_kind: type[ReferenceMemory]) -> type[SoundDevice]:
    class PagedDevice(SoundDevice):
        def __init__(self, driver: SoundDriver, index: int) -> None:
            super().__init__(driver, index)
            self.ranges = memory_kind(self)

    return PagedDevice


class _SpoilsBefore(ReferenceMemory):
    def map(self, handle: int, offset: int, size: int) -> None:
        super().map(handle, offset, size)
        if self.has(handle, offset - _PAGE, _PAGE) and offset:
            self._device.poison(handle, offset - _PAGE, _PAGE)


@driver_fault("runtime")
class NewPageClearsTheOneBefore(PagedDriver):
    """Memory that comes behind addresses spoils the page before."""

    memory_kind = _SpoilsBefore


class _SpoilsBehind(ReferenceMemory):
    def unmap(self, handle: int, offset: int, size: int) -> None:
        super().unmap(handle, offset, size)
        end = offset + size
        if end < self._device.blocks[handle].size:
            self._device.poison(handle, end, _PAGE)


@driver_fault("runtime")
class PageTakenWithTheNext(PagedDriver):
    """Memory that is taken away spoils the page behind."""

    memory_kind = _SpoilsBehind


class _Kept(ReferenceMemory):
    lost = 0

    def unmap(self, handle: int, offset: int, size: int) -> None:
        super().unmap(handle, offset, size)
        self.lost += size

    def used(self) -> int:
        return super().used() + self.lost


@driver_fault("runtime")
class PagesStayUsed(PagedDriver):
    """Memory that is taken away from behind addresses does not become free."""

    memory_kind = _Kept


class _Partly(ReferenceMemory):
    def map(self, handle: int, offset: int, size: int) -> None:
        try:
            super().map(handle, offset, size)
        except OutOfMemoryError:
            super().map(handle, offset, _PAGE)
            raise


@driver_fault("runtime")
class RefusedPagesStay(PagedDriver):
    """Of pages that are refused, the first has memory."""

    memory_kind = _Partly
