"""``phalanx kernels``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from .options import chosen_device, device_option
from .output import console, emit, fail, json_option, noise_to_stderr, plain_errors, table

if TYPE_CHECKING:
    from phalanx._warm import Device, Kernel


@click.command(
    epilog="""\b
Examples:
  phalanx kernels --device gpu:0 --op exp
  phalanx kernels --device gpu:0 --op sum --dtype float32 --source

\b
Exit code: 0, or 1 if there is no such kernel or no source to show, 2 for wrong names.
"""
)
@device_option
@click.option("--op", metavar="NAME", help="Only this op.")
@click.option("--dtype", metavar="NAME", help="Only kernels whose first operand has this dtype.")
@click.option("--source", is_flag=True, help="Show the text that the device's compiler gets.")
@json_option
@plain_errors
def kernels(
    name: str | None, op: str | None, dtype: str | None, source: bool, as_json: bool
) -> None:
    """List a device's kernels with their class, or show their text.

    bitwise: the same bits on every device. reproducible: the same from run to run. The text is that
    of the commonest operands; nothing is compiled.
    """
    from phalanx.dispatch.registry import kernels as list_kernels

    try:
        with noise_to_stderr():
            device = chosen_device(name)
            found = [k for k in list_kernels(op, device) if dtype in (None, k.dtypes[0])]
    except ValueError as error:
        fail(str(error), 2)
    if not found:
        fail(
            f"{device.name} has no such kernel; `phalanx ops --device {device.name}` shows more", 1
        )
    texts = [_source(device, kernel) if source else "" for kernel in found]
    if as_json:
        emit([_row(kernel, text) for kernel, text in zip(found, texts, strict=True)])
    elif source:
        click.echo("\n".join(texts))
    else:
        _show(found)


def _row(kernel: Kernel, text: str) -> dict[str, Any]:
    """Return what there is to say of a kernel, for JSON."""
    return {
        "op": kernel.op,
        "dtypes": list(kernel.dtypes),
        "layout": kernel.layout.name.lower(),
        "class": kernel.determinism,
        "error_bound": kernel.error_bound,
        "provider": kernel.provider,
        **({"source": text} if text else {}),
    }


def _source(device: Device, kernel: Kernel) -> str:
    """Return the text of a kernel's programs."""
    texts = tuple(device.ensure_open().sources(kernel))
    if not texts:
        fail(f"{device.name}: its kernels come compiled, there is no text to show", 1)
    return "\n".join(texts)


def _show(found: list[Kernel]) -> None:
    rows = [
        (
            kernel.op,
            ", ".join(kernel.dtypes),
            kernel.layout.name.lower(),
            kernel.determinism,
            f"{kernel.error_bound:g} ulp" if kernel.error_bound >= 0 else "not stated",
            escape(kernel.provider),
        )
        for kernel in found
    ]
    console().print(table(("Op", "Dtypes", "Layout", "Class", "Error", "By"), rows, fold=1))
