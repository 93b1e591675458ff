"""Reductions where a work-item is a core: it takes whole blocks, its lanes are vector registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up
from phalanx.device_code.reduction import Reducer, SizedLaunch, aux_macros, recipe
from phalanx.device_code.reduction_rules import Rules
from phalanx.device_code.rows import Plan, defines
from phalanx.device_code.source import template as shared
from phalanx.optable.structured import BLOCK, LANES

from .cores import GRAIN, items, serial, template
from .wide import Wide, vector, wide_of

if TYPE_CHECKING:
    from phalanx.vendor import Layout


class SerialReducer(Reducer):
    """The programs of one reduction for cores, and how they are launched."""

    def __init__(self, rules: Rules, traits: Traits, wide: Wide) -> None:
        super().__init__(rules, traits)
        self.width = max(1, (256 if rules.ordered else 1024) // rules.size)
        self.items = items(traits)
        self._wide = wide

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs for contiguous rows, and for joining their blocks."""
        return self.program(1, 1), self.join_program

    def source(self, *form: int) -> str:
        """Return the source of a program for rows or columns, and whether they are dense."""
        rules, wide = self.rules, self._wide
        by_row, unit = form
        sides = LANES if rules.ordered else 1
        vectors = int(by_row and unit and wide.take != "")
        macros = {"LANES": LANES, "BLOCK": BLOCK, "WIDTH": self.width, "SIDES": sides}
        macros |= {"UNIT": int(unit), "WIDE": vectors}
        text = defines({name: str(value) for name, value in macros.items()})
        own = rules.macros | (wide.blockwise if by_row and unit else {})
        widened = {f"WIDE_{name}": vector(rules.macros[name]) for name in "TA"}
        text += defines({**aux_macros(rules.aux), **own, **widened, "WIDE_TAKE(v)": wide.take})
        text += rules.helpers + wide.helpers + shared("rows.h") + shared("reduce.h")
        text += template("reduce_serial.cl")
        return text + template("reduce_rows.cl" if by_row else "reduce_columns.cl")

    def join_source(self) -> str:
        """Return the source of the program that combines the blocks of rows."""
        text = defines({"BLOCK": str(BLOCK), **self.rules.macros}) + self.rules.helpers
        text += shared("rows.h") + shared("reduce.h")
        return text + template("reduce_serial.cl") + template("reduce_join.cl")

    def plan_launches(self, plan: Plan) -> tuple[Program, int, SizedLaunch, SizedLaunch | None]:
        """Return the program, the number of blocks, and the launches for them and for joining."""
        rows, blocks, cols = plan.rows, plan.blocks(BLOCK), plan.near.extent
        tiles = 1 if plan.by_row else divide_up(cols, self.width)
        tasks = plan.outer * blocks * tiles
        size = min(plan.n, BLOCK) * min(self.width, cols)
        per = max(divide_up(tasks, self.items), divide_up(GRAIN, size + 16))
        step = plan.sn if plan.by_row else plan.near.xs
        program = self.program(plan.by_row, step == 1)
        packed = plan.pack(blocks, tiles, tasks, per)
        first = SizedLaunch((divide_up(tasks, per),), (1,), packed)
        if blocks == 1:
            return program, 0, first, None
        per = divide_up(rows, self.items)
        join = SizedLaunch((divide_up(rows, per),), (1,), plan.pack(blocks, 1, rows, per))
        return program, rows * blocks, first, join


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of a reduction where work-items are cores."""
    del layout  # there is one for all strides
    if not serial(traits):
        return None
    dtype = dtypes[0]
    return recipe(
        op, dtype, lambda op, rules: SerialReducer(rules, traits, wide_of(op, dtype)), traits
    )
