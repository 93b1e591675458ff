"""What tests of one card need."""

from __future__ import annotations

import phalanx as px
from phalanx.device_plugins.cuda.device import CudaDevice

from .compiler import FakeNvrtc
from .library import FakeCuda
from .plugin import FakeCudaDriver


class Card:
    """A registered driver ``cudafake`` with its library, its compiler and its first device."""

    def __init__(self, library: FakeCuda) -> None:
        self.library = library
        self.compiler = FakeNvrtc()
        self.driver = FakeCudaDriver(library, self.compiler)

    @property
    def device(self) -> px.Device:
        """The device ``cudafake:0``."""
        return px.devices("cudafake")[0]

    @property
    def opened(self) -> CudaDevice:
        """The open device behind it."""
        opened = self.device.ensure_open()
        assert isinstance(opened, CudaDevice)
        return opened
