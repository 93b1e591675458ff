"""The ops wrap_index, gather and scatter: element offsets, and slices at element offsets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from phalanx.optable.structured import NO_PLACE

from .axes import Axes, merged, pieces, text
from .dtypes import BITS, ITEMSIZE, needs_fp64
from .recipe import Program, Recipe, Traits, divide_up, round_up
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

#: Work-items of a group, and the most of one where they are turns of a loop.
_GROUP, _MOST_GROUP = 256, 1024
#: Elements that are worth a work-item where these are cores, and such work-items for each core.
_CHUNK, _CHUNKS_PER_CORE = 4096, 4
#: Work-items that look for the first index out of range.
_SEEKERS = 64
#: Indices that one group checks alone, so that its flag needs no clearing.
_FEW = 16384
#: Slices that a GPU writes in their order rather than looking for the last of each offset.
_FEW_SLICES = 64
#: Slices of one table of last writers, which are numbered in 32 bits.
_MOST_SLICES = 2**30
#: Bytes of such a table for each slice, at most.
_TABLE = 16


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an indexing op; ``layout`` does not matter."""
    del layout
    return recipe(op, dtypes, traits)


def recipe(op: str, dtypes: tuple[str, ...], traits: Traits, cores: str = "") -> Recipe | None:
    """Return the recipe of an indexing op.

    For devices whose work-items are cores, ``cores`` is a text with the kernel ``wrap_cores`` or
    ``gather_cores``, whose work-items take neighbours: parameters are those of ``wrap``, and of
    ``gather`` without the axes.
    """
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    item = "" if op == "wrap_index" else BITS[ITEMSIZE[dtypes[0]]]
    programs = Programs(f"{op}.h", item, traits.far, cores)
    launch = {"wrap_index": wrap_launch, "gather": gather_launch, "scatter": scatter_launch}[op]
    return Recipe((programs.first,), launch(programs), error_bound=0.0)


class Programs:
    """The programs of one text by what they are made for: rank, width and the axis of rows."""

    def __init__(self, name: str, item: str, far: int, cores: str = "") -> None:
        self._source = template(name) + cores
        self._item = item
        self._far = far
        #: Whether there are kernels for work-items that are cores.
        self.for_cores = cores != ""
        self._made: dict[tuple[int, bool, int], Program] = {}
        #: For contiguous operands, the most frequent ones.
        self.first = self._get(1, wide=False, rows=0)

    def get(self, axes: Axes, rows: int = 0) -> Program:
        """Return the program for axes; the launch counts slices along its axis ``rows``."""
        return self._get(axes.rank, wide=axes.count >= self._far, rows=rows)

    def _get(self, rank: int, *, wide: bool, rows: int) -> Program:
        key = (rank, wide, rows)
        program = self._made.get(key)
        if program is None:
            names = f"#define ROWS {rows}\n#define T {self._item}\n#define GROUP {_MOST_GROUP}\n"
            names += f"#define NO_PLACE ({NO_PLACE}l)\n#define IS_PLACE(o) ((o) >= NO_PLACE / 2)\n"
            source = names + text(2, rank, wide=wide) + self._source
            program = self._made.setdefault(key, Program(source))
        return program


def _chunks(env: Env, count: int) -> int:
    """Return how many work-items share elements where each is a core."""
    return min(divide_up(count, _CHUNK), _CHUNKS_PER_CORE * env.traits.compute_units)


def wrap_launch(programs: Programs) -> Any:
    """Return the launch of wrap_index; an index out of range is told by `Env.check_later`."""

    def launch(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        x, out = inputs[0], outputs[0]
        if not out.size:
            return
        n, stride = params
        begin = 0
        for axes in pieces(merged(out.shape, x.strides, out.strides)):
            part = [env.view(x, (), (), axes.first[0]), env.view(out, (), (), axes.first[1])]
            program, count = programs.get(axes), axes.count
            found = env.scratch(2, "int64")
            if programs.for_cores and count <= _FEW:
                few = env.kernel(program, "wrap_few")
                env.enqueue(few, (1,), (1,), *part, found, axes.pack(), count, n, stride)
            else:
                _wrap(env, programs, program, part, found, axes, (n, stride))
            env.check_later(found, partial(_out_of_range, begin, n))
            begin += count

    return launch


def _wrap(
    env: Env,
    programs: Programs,
    program: Program,
    part: Sequence[Array],
    found: Array,
    axes: Axes,
    params: tuple[int, int],
) -> None:
    """Offsets by all work-items, then a look for the culprit by a group."""
    n, stride = params
    count, flag = axes.count, env.scratch(1, "int32")
    wrap = env.kernel(program, "wrap_cores" if programs.for_cores else "wrap")
    culprit = env.kernel(program, "culprit")
    group = 1 if programs.for_cores else env.group(wrap, _GROUP)
    lanes, groups = env.group(culprit, _SEEKERS), 1
    if count > _FEW:
        most = min(32 * env.traits.compute_units, env.traits.most_groups)
        groups = min(divide_up(count, group), most)
        groups = _chunks(env, count) if programs.for_cores else groups
        env.enqueue(env.kernel(program, "clear"), (1,), (1,), flag)
    size = (groups * group,)
    env.enqueue(wrap, size, (group,), *part, flag, axes.pack(), count, n, stride)
    env.enqueue(culprit, (lanes,), (lanes,), *part, flag, found, axes.pack(), count, n)


def _out_of_range(begin: int, n: int, found: Sequence[int]) -> IndexError | None:
    """Return the error for what ``culprit`` found: a place, or -1, and the index there."""
    place, index = found
    if place < 0:
        return None
    return IndexError(
        f"index {index} at place {begin + place} is out of range for an axis of extent "
        f"{n}; valid indices are in [{-n}, {n})"
    )


def _grid(
    env: Env, axes: Axes, m: int, row_step: int, operand: int
) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """Choose the axis that counts slices, the global and the local size of a launch.

    Work-items run along the slice where it is long and dense, else along the slices.
    """
    inner = axes.count
    steps = axes.steps[operand]
    along = inner >= min(m, 32) and not (steps and 0 < abs(row_step) < abs(steps[-1]) and m > 32)
    rows, fast, slow = (1, inner, m) if along else (0, m, inner)
    traits = env.traits
    most = min(_MOST_GROUP if traits.is_cpu else _GROUP, traits.max_work_group)
    group = 1
    while group < fast and group * 2 <= most:
        group *= 2
    height = 1
    while height < slow and group * height * 2 <= most and not traits.is_cpu:
        height *= 2
    across = min(divide_up(slow, height), traits.most_groups_across)
    size = (min(divide_up(fast, group), traits.most_groups) * group, across * height)
    return rows, size, (group, height)


def gather_launch(programs: Programs) -> Any:
    """Return the launch of gather."""

    def launch(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x, offsets = inputs
        out = outputs[0]
        if not out.size:
            return
        m = out.shape[0]
        if programs.for_cores and x.size == 1:
            kernel = env.kernel(programs.first, "gather_cores")
            steps = (offsets.strides[0], out.strides[0])
            env.enqueue(kernel, (_chunks(env, m),), (1,), x, offsets, out, m, *steps)
            return
        for axes in pieces(merged(x.shape, x.strides, out.strides[1:])):
            rows, size, group = _grid(env, axes, m, out.strides[0], 1)
            kernel = env.kernel(programs.get(axes, rows), "gather")
            source = env.view(x, (), (), axes.first[0])
            target = env.view(out, (), (), axes.first[1])
            steps = (offsets.strides[0], out.strides[0])
            env.enqueue(
                kernel, size, group, source, offsets, target, axes.pack(), axes.count, m, *steps
            )

    return launch


def ordered(traits: Traits, m: int, inner: int) -> bool:
    """Whether slices are written one after the other: a CPU loses nothing, a GPU if few or long."""
    return traits.is_cpu or m <= _FEW_SLICES or inner >= 1024 * traits.compute_units


def scatter_launch(programs: Programs) -> Any:
    """Return the launch of scatter."""

    def launch(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        values, offsets = inputs
        out = outputs[0]
        if not values.size:
            return
        most = min(_MOST_SLICES, env.traits.max_allocation // _TABLE)
        for axes in pieces(merged(out.shape, values.strides[1:], out.strides)):
            target = env.view(out, (), (), axes.first[1])
            for begin in range(0, values.shape[0], most):
                m = min(most, values.shape[0] - begin)
                at = axes.first[0] + begin * values.strides[0]
                source = env.view(values, (), (), at)
                places = env.view(offsets, (m,), offsets.strides, begin * offsets.strides[0])
                write = _in_order if ordered(env.traits, m, axes.count) else _last_ones
                write(env, programs, axes, source, places, target, values.strides[0])

    return launch


def _in_order(
    env: Env,
    programs: Programs,
    axes: Axes,
    source: Array,
    places: Array,
    target: Array,
    step: int,
) -> None:
    """Each work-item writes its part of the slices, one slice after the other."""
    inner = axes.count
    traits = env.traits
    span = max(64, divide_up(inner, 4 * traits.compute_units)) if traits.is_cpu else 1
    group = 1 if traits.is_cpu else min(_GROUP, traits.max_work_group)
    kernel = env.kernel(programs.get(axes), "scatter_ordered")
    sizes = (inner, span, places.shape[0], places.strides[0], step)
    groups = min(divide_up(divide_up(inner, span), group), traits.most_groups)
    size = (groups * group,)
    env.enqueue(kernel, size, (group,), source, places, target, axes.pack(), *sizes)


def _last_ones(
    env: Env,
    programs: Programs,
    axes: Axes,
    source: Array,
    places: Array,
    target: Array,
    step: int,
) -> None:
    """Find the last slice of each offset in a hash table, then write those in any order."""
    m = places.shape[0]
    bits = (2 * m - 1).bit_length()
    table = env.scratch(2**bits, "uint32")
    last = env.scratch(m, "uint8")
    rows, size, group = _grid(env, axes, m, step, 0)
    program = programs.get(axes, rows)
    lanes = min(_GROUP, env.traits.max_work_group)
    some = lanes * min(64 * env.traits.compute_units, env.traits.most_groups)
    probe = (m, places.strides[0], 64 - bits)
    clear, claim, mark = (env.kernel(program, name) for name in ("clear", "claim", "mark"))
    each = (min(round_up(m, lanes), some),)
    env.enqueue(clear, (min(round_up(2**bits, lanes), some),), (lanes,), table, 2**bits)
    env.enqueue(claim, each, (lanes,), places, table, *probe)
    env.enqueue(mark, each, (lanes,), places, table, last, *probe)
    kernel = env.kernel(program, "scatter_last")
    sizes = (axes.count, m, places.strides[0], step)
    env.enqueue(kernel, size, group, source, places, last, target, axes.pack(), *sizes)
