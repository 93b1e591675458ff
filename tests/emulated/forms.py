"""Every text runs: operands that ask for each form of each overload, and the bits of ``cpu:0``.

The conformance suite compares bits where operands are as programs have them, which asks for some of
the texts. ``python -m emulated.forms`` from tests/ takes the operands of `device_code.texts`, with
values in them, so that every text that it lists is compiled and launched; the devices take turns,
so that work-items run in both orders. What a launch leaves in the memory of its result, between and
around its elements too, is compared. It ends with 1 if a bit is not that of ``cpu:0``, or a text
did not run.
"""

from __future__ import annotations

import math
import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np
import phalanx as px
from device_code.texts import Call, calls, dense, layouts_of, reach, texts_of
from phalanx._warm import Array, compute, current_stream, dtype_from_name, launch, view
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference import fourier
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.hard_places import hard_values
from phalanx.conformance.reference.ulp import differing
from phalanx.conformance.reference.values import ordinary_values, wild_values
from phalanx.discovery.plugins import host
from phalanx.optable import Structure

from .driver import EmulatedDriver, find

#: Elements of memory behind an operand.
_BEHIND = 14


@dataclass(eq=False)
class Operand:
    """Where the elements of an operand lie, and what its memory holds before a launch."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int
    memory: np.ndarray[Any, Any]

    def on(self, device: px.Device) -> tuple[Array, Array]:
        """Return the array and all of its memory on a device."""
        whole = px.asarray(self.memory, dtype=dtype_from_name(self.dtype), device=device)
        return view(whole, self.shape, self.strides, self.first), whole

    def put(self, values: np.ndarray[Any, Any]) -> None:
        """Make the elements these."""
        size = self.memory.itemsize
        elements = np.lib.stride_tricks.as_strided(
            self.memory[self.first :], self.shape, [s * size for s in self.strides]
        )
        elements[...] = np.asarray(values).astype(self.memory.dtype).reshape(self.shape)


class Maker:
    """Makes operands of an overload; their memory is full of values."""

    def __init__(self, overload: Overload, rng: np.random.Generator) -> None:
        self._elementwise = overload.row.structure is Structure.ELEMENTWISE
        self._rng = rng

    def __call__(
        self,
        dtype: str,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None = None,
        /,
        *,
        first: int = 0,
    ) -> Operand:
        # elements that share a place differ in what other ops write there
        if strides is None or (0 in strides and not self._elementwise):
            strides = dense(shape)
        count = first + reach(shape, strides) + _BEHIND
        draw = wild_values if self._elementwise else ordinary_values
        # 64 elements are a whole number of the alignment of every device
        memory = draw(dtype, 64 + count, self._rng).astype(host_dtype(dtype))
        return Operand(dtype, shape, strides, 64 + first, memory)


def prepare(overload: Overload, call: Call, rng: np.random.Generator) -> Call:
    """Give operands the values that an op takes; others are left with what they have."""
    op, (first, *others), out = overload.op, call.inputs, call.outputs[0]
    if overload.row.structure is Structure.ELEMENTWISE:
        if isinstance(first, Operand):
            sizes = [x.memory.size for x in call.inputs]
            hard = hard_values(op, overload.inputs, max(sizes), rng)
            for x, values in zip(call.inputs, hard, strict=True):
                some = rng.random(x.memory.size) < 0.5
                x.memory[some] = np.resize(values, x.memory.size)[some]
    elif op in ("gather", "scatter"):
        x, places = (first, others[0]) if op == "gather" else (out, others[0])
        apart = reach(x.shape, x.strides)  # so that no two slices share an element
        count = places.shape[0]
        more = wild_values(x.dtype, apart * (count - 1), rng)
        x.memory = np.concatenate([x.memory, more.astype(x.memory.dtype)])
        places.put(rng.permutation(count) * apart)
    elif op == "wrap_index":
        first.put(rng.integers(-4, 4, first.shape))
    elif op in ("compress", "nonzero"):
        mask = others[0] if others else first
        mask.put(rng.permutation(np.arange(mask.shape[0]) < out.shape[0]))
    elif op in ("searchsorted", "histogram"):
        table = first if op == "searchsorted" else others[0]
        table.put(np.sort(ordinary_values(table.dtype, table.shape[0], rng)))
    elif op in ("bincount", "segment_sum"):
        target = others[0] if others else first
        target.put(rng.integers(-2, out.shape[0] + 2, target.shape))
    elif overload.row.structure is Structure.FOURIER:
        m = out.shape[-1]
        if op == "fft":
            table = fourier.table((math.isqrt(m),) * 2, out.dtype)
        else:
            m -= op == "fft_from_pairs"
            table = fourier.unit_roots(np.arange(m + 1), 2 * m)
        others[0].put(np.resize(table, others[0].shape))
    elif overload.row.structure is Structure.RANDOM:
        for x in call.inputs:
            x.put(np.asarray(rng.uniform(0.1, 0.9)))
    return call


def on_emulated(overload: Overload, call: Call, layout: Any, device: px.Device) -> Array:
    """Launch the recipe of a layout; return the memory of the result."""
    opened = device.ensure_open()
    kernel = opened.kernel(overload.op, overload.dtypes, layout)
    inputs = [x.on(device)[0] if isinstance(x, Operand) else x for x in call.inputs]
    out, whole = call.outputs[0].on(device)
    opened.launch(kernel, inputs, (out,), call.params, stream=current_stream(device))
    return whole


def on_cpu(overload: Overload, call: Call, device: px.Device) -> Array:
    """Let the core launch the same op; return the memory of the result."""
    inputs = [x.on(device)[0] if isinstance(x, Operand) else x for x in call.inputs]
    out, whole = call.outputs[0].on(device)
    if overload.row.structure is Structure.ELEMENTWISE:
        compute(
            overload.op, tuple(inputs), tuple(map(dtype_from_name, overload.dtypes)), device, out
        )
    else:
        launch(overload.op, tuple(inputs), (out,), call.params)
    return whole


def wrong_calls(number: int, overload: Overload, device: px.Device) -> Iterator[str]:
    """Yield the calls of an overload whose bits on a device are not those of ``cpu:0``."""
    rng = np.random.default_rng(number)
    far = device.ensure_open().traits.far
    for layout in layouts_of(overload.op):
        made = calls(overload.op, layout, overload.dtypes, Maker(overload, rng), far)
        for call in made:
            call = prepare(overload, call, rng)
            got = on_emulated(overload, call, layout, device)
            want = on_cpu(overload, call, px.devices("cpu")[0])
            if np.any(differing(px.asnumpy(got), px.asnumpy(want))):
                out = call.outputs[0]
                yield f"{overload} {layout.name} {out.shape} in steps of {out.strides}"


def wrong_or_missing(number: int, overload: Overload, device: px.Device) -> Iterator[str]:
    """Yield what is wrong with the texts of an overload, and those that did not run."""
    opened = device.ensure_open()
    traits = replace(opened.traits, max_allocation=2**63)
    texts = texts_of(overload.op, overload.dtypes, traits, find)
    opened.bound.clear()
    opened.compile_together([text.program for text in texts], str(overload))
    yield from wrong_calls(number, overload, device)
    ran = {program.source for program, _ in opened.bound}
    for text in texts:
        if text.program.source not in ran:
            yield f"{overload} did not run:\n{text.program.source}"


def check(part: int, parts: int, most: int) -> tuple[int, list[str]]:
    """Check one of so many parts of the overloads, at most ``most``: texts, and what is wrong."""
    host().register_driver(EmulatedDriver())
    devices = px.devices("emulated")
    found, count = [], 0
    for number, overload in list(enumerate(overloads(*Structure)))[part:most:parts]:
        device = devices[number // parts % 2]
        found += wrong_or_missing(number, overload, device)
        count += len({program for program, _ in device.ensure_open().bound})
    return count, found


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True)
@click.option("--most", type=click.IntRange(1), default=1 << 20, help="Only so many overloads.")
def main(jobs: int, most: int) -> None:
    """Run every text, and compare bits."""
    begin = time.monotonic()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        parts = [pool.submit(check, part, jobs, most) for part in range(jobs)]
        counts, found = zip(*(part.result() for part in parts), strict=True)
    wrong = [text for each in found for text in each]
    overload_count = min(most, len(overloads(*Structure)))
    click.echo(
        f"{sum(counts)} texts of {overload_count} overloads: {len(wrong)} wrong or not run "
        f"({time.monotonic() - begin:.0f} s)"
    )
    for text in wrong:
        click.echo(f"  {text}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
