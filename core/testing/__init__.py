"""A reference driver without hardware, for tests of programs, of plugins and of the core."""

from __future__ import annotations

from .device import ReferenceDevice
from .driver import Faults, Launch, ReferenceDriver
from .kernels import HostArray
from .ranges import ReferenceMemory
from .streams import EventHandle, Marker, Task, Worker
from .work import Tensor, Work

__all__ = [
    "EventHandle",
    "Faults",
    "HostArray",
    "Launch",
    "Marker",
    "ReferenceDevice",
    "ReferenceDriver",
    "ReferenceMemory",
    "Task",
    "Tensor",
    "Work",
    "Worker",
]
