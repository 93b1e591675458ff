"""From the runtime's error codes to the errors of Phalanx, with the code's name and the call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from phalanx.errors import (
    DeviceLostError,
    DriverCallError,
    LaunchError,
    OutOfMemoryError,
    PhalanxError,
)

#: Names by code: OpenCL 3.0 API specification, appendix "Error Codes"; -9999 is NVIDIA's for an
#: access outside of the memory of a buffer.
_EXTRA_NAMES = {-1001: "PLATFORM_NOT_FOUND_KHR", -9999: "NVIDIA_ILLEGAL_ACCESS"}
#: OpenCL's name of a call where pyopencl's error has its own.
_CALLS = {
    "Context": "clCreateContext",
    "CommandQueue": "clCreateCommandQueue",
    "create_buffer": "clCreateBuffer",
}
_NO_MEMORY = frozenset((-4, -5, -6))
_NO_ALLOCATION = _NO_MEMORY | {-61}
#: The device itself, or the context and queue that died with it.
_LOST = frozenset((-2, -34, -36, -9999))


def code_name(cl: ModuleType, code: int) -> str:
    """Return a code's name as in the specification, such as ``CL_OUT_OF_RESOURCES``."""
    name = _EXTRA_NAMES.get(code) or cl.status_code.to_string(code, "%d")
    return name if name.lstrip("-").isdigit() else f"CL_{name}"


def is_loss(code: int) -> bool:
    """Tell whether the device does not answer any more."""
    return code in _LOST


def lost(device: str, what: str, name: str) -> DeviceLostError:
    """Return the error for a device that does not answer any more."""
    return DeviceLostError(
        f"{device} is lost: {what} failed with {name}. Arrays on it are gone",
        remedy="save what is on "
        "other devices and start the process anew. The system's log (dmesg) may say why.",
    )


def translate(cl: ModuleType, error: Any, device: str, what: str, size: int = 0) -> PhalanxError:
    """Return the error for a failed call of the runtime.

    ``what`` says what was done, for a person; ``size`` is the bytes of an allocation, else 0.
    """
    code = int(getattr(error, "code", 0))
    routine = str(getattr(error, "routine", ""))
    call = _CALLS.get(routine, routine)
    name = code_name(cl, code)
    launched = "launch of" in what
    # CL_OUT_OF_RESOURCES of a launch is about registers and local memory.
    if code in (_NO_ALLOCATION if size else _NO_MEMORY) and not (launched and code == -5):
        return OutOfMemoryError(
            f"{device} has no memory for {what}: {call} failed with {name}", size=size
        )
    if code in _LOST:
        return lost(device, what, name)
    text = f"{what} on {device}: {call} failed with {name}"
    if launched:
        return LaunchError(text)
    return DriverCallError(text, code=code, name=name, call=call)


@contextlib.contextmanager
def translated(cl: ModuleType, device: str, what: str, size: int = 0) -> Iterator[None]:
    """Turn the runtime's errors in the block into ours."""
    try:
        yield
    except cl.Error as error:
        raise translate(cl, error, device, what, size) from error
