"""Memory of the fake library, and copies from and to it."""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from phalanx.device_plugins.cuda.api import types

from . import codes

FFI = types()
POISON = 0xDB


class FakeMemory(ABC):
    """Blocks of `cuMemAlloc` and of pinned memory.

    Attributes:
        pinned: bytes of the host that are pinned.
        others: bytes that other processes hold.
        peers: pairs of contexts of which one reaches the other's memory.
    """

    def __init__(self, memory: int) -> None:
        self.pinned = 0
        self.peers: set[tuple[int, int]] = set()
        self._memory = memory
        self.others = 0
        self._blocks: dict[int, np.ndarray[Any, Any]] = {}
        self._sizes: dict[int, int] = {}
        self._owners: dict[int, int] = {}  # the context of each block
        self._hosts: dict[int, Any] = {}

    @abstractmethod
    def _stack(self) -> list[int]:
        """The contexts of this thread."""

    @abstractmethod
    def _enqueue(self, handle: Any, work: Callable[[], None]) -> int:
        """Put work into a stream."""

    @abstractmethod
    def _break(self, code: int, why: str) -> None:
        """The context fails."""

    def live(self) -> int:
        """Return the bytes of device memory in use."""
        return sum(self._sizes.values())

    def _cuMemGetInfo_v2(self, free: Any, total: Any) -> None:
        free[0], total[0] = self._memory - self.live() - self.others, self._memory

    def _cuMemAlloc_v2(self, out: Any, size: int) -> int:
        if size <= 0:
            return codes.INVALID_VALUE
        if self.live() + self.others + size > self._memory:
            return codes.OUT_OF_MEMORY
        whole = np.full(size + 512, POISON, np.uint8)
        address = int(whole.ctypes.data + -whole.ctypes.data % 512)
        self._blocks[address], self._sizes[address] = whole, size
        self._owners[address] = self._stack()[-1]
        out[0] = address
        return codes.SUCCESS

    def _cuMemFree_v2(self, pointer: int) -> int:
        block = self._blocks.pop(int(pointer), None)
        if block is None:
            return codes.INVALID_VALUE
        del self._sizes[int(pointer)], self._owners[int(pointer)]
        block[:] = POISON
        return codes.SUCCESS

    def _cuMemHostAlloc(self, out: Any, size: int, flags: int) -> None:
        assert flags == 0
        room = FFI.new("char[]", size)
        address = int(FFI.cast("uintptr_t", room))
        self._hosts[address] = room
        self.pinned += size
        out[0] = FFI.cast("void *", address)

    def _cuMemFreeHost(self, pointer: Any) -> int:
        room = self._hosts.pop(int(FFI.cast("uintptr_t", pointer)), None)
        if room is None:
            return codes.INVALID_VALUE
        self.pinned -= len(room)
        return codes.SUCCESS

    def _holds(self, address: int, size: int) -> bool:
        return self._owner(address, size) is not None

    def _owner(self, address: int, size: int) -> int | None:
        """The context whose memory has these bytes."""
        for at, known in self._sizes.items():
            if 0 <= address - at <= known - size:
                return self._owners[at]
        return None

    def _copy(self, dst: Any, src: Any, size: int, stream: Any, *ends: int) -> int:
        """Enqueue a copy; ``ends`` tells which of the two are in the device's memory."""
        places = [int(FFI.cast("uintptr_t", place)) for place in (dst, src)]
        if not all(self._holds(places[end], size) for end in ends):
            return codes.INVALID_VALUE

        def copy() -> None:
            if all(self._holds(places[end], size) for end in ends):
                ctypes.memmove(*places, size)
            else:
                self._break(codes.ILLEGAL_ADDRESS, "a copy from or to memory that was given back")

        return self._enqueue(stream, copy)

    def _cuMemcpyHtoDAsync_v2(self, dst: int, src: Any, size: int, stream: Any) -> int:
        return self._copy(dst, src, size, stream, 0)

    def _cuMemcpyDtoHAsync_v2(self, dst: Any, src: int, size: int, stream: Any) -> int:
        return self._copy(dst, src, size, stream, 1)

    def _cuMemcpyDtoDAsync_v2(self, dst: int, src: int, size: int, stream: Any) -> int:
        if self._owner(int(dst), size) != self._owner(int(src), size):
            return codes.INVALID_VALUE
        return self._copy(dst, src, size, stream, 0, 1)

    def _cuDeviceCanAccessPeer(self, out: Any, device: int, peer: int) -> int:
        out[0] = int(device != peer)
        return codes.SUCCESS

    def _cuCtxEnablePeerAccess(self, peer: Any, flags: int) -> int:
        pair = (self._stack()[-1], int(FFI.cast("uintptr_t", peer)))
        if flags or pair[0] == pair[1]:
            return codes.INVALID_VALUE
        if pair in self.peers:
            return codes.PEER_ALREADY
        self.peers.add(pair)
        return codes.SUCCESS

    def _cuMemcpyPeerAsync(
        self, dst: int, to: Any, src: int, of: Any, size: int, stream: Any
    ) -> int:
        owners = [self._owner(int(place), size) for place in (dst, src)]
        if owners != [int(FFI.cast("uintptr_t", context)) for context in (to, of)]:
            return codes.INVALID_VALUE
        return self._copy(dst, src, size, stream, 0, 1)
