"""From the driver's codes to the errors of Phalanx, with the code's name and the call."""

from __future__ import annotations

from phalanx.errors import (
    DeviceError,
    DeviceLostError,
    DriverCallError,
    LaunchError,
    OutOfMemoryError,
    PhalanxError,
)

from .api import CudaError

# Codes: CUDA Driver API reference, 12.9, "CUresult".
_NO_MEMORY = 2
#: The context is gone, or every further call in it returns the same error.
_LOST = frozenset((4, 46, 101, 201, 214, 220, 700, 702, 709, 710, *range(714, 720), 999))
_LAUNCH_ONLY = frozenset((1, 701))

_DRIVER = "update NVIDIA's driver, or reboot if it was just updated"
_SMI = "`nvidia-smi` says what the driver sees"
#: What to do where the driver does not begin.
_REMEDIES = {
    34: "a stub of the toolkit is in the way of the driver's libcuda.so.1: take its folder "
    "(.../lib64/stubs) out of LD_LIBRARY_PATH",
    35: _DRIVER,
    46: "another process has the device for itself, or it is in an error state: " + _SMI,
    100: "there is no NVIDIA GPU, it is hidden by CUDA_VISIBLE_DEVICES, or MIG is enabled and has "
    "no instance; " + _SMI,
    101: _SMI,
    304: "this process may not open the devices /dev/nvidia*: give it the permission, or start the "
    "container with --gpus all",
    802: "NVIDIA's fabric manager is not running: systemctl start nvidia-fabricmanager",
    803: "the driver's library and its kernel module differ in version: " + _DRIVER,
    804: "the compatibility package does not support this device: take it out of LD_LIBRARY_PATH",
    999: "the driver's kernel module is in a bad state: " + _SMI,
}


def not_started(error: CudaError) -> DeviceError:
    """Return the error for a driver that cannot be used at all, or for one of its devices."""
    remedy = _REMEDIES.get(error.code, _SMI)
    return DeviceError(f"NVIDIA's driver does not work: {error}", remedy=remedy)


def is_loss(error: CudaError) -> bool:
    """Return whether work failed, and its device with it."""
    return error.code in _LOST


def lost(device: str, what: str, error: CudaError) -> DeviceLostError:
    """Return the error for a device whose context has failed."""
    return DeviceLostError(
        f"{device} is lost: {what} failed with {error.name} in {error.call}. Arrays on it are gone",
        remedy="save what is on other devices and start the process anew; CUDA_LAUNCH_BLOCKING=1 "
        "makes each launch report its own failure, compute-sanitizer finds the line",
    )


def translate(error: CudaError, device: str, what: str, size: int = 0) -> PhalanxError:
    """Return the error for a failed call of the driver.

    ``what`` says what was done, for a person; ``size`` is the bytes of an allocation, else 0.
    """
    if error.code == _NO_MEMORY:
        return OutOfMemoryError(f"{device} has no memory for {what}: {error}", size=size)
    if is_loss(error):
        return lost(device, what, error)
    text = f"{what} on {device}: {error}"
    if error.code in _LAUNCH_ONLY and "launch of" in what:
        return LaunchError(text)
    return DriverCallError(text, code=error.code, name=error.name, call=error.call)
