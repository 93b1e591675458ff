"""Axes that several operands share: merged on the host, taken apart by the kernels.

A program that begins with `text` has the struct ``axes`` and the function ``walk``, which turns the
number of an element in row-major order into its place in each operand, in elements.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: How many axes a program may be made for; what has more is walked on the host.
RANKS = (1, 4, 16)

_TEXT = """
typedef {place} place;
typedef struct {{
    i64 shape[{rank}];
    i64 step[{operands}][{rank}];
}} axes;

PHX_FN void walk(const axes *a, place i, i64 *at) {{
    for (int k = {rank} - 1; k > 0; k--) {{
        const place n = (place)a->shape[k], rest = i / n, own = i - rest * n;
        for (int o = 0; o < {operands}; o++) at[o] += (i64)own * a->step[o][k];
        i = rest;
    }}
    for (int o = 0; o < {operands}; o++) at[o] += (i64)i * a->step[o][0];
}}
"""


@dataclass(frozen=True, slots=True)
class Axes:
    """Extents, the strides of each operand, and the first element of each."""

    shape: tuple[int, ...]
    steps: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        """The smallest of `RANKS` that has room."""
        return next(r for r in RANKS if len(self.shape) <= r)

    def pack(self) -> bytes:
        """Return the struct ``axes`` for a program of this rank."""
        missing = self.rank - len(self.shape)
        flat = [1] * missing + list(self.shape)
        for steps in self.steps:
            flat += [0] * missing
            flat += steps
        return struct.pack(f"<{len(flat)}q", *flat)


def text(operands: int, rank: int, *, wide: bool) -> str:
    """Return the source of ``axes`` and ``walk``; ``wide``: places need 64 bits."""
    return _TEXT.format(operands=operands, rank=rank, place="u64" if wide else "u32")


def merged(shape: Sequence[int], *strides: Sequence[int]) -> Axes:
    """Return the same elements in the same order over as few axes as all operands allow."""
    extents: list[int] = []
    steps: list[list[int]] = []
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        step = [s[axis] for s in strides]
        if extents and all(a == b * extent for a, b in zip(steps[-1], step, strict=True)):
            extents[-1] *= extent
            steps[-1] = step
        else:
            extents.append(extent)
            steps.append(step)
    columns = tuple(tuple(step[o] for step in steps) for o in range(len(strides)))
    return Axes(tuple(extents), columns, (0,) * len(strides))


def pieces(axes: Axes) -> Iterator[Axes]:
    """Yield axes that programs can take: one piece for up to 16 axes, else slices in order."""
    extra = len(axes.shape) - RANKS[-1]
    if extra <= 0:
        yield axes
        return
    inner = tuple(s[extra:] for s in axes.steps)
    for index in itertools.product(*map(range, axes.shape[:extra])):
        first = tuple(
            at + sum(i * step for i, step in zip(index, s, strict=False))
            for at, s in zip(axes.first, axes.steps, strict=True)
        )
        yield Axes(axes.shape[extra:], inner, first)
