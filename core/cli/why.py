"""``phalanx why``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.markup import escape

from .options import timeout_option
from .output import coloured, console, emit, json_option, plain_errors

if TYPE_CHECKING:
    from phalanx.discovery.diagnosis import Diagnosis
    from phalanx.discovery.probe import Report


@click.command(
    epilog="""\b
Examples:
  phalanx why gpu:0
  phalanx why cpu --json

\b
Exit code: 0 usable, 1 not usable, 2 wrong usage.
"""
)
@click.argument("name")
@json_option
@timeout_option(60.0)
@plain_errors
def why(name: str, as_json: bool, timeout: float) -> None:
    """Explain, step by step, why device NAME is usable or not.

    The chain: installed, importable, ABI, library, device, capability. It is followed in a child
    process, so that a driver that crashes or hangs is reported.
    """
    from phalanx.discovery import aliases, probe
    from phalanx.discovery.diagnosis import Diagnosis

    aliases.parse(name)
    report = probe.run("why", name, limit=timeout)
    if report.failure:
        _show_failure(name, report, as_json)
        raise SystemExit(1)
    diagnosis = Diagnosis.from_dict(report.result)
    if as_json:
        emit(diagnosis.to_dict())
    else:
        _show(diagnosis)
    raise SystemExit(0 if diagnosis.usable else 1)


def _show(diagnosis: Diagnosis) -> None:
    from phalanx.steps import Status

    out = console()
    for line in diagnosis.lines(out.width):
        marked = escape(line)
        word = line[14:21].strip()
        if line.startswith("  ") and line[2:3] != " " and word in tuple(Status):
            marked = f"{escape(line[:14])}{coloured(word)}{escape(line[14 + len(word) :])}"
        elif line[:1].strip():
            marked = f"[bold]{marked}[/]"
        out.print(marked, soft_wrap=True)


def _show_failure(name: str, report: Report, as_json: bool) -> None:
    at = report.at or "the start of the child process"
    if as_json:
        data = {"name": name, "device": "", "usable": False, "steps": [], "others": []}
        emit(data | {"failure": report.failure, "at": at, "stderr": report.stderr})
        return
    out = console()
    out.print(f"[bold]{escape(name)}: not usable[/]")
    out.print(f"  the child process: [bold red]{escape(report.failure)}[/] at {escape(at)}")
    for line in report.stderr.splitlines():
        out.print(f"    {escape(line)}", soft_wrap=True)
    out.print(
        "  -> leave the plugin out through PHALANX_PLUGINS; `phalanx doctor` tells which it is"
    )
