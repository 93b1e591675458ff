"""softmax, log_softmax and layer_norm where a work-item is a core."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from phalanx.device_code.normalize import Normalize, recipe
from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up
from phalanx.device_code.reduction import Reducer, SizedLaunch
from phalanx.device_code.reduction_rules import Rules
from phalanx.device_code.rows import Axis
from phalanx.optable.structured import BLOCK

from .cores import GRAIN, items, serial, template
from .reduction import SerialReducer
from .wide import Wide, wide_of

if TYPE_CHECKING:
    from phalanx.device_code.rows import Plan
    from phalanx.vendor import Array, Layout

#: Columns of a task.
_WIDTH = 256
#: Rows that are taken one by one however short they are: side by side they take four kernels.
_FEW = 512
#: Elements for a work-item of its own: an exponential is a lot of work.
_GRAIN = GRAIN // 4


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op where work-items are cores."""
    del layout  # there is one for all strides
    return recipe(_Serial(op, dtypes[0], traits)) if serial(traits) else None


class _Serial(Normalize):
    def macros(self, kind: str) -> dict[str, str]:
        """Return what the kernels need defined besides."""
        return {"WIDTH": str(_WIDTH), "WIDE_F": "float16" if kind == "f32" else "double16"}

    @property
    def most_held(self) -> int:
        """The length of rows for one kernel."""
        return BLOCK

    def plan(self, x: Array, y: Array) -> Plan:
        """Decide how to take the rows."""
        plan = super().plan(x, y)
        if plan.by_row or plan.rows > _FEW:
            return plan
        return replace(plan, by_row=True, near=Axis(1, 0, 0), axes=(*plan.axes, plan.near))

    def source(self) -> str:
        """Return the kernels."""
        return template("normalize_serial.cl")

    def reducer(self, op: str, rules: Rules) -> Reducer:
        """Return what reduces rows."""
        return SerialReducer(rules, self.traits, wide_of(op, self.dtype) if op else Wide())

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs for contiguous rows."""
        return self.program, *self.centre.programs, *self.sum.programs

    def plan_rows(self, plan: Plan) -> tuple[Program, SizedLaunch]:
        """Return the program and the launch where rows are one block."""
        per = max(divide_up(plan.rows, items(self.traits)), divide_up(_GRAIN, plan.n + 16))
        size = divide_up(plan.rows, per)
        return self.program, SizedLaunch((size,), (1,), plan.pack(1, 1, plan.rows, per))

    def cut_elements(self, plan: Plan) -> tuple[tuple[int, ...], tuple[int, ...], bytes]:
        """Return how many work-items make the last pass, and ``row_plan``."""
        blocks, cols = plan.blocks(BLOCK), plan.near.extent
        tiles = divide_up(cols, _WIDTH)
        tasks = plan.outer * blocks * tiles
        size = min(plan.n, BLOCK) * min(_WIDTH, cols)
        per = max(divide_up(tasks, items(self.traits)), divide_up(_GRAIN, size))
        return (divide_up(tasks, per),), (1,), plan.pack(blocks, tiles, tasks, per)
