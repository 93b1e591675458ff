"""Blocks of a driver, written and read by its own copies on the default stream."""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
from phalanx._warm import Array, Device
from phalanx.driver import Capability, DeviceKind, Feature, OpenDevice, Place

#: Seconds within which memory that was freed is told to be free.
_SOON = 0.3
Bytes = npt.NDArray[np.uint8]


def place_of(x: Array, offset: int = 0) -> Place:
    """Return where a byte of an array lies, from its first element on."""
    return Place(x.device.ensure_open(), x.buffer.handle, x.offset + offset)


def write_block(device: Device, handle: int, data: Bytes, offset: int = 0) -> None:
    """Put bytes into a block; waits."""
    block = Place(device.ensure_open(), handle, offset)
    _copy(device, block, Place(None, data.ctypes.data), data.size)


def read_block(device: Device, handle: int, size: int, offset: int = 0) -> Bytes:
    """Return bytes of a block; waits."""
    found = np.zeros(size, np.uint8)
    block = Place(device.ensure_open(), handle, offset)
    _copy(device, Place(None, found.ctypes.data), block, size)
    return found


def check_bytes(found: Bytes, want: Bytes, what: str) -> None:
    """Fail with how many bytes are wrong, and which is the first."""
    wrong = np.flatnonzero(found != want)
    assert not wrong.size, (
        f"{what}: {wrong.size} bytes are wrong, the first at {wrong[0]}: got {found[wrong[0]]}, "
        f"want {want[wrong[0]]}"
    )


def has_own_memory(device: Device) -> bool:
    """Tell whether a device has memory that is not the host's, of which others take any time."""
    shared = Feature.UNIFIED_MEMORY | Feature.HOST_ADDRESSABLE
    return device.info.kind is not DeviceKind.CPU and not device.info.features & shared


def free_memory(opened: OpenDevice, least: float) -> int:
    """Return the free memory, once it is so much or memory that was freed would be free, too."""
    if Capability.TRIM in opened.capabilities:
        opened.trim()
    end = time.monotonic() + _SOON
    while (free := opened.memory_info()[0]) < least and time.monotonic() < end:
        time.sleep(0.01)
    return free


def _copy(device: Device, dst: Place, src: Place, size: int) -> None:
    device.ensure_open().copy(dst, src, size, stream=device.default_stream)
    device.synchronize()
