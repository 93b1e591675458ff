"""Running sums and products along the last axis.

Blocks of a row are summed each on its own; what was before a block is then added to its elements.
Rows of several blocks take one pass where the blocks of a row fit into local memory, or groups can
wait for each other. Else there are three: totals of the blocks, their scan, elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.optable.expressions import loaded, stored
from phalanx.optable.structured import SCAN_BLOCK as BLOCK

from .dtypes import HALF, ITEMSIZE, PART, STORAGE, SUFFIX
from .recipe import Program, Recipe, Traits, divide_up
from .reduction_rules import unit_of
from .rows import Plan, defines, pieces, plan_of
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

#: Work-items of a group; of one that has a tile if the device allows it.
_GROUP = 64
_TILE_GROUP = 128
#: Bytes of a tile: about as many are on their way per group.
_TILE_BYTES = 17 * 2**10
#: Elements that a work-item reads before it stores one.
_AHEAD = 8


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
    """A sum is one of pairs; a product is the op multiply, kept out of line."""
    kind = SUFFIX[dtype]
    one = f"{SUFFIX[PART[dtype]]}x2"
    operation, following, helpers = f"phx_add_{one}(a, b)", "OP(a, v)", ""
    if sign == "*":
        operation, following = "scan_times(a, b)", "((some) ? OP(a, v) : (v))"
        helpers = f"""
PHX_OUTLINE {one} scan_times({one} a, {one} b) {{
    const {kind} x = phx_complex_{kind}(a.x, a.y), y = phx_complex_{kind}(b.x, b.y);
    const {kind} z = phx_multiply_{kind}(x, y);
    return phx_make_{one}(z.re, z.im);
}}
"""
    macros = {"T": one, "U": one, "TAKE(v)": "(v)", "STORE(v)": "(v)"}
    macros |= {
        "OP(a, b)": operation,
        "NEXT(a, some, v)": following,
        "FIRST": f"phx_make_{one}(-0.0f, -0.0f)",
    }
    return macros, helpers, ("complex",) if sign == "*" else ()


class _Tiles:
    """Rows of several blocks in one pass: the programs of scan_tiles.h and their launches."""

    def __init__(
        self,
        macros: dict[str, str],
        helpers: str,
        headers: tuple[str, ...],
        unit: str,
        traits: Traits,
    ) -> None:
        size = ITEMSIZE[unit]
        room = min(_TILE_BYTES, traits.local_memory // 2) // ((BLOCK + 1) * size)
        #: Blocks of a tile, and work-items of its group.
        self.blocks = min(BLOCK, 1 << min(5, max(1, room).bit_length() - 1))
        self.group = min(_TILE_GROUP, 1 << traits.max_work_group.bit_length() - 1)
        self.words = divide_up(size, 4)
        self.traits = traits
        ahead = max(1, min(_AHEAD, self.blocks * BLOCK // self.group))
        own = {"TILE": self.blocks, "GROUP": self.group, "AHEAD": ahead, "WORDS": self.words}
        macros = macros | {name: str(value) for name, value in own.items()}
        head, text = helpers + template("rows.h"), template("scan_tiles.h")
        self.program = Program(defines({**macros, "AWAITS": "0"}) + head + text, headers)
        text = template("scan_totals.h") + text
        self.awaiting_program = Program(defines({**macros, "AWAITS": "1"}) + head + text, headers)

    def take(self, blocks: int) -> bool:
        """Return whether rows of so many blocks are for tiles."""
        return blocks > 1 and (blocks <= self.blocks or self.traits.forward_progress)

    def run(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        """Enqueue the kernels for rows that are taken one by one."""
        blocks = plan.blocks(BLOCK)
        tiles = divide_up(blocks, self.blocks)
        tasks = plan.rows * tiles if tiles > 1 else divide_up(plan.rows, self.blocks // blocks)
        program = self.awaiting_program if tiles > 1 else self.program
        own = self._totals(env, plan.rows, blocks) if tiles > 1 else (plan.rows,)
        size = (min(tasks, self.traits.most_groups) * self.group,)
        packed = plan.pack(blocks, tiles, tasks, 1)
        kernel = env.kernel(program, "scan_tiles")
        env.enqueue(kernel, size, (self.group,), x, y, *own, packed)

    def _totals(self, env: Env, rows: int, blocks: int) -> tuple[Array | int, ...]:
        """Return room for the totals of the blocks of rows, cleared, and how many a row has."""
        stride = count = blocks
        while count := count // BLOCK:
            stride += count
        size = 1 + rows * stride * self.words
        words = env.scratch(size, "uint64")
        groups = min(divide_up(size, self.group), self.traits.most_groups)
        clear = env.kernel(self.awaiting_program, "scan_clear")
        env.enqueue(clear, (groups * self.group,), (self.group,), words, size)
        return words, stride


class Scanner:
    """The programs of one scan, and how they are launched."""

    def __init__(self, op: str, dtype: str, traits: Traits) -> None:
        macros, helpers, headers = _macros(op, dtype)
        unit = unit_of(dtype)
        self.scratch = f"u{unit}" if unit.startswith("int") else unit
        #: What scans the totals of blocks, which are of the type of the sums.
        self.totals = self if unit == dtype else type(self)(op, unit, traits)
        self.traits = traits
        #: Columns that a core takes side by side.
        self.width = 1024 // ITEMSIZE[unit]
        macros |= {"BLOCK": str(BLOCK), "WIDTH": str(self.width), "GROUP": str(_GROUP)}
        self.tiles = _Tiles(macros, helpers, headers, unit, traits)
        text = helpers + template("rows.h") + self.source()
        self.row_program, self.column_program = (
            Program(defines({**macros, "BY_ROW": by_row}) + text, headers) for by_row in "10"
        )

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs for rows and for columns, short and long."""
        long = (self.tiles.awaiting_program,) if self.traits.forward_progress else ()
        return self.row_program, self.column_program, self.tiles.program, *long

    def source(self) -> str:
        """Return the kernels."""
        return template("scan_groups.h")

    def launch(self, env: Env, x: Array, y: Array) -> None:
        """Scan x (k1..kp, n) into y of the same shape."""
        if y.size == 0:
            return
        plan = plan_of(x, y.strides[:-1], y.strides[-1])
        for plan_piece, x_piece, y_piece in pieces(env, plan, x, y):
            self.run(env, plan_piece, x_piece, y_piece)

    def run(self, env: Env, plan: Plan, x: Array, y: Array) -> None:
        """Enqueue the kernels for rows as planned."""
        blocks = plan.blocks(BLOCK)
        if plan.by_row and self.tiles.take(blocks):
            self.tiles.run(env, plan, x, y)
            return
        program = self.row_program if plan.by_row else self.column_program
        kernel = env.kernel(program, "scan_any")
        tasks = plan.rows * blocks
        per = divide_up(tasks, _GROUP * self.traits.most_groups)
        packed = plan.pack(blocks, 1, tasks, per)
        size = (divide_up(tasks, _GROUP * per) * _GROUP,)
        part = y
        if blocks > 1:
            part = env.scratch(tasks, self.scratch)
            env.enqueue(kernel, size, (_GROUP,), x, y, part, packed, 1)
            part = self.carries(env, part, plan.rows, blocks)
        env.enqueue(kernel, size, (_GROUP,), x, y, part, packed, 0)

    def carries(self, env: Env, totals: Array, rows: int, blocks: int) -> Array:
        """Return the scan of the totals of the blocks of rows: the carry behind each block."""
        carries = env.scratch(rows * blocks, self.scratch)
        shape, strides = (rows, blocks), (blocks, 1)
        self.totals.launch(env, env.view(totals, shape, strides), env.view(carries, shape, strides))
        return carries


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of a scan; see ``device_code.find``."""
    del layout  # there is one for all strides
    return recipe(op, dtypes[0], traits, Scanner) if traits.max_work_group >= _GROUP else None


def recipe(op: str, dtype: str, traits: Traits, kind: type[Scanner]) -> Recipe | None:
    """Return the recipe of a scan in a form; ``None`` if it needs double and there is none."""
    if op == "cumulative_prod" and dtype in PART and not traits.fp64:
        return None
    scanner = kind(op, dtype, traits)

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
