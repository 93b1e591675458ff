"""Rows of an operand in canonical form (k1..kp, n): in which order kernels take them.

Rows are taken one by one, or as columns side by side where their elements are nearer to those of
the next row than to each other. rows.h has the struct that tells kernels where they lie.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from .recipe import divide_up

if TYPE_CHECKING:
    from phalanx.vendor import Array

    from .env import Env

#: Kept axes that a kernel walks by itself; the host walks those beyond.
AXES = 6
#: Rows below this length are taken side by side.
SHORT_ROW = 16
_STRUCT = struct.Struct(f"<8Q4qQ{AXES}Q{2 * AXES}q")


def defines(macros: dict[str, str]) -> str:
    """Return the C text that defines macros."""
    lines = (f"#define {name} {value}\n" for name, value in {"AXES": str(AXES), **macros}.items())
    return "".join(lines)


class Axis(NamedTuple):
    """A kept axis: its extent, and its strides in the input and in the output."""

    extent: int
    xs: int
    ys: int


@dataclass(frozen=True, eq=False, slots=True)
class Plan:
    """Rows of n elements, ``near.extent`` of them side by side if not ``by_row``, over other axes.

    A plan is equal only to itself; `plan_of` gives the same one for the same operands.
    """

    n: int
    sn: int
    yn: int
    by_row: bool
    near: Axis
    axes: tuple[Axis, ...]

    @property
    def outer(self) -> int:
        """How many times there are ``near.extent`` rows."""
        return math.prod(axis.extent for axis in self.axes)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.outer * self.near.extent

    def blocks(self, block: int) -> int:
        """Blocks of a row; one if it is empty."""
        return max(1, divide_up(self.n, block))

    def pack(self, blocks: int, tiles: int, tasks: int, per: int, *span: int) -> bytes:
        """Return the struct ``row_plan`` of rows.h."""
        spare = [0] * (AXES - len(self.axes))
        columns = [[axis[i] for axis in self.axes] + spare for i in range(3)]
        span = span or (blocks, 1)
        head = (self.n, blocks, self.near.extent, tiles, tasks, per, *span, self.sn, self.yn)
        near = (self.near.xs, self.near.ys)
        return _STRUCT.pack(*head, *near, len(self.axes), *columns[0], *columns[1], *columns[2])


def plan_of(x: Array, y_strides: Sequence[int], yn: int = 0) -> Plan:
    """Decide how to take the rows of x; ``y_strides`` are those of the kept axes in the output."""
    return _plan(x.shape, x.strides, tuple(y_strides), yn)


@lru_cache(maxsize=1024)
def _plan(
    shape: tuple[int, ...], strides: tuple[int, ...], y_strides: tuple[int, ...], yn: int
) -> Plan:
    n, sn = shape[-1], strides[-1]
    axes = [Axis(*a) for a in zip(shape[:-1], strides[:-1], y_strides, strict=True)]
    axes = [axis for axis in axes if axis.extent != 1]
    alone = Axis(1, 0, 0)
    if axes:
        # Of equal strides the longest: a broadcast axis is as good a column as any.
        near = min(axes, key=lambda a: (abs(a.xs), -a.extent))
        if n < SHORT_ROW or abs(sn) > abs(near.xs):
            axes.remove(near)
            return Plan(n, sn, yn, False, near, tuple(axes))
    return Plan(n, sn, yn, True, alone, tuple(axes))


def pieces(env: Env, plan: Plan, x: Array, y: Array) -> Iterator[tuple[Plan, Array, Array]]:
    """Yield what kernels can walk: all at once for up to AXES kept axes, else part by part."""
    extra = len(plan.axes) - AXES
    if extra <= 0:
        yield plan, x, y
        return
    walked, inner = plan.axes[:extra], replace(plan, axes=plan.axes[extra:])
    for index in itertools.product(*(range(axis.extent) for axis in walked)):
        pairs = list(zip(index, walked, strict=True))
        xs = sum(i * axis.xs for i, axis in pairs)
        ys = sum(i * axis.ys for i, axis in pairs)
        yield inner, env.view(x, (1,), (1,), xs), env.view(y, (1,), (1,), ys)


def row_major(plan: Plan) -> Plan:
    """Return the plan of a reduction whose results lie in the order of its rows."""
    step = plan.near.extent
    axes = []
    for axis in reversed(plan.axes):
        axes.append(axis._replace(ys=step))
        step *= axis.extent
    return replace(plan, near=plan.near._replace(ys=1), axes=tuple(reversed(axes)))
