"""The plugin of OpenCL: every device of every runtime on this machine, through pyopencl."""

from phalanx import hookimpl
from phalanx.vendor import Driver

from .driver import OpenCLDriver
from .interop import (
    buffer_of,
    context_of,
    queue_of,
    use_context,
    wrap_buffer,
    wrap_queue,
)

__all__ = [
    "OpenCLDriver",
    "buffer_of",
    "context_of",
    "phalanx_drivers",
    "queue_of",
    "use_context",
    "wrap_buffer",
    "wrap_queue",
]


@hookimpl
def phalanx_drivers() -> tuple[Driver, ...]:
    """Offer the driver ``opencl``; nothing is imported or asked before a device is."""
    return (OpenCLDriver(),)
