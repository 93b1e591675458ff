"""Waiting for devices, and opting out of automatic order between streams."""

from __future__ import annotations

from typing import Literal

from phalanx._warm import Device, ask_for_hazards
from phalanx.runtime.settings import Change, Setting
from phalanx.runtime.waiting import check_timeout

Hazards = Literal["auto", "manual"]

_hazards: Setting[Hazards] = Setting("phalanx_hazards", lambda: "auto")


def hazards(mode: Hazards) -> Change[Hazards]:
    """Choose who orders work on one array over several streams.

    Takes effect at once in the whole process, or in the block of one thread or task:
    ``with phalanx.hazards("manual"): ...``; the work of other threads stays in order.

    ``"auto"`` (the default): using an array on another stream waits for its last write, and writing
    waits for the reads. ``"manual"``: nothing waits; the program records and waits for events.

    Raises:
        ValueError: another mode.

    Examples:
        >>> x, stream = px.zeros(3), px.Stream()
        >>> written = px.current_stream().record()
        >>> with px.hazards("manual"), stream:
        ...     stream.wait(written)  # which "auto" does by itself
        ...     print(x + 1)
        [1. 1. 1.]
    """
    if mode not in ("auto", "manual"):
        raise ValueError(f'unknown hazard mode {mode!r}; use "auto" or "manual"')
    if mode == "manual":
        ask_for_hazards(lambda: _hazards.get() == "manual")
    return _hazards.set(mode)


def synchronize(device: str | Device | None = None, timeout: float | None = None) -> None:
    """Wait for all work on a device (default: the current one).

    Args:
        device: a device or its name.
        timeout: seconds, then ``TimeoutError``.

    Raises:
        LaunchError: an asynchronous launch failed; the message names it.

    Examples:
        >>> x = px.ones(1000) + 1
        >>> px.synchronize(timeout=60)
        >>> px.current_stream().query()  # nothing is left to do
        True
    """
    from phalanx.discovery.devices import find_device, get_device

    seconds = check_timeout(timeout)
    where = get_device() if device is None else find_device(device)
    where.synchronize(seconds)
