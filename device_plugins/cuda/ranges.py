"""Addresses of a CUDA device, which memory comes and goes behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from phalanx.errors import OutOfMemoryError
from phalanx.vendor import ForkSafeLock, VirtualMemory

from .api import CudaError
from .errors import is_loss

if TYPE_CHECKING:
    from .device import CudaDevice

# CUDA Driver API reference, 12.9: CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE,
# CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
_PINNED, _ON_DEVICE, _RECOMMENDED, _READ_WRITE = 1, 1, 1, 3
#: CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_SUPPORTED: what no later call will do either.
_NEVER = (800, 801)


class CudaMemory(VirtualMemory):
    """Ranges of one device: a page is one allocation of the driver's, which cannot be divided.

    Raises:
        CudaError: the driver does not tell the granularity.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device = device
        self._context = device.context
        self._properties = device.api.ffi.new("CUmemAllocationProp *")
        self._properties.type = _PINNED
        self._properties.location.type = _ON_DEVICE
        self._properties.location.id = device.context.device
        self.granularity = int(
            self._context.get(
                "cuMemGetAllocationGranularity", "size_t", self._properties, _RECOMMENDED
            )
        )
        #: Held while memory comes and goes, so that no page misses the access of another card.
        self._lock = ForkSafeLock()
        #: Bytes of each range and of its pages; the addresses of pages with memory; of those that
        #: have it though `map` failed, because it could not be taken away.
        self._sizes: dict[int, tuple[int, int]] = {}
        self._pages: dict[int, set[int]] = {}
        self._left: set[int] = set()
        #: Other cards that copy from here.
        self._readers: list[int] = []
        #: Why nothing can be mapped, though the card says that it can.
        self._never = ""

    def _check(self, size: int) -> None:
        """Raise an error if the device cannot be used, or OutOfMemoryError: then `alloc` serves."""
        self._device.check()
        if self._never:
            raise OutOfMemoryError(f"{self._device.name}: {self._never}", size=size)

    def reserve(self, size: int, page: int) -> int:
        """Return new addresses."""
        self._check(size)
        what = f"the reservation of {size} bytes of addresses"
        try:
            address = int(self._context.get("cuMemAddressReserve", "CUdeviceptr", size, 0, 0, 0))
        except CudaError as error:
            if is_loss(error):
                raise self._device.failure(error, what) from error
            raise OutOfMemoryError(f"{self._device.name}: {what}: {error}", size=size) from error
        with self._lock:
            self._sizes[address] = size, page
            self._pages[address] = set()
        return address

    def map(self, handle: int, offset: int, size: int) -> None:
        """Put memory behind pages, all or none."""
        self._check(size)
        start, page = handle + offset, self._sizes[handle][1]
        with self._lock:
            at = start
            try:
                for at in range(start, start + size, page):
                    self._put(at, page)
                at = start + size
                self._allow(start, size, [self._context.device])
            except BaseException as error:
                self._take_back(start, at - start, page)
                if isinstance(error, CudaError):
                    if error.code in _NEVER:
                        self._never = str(error)
                        self._check(size)
                    what = f"an allocation of {size} bytes"
                    raise self._device.failure(error, what, size) from error
                raise
            with contextlib.suppress(CudaError):  # copies go through the host then
                self._allow(start, size, self._readers)
            self._pages[handle].update(range(start, start + size, page))

    def _put(self, at: int, page: int) -> None:
        """Put new memory behind a page: it lives as long as it is mapped."""
        if at in self._left:
            self._left.remove(at)
            return
        call = self._context.call
        new = "CUmemGenericAllocationHandle"
        memory = self._context.get("cuMemCreate", new, page, self._properties, 0)
        is_mapped = False
        try:
            call("cuMemMap", at, page, 0, memory, 0)
            is_mapped = True
            call("cuMemRelease", memory)
        except BaseException:
            if is_mapped:
                self._take_back(at, page, page)
            with contextlib.suppress(CudaError):
                call("cuMemRelease", memory)
            raise

    def _take_back(self, start: int, size: int, page: int) -> None:
        """Undo what `map` did so far; memory that stays is used by the next `map` of its page."""
        for at in range(start, start + size, page):
            try:
                self._context.call("cuMemUnmap", at, page)
            except CudaError:
                self._left.add(at)

    def _allow(self, start: int, size: int, devices: Iterable[int]) -> None:
        """Let devices read and write."""
        wanted: list[Any] = [((_ON_DEVICE, each), _READ_WRITE) for each in devices]
        if wanted:
            access = self._device.api.ffi.new("CUmemAccessDesc[]", wanted)
            self._context.call("cuMemSetAccess", start, size, access, len(wanted))

    def let_read(self, device: int) -> None:
        """Let another card reach all memory here, from now on.

        Raises:
            CudaError: it cannot reach all that there is.
        """
        with self._lock:
            if device in self._readers:
                return
            for handle, pages in self._pages.items():
                for at in pages:
                    self._allow(at, self._sizes[handle][1], [device])
            self._readers.append(device)

    def unmap(self, handle: int, offset: int, size: int) -> None:
        """Take the memory of pages away; that of a lost device or a parent process went with it."""
        if not self._device.is_usable:
            return
        start = handle + offset
        with self._lock:
            with self._device.translated("giving memory back"):
                self._context.call("cuMemUnmap", start, size)
            self._pages[handle].difference_update(
                range(start, start + size, self._sizes[handle][1])
            )

    def release(self, handle: int) -> None:
        """Give addresses back."""
        if not self._device.is_usable:
            return
        with self._lock, self._device.translated("giving addresses back"):
            size, page = self._sizes[handle]
            for at in self._left & set(range(handle, handle + size, page)):
                self._context.call("cuMemUnmap", at, page)
                self._left.remove(at)
            self._context.call("cuMemAddressFree", handle, size)
            del self._sizes[handle], self._pages[handle]
