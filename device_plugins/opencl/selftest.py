"""The self-test of a device's compiler, run when the device is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from phalanx.device_code.recipe import Program, Traits
from phalanx.device_code.selftest import Run, measured
from phalanx.errors import CompileError, DeviceError
from phalanx.kernels_opencl.cores import serial

if TYPE_CHECKING:
    from .device import OpenCLDevice

#: Vectors pass through the runtime's functions, which may be compiled for another processor than
#: the kernels are: 16 numbers of 8 bytes, then as many bytes that are added to them.
_VECTORS = Program("""
PHX_KERNEL(1) probe(PHX_INPUT(i64, x), PHX_OUTPUT(i64, y)) {
    i64 kept[16];
    vstore16(vload16(0, PHX_DATA(x)), 0, kept);
    const long16 more = convert_long16(vload16(0, (__global const char *)(PHX_DATA(x) + 16)));
    vstore16(vload16(0, kept) + more, 0, PHX_DATA(y));
}
""")


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
        traits = measured(run, device.traits, device.name)
        if serial(traits):
            _check_vectors(run, device.name)
        return traits
    except CompileError:
        return device.traits
    except cl.Error as error:
        raise device.failure(error, "the self-test") from error


def _check_vectors(run: Run, name: str) -> None:
    """See that vectors survive the runtime's functions, which kernels for processors call.

    Raises:
        DeviceError: they do not.
    """
    numbers = np.arange(16, dtype=np.int64) << 33
    more = np.arange(16, dtype=np.int8) - 8
    found = np.frombuffer(run(_VECTORS, numbers.tobytes() + more.tobytes(), 128), np.int64)
    if not np.array_equal(found, numbers + more):
        raise DeviceError(
            f"{name}: the runtime's own vload16, vstore16 and conversions lose elements (found by "
            "the self-test), so kernels would compute wrong: it links a library for another "
            "processor than it compiles for; use a newer release of the runtime"
        )
