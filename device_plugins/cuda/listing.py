"""Which CUDA devices there are, and what is known of each without opening it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from phalanx.device_code.recipe import Traits
from phalanx.errors import DeviceError
from phalanx.vendor import DeviceInfo, DeviceKind, Feature

from .api import Api, CudaError
from .errors import not_started

# Numbers of attributes: CUDA Driver API reference, 12.9, "CUdevice_attribute".
_THREADS_PER_BLOCK = 1
_SHARED_MEMORY_PER_BLOCK = 8
_MULTIPROCESSORS = 16
_COMPUTE_MODE = 20
_CAPABILITY = (75, 76)
_SINGLE_TO_DOUBLE = 87
#: The major capability whose products of matrices of double were compared with chains of fma.
_MATRIX_F64 = 9
_VIRTUAL_MEMORY = 102
#: Compute mode in which no context may be made.
_PROHIBITED = 2
#: For the aliases: above the same card seen through OpenCL.
_SCORE = 1000
#: DLDeviceType kDLCUDA of DLPack.
_DLPACK_CUDA = 2
#: What `cuMemAlloc` promises at least: CUDA C++ Programming Guide, 12.9, 7.3.
_ALIGNMENT = 256


@dataclass(frozen=True, slots=True)
class Found:
    """A device: the driver's number, what is known of it, and its compute capability.

    Attributes:
        prohibited: whether no context may be made.
        virtual_memory: whether memory can be put behind addresses.
    """

    raw: Any
    info: DeviceInfo
    traits: Traits
    capability: tuple[int, int]
    prohibited: bool = False
    virtual_memory: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """All devices that the driver shows, and the CUDA version that it knows."""

    api: Api
    devices: tuple[Found, ...]
    version: tuple[int, int]


def list_devices(api: Api) -> Listing:
    """Start the driver and ask it for its devices.

    Raises:
        DeviceError: the driver does not begin, or has no device, with the remedy.
    """
    try:
        api.call("cuInit", 0)
        version = _version(int(api.get("cuDriverGetVersion", "int")))
        count = int(api.get("cuDeviceGetCount", "int"))
        devices = tuple(_describe(api, index, version) for index in range(count))
    except CudaError as error:
        raise not_started(error) from error
    if not devices:
        raise not_started(CudaError(100, "no device", "cuDeviceGetCount"))
    return Listing(api, devices, version)


def _version(number: int) -> tuple[int, int]:
    return number // 1000, number % 1000 // 10


def version_text(version: tuple[int, int]) -> str:
    """Return a version as in ``12.8``."""
    return f"{version[0]}.{version[1]}"


def _describe(api: Api, index: int, version: tuple[int, int]) -> Found:
    raw = api.get("cuDeviceGet", "CUdevice", index)

    def attribute(number: int) -> int:
        return int(api.get("cuDeviceGetAttribute", "int", number, raw))

    major, minor = (attribute(number) for number in _CAPABILITY)
    units = attribute(_MULTIPROCESSORS)
    total = int(api.get("cuDeviceTotalMem_v2", "size_t", raw))
    uuid = api.get("cuDeviceGetUuid_v2", "CUuuid", raw)
    info = DeviceInfo(
        api.text("cuDeviceGetName", raw),
        DeviceKind.GPU,
        Feature.FP64 | Feature.FP16 | Feature.SUBNORMALS,
        total_memory=total,
        max_allocation=total,
        alignment=_ALIGNMENT,
        compute_units=units,
        score=_SCORE,
        uuid=bytes(api.ffi.buffer(uuid.bytes)),
        pci_address=api.text("cuDeviceGetPCIBusId", raw).lower(),
        dlpack_device=(_DLPACK_CUDA, index),
        vendor="NVIDIA",
        driver_version=f"CUDA {version_text(version)}",
    )
    traits = Traits(
        fp64=True,
        fp16=True,
        is_cpu=False,
        compute_units=units,
        local_memory=attribute(_SHARED_MEMORY_PER_BLOCK),
        max_work_group=attribute(_THREADS_PER_BLOCK),
        max_allocation=total,
        forward_progress=True,
        double_cost=attribute(_SINGLE_TO_DOUBLE),
        matrix_f64=major == _MATRIX_F64,
    )
    prohibited = attribute(_COMPUTE_MODE) == _PROHIBITED
    virtual_memory = attribute(_VIRTUAL_MEMORY) == 1
    return Found(raw, info, traits, (major, minor), prohibited, virtual_memory)


def check_usable(found: Found, name: str) -> None:
    """Raise DeviceError for a device that may not be opened, with the remedy."""
    if found.prohibited:
        raise DeviceError(
            f"{name} ({found.info.name}) is in the compute mode 'prohibited'",
            remedy="let it be used: nvidia-smi --compute-mode=DEFAULT",
        )
