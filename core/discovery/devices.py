"""Devices by name, and the current device of each context.

The plugin host is imported at the first request, so that ``import phalanx`` stays light.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import TYPE_CHECKING

from phalanx._warm import current_device, keep_default
from phalanx.driver import DeviceKind
from phalanx.errors import DeviceError, DeviceNotFoundError, PluginError

if TYPE_CHECKING:
    from phalanx._warm import Device

    from .diagnosis import Diagnosis
    from .plugins import PluginHost


class _Memo:
    """What was found with one set of drivers; of no use once that changes."""

    def __init__(self, host: PluginHost) -> None:
        self.host = host
        self.generation = host.generation
        self.default: Device | None = None
        self.named: dict[str, Device] = {}

    def holds(self) -> bool:
        return self.host.generation == self.generation


_memo: _Memo | None = None


def _fresh_memo() -> _Memo:
    global _memo  # noqa: PLW0603 - a cache
    from .plugins import host

    plugs = host()
    plugs.plugins()  # discovery changes the generation
    memo = _memo
    if memo is None or memo.host is not plugs or not memo.holds():
        memo = _memo = _Memo(plugs)
    return memo


def find_device(name: str | Device) -> Device:
    """Return the device that a string stands for; a ``Device`` stands for itself.

    ``"cpu"`` is ``"cpu:0"``; ``"gpu:1"`` is the second-best GPU over all plugins.

    Raises:
        TypeError: for anything else.
        DeviceNotFoundError: with what was found, and why nothing else was.
        PluginConflictError: if two plugins offer the driver.
    """
    memo = _memo
    if isinstance(name, str) and memo is not None and memo.holds():
        found = memo.named.get(name)
        if found is not None:
            return found
    return _look_up(name)


def _look_up(name: str | Device) -> Device:
    from . import aliases

    if not isinstance(name, str):
        from phalanx._warm import Device

        if isinstance(name, Device):
            return name
    parsed = aliases.parse(name)
    found = aliases.resolve(parsed)
    if found.name == str(parsed):  # what an alias means may change with PHALANX_GPU
        _fresh_memo().named[name] = found
    return found


def devices(kind_or_driver: str | DeviceKind | None = None) -> tuple[Device, ...]:
    """Return all devices, or those of one driver or alias; ``devices("gpu")[1]`` is ``gpu:1``.

    A driver that is not installed or does not work has no devices: ``phalanx.why(name)`` tells why.

    Raises:
        DeviceNotFoundError: if the name is not well-formed, or carries a number.

    Examples:
        >>> for found in px.devices("cpu"):
        ...     print(found, found.kind, found.host_addressable)
        cpu:0 cpu True
    """
    from . import aliases
    from .plugins import host

    plugs = host()
    if kind_or_driver is None:
        return tuple(d for name in plugs.drivers() for d in plugs.listing(name).devices)
    name = aliases.parse(kind_or_driver)
    if ":" in kind_or_driver:
        raise DeviceNotFoundError(
            f"a driver or a kind such as {name.base!r} has devices, and {kind_or_driver!r} is one "
            "of them",
            remedy="leave the number out",
        )
    kind = aliases.alias_kind(name.base)
    if kind is not None:
        return aliases.of_kind(kind)
    return plugs.listing(name.base).devices if name.base in plugs.drivers() else ()


def listed_devices() -> tuple[Device, ...]:
    """Return the devices that were asked for so far; lists none anew and loads no plugin."""
    from .plugins import host

    return host().listed()


def device_count(kind_or_driver: str | DeviceKind | None = None) -> int:
    """Return the number of ``devices(kind_or_driver)``.

    Examples:
        >>> px.device_count() == len(px.devices())
        True
    """
    return len(devices(kind_or_driver))


def is_available(name: str | Device) -> bool:
    """Return whether ``find_device`` finds the device; opens nothing.

    Raises:
        TypeError: if it is neither a string nor a Device.
        DeviceNotFoundError: if the string is not a well-formed device name.

    Examples:
        >>> px.is_available("cpu:0"), px.is_available("cpu:99")
        (True, False)
    """
    if isinstance(name, str):
        from . import aliases

        parsed = aliases.parse(name)
        try:
            aliases.resolve(parsed)
        except (DeviceError, PluginError):
            return False
        return True
    return find_device(name) is not None


def why(name: str | Device) -> Diagnosis:
    """Tell, step by step, why a device is usable or not. Opens the device; runs nothing on it.

    The result prints as a readable chain: installed, importable, ABI, library, device, capability.

    Raises:
        TypeError: if it is neither a string nor a Device.
        DeviceNotFoundError: if the string is not a well-formed device name.

    Examples:
        >>> print(px.why("cpu:0"))
        cpu:0: usable
          installed   ok       plugin 'cpu' ...
    """
    from . import diagnosis

    return diagnosis.why(name)


def set_device(name: str | Device) -> Device:
    """Make a device the current one of this context (thread, task) and return it.

    Raises:
        DeviceNotFoundError: as ``find_device``; the current device stays.

    Examples:
        >>> print(px.set_device("cpu"), px.zeros(3).device)
        cpu:0 cpu:0
    """
    found = find_device(name)
    current_device.set(found)
    return found


def get_device() -> Device:
    """Return the current device of this context.

    Without ``set_device`` it is ``PHALANX_DEVICE``, else ``cpu:0``, else the first device.

    Raises:
        DeviceNotFoundError: if ``PHALANX_DEVICE`` names no device, ``cpu`` is installed and does
            not work, or there is no device at all.

    Examples:
        >>> px.zeros(3).device is px.get_device()
        True
    """
    return current_device.get() or _default_device()


class _Block(ContextDecorator):
    """The device of a ``with`` block, which may be entered again, in several contexts at once."""

    def __init__(self, name: str | Device) -> None:
        self._name = name

    def __enter__(self) -> Device:
        former = current_device.get()
        found = set_device(self._name)
        _entered.set((*_entered.get(), (self, former)))
        return found

    def __exit__(self, *exc_info: object) -> None:
        entered = _entered.get()
        for place in reversed(range(len(entered))):
            block, former = entered[place]
            if block is self:
                _entered.set(entered[:place] + entered[place + 1 :])
                current_device.set(former)
                return


#: The blocks that this context is inside of, each with the device before it.
_entered: ContextVar[tuple[tuple[_Block, Device | None], ...]] = ContextVar("entered", default=())


def device(name: str | Device) -> _Block:
    """Make a device the current one in a ``with`` block; the former one returns, come what may.

    What is returned may be entered again, and decorates functions.

    Examples:
        >>> with px.device("cpu:0") as found:
        ...     print(found, px.zeros(3).device)
        cpu:0 cpu:0
    """
    return _Block(name)


def _default_device() -> Device:
    memo = _memo
    if memo is None or not memo.holds():
        memo = _fresh_memo()
    if memo.default is None:
        memo.default = _find_default()
    keep_default(memo.default, memo.host, memo.generation)
    return memo.default


def _refuse_broken_cpu(plugs: PluginHost) -> None:
    """Raise if ``cpu`` is installed and not usable: nothing takes its place unasked."""
    from . import aliases
    from .loading import PluginState

    if "cpu" in plugs.drivers():
        listing = plugs.listing("cpu")
        broken = listing.error is not None or bool(listing.broken)
    else:
        broken = "cpu" in plugs.conflicts() or any(
            plugin.name == "cpu" and plugin.state is PluginState.FAILED
            for plugin in plugs.plugins()
        )
    if broken:
        raise DeviceNotFoundError(
            "there is no default device, because the CPU cannot be used: "
            f"{aliases.why_missing(aliases.DeviceName('cpu'))}\n"
            "  to work on another device, name it in PHALANX_DEVICE or phalanx.set_device()\n"
            "  `phalanx why cpu:0` shows every step"
        )


def _find_default() -> Device:
    wanted = os.environ.get("PHALANX_DEVICE")
    if wanted is not None:
        wanted = wanted.strip()
        try:
            return find_device(wanted)
        except DeviceNotFoundError as error:
            raise DeviceNotFoundError(f"PHALANX_DEVICE={wanted!r}: {error}") from None
    from . import aliases
    from .plugins import host

    plugs = host()
    if "cpu" in plugs.drivers() and plugs.listing("cpu").devices:
        return plugs.listing("cpu").devices[0]
    _refuse_broken_cpu(plugs)
    found = devices()
    if found:
        return found[0]
    lines = "\n".join(f"  {line}" for line in aliases.absences())
    raise DeviceNotFoundError(f"there is no device at all\n{lines or '  no plugin is installed'}")
