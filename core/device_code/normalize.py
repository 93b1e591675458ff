"""softmax, log_softmax and layer_norm along the last axis.

Rows that a group holds in registers, which are up to eight blocks of float32, are done by one
kernel: memory is read once, and each exponential computed once. Longer ones, and columns side by
side, take the centre (the maximum or the mean) and the sum of what is made of the elements as
reductions, then one pass over the elements. Those compute exponentials twice: to keep them in
memory in between costs a write and a read more of each. In the time of these 8 bytes an RTX 4090
has some 330 operations of float32, an H200 some 55 (NVIDIA's data sheets: 82.6 and 67 TFLOPS of two
operations, 1.0 and 4.8 TB/s), and the exponential of softmax_exp.h is 15.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from phalanx.optable.expressions import loaded, stored
from phalanx.optable.structured import BLOCK, LANES

from .dtypes import HALF, ITEMSIZE, STORAGE, SUFFIX
from .recipe import Program, Recipe, Traits, divide_up, group_shape, scalar
from .reduction import Form, Reducer, SizedLaunch, row_form
from .reduction_rules import Rules, rules_of, sum_rules, unit_of
from .rows import Plan, defines, pieces, plan_of, row_major
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

#: Bytes of a row in the registers of a group: half of the 65,536 of 4 bytes that a multiprocessor
#: has (CUDA C++ Programming Guide, 12.9, table of technical specifications).
_REGISTERS = 2**17
#: What kernels get besides operands and plan: eps, then weights and bias with their strides.
Arguments: TypeAlias = "Sequence[Array | int | bytes]"
#: The length of rows up to which few work-items share one, if there are many.
_SHORT = 256


@dataclass(frozen=True, slots=True)
class Steps:
    """The macros of normalize.h that tell the ops apart, as C text, and the headers they need."""

    held: str
    part: str
    factor: str
    last: str
    headers: tuple[str, ...]
    mean: bool = False
    affine: bool = False


def steps_of(op: str, unit: str) -> Steps:
    """Return the steps of an op that computes in a floating dtype."""
    is_double = unit == "float64"
    kind = SUFFIX[unit]
    one_over = "(1.0 / ({}))" if is_double else "phx_dividef(1.0f, ({}))"
    exp = "phx_exp_f64(d)" if is_double else "phx_softmax_exp_f32(d)"
    header = "real_exp" if is_double else "softmax_exp"
    if op == "softmax":
        return Steps(exp, "(d)", one_over.format("total"), "((h) * (factor))", (header,))
    if op == "log_softmax":
        log = f"phx_log_{kind}(total)"
        return Steps("(d)", exp, log, "((h) - (factor))", (header, "real_log"))
    root = "phx_sqrt" if is_double else "phx_sqrtf"
    factor = one_over.format(f"{root}(QUOTIENT(total, n) + (eps))")
    last = "((h) * (factor) * (w) + (b))"
    return Steps("(d)", "((d) * (d))", factor, last, ("real_basic",), mean=True, affine=True)


class Normalize:
    """The programs of one op and dtype, and how they are launched."""

    def __init__(self, op: str, dtype: str, traits: Traits) -> None:
        unit = unit_of(dtype)
        kind = SUFFIX[unit]
        self.steps = steps = steps_of(op, unit)
        self.op, self.dtype, self.unit, self.traits = op, dtype, unit, traits
        centre = loaded(dtype, "(v)") if not steps.mean else "(v)"
        names = {
            **{"T": STORAGE[dtype], "F": kind, "C": kind if steps.mean else STORAGE[dtype]},
            **{"BLOCK": str(BLOCK), "LANES": str(LANES)},
            **{"MEAN": str(int(steps.mean)), "AFFINE": str(int(steps.affine))},
            **{"LOAD(v)": loaded(dtype, "(v)"), "STORE(v)": stored(dtype, "(v)")},
            "CENTRE(v)": centre,
        }
        self._steps = {
            "QUOTIENT(v, n)": "((v) / PHX_TO_F64(n))"
            if kind == "f64"
            else "phx_dividef((v), PHX_TO_F32(n))",
            "HELD(d)": steps.held,
            "PART(d)": steps.part,
        }
        self._steps |= {"FACTOR(total, n, eps)": steps.factor, "LAST(h, factor, w, b)": steps.last}
        headers = (*steps.headers, "convert") if dtype in HALF else steps.headers
        head = defines({**names, **self._steps, **self.macros(kind)}) + template("rows.h")
        self._head = head + template("normalize.h")
        self._headers = headers
        self._rows: dict[tuple[int, ...], Program] = {}
        self.program = Program(self._head + self.source(), headers)
        self.centre = self.reducer(*self._centre())
        self.sum = self.reducer("", self._sum())

    def _centre(self) -> tuple[str, Rules]:
        """The op of the table that finds the centre, if it is one, and its rules."""
        if not self.steps.mean:
            return "max", rules_of("max", self.dtype)
        rules = sum_rules(self.dtype)
        quotient = self._steps["QUOTIENT(v, n)"].replace("(v)", "(u)")
        return "", replace(rules, macros={**rules.macros, "FINISH(u, n)": quotient})

    def _sum(self) -> Rules:
        """The rules of the sum of PART, the centre being the operand ``aux``."""
        rules = sum_rules(self.dtype)
        centre = "aux[row]" if self.steps.mean else loaded(self.dtype, "aux[row]")
        difference = f"{loaded(self.dtype, 'v')} - {centre}"
        macros = {
            **rules.macros,
            **{name: self._steps[name] for name in ("HELD(d)", "PART(d)")},
            "TAKE(v, row)": f"PART(HELD({difference}))",
        }
        aux = SUFFIX[self.unit] if self.steps.mean else STORAGE[self.dtype]
        headers = (*rules.headers, *self.steps.headers)
        return replace(rules, macros=macros, headers=headers, aux=aux)

    def macros(self, kind: str) -> dict[str, str]:
        """Return what the kernels need defined besides, for arithmetic in a C type."""
        del kind
        return {}

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs for contiguous rows, of one block, and of more than a group holds."""
        rows = self.rows_program(1024, Form(by_row=True, slots=1, items=LANES))
        return rows, self.program, *self.centre.programs, *self.sum.programs

    @property
    def most_held(self) -> int:
        """The length of the longest rows of which a group holds all."""
        held = _REGISTERS // (BLOCK * ITEMSIZE[self.unit])
        blocks = min(held, self.traits.max_work_group // LANES)
        return BLOCK << (blocks.bit_length() - 1)

    def source(self) -> str:
        """Return the kernels for rows that are not held, and for columns."""
        return template("normalize_groups.h")

    def reducer(self, op: str, rules: Rules) -> Reducer:
        """Return what reduces rows, with the rules of an op of the table or others."""
        del op
        return Reducer(rules, self.traits)

    def launch(self, env: Env, x: Array, y: Array, more: Arguments) -> None:
        """Compute y of x, both (k1..kp, n); ``more``: eps in the unit, weights, their strides."""
        if y.size == 0:
            return
        plan = self.plan(x, y)
        run = self._run_rows if plan.by_row and plan.n <= self.most_held else self._run
        for piece in pieces(env, plan, x, y):
            run(env, *piece, more)

    def plan(self, x: Array, y: Array) -> Plan:
        """Decide how to take the rows of both."""
        return plan_of(x, y.strides[:-1], y.strides[-1])

    def _run_rows(self, env: Env, plan: Plan, x: Array, y: Array, more: Arguments) -> None:
        """Rows of which a group holds all."""
        program, launch = self.plan_rows(plan)
        kernel = env.kernel(program, "normalize_rows")
        if plan.n > BLOCK and env.group_limit(kernel) < launch.local[0]:
            self._run(env, plan, x, y, more)
            return
        env.enqueue(kernel, launch.size, launch.local, x, y, launch.packed, *more)

    def plan_rows(self, plan: Plan) -> tuple[Program, SizedLaunch]:
        """Return the program and the launch where a group holds rows."""
        form = row_form(self.traits, plan, _SHORT)
        program = self.rows_program(plan.n, form)
        per = divide_up(plan.rows, form.slots * self.traits.most_groups)
        local = form.slots * form.items * _blocks(plan.n)
        size = divide_up(plan.rows, form.slots * per) * local
        packed = plan.pack(plan.blocks(BLOCK), 1, plan.rows, per)
        return program, SizedLaunch((size,), (local,), packed)

    def rows_program(self, n: int, form: Form) -> Program:
        """Return the program for rows of n elements."""
        held = max(divide_up(min(n, BLOCK), form.items), divide_up(LANES, form.items))
        key = (form.slots, form.items, 1 << (held - 1).bit_length(), _blocks(n))
        found = self._rows.get(key)
        if found is None:
            names = dict(zip(("SLOTS", "ITEMS", "HOLD", "BLOCKS"), map(str, key), strict=True))
            text = self._head + defines(names) + template("normalize_rows.h")
            found = self._rows.setdefault(key, Program(text, self._headers))
        return found

    def _run(self, env: Env, plan: Plan, x: Array, y: Array, more: Arguments) -> None:
        """Any rows: centre, sum, factor, elements."""
        rows = plan.rows
        centres = env.scratch(rows, self.unit if self.steps.mean else self.dtype)
        sums = env.scratch(rows, self.unit)
        kept = row_major(plan)
        self.centre.run(env, kept, x, centres)
        self.sum.run(env, kept, x, sums, (centres,))
        kernel = env.kernel(self.program, "normalize_factors")
        local = min(256, self.traits.max_work_group)
        size = min(divide_up(rows, local), self.traits.most_groups) * local
        eps, *weights = more
        env.enqueue(kernel, (size,), (local,), sums, rows, plan.n, eps)
        sizes, group, packed = self.cut_elements(plan)
        kernel = env.kernel(self.program, "normalize_elements")
        by_row = int(plan.by_row)
        env.enqueue(kernel, sizes, group, x, y, centres, sums, packed, by_row, *weights)

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


def _blocks(n: int) -> int:
    """Return the power of two of blocks that n elements have, or more."""
    return 1 << (divide_up(n, BLOCK) - 1).bit_length()


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op; see ``device_code.find``."""
    del layout  # there is one for all strides
    if traits.max_work_group < LANES:
        return None
    return recipe(Normalize(op, dtypes[0], traits))


def recipe(rows: Normalize) -> Recipe | None:
    """Return the recipe of an op in a form; ``None`` if it needs double and there is none."""
    traits, unit = rows.traits, rows.unit
    if rows.op == "log_softmax" and not traits.fp64:
        return None  # the logarithm is one in double

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        arrays: list[Array] = list(inputs)  # type: ignore[arg-type]
        x, *weights = arrays
        eps = struct.unpack("<d", struct.pack("<q", params[0]))[0] if params else 0.0
        strides = (w.strides[0] for w in weights)
        rows.launch(env, x, outputs[0], (scalar(eps, unit), *weights, *strides))

    bitwise = unit == "float64" or (traits.subnormals and (traits.exact_division or traits.fp64))
    return Recipe(rows.programs, launch, "bitwise" if bitwise else "reproducible")
