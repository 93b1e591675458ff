"""The ops sort and argsort: rows become codes, blocks are sorted in local memory, then merged.

A code is a key, an unsigned integer of the wanted order; argsort puts the place below it. NaNs
share a key, so sort gives each as the same quiet NaN. On cores, long rows are sorted by digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .axes import Axes, merged, pieces, text
from .dtypes import ITEMSIZE, needs_fp64
from .recipe import Env, Local, Program, Recipe, Traits, divide_up, round_up
from .search import INFINITY

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout

_SOURCE, _DIGITS = (
    (Path(__file__).parent / name).read_text(encoding="utf-8")
    for name in ("sort.h", "../kernels_opencl/sort_digits.cl")
)

#: Elements that a work-item sorts by itself, as sort.h says.
_RUN = 8
#: Most work-items of a block, and work-items of a group.
_LANES, _GROUP = 128, 128
#: Elements that a work-item merges: on a CPU, and on a GPU. A divisor of the smallest merged block.
_SPAN = {True: 1024, False: 16}
#: Elements of all rows that are sorted at a time.
_ROOM = 2**28
#: What is sorted by digits on a CPU: elements of a row, as counts have 32 bits, and least in all.
_BY_DIGITS, _LEAST_BY_DIGITS = range(2**8, 2**32), 2**12
#: Bits of a digit, as sort_digits.cl says; the least elements of a chunk, and chunks for each core.
_DIGIT = 8
_CHUNK, _CHUNKS_PER_CORE = 4096, 8


class _Form(NamedTuple):
    """What is sorted: its number in sort.h, its C type, and a dtype of the same size."""

    number: int
    code: str
    dtype: str

    def names(self) -> str:
        """Return what a program defines for it."""
        pair = "typedef struct { u64 key, place; } pair;\n" if self.code == "pair" else ""
        return f"#define FORM {self.number}\n#define CODE {self.code}\n{pair}"


_SMALL_KEY = _Form(0, "u32", "uint32")
_LARGE_KEY = _Form(0, "u64", "uint64")
_PACKED = _Form(1, "u64", "uint64")
_PAIR = _Form(2, "pair", "complex128")


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of sort or argsort; ``layout`` does not matter."""
    del layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    sorting = _Sorting(dtypes[0], arg=op == "argsort")
    return Recipe((sorting.program(sorting.form(1), 1),), sorting.launch, error_bound=0.0)


class _Sorting:
    """The programs for one dtype, and their launch."""

    def __init__(self, dtype: str, *, arg: bool) -> None:
        self._bits = 8 * ITEMSIZE[dtype]
        self._arg = arg
        is_float = dtype in INFINITY
        sign = 1 << (self._bits - 1)
        infinity = INFINITY.get(dtype, sign - 1)
        names = {
            "U": f"u{self._bits}",
            "I": f"i{self._bits}",
            "WIDTH": self._bits,
            "MAGNITUDE": f"{sign - 1 if is_float else 0}ul",
            "SIGN": f"{sign if is_float or dtype.startswith('int') else 0}ul",
            "INFINITY_": f"{infinity}ul",
            "QUIET": f"{infinity | (infinity & -infinity) >> 1}ul",
            "MERGE_ZEROS": int(arg and is_float),
            "RESULT": "i64" if arg else f"u{self._bits}",
        }
        self._names = "".join(f"#define {name} {value}\n" for name, value in names.items())
        self._programs: dict[tuple[_Form, int, bool], Program] = {}
        self._by_digits: dict[_Form, Program] = {}

    def form(self, n: int) -> _Form:
        """Return what rows of n elements are sorted as."""
        if self._arg:
            return _PACKED if self._bits <= 32 and n <= 2**32 else _PAIR
        return _SMALL_KEY if self._bits <= 32 else _LARGE_KEY

    def program(self, form: _Form, rank: int, *, wide: bool = False) -> Program:
        """Return the program for a form and so many axes of rows."""
        key = (form, rank, wide)
        found = self._programs.get(key)
        if found is None:
            source = text(2, rank, wide=wide) + form.names() + self._names + _SOURCE
            found = self._programs.setdefault(key, Program(source))
        return found

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
            most = max(1, _ROOM // n)
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
        wide = axes.wide or (first + rows) * n >= 2**31
        program = self.program(form, axes.rank, wide=wide)
        packed, count = axes.pack(), rows * n
        codes = env.scratch(count, form.dtype)
        group = min(_GROUP, env.traits.max_work_group)
        each = (round_up(count, group),)
        encode, decode = (env.kernel(program, name) for name in ("encode", "decode"))
        source, target = ends
        call = (packed, first, count, n)
        env.enqueue(encode, each, (group,), source, codes, *call, steps[0], flip)
        codes = self._sorted(env, program, form, codes, rows, n)
        env.enqueue(decode, each, (group,), codes, target, *call, steps[1], flip)

    def _sorted(
        self, env: Env, program: Program, form: _Form, codes: Array, rows: int, n: int
    ) -> Array:
        """Sort rows of codes; returns them in this array or a new one."""
        if env.traits.is_cpu and n in _BY_DIGITS and rows * n >= _LEAST_BY_DIGITS:
            return self._sorted_by_digits(env, form, codes, rows, n)
        blocks, merge = (env.kernel(program, name) for name in ("blocks", "merge"))
        lanes, group = _lanes(env, blocks, form, n)
        width = lanes * _RUN
        segments = rows * divide_up(n, width)
        size = (divide_up(segments, group // lanes) * group,)
        room = Local(ITEMSIZE[form.dtype] * group * _RUN)
        lanes_bytes = lanes.to_bytes(4, "little")
        env.enqueue(blocks, size, (group,), codes, segments, n, lanes_bytes, room)
        span = min(_SPAN[env.traits.is_cpu], width)
        items = rows * divide_up(n, span)
        group = min(_GROUP if items > _GROUP else 1, env.group_limit(merge))
        spare: Array | None = None
        while width < n:
            if spare is None:
                spare = env.scratch(codes.size, form.dtype)
            each = (round_up(items, group),)
            env.enqueue(merge, each, (group,), codes, spare, items, n, width, span)
            codes, spare = spare, codes
            width *= 2
        return codes

    def _sorted_by_digits(self, env: Env, form: _Form, codes: Array, rows: int, n: int) -> Array:
        """Do the same on cores: a count, a running sum and a move for each digit."""
        program = self._by_digits.get(form)
        if program is None:
            program = self._by_digits.setdefault(form, Program(form.names() + _DIGITS))
        count, place, move = (
            env.kernel(program, f"{name}_digits") for name in ("count", "place", "move")
        )
        most = divide_up(_CHUNKS_PER_CORE * env.traits.compute_units, rows)
        chunk = max(_CHUNK, divide_up(n, most))
        parts = divide_up(n, chunk)
        counts = env.scratch(rows * parts << _DIGIT, "uint32")
        spare = env.scratch(codes.size, form.dtype)
        for shift in range(0, self._bits, _DIGIT):
            env.enqueue(count, (parts, rows), (1, 1), codes, counts, n, chunk, shift)
            env.enqueue(place, (rows,), (1,), counts, parts)
            env.enqueue(move, (parts, rows), (1, 1), codes, counts, spare, n, chunk, shift)
            codes, spare = spare, codes
        return codes


def _lanes(env: Env, kernel: Any, form: _Form, n: int) -> tuple[int, int]:
    """Choose the work-items of a block and of a group: powers of two that the device can hold."""
    limit = min(_GROUP, env.group_limit(kernel))
    limit = min(limit, env.traits.local_memory // (ITEMSIZE[form.dtype] * _RUN))
    group = 1
    while 2 * group <= limit:
        group *= 2
    lanes = 1
    while lanes * _RUN < n and 2 * lanes <= min(group, _LANES):
        lanes *= 2
    return lanes, group
