"""Which OpenCL devices there are, and why others are not: platforms, devices, their properties."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from phalanx.device_code.recipe import Traits
from phalanx.errors import DeviceError
from phalanx.vendor import DeviceInfo, DeviceKind, Feature

from .pocl import name_processor

_INSTALL = 'pip install "phalanx[opencl]" brings pyopencl and PoCL, which runs on any processor'
_LOADER = "install an OpenCL loader (Debian and Ubuntu: ocl-icd-libopencl1; Fedora: ocl-icd)"
#: Query numbers of cl_khr_device_uuid and cl_khr_pci_bus_info: OpenCL extension specification.
_DEVICE_UUID = 0x106A
_PCI_BUS_INFO = 0x410F
#: Bits of CL_DEVICE_SINGLE_FP_CONFIG: OpenCL 3.0 API specification, table 5.
_DENORM = 1 << 0
_EXACT_DIVISION = 1 << 7
#: For the aliases: a vendor's own driver of the same hardware should rank above these.
_SCORES = {DeviceKind.GPU: 100, DeviceKind.ACCELERATOR: 50, DeviceKind.CPU: 1}
_DISCRETE = 50
#: Intel's runtime for discrete cards says 4 GiB, and gives larger blocks if this flag of the buffer
#: and this option of the compiler ask for them (intel/compute-runtime, issue 627). The option costs
#: address arithmetic, but without it any kernel may get a block that it cannot reach.
UNRESTRICTED = 1 << 23
LARGE_OPTION = "-cl-intel-greater-than-4GB-buffer-required"
_NVIDIA, _AMD, _INTEL = 0x10DE, 0x1002, 0x8086
#: Compute capabilities of NVIDIA's with one unit for double beside two for float32.
_NVIDIA_FAST = ((6, 0), (7, 0), (7, 2), (8, 0), (9, 0), (10, 0))
#: DLDeviceType kDLOpenCL of DLPack.
_DLPACK_OPENCL = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A device of a platform: pyopencl's objects, and what is known without opening it.

    ``target`` is the processor that PoCL compiles for where it had to be told, else empty.
    ``unrestricted``: blocks beyond ``max_mem_alloc_size`` are asked for with `UNRESTRICTED`.
    """

    platform: Any
    device: Any
    info: DeviceInfo
    traits: Traits
    target: str = ""
    unrestricted: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """All usable devices, in the order of the platforms, and what was found but cannot be used."""

    devices: tuple[Found, ...]
    platforms: tuple[str, ...]
    problems: tuple[str, ...]


class NotInstalledError(DeviceError):
    """pyopencl is not there: OpenCL is not wanted, or not yet."""


def import_pyopencl() -> ModuleType:
    """Return the module ``pyopencl``.

    Raises:
        NotInstalledError: it is not installed.
        DeviceError: it does not work, or finds no OpenCL loader, with what to install.
    """
    try:
        import pyopencl
    except ModuleNotFoundError as error:
        if error.name != "pyopencl":
            raise DeviceError(
                f"pyopencl needs the module {error.name!r}", remedy=_INSTALL
            ) from error
        raise NotInstalledError("pyopencl is not installed", remedy=_INSTALL) from error
    except (ImportError, OSError) as error:
        text = " ".join(str(error).split())
        if "libOpenCL" in text:
            raise DeviceError(f"there is no OpenCL loader ({text})", remedy=_LOADER) from error
        raise DeviceError(
            f"pyopencl does not import ({text})", remedy=f"reinstall it: {_INSTALL}"
        ) from error
    module: ModuleType = pyopencl
    return module


def list_devices() -> Listing:
    """Ask every platform for its devices; one that fails becomes a problem, the others go on.

    Raises:
        DeviceError: no pyopencl, no loader or no platform, or no device on any platform.
    """
    cl = import_pyopencl()
    platforms = _platforms(cl)
    devices: list[Found] = []
    names: list[str] = []
    problems = broken_runtimes()
    for platform in platforms:
        name = _platform_name(cl, platform)
        names.append(name)
        try:
            found = platform.get_devices()
        except cl.Error as error:
            problems.append(f"platform {name} fails to list its devices ({error_text(error)})")
            continue
        if not found:
            problems.append(f"platform {name} has no device")
        for device in found:
            try:
                devices.append(_describe(cl, platform, device, len(devices)))
            except (cl.Error, DeviceError) as error:
                problems.append(f"a device of platform {name}: {error_text(error)}")
    if not devices:
        raise DeviceError("; ".join(problems), remedy=_INSTALL)
    return Listing(tuple(devices), tuple(names), tuple(problems))


def _platforms(cl: ModuleType) -> list[Any]:
    try:
        platforms = list(cl.get_platforms())
    except cl.Error as error:
        if "PLATFORM_NOT_FOUND" not in error_text(error):
            raise DeviceError(
                f"the OpenCL loader fails to list its platforms ({error_text(error)})",
                remedy=_INSTALL,
            ) from error
        platforms = []
    if not platforms:
        broken = "".join(f", and {problem}" for problem in broken_runtimes())
        raise DeviceError(
            f"the OpenCL loader finds no platform, that is no vendor's runtime{broken}",
            remedy=_INSTALL,
        )
    return platforms


def broken_runtimes() -> list[str]:
    """Return what is wrong with the runtimes that are installed and that the loader passes over.

    The loader reads one library's name per ``.icd`` file, and says nothing of one that it cannot
    load: cl_khr_icd in the OpenCL extension specification; ``OCL_ICD_VENDORS`` is ocl-icd's.
    """
    if sys.platform != "linux":
        return []
    variables = (os.environ.get(name) for name in ("OPENCL_VENDOR_PATH", "OCL_ICD_VENDORS"))
    place = Path(next((value for value in variables if value), "/etc/OpenCL/vendors"))
    problems = []
    for file in sorted(place.glob("*.icd")) if place.is_dir() else [place]:
        try:
            library = file.read_text(encoding="utf-8").strip()
            ctypes.CDLL(library)
        except (OSError, ValueError) as error:
            if file.exists():
                problems.append(f"the runtime of {file} does not load ({error_text(error)})")
    return problems


def _platform_name(cl: ModuleType, platform: Any) -> str:
    try:
        return str(platform.name).strip()
    except cl.Error:
        return "without a name"


def error_text(error: BaseException) -> str:
    """Return the message of an error on one line."""
    return " ".join(str(error).split()) or type(error).__name__


def _kind(cl: ModuleType, device: Any) -> DeviceKind:
    if device.type & cl.device_type.GPU:
        return DeviceKind.GPU
    return DeviceKind.CPU if device.type & cl.device_type.CPU else DeviceKind.ACCELERATOR


def _describe(cl: ModuleType, platform: Any, device: Any, index: int) -> Found:
    if not device.available:
        raise DeviceError(f"{device.name.strip()} says that it is not available")
    if not device.compiler_available:
        raise DeviceError(f"{device.name.strip()} has no compiler")
    kind = _kind(cl, device)
    unified = bool(_optional(cl, lambda: device.host_unified_memory, kind is DeviceKind.CPU))
    unrestricted = kind is DeviceKind.GPU and not unified and _takes_unrestricted(cl, device)
    most = int(device.global_mem_size if unrestricted else device.max_mem_alloc_size)
    traits = replace(
        _traits(device, kind, most),
        double_cost=_double_cost(cl, device),
        forward_progress=kind is DeviceKind.GPU and _goes_on(cl, device),
    )
    features = Feature(0)
    for flag, present in (
        (Feature.FP64, traits.fp64),
        (Feature.FP16, traits.fp16),
        (Feature.SUBNORMALS, traits.subnormals),
        (Feature.UNIFIED_MEMORY, unified),
    ):
        features |= flag if present else Feature(0)
    info = DeviceInfo(
        name=f"{device.name.strip()} ({_platform_name(cl, platform)})",
        kind=kind,
        features=features,
        total_memory=int(device.global_mem_size),
        max_allocation=most,
        alignment=max(64, _power_of_two(device.mem_base_addr_align // 8)),
        compute_units=traits.compute_units,
        score=_SCORES[kind] + (0 if unified else _DISCRETE),
        uuid=_uuid(cl, device),
        pci_address=_pci_address(cl, device),
        dlpack_device=(_DLPACK_OPENCL, index),
        vendor=device.vendor.strip(),
        driver_version=device.driver_version.strip(),
    )
    return Found(platform, device, info, traits, name_processor(device), unrestricted)


def _takes_unrestricted(cl: ModuleType, device: Any) -> bool:
    """Return whether a device is of Intel's runtime NEO, and says less than its memory."""
    vendor: int = _optional(cl, lambda: int(device.vendor_id), 0)
    less = int(device.max_mem_alloc_size) < int(device.global_mem_size)
    return vendor == _INTEL and str(device.version).endswith("NEO") and less


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _traits(device: Any, kind: DeviceKind, most: int) -> Traits:
    extensions = set(device.extensions.split())
    config = int(device.single_fp_config)
    number = device.version.split()[1].split(".")
    return Traits(
        fp64="cl_khr_fp64" in extensions,
        fp16="cl_khr_fp16" in extensions,
        is_cpu=kind is DeviceKind.CPU,
        compute_units=int(device.max_compute_units),
        local_memory=int(device.local_mem_size),
        max_work_group=int(device.max_work_group_size),
        vector_width=max(1, int(device.preferred_vector_width_float)),
        version=(int(number[0]), int(number[1])),
        exact_division=bool(config & _EXACT_DIVISION),
        subnormals=bool(config & _DENORM),
        max_allocation=most,
    )


def _goes_on(cl: ModuleType, device: Any) -> bool:
    """Return whether groups of a GPU that have begun go on though others wait for them.

    OpenCL does not promise it; the GPUs of these vendors do so, as all others that were examined in
    Sorensen et al., Portable inter-workgroup barrier synchronisation for GPUs, OOPSLA 2016.
    """
    vendor = _optional(cl, lambda: int(device.vendor_id), 0)
    atomics = "cl_khr_int64_base_atomics" in device.extensions.split()
    return atomics and vendor in (_NVIDIA, _AMD, _INTEL)


def _double_cost(cl: ModuleType, device: Any) -> int:
    """Return how many operations of float32 take the time of one of double; 2 if it is not known.

    NVIDIA: CUDA C++ Programming Guide, 12.9, table "Throughput of Native Arithmetic Instructions".
    AMD's consumer cards from RDNA (gfx10) on: RDNA Architecture, white paper, 2019.
    """
    extensions = device.extensions
    if "cl_nv_device_attribute_query" in extensions:
        number = _optional(cl, lambda: _nvidia_capability(device), _NVIDIA_FAST[0])
        return 2 if number in _NVIDIA_FAST else 64
    if "cl_amd_device_attribute_query" in extensions:
        return 16 if _optional(cl, lambda: int(device.gfxip_major_amd), 0) >= 10 else 2
    return 2


def _nvidia_capability(device: Any) -> tuple[int, int]:
    return int(device.compute_capability_major_nv), int(device.compute_capability_minor_nv)


def _optional(cl: ModuleType, ask: Callable[[], Any], absent: Any) -> Any:
    """Return an answer that not every runtime has."""
    try:
        return ask()
    except (cl.Error, AttributeError, ValueError, TypeError, OSError):
        return absent


def _query(cl: ModuleType, device: Any, number: int, size: int) -> bytes:
    """Return what clGetDeviceInfo writes for a query that pyopencl does not know, or no bytes."""
    # The extension module is linked with the loader, so its handle resolves the loader's symbols.
    get_info = ctypes.CDLL(cl._cl.__file__).clGetDeviceInfo
    get_info.argtypes = (ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t, *[ctypes.c_void_p] * 2)
    room = ctypes.create_string_buffer(size)
    written = ctypes.c_size_t(0)
    status = get_info(device.int_ptr, number, size, room, ctypes.byref(written))
    return room.raw if status == 0 and written.value == size else b""


def _uuid(cl: ModuleType, device: Any) -> bytes:
    """Return 16 bytes, or none where the runtime does not tell."""
    if "cl_khr_device_uuid" not in device.extensions:
        return b""
    found: bytes = _optional(cl, lambda: _query(cl, device, _DEVICE_UUID, 16), b"")
    return found if any(found) else b""


def _pci_address(cl: ModuleType, device: Any) -> str:
    """Return ``domain:bus:device.function`` in hexadecimal, or an empty string."""
    bus = None
    if "cl_khr_pci_bus_info" in device.extensions:
        info = _optional(cl, lambda: _query(cl, device, _PCI_BUS_INFO, 16), b"")
        bus = struct.unpack("=4I", info) if info else None
    if bus is None and "cl_nv_device_attribute_query" in device.extensions:
        bus = _optional(cl, lambda: _nvidia_bus(device), None)
    if bus is None and "cl_amd_device_attribute_query" in device.extensions:
        bus = _optional(cl, lambda: _amd_bus(device), None)
    if bus is None:
        return ""
    return f"{bus[0]:04x}:{bus[1]:02x}:{bus[2]:02x}.{bus[3]:x}"


def _nvidia_bus(device: Any) -> tuple[int, int, int, int]:
    slot = int(device.pci_slot_id_nv)
    return int(device.pci_domain_id_nv), int(device.pci_bus_id_nv), slot >> 3, slot & 7


def _amd_bus(device: Any) -> tuple[int, int, int, int]:
    place = device.topology_amd
    return 0, int(place.bus) & 0xFF, int(place.device), int(place.function)
