"""softmax along the last axis: exp(x - max) over its sum.

Rows of one block are done by one kernel. Longer ones, and columns side by side, take the maximum
and the sum of exp(x - max) as reductions, then one pass over the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from phalanx.optable.expressions import loaded, stored
from phalanx.optable.structured import BLOCK, LANES

from .dtypes import HALF, STORAGE, SUFFIX
from .recipe import Program, Recipe, Traits, divide_up, group_shape
from .reduction import Form, Reducer, SizedLaunch, row_form
from .reduction_rules import Rules, exponential, exponential_rules, rules_of, unit_of
from .rows import Plan, defines, pieces, plan_of
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

#: The length of rows up to which few work-items share one, if there are many.
_SHORT = 256


class Softmax:
    """The programs of one dtype, and how they are launched."""

    def __init__(self, dtype: str, traits: Traits) -> None:
        unit = unit_of(dtype)
        kind = SUFFIX[unit]
        header, function = exponential(dtype)
        self.dtype, self.unit, self.traits = dtype, unit, traits
        macros = {"T": STORAGE[dtype], "F": kind, "BLOCK": str(BLOCK), "LANES": str(LANES)}
        macros |= {"LOAD(v)": loaded(dtype, "(v)"), "EXP(v)": f"{function}(v)"}
        macros["RECIPROCAL(v)"] = "phx_dividef(1.0f, (v))" if kind == "f32" else "(1.0 / (v))"
        macros["STORE(v)"] = stored(dtype, "(v)")
        headers = (header, "convert") if dtype in HALF else (header,)
        self._head = defines({**macros, **self.macros(kind)}) + template("rows.h")
        self._headers = headers
        self._rows: dict[tuple[int, int, int], Program] = {}
        self.program = Program(self._head + template("softmax.h") + self.source(), headers)
        self.largest = self.reducer("max", rules_of("max", dtype))
        self.sum = self.reducer("", exponential_rules(dtype))

    def macros(self, kind: str) -> dict[str, str]:
        """Return what the kernels need defined besides, for arithmetic in a C type."""
        del kind
        return {}

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs for contiguous rows, of one block and of several."""
        rows = self.rows_program(1024, Form(by_row=True, slots=1, items=LANES))
        return rows, self.program, *self.largest.programs, *self.sum.programs

    def source(self) -> str:
        """Return the kernels for rows of several blocks, and for columns."""
        return template("softmax_groups.h")

    def reducer(self, op: str, rules: Rules) -> Reducer:
        """Return what reduces rows, with the rules of an op of the table or others."""
        del op
        return Reducer(rules, self.traits)

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
        program, launch = self.plan_rows(plan)
        kernel = env.kernel(program, "softmax_rows")
        env.enqueue(kernel, launch.size, launch.local, x, y, launch.packed)

    def plan_rows(self, plan: Plan) -> tuple[Program, SizedLaunch]:
        """Return the program and the launch where rows are one block."""
        form = row_form(self.traits, plan, _SHORT)
        program = self.rows_program(plan.n, form)
        per = divide_up(plan.rows, form.slots * self.traits.most_groups)
        local = form.slots * form.items
        size = divide_up(plan.rows, form.slots * per) * local
        return program, SizedLaunch((size,), (local,), plan.pack(1, 1, plan.rows, per))

    def rows_program(self, n: int, form: Form) -> Program:
        """Return the program for rows of n elements."""
        held = max(divide_up(n, form.items), divide_up(LANES, form.items))
        key = (form.slots, form.items, 1 << (held - 1).bit_length())
        found = self._rows.get(key)
        if found is None:
            names = dict(zip(("SLOTS", "ITEMS", "HOLD"), map(str, key), strict=True))
            text = self._head + defines(names) + template("softmax_rows.h")
            found = self._rows.setdefault(key, Program(text, self._headers))
        return found

    def _run(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        """Any rows: maximum, sum, factor, elements."""
        rows = plan.rows
        most, sums = env.scratch(rows, self.dtype), env.scratch(rows, self.unit)
        kept = _row_major(plan)
        self.largest.run(env, kept, x, most)
        self.sum.run(env, kept, x, sums, (most,))
        kernel = env.kernel(self.program, "softmax_factors")
        local = min(256, self.traits.max_work_group)
        size = min(divide_up(rows, local), self.traits.most_groups) * local
        env.enqueue(kernel, (size,), (local,), sums, rows)
        sizes, group, packed = self.cut_elements(plan)
        kernel = env.kernel(self.program, "softmax_scale")
        env.enqueue(kernel, sizes, group, x, y, most, sums, packed, int(plan.by_row))

    def cut_elements(self, plan: Plan) -> tuple[tuple[int, ...], tuple[int, ...], bytes]:
        """Return the work-items of all and of a group for the last pass, and ``row_plan``."""
        traits = self.traits
        wide = plan.n if plan.by_row else plan.near.extent
        tasks = plan.rows * plan.n // wide
        group = group_shape(wide, min(256, traits.max_work_group), 256)
        across = min(divide_up(tasks, group[1]), traits.most_groups_across)
        along = min(divide_up(wide, group[0]), max(1, traits.most_groups // across))
        packed = plan.pack(plan.blocks(BLOCK), 1, tasks, 1)
        return (along * group[0], across * group[1]), group, packed


def _row_major(plan: Plan) -> Plan:
    """Return the plan of a reduction whose results lie in the order of its rows."""
    step = plan.near.extent
    axes = []
    for axis in reversed(plan.axes):
        axes.append(axis._replace(ys=step))
        step *= axis.extent
    return replace(plan, near=plan.near._replace(ys=1), axes=tuple(reversed(axes)))


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of softmax; see ``device_code.find``."""
    del op, layout  # there is one for all strides
    return recipe(dtypes[0], Softmax(dtypes[0], traits)) if traits.max_work_group >= LANES else None


def recipe(dtype: str, softmax: Softmax) -> Recipe:
    """Return the recipe of softmax in a form."""

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x: Array = inputs[0]  # type: ignore[assignment]
        softmax.launch(env, x, outputs[0])

    bitwise = softmax.traits.subnormals or dtype == "float64"
    return Recipe(softmax.programs, launch, "bitwise" if bitwise else "reproducible")
