"""The plugin of the simulated accelerator: ``device="simchip:0"``, whose driver is a C library."""

from __future__ import annotations

from pathlib import Path

import phalanx as px
from phalanx.device_plugins.native import load_library
from phalanx.vendor import Declarations, Device, Driver, Unsupported


@px.hookimpl
def phalanx_drivers() -> list[Driver]:
    """Offer the library's driver to the core; its kernels are called without Python between."""
    return [load_library(Path(__file__).with_name("libsimchip.so"))]


@px.hookimpl
def phalanx_conformance(device: Device) -> Declarations | None:
    """Say what is known of the device; the suite checks that it is so."""
    lacking = Unsupported("the chip has no exponential", op="softmax")
    return Declarations(unsupported=(lacking,)) if device.driver.name == "simchip" else None
