"""The plugin of the simulated accelerator: ``device="simchip:0"``.

The driver is the C library beside this file, which the package's build compiles.
"""

from __future__ import annotations

from pathlib import Path

import phalanx as px
from phalanx.device_plugins.native import load_library
from phalanx.vendor import Declarations, Device, Driver, Unsupported

LIBRARY = Path(__file__).with_name("libsimchip.so")

__all__ = ["LIBRARY", "phalanx_conformance", "phalanx_drivers"]


@px.hookimpl
def phalanx_drivers() -> list[Driver]:
    """Offer the library's driver to the core; its kernels are called without Python between."""
    return [load_library(LIBRARY)]


@px.hookimpl
def phalanx_conformance(device: Device) -> Declarations | None:
    """Say what is known of the device."""
    if device.driver.name != "simchip":
        return None
    return Declarations(
        # The suite checks that it is refused, and tells when it is there.
        unsupported=(Unsupported("the chip has no exponential", op="softmax"),),
    )
