"""Elementwise kernels for devices whose work-items are turns of a core's loop.

Contiguous: the whole groups of large arrays have a kernel that does not ask whether there is such
an element, as PoCL makes no vectors otherwise. Functions that branch for rare operands
(`Expression.rare`) look at blocks: one without such operands is computed in vectors.

Strided: a work-item takes many pieces of rows and loops over the columns of each; inputs of stride
2 (``d``), as the parts of complex numbers have, leave the loop in vectors, others do not.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.device_code.elementwise import Argument, Contiguous, Strided, loads, parameter, recipe
from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up
from phalanx.optable import OPS, kind_of
from phalanx.optable.expressions import Expression, expression
from phalanx.vendor import Array, Layout

if TYPE_CHECKING:
    from phalanx.device_code.env import Env

#: Work-items of a group of the contiguous kernel.
_GROUP = 1024
#: Elements of a block that is looked at for rare operands.
_BLOCK = 256
#: Elements from which whole groups have a kernel of their own.
_LARGE = 2**16
#: Columns of a piece, the same where operands are transposed, elements that are worth a work-item,
#: work-items for each core.
_PIECE, _SHORT_PIECE, _GRAIN, _ITEMS_PER_CORE = 4096, 16, 16384, 4

_CONTIGUOUS = """
__kernel void {name}({parameters}, PHX_OUTPUT({out}, o), const u64 count) {{
    const size_t i = get_global_id(0);
    {guard} {{
{loads}
        PHX_DATA(o)[i] = {text};
    }}
}}
"""
_BLOCKS = """
SERIAL run({parameters}, PHX_OUTPUT({out}, o), const u64 count) {{
    const size_t begin = get_global_id(0) * {piece}, end = min(begin + {piece}, (size_t)count);
    for (size_t at = begin; at < end; at += {block}) {{
        const int n = (int)min((size_t){block}, end - at);
        int rare = 0;
        PHX_INDEPENDENT
        for (int i = 0; i < n; i++) {{
{loads}
            rare |= {rare};
        }}
        if (rare)
            for (int i = 0; i < n; i++) {{
{loads}
                PHX_DATA(o)[at + i] = {text};
            }}
        else
            PHX_INDEPENDENT_CALLS
            for (int i = 0; i < n; i++) {{
{loads}
                PHX_DATA(o)[at + i] = {main};
            }}
    }}
}}
"""
_STRIDED = """
typedef i64 place;
typedef struct {{
    place columns, rows, piece, per;
    place shape[{outer}];
    place step[{operands}];
    place stride[{operands}][{outer}];
}} layout;

SERIAL run({parameters}, PHX_OUTPUT({out}, o), const layout l) {{
    const place begin = (place)get_global_id(0) * l.per;
    const place pieces = (l.columns + l.piece - 1) / l.piece;
    const place end = min(begin + l.per, l.rows * pieces);
{steps}
    for (place task = begin; task < end; task++) {{
        const place number = task / l.rows, row = task - number * l.rows, first = number * l.piece;
        const int columns = (int)min(l.piece, l.columns - first);
        place rest = row;
        place {starts};
{decompose}
{advance}
{rows}
        {order}
        for (int column = 0; column < columns; column++) {{
{loads}
            {result} = {text};
        }}
    }}
}}
"""


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an elementwise overload on a device whose work-items are cores."""
    if not traits.is_cpu:
        return None
    text = expression(OPS[op], dtypes)
    kernel = (_Loop if layout is Layout.CONTIGUOUS else _StridedLoop)(text, dtypes, traits)
    return recipe(op, dtypes, kernel, traits)


class _Loop(Contiguous):
    """Contiguous operands: ``guarded``, ``both`` kernels, or ``blocks``."""

    def __init__(self, text: Expression, dtypes: tuple[str, ...], traits: Traits) -> None:
        # Intel's runtime makes no vectors of loops with complex results
        looks = text.rare and kind_of(dtypes[-1]) != "c"
        self._small = "blocks" if looks and traits.fp64 else "guarded"
        self.width = 1
        super().__init__(text, dtypes, traits)
        self.group = min(_GROUP, traits.max_work_group)

    def make(self, pattern: str, form: str = "") -> Program:
        """Return a new program for a pattern of operands and a form."""
        text = self.text
        form = form or self._small
        index = "at + i" if form == "blocks" else "i"
        places = {"a": f"PHX_DATA({{}})[{index}]", "o": "PHX_DATA({})[0]", "s": "{}"}
        names = {
            "parameters": ", ".join(map(parameter, pattern, text.types, "xyz")),
            "out": text.types[-1],
            "loads": loads(text, [places[form] for form in pattern]),
            "text": text.text,
        }
        if form == "blocks":
            names |= {"rare": text.rare, "main": text.main}
            source = _BLOCKS.format(piece=_PIECE, block=_BLOCK, **names)
        else:
            source = _CONTIGUOUS.format(name="run", guard="if (i < count)", **names)
            if form == "both":
                source += _CONTIGUOUS.format(name="whole", guard="", **names)
        return Program(source, text.headers)

    def run(self, env: Env, pattern: str, args: Sequence[Argument], count: int) -> None:
        """Enqueue one or two kernels over ``count`` elements."""
        if self._small == "blocks":
            kernel = env.kernel(self.program(pattern), "run")
            env.enqueue(kernel, (divide_up(count, _PIECE),), (1,), *args, count)
            return
        if count < _LARGE:
            self._turns(env, self.program(pattern), "run", args, count)
            return
        program = self.program(pattern, "both")
        rest = count % self.group
        self._turns(env, program, "whole", args, count - rest)
        if rest:
            behind = [
                env.view(x, (), (), count - rest) if form == "a" and isinstance(x, Array) else x
                for x, form in zip(args, (*pattern, "a"), strict=True)
            ]
            self._turns(env, program, "run", behind, rest)

    def _turns(
        self, env: Env, program: Program, name: str, args: Sequence[Argument], count: int
    ) -> None:
        size = (divide_up(count, self.group) * self.group,)
        env.enqueue(env.kernel(program, name), size, (self.group,), *args, count)


class _StridedLoop(Strided):
    """Operands of any strides."""

    ranks = (4, 8)
    known = {1: "u", 0: "o", 2: "d"}  # noqa: RUF012 - a constant

    def source(self, pattern: str, rank: int, *, wide: bool) -> str:
        """Return the source of a program; places have 64 bits in all of them."""
        del wide
        order = "PHX_ORDERED" if "s" in pattern else _independent(self.text)
        return _STRIDED.format(order=order, **self.names(pattern, rank))

    def run(
        self,
        env: Env,
        form: tuple[str, int],
        sizes: tuple[int, int, int],
        tail: tuple[int, ...],
        args: list[Argument],
        *,
        transposed: bool,
    ) -> None:
        """Enqueue one kernel; see `Strided.run`."""
        columns, rows, _ = sizes
        pattern, rank = form
        if "s" in pattern:  # the loop is scalar then: one program for all strides
            pattern = "".join("n" if each == "n" else "s" for each in pattern)
        piece = _SHORT_PIECE if transposed else _PIECE
        tasks = rows * divide_up(columns, piece)
        per = max(
            divide_up(tasks, _ITEMS_PER_CORE * self.traits.compute_units),
            divide_up(_GRAIN, min(columns, piece)),
        )
        kernel = env.kernel(self.program(pattern, rank, wide=False), "run")
        packed = struct.pack(f"<{4 + len(tail)}q", columns, rows, piece, per, *tail)
        env.enqueue(kernel, (divide_up(tasks, per),), (1,), *args, packed)


def _independent(text: Expression) -> str:
    calls = any(header.startswith("real_") for header in text.headers)
    return "PHX_INDEPENDENT_CALLS" if calls else "PHX_INDEPENDENT"
