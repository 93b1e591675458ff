"""A module that looks like pyopencl as far as the listing of devices goes, with faults to order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class Error(Exception):
    """A failed call, as pyopencl has it."""

    def __init__(self, routine: str, code: int, text: str) -> None:
        super().__init__(f"{routine} failed: {text}")
        self.routine = routine
        self.code = code


class Platform:
    """A platform with devices, or with the error that listing them gives."""

    def __init__(self, name: str, devices: list[Any] | Error) -> None:
        self.name = name
        self.version = "OpenCL 1.2 fake"
        self._devices = devices

    def get_devices(self) -> list[Any]:
        if isinstance(self._devices, Error):
            raise self._devices
        return self._devices


def make_device(name: str = "Fake", **changes: Any) -> Any:
    """Return a device with the properties that the driver asks for."""
    properties = {
        "name": name,
        "vendor": "Fake Corp",
        "version": "OpenCL 1.2 fake",
        "driver_version": "1",
        "type": 4,
        "available": True,
        "compiler_available": True,
        "extensions": "",
        "single_fp_config": 0x87,
        "max_compute_units": 4,
        "local_mem_size": 32768,
        "max_work_group_size": 256,
        "preferred_vector_width_float": 1,
        "global_mem_size": 2**30,
        "max_mem_alloc_size": 2**28,
        "mem_base_addr_align": 1024,
        "host_unified_memory": False,
    }
    return SimpleNamespace(**{**properties, **changes})


def make_runtime(platforms: list[Platform] | Error, context: Error | None = None) -> Any:
    """Return the module; ``context`` is the error of making a context."""

    def get_platforms() -> list[Platform]:
        if isinstance(platforms, Error):
            raise platforms
        return platforms

    def make_context(devices: list[Any]) -> Any:
        if context is not None:
            raise context
        return SimpleNamespace(devices=devices)

    return SimpleNamespace(
        VERSION_TEXT="0",
        Error=Error,
        get_platforms=get_platforms,
        Context=make_context,
        device_type=SimpleNamespace(CPU=2, GPU=4),
        status_code=SimpleNamespace(to_string=lambda code, _: {-6: "OUT_OF_HOST_MEMORY"}[code]),
    )
