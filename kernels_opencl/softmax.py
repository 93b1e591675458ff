"""softmax along the last axis: exp(x - max) over its sum.

Rows of one block are done by one kernel. Longer ones, and columns side by side, take the maximum
and the sum of exp(x - max) as reductions, then one pass over the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from phalanx.device_code.dtypes import HALF, STORAGE, SUFFIX, loaded, needs_fp64, stored
from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up, round_up
from phalanx.device_code.reduction import Reducer
from phalanx.device_code.reduction_rules import exponential, exponential_rules, rules_of, unit_of
from phalanx.device_code.rows import Plan, defines, pieces, plan_of
from phalanx.device_code.source import template as shared
from phalanx.optable.structured import BLOCK, LANES

from .cores import GRAIN, items, serial, template
from .reduction import SerialReducer
from .wide import Wide, wide_of

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.device_code.env import Env
    from phalanx.driver import Layout, Operand

#: Groups above which each takes several tasks.
GROUPS = 1 << 20
#: Columns of a task where a work-item is a core.
_WIDTH = 256
#: Elements for a work-item of its own where it is a core: an exponential is a lot of work.
_GRAIN = GRAIN // 4


class Softmax:
    """The programs of one dtype, and how they are launched."""

    def __init__(self, dtype: str, traits: Traits) -> None:
        unit = unit_of(dtype)
        kind = SUFFIX[unit]
        header, function = exponential(dtype)
        self.dtype, self.unit = dtype, unit
        self.serial = serial(traits)
        self.items = items(traits)
        self.group = min(256, traits.max_work_group)
        macros = {"T": STORAGE[dtype], "F": kind, "BLOCK": str(BLOCK), "LANES": str(LANES)}
        macros |= {"WIDTH": str(_WIDTH), "IS_SERIAL": str(int(self.serial))}
        macros |= {"LOAD(v)": loaded(dtype, "(v)"), "EXP(v)": f"{function}(v)"}
        macros["RECIPROCAL(v)"] = "phx_dividef(1.0f, (v))" if kind == "f32" else "(1.0 / (v))"
        macros["STORE(v)"] = stored(dtype, "(v)")
        macros["WIDE_F"] = "float16" if kind == "f32" else "double16"
        headers = (header, "convert") if dtype in HALF else (header,)
        text = defines(macros) + shared("rows.h") + template("softmax.cl")
        self.program = Program(text, headers)
        largest, total = rules_of("max", dtype), exponential_rules(dtype)
        if self.serial:
            self.largest: Reducer = SerialReducer(largest, traits, wide_of("max", dtype))
            self.sum: Reducer = SerialReducer(total, traits, Wide())
        else:
            self.largest, self.sum = Reducer(largest, traits), Reducer(total, traits)
        self.programs = (self.program, *self.largest.programs, *self.sum.programs)

    def launch(self, env: Env, x: Array, y: Array) -> None:
        """Softmax of x (k1..kp, n) into y of the same shape."""
        if y.size == 0:
            return
        plan = plan_of(x, y.strides[:-1], y.strides[-1])
        run = self._run_rows if plan.by_row and plan.n <= BLOCK else self._run
        for piece in pieces(env, plan, x, y):
            run(env, *piece)

    def _run_rows(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        """Rows of one block."""
        if self.serial:
            per = max(divide_up(plan.rows, self.items), divide_up(_GRAIN, plan.n + 16))
        else:
            per = divide_up(plan.rows, GROUPS)
        local = 1 if self.serial else LANES
        kernel = env.kernel(self.program, "softmax_rows")
        packed = plan.pack(1, 1, plan.rows, per)
        env.enqueue(kernel, (divide_up(plan.rows, per) * local,), (local,), x, y, packed)

    def _run(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        """Any rows: maximum, sum, factor, elements."""
        rows, blocks, cols = plan.rows, plan.blocks(BLOCK), plan.near.extent
        most, sums = env.scratch(rows, self.dtype), env.scratch(rows, self.unit)
        kept = _row_major(plan)
        self.largest.run(env, kept, x, most)
        self.sum.run(env, kept, x, sums, (most,))
        kernel = env.kernel(self.program, "softmax_factors")
        local = 1 if self.serial else self.group
        env.enqueue(kernel, (round_up(rows, local),), (local,), sums, rows)
        if self.serial:
            tiles = divide_up(cols, _WIDTH)
            tasks = plan.outer * blocks * tiles
            size = min(plan.n, BLOCK) * min(_WIDTH, cols)
            per = max(divide_up(tasks, self.items), divide_up(_GRAIN, size))
            count = divide_up(tasks, per)
        else:
            tiles, per, tasks = 1, 1, rows * plan.n
            count = round_up(tasks, local)
        kernel = env.kernel(self.program, "softmax_scale")
        packed = plan.pack(blocks, tiles, tasks, per)
        args = (x, y, most, sums, packed, int(plan.by_row))
        env.enqueue(kernel, (count,), (local,), *args)


def _row_major(plan: Plan) -> Plan:
    """Return the plan of a reduction whose results lie in the order of its rows."""
    step = plan.near.extent
    axes = []
    for axis in reversed(plan.axes):
        axes.append(axis._replace(ys=step))
        step *= axis.extent
    return replace(plan, near=plan.near._replace(ys=1), axes=tuple(reversed(axes)))


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of softmax; see ``kernels_opencl.find``."""
    del op, layout  # there is one for all strides
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    softmax = Softmax(dtypes[0], traits)

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x: Array = inputs[0]  # type: ignore[assignment]
        softmax.launch(env, x, outputs[0])

    bitwise = traits.subnormals or dtypes[0] == "float64"
    return Recipe(softmax.programs, launch, "bitwise" if bitwise else "reproducible")
