"""The plugin of the emulated devices, as a stranger's package would have it."""

from __future__ import annotations

from phalanx.discovery.hookspecs import hookimpl
from phalanx.vendor import Driver

from .driver import EmulatedDriver


@hookimpl
def phalanx_drivers() -> tuple[Driver, ...]:
    """Offer the driver ``emulated``."""
    return (EmulatedDriver(),)
