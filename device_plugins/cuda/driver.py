"""The driver ``cuda``: NVIDIA's cards, through their driver and the run-time compiler."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any
from weakref import WeakValueDictionary

from phalanx.kernels_cuda.nvrtc import Compiler, compiler_for
from phalanx.vendor import DeviceInfo, Driver, ForkSafeLock, Step

from .api import Api, Library, load
from .device import CudaDevice, fork_error
from .explain import explain
from .listing import Listing, check_usable, list_devices


class CudaDriver(Driver):
    """All CUDA devices that the driver shows. It is loaded, and started, at the first question.

    Args:
        library: returns NVIDIA's library, or what stands for it.
        compiler: returns the compiler for a version of CUDA and a compute capability.
    """

    name = "cuda"

    def __init__(
        self,
        library: Callable[[], Library] = load,
        compiler: Callable[[tuple[int, int], tuple[int, int]], Compiler] = compiler_for,
    ) -> None:
        self._library = library
        self._compiler = compiler
        self._lock = ForkSafeLock()
        self._listing: Listing | None = None
        self._asking = self._forked = False
        self._opened: WeakValueDictionary[int, CudaDevice] = WeakValueDictionary()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _listed(self) -> Listing:
        if self._forked:
            raise fork_error(self.name)
        if self._listing is None:
            with self._lock:
                self._asking = True
                try:
                    self._listing = self._listing or list_devices(Api(self._library()))
                finally:
                    self._asking = False
        return self._listing

    def explain(self) -> Iterable[Step]:
        """Return the steps ``ABI`` and ``library`` of ``phalanx why``."""
        return explain(self._listed, self._compiler)

    def device_count(self) -> int:
        """Return the number of devices that the driver shows."""
        return len(self._listed().devices)

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device without opening it."""
        return self._listed().devices[index].info

    def open(self, index: int) -> CudaDevice:
        """Make the device's primary context and the default stream."""
        listing = self._listed()
        found, name = listing.devices[index], f"{self.name}:{index}"
        check_usable(found, name)
        compiler = self._compiler(listing.version, found.capability)
        device = self._opened[index] = CudaDevice(listing.api, found, compiler, name)
        return device

    def _after_fork(self) -> None:
        """CUDA does not survive a fork: its threads are gone and its locks may be held for ever."""
        if self._listing is not None or self._opened or self._asking:
            self._forked = True
            for device in self._opened.values():
                device.is_forked = True
            _kept_after_fork.append((self._listing, list(self._opened.values())))


#: What the parent of a fork had: destroying it in the child would call into the driver.
_kept_after_fork: list[Any] = []
