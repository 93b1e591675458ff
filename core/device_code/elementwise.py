"""Elementwise kernels: every elementwise op of the table, contiguous and strided.

The contiguous kernel has one work-item per element. Each operand is an array (``a``), an array of
one element (``o``), or a Python number passed by value (``s``); a program is compiled for each such
pattern when it first comes. Where work-items are turns of a loop, the whole groups of large arrays
have a kernel that does not ask whether there is such an element: PoCL makes no vectors otherwise.
There, too, functions that branch for rare operands (`Expression.rare`) look at blocks: one without
such operands is computed in vectors.

The strided kernel has one work-item per element too, in two axes: columns run along one axis of the
operands, rows along all others, so that only the row has to be taken apart by division. Per operand
the stride along the columns is 1 (``u``), 0 (``o``) or any (``s``). Where work-items are cores
(`Traits.is_cpu`), one takes many pieces of rows and loops over the columns of each; inputs of
stride 2 (``d``), as the parts of complex numbers have, leave the loop in vectors, others do not.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from phalanx._warm import Array, dtype_from_name, scalar_bytes
from phalanx.driver import Layout
from phalanx.optable import OPS, kind_of

from .expressions import Expression, bound, expression, single_bound
from .recipe import Env, Program, Recipe, Traits, divide_up, round_up

if TYPE_CHECKING:
    from phalanx.driver import Operand

_NAMES = "xyz"
#: Work-items of a group of the contiguous kernel: where they are lanes, and where they are a loop.
_GROUP, _LOOP_GROUP = 256, 1024
#: Elements of a block that is looked at for rare operands.
_BLOCK = 256
#: Elements from which whole groups have a kernel of their own.
_LARGE = 2**16
#: The kernel for cores: columns of a piece, the same where operands are transposed, elements that
#: are worth a work-item, work-items for each core, and the axes that it takes.
_PIECE, _SHORT_PIECE, _GRAIN, _ITEMS_PER_CORE = 4096, 16, 16384, 4
_SERIAL_RANKS = (4, 8)
#: Groups of the strided kernel, columns by rows: along memory, and for transposed operands.
_LONG, _SQUARE = (256, 1), (16, 16)
#: Axes that the strided kernel takes; more are walked on the host.
_RANKS = (2, 4, 8)
#: Groups along the rows in one launch: NVIDIA's runtime takes no more on that axis.
_MOST_ROWS = 65535

_CONTIGUOUS = """
__kernel void {name}({parameters}, PHX_OUTPUT({out}, o), const ulong count) {{
    const size_t i = get_global_id(0);
    {guard} {{
{loads}
        PHX_DATA(o)[i] = {text};
    }}
}}
"""
_BLOCKS = """
__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void
run({parameters}, PHX_OUTPUT({out}, o), const ulong count) {{
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
typedef {index} place;
typedef struct {{
    place columns, rows, first_row, padding;
    place shape[{outer}];
    place step[{operands}];
    place stride[{operands}][{outer}];
}} layout;

__kernel void run({parameters}, PHX_OUTPUT({out}, o), const layout l) {{
    const place column = (place)get_global_id(0);
    const place row = (place)get_global_id(1) + l.first_row;
{steps}
    if (column < l.columns && row < l.rows) {{
        place rest = row;
        place {starts};
{decompose}
{rows}
{loads}
        {result} = {text};
    }}
}}
"""
#: The place of an element in its row.
_COLUMN = {"u": "column", "o": "0", "d": "2 * column", "s": "column * {}_step"}
_STRIDED_SERIAL = """
typedef long place;
typedef struct {{
    place columns, rows, piece, per;
    place shape[{outer}];
    place step[{operands}];
    place stride[{operands}][{outer}];
}} layout;

__attribute__((reqd_work_group_size(1, 1, 1))) __kernel void
run({parameters}, PHX_OUTPUT({out}, o), const layout l) {{
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
    """Return the recipe of an elementwise overload."""
    row = OPS[op]
    text = expression(row, dtypes)
    if not traits.fp64 and any(header.startswith("complex") for header in text.headers):
        return None  # the parts of complex numbers are computed in double
    make = _contiguous if layout is Layout.CONTIGUOUS else _strided
    program, launch = make(text, dtypes, traits)
    error = bound(row, dtypes) if traits.fp64 else single_bound(row, dtypes)
    exact = traits.subnormals or all(kind_of(d) in "biu" for d in dtypes)
    same = exact and error <= bound(row, dtypes)
    return Recipe((program,), launch, "bitwise" if same else "reproducible", error)


_Launch = Callable[[Env, "Sequence[Operand]", "Sequence[Array]", tuple[int, ...]], None]


def _contiguous(
    text: Expression, dtypes: tuple[str, ...], traits: Traits
) -> tuple[Program, _Launch]:
    kinds = tuple(dtype_from_name(d) for d in dtypes)
    group = min(_LOOP_GROUP if traits.is_cpu else _GROUP, traits.max_work_group)
    small = "blocks" if text.rare and traits.is_cpu and traits.fp64 else "guarded"
    split = traits.is_cpu and small == "guarded"
    usual = ("a" * len(text.loads), small)
    first = _contiguous_program(text, *usual)
    programs = {usual: first}

    def enqueue(
        env: Env,
        pattern: str,
        form: str,
        args: Sequence[Array | int | bytes],
        count: int,
        name: str = "run",
    ) -> None:
        program = programs.get((pattern, form))
        if program is None:
            made = _contiguous_program(text, pattern, form)
            program = programs.setdefault((pattern, form), made)
        local, each = (1, _PIECE) if form == "blocks" else (group, group)
        size = (divide_up(count, each) * local,)
        env.enqueue(env.kernel(program, name), size, (local,), *args, count)

    def launch(
        env: Env,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],  # noqa: ARG001 - the form of all
    ) -> None:
        out = outputs[0]
        count = out.size
        args: list[Array | int | bytes] = []
        pattern = ""
        for x, kind in zip(inputs, kinds, strict=False):
            if type(x) is Array:
                args.append(x)
                pattern += "a" if x.size == count else "o"
            else:
                args.append(scalar_bytes(x, kind))
                pattern += "s"
        args.append(out)
        if not split or count < _LARGE:
            enqueue(env, pattern, small, args, count)
            return
        rest = count % group
        enqueue(env, pattern, "both", args, count - rest, "whole")
        if rest:
            behind = [
                env.view(x, (), (), count - rest) if form == "a" and type(x) is Array else x
                for x, form in zip(args, (*pattern, "a"), strict=True)
            ]
            enqueue(env, pattern, "both", behind, rest)

    return first, launch


def _parameter(form: str, ctype: str, name: str) -> str:
    return f"const {ctype} {name}" if form == "s" else f"PHX_INPUT({ctype}, {name})"


def _contiguous_program(text: Expression, pattern: str, form: str) -> Program:
    """Return the program for a pattern of operands: ``guarded``, ``both`` kernels, ``blocks``."""
    index = "at + i" if form == "blocks" else "i"
    places = {"a": f"PHX_DATA({{}})[{index}]", "o": "PHX_DATA({})[0]", "s": "{}"}
    names = {
        "parameters": ", ".join(map(_parameter, pattern, text.types, _NAMES)),
        "out": text.types[-1],
        "loads": _loads(text, [places[form] for form in pattern]),
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


def _loads(text: Expression, places: list[str]) -> str:
    lines = []
    for operand, name, place, load, ctype in zip(
        "abc", _NAMES, places, text.loads, text.values, strict=False
    ):
        lines.append(f"        const {ctype} {operand} = {load.format(place.format(name))};")
    return "\n".join(lines)


# Strided


def _strided(text: Expression, dtypes: tuple[str, ...], traits: Traits) -> tuple[Program, _Launch]:
    kinds = tuple(dtype_from_name(d) for d in dtypes)
    ranks = _SERIAL_RANKS if traits.is_cpu else _RANKS
    usual = ("u" * len(text.types), ranks[0], traits.is_cpu)
    first = _strided_program(text, *usual, serial=traits.is_cpu)
    programs = {usual: first}

    def launch(
        env: Env,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],  # noqa: ARG001 - the form of all
    ) -> None:
        out = outputs[0]
        if not out.size:
            return
        args: list[Array | bytes] = []
        strides = []
        numbers = ""
        for x, kind in zip(inputs, kinds, strict=False):
            if type(x) is Array:
                args.append(x)
                strides.append(x.strides)
                numbers += "a"
            else:
                args.append(scalar_bytes(x, kind))
                strides.append((0,) * out.ndim)
                numbers += "n"
        strides.append(out.strides)
        for shape, steps, firsts in _slices(out.shape, strides):
            moved = [
                env.view(x, (), (), at) if at and isinstance(x, Array) else x
                for x, at in zip((*args, out), firsts, strict=True)
            ]
            _enqueue(env, text, programs, numbers, shape, steps, moved)

    return first, launch


def _slices(
    shape: tuple[int, ...], strides: list[tuple[int, ...]]
) -> list[tuple[list[int], list[list[int]], list[int]]]:
    """Cut off the outer axes beyond the largest rank: shape, strides and first elements of each."""
    extra = max(0, len(shape) - _RANKS[-1])
    firsts = [[0] * len(strides)]
    for axis in range(extra):
        firsts = [
            [at + i * s[axis] for at, s in zip(first, strides, strict=True)]
            for first in firsts
            for i in range(shape[axis])
        ]
    steps = [list(s[extra:]) for s in strides]
    return [(list(shape[extra:]), [list(s) for s in steps], first) for first in firsts]


def _enqueue(
    env: Env,
    text: Expression,
    programs: dict[tuple[str, int, bool], Program],
    numbers: str,
    shape: list[int],
    strides: list[list[int]],
    args: list[Array | bytes],
) -> None:
    """Enqueue one launch of at most the largest rank."""
    column = _column_axis(shape)
    columns = shape.pop(column) if shape else 1
    steps = [s.pop(column) if s else 0 for s in strides]
    serial = env.traits.is_cpu
    rank = next(r for r in (_SERIAL_RANKS if serial else _RANKS) if len(shape) < r)
    transposed = any(
        0 < abs(s[-1]) < abs(step) for s, step in zip(strides, steps, strict=True) if s
    )
    wide = serial or _span(columns, steps, shape, strides) >= 2**31
    known = {1: "u", 0: "o", 2: "d"} if serial else {1: "u", 0: "o"}
    pattern = "".join(
        "n" if n == "n" else known.get(step, "s") for n, step in zip(numbers, steps, strict=False)
    )
    pattern += {1: "u", 0: "o"}.get(steps[-1], "s")
    if serial and "s" in pattern:  # the loop is scalar then: one program for all strides
        pattern = "".join("n" if form == "n" else "s" for form in pattern)
    key = (pattern, rank, wide)
    program = programs.get(key)
    if program is None:
        program = programs.setdefault(key, _strided_program(text, *key, serial=serial))
    kernel = env.kernel(program, "run")
    rows = math.prod(shape)
    padding = rank - 1 - len(shape)
    outer = [1] * padding + shape
    flat = [x for s in strides for x in ([0] * padding + s)]
    tail = (*outer, *steps, *flat)
    code = f"<{4 + len(tail)}{'q' if wide else 'i'}"
    if serial:
        piece = _SHORT_PIECE if transposed else _PIECE
        tasks = rows * divide_up(columns, piece)
        per = max(
            divide_up(tasks, _ITEMS_PER_CORE * env.traits.compute_units),
            divide_up(_GRAIN, min(columns, piece)),
        )
        packed = struct.pack(code, columns, rows, piece, per, *tail)
        env.enqueue(kernel, (divide_up(tasks, per),), (1,), *args, packed)
        return
    group = _SQUARE if transposed or columns < 64 else _LONG
    if group[0] * group[1] > env.traits.max_work_group:
        group = (env.traits.max_work_group, 1)
    most = _MOST_ROWS * group[1]
    for begin in range(0, rows, most):
        size = (round_up(columns, group[0]), round_up(min(most, rows - begin), group[1]))
        env.enqueue(kernel, size, group, *args, struct.pack(code, columns, rows, begin, 0, *tail))


def _column_axis(shape: list[int]) -> int:
    """The last axis, where the output is dense, unless it is short beside another one."""
    last = len(shape) - 1
    if last >= 0 and shape[last] < 16:
        longest = max(range(len(shape)), key=lambda axis: (shape[axis], axis))
        if shape[longest] > 4 * shape[last]:
            return longest
    return last


def _span(columns: int, steps: list[int], shape: list[int], strides: list[list[int]]) -> int:
    """The largest distance of an element from the first one, or of the rows, whatever is more."""
    spans = [
        (columns - 1) * abs(step) + sum((n - 1) * abs(k) for n, k in zip(shape, s, strict=True))
        for step, s in zip(steps, strides, strict=True)
    ]
    rows = math.prod(shape)
    return max(rows + _MOST_ROWS, columns + _GROUP, *spans)


def _strided_program(
    text: Expression, pattern: str, rank: int, wide: bool, *, serial: bool
) -> Program:
    inputs = _NAMES[: len(pattern) - 1]
    arrays = [
        (place, name, ctype, form)
        for place, (name, ctype, form) in enumerate(
            zip((*inputs, "o"), text.types, pattern, strict=True)
        )
        if form != "n"
    ]
    names = [name for _, name, _, _ in arrays]
    element = {name: f"{name}_row[{_COLUMN[form].format(name)}]" for _, name, _, form in arrays}
    forms = pattern[:-1].replace("s", "a").replace("n", "s")
    template = _STRIDED_SERIAL if serial else _STRIDED
    return Program(
        template.format(
            index="long" if wide else "int",
            outer=rank - 1,
            operands=len(pattern),
            parameters=", ".join(map(_parameter, forms, text.types, inputs)),
            out=text.types[-1],
            steps="\n".join(f"    const place {n}_step = l.step[{at}];" for at, n, _, _ in arrays),
            starts=", ".join(f"{name}_at = 0" for name in names),
            decompose="".join(_decompose(axis, arrays) for axis in reversed(range(rank - 1))),
            advance="\n".join(f"        {name}_at += first * {name}_step;" for name in names),
            rows="\n".join(
                f"        __global {'' if name == 'o' else 'const '}{ctype} *{name}_row = "
                f"PHX_DATA({name}) + {name}_at;"
                for _, name, ctype, _ in arrays
            ),
            order="PHX_ORDERED" if "s" in pattern else _independent(text),
            loads=_loads(text, [element.get(name, name) for name in inputs]),
            result=element["o"],
            text=text.text,
        ),
        text.headers,
    )


def _independent(text: Expression) -> str:
    calls = any(header.startswith("real_") for header in text.headers)
    return "PHX_INDEPENDENT_CALLS" if calls else "PHX_INDEPENDENT"


def _decompose(axis: int, arrays: list[tuple[int, str, str, str]]) -> str:
    """Take one axis off ``rest``, and go along it in each array."""
    here = f"rest % l.shape[{axis}]; rest /= l.shape[{axis}];" if axis else "rest;"
    walk = " ".join(f"{name}_at += k * l.stride[{at}][{axis}];" for at, name, _, _ in arrays)
    return f"        {{ const place k = {here} {walk} }}\n"
