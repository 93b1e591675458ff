"""Every overload on operands that lie otherwise: in steps, turned, padded, backwards.

The conformance suite compares bits where operands are whole arrays, whose texts are others.
``python -m emulated.forms`` from tests/ takes the layouts of the suite in turn, so that each form
of a text runs with many expressions, and each expression in another form; work-items run in both
orders. It ends with 1 if a bit is not that of ``cpu:0``.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import click
import numpy as np
import phalanx as px
from phalanx.conformance.calls import Call, calls
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.ulp import differing
from phalanx.discovery.plugins import host
from phalanx.optable import Structure

from .driver import EmulatedDriver

#: Layouts whose kernels are not those of whole arrays.
_LAYOUTS = ("strided", "transposed", "padded", "mixed", "negative", "offset")


def layout_of(call: Call, number: int) -> str:
    """Return the layout for a call of the overload of this number."""
    return _LAYOUTS[number % len(_LAYOUTS)] if call.anywhere else "contiguous"


def wrong_calls(number: int, overload: Overload, device: px.Device) -> list[str]:
    """Return the calls of an overload whose bits on a device are not those of ``cpu:0``."""
    found = []
    for call in calls(overload, np.random.default_rng(number), quick=True):
        layout = layout_of(call, number)
        got, want = (call.prepare(where, layout)() for where in (device, px.devices("cpu")[0]))
        if np.any(differing(got, want)):
            found.append(f"{overload} {layout} {call.shape}")
    return found


def check(part: int, parts: int, most: int) -> list[str]:
    """Check one of so many parts of the overloads, at most ``most``; returns what is wrong."""
    host().register_driver(EmulatedDriver())
    devices = px.devices("emulated")
    found = []
    with px.fallback_policy("error"):
        for number, overload in list(enumerate(overloads(*Structure)))[part:most:parts]:
            found += wrong_calls(number, overload, devices[number // len(_LAYOUTS) % 2])
    return found


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True)
@click.option("--most", type=click.IntRange(1), default=1 << 20, help="Only so many overloads.")
def main(jobs: int, most: int) -> None:
    """Compare bits on operands of other layouts."""
    begin = time.monotonic()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        parts = [pool.submit(check, part, jobs, most) for part in range(jobs)]
        wrong = [text for part in parts for text in part.result()]
    count = min(most, len(overloads(*Structure)))
    seconds = time.monotonic() - begin
    click.echo(f"{count} overloads in other layouts: {len(wrong)} wrong ({seconds:.0f} s)")
    for text in wrong:
        click.echo(f"  {text}: not the bits of cpu:0")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
