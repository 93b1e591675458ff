"""Addresses of the reference device, which memory comes and goes behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.errors import LaunchError, OutOfMemoryError
from phalanx.virtual_memory import VirtualMemory

if TYPE_CHECKING:
    from .device import ReferenceDevice


class ReferenceMemory(VirtualMemory):
    """Ranges of a `ReferenceDevice`: a wrong call of the core is an error, and so is an access.

    Attributes:
        granularity: the driver's ``page``.
    """

    def __init__(self, device: ReferenceDevice) -> None:
        self.granularity = device.driver.page
        self._device = device
        #: Of each range, by its handle: the bytes of a page, and which pages have memory.
        self._pages: dict[int, tuple[int, set[int]]] = {}

    def reserve(self, size: int, page: int) -> int:
        """Return the handle of addresses."""
        device = self._device
        device.check()
        assert page % self.granularity == 0 < page
        assert size % page == 0 < size
        with device.driver.lock:
            if device.driver.faults.reserve:
                raise OutOfMemoryError(f"{device.name}: no {size} bytes of addresses", size=size)
            handle = device.keep(size)
            self._pages[handle] = (page, set())
        return handle

    def map(self, handle: int, offset: int, size: int) -> None:
        """Put memory behind pages that have none."""
        device, driver = self._device, self._device.driver
        device.check()
        with driver.lock:
            new, mapped = self._range(handle, offset, size)
            driver.map_calls += 1
            if new & mapped:
                raise LaunchError(f"{device.name}: memory {handle} has pages {new & mapped}")
            if driver.map_calls in driver.faults.map or size > device.free_bytes():
                raise OutOfMemoryError(f"{device.name}: no {size} bytes", size=size)
            mapped |= new
        device.poison(handle, offset, size)

    def unmap(self, handle: int, offset: int, size: int) -> None:
        """Take the memory of pages away."""
        device = self._device
        device.check()
        with device.driver.lock:
            old, mapped = self._range(handle, offset, size)
            if device.driver.faults.unmap is not None:
                raise device.driver.faults.unmap
            if old - mapped:
                raise LaunchError(f"{device.name}: memory {handle} has no pages {old - mapped}")
        device.poison(handle, offset, size)
        with device.driver.lock:
            mapped -= old

    def release(self, handle: int) -> None:
        """Forget addresses that have no memory."""
        device = self._device
        if device.driver.faults.release is not None:
            raise device.driver.faults.release
        if self._pages[handle][1]:
            raise LaunchError(f"{device.name}: memory {handle} has pages still")
        del self._pages[handle]
        del device.blocks[handle]

    def _range(self, handle: int, offset: int, size: int) -> tuple[set[int], set[int]]:
        """Return the numbers of some pages, and those of its range that have memory."""
        page, mapped = self._pages[handle]
        assert offset % page == size % page == 0 < size
        assert offset + size <= self._device.blocks[handle].size
        return set(range(offset // page, (offset + size) // page)), mapped

    def used(self) -> int:
        """Return the bytes of memory behind all ranges."""
        return sum(page * len(mapped) for page, mapped in list(self._pages.values()))

    def reserved(self) -> int:
        """Return the bytes of addresses."""
        return sum(self._device.blocks[handle].size for handle in list(self._pages))

    def has(self, handle: int, offset: int, size: int) -> bool:
        """Return whether memory is behind some bytes; so it is where the handle is no range's."""
        if handle not in self._pages or not size:
            return True
        page, mapped = self._pages[handle]
        return mapped.issuperset(range(offset // page, (offset + size - 1) // page + 1))
