"""``phalanx abi-check``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from .output import coloured, console, emit, json_option, plain_errors, timeout_option


@click.command(
    "abi-check",
    epilog="""\b
Examples:
  phalanx abi-check ./libacme.so
  phalanx abi-check ./libacme.so --json

\b
Exit code: 0 if the library keeps to the ABI, 1 if not, 2 for wrong usage.
""",
)
@click.argument("library", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
@timeout_option(60.0)
@plain_errors
def abi_check(library: Path, as_json: bool, timeout: float) -> None:
    """Check the shared library LIBRARY of a plugin against the C ABI of phalanx.h.

    Checks versions, struct sizes, required functions, capability bits, error objects, device
    descriptions and every row of the kernel tables. Runs no kernel.
    """
    from phalanx.discovery import probe

    report = probe.run("abi", str(library.absolute()), limit=timeout)
    found: dict[str, Any] = report.result or {"path": str(library), "problems": [], "notes": []}
    if report.failure:
        found["problems"].append(f"{report.failure} at {report.at or 'start'}")
        found["stderr"] = report.stderr
    if as_json:
        emit(found | {"ok": not found["problems"]})
    else:
        _show(found)
    raise SystemExit(1 if found["problems"] else 0)


def _show(found: dict[str, Any]) -> None:
    out = console()
    out.print(f"[bold]{escape(found['path'])}[/]", soft_wrap=True)
    plugin = found.get("plugin")
    if plugin:
        about = ", ".join(part for part in (plugin["vendor"], plugin["license"]) if part)
        out.print(escape(f"  plugin        {plugin['name']} {plugin['version']} ({about})"))
    if "abi" in found:
        out.print(f"  built for     ABI {found['abi']}")
        out.print(f"  capabilities  {', '.join(found['capabilities']).lower() or 'tier sync only'}")
    if "score" in found:
        here = "" if found["score"] > 0 else " (it cannot run on this machine)"
        out.print(f"  score         {found['score']}{here}")
    for device in found.get("devices", ()):
        line = f"  {device['name']:<12}  {device.get('hardware', '?')}, {device['kernels']} kernels"
        out.print(escape(line))
    for note in found.get("notes", ()):
        out.print(escape(f"  note: {note}"), soft_wrap=True)
    problems = found["problems"]
    if not problems:
        out.print(f"{coloured('ok')}: it keeps to the ABI")
        return
    out.print(f"{coloured('fail')}: {len(problems)} problem{'' if len(problems) == 1 else 's'}")
    for problem in problems:
        out.print(escape(f"  - {problem}"), soft_wrap=True)
    for line in found.get("stderr", "").splitlines():
        out.print(f"    {escape(line)}", soft_wrap=True)
