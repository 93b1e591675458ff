"""``__array_namespace_info__``: what the namespace supports."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from phalanx._warm import DTYPES, Device, DType, default_complex, default_float
from phalanx.arrays.data_types import int64, isdtype

__array_api_version__ = "2025.12"
_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", __array_api_version__)
_STANDARD = tuple(d for d in DTYPES if d.name not in ("float16", "bfloat16"))


def namespace(api_version: str | None = None) -> ModuleType:
    """Return the module that implements the standard.

    Raises:
        ValueError: a version that is not implemented.
    """
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(
            f"Array API version {api_version!r} is not implemented; the versions are {_VERSIONS}"
        )
    import phalanx

    return phalanx


class ArrayNamespaceInfo:
    """Capabilities, devices and dtypes of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return the optional features: data-dependent shapes and boolean indexing are there."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the current device, on which new arrays are made."""
        from phalanx.discovery.devices import get_device

        return get_device()

    def default_dtypes(self, *, device: str | Device | None = None) -> dict[str, DType]:
        """Return the dtypes of Python numbers and index results on a device (default: current)."""
        from phalanx.discovery.devices import find_device, get_device

        where = get_device() if device is None else find_device(device)
        return {
            "real floating": default_float(where),
            "complex floating": default_complex(where),
            "integral": int64,
            "indexing": int64,
        }

    def devices(self) -> tuple[Device, ...]:
        """Return all usable devices."""
        from phalanx.discovery.devices import devices

        return devices()

    def dtypes(
        self,
        *,
        device: str | Device | None = None,
        kind: str | tuple[str, ...] | None = None,
    ) -> dict[str, DType]:
        """Return the standard's dtypes that a device supports, of a kind."""
        from phalanx.discovery.devices import find_device, get_device
        from phalanx.driver import Feature

        where = get_device() if device is None else find_device(device)
        found = [d for d in _STANDARD if kind is None or isdtype(d, kind)]
        if not where.info.features & Feature.FP64:
            found = [d for d in found if d.name not in ("float64", "complex128")]
        return {d.name: d for d in found}


def __array_namespace_info__() -> ArrayNamespaceInfo:  # noqa: N807 - the standard's name
    """Return the inspection object of the Array API standard.

    Examples:
        >>> px.__array_namespace_info__().default_dtypes()["indexing"]
        phalanx.int64
    """
    return ArrayNamespaceInfo()
