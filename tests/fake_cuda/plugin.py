"""The plugin of a CUDA card that is not there, as a package of its own would have it."""

from __future__ import annotations

from phalanx.device_plugins.cuda import CudaDriver
from phalanx.discovery.hookspecs import hookimpl
from phalanx.vendor import Driver

from .compiler import FakeNvrtc
from .library import FakeCuda


class FakeCudaDriver(CudaDriver):
    """The driver of CUDA, on the fake library and with the fake compiler."""

    name = "cudafake"

    def __init__(self, library: FakeCuda | None = None, compiler: FakeNvrtc | None = None) -> None:
        self.fake = library or FakeCuda()
        self.compiler = compiler or FakeNvrtc()
        super().__init__(lambda: self.fake, lambda *_: self.compiler)


@hookimpl
def phalanx_drivers() -> tuple[Driver, ...]:
    """Offer the driver ``cudafake``."""
    return (FakeCudaDriver(),)
