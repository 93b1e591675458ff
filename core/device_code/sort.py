"""The ops sort and argsort: rows become codes, blocks are sorted in local memory, then merged.

Long rows are sorted by their digits instead, from the lowest up.

A code is a key, an unsigned integer of the wanted order; argsort puts the place below it. NaNs
share a key, so sort gives each as the same quiet NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from phalanx.errors import OutOfMemoryError
from phalanx.optable import DTYPES

from .axes import Axes, merged, pieces, text
from .dtypes import ITEMSIZE, needs_fp64
from .recipe import Program, Recipe, Traits, divide_up
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

#: Elements that a work-item sorts by itself, as sort.h says.
_RUN = 8
#: Most work-items of a group.
_GROUP = 128
#: Bits of a digit; least and most work-items of a group that moves by digits.
_DIGIT, _LEAST, _MOVERS = 8, 64, 256
#: Codes of each of these by their size: odd for the sake of the banks of local memory.
_EACH: dict[int, int] = {4: 15, 8: 7, 16: 3}
#: Groups of each compute unit that share rows when these are sorted by digits.
_PARTS = 8
#: Elements of all rows that are sorted at a time.
_ROOM = 2**28


class Form(NamedTuple):
    """What is sorted: its number in sort.h, its C type, and a dtype of the same size."""

    number: int
    code: str
    dtype: str

    def names(self) -> str:
        """Return what a program defines for it."""
        pair = "typedef struct { u64 key, place; } pair;\n" if self.code == "pair" else ""
        return f"#define FORM {self.number}\n#define CODE {self.code}\n{pair}"


SMALL_KEY = Form(0, "u32", "uint32")
LARGE_KEY = Form(0, "u64", "uint64")
PACKED = Form(1, "u64", "uint64")
PAIR = Form(2, "pair", "complex128")


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of sort or argsort; ``layout`` does not matter."""
    del layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    return Sorting(dtypes[0], traits, arg=op == "argsort").recipe()


class Sorting:
    """The programs for one dtype, and their launch."""

    #: Elements that a work-item merges: a divisor of the smallest block that is merged.
    span = 16
    #: Elements of a row from which it is sorted by digits.
    digits_from = 2**16

    def __init__(self, dtype: str, traits: Traits, *, arg: bool) -> None:
        self.traits = traits
        self._bits = 8 * ITEMSIZE[dtype]
        self.arg = arg
        facts = DTYPES[dtype]
        is_float = facts.kind == "f"
        names = {
            "U": f"u{self._bits}",
            "I": f"i{self._bits}",
            "KEY_OF": f"phx_order_i{self._bits}",
            "NUMBER_OF": f"phx_unorder_i{self._bits}",
            "ORDER": f"PHX_ORDER_{facts.suffix if is_float else 'INTEGER'}",
            "MAGNITUDE": f"PHX_MAGNITUDE_{facts.suffix}" if is_float else "0",
            "QUIET": f"PHX_NAN_BITS_{facts.suffix}" if is_float else "0",
            "SIGN": f"{1 << (self._bits - 1) if facts.kind in 'if' else 0}ul",
            "ONE_ZERO": -int(arg and is_float),
            "RESULT": "i64" if arg else f"u{self._bits}",
        }
        self._names = "".join(f"#define {name} {value}\n" for name, value in names.items())
        self._programs: dict[tuple[Form, int, bool, int], Program] = {}
        self._movers: dict[tuple[Form, int], Program] = {}

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self._bits

    def recipe(self) -> Recipe:
        """Return the recipe."""
        first = self.program(self.form(1), 1, self.most_lanes(self.form(1)))
        return Recipe((first,), self.launch, error_bound=0.0)

    def form(self, n: int) -> Form:
        """Return what rows of n elements are sorted as."""
        if self.arg:
            return PACKED if self._bits <= 32 and n <= 2 * self.traits.far else PAIR
        return SMALL_KEY if self._bits <= 32 else LARGE_KEY

    def program(self, form: Form, rank: int, group: int, *, wide: bool = False) -> Program:
        """Return the program for a form, so many axes of rows, and groups that sort blocks."""
        key = (form, rank, wide, group)
        found = self._programs.get(key)
        if found is None:
            names = f"{form.names()}#define GROUP {group}\n{self._names}"
            source = text(2, rank, wide=wide) + names + template("sort_code.h") + template("sort.h")
            found = self._programs.setdefault(key, Program(source, ("order",)))
        return found

    def most_lanes(self, form: Form) -> int:
        """The largest group that the device has local memory for: a power of two."""
        room = self.traits.local_memory // (ITEMSIZE[form.dtype] * _RUN)
        group = 1
        while 2 * group <= min(_GROUP, self.traits.max_work_group, room):
            group *= 2
        return group

    def launch(
        self, env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call."""
        x, out = inputs[0], outputs[0]
        if not out.size:
            return
        n = out.shape[-1]
        flip = (1 << self._bits) - 1 if params[0] else 0
        steps = (x.strides[-1], out.strides[-1])
        for axes in pieces(merged(out.shape[:-1], x.strides[:-1], out.strides[:-1])):
            source = env.view(x, (), (), axes.first[0])
            target = env.view(out, (), (), axes.first[1])
            room = min(_ROOM, self.traits.max_allocation // ITEMSIZE[self.form(n).dtype])
            most = max(1, room // n)
            for first in range(0, axes.count, most):
                rows = min(most, axes.count - first)
                self._rows(env, axes, (source, target), (first, rows, n), steps, flip)

    def _rows(
        self,
        env: Env,
        axes: Axes,
        ends: tuple[Array, Array],
        sizes: tuple[int, int, int],
        steps: tuple[int, int],
        flip: int,
    ) -> None:
        """Sort some of the rows."""
        first, rows, n = sizes
        form = self.form(n)
        wide = max(axes.count, (first + rows) * n) >= self.traits.far
        group = self.most_lanes(form)
        program = self.program(form, axes.rank, group, wide=wide)
        while group > 1 and group > env.group_limit(env.kernel(program, "blocks")):
            group //= 2  # this kernel takes smaller groups than the device does at best
            program = self.program(form, axes.rank, group, wide=wide)
        packed, count = axes.pack(), rows * n
        self._check_room(env, form, count)
        codes = env.scratch(count, form.dtype)
        size = (self._groups(count, group) * group,)
        encode = env.kernel(program, "encode")
        source, target = ends
        call = (packed, first, count, n)
        env.enqueue(encode, size, (group,), source, codes, *call, steps[0], flip)
        codes = self.sorted(env, program, form, codes, (rows, n, group))
        program = self.decoder(program, axes.rank, group, wide=wide)
        decode = env.kernel(program, "decode")
        env.enqueue(decode, size, (group,), codes, target, *call, steps[1], flip)

    def decoder(self, program: Program, rank: int, group: int, *, wide: bool) -> Program:
        """Return the program that makes results of what `sorted` leaves, beside that of codes."""
        del rank, group, wide
        return program

    def _check_room(self, env: Env, form: Form, count: int) -> None:
        """Raise OutOfMemoryError where codes are more than the device gives in one piece."""
        size = count * ITEMSIZE[form.dtype]
        if size > self.traits.max_allocation:
            name = env.stream.device.name
            raise OutOfMemoryError(
                f"{'argsort' if self.arg else 'sort'} of a row of {count} elements of "
                f"{self._bits} bits on {name} needs {size} bytes in one piece, and the device "
                f"gives at most {self.traits.max_allocation}",
                remedy="sort parts of the row and merge them, or sort it on another device",
                size=size,
            )

    def _groups(self, count: int, each: int) -> int:
        return min(divide_up(count, each), self.traits.most_groups)

    def sorted(
        self, env: Env, program: Program, form: Form, codes: Array, sizes: tuple[int, int, int]
    ) -> Array:
        """Sort rows of codes; returns them in this array or a new one.

        ``sizes``: how many rows, of how many codes, and the work-items of a group.
        """
        rows, n, group = sizes
        if self.digits_from <= n < 2**32:
            found = self._by_digit(env, form, codes, rows, n)
            if found is not None:
                return found
        lanes = 1
        while lanes * _RUN < n and lanes < group:
            lanes *= 2
        width = lanes * _RUN
        segments = rows * divide_up(n, width)
        size = (self._groups(segments, group // lanes) * group,)
        blocks, merge = (env.kernel(program, name) for name in ("blocks", "merge"))
        env.enqueue(blocks, size, (group,), codes, segments, n, lanes)
        span = min(self.span, width)
        items = rows * divide_up(n, span)
        local = min(group if items > group else 1, env.group_limit(merge))
        spare: Array | None = None
        while width < n:
            if spare is None:
                spare = env.scratch(codes.size, form.dtype)
            size = (self._groups(items, local) * local,)
            env.enqueue(merge, size, (local,), codes, spare, items, n, width, span)
            codes, spare = spare, codes
            width *= 2
        return codes

    def _by_digit(self, env: Env, form: Form, codes: Array, rows: int, n: int) -> Array | None:
        """Sort rows by their digits; ``None`` if the device has too little room for a group."""
        size = ITEMSIZE[form.dtype]
        group = 1 << min(_MOVERS, self.traits.max_work_group).bit_length() - 1
        while group >= _LEAST and _movers_room(group, size) > self.traits.local_memory:
            group //= 2
        if group < _LEAST:
            return None
        program = self._movers.get((form, group))
        if program is None:
            text = f"{form.names()}#define GROUP {group}\n#define EACH {_EACH[size]}\n"
            made = Program(text + template("sort_code.h") + template("sort_radix.h"))
            program = self._movers.setdefault((form, group), made)
        count, move = (env.kernel(program, name) for name in ("count_digits", "move_digits"))
        if min(map(env.group_limit, (count, move))) < group:
            return None
        tiles = divide_up(n, group * _EACH[size])
        per = divide_up(tiles, divide_up(_PARTS * self.traits.compute_units, rows))
        parts = divide_up(tiles, per)
        tasks, launch = rows * parts, (self._groups(rows * parts, 1) * group,)
        counts, sums = (env.scratch(tasks << _DIGIT, "uint32") for _ in range(2))
        shape = (rows, parts << _DIGIT), (parts << _DIGIT, 1)
        spare = env.scratch(codes.size, form.dtype)
        for shift in range(0, self._bits, _DIGIT):
            cut = (tasks, parts, per, n, shift)
            env.enqueue(count, launch, (group,), codes, counts, *cut)
            env.run("cumulative_sum", (env.view(counts, *shape),), (env.view(sums, *shape),))
            env.enqueue(move, launch, (group,), codes, sums, spare, *cut)
            codes, spare = spare, codes
        return codes


def _movers_room(group: int, size: int) -> int:
    """Return the bytes of local memory of a group that moves codes, see sort_radix.h."""
    return group * (_EACH[size] * size + 9 * 4 + 2 * 4) + (2 * 4 << _DIGIT)
