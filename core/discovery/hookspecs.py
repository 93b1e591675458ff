"""The hooks that a plugin may implement."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from phalanx._warm import Device
    from phalanx.driver import Driver

    from .declarations import Declarations

PROJECT = "phalanx"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def phalanx_drivers() -> Iterable[Driver]:
    """Return the drivers that the plugin offers.

    Called once, when a device is first asked for. A library that is absent is a ``DeviceError`` of
    ``Driver.device_count``, not of this hook: then the reason shows in ``phalanx why``.
    """
    raise NotImplementedError


@hookspec
def phalanx_conformance(device: Device) -> Declarations | None:
    """Return what the plugin declares about one of its devices to the conformance suite.

    Called with every device that is tested; return ``None`` for those of other plugins.
    """
    raise NotImplementedError
