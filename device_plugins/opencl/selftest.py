"""The self-test of a device's compiler, run when the device is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from phalanx.device_code.recipe import Program, Traits
from phalanx.device_code.selftest import measured
from phalanx.errors import CompileError

if TYPE_CHECKING:
    from .device import OpenCLDevice


def tested(device: OpenCLDevice) -> Traits:
    """Return a device's traits as its compiler has them; see `measured`. Blocks.

    A program that does not compile proves nothing: the first kernel that is needed will say why.

    Raises:
        DeviceError: no kernel could be right.
    """
    cl = device.cl

    def run(program: Program, given: bytes, size: int) -> bytes:
        kernel = device.bound_kernel(program, "probe", "the self-test")
        source = cl.Buffer(
            device.context,
            cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR,
            hostbuf=np.frombuffer(given, np.uint8),
        )
        target = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, size)
        first = bytes(8)  # both begin at element 0
        for place, value in enumerate((source, first, target, first)):
            (kernel.set_bytes if type(value) is bytes else kernel.set_arg)(place, value)
        result = np.empty(size, np.uint8)
        queue = device.queue.raw
        cl.enqueue_nd_range_kernel(queue, kernel.raw, (1,), (1,))
        cl.enqueue_copy(queue, result, target, is_blocking=True)
        return result.tobytes()

    try:
        return measured(run, device.traits, device.name)
    except CompileError:
        return device.traits
    except cl.Error as error:
        raise device.failure(error, "the self-test") from error
