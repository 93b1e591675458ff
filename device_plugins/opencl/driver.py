"""The driver ``opencl``: every device of every OpenCL runtime on this machine, through pyopencl."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from phalanx.device_plugins.listed import Listed
from phalanx.errors import DeviceError
from phalanx.vendor import DeviceInfo, Driver, Step

from .device import OpenCLDevice
from .explain import explain
from .listing import Listing, import_pyopencl, list_devices


class OpenCLDriver(Driver):
    """All OpenCL devices. pyopencl is imported, and the runtimes asked, at the first question."""

    name = "opencl"

    def __init__(self) -> None:
        self._listed: Listed[Listing, OpenCLDevice] = Listed(
            self.name, "an OpenCL runtime", self.list_devices
        )
        self._contexts: dict[int, Any] = {}
        atexit.register(self._finish_all)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._finish_all)

    # Devices

    @property
    def _cl(self) -> ModuleType:
        return import_pyopencl()

    def list_devices(self) -> Listing:
        """Ask all runtimes for their devices."""
        return list_devices()

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
        with self._listed.lock:
            context = self._contexts.get(index)
            device = OpenCLDevice(self._cl, found, f"{self.name}:{index}", context)
            self._listed.opened.add(device)
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
        with self._listed.lock:
            name = f"{self.name}:{index}"
            others = [d for d in self._listed.opened if d.name == name and d.context != context]
            if not all(device.is_closed for device in others):
                raise DeviceError(
                    f"{name} is in use with its own context", remedy="call use_context() first"
                )
            self._contexts[index] = context
        return index

    def _finish_all(self) -> None:
        """At exit and before a fork, let the work end.

        Some runtimes crash if the process ends under them. In a child the threads are gone that do
        the work, and the runtime would wait for it when the child exits.
        """
        for device in tuple(self._listed.opened):
            for queue in () if device.is_forked else device.queues():
                with contextlib.suppress(Exception):
                    queue.raw.finish()
