"""``phalanx devices``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape
from rich.padding import Padding

from .output import console, emit, json_option, noise_to_stderr, plain_errors, table

if TYPE_CHECKING:
    from phalanx._warm import Device
    from phalanx.discovery.aliases import Absence


@click.command(
    epilog="""\b
Examples:
  phalanx devices
  phalanx devices gpu      the devices that gpu:0, gpu:1, ... stand for
  phalanx devices --json

\b
Exit code: 0 if a device was found, 1 if none was, 2 for wrong usage.
"""
)
@click.argument("kind_or_driver", required=False, metavar="[KIND|DRIVER]")
@json_option
@plain_errors
def devices(kind_or_driver: str | None, as_json: bool) -> None:
    """List the devices of all plugins, or of one driver or kind.

    Plugins that are not usable follow, each with its reason, and those that lack something which
    one need not have. Opens no device.
    """
    from phalanx.discovery import aliases
    from phalanx.discovery.devices import devices as find

    with noise_to_stderr():
        found = find(kind_or_driver)
        absent = [a for a in aliases.absences() if _concerns(a, kind_or_driver)]
    if as_json:
        data = [_data(device) for device in found]
        broken = [str(a) for a in absent if not a.optional]
        optional = [str(a) for a in absent if a.optional]
        emit({"devices": data, "not_usable": broken, "not_set_up": optional})
    else:
        _show(found, absent, kind_or_driver)
    raise SystemExit(0 if found else 1)


def _concerns(absence: Absence, asked: str | None) -> bool:
    """Return whether a reason can be that of a missing device of what was asked for."""
    from phalanx.discovery.aliases import alias_kind

    return asked in (None, absence.base) or alias_kind(str(asked)) is not None


def _data(device: Device) -> dict[str, Any]:
    from phalanx.discovery.diagnosis import feature_names
    from phalanx.discovery.plugins import host

    info = device.info
    return {
        "name": device.name,
        "kind": info.kind.value,
        "hardware": info.name,
        "vendor": info.vendor,
        "driver_version": info.driver_version,
        "plugin": host().owner(device.driver.name),
        "total_memory": info.total_memory,
        "max_allocation": info.max_allocation,
        "compute_units": info.compute_units,
        "score": info.score,
        "uuid": info.uuid.hex(),
        "pci_address": info.pci_address,
        "numa_node": info.numa_node,
        "features": feature_names(device),
    }


def _show(found: tuple[Device, ...], absent: list[Absence], asked: str | None) -> None:
    from phalanx.discovery.diagnosis import size_text
    from phalanx.discovery.plugins import host

    out = console()
    if found:
        rows = [
            (
                f"[bold]{d.name}[/]",
                d.kind.value,
                escape(d.info.name),
                size_text(d.info.total_memory) if d.info.total_memory > 0 else "?",
                escape(host().owner(d.driver.name)),
            )
            for d in found
        ]
        out.print(table(("Device", "Kind", "Hardware", "Memory", "Plugin"), rows, fold=2))
    else:
        out.print(f"No device{f' of {asked!r}' if asked else ''} was found.")
    for title, optional in (("[bold]Not usable[/]", False), ("[dim]Not set up[/]", True)):
        lines = [str(a) for a in absent if a.optional is optional]
        if lines:
            out.print(f"\n{title}")
        for line in lines:
            out.print(
                Padding(escape(line), (0, 0, 0, 2), style="dim" if optional else "", expand=False)
            )
    if not found:
        out.print(f"\n`phalanx why {asked or 'cpu'}` shows every step.")
