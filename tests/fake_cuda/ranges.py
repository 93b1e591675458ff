"""Memory of the fake library that comes and goes behind addresses."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import codes
from .memory import FFI, POISON, FakeMemory

#: Bytes; what cards have.
GRANULARITY = 2**21
#: Memory of the host comes when it is written, however much more is asked for than there is.
_ADDRESSES = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0x4000)


@dataclass
class _Physical:
    """Memory of a device without an address; gone when it is neither held nor mapped."""

    size: int
    device: int
    is_held: bool = True
    is_mapped: bool = False


@dataclass
class _Mapping:
    memory: _Physical
    #: Devices that may read and write.
    access: set[int] = field(default_factory=set)


class FakeRanges(FakeMemory):
    """What the CUDA Driver API reference has as "Virtual Memory Management"."""

    def __init__(self, memory: int) -> None:
        super().__init__(memory)
        self._ranges: dict[int, np.ndarray[Any, Any]] = {}
        self._physical: dict[int, _Physical] = {}
        self._mappings: dict[int, _Mapping] = {}

    def live(self) -> int:
        """Return the bytes of device memory in use."""
        found = [each.size for each in self._physical.values() if each.is_held or each.is_mapped]
        return super().live() + sum(found)

    def physical_sizes(self) -> list[int]:
        """Return the size of each piece of memory that was ever made for addresses."""
        return [each.size for each in self._physical.values()]

    def left_behind(self) -> list[str]:
        """What of ranges is there still: addresses, memory, and memory that nothing reaches."""
        return [
            *(f"addresses {at:#x}" for at in self._ranges),
            *(f"memory at {at:#x}" for at in self._mappings),
            *(f"a handle of {each.size}" for each in self._physical.values() if each.is_held),
        ]

    def access_at(self, address: int) -> set[int]:
        """The devices that may use what is at an address."""
        mapping = next(m for at, m in self._mappings.items() if 0 <= address - at < m.memory.size)
        return mapping.access

    def _cuMemGetAllocationGranularity(self, out: Any, prop: Any, option: int) -> int:
        out[0] = GRANULARITY
        return codes.SUCCESS if self._is_good(prop) and option in (0, 1) else codes.INVALID_VALUE

    def _is_good(self, prop: Any) -> bool:
        """Whether pinned memory of one device is asked for, and nothing else."""
        wanted = FFI.new("CUmemAllocationProp *")
        wanted.type = wanted.location.type = 1
        wanted.location.id = prop.location.id
        return bytes(FFI.buffer(prop, FFI.sizeof("CUmemAllocationProp"))) == bytes(
            FFI.buffer(wanted)
        )

    def _cuMemAddressReserve(
        self, out: Any, size: int, alignment: int, address: int, flags: int
    ) -> int:
        if size <= 0 or size % GRANULARITY or alignment or address or flags:
            return codes.INVALID_VALUE
        whole = np.frombuffer(mmap.mmap(-1, size + GRANULARITY, flags=_ADDRESSES), np.uint8)
        at = int(whole.ctypes.data + -whole.ctypes.data % GRANULARITY)
        self._ranges[at] = whole[at - whole.ctypes.data :][:size]
        out[0] = at
        return codes.SUCCESS

    def _cuMemAddressFree(self, address: int, size: int) -> int:
        whole = self._ranges.get(int(address))
        if whole is None or whole.size != size or self._within(int(address), size):
            return codes.INVALID_VALUE
        del self._ranges[int(address)]
        return codes.SUCCESS

    def _cuMemCreate(self, out: Any, size: int, prop: Any, flags: int) -> int:
        if size <= 0 or size % GRANULARITY or flags or not self._is_good(prop):
            return codes.INVALID_VALUE
        if self.live() + self.others + size > self._memory:
            return codes.OUT_OF_MEMORY
        out[0] = len(self._physical) + 1
        self._physical[int(out[0])] = _Physical(int(size), int(prop.location.id))
        return codes.SUCCESS

    def _cuMemRelease(self, handle: int) -> int:
        memory = self._physical.get(int(handle))
        if memory is None or not memory.is_held:
            return codes.INVALID_VALUE
        memory.is_held = False
        return codes.SUCCESS

    def _cuMemMap(self, address: int, size: int, offset: int, handle: int, flags: int) -> int:
        memory = self._physical.get(int(handle))
        if memory is None or not memory.is_held or memory.is_mapped:
            return codes.INVALID_VALUE
        room = self._room(int(address), int(size))
        if room is None or offset or flags or size != memory.size or self._within(address, size):
            return codes.INVALID_VALUE
        room[:] = POISON
        memory.is_mapped = True
        self._mappings[int(address)] = _Mapping(memory)
        return codes.SUCCESS

    def _room(self, address: int, size: int) -> np.ndarray[Any, Any] | None:
        """The bytes of a range at an address."""
        for at, whole in self._ranges.items():
            if at <= address and address + size <= at + whole.size:
                return whole[address - at :][:size]
        return None

    def _within(self, address: int, size: int) -> list[int]:
        """Where mappings are that have a byte in common with some addresses, in order."""
        end = address + size
        found = [
            at for at, m in self._mappings.items() if at < end and at + m.memory.size > address
        ]
        return sorted(found)

    def _whole(self, address: int, size: int) -> list[int] | None:
        """The mappings that fill some addresses, each of them whole; ``None`` if none do."""
        found, at = self._within(address, size), address
        for each in found:
            if each != at:
                return None
            at += self._mappings[each].memory.size
        return found if at == address + size else None

    def _cuMemUnmap(self, address: int, size: int) -> int:
        found = self._whole(int(address), int(size))
        room = self._room(int(address), int(size))
        if not found or room is None:
            return codes.INVALID_VALUE
        for at in found:
            self._mappings.pop(at).memory.is_mapped = False
        room[:] = POISON
        return codes.SUCCESS

    def _cuMemSetAccess(self, address: int, size: int, desc: Any, count: int) -> int:
        found = self._whole(int(address), int(size))
        right = all(desc[i].location.type == 1 and desc[i].flags == 3 for i in range(count))
        if not found or count <= 0 or not right:
            return codes.INVALID_VALUE
        for at in found:
            self._mappings[at].access |= {int(desc[i].location.id) for i in range(count)}
        return codes.SUCCESS

    def _owner(self, address: int, size: int) -> int | None:
        """The context whose memory has these bytes: one of the device that may use them all."""
        found = self._within(address, size)
        if not found:
            return super()._owner(address, size)
        mappings = [self._mappings[at] for at in found]
        end = found[-1] + mappings[-1].memory.size
        gaps = any(
            a + m.memory.size != b for a, m, b in zip(found, mappings, found[1:], strict=False)
        )
        devices = {m.memory.device for m in mappings}
        allowed = all(m.memory.device in m.access for m in mappings)
        if gaps or len(devices) != 1 or not allowed or address < found[0] or address + size > end:
            return None
        return 1000 + devices.pop()
