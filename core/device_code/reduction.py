"""Reductions over the last axis: sums, products, extremes, their places, logic, counts.

A row is cut into blocks, whose results are combined by a second kernel. Devices whose work-items
are cores (`Traits.is_cpu`) get kernels in which a work-item takes whole blocks; all others share a
block among the items of a group. The order of evaluation is the op table's in each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from phalanx.optable.structured import BLOCK, LANES

from .dtypes import PART, needs_fp64
from .recipe import Program, Recipe, Traits, divide_up
from .reduction_rules import Rules, rules_of, wide
from .rows import GRAIN, GROUPS, Plan, defines, items, pieces, plan_of, serial, template

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout, Operand

    from .recipe import Env

#: Work-items of the group that combines the blocks of a row.
_JOINERS = 64


class _Launch(NamedTuple):
    """The sizes of a launch, and the struct ``row_plan`` for it."""

    size: tuple[int]
    local: tuple[int]
    packed: bytes


class Reducer:
    """The programs of one reduction, and how they are launched."""

    def __init__(self, rules: Rules, traits: Traits) -> None:
        self.rules = rules
        self.serial = serial(traits)
        self.width = max(1, (256 if rules.ordered else 1024) // rules.size)
        self.slots = 1 if self.serial else min(16, traits.max_work_group // 16)
        self.items = items(traits)
        self._made: dict[tuple[bool, bool], Program] = {}
        self.launches = lru_cache(maxsize=256)(self._launches)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The program for contiguous rows."""
        return (self.program(by_row=True, unit=True),)

    def program(self, *, by_row: bool, unit: bool) -> Program:
        """Return the program for rows or columns; ``unit`` if they are dense in memory."""
        key = by_row, unit or not self.serial
        made = self._made.get(key)
        return made or self._made.setdefault(key, self._program(*key))

    def _program(self, by_row: bool, unit: bool) -> Program:
        rules = self.rules
        slots, shared = (1, LANES) if by_row else (self.slots, 16)
        sides = LANES if rules.ordered else 1
        macros = {"LANES": LANES, "BLOCK": BLOCK, "WIDTH": self.width, "SIDES": sides}
        macros |= {"BY_ROW": int(by_row), "UNIT": int(unit), "SLOTS": slots, "ITEMS": shared}
        macros["WIDE"] = int(by_row and unit and self.serial and rules.wide != "")
        text = defines({name: str(value) for name, value in macros.items()})
        own = rules.macros | (rules.blockwise if by_row and unit and self.serial else {})
        text += defines({"JOINERS": str(_JOINERS), **_aux_macros(rules.aux), **own})
        widened = {f"WIDE_{name}": wide(rules.macros[name]) for name in "TA"}
        text += defines({**widened, "WIDE_TAKE(v)": rules.wide})
        text += rules.helpers + template("rows.h") + template("reduce.h")
        text += template("../kernels_opencl/reduce_serial.cl" if self.serial else "reduce_groups.h")
        return Program(text, rules.headers)

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

    def _launches(self, plan: Plan) -> tuple[Program, int, _Launch, _Launch | None]:
        """Return the program, the number of blocks, and the launches for them and for joining."""
        rows, blocks, cols = plan.rows, plan.blocks(BLOCK), plan.near.extent
        if self.serial:
            tiles = 1 if plan.by_row else divide_up(cols, self.width)
            tasks = plan.outer * blocks * tiles
            size = min(plan.n, BLOCK) * min(self.width, cols)
            per = max(divide_up(tasks, self.items), divide_up(GRAIN, size + 16))
            local = slots = join_local = 1
            join_per = divide_up(rows, self.items)
        else:
            slots = 1 if plan.by_row else self.slots
            tiles = divide_up(cols, slots)
            tasks = plan.outer * blocks * tiles * slots
            per = divide_up(tasks, slots * GROUPS)
            local, join_local = LANES if plan.by_row else slots * 16, _JOINERS
            join_per = divide_up(rows, GROUPS)
        step = plan.sn if plan.by_row else plan.near.xs
        program = self.program(by_row=plan.by_row, unit=step == 1)
        size = divide_up(tasks, slots * per) * local
        first = _Launch((size,), (local,), plan.pack(blocks, tiles, tasks, per))
        if blocks == 1:
            return program, 0, first, None
        size = divide_up(rows, join_per) * join_local
        join = _Launch((size,), (join_local,), plan.pack(blocks, 1, rows, join_per))
        return program, rows * blocks, first, join


def _aux_macros(aux: str) -> dict[str, str]:
    """Return the macros that hand the operand `Rules.aux` through, if there is one."""
    return {
        "AUX_PARAMS": f", __global const {aux} *aux" if aux else "",
        "AUX_PASS": ", PHX_DATA(aux)" if aux else "",
        "AUX_KERNEL": f", PHX_INPUT({aux}, aux)" if aux else "",
        "AUX_DATA": f"__global const {aux} *aux = PHX_DATA(aux)" if aux else "",
    }


def exact(op: str, unit: str, traits: Traits) -> bool:
    """Whether a reduction in a float or complex type has the bits of every other device."""
    if not traits.subnormals and unit in ("float32", "complex64"):
        return False
    return op != "mean" or traits.exact_division or traits.fp64


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of a reduction; see ``kernels_opencl.find``."""
    del layout  # there is one for all strides
    dtype = dtypes[0]
    double_inside = op == "prod" and dtype in PART
    if (needs_fp64(dtypes) or double_inside) and not traits.fp64:
        return None
    rules = rules_of(op, dtype)
    reducer = Reducer(rules, traits)

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x: Array = inputs[0]  # type: ignore[assignment]
        y = outputs[0]
        if y.size:
            for piece in pieces(env, plan_of(x, y.strides), x, y):
                reducer.run(env, *piece)

    bitwise = not rules.ordered or exact(op, rules.scratch, traits)
    bound = -1.0 if rules.ordered else 0.0
    return Recipe(reducer.programs, launch, "bitwise" if bitwise else "reproducible", bound)
