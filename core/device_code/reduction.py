"""Reductions over the last axis: sums, products, extremes, their places, logic, counts.

A row is cut into blocks, each shared by work-items of a group: by few where rows are short and
many. Where each element is a lane of its own, no more work-items share a row than pay. A group
may take several blocks of a row, those that the tree combines first; what is left of a long row is
combined by a second kernel. The order of evaluation is the op table's, see docs/ops.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from phalanx.optable.structured import BLOCK, LANES

from .dtypes import PART
from .recipe import Program, Recipe, Traits, divide_up
from .reduction_rules import Rules, rules_of
from .rows import SHORT_ROW, Plan, defines, pieces, plan_of, row_major
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

#: Most work-items of a group, and of the one that combines the blocks of a row.
_GROUP, _JOINERS = 128, 256
#: Work-items that share a short row, and its length up to which they do.
_FEW, _SHORT = 8, 512
#: How many elements a row has whose elements are lanes, and how many work-items share it.
_SHARED = ((4, 1), (16, 4), (LANES, 8))
#: Groups of each compute unit from which a row's blocks need no more of them.
_ENOUGH = 16
#: Elements of a lane that are read before one is taken, which divide those of a whole block without
#: its first one; and bytes of all that a work-item reads so.
_AHEAD, _AHEAD_BYTES = (7, 3, 1), 128
#: Levels of the tree over blocks that one group combines by itself.
_LEVELS = 4


class Form(NamedTuple):
    """Whether rows are taken one by one; blocks of a group, and work-items that share one.

    ``dense`` tells that a row's elements are neighbours in memory, which compilers make use of.
    ``most`` is how many elements a row has at most if each is a lane, and 0 if there may be more.
    """

    by_row: bool
    slots: int
    items: int
    dense: bool = False
    most: int = 0


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
        #: Work-items of the group that combines the blocks of a row.
        self.joiners = min(_JOINERS, traits.max_work_group)
        self._made: dict[tuple[int, ...], Program] = {}
        self.launches = lru_cache(maxsize=256)(self.plan_launches)

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs for contiguous rows, and for joining their blocks."""
        form = Form(by_row=True, slots=1, items=LANES, dense=True)
        return self.program(*form), self.join_program

    @cached_property
    def join_program(self) -> Program:
        """The program that combines what is left of long rows of any form."""
        return Program(self.join_source(), self.rules.headers)

    def program(self, *form: int) -> Program:
        """Return the program for a form of rows, the arguments of ``source``."""
        found = self._made.get(form)
        if found is None:
            made = Program(self.source(*form), self.rules.headers)
            found = self._made.setdefault(form, made)
        return found

    def source(self, *form: int) -> str:
        """Return the source of a program for a `Form`."""
        rules = self.rules
        by_row, slots, items, dense, most = form
        macros = {"LANES": LANES, "BLOCK": BLOCK, "BY_ROW": int(by_row), "SLOTS": slots}
        own = LANES // items * rules.size
        ahead = next(each for each in _AHEAD if each * own <= _AHEAD_BYTES or each == _AHEAD[-1])
        macros |= {"ITEMS": items, "LEVELS": _LEVELS, "AHEAD": ahead, "DENSE": int(dense)}
        macros |= {"MOST": most}
        text = defines({name: str(value) for name, value in macros.items()})
        text += defines({**aux_macros(rules.aux), **rules.macros}) + rules.helpers
        kernel = "reduce_short.h" if most else "reduce_groups.h"
        return text + "".join(map(template, ("rows.h", "reduce.h", kernel)))

    def join_source(self) -> str:
        """Return the source of the program that combines what is left of long rows."""
        macros = {"BLOCK": str(BLOCK), "JOINERS": str(self.joiners)}
        text = defines({**macros, **self.rules.macros}) + self.rules.helpers
        return text + "".join(map(template, ("rows.h", "reduce.h", "reduce_join.h")))

    def run(self, env: Env, plan: Plan, x: Array, y: Array, aux: tuple[Array, ...] = ()) -> None:
        """Reduce rows of x into y as planned; ``aux`` has what `Rules.aux` says, an element a row.

        The number of a row counts the plan's axes in row-major order, the near one last.
        """
        program, parts, first, join = self.launches(plan)
        part = env.scratch(parts * self.rules.units, self.rules.scratch) if join else y
        kernel = env.kernel(program, "reduce")
        env.enqueue(kernel, first.size, first.local, x, y, part, first.packed, *aux)
        if join:
            kernel = env.kernel(self.join_program, "reduce_blocks")
            env.enqueue(kernel, join.size, join.local, part, y, join.packed)

    def form(self, plan: Plan) -> Form:
        """Choose how rows are shared."""
        if 0 < plan.n <= LANES and (plan.by_row or plan.n < SHORT_ROW):
            return self._short_form(plan)
        if plan.by_row:
            return row_form(self.traits, plan, _SHORT)._replace(dense=plan.sn == 1)
        return Form(by_row=False, slots=min(16, self.traits.max_work_group // 16), items=16)

    def _short_form(self, plan: Plan) -> Form:
        """Choose how rows are shared of which each element is a lane."""
        most, items = next(each for each in _SHARED if plan.n <= each[0])
        if not plan.by_row and abs(plan.near.xs) <= abs(plan.sn):
            items = 1  # rows are neighbours in memory, so they are those of work-items
        slots = min(_GROUP, self.traits.max_work_group) // items
        return Form(plan.by_row, slots, items, dense=plan.sn == 1, most=most)

    def plan_launches(self, plan: Plan) -> tuple[Program, int, SizedLaunch, SizedLaunch | None]:
        """Return the program, how many partial results, and the launches for them and to join."""
        form, blocks = self.form(plan), plan.blocks(BLOCK)
        most = self.traits.most_groups
        spans, span = self._spans(plan, form)
        tiles = divide_up(plan.near.extent, form.slots)
        tasks = plan.rows * spans
        if not (form.by_row or form.most):
            tasks = plan.outer * spans * tiles * form.slots
        per = divide_up(tasks, form.slots * most)
        local = form.slots * form.items
        size = divide_up(tasks, form.slots * per) * local
        program = self.program(*form)
        packed = plan.pack(blocks, tiles, tasks, per, span, spans)
        first = SizedLaunch((size,), (local,), packed)
        if spans == 1:
            return program, 0, first, None
        rows = plan.rows
        per = divide_up(rows, most)
        packed = plan.pack(blocks, 1, rows, per, 1, spans)
        join = SizedLaunch((divide_up(rows, per) * self.joiners,), (self.joiners,), packed)
        return program, rows * spans, first, join

    def _spans(self, plan: Plan, form: Form) -> tuple[int, int]:
        """Choose how many tasks a row is, and of how many blocks each, a power of two."""
        blocks, span = plan.blocks(BLOCK), 1
        enough = _ENOUGH * self.traits.compute_units * form.slots
        spans = 1 << (blocks - 1).bit_length()
        while spans > 1 and span < 2**_LEVELS and plan.rows * spans >= 2 * enough:
            spans //= 2
            span *= 2
        return min(spans, blocks), span


def row_form(traits: Traits, plan: Plan, short: int) -> Form:
    """Choose how rows taken one by one are shared: by few work-items if ``short`` and many."""
    slots = min(_GROUP, traits.max_work_group) // _FEW
    if plan.n <= short and plan.rows >= slots * traits.compute_units:
        return Form(by_row=True, slots=slots, items=_FEW)
    return Form(by_row=True, slots=1, items=LANES)


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
    return recipe(op, dtypes[0], lambda _, rules: Reducer(rules, traits), traits)


def recipe(
    op: str, dtype: str, reducer: Callable[[str, Rules], Reducer], traits: Traits
) -> Recipe | None:
    """Return the recipe of an op of the table; ``None`` if it needs double and there is none.

    ``reducer`` makes what reduces by the rules of an op.
    """
    if op == "prod" and dtype in PART and not traits.fp64:
        return None
    rules = rules_of(op, dtype)
    whole = reducer(op, rules)
    centre = reducer("mean", rules_of("mean", dtype)) if rules.aux else None

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x: Array = inputs[0]  # type: ignore[assignment]
        y = outputs[0]
        if y.size == 0:
            return
        for plan, rows, found in pieces(env, plan_of(x, y.strides), x, y):
            aux: tuple[Array, ...] = ()
            if centre is not None:
                aux = (env.scratch(plan.rows, dtype),)
                centre.run(env, row_major(plan), rows, *aux)
            whole.run(env, plan, rows, found, aux)

    programs = whole.programs if centre is None else (*centre.programs, *whole.programs)
    divides = "mean" if centre is not None else op
    bitwise = not rules.ordered or exact(divides, rules.scratch, traits)
    bound = -1.0 if rules.ordered else 0.0
    return Recipe(programs, launch, "bitwise" if bitwise else "reproducible", bound)
