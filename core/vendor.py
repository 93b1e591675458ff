"""What plugins are made of: the interface of drivers, and arrays as kernels see them.

A plugin imports this module, `phalanx` itself, `phalanx.errors` and `phalanx.optable`; nothing else
of the core is promised to it. A class is described where it is defined.
"""

from __future__ import annotations

from ._warm import (
    Array,
    Buffer,
    Device,
    DType,
    Kernel,
    Stream,
    begin_use,
    current_stream,
    dtype_from_name,
    empty,
    reinterpret,
    scalar_bytes,
    view,
    wrap_host,
)
from .arrays.data_types import as_dtype
from .discovery.declarations import Declarations, ExpectedFailure, Unsupported, Waiver
from .discovery.devices import find_device
from .discovery.plugins import host
from .dispatch.launches import recorded_launches
from .driver import (
    Capability,
    DeviceInfo,
    DeviceKind,
    Driver,
    Feature,
    Layout,
    OpenDevice,
    Operand,
    Place,
    PreparedLaunch,
    Refusal,
    alignment_problem,
)
from .runtime.limited_wait import LimitedWait
from .runtime.locks import ForkSafeLock
from .runtime.staging import LEAST_STAGED, SLOT_SIZE, Slot, Staging
from .runtime.waiting import Deadline, check_timeout, wait_until
from .steps import Status, Step
from .virtual_memory import VirtualMemory

__all__ = [
    "LEAST_STAGED",
    "SLOT_SIZE",
    "Array",
    "Buffer",
    "Capability",
    "DType",
    "Deadline",
    "Declarations",
    "Device",
    "DeviceInfo",
    "DeviceKind",
    "Driver",
    "ExpectedFailure",
    "Feature",
    "ForkSafeLock",
    "Kernel",
    "Layout",
    "LimitedWait",
    "OpenDevice",
    "Operand",
    "Place",
    "PreparedLaunch",
    "Refusal",
    "Slot",
    "Staging",
    "Status",
    "Step",
    "Stream",
    "Unsupported",
    "VirtualMemory",
    "Waiver",
    "alignment_problem",
    "as_dtype",
    "begin_use",
    "check_timeout",
    "current_stream",
    "dtype_from_name",
    "empty",
    "find_device",
    "host",
    "recorded_launches",
    "reinterpret",
    "scalar_bytes",
    "view",
    "wait_until",
    "wrap_host",
]
