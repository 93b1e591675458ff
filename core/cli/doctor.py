"""``phalanx doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from rich.markup import escape

from .options import timeout_option
from .output import coloured, console, emit, json_option, plain_errors, table

if TYPE_CHECKING:
    from phalanx.discovery.doctor import Check


@click.command(
    epilog="""\b
Examples:
  phalanx doctor
  phalanx doctor --level short --timeout 120
  phalanx doctor --json

\b
Exit code: 0 ok, 1 warning, 2 critical, 3 unknown (as monitoring systems expect).
"""
)
@click.option(
    "--level",
    type=click.Choice(["quick", "short"]),
    default="quick",
    show_default=True,
    help="quick opens every device; short also copies and computes on it.",
)
@json_option
@timeout_option(60.0)
@plain_errors
def doctor(level: str, as_json: bool, timeout: float) -> None:
    """Check the installation, each plugin and each device.

    Every plugin is tried in a child process of its own: one that crashes or hangs is reported.
    """
    from phalanx.discovery.doctor import EXIT_CODES, run_checks, worst

    if as_json:
        checks = list(run_checks(level, timeout))
        emit({"verdict": worst(checks).value, "checks": [check.to_dict() for check in checks]})
    else:
        out = console()
        with out.status("Looking at the installation ..."):
            checks = list(run_checks(level, timeout))
        _show(checks)
    raise SystemExit(EXIT_CODES[worst(checks)])


def _show(checks: list[Check]) -> None:
    from phalanx.discovery.doctor import Verdict, worst

    rows = []
    for check in checks:
        detail = escape(check.detail)
        if check.remedy:
            detail += f"\n[italic]-> {escape(check.remedy)}[/]"
        verdict = "--" if check.verdict is Verdict.ABSENT else coloured(check.verdict.value)
        rows.append((verdict, escape(check.name), detail))
    out = console()
    out.print(table(("", "Check", "What was found"), rows, fold=2))
    out.print(f"\nVerdict: {coloured(worst(checks).value)}")
