"""The driver ``cuda``: NVIDIA's cards, through their driver and the run-time compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from phalanx.device_plugins.listed import Listed
from phalanx.kernels_cuda.nvrtc import Compiler, compiler_for
from phalanx.vendor import DeviceInfo, Driver, Step

from .api import Api, Library, load
from .device import CudaDevice
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
        self._compiler = compiler
        self._listed: Listed[Listing, CudaDevice] = Listed(
            self.name, "CUDA", lambda: list_devices(Api(library()))
        )

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
        device = CudaDevice(listing.api, found, compiler, name)
        self._listed.opened.add(device)
        return device
