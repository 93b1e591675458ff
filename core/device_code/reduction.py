"""Reductions over the last axis: sums, products, extremes, their places, logic, counts.

A row is cut into blocks, each shared by the items of a group, whose results are combined by a
second kernel. The order of evaluation is the op table's, see docs/ops.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from phalanx.optable.structured import BLOCK, LANES

from .dtypes import PART
from .recipe import Program, Recipe, Traits, divide_up
from .reduction_rules import Rules, rules_of
from .rows import Plan, defines, pieces, plan_of
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

#: Work-items of the group that combines the blocks of a row.
_JOINERS = 64


class SizedLaunch(NamedTuple):
    """The sizes of a launch, and the struct ``row_plan`` for it."""

    size: tuple[int]
    local: tuple[int]
    packed: bytes


class Reducer:
    """The programs of one reduction, and how they are launched."""

    def __init__(self, rules: Rules, traits: Traits) -> None:
        self.rules = rules
        self.traits = traits
        #: Columns of a group: as many as there is room for at 16 work-items each.
        self.slots = min(16, traits.max_work_group // 16)
        self._made: dict[tuple[bool, bool], Program] = {}
        self.launches = lru_cache(maxsize=256)(self.plan_launches)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The program for contiguous rows."""
        return (self.program(by_row=True, unit=True),)

    def program(self, *, by_row: bool, unit: bool) -> Program:
        """Return the program for rows or columns; ``unit`` if they are dense in memory."""
        key = by_row, unit
        found = self._made.get(key)
        if found is None:
            made = Program(self.source(*key), self.rules.headers)
            found = self._made.setdefault(key, made)
        return found

    def source(self, by_row: bool, unit: bool) -> str:
        """Return the source of a program."""
        del unit
        rules = self.rules
        slots, shared = (1, LANES) if by_row else (self.slots, 16)
        macros = {"LANES": LANES, "BLOCK": BLOCK, "BY_ROW": int(by_row), "SLOTS": slots}
        macros |= {"ITEMS": shared, "JOINERS": _JOINERS}
        text = defines({name: str(value) for name, value in macros.items()})
        text += defines({**aux_macros(rules.aux), **rules.macros}) + rules.helpers
        return text + "".join(map(template, ("rows.h", "reduce.h", "reduce_groups.h")))

    def run(self, env: Env, plan: Plan, x: Array, y: Array, aux: tuple[Array, ...] = ()) -> None:
        """Reduce rows of x into y as planned; ``aux`` has what `Rules.aux` says, an element a row.

        The number of a row counts the plan's axes in row-major order, the near one last.
        """
        program, parts, first, join = self.launches(plan)
        part = env.scratch(parts * self.rules.units, self.rules.scratch) if join else y
        kernel = env.kernel(program, "reduce")
        env.enqueue(kernel, first.size, first.local, x, y, part, first.packed, *aux)
        if join:
            kernel = env.kernel(program, "reduce_blocks")
            env.enqueue(kernel, join.size, join.local, part, y, join.packed)

    def plan_launches(self, plan: Plan) -> tuple[Program, int, SizedLaunch, SizedLaunch | None]:
        """Return the program, the number of blocks, and the launches for them and for joining."""
        rows, blocks = plan.rows, plan.blocks(BLOCK)
        most = self.traits.most_groups
        slots = 1 if plan.by_row else self.slots
        tiles = divide_up(plan.near.extent, slots)
        tasks = plan.outer * blocks * tiles * slots
        per = divide_up(tasks, slots * most)
        local = LANES if plan.by_row else slots * 16
        program = self.program(by_row=plan.by_row, unit=True)
        size = divide_up(tasks, slots * per) * local
        first = SizedLaunch((size,), (local,), plan.pack(blocks, tiles, tasks, per))
        if blocks == 1:
            return program, 0, first, None
        per = divide_up(rows, most)
        packed = plan.pack(blocks, 1, rows, per)
        join = SizedLaunch((divide_up(rows, per) * _JOINERS,), (_JOINERS,), packed)
        return program, rows * blocks, first, join


def aux_macros(aux: str) -> dict[str, str]:
    """Return the macros that hand the operand `Rules.aux` through, if there is one."""
    return {
        "AUX_PARAMS": f", PHX_GLOBAL const {aux} *aux" if aux else "",
        "AUX_PASS": ", PHX_DATA(aux)" if aux else "",
        "AUX_KERNEL": f", PHX_INPUT({aux}, aux)" if aux else "",
        "AUX_DATA": f"PHX_GLOBAL const {aux} *aux = PHX_DATA(aux)" if aux else "",
    }


def exact(op: str, unit: str, traits: Traits) -> bool:
    """Whether a reduction in a float or complex type has the bits of every other device."""
    if not traits.subnormals and unit in ("float32", "complex64"):
        return False
    return op != "mean" or traits.exact_division or traits.fp64


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of a reduction; see ``device_code.find``."""
    del layout  # there is one for all strides
    if traits.max_work_group < LANES:
        return None
    return recipe(op, dtypes[0], Reducer(rules_of(op, dtypes[0]), traits), traits)


def recipe(op: str, dtype: str, reducer: Reducer, traits: Traits) -> Recipe | None:
    """Return the recipe of a reducer; ``None`` if it needs double and there is none."""
    if op == "prod" and dtype in PART and not traits.fp64:
        return None

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x: Array = inputs[0]  # type: ignore[assignment]
        y = outputs[0]
        if y.size:
            for piece in pieces(env, plan_of(x, y.strides), x, y):
                reducer.run(env, *piece)

    rules = reducer.rules
    bitwise = not rules.ordered or exact(op, rules.scratch, traits)
    bound = -1.0 if rules.ordered else 0.0
    return Recipe(reducer.programs, launch, "bitwise" if bitwise else "reproducible", bound)
