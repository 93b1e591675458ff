"""Blocks of a driver, written and read by its own copies on the default stream."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from phalanx.driver import Place

from .case import Case

Bytes = npt.NDArray[np.uint8]


def write_block(case: Case, handle: int, data: Bytes, offset: int = 0) -> None:
    """Put bytes into a block; waits."""
    block = Place(case.device.ensure_open(), handle, offset)
    _copy(case, block, Place(None, data.ctypes.data), data.size)


def read_block(case: Case, handle: int, size: int, offset: int = 0) -> Bytes:
    """Return bytes of a block; waits."""
    found = np.zeros(size, np.uint8)
    block = Place(case.device.ensure_open(), handle, offset)
    _copy(case, Place(None, found.ctypes.data), block, size)
    return found


def _copy(case: Case, dst: Place, src: Place, size: int) -> None:
    case.device.ensure_open().copy(dst, src, size, stream=case.device.default_stream)
    case.device.synchronize()
