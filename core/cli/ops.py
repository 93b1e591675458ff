"""``phalanx ops``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from .next_kernel import show_next
from .options import NamedPath, chosen_device, device_option
from .output import (
    coloured,
    console,
    emit,
    fail,
    json_option,
    noise_to_stderr,
    plain_errors,
    table,
)

if TYPE_CHECKING:
    from phalanx.dispatch.registry import Support

_HOW = ("native", "decomposed", "fallback", "unsupported")


@click.command(
    epilog="""\b
Examples:
  phalanx ops --device cpu:0
  phalanx ops --device gpu --how fallback
  phalanx ops --op exp        one line per overload
  phalanx ops -d acme:0 --next --program train.py
                              which kernel to write next

\b
Exit code: 0, or 2 for an unknown device or op, 1 if the device does not work.
"""
)
@device_option
@click.option("--op", metavar="NAME", help="Show the overloads of one op.")
@click.option("--how", type=click.Choice(_HOW), help="Show only ops that are served so.")
@click.option(
    "--next",
    "next_kernel",
    is_flag=True,
    help="Run a program and tell which kernel would spare most launches.",
)
@click.option(
    "--program",
    type=NamedPath(path_type=Path),
    metavar="FILE",
    help="With --next: a script, or what --next --json wrote; else a small mix of functions.",
)
@json_option
@plain_errors
def ops(
    name: str | None,
    op: str | None,
    how: str | None,
    next_kernel: bool,
    program: Path | None,
    as_json: bool,
) -> None:
    """Show how a device serves each op of the op table.

    native: by a kernel of its own. decomposed: by several other ops. fallback: on another device,
    if phalanx.fallback_policy allows it. unsupported: not at all.

    With --next: how many launches the decomposed overloads of a program took, and how many they
    would take with a kernel; the one to write next is the first. A row has what was decomposed
    inside of it, too.
    """
    if program is not None and not next_kernel:
        fail("--program goes with --next", 2)
    if next_kernel and (op or how):
        fail("--next shows what a program does: leave out --op and --how", 2)
    from phalanx.dispatch.registry import support

    try:
        with noise_to_stderr():
            device = chosen_device(name)
        if next_kernel:
            show_next(device, program, as_json)
            return
        with noise_to_stderr():
            found = [s for s in support(device, op) if how in (None, s.how)]
    except ValueError as error:
        fail(str(error), 2)
    if as_json:
        emit(
            {
                "device": device.name,
                "overloads": [_data(s) for s in found],
                "totals": dict(Counter(s.how for s in found)),
            }
        )
    elif op is not None:
        _show_overloads(device.name, found)
    else:
        _show_ops(device.name, found)


def _data(support: Support) -> dict[str, Any]:
    return {
        "op": support.op,
        "dtypes": list(support.dtypes),
        "how": support.how,
        "determinism": support.determinism,
        "provider": support.provider,
        "reason": support.reason,
        "lacks": list(support.lacks),
    }


def _show_overloads(device: str, found: list[Support]) -> None:
    from phalanx.optable import OPS

    out = console()
    if found:
        row = OPS[found[0].op]
        out.print(
            f"[bold]{row.name}[/] on {device}: {escape(row.summary)} ({row.structure.value})\n"
        )
    rows = [
        (
            escape(_signature(s)),
            coloured(s.how),
            s.determinism or "-",
            escape(s.provider or _reason(s)),
        )
        for s in found
    ]
    out.print(table(("Overload", "Served", "Class", "By"), rows, fold=3))


def _reason(support: Support) -> str:
    """Why there is no kernel, and what the decomposition needs besides."""
    lacks = ", ".join(support.lacks)
    needed = f"by other ops it needs {lacks}" if lacks else ""
    return "; ".join(text for text in (support.reason, needed) if text) or "-"


def _signature(support: Support) -> str:
    from phalanx.optable import OPS

    inputs = OPS[support.op].arity
    return f"{', '.join(support.dtypes[:inputs])} -> {', '.join(support.dtypes[inputs:])}"


def _show_ops(device: str, found: list[Support]) -> None:
    by_op: dict[str, list[Support]] = {}
    for one in found:
        by_op.setdefault(one.op, []).append(one)
    rows = []
    for op, overloads in by_op.items():
        counts = Counter(s.how for s in overloads)
        served = ", ".join(f"{coloured(how)} {counts[how]}" for how in _HOW if counts[how])
        classes = sorted({s.determinism for s in overloads if s.determinism})
        rows.append((op, served, ", ".join(classes) or "-"))
    out = console()
    out.print(table(("Op", "Overloads", "Class"), rows, fold=1))
    totals = Counter(s.how for s in found)
    parts = ", ".join(f"{coloured(how)} {totals[how]}" for how in _HOW if totals[how])
    out.print(f"\n{device}: {len(by_op)} ops, {len(found)} overloads: {parts or 'none'}")
