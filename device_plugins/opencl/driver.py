"""The driver ``opencl``: every device of every OpenCL runtime on this machine, through pyopencl."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterable
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from phalanx.errors import DeviceError
from phalanx.vendor import DeviceInfo, Driver, ForkSafeLock, Step

from .device import OpenCLDevice, fork_error
from .explain import explain
from .listing import Listing, import_pyopencl, list_devices


class OpenCLDriver(Driver):
    """All OpenCL devices. pyopencl is imported, and the runtimes asked, at the first question."""

    name = "opencl"

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._listing: Listing | None = None
        self._asking = False  # a runtime is being asked just now, and may hold its own locks
        self._opened: WeakValueDictionary[int, OpenCLDevice] = WeakValueDictionary()
        self._contexts: dict[int, Any] = {}
        self._forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self._finish_all)

    # Devices

    @property
    def _cl(self) -> ModuleType:
        return import_pyopencl()

    def _listed(self) -> Listing:
        if self._forked:
            raise fork_error(self.name)
        if self._listing is None:
            with self._lock:
                self._asking = True
                try:
                    self._listing = self._listing or list_devices()
                finally:
                    self._asking = False
        return self._listing

    def explain(self) -> Iterable[Step]:
        """Return the steps ``ABI`` and ``library`` of ``phalanx why``."""
        return explain(self._listed)

    def device_count(self) -> int:
        """Return the number of devices of all platforms."""
        return len(self._listed().devices)

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device without opening it."""
        return self._listed().devices[index].info

    def open(self, index: int) -> OpenCLDevice:
        """Create the context and the default queue."""
        found = self._listed().devices[index]
        with self._lock:
            context = self._contexts.get(index)
            device = OpenCLDevice(self._cl, found, f"{self.name}:{index}", context)
            self._opened[index] = device
        return device

    def adopt_context(self, context: Any) -> int:
        """Use an existing context when its device is opened; return the device's number.

        Raises:
            DeviceError: the device is open already, or the context is not of one device of ours.
        """
        devices = list(context.devices)
        known = [found.device for found in self._listed().devices]
        if len(devices) != 1 or devices[0] not in known:
            raise DeviceError(
                f"a context of {len(devices)} devices cannot be used",
                remedy="make one of a single device that `phalanx devices` lists",
            )
        index = known.index(devices[0])
        with self._lock:
            device = self._opened.get(index)
            if device is not None and not device.is_closed and device.context != context:
                raise DeviceError(
                    f"{self.name}:{index} is in use with its own context",
                    remedy="call use_context() first",
                )
            self._contexts[index] = context
        return index

    def _after_fork(self) -> None:
        """No runtime survives a fork: its threads are gone and its locks may be held for ever."""
        if self._listing is not None or self._opened or self._asking:
            self._forked = True
            for device in self._opened.values():
                device.is_forked = True
            _kept_after_fork.append((self._listing, list(self._opened.values())))

    def _finish_all(self) -> None:
        """At exit, let the work end: some runtimes crash if the process ends under them."""
        for device in tuple(self._opened.values()):
            for queue in device.queues():
                with contextlib.suppress(Exception):
                    queue.raw.finish()


#: What the parent of a fork had: destroying it in the child would call into the runtime.
_kept_after_fork: list[Any] = []
