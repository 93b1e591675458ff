"""Phalanx: one array program, every device, the same numbers.

``phalanx.set_device("gpu:0")`` chooses where arrays are made; the functions are those of the Python
Array API standard 2025.12. Importing this package loads no plugin and touches no hardware. The
examples in the docstrings begin with ``import phalanx as px``.
"""

from __future__ import annotations

from math import e, inf, nan, pi
from typing import TYPE_CHECKING

from . import functions as _functions
from . import namespace as _namespace
from ._warm import Array, Buffer, Device, DType, Event, Kernel, Stream, current_stream
from .arrays.data_types import (
    astype,
    bfloat16,
    bool,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .arrays.interchange import from_dlpack
from .arrays.pickling import map_location
from .arrays.printing import get_printoptions, set_printoptions
from .arrays.promotion import promotion
from .arrays.transfer import asnumpy
from .discovery.devices import (
    device,
    device_count,
    devices,
    get_device,
    is_available,
    set_device,
    why,
)
from .dispatch.fallback import fallback_policy, fallback_report
from .dispatch.registry import kernels, use_deterministic_algorithms
from .driver import (
    Capability,
    DeviceInfo,
    DeviceKind,
    Driver,
    Feature,
    Layout,
    OpenDevice,
    Place,
    Refusal,
)
from .errors import (
    ClosedError,
    CompileError,
    DeviceError,
    DeviceLostError,
    DeviceMismatchError,
    DeviceNotFoundError,
    DriverCallError,
    FallbackWarning,
    KernelError,
    LaunchError,
    OutOfMemoryError,
    PhalanxError,
    PluginConflictError,
    PluginError,
    PluginLoadError,
    SettingError,
    UnsupportedOpError,
)
from .files import load, load_safetensors, save, save_safetensors, savez, savez_compressed
from .namespace import *  # noqa: F403
from .namespace.inspection import __array_api_version__, __array_namespace_info__
from .runtime.allocators import (
    Allocator,
    FaultInjectionAllocator,
    LimitAllocator,
    StatisticsAllocator,
    TrackingAllocator,
    set_allocator,
)
from .runtime.memory import (
    empty_cache,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
    set_memory_limit,
)
from .runtime.streams import hazards, synchronize
from .runtime.threads import get_num_threads, set_num_threads
from .version import __version__

if TYPE_CHECKING:
    from . import fft, linalg, nn, random, special
    from .discovery.hookspecs import hookimpl, hookspec
    from .functions import *  # noqa: F403 - type checkers know them, others load them when used

newaxis = None

__all__ = [
    "Allocator",
    "Array",
    "Buffer",
    "Capability",
    "ClosedError",
    "CompileError",
    "DType",
    "Device",
    "DeviceError",
    "DeviceInfo",
    "DeviceKind",
    "DeviceLostError",
    "DeviceMismatchError",
    "DeviceNotFoundError",
    "Driver",
    "DriverCallError",
    "Event",
    "FallbackWarning",
    "FaultInjectionAllocator",
    "Feature",
    "Kernel",
    "KernelError",
    "LaunchError",
    "Layout",
    "LimitAllocator",
    "OpenDevice",
    "OutOfMemoryError",
    "PhalanxError",
    "Place",
    "PluginConflictError",
    "PluginError",
    "PluginLoadError",
    "Refusal",
    "SettingError",
    "StatisticsAllocator",
    "Stream",
    "TrackingAllocator",
    "UnsupportedOpError",
    "__array_api_version__",
    "__array_namespace_info__",
    "__version__",
    "asnumpy",
    "astype",
    "bfloat16",
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "current_stream",
    "device",
    "device_count",
    "devices",
    "e",
    "empty_cache",
    "fallback_policy",
    "fallback_report",
    "fft",
    "finfo",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "get_default_dtype",
    "get_device",
    "get_num_threads",
    "get_printoptions",
    "hazards",
    "hookimpl",
    "hookspec",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_available",
    "isdtype",
    "kernels",
    "linalg",
    "load",
    "load_safetensors",
    "map_location",
    "memory_stats",
    "memory_summary",
    "nan",
    "newaxis",
    "nn",
    "pi",
    "promotion",
    "random",
    "reset_peak_memory_stats",
    "result_type",
    "save",
    "save_safetensors",
    "savez",
    "savez_compressed",
    "set_allocator",
    "set_default_dtype",
    "set_device",
    "set_memory_limit",
    "set_num_threads",
    "set_printoptions",
    "special",
    "synchronize",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "use_deterministic_algorithms",
    "why",
]
__all__ += _functions.__all__
__all__ += _namespace.__all__


def __getattr__(name: str) -> object:
    """``hookimpl`` and ``hookspec`` need pluggy; the extensions wait until they are used."""
    if name in ("fft", "linalg", "nn", "random", "special"):
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name in ("hookimpl", "hookspec"):
        from .discovery import hookspecs

        return getattr(hookspecs, name)
    if name in _functions.MODULES:
        found: object = getattr(_functions, name)
        globals()[name] = found
        return found
    from .namespace.namesakes import MissingName

    raise MissingName(name, of_array=False)


def __dir__() -> list[str]:
    """The public names and the module's own, not what the modules behind them happen to import."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
