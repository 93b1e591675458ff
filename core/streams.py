"""Waiting for devices, and opting out of automatic order between streams."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

from ._warm import Device, set_manual_hazards


class _Hazards(AbstractContextManager["_Hazards"]):
    """The result of ``hazards``: already in force, and undone at the end of a ``with``."""

    def __init__(self, former: bool) -> None:
        self._former = former

    def __exit__(self, *exc_info: object) -> None:
        set_manual_hazards(self._former)


def hazards(mode: Literal["auto", "manual"]) -> _Hazards:
    """Choose who orders work on one array over several streams, in the whole process or a ``with``.

    ``"auto"`` (the default): using an array on another stream waits for its last write, and writing
    waits for the reads. ``"manual"``: nothing waits; the program records and waits for events.

    Raises:
        ValueError: another mode.
    """
    if mode not in ("auto", "manual"):
        raise ValueError(f'unknown hazard mode {mode!r}; use "auto" or "manual"')
    return _Hazards(set_manual_hazards(mode == "manual"))


def synchronize(device: str | Device | None = None, timeout: float | None = None) -> None:
    """Wait for all work on a device (default: the current one).

    Args:
        device: a device or its name.
        timeout: seconds, then ``TimeoutError``.

    Raises:
        LaunchError: an asynchronous launch failed; the message names it.
    """
    from .devices import find_device, get_device

    where = get_device() if device is None else find_device(device)
    where.synchronize(timeout)
