"""Devices by name, and the current device of each context."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from . import aliases
from .driver import DeviceKind
from .errors import DeviceError, DeviceNotFoundError, PluginError
from .plugins import host

if TYPE_CHECKING:
    from ._warm import Device

_current: ContextVar[Device | None] = ContextVar("phalanx_device", default=None)
#: The default device, with the host and its generation for which it was found.
_default: tuple[object, int, Device] | None = None


def find_device(name: str | Device) -> Device:
    """Return the device that a string stands for; a ``Device`` stands for itself.

    ``"cpu"`` is ``"cpu:0"``; ``"gpu:1"`` is the second-best GPU over all plugins.

    Raises:
        TypeError: for anything else.
        DeviceNotFoundError: with what was found, and why nothing else was.
        PluginConflictError: if two plugins offer the driver.
    """
    if isinstance(name, str):
        return aliases.resolve(aliases.parse(name))
    from ._warm import Device

    if isinstance(name, Device):
        return name
    return aliases.resolve(aliases.parse(name))


def devices(kind_or_driver: str | DeviceKind | None = None) -> tuple[Device, ...]:
    """Return all devices, or those of one driver or alias; ``devices("gpu")[1]`` is ``gpu:1``.

    A driver that is not installed or does not work has no devices: ``phalanx.why(name)`` tells why.

    Raises:
        DeviceNotFoundError: if the name is not well-formed, or carries a number.
    """
    plugs = host()
    if kind_or_driver is None:
        return tuple(d for name in plugs.drivers() for d in plugs.listing(name).devices)
    name = aliases.parse(kind_or_driver)
    if ":" in kind_or_driver:
        raise DeviceNotFoundError(
            f"devices() takes a driver or a kind such as {name.base!r}, not the device "
            f"{kind_or_driver!r}; find_device() finds a single one"
        )
    kind = aliases.alias_kind(name.base)
    if kind is not None:
        return aliases.of_kind(kind)
    return plugs.listing(name.base).devices if name.base in plugs.drivers() else ()


def listed_devices() -> tuple[Device, ...]:
    """Return the devices that were asked for so far; lists none anew and loads no plugin."""
    return host().listed()


def device_count(kind_or_driver: str | DeviceKind | None = None) -> int:
    """Return the number of ``devices(kind_or_driver)``."""
    return len(devices(kind_or_driver))


def is_available(name: str | Device) -> bool:
    """Return whether ``find_device`` finds the device; opens nothing.

    Raises:
        TypeError: if it is neither a string nor a Device.
        DeviceNotFoundError: if the string is not a well-formed device name.
    """
    if isinstance(name, str):
        parsed = aliases.parse(name)
        try:
            aliases.resolve(parsed)
        except (DeviceError, PluginError):
            return False
        return True
    return find_device(name) is not None


def set_device(name: str | Device) -> Device:
    """Make a device the current one of this context (thread, task) and return it.

    Raises:
        DeviceNotFoundError: as ``find_device``; the current device stays.
    """
    found = find_device(name)
    _current.set(found)
    return found


def get_device() -> Device:
    """Return the current device of this context.

    Where ``set_device`` was not called it is ``PHALANX_DEVICE``, else ``cpu:0``, else the first device.

    Raises:
        DeviceNotFoundError: if ``PHALANX_DEVICE`` names no device, or there is none at all.
    """
    return _current.get() or _default_device()


@contextmanager
def device(name: str | Device) -> Iterator[Device]:
    """Make a device the current one in a ``with`` block; the one before returns, whatever happens."""
    before = _current.get()
    found = set_device(name)
    try:
        yield found
    finally:
        _current.set(before)


def _default_device() -> Device:
    global _default
    plugs = host()
    if _default is not None and _default[:2] == (plugs, plugs.generation):
        return _default[2]
    found = _find_default()
    _default = (plugs, plugs.generation, found)
    return found


def _find_default() -> Device:
    wanted = os.environ.get("PHALANX_DEVICE", "").strip()
    if wanted:
        try:
            return find_device(wanted)
        except DeviceNotFoundError as error:
            raise DeviceNotFoundError(f"PHALANX_DEVICE={wanted!r}: {error}") from None
    plugs = host()
    if "cpu" in plugs.drivers() and plugs.listing("cpu").devices:
        return plugs.listing("cpu").devices[0]
    found = devices()
    if found:
        return found[0]
    lines = "\n".join(f"  {line}" for line in aliases.absences())
    raise DeviceNotFoundError(f"there is no device at all\n{lines or '  no plugin is installed'}")
