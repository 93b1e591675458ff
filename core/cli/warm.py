"""``phalanx warm``."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from .options import chosen_device, device_option
from .output import coloured, console, emit, fail, json_option, noise_to_stderr, plain_errors

if TYPE_CHECKING:
    from phalanx import Kernel, OpenDevice


@dataclass
class Summary:
    """What was done; ``failed`` has a line for each kernel that does not compile."""

    device: str
    ahead: bool = True
    kernels: int = 0
    compiled: int = 0
    cached: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)


@click.command(
    epilog="""\b
Examples:
  phalanx warm --device gpu:0
  phalanx warm --device gpu:0 --op add --op matmul
  phalanx warm --json

\b
Exit code: 0, or 1 if a kernel is missing or does not compile, 2 for wrong names.
"""
)
@device_option
@click.option("--op", "ops", multiple=True, metavar="NAME", help="Only this op; may be repeated.")
@json_option
@plain_errors
def warm(name: str | None, ops: tuple[str, ...], as_json: bool) -> None:
    """Compile a device's kernels ahead of their first use.

    For each op and dtypes the programs of the commonest operands are compiled, or found in the
    cache on disk. Ctrl-C keeps what is done. A device whose kernels come compiled says so.
    """
    from phalanx.dispatch.registry import check_op, kernels
    from phalanx.driver import Layout

    try:
        for op in ops:
            check_op(op)
    except ValueError as error:
        fail(str(error), 2)
    with noise_to_stderr():
        device = chosen_device(name)
        listed = [k for k in kernels(device=device) if not ops or k.op in ops]
    missing = sorted(set(ops) - {kernel.op for kernel in listed})
    if missing:
        fail(f"{device.name} has no kernel for {', '.join(missing)}; `phalanx ops` shows more", 1)
    # The commonest operands of an elementwise op are contiguous.
    common = [kernel for kernel in listed if kernel.layout is not Layout.STRIDED]
    summary = Summary(device.name)
    _compile(device.ensure_open(), common or listed, summary)
    if as_json:
        emit(asdict(summary))
    else:
        _show(summary)
    raise SystemExit(1 if summary.failed else 0)


def _compile(opened: OpenDevice, kernels: Sequence[Kernel], summary: Summary) -> None:
    """Compile the kernels one by one under a bar on stderr, if they need a compiler."""
    from phalanx.errors import CompileError

    begin = time.perf_counter()
    columns = (
        TextColumn("{task.description:14}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    where = Console(stderr=True)
    hidden = not where.is_terminal
    with Progress(*columns, console=where, transient=True, disable=hidden) as progress:
        task = progress.add_task("", total=len(kernels))
        for kernel in kernels:
            progress.update(task, description=kernel.op)
            try:
                done = opened.compile_ahead(kernel)
                if done is None:
                    summary.ahead = False
                    break
                summary.compiled += done[0]
                summary.cached += done[1]
            except CompileError as error:
                summary.failed.append(str(error))
            summary.kernels += 1
            progress.advance(task)
    summary.seconds = round(time.perf_counter() - begin, 3)


def _show(summary: Summary) -> None:
    out = console()
    if not summary.ahead:
        out.print(f"{summary.device}: its kernels are compiled already, there is nothing to do")
        return
    out.print(
        f"{summary.device}: {summary.kernels} kernels; {summary.compiled} programs compiled and "
        f"{summary.cached} from the cache in {summary.seconds:.1f} s"
    )
    for line in summary.failed:
        out.print(f"{coloured('fail')}: {escape(line)}", soft_wrap=True)
