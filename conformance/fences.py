"""Arrays between pages that nobody may touch: who reads or writes beside them dies of it."""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import phalanx as px

from .reference.formats import host_dtype

if TYPE_CHECKING:
    from phalanx._warm import Array, Device

    from .layouts import HostArray

#: The protection of a page that may be neither read nor written.
_NO_ACCESS = 0


def can_fence(device: Device) -> bool:
    """Tell whether a device works on memory of the host in its place, and pages can be barred."""
    try:
        px.asarray(np.zeros(8, np.int32), device=device, copy=False)
    except (BufferError, ValueError):
        return False
    return hasattr(_libc(), "mprotect")


class Fenced:
    """An array that begins or ends where a barred page does, by ``at_end``.

    Attributes:
        array: the array, on a device that works on memory of the host.
    """

    def __init__(self, device: Device, values: HostArray, *, at_end: bool) -> None:
        page = mmap.PAGESIZE
        inside = max(page, -(-values.nbytes // page) * page)
        self._map = mmap.mmap(-1, inside + 2 * page)
        whole = np.frombuffer(self._map, np.uint8)
        first = page + (inside - values.nbytes if at_end else 0)
        self._host = whole[first : first + values.nbytes].view(values.dtype).reshape(values.shape)
        self._host[...] = values
        for place in (0, page + inside):
            _bar(whole.ctypes.data + place, page)
        self.array: Array = px.asarray(self._host, device=device, copy=False)

    def read(self) -> HostArray:
        """Return the elements; waits."""
        return np.array(px.asnumpy(self.array))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _bar(address: int, size: int) -> None:
    libc = _libc()
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), _NO_ACCESS):
        raise OSError(ctypes.get_errno(), "mprotect")


def room_between(device: Device, shape: tuple[int, ...], dtype: str, *, at_end: bool) -> Fenced:
    """Return an array of zeros, for a result."""
    return Fenced(device, np.zeros(shape, host_dtype(dtype)), at_end=at_end)
