"""Elementwise kernels: every elementwise op of the table, contiguous and strided.

Each operand of the contiguous kernel is an array (``a``), an array of one element (``o``), or a
Python number passed by value (``s``); a program is compiled for each such pattern when it first
comes. Work-items take elements in turn, from their own number on in steps of the launch's size: as
many at once as 16 bytes hold where the memory is aligned and the function is short.

The strided kernel has two axes: columns run along one axis of the operands, rows along all others,
so that only the row has to be taken apart by division. Per operand the stride along the columns is
1 (``u``), 0 (``o``) or any (``s``); a number is ``n``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from phalanx.optable import OPS, kind_of
from phalanx.optable.expressions import Expression, expression
from phalanx.vendor import Array, Layout, dtype_from_name, scalar_bytes

from .env import Env
from .recipe import Program, Recipe, Traits, divide_up, group_shape, round_up

if TYPE_CHECKING:
    from phalanx.vendor import Operand

_NAMES = "xyz"
#: Headers whose functions compute in double: `Dialect.without_double` has others in their place.
_DOUBLE_INSIDE = (
    *("real_cbrt", "real_erf", "real_exp", "real_gamma", "real_gelu", "real_half", "real_log"),
    *("real_pow", "real_sigmoid", "real_trig"),
)
#: Work-items of a group.
_GROUP = 256
#: Most columns of a group of the strided kernel for transposed operands.
_TRANSPOSED = 16
#: The most axes that a strided program takes; more are walked on the host.
_MOST_AXES = 8

#: Headers of functions so long that a program has one copy, which it calls for each element.
_LONG_FUNCTIONS = {
    *("real_erf", "real_gamma", "real_gelu", "real_log", "real_pow"),
    *("complex_exp", "complex_inverse", "complex_log"),
}
#: Bytes that a work-item loads and stores at once.
_PACK = 16

_CONTIGUOUS = """
PHX_KERNEL({group}) run({parameters}, PHX_OUTPUT({out}, o), const u64 count) {{
    for (u64 i = PHX_GLOBAL_ID(0); i < count; i += PHX_GLOBAL_SIZE(0)) {{
{loads}
        PHX_DATA(o)[i] = {text};
    }}
}}
"""
_PACKED = """
{types}
{one}
PHX_KERNEL({group}) run({parameters}, PHX_OUTPUT({out}, o), const u64 count) {{
    const u64 packs = count / {width};
    for (u64 i = PHX_GLOBAL_ID(0); i < packs; i += PHX_GLOBAL_SIZE(0)) {{
{packs}
        o_pack o_now;
        PHX_UNROLL
        for (int k = 0; k < {width}; k++) {{
{loads_packed}
            o_now.v[k] = {result};
        }}
        ((PHX_GLOBAL o_pack *)PHX_DATA(o))[i] = o_now;
    }}
    for (u64 i = packs * {width} + PHX_GLOBAL_ID(0); i < count; i += PHX_GLOBAL_SIZE(0)) {{
{loads}
        PHX_DATA(o)[i] = {result};
    }}
}}
"""
_ONE = """
PHX_OUTLINE {out} run_one({values}) {{
    return {text};
}}
"""
_STRIDED = """
typedef {index} place;
typedef struct {{
    place columns, rows;
    place shape[{outer}];
    place step[{operands}];
    place stride[{operands}][{outer}];
}} layout;

PHX_KERNEL({group}) run({parameters}, PHX_OUTPUT({out}, o), const layout l) {{
    const place first = (place)PHX_GLOBAL_ID(0), columns = (place)PHX_GLOBAL_SIZE(0);
{steps}
    for (place row = (place)PHX_GLOBAL_ID(1); row < l.rows; row += (place)PHX_GLOBAL_SIZE(1)) {{
        place rest = row;
        place {starts};
{decompose}
{rows}
        for (place column = first; column < l.columns; column += columns) {{
{loads}
            {result} = {text};
        }}
    }}
}}
"""
#: The place of an element in its row.
_COLUMN = {"u": "column", "o": "0", "d": "2 * column", "s": "column * {}_step"}

#: An operand as kernels take it.
Argument: TypeAlias = "Array | bytes"


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an elementwise overload."""
    text = expression(OPS[op], dtypes)
    kernel = (Contiguous if layout is Layout.CONTIGUOUS else Strided)(text, dtypes, traits)
    return recipe(op, dtypes, kernel, traits)


def recipe(
    op: str, dtypes: tuple[str, ...], kernel: Contiguous | Strided, traits: Traits
) -> Recipe | None:
    """Return the recipe of a kernel; ``None`` if it needs double and there is none."""
    text = kernel.text
    complex_ = any(header.startswith("complex") for header in text.headers)
    if not traits.fp64 and (complex_ or "f64" in text.text):
        return None  # the parts of complex numbers are computed in double
    exact = traits.subnormals or all(kind_of(d) in "biu" for d in dtypes)
    error = OPS[op].error(dtypes)
    if not traits.fp64 and any(header in _DOUBLE_INSIDE for header in text.headers):
        exact, error = False, -1.0  # what the dialect has in their place
    return Recipe((kernel.first,), kernel.launch, "bitwise" if exact else "reproducible", error)


class Contiguous:
    """The programs of one overload for contiguous operands, and their launch."""

    def __init__(self, text: Expression, dtypes: tuple[str, ...], traits: Traits) -> None:
        self.text = text
        self.group = min(_GROUP, traits.max_work_group)
        self._kinds = tuple(dtype_from_name(d) for d in dtypes)
        self._programs: dict[tuple[str, ...], Program] = {}
        self.first = self.chosen("a" * len(text.loads), packed=self.width > 1)

    @cached_property
    def width(self) -> int:
        """How many elements a work-item takes at once."""
        return max(2, _PACK // max(kind.itemsize for kind in self._kinds))

    def chosen(self, pattern: str, *, packed: bool) -> Program:
        """Return the program for a pattern of operands, on aligned memory or on any."""
        return self.program(pattern, "packed") if packed else self.program(pattern)

    def program(self, *key: str) -> Program:
        """Return the program for a pattern of operands and a form, made at its first use."""
        found = self._programs.get(key)
        return found or self._programs.setdefault(key, self.make(*key))

    def make(self, pattern: str, form: str = "") -> Program:
        """Return a new program for a pattern of operands, whose memory is aligned if "packed"."""
        text = self.text
        places = {"a": "PHX_DATA({})[i]", "o": "PHX_DATA({})[0]", "s": "{}"}
        names = {
            "group": self.group,
            "parameters": ", ".join(map(parameter, pattern, text.types, _NAMES)),
            "out": text.types[-1],
            "loads": loads(text, [places[form] for form in pattern]),
            "text": text.text,
        }
        if form != "packed":
            return Program(_CONTIGUOUS.format(**names), text.headers)
        arrays = [name for name, form in zip(_NAMES, pattern, strict=False) if form == "a"]
        names |= {"one": "", "result": text.text}
        if _LONG_FUNCTIONS.intersection(text.headers):
            given = "abc"[: len(pattern)]
            values = [f"const {kind} {name}" for kind, name in zip(text.values, given, strict=True)]
            names["one"] = _ONE.format(values=", ".join(values), **names)
            names["result"] = f"run_one({', '.join(given)})"
        types = dict(zip((*_NAMES[: len(pattern)], "o"), text.types, strict=True))
        places["a"] = "{}_now.v[k]"
        source = _PACKED.format(
            width=self.width,
            types="\n".join(
                f"PHX_PACK({types[name]}, {self.width}, {name}_pack);" for name in (*arrays, "o")
            ),
            packs="\n".join(
                f"        const {name}_pack {name}_now = "
                f"((PHX_GLOBAL const {name}_pack *)PHX_DATA({name}))[i];"
                for name in arrays
            ),
            loads_packed=loads(text, [places[form] for form in pattern]),
            **names,
        )
        return Program(source, text.headers)

    def launch(
        self,
        env: Env,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],  # noqa: ARG002 - the form of all
    ) -> None:
        """Enqueue one call."""
        out = outputs[0]
        count = out.size
        args: list[Argument] = []
        pattern = ""
        for x, kind in zip(inputs, self._kinds, strict=False):
            if type(x) is Array:
                args.append(x)
                pattern += "a" if x.size == count else "o"
            else:
                args.append(scalar_bytes(x, kind))
                pattern += "s"
        args.append(out)
        self.run(env, pattern, args, count)

    def run(self, env: Env, pattern: str, args: Sequence[Argument], count: int) -> None:
        """Enqueue one kernel over ``count`` elements; ``args`` has the output last."""
        packed = self.width > 1 and all(
            env.is_aligned(x, min(_PACK, self.width * x.itemsize))
            for x, form in zip(args, (*pattern, "a"), strict=True)
            if form == "a" and isinstance(x, Array)
        )
        kernel = env.kernel(self.chosen(pattern, packed=packed), "run")
        items = divide_up(count, self.width) if packed else count
        groups = min(divide_up(items, self.group), env.traits.most_groups)
        env.enqueue(kernel, (groups * self.group,), (self.group,), *args, count)


def parameter(form: str, ctype: str, name: str) -> str:
    """Return the parameter of an input."""
    return f"const {ctype} {name}" if form == "s" else f"PHX_INPUT({ctype}, {name})"


def loads(text: Expression, places: list[str]) -> str:
    """Return the statements that load each input from its place, which has room for its name."""
    lines = []
    for operand, name, place, load, ctype in zip(
        "abc", _NAMES, places, text.loads, text.values, strict=False
    ):
        lines.append(f"        const {ctype} {operand} = {load.format(place.format(name))};")
    return "\n".join(lines)


class Strided:
    """The programs of one overload for operands of any strides, and their launch."""

    #: How many axes a program may be made for.
    ranks: tuple[int, ...] = (2, 4, _MOST_AXES)
    #: The strides along the columns for which there are programs of their own.
    known = {1: "u", 0: "o"}  # noqa: RUF012 - a constant

    def __init__(self, text: Expression, dtypes: tuple[str, ...], traits: Traits) -> None:
        self.text = text
        self.traits = traits
        self.group = min(_GROUP, traits.max_work_group)
        self._kinds = tuple(dtype_from_name(d) for d in dtypes)
        self._programs: dict[tuple[str, int, bool], Program] = {}
        self.first = self.program("u" * len(text.types), self.ranks[0], wide=False)

    def program(self, pattern: str, rank: int, *, wide: bool) -> Program:
        """Return the program for strides along the columns and a number of axes.

        ``wide``: places need 64 bits. It is made at its first use.
        """
        key = (pattern, rank, wide)
        found = self._programs.get(key)
        if found is None:
            made = Program(self.source(pattern, rank, wide=wide), self.text.headers)
            found = self._programs.setdefault(key, made)
        return found

    def source(self, pattern: str, rank: int, *, wide: bool) -> str:
        """Return the source of a program."""
        index = "i64" if wide else "i32"
        return _STRIDED.format(group=_GROUP, index=index, **self.names(pattern, rank))

    def names(self, pattern: str, rank: int) -> dict[str, object]:
        """Return what the template of a source needs."""
        text = self.text
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
        return {
            "outer": rank - 1,
            "operands": len(pattern),
            "parameters": ", ".join(map(parameter, forms, text.types, inputs)),
            "out": text.types[-1],
            "steps": "\n".join(
                f"    const place {n}_step = l.step[{at}];" for at, n, _, _ in arrays
            ),
            "starts": ", ".join(f"{name}_at = 0" for name in names),
            "decompose": "".join(_decompose(axis, arrays) for axis in reversed(range(rank - 1))),
            "advance": "\n".join(f"        {name}_at += first * {name}_step;" for name in names),
            "rows": "\n".join(
                f"        PHX_GLOBAL {'' if name == 'o' else 'const '}{ctype} *{name}_row = "
                f"PHX_DATA({name}) + {name}_at;"
                for _, name, ctype, _ in arrays
            ),
            "loads": loads(text, [element.get(name, name) for name in inputs]),
            "result": element["o"],
            "text": text.text,
        }

    def launch(
        self,
        env: Env,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],  # noqa: ARG002 - the form of all
    ) -> None:
        """Enqueue one call."""
        out = outputs[0]
        if not out.size:
            return
        args: list[Argument] = []
        strides = []
        numbers = ""
        for x, kind in zip(inputs, self._kinds, strict=False):
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
            self._enqueue(env, numbers, shape, steps, moved)

    def _enqueue(
        self,
        env: Env,
        numbers: str,
        shape: list[int],
        strides: list[list[int]],
        args: list[Argument],
    ) -> None:
        """Enqueue one launch of at most the largest rank."""
        column = _column_axis(shape)
        columns = shape.pop(column) if shape else 1
        steps = [s.pop(column) if s else 0 for s in strides]
        rank = next(r for r in self.ranks if len(shape) < r)
        transposed = any(
            0 < abs(s[-1]) < abs(step) for s, step in zip(strides, steps, strict=True) if s
        )
        pattern = "".join(
            "n" if n == "n" else self.known.get(step, "s")
            for n, step in zip(numbers, steps, strict=False)
        )
        pattern += {1: "u", 0: "o"}.get(steps[-1], "s")
        padding = rank - 1 - len(shape)
        flat = [x for s in strides for x in ([0] * padding + s)]
        rows = math.prod(shape)
        far = max(_reach(columns, step, shape, s) for step, s in zip(steps, strides, strict=True))
        tail = (*[1] * padding, *shape, *steps, *flat)
        self.run(env, (pattern, rank), (columns, rows, far), tail, args, transposed=transposed)

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
        """Enqueue one kernel.

        ``form``: the pattern and the rank of a program; ``sizes``: columns, rows, and how far the
        farthest element of an operand is from its first; ``tail``: the rest of ``layout``.
        """
        columns, rows, far = sizes
        traits = self.traits
        group = group_shape(columns, self.group, _TRANSPOSED if transposed else self.group)
        size = (
            min(round_up(columns, group[0]), traits.most_groups * group[0]),
            min(round_up(rows, group[1]), traits.most_groups_across * group[1]),
        )
        wide = max(far, columns + size[0], rows + size[1]) >= traits.far
        kernel = env.kernel(self.program(*form, wide=wide), "run")
        code = f"<{2 + len(tail)}{'q' if wide else 'i'}"
        env.enqueue(kernel, size, group, *args, struct.pack(code, columns, rows, *tail))


def _slices(
    shape: tuple[int, ...], strides: list[tuple[int, ...]]
) -> list[tuple[list[int], list[list[int]], list[int]]]:
    """Cut off the outer axes beyond the largest rank: shape, strides and first elements of each."""
    extra = max(0, len(shape) - _MOST_AXES)
    firsts = [[0] * len(strides)]
    for axis in range(extra):
        firsts = [
            [at + i * s[axis] for at, s in zip(first, strides, strict=True)]
            for first in firsts
            for i in range(shape[axis])
        ]
    steps = [list(s[extra:]) for s in strides]
    return [(list(shape[extra:]), [list(s) for s in steps], first) for first in firsts]


def _column_axis(shape: list[int]) -> int:
    """The last axis, where the output is dense, unless it is short beside another one."""
    last = len(shape) - 1
    if last >= 0 and shape[last] < 16:
        longest = max(range(len(shape)), key=lambda axis: (shape[axis], axis))
        if shape[longest] > 4 * shape[last]:
            return longest
    return last


def _reach(columns: int, step: int, shape: list[int], strides: list[int]) -> int:
    """The largest distance of an element from the first one."""
    rows = sum((n - 1) * abs(k) for n, k in zip(shape, strides, strict=True))
    return (columns - 1) * abs(step) + rows


def _decompose(axis: int, arrays: list[tuple[int, str, str, str]]) -> str:
    """Take one axis off ``rest``, and go along it in each array."""
    here = f"rest % l.shape[{axis}]; rest /= l.shape[{axis}];" if axis else "rest;"
    walk = " ".join(f"{name}_at += k * l.stride[{at}][{axis}];" for at, name, _, _ in arrays)
    return f"        {{ const place k = {here} {walk} }}\n"
