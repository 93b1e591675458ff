"""The ops wrap_index, gather and scatter: element offsets, and slices at element offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phalanx.optable.structured import NO_PLACE

from .axes import Axes, merged, pieces, text
from .dtypes import BITS, ITEMSIZE, needs_fp64
from .recipe import Env, Program, Recipe, Traits, divide_up, round_up

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout

#: Work-items of a group.
_GROUP = 256
#: Indices that one group checks alone, so that its flag needs no clearing.
_FEW = 16384
#: Groups along the second axis of a launch: NVIDIA's runtime takes at most 65535.
_MOST_GROUPS = 32768
#: Slices that a GPU writes in their order rather than looking for the last of each offset.
_FEW_SLICES = 64
#: Slices of one table of last writers, which are numbered in 32 bits.
_MOST_SLICES = 2**30

_WRAP = """
PHX_FN int is_outside(i64 x, u64 n, u64 *wrapped) {
    *wrapped = (u64)x + (n & (u64)(x >> 63));
    return (int)((*wrapped | (n - 1 - *wrapped)) >> 63);
}

__kernel void clear(PHX_OUTPUT(i32, flag)) { PHX_DATA(flag)[0] = 0; }

__kernel void wrap(PHX_INPUT(i64, x), PHX_OUTPUT(i64, o), PHX_OUTPUT(i32, flag), const axes a,
                   const ulong count, const ulong n, const ulong stride) {
    __local int bad;
    if (get_local_id(0) == 0) bad = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (ulong i = get_global_id(0); i < count; i += get_global_size(0)) {
        long at[2] = {0, 0};
        u64 wrapped;
        walk(&a, (place)i, at);
        const int outside = is_outside(PHX_DATA(x)[at[0]], n, &wrapped);
        if (outside) bad = 1;
        PHX_DATA(o)[at[1]] = outside ? NO_PLACE : (i64)(wrapped * stride);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        if (get_num_groups(0) == 1)
            PHX_DATA(flag)[0] = bad;
        else if (bad)
            PHX_DATA(flag)[0] = 1;
    }
}

/* One group: the first place that is out of range, and what stands there. */
__kernel void culprit(PHX_INPUT(i64, x), PHX_OUTPUT(i64, o), PHX_OUTPUT(i64, found), const axes a,
                      const ulong count, const ulong n) {
    __local ulong first[64];
    const uint lane = (uint)get_local_id(0), lanes = (uint)get_local_size(0);
    ulong own = count;
    for (ulong i = lane; i < count && own == count; i += lanes) {
        long at[2] = {0, 0};
        u64 wrapped;
        walk(&a, (place)i, at);
        if (is_outside(PHX_DATA(x)[at[0]], n, &wrapped)) own = i;
    }
    first[lane] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        long at[2] = {0, 0};
        for (uint k = 1; k < lanes; k++) own = min(own, first[k]);
        walk(&a, (place)min(own, count - 1), at);
        PHX_DATA(found)[0] = (i64)own;
        PHX_DATA(found)[1] = PHX_DATA(x)[at[0]];
    }
}
"""

_GATHER = """
__kernel void gather(PHX_INPUT(T, x), PHX_INPUT(i64, f), PHX_OUTPUT(T, o), const axes a,
                     const ulong inner, const ulong m, const long f_step, const long o_step) {
    for (ulong p = get_global_id(1 - ROWS); p < inner; p += get_global_size(1 - ROWS)) {
        long at[2] = {0, 0};
        walk(&a, (place)p, at);
        for (ulong i = get_global_id(ROWS); i < m; i += get_global_size(ROWS)) {
            const i64 offset = PHX_DATA(f)[(long)i * f_step];
            T item = {0};
            if (IS_PLACE(offset)) item = PHX_DATA(x)[offset + at[0]];
            PHX_DATA(o)[(long)i * o_step + at[1]] = item;
        }
    }
}
"""

# A table has at least twice as many slots as slices. A slot belongs to one offset and names the
# last slice with that offset, counted from 1: whoever claims it first, the largest number stays.
_SCATTER = """
__kernel void scatter_ordered(PHX_INPUT(T, v), PHX_INPUT(i64, f), PHX_OUTPUT(T, o), const axes a,
                              const ulong inner, const ulong span, const ulong m,
                              const long f_step, const long v_step) {
    const ulong begin = get_global_id(0) * span, end = min(begin + span, inner);
    for (ulong i = 0; i < m; i++) {
        const i64 offset = PHX_DATA(f)[(long)i * f_step];
        for (ulong p = begin; p < end && IS_PLACE(offset); p++) {
            long at[2] = {0, 0};
            walk(&a, (place)p, at);
            PHX_DATA(o)[offset + at[1]] = PHX_DATA(v)[(long)i * v_step + at[0]];
        }
    }
}

PHX_FN u32 slot_of(i64 offset, ulong shift) {
    return (u32)(((u64)offset * 0x9E3779B97F4A7C15ul) >> shift);
}

__kernel void clear(PHX_OUTPUT(u32, table), const ulong slots) {
    for (ulong i = get_global_id(0); i < slots; i += get_global_size(0)) PHX_DATA(table)[i] = 0;
}

__kernel void claim(PHX_INPUT(i64, f), PHX_OUTPUT(u32, table), const ulong m, const long f_step,
                    const ulong shift) {
    volatile __global u32 *slots = PHX_DATA(table);
    const u32 mask = (u32)((1ul << (64 - shift)) - 1);
    for (ulong i = get_global_id(0); i < m; i += get_global_size(0)) {
        const i64 offset = PHX_DATA(f)[(long)i * f_step];
        u32 slot = slot_of(offset, shift);
        for (;; slot = (slot + 1) & mask) {
            const u32 other = atomic_cmpxchg(slots + slot, 0u, (u32)i + 1u);
            if (other == 0) break;
            if (PHX_DATA(f)[((long)other - 1) * f_step] == offset) {
                atomic_max(slots + slot, (u32)i + 1u);
                break;
            }
        }
    }
}

__kernel void mark(PHX_INPUT(i64, f), PHX_INPUT(u32, table), PHX_OUTPUT(u8, last), const ulong m,
                   const long f_step, const ulong shift) {
    const u32 mask = (u32)((1ul << (64 - shift)) - 1);
    for (ulong i = get_global_id(0); i < m; i += get_global_size(0)) {
        const i64 offset = PHX_DATA(f)[(long)i * f_step];
        u32 slot = slot_of(offset, shift), winner;
        for (;; slot = (slot + 1) & mask) {
            winner = PHX_DATA(table)[slot];
            if (PHX_DATA(f)[((long)winner - 1) * f_step] == offset) break;
        }
        PHX_DATA(last)[i] = (u8)(winner == (u32)i + 1u && IS_PLACE(offset));
    }
}

__kernel void scatter_last(PHX_INPUT(T, v), PHX_INPUT(i64, f), PHX_INPUT(u8, last),
                           PHX_OUTPUT(T, o), const axes a, const ulong inner, const ulong m,
                           const long f_step, const long v_step) {
    for (ulong p = get_global_id(1 - ROWS); p < inner; p += get_global_size(1 - ROWS)) {
        long at[2] = {0, 0};
        walk(&a, (place)p, at);
        for (ulong i = get_global_id(ROWS); i < m; i += get_global_size(ROWS))
            if (PHX_DATA(last)[i])
                PHX_DATA(o)[PHX_DATA(f)[(long)i * f_step] + at[1]] =
                    PHX_DATA(v)[(long)i * v_step + at[0]];
    }
}
"""


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an indexing op; ``layout`` does not matter."""
    del layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    if op == "wrap_index":
        wrap = Programs(_WRAP, "")
        return Recipe((wrap.first,), wrap_launch(wrap), error_bound=0.0)
    item = BITS[ITEMSIZE[dtypes[0]]]
    if op == "gather":
        programs = Programs(_GATHER, item)
        return Recipe((programs.first,), gather_launch(programs), error_bound=0.0)
    programs = Programs(_SCATTER, item)
    return Recipe((programs.first,), scatter_launch(programs), error_bound=0.0)


class Programs:
    """The programs of one source by what they are made for: rank, width and the axis of rows."""

    def __init__(self, source: str, item: str) -> None:
        self._source = source
        self._item = item
        self._made: dict[tuple[int, bool, int], Program] = {}
        #: For contiguous operands, the most frequent ones.
        self.first = self._get(1, wide=False, rows=0)

    def get(self, axes: Axes, rows: int = 0) -> Program:
        """Return the program for axes; the launch counts slices along its axis ``rows``."""
        return self._get(axes.rank, wide=axes.wide, rows=rows)

    def _get(self, rank: int, *, wide: bool, rows: int) -> Program:
        key = (rank, wide, rows)
        program = self._made.get(key)
        if program is None:
            names = f"#define ROWS {rows}\n#define T {self._item}\n"
            names += f"#define NO_PLACE ({NO_PLACE}l)\n#define IS_PLACE(o) ((o) >= NO_PLACE / 2)\n"
            source = names + text(2, rank, wide=wide) + self._source
            program = self._made.setdefault(key, Program(source))
        return program


def wrap_launch(programs: Programs) -> Any:
    """Return the launch of wrap_index; it waits for the device and raises IndexError."""

    def launch(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        x, out = inputs[0], outputs[0]
        if not out.size:
            return
        n, stride = params
        group = min(_GROUP, env.traits.max_work_group)
        flag = env.scratch(1, "int32")
        begin = 0
        for axes in pieces(merged(out.shape, x.strides, out.strides)):
            part = [env.view(x, (), (), axes.first[0]), env.view(out, (), (), axes.first[1])]
            program, count = programs.get(axes), axes.count
            groups = 1
            if count > _FEW:
                groups = min(divide_up(count, group), 32 * env.traits.compute_units)
                env.enqueue(env.kernel(program, "clear"), (1,), (1,), flag)
            size = (groups * group,)
            wrap = env.kernel(program, "wrap")
            env.enqueue(wrap, size, (group,), *part, flag, axes.pack(), count, n, stride)
            if env.read_int(flag):
                raise _out_of_range(env, program, part, axes, begin, n)
            begin += count

    return launch


def _out_of_range(
    env: Env, program: Program, part: list[Array], axes: Axes, begin: int, n: int
) -> IndexError:
    found = env.scratch(2, "int64")
    lanes = min(64, env.traits.max_work_group)
    culprit = env.kernel(program, "culprit")
    env.enqueue(culprit, (lanes,), (lanes,), *part, found, axes.pack(), axes.count, n)
    place, index = begin + env.read_int(found), env.read_int(found, 1)
    return IndexError(
        f"{part[0].device}: index {index} at place {place} is out of range for an axis of extent "
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
    most = min(1024 if env.traits.is_cpu else _GROUP, env.traits.max_work_group)
    group = 1
    while group < fast and group * 2 <= most:
        group *= 2
    height = 1
    while height < slow and group * height * 2 <= most and not env.traits.is_cpu:
        height *= 2
    size = (round_up(fast, group), min(round_up(slow, height), _MOST_GROUPS * height))
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
        for axes in pieces(merged(out.shape, values.strides[1:], out.strides)):
            target = env.view(out, (), (), axes.first[1])
            for begin in range(0, values.shape[0], _MOST_SLICES):
                m = min(_MOST_SLICES, values.shape[0] - begin)
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
    size = (round_up(divide_up(inner, span), group),)
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
    some = lanes * 64 * env.traits.compute_units
    probe = (m, places.strides[0], 64 - bits)
    clear, claim, mark = (env.kernel(program, name) for name in ("clear", "claim", "mark"))
    each = (min(round_up(m, lanes), some),)
    env.enqueue(clear, (min(round_up(2**bits, lanes), some),), (lanes,), table, 2**bits)
    env.enqueue(claim, each, (lanes,), places, table, *probe)
    env.enqueue(mark, each, (lanes,), places, table, last, *probe)
    kernel = env.kernel(program, "scatter_last")
    sizes = (axes.count, m, places.strides[0], step)
    env.enqueue(kernel, size, group, source, places, last, target, axes.pack(), *sizes)
