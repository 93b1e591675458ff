"""The plugin of CUDA: NVIDIA's cards, through their driver and NVRTC."""

from phalanx import hookimpl
from phalanx.vendor import Driver

from .driver import CudaDriver

__all__ = ["CudaDriver", "phalanx_drivers"]


@hookimpl
def phalanx_drivers() -> tuple[Driver, ...]:
    """Offer the driver ``cuda``; nothing is loaded or asked before a device is."""
    return (CudaDriver(),)
