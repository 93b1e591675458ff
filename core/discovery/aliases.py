"""Device strings: drivers' names like ``cpu:0``, and aliases like ``gpu:1`` that choose by kind."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phalanx.driver import DeviceKind
from phalanx.errors import DeviceNotFoundError

from .guard import describe
from .loading import Listing, Plugin, PluginState
from .plugins import host

if TYPE_CHECKING:
    from phalanx._warm import Device

_SYNTAX = re.compile(r"([a-z][a-z0-9_]*)(?::(0|[1-9][0-9]{0,8}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class DeviceName:
    """A parsed device string; a missing number is number 0."""

    base: str
    index: int = 0

    def __str__(self) -> str:
        return f"{self.base}:{self.index}"


def parse(name: object) -> DeviceName:
    """Read a device string.

    Raises:
        TypeError: if it is not a string.
        DeviceNotFoundError: if it is not a driver's name or an alias, and perhaps a number.
    """
    if not isinstance(name, str):
        raise TypeError(f"a device is a string such as 'cpu:0' or a Device, {_not_a_name(name)}")
    match = _SYNTAX.fullmatch(name)
    if match is None:
        raise DeviceNotFoundError(_syntax_message(name))
    return DeviceName(match[1], int(match[2] or 0))


def _not_a_name(value: object) -> str:
    """What stands where a device was asked for, and what to write instead."""
    if isinstance(value, int):
        return f"not {value!r}; say of which kind, as in 'gpu:{int(value)}'"
    if hasattr(value, "__dlpack_device__"):
        return f"not an array ({type(value).__name__}); write x.device"
    return f"not {value!r}; phalanx.get_device() returns the current one"


def _syntax_message(name: str) -> str:
    form = "a device is named 'driver' or 'driver:number', for example 'cpu:0' or 'gpu:1'"
    tidy = "".join(name.lower().split())
    if tidy != name and _SYNTAX.fullmatch(tidy):
        form += f"; did you mean {tidy!r}?"
    elif ":" in name:
        form += "; numbers are 0, 1, 2, ..."
    return f"{name!r} is not a device name: {form}"


def alias_kind(base: str) -> DeviceKind | None:
    """Return the kind that a name chooses by, None if it names a driver.

    ``gpu`` and ``accelerator`` always do; ``cpu`` only where no plugin and no driver has that name,
    so that a broken CPU plugin is an error and not another plugin's processor.
    """
    if base not in set(DeviceKind):
        return None
    kind = DeviceKind(base)
    if kind is DeviceKind.CPU:
        plugs = host()
        claimed = base in plugs.drivers() or base in plugs.conflicts()
        if claimed or any(base in (p.name, *p.drivers) for p in plugs.plugins()):
            return None
    return kind


def of_kind(kind: DeviceKind) -> tuple[Device, ...]:
    """Return the devices that ``kind:0``, ``kind:1``, ... stand for.

    All plugins' devices of the kind, best score first, one physical device once. ``PHALANX_GPU``, a
    comma-separated list of devices, takes the place of that for GPUs.

    Raises:
        DeviceNotFoundError: if ``PHALANX_GPU`` names a device that is not there.
    """
    chosen = os.environ.get("PHALANX_GPU", "").strip() if kind is DeviceKind.GPU else ""
    if chosen:
        return tuple(_from_variable(part.strip(), chosen) for part in chosen.split(","))
    return _once(sorted(_all_of_kind(kind), key=lambda device: -device.info.score))


def _all_of_kind(kind: DeviceKind) -> list[Device]:
    plugs = host()
    listed = [device for name in plugs.drivers() for device in plugs.listing(name).devices]
    return [device for device in listed if device.kind is kind]


def _from_variable(name: str, whole: str) -> Device:
    where = f"PHALANX_GPU={whole!r}"
    try:
        parsed = parse(name)
        if parsed.base in set(DeviceKind) and parsed.base not in host().drivers():
            raise DeviceNotFoundError(
                f"{name!r} is an alias", remedy="name a driver's device, like 'cpu:0'"
            )
        return resolve(parsed)
    except DeviceNotFoundError as error:
        raise DeviceNotFoundError(f"{where} does not say what 'gpu' means: {error}") from None


def _once(devices: Iterable[Device]) -> tuple[Device, ...]:
    kept: list[Device] = []
    for device in devices:
        if not any(same_hardware(device, other) for other in kept):
            kept.append(device)
    return tuple(kept)


def same_hardware(a: Device, b: Device) -> bool:
    """Return whether two devices are one piece of hardware: by UUID, else by PCI address.

    Partitions of one card share the address and not the UUID, so that decides where both have one.
    """
    if any(a.info.uuid) and any(b.info.uuid):
        return a.info.uuid == b.info.uuid
    place = _pci(a.info.pci_address)
    return place is not None and place == _pci(b.info.pci_address)


def _pci(address: str) -> tuple[int, ...] | None:
    """Return domain, bus, device and function; drivers write the domain with 0, 4 or 8 digits."""
    match = re.fullmatch(
        r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])", address.strip().lower()
    )
    return tuple(int(part or "0", 16) for part in match.groups()) if match else None


def resolve(name: DeviceName) -> Device:
    """Return the device that a name stands for.

    Raises:
        DeviceNotFoundError: listing what was found, and why each plugin has nothing else.
        PluginConflictError: if two plugins offer the driver.
    """
    plugs = host()
    kind = alias_kind(name.base)
    if kind is not None:
        devices = of_kind(kind)
        if name.index < len(devices):
            return devices[name.index]
    elif name.base in plugs.drivers():
        for device in plugs.listing(name.base).devices:
            if device.index == name.index:
                return device
    elif name.base in plugs.conflicts():
        raise plugs.conflicts()[name.base]
    raise DeviceNotFoundError(not_found(name))


def not_found(name: DeviceName) -> str:
    """Return the message for a well-formed name that stands for no device."""
    lines = [f"no device {str(name)!r}: {why_missing(name)}"]
    plugs = host()
    found = [device for driver in plugs.drivers() for device in plugs.listing(driver).devices]
    names = ", ".join(f"{d.name} ({d.info.name})" for d in found)
    lines.append(f"  found: {names or 'no device at all'}")
    told = lines[0]
    lines += [f"  {absence}" for absence in absences() if absence.reason not in told]
    if guess := _close_match(name):
        lines.append(f"  did you mean {guess!r}?")
    lines.append(f"  `phalanx why {name}` shows every step")
    return "\n".join(lines)


def why_missing(name: DeviceName) -> str:
    """Return why a name stands for no device, with the next step."""
    plugs = host()
    if (kind := alias_kind(name.base)) is not None:
        return _why_no_kind(kind)
    if name.base in plugs.drivers():
        return _why_not_listed(plugs.listing(name.base), name)
    if name.base in plugs.conflicts():
        return str(plugs.conflicts()[name.base])
    for plugin in plugs.plugins():
        if plugin.name == name.base and plugin.reason:
            return f"plugin {plugin.name!r} ({plugin.origin}) is not in use: {plugin.reason}"
    return f"no installed plugin offers a driver {name.base!r}; {how_to_install(name.base)}"


def _why_not_listed(listing: Listing, name: DeviceName) -> str:
    if listing.error is not None:
        return f"driver {name.base!r} has no devices: {describe(listing.error)}"
    if name.index in listing.broken:
        return describe(listing.broken[name.index])
    count = len(listing.devices) + len(listing.broken)
    if count == 1:
        return f"driver {name.base!r} has 1 device, '{name.base}:0'"
    return f"driver {name.base!r} has {count} devices" + (
        f", numbered from 0 to {count - 1}" if count else ""
    )


def _why_no_kind(kind: DeviceKind) -> str:
    count = len(of_kind(kind))
    if kind is DeviceKind.GPU and os.environ.get("PHALANX_GPU", "").strip():
        return f"PHALANX_GPU={os.environ['PHALANX_GPU']!r} names {count} of them"
    if count:
        return f"only {count} of kind {kind.value!r} {'was' if count == 1 else 'were'} found"
    text = f"no plugin has a device of kind {kind.value!r}"
    if kind is DeviceKind.GPU:
        text += "; PHALANX_GPU=cpu:0, for example, lets another device stand for it"
    return text


def how_to_install(driver: str) -> str:
    """Return the next step for a driver that nobody offers."""
    from importlib import metadata

    try:
        extras = metadata.metadata("phalanx").get_all("Provides-Extra") or []
    except metadata.PackageNotFoundError:
        extras = []
    fitting = [extra for extra in extras if extra.rstrip("0123456789") == driver]
    if fitting:
        commands = " or ".join(f'pip install "phalanx[{extra}]"' for extra in fitting)
        return f"try {commands}"
    return "install the package of its vendor, which announces itself as 'phalanx.plugins'"


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a plugin, driver or device is not usable.

    ``base`` is the plugin or driver; ``optional`` tells that nothing is broken: a library that one
    need not have is not installed.
    """

    base: str
    name: str
    reason: str
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def absences() -> list[Absence]:
    """Return the reason for every plugin, driver or device that is not usable."""
    plugs = host()
    found = [Absence(p.name, plugin_line(p), p.reason) for p in plugs.plugins() if p.reason]
    for driver in plugs.drivers():
        found += _absences_of(driver)
    unknown = "no installed plugin is called so"
    found += [
        Absence(name, f"PHALANX_PLUGINS names {name!r}", unknown)
        for name in plugs.unknown_allowed()
    ]
    return found


def _absences_of(driver: str) -> list[Absence]:
    from .diagnosis import missing_part

    plugs = host()
    listing = plugs.listing(driver)
    name = f"{driver} ({plugs.owner(driver)})"
    if listing.error is not None:
        optional = missing_part(plugs.drivers()[driver]) is not None
        return [Absence(driver, name, describe(listing.error), optional)]
    if not listing.devices and not listing.broken:
        return [Absence(driver, name, "the driver works and found no device")]
    return [Absence(driver, f"{driver}:{i}", describe(e)) for i, e in listing.broken.items()]


def plugin_line(plugin: Plugin) -> str:
    """Return a plugin's name and origin, and in one word what became of it."""
    words = {
        PluginState.LOADED: "in part",
        PluginState.FAILED: "broken",
        PluginState.EXCLUDED: "off",
    }
    return f"{plugin.name} ({plugin.origin}, {words[plugin.state]})"


def _close_match(name: DeviceName) -> str:
    import difflib

    bases = {*host().drivers(), *(kind.value for kind in DeviceKind)}
    if name.base in bases:
        return ""
    close = difflib.get_close_matches(name.base, sorted(bases), n=1, cutoff=0.6)
    return f"{close[0]}:{name.index}" if close else ""
