"""What a vendor implements where the device maps memory: addresses apart from what is behind."""

from __future__ import annotations

from abc import ABC, abstractmethod


class VirtualMemory(ABC):
    """Addresses of a device that memory comes and goes behind, page by page.

    What `OpenDevice.virtual_memory` returns where the device can do this. The pool then grows in
    place, and gives back every page that nobody uses; pages are multiples of ``granularity`` bytes.
    Every method may be called from any thread, several at a time for different pages of a range.
    """

    granularity: int

    @abstractmethod
    def reserve(self, size: int, page: int) -> int:
        """Return the handle of ``size`` bytes of addresses, without memory.

        They are mapped and unmapped in whole pages of ``page`` bytes, of which ``size`` is a
        multiple and which is one of ``granularity``. Aligned to ``DeviceInfo.alignment`` at least.

        Raises:
            OutOfMemoryError: if there are no such addresses; the core uses ``alloc`` then.
        """

    @abstractmethod
    def map(self, handle: int, offset: int, size: int) -> None:
        """Put new memory behind pages that have none; none of them has any if this raises.

        Raises:
            OutOfMemoryError: if the device has not so much; the core trims and tries again.
        """

    @abstractmethod
    def unmap(self, handle: int, offset: int, size: int) -> None:
        """Take the memory of pages away, which may come from several ``map``; work with it is done.

        All of them have it still if this raises.
        """

    @abstractmethod
    def release(self, handle: int) -> None:
        """Undo ``reserve``; no page has memory any more."""
