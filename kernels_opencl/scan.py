"""Running sums and products along the last axis.

Blocks of a row are summed each on its own; what was before a block is then added to its elements.
Rows that are long, and few, take three passes: totals of the blocks, their scan, elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.device_code.dtypes import (
    HALF,
    ITEMSIZE,
    PART,
    STORAGE,
    SUFFIX,
    loaded,
    needs_fp64,
    stored,
)
from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up, round_up
from phalanx.device_code.reduction_rules import unit_of
from phalanx.device_code.rows import Plan, defines, pieces, plan_of
from phalanx.device_code.source import template as shared
from phalanx.optable.structured import SCAN_BLOCK as BLOCK

from .cores import GRAIN, items, serial, template

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.device_code.env import Env
    from phalanx.driver import Layout, Operand

#: Work-items of a group.
_GROUP = 64
#: Groups above which each takes several tasks.
GROUPS = 1 << 20
#: Tasks that a core takes side by side; CHAINS in scan_serial.cl.
_CHAINS = 4


def _macros(op: str, dtype: str) -> tuple[dict[str, str], str, tuple[str, ...]]:
    """Return the macros that the texts name, the functions they use, and their headers.

    T is the type in memory, U that of the sums. NEXT(a, some, v) is OP(a, v) if there is ``some``,
    else v; a is FIRST then.
    """
    unit = unit_of(dtype)
    kind = SUFFIX[unit]
    sign = "*" if op == "cumulative_prod" else "+"
    if dtype in PART:
        return _complex_macros(sign, dtype)
    if "float" in dtype:
        macros = {"T": STORAGE[dtype], "U": kind}
        macros |= {"TAKE(v)": loaded(dtype, "v"), "STORE(v)": stored(dtype, "(v)")}
        macros |= {"OP(a, b)": f"((a) {sign} (b))", "NEXT(a, some, v)": "OP(a, v)"}
        macros["FIRST"] = f"(({kind}){'1' if sign == '*' else '-0.0f'})"  # exactly neutral
        return macros, "", ("convert",) if dtype in HALF else ()
    whole = f"u{8 * ITEMSIZE[dtype]}"  # unsigned numbers wrap by definition
    wide = "u64" if whole == "u64" else "u32"
    macros = {"T": whole, "U": whole, "TAKE(v)": "(v)", "STORE(v)": "(v)"}
    macros["OP(a, b)"] = f"({whole})(({wide})(a) {sign} ({wide})(b))"
    macros |= {"NEXT(a, some, v)": "OP(a, v)", "FIRST": f"(({whole}){int(sign == '*')})"}
    return macros, "", ()


def _complex_macros(sign: str, dtype: str) -> tuple[dict[str, str], str, tuple[str, ...]]:
    """A sum is one of vectors of two; a product is the op multiply, kept out of line."""
    kind, part = SUFFIX[dtype], PART[dtype]
    one = "float2" if part == "float32" else "double2"
    operation, following, helpers = "((a) + (b))", "OP(a, v)", ""
    if sign == "*":
        operation, following = "scan_times(a, b)", "((some) ? OP(a, v) : (v))"
        helpers = f"""
PHX_OUTLINE {one} scan_times({one} a, {one} b) {{
    const {kind} x = phx_complex_{kind}(a.x, a.y), y = phx_complex_{kind}(b.x, b.y);
    const {kind} z = phx_multiply_{kind}(x, y);
    return ({one})(z.re, z.im);
}}
"""
    macros = {"T": one, "U": one, "TAKE(v)": "(v)", "STORE(v)": "(v)"}
    macros |= {"OP(a, b)": operation, "NEXT(a, some, v)": following, "FIRST": f"(({one})(-0.0f))"}
    return macros, helpers, ("complex",) if sign == "*" else ()


class Scanner:
    """The programs of one scan, and how they are launched."""

    def __init__(self, op: str, dtype: str, traits: Traits) -> None:
        macros, helpers, headers = _macros(op, dtype)
        unit = unit_of(dtype)
        self.scratch = f"u{unit}" if unit.startswith("int") else unit
        #: What scans the totals of blocks, which are of the type of the sums.
        self.totals = self if unit == dtype else Scanner(op, unit, traits)
        self.size = ITEMSIZE[unit]
        self.width = 1024 // self.size
        self.serial = serial(traits)
        self.items = items(traits)
        text = helpers + shared("rows.h")
        text += template("scan_serial.cl" if self.serial else "scan_groups.cl")
        macros |= {"BLOCK": str(BLOCK), "WIDTH": str(self.width), "GROUP": str(_GROUP)}
        if self.serial:
            self.row_program = self.column_program = Program(defines(macros) + text, headers)
            self.programs: tuple[Program, ...] = (self.row_program,)
            return
        self.row_program = Program(defines({**macros, "BY_ROW": "1"}) + text, headers)
        self.column_program = Program(defines({**macros, "BY_ROW": "0"}) + text, headers)
        self.programs = (self.row_program, self.column_program)

    def launch(self, env: Env, x: Array, y: Array) -> None:
        """Scan x (k1..kp, n) into y of the same shape."""
        if y.size == 0:
            return
        plan = plan_of(x, y.strides[:-1], y.strides[-1])
        run = self._run_serial if self.serial else self._run_groups
        for plan_piece, x_piece, y_piece in pieces(env, plan, x, y):
            run(env, plan_piece, x_piece, y_piece)

    def _run_serial(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        blocks, cols = plan.blocks(BLOCK), plan.near.extent
        program = self.row_program if plan.by_row else self.column_program
        kernel = env.kernel(program, "scan_rows" if plan.by_row else "scan_columns")
        tiles = 1 if plan.by_row else divide_up(cols, self.width)
        wide = 1 if plan.by_row else min(self.width, cols)
        chains = _CHAINS if plan.by_row else 1
        span = blocks
        if plan.outer * tiles < self.items:  # too few for all cores: rows are cut
            wanted = divide_up(blocks * plan.outer * tiles, self.items * chains)
            span = min(blocks, max(wanted, divide_up(GRAIN, BLOCK * wide)))
        spans = divide_up(blocks, span)
        tasks = plan.outer * spans * tiles
        size = min(plan.n, span * BLOCK) * wide
        per = max(divide_up(tasks, self.items), divide_up(GRAIN, size + 16))
        per = round_up(per, chains)
        packed = plan.pack(blocks, tiles, tasks, per, span, spans)
        count = (divide_up(tasks, per),)
        part = y
        if spans > 1:
            part = env.scratch(plan.rows * blocks, self.scratch)
            env.enqueue(kernel, count, (1,), x, y, part, packed, 1)
            part = self._carries(env, part, plan.rows, blocks)
        env.enqueue(kernel, count, (1,), x, y, part, packed, 0)

    def _run_groups(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        blocks = plan.blocks(BLOCK)
        program = self.row_program if plan.by_row else self.column_program
        kernel = env.kernel(program, "scan_any")
        tasks = plan.rows * blocks
        per = divide_up(tasks, _GROUP * GROUPS)
        packed = plan.pack(blocks, 1, tasks, per)
        size = (divide_up(tasks, _GROUP * per) * _GROUP,)
        part = y
        if blocks > 1:
            part = env.scratch(tasks, self.scratch)
            env.enqueue(kernel, size, (_GROUP,), x, y, part, packed, 1)
            part = self._carries(env, part, plan.rows, blocks)
        env.enqueue(kernel, size, (_GROUP,), x, y, part, packed, 0)

    def _carries(self, env: Env, totals: Array, rows: int, blocks: int) -> Array:
        """Return the scan of the totals of the blocks of rows: the carry behind each block."""
        carries = env.scratch(rows * blocks, self.scratch)
        shape, strides = (rows, blocks), (blocks, 1)
        self.totals.launch(env, env.view(totals, shape, strides), env.view(carries, shape, strides))
        return carries


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of a scan; see ``kernels_opencl.find``."""
    del layout  # there is one for all strides
    dtype = dtypes[0]
    double_inside = op == "cumulative_prod" and dtype in PART
    if (needs_fp64(dtypes) or double_inside) and not traits.fp64:
        return None
    scanner = Scanner(op, dtype, traits)

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x: Array = inputs[0]  # type: ignore[assignment]
        scanner.launch(env, x, outputs[0])

    rounds = "float" in dtype or dtype in PART
    bitwise = traits.subnormals or not rounds
    return Recipe(
        scanner.programs,
        launch,
        "bitwise" if bitwise else "reproducible",
        -1.0 if rounds else 0.0,
    )
