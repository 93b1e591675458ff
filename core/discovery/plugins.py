"""The plugin host: all plugins of the process, their drivers and their devices."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from phalanx._warm import DriverSet
from phalanx.driver import Driver
from phalanx.errors import PluginConflictError, PluginError, SettingError
from phalanx.runtime.locks import ForkSafeLock

from . import loading
from .guard import guarded_work
from .loading import Listing, Plugin, PluginState

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from phalanx._warm import Device
    from pluggy import PluginManager

GROUP = "phalanx.plugins"


def entry_points(group: str = GROUP) -> tuple[EntryPoint, ...]:
    """Return the installed entry points of a group, by name; reads metadata, imports nothing."""
    from importlib import metadata

    def key(entry: EntryPoint) -> tuple[str, str]:
        return entry.name, entry.dist.name if entry.dist else ""

    return tuple(sorted(metadata.entry_points(group=group), key=key))


def our_names() -> frozenset[str]:
    """Return the names of the drivers that come with Phalanx; imports none."""
    return frozenset(e.name for e in entry_points() if e.dist and e.dist.name == loading.OURS)


class PluginHost(DriverSet):
    """All plugins of a process, their drivers and devices; everything happens at first request.

    Safe from any thread. ``find`` returns the entry points to load; by default the installed ones.
    """

    def __init__(self, find: Callable[[], Iterable[EntryPoint]] = entry_points) -> None:
        self._find = find
        self._lock = ForkSafeLock()
        self._manager: PluginManager | None = None
        self._plugins: tuple[Plugin, ...] | None = None
        self._drivers: dict[str, Driver] = {}
        self._owners: dict[str, str] = {}
        self._registered: dict[str, None] = {}  # an ordered set
        self._conflicts: dict[str, PluginConflictError] = {}
        self._listings: dict[str, Listing] = {}

    def plugins(self) -> tuple[Plugin, ...]:
        """Return every installed plugin with its state; loads them at the first call."""
        if self._plugins is None:
            self._discover()
        assert self._plugins is not None
        return self._plugins

    def drivers(self) -> dict[str, Driver]:
        """Return the usable drivers by name: the plugins', then those registered in the process."""
        self.plugins()
        with self._lock:
            own = {name: self._drivers[name] for name in self._registered}
            return {n: d for n, d in self._drivers.items() if n not in own} | own

    def conflicts(self) -> dict[str, PluginConflictError]:
        """Return, by driver name, the claims of two plugins to one name; none of them is in use."""
        self.plugins()
        return dict(self._conflicts)

    def owner(self, driver: str) -> str:
        """Return the distribution that offers a driver, such as ``acme-phalanx 1.2``."""
        self.plugins()
        return self._owners.get(driver, "")

    def unknown_allowed(self) -> tuple[str, ...]:
        """Return the names in ``PHALANX_PLUGINS`` that no installed plugin has."""
        names = loading.allowed()
        if names is None:
            return ()
        known = (loading.names_of(p.name, p.distribution) for p in self.plugins())
        return tuple(sorted(names.difference({"none"}, *known)))

    def manager(self) -> PluginManager:
        """Return pluggy's manager of the loaded plugins, for hooks besides ``phalanx_drivers``."""
        self.plugins()
        assert self._manager is not None
        return self._manager

    def listing(self, driver: str) -> Listing:
        """Return the devices of a driver; lists them at the first call and never raises for it.

        Raises:
            KeyError: if there is no such driver.
        """
        found = self._listings.get(driver)
        if found is not None:
            return found
        source = self.drivers()[driver]
        self._refuse_reentry()
        with self._lock:
            if driver not in self._listings:
                self._listings[driver] = loading.list_devices(source)
            return self._listings[driver]

    def listed(self) -> tuple[Device, ...]:
        """Return the devices of the drivers that were listed so far; loads and lists nothing."""
        with self._lock:
            return tuple(d for listing in self._listings.values() for d in listing.devices)

    def register_driver(self, driver: Driver) -> None:
        """Add a driver in this process, without a plugin. It stays until ``unregister_driver``.

        Raises:
            PluginError: if it is not a ``Driver`` or its name is not allowed.
            PluginConflictError: if its name is taken.
        """
        if why := loading.refusal(driver):
            raise PluginError(f"register_driver: the program {why}")
        with self._lock:
            if driver.name in self._drivers or driver.name in self._conflicts:
                owner = self._owners.get(driver.name, "two plugins")
                raise PluginConflictError(
                    f"register_driver: the name {driver.name!r} is taken by {owner}",
                    remedy="unregister that driver or give this one another name",
                )
            self._drivers[driver.name] = driver
            self._owners[driver.name] = "this process"
            self._registered[driver.name] = None
            self.generation += 1

    def unregister_driver(self, driver: Driver | str) -> None:
        """Take back ``register_driver`` and close its devices; arrays keep theirs open.

        Raises:
            PluginError: if no such driver was registered in this process.
        """
        name = driver if isinstance(driver, str) else driver.name
        with self._lock:
            if name not in self._registered:
                raise PluginError(
                    f"unregister_driver: no driver {name!r} was registered in this process"
                )
            del self._registered[name], self._drivers[name], self._owners[name]
            listing = self._listings.pop(name, None)
            self.generation += 1
        for device in listing.devices if listing is not None else ():
            device.close()

    def _refuse_reentry(self) -> None:
        if what := guarded_work():
            raise PluginError(
                f"{what} asks for the devices, which are being listed just now",
                remedy="a plugin may do so only after its import and its hooks have returned",
            )

    def _discover(self) -> None:
        self._refuse_reentry()
        with self._lock:
            if self._plugins is not None:
                return
            # All stays local until it is complete: a fork or an interrupt leaves nothing half.
            manager = loading.new_manager()
            loaded = [loading.load(manager, entry) for entry in self._find()]
            registered = {name: self._drivers[name] for name in self._registered}
            plugins, drivers, owners, conflicts = loading.settle(loaded, registered, self._owners)
            self._drivers.update(drivers)
            self._owners.update(owners)
            self._conflicts.update(conflicts)
            self._manager = manager
            self._plugins = plugins
            self.generation += 1
        _log_failures(plugins)


def _log_failures(plugins: Iterable[Plugin]) -> None:
    failed = [p for p in plugins if p.reason and p.state != PluginState.EXCLUDED]
    if failed:
        import logging

        logger = logging.getLogger("phalanx.plugins")
        for plugin in failed:
            logger.info("plugin %s (%s): %s", plugin.name, plugin.origin, plugin.reason)


_host: PluginHost | None = None
_host_lock = ForkSafeLock()


def host() -> PluginHost:
    """Return the process's plugin host."""
    global _host  # noqa: PLW0603 - one host for the process
    with _host_lock:
        if _host is None:
            _log_to_stderr()
            _host = PluginHost()
        return _host


def log_level() -> int | None:
    """Return the level that ``PHALANX_LOG`` names: debug, info, warning, ...; None without it.

    Raises:
        SettingError: another level.
    """
    name = os.environ.get("PHALANX_LOG", "").strip().upper()
    if not name:
        return None
    import logging

    level = logging.getLevelNamesMapping().get(name)
    if level is None:
        raise SettingError(
            f"PHALANX_LOG={name.lower()!r}", remedy="use debug, info, warning, error or critical"
        )
    return level


def _log_to_stderr() -> None:
    """Show the log of Phalanx from the level that ``PHALANX_LOG`` names."""
    level = log_level()
    if level is None:
        return
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s: %(message)s"))
    logger = logging.getLogger("phalanx")
    logger.addHandler(handler)
    logger.setLevel(level)


def use_host(new: PluginHost | None) -> PluginHost | None:
    """Put another host in place, None for a fresh one, and return the one before; for tests."""
    global _host
    with _host_lock:
        old, _host = _host, new
        if old is not None:
            old.generation += 1
        return old
