"""How one plugin is loaded, how its offers are judged, and how a driver's devices are listed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from phalanx.driver import DeviceInfo, DeviceKind, Driver, Feature, alignment_problem
from phalanx.errors import DeviceError, PluginConflictError, PluginError, PluginLoadError

from . import requirements
from .guard import Outcome, describe, detail_and_remedy, guard

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from phalanx._warm import Device
    from pluggy import PluginManager

#: Names that stand for the best device of a kind and so cannot name a driver.
RESERVED = ("gpu", "accelerator")
#: The distribution whose drivers keep their names.
OURS = "phalanx"
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MOST_DEVICES = 4096
#: The fields of a description by type.
_FIELDS: dict[type, tuple[str, ...]] = {
    DeviceKind: ("kind",),
    Feature: ("features",),
    str: ("name", "pci_address", "vendor", "driver_version"),
    bytes: ("uuid",),
    int: (
        *("total_memory", "max_allocation", "alignment"),
        *("compute_units", "score", "numa_node"),
    ),
}


class PluginState(StrEnum):
    """What became of an installed plugin."""

    LOADED = "loaded"
    FAILED = "failed"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed plugin. ``drivers`` are the offers that were taken, ``refused`` the others."""

    name: str
    value: str
    distribution: str
    version: str
    state: PluginState
    error: BaseException | None = None
    drivers: tuple[str, ...] = ()
    refused: tuple[PluginError, ...] = ()

    @property
    def origin(self) -> str:
        """The distribution with its version, such as ``acme-phalanx 1.2``."""
        return f"{self.distribution} {self.version}".strip()

    @property
    def reason(self) -> str:
        """Why the plugin, or a part of it, is not in use; empty if all is well."""
        if self.error is not None:
            return describe(self.error)
        return "; ".join(str(error) for error in self.refused)

    @property
    def remedies(self) -> tuple[str, ...]:
        """What to do about it, as far as the errors say."""
        errors = self.refused if self.error is None else (self.error,)
        found = (detail_and_remedy(error)[1] for error in errors)
        return tuple(dict.fromkeys(filter(None, found)))


@dataclass(frozen=True, slots=True)
class Listing:
    """The devices of one driver; ``error`` if it cannot list them, ``broken`` by index."""

    devices: tuple[Device, ...] = ()
    error: BaseException | None = None
    broken: Mapping[int, BaseException] = field(default_factory=dict)


def allowed() -> frozenset[str] | None:
    """Return the entry points named by ``PHALANX_PLUGINS``, or None if it is unset: then all.

    Each is ``name``, or ``distribution:name`` with the distribution in its normal form.
    """
    text = os.environ.get("PHALANX_PLUGINS", "")
    return frozenset(_normal(part.strip()) for part in text.split(",") if part.strip()) or None


def _normal(name: str) -> str:
    """Write a distribution before a colon in the normal form of PEP 503."""
    distribution, colon, rest = name.rpartition(":")
    return f"{re.sub(r'[-_.]+', '-', distribution).lower()}{colon}{rest}"


def names_of(name: str, distribution: str) -> frozenset[str]:
    """Return what ``PHALANX_PLUGINS`` may call an entry point of a distribution."""
    return frozenset((name, _normal(f"{distribution}:{name}")))


def refusal(driver: object) -> str:
    """Return why an object that a plugin offers is no driver; empty if it is one."""
    if not isinstance(driver, Driver):
        hint = "; return an instance" if isinstance(driver, type) else ""
        return f"offers {driver!r}, which is not a phalanx.Driver{hint}"
    why = refused_name(driver.name)
    return f"offers a driver that cannot be used: {why}" if why else ""


def refused_name(name: object) -> str:
    """Return why a name cannot be a driver's; empty if it can."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        return (
            f"its name is {name!r}, and a name is a lower-case letter followed by "
            "lower-case letters, digits and underscores"
        )
    if name in RESERVED:
        return f"its name is {name!r}, which is the alias for the best device of that kind"
    return ""


def new_manager() -> PluginManager:
    """Return a pluggy manager that knows our hooks."""
    import pluggy

    from . import hookspecs

    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    return manager


def load(manager: PluginManager, entry: EntryPoint) -> tuple[Plugin, tuple[Driver, ...]]:
    """Import one plugin, check its hooks and ask for its drivers.

    One whose package needs another Phalanx is not imported.
    """
    dist = entry.dist
    origin = (dist.name, dist.version) if dist else ("unknown distribution", "")
    plugin = Plugin(entry.name, entry.value, *origin, PluginState.LOADED)
    names = allowed()
    if names is not None and not names & names_of(entry.name, plugin.distribution):
        reason = PluginError(f"PHALANX_PLUGINS={os.environ['PHALANX_PLUGINS']!r} leaves it out")
        return replace(plugin, state=PluginState.EXCLUDED, error=reason), ()
    if dist is not None:
        read = guard(partial(requirements.unmet, dist), f"the metadata of plugin {entry.name!r}")
        if needs := read.error or read.value:
            return replace(plugin, state=PluginState.FAILED, error=needs), ()
    outcome: Outcome[Any] = guard(
        entry.load, f"the import of plugin {entry.name!r} ({entry.value})"
    )
    error = outcome.error or _register(manager, outcome.value, plugin)
    if error is None:
        offers = guard(
            lambda: _ask(manager, outcome.value), f"phalanx_drivers() of plugin {entry.name!r}"
        )
        if offers.error is None:
            return _sift(plugin, offers.value or ())
        error = offers.error
        manager.unregister(outcome.value)
    return replace(plugin, state=PluginState.FAILED, error=error), ()


def _register(manager: PluginManager, module: object, plugin: Plugin) -> BaseException | None:
    """Register a plugin with pluggy; return the reason if it does not fit the hooks."""
    if isinstance(module, type):
        return PluginLoadError(
            f"entry point {plugin.name!r} names the class {plugin.value}",
            remedy="name a module or an instance",
        )
    name = f"{plugin.name} ({plugin.origin})"

    def work() -> None:
        manager.register(module, name)  # reads every attribute of the plugin, and any may raise
        manager.check_pending()

    error = guard(work, f"the registration of plugin {plugin.name!r}").error
    if error is not None and manager.get_name(module) == name:
        manager.unregister(module)
    return error


def _ask(manager: PluginManager, module: object) -> tuple[object, ...]:
    others = [other for other in manager.get_plugins() if other is not module]
    results = manager.subset_hook_caller("phalanx_drivers", others)()
    return tuple(driver for result in results for driver in result)


def _sift(plugin: Plugin, offers: Iterable[object]) -> tuple[Plugin, tuple[Driver, ...]]:
    """Part a plugin's offers into drivers and refusals."""
    drivers: list[Driver] = []
    refused: list[PluginError] = []
    for offer in offers:
        outcome = guard(partial(refusal, offer), f"Driver.name of plugin {plugin.name!r}")
        why = describe(outcome.error) if outcome.error else outcome.value
        if why:
            refused.append(PluginError(f"plugin {plugin.name!r} ({plugin.origin}) {why}"))
        else:
            assert isinstance(offer, Driver)
            drivers.append(offer)
    return replace(plugin, refused=tuple(refused)), tuple(drivers)


_Settled = tuple[
    tuple[Plugin, ...], dict[str, Driver], dict[str, str], dict[str, PluginConflictError]
]


def settle(
    loaded: Iterable[tuple[Plugin, tuple[Driver, ...]]],
    taken: Mapping[str, Driver],
    owners: Mapping[str, str],
) -> _Settled:
    """Give each name to the one driver that claims it; a name that two claim goes to neither.

    A name that Phalanx itself claims stays its own: no other package can take its devices away.
    """
    loaded = list(loaded)
    claims: dict[str, list[tuple[Plugin, Driver]]] = {}
    for plugin, drivers in loaded:
        for driver in drivers:
            claims.setdefault(driver.name, []).append((plugin, driver))
    won: dict[str, tuple[Plugin, Driver]] = {}
    conflicts: dict[str, PluginConflictError] = {}
    refusals: dict[str, PluginConflictError] = {}
    for name, claimants in claims.items():
        ours = [c for c in claimants if c[0].distribution == OURS]
        if len(ours) == 1 and name not in taken:
            won[name] = ours[0]
            refusals[name] = _reserved(name)
        elif len(claimants) == 1 and name not in taken:
            won[name] = claimants[0]
        else:
            parties = [f"plugin {p.name!r} of {p.origin}" for p, _ in claimants]
            parties[:0] = [owners[name]] if name in taken else []
            conflicts[name] = refusals[name] = _conflict(name, parties)
    usable = {name: driver for name, (_, driver) in won.items()}
    plugins = []
    for plugin, drivers in loaded:
        mine = tuple(d.name for d in drivers if usable.get(d.name) is d)
        lost = tuple(refusals[d.name] for d in drivers if d.name not in mine)
        plugins.append(replace(plugin, drivers=mine, refused=plugin.refused + lost))
    origins = {name: plugin.origin for name, (plugin, _) in won.items()}
    return tuple(plugins), usable, origins, conflicts


def _reserved(name: str) -> PluginConflictError:
    return PluginConflictError(
        f"a driver of the plugin is named {name!r}, as Phalanx's own is, which stays in use",
        remedy="give the driver another name",
    )


def _conflict(name: str, parties: list[str]) -> PluginConflictError:
    return PluginConflictError(
        f"two drivers are named {name!r}: {' and '.join(parties)}",
        remedy="uninstall one, or name the plugins to load in PHALANX_PLUGINS: name, or "
        "distribution:name",
    )


def list_devices(driver: Driver) -> Listing:
    """Ask a driver for its devices; one that cannot be described is kept out with its reason."""
    outcome: Outcome[Any] = guard(driver.device_count, f"driver {driver.name!r}: device_count()")
    if outcome.error is not None:
        return Listing(error=outcome.error)
    count = outcome.value
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_DEVICES:
        return Listing(
            error=DeviceError(f"driver {driver.name!r}: device_count() returned {count!r}")
        )
    devices: list[Device] = []
    broken: dict[int, BaseException] = {}
    for index in range(count):
        call = partial(_describe_device, driver, index)
        described = guard(call, f"driver {driver.name!r}: device_info({index})")
        if described.value is not None:
            devices.append(described.value)
        elif described.error is not None:
            broken[index] = described.error
    return Listing(tuple(devices), broken=broken)


def _describe_device(driver: Driver, index: int) -> Device:
    from phalanx._warm import Device

    info = driver.device_info(index)
    if not isinstance(info, DeviceInfo):
        raise DeviceError(
            f"driver {driver.name!r}: device_info({index}) returned {info!r}, not a DeviceInfo"
        )
    if problem := _wrong_field(info) or alignment_problem(info.alignment):
        raise DeviceError(f"driver {driver.name!r}: device_info({index}): {problem}")
    return Device(driver, index, info)


def _wrong_field(info: DeviceInfo) -> str:
    """Return which field of a description has a wrong type; empty if none has."""
    for kind, names in _FIELDS.items():
        for name in names:
            value = getattr(info, name)
            if not isinstance(value, kind):
                return f"{name} is {value!r}, and not of type {kind.__name__}"
    pair: object = info.dlpack_device
    match pair:
        case (int(), int()):
            return ""
    return f"dlpack_device is {pair!r}, and not two numbers"
