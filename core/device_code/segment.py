"""Sums of rows by target, and counts: the ops segment_sum, bincount and histogram.

Rows are sorted by target with argsort; then each run of rows has a work-item for each number of a
row, and each target one that adds up the totals of its runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phalanx.optable import DTYPES
from phalanx.optable.expressions import loaded, stored
from phalanx.optable.headers import headers_of
from phalanx.optable.structured import SCAN_BLOCK

from .dtypes import HALF, ITEMSIZE, needs_fp64
from .recipe import Program, Recipe, Traits, divide_up
from .rows import defines
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

_GROUP = 256
#: Bytes of all totals of runs at a time: wider rows are added by parts.
_ROOM = 2**28
#: Counts that a group holds in local memory, and the groups of a compute unit that do.
_BINS, _GROUPS = 2048, 4
#: Numbers that are counted at a time, in 32 bits.
_MOST = 2**31

_PLACES = """
PHX_KERNEL(GROUP) places(PHX_INPUT(T, x), PHX_INPUT(T, edges), PHX_OUTPUT(i64, o), const u64 m,
                         const u64 n, const i64 x_step, const i64 e_step) {
    const T first = PHX_DATA(edges)[0], last = PHX_DATA(edges)[(i64)n * e_step];
    const T low = KEY_OF(first), high = KEY_OF(last), not_a_number = KEY_OF(PHX_NAN_OF);
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {
        const T value = PHX_DATA(x)[(i64)i * x_step], key = KEY_OF(value);
        u64 at = 0, rest = n;
        while (rest > 0) {
            const u64 half_ = rest / 2;
            const T edge = PHX_DATA(edges)[(i64)(at + half_) * e_step], other = KEY_OF(edge);
            const int is_before = other <= key;
            at = is_before ? at + half_ + 1 : at;
            rest = is_before ? rest - half_ - 1 : half_;
        }
        const int inside = (low <= key) & (key <= high) & (high < not_a_number);
        PHX_DATA(o)[i] = inside ? (i64)at - 1 : -1;
    }
}
"""


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op of this structure; ``layout`` does not matter."""
    del layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    if op == "segment_sum":
        return _Sums(dtypes[0], traits).recipe()
    return _Counts(traits).recipe() if op == "bincount" else _intervals(dtypes[0])


def _size(env: Env, count: int, group: int) -> tuple[int]:
    """How many work-items serve so many elements."""
    return (min(divide_up(max(count, 1), group), env.traits.most_groups) * group,)


def _arithmetic(dtype: str) -> dict[str, str]:
    """The macros that segment.h names; complex numbers are pairs, added part by part."""
    facts = DTYPES[dtype]
    if facts.part:
        pair = f"{DTYPES[facts.part].suffix}x2"
        zero = {"ZERO": f"phx_make_{pair}(0, 0)", "ADD(a, b)": f"phx_add_{pair}(a, b)"}
        return {"V": pair, "S": pair, "TAKE(v)": "(v)", "STORE(v)": "(v)", **zero}
    if facts.kind == "f":
        move = {"TAKE(v)": loaded(dtype, "(v)"), "STORE(v)": stored(dtype, "(v)")}
        types = {"V": facts.storage, "S": facts.compute}
        return {**types, **move, "ZERO": f"(({facts.compute})0)", "ADD(a, b)": "((a) + (b))"}
    whole = f"u{8 * facts.size}"  # unsigned numbers wrap by definition
    wide = "u64" if whole == "u64" else "u32"
    move = {"TAKE(v)": "(v)", "STORE(v)": "(v)", "ZERO": f"(({whole})0)"}
    return {"V": whole, "S": whole, **move, "ADD(a, b)": f"({whole})(({wide})(a) + ({wide})(b))"}


class _Sums:
    """The program for one dtype, and its launch."""

    def __init__(self, dtype: str, traits: Traits) -> None:
        self._traits = traits
        self._exact = DTYPES[dtype].kind in "iu"
        self._unit = "float32" if dtype in HALF else dtype
        names = {**_arithmetic(dtype), "RUN": str(SCAN_BLOCK), "GROUP": str(_GROUP)}
        headers = ("convert",) if dtype in HALF else ()
        self._program = Program(defines(names) + template("segment.h"), headers)

    def recipe(self) -> Recipe:
        """Return the recipe."""
        determinism = "bitwise" if self._exact or self._traits.subnormals else "reproducible"
        return Recipe((self._program,), self.launch, determinism, 0.0 if self._exact else -1.0)

    def launch(
        self, env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call: order, bounds, and for each part of the rows runs and their totals."""
        del params
        x, ids = inputs
        y = outputs[0]
        if not y.size:
            return
        m, n = ids.shape[0], y.shape[0]
        width, row_step = y.shape[1], x.strides[0]
        order, starts = env.scratch(max(m, 1), "int64"), env.scratch(n + 1, "int64")
        if m:
            env.run("argsort", (ids,), (env.view(order, (m,), (1,)),), (0,))
        group = min(_GROUP, self._traits.max_work_group)
        bounds, runs, join = (
            env.kernel(self._program, name) for name in ("bounds", "runs", "join")
        )
        step = ids.strides[0]
        env.enqueue(bounds, _size(env, n + 1, group), (group,), ids, order, starts, m, n, step)
        room = min(_ROOM, self._traits.max_allocation)
        most = max(1, room // (ITEMSIZE[self._unit] * max(m, 1)))
        for first in range(0, width, most):
            some = min(most, width - first)
            totals = env.scratch(max(m, 1) * some, self._unit)
            about = (ids, order, starts, totals, m, n, some, first, step, row_step)
            env.enqueue(runs, _size(env, m * some, group), (group,), x, *about)
            sizes = (n, some, first, width)
            env.enqueue(join, _size(env, n * some, group), (group,), starts, totals, y, *sizes)


class _Counts:
    """The program of bincount, and its launch."""

    def __init__(self, traits: Traits) -> None:
        self._traits = traits
        self._bins = min(_BINS, traits.local_memory // 8)
        names = {"GROUP": str(_GROUP), "BINS": str(self._bins)}
        self._program = Program(defines(names) + template("count.h"))

    def recipe(self) -> Recipe:
        """Return the recipe."""
        return Recipe((self._program,), self.launch, error_bound=0.0)

    def launch(
        self, env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call."""
        del params
        ids, y = inputs[0], outputs[0]
        m, n = ids.shape[0], y.shape[0]
        if not n:
            return
        group = min(_GROUP, self._traits.max_work_group)
        for begin in range(0, max(m, 1), _MOST):
            count = min(_MOST, m - begin)
            part = env.view(ids, (count,), ids.strides, begin * ids.strides[0])
            tables, parts = self._tables(env, part, n, group)
            sums = (parts, n, y.strides[0], int(begin > 0))
            add_up = env.kernel(self._program, "add_up")
            env.enqueue(add_up, _size(env, n, group), (group,), tables, y, *sums)

    def _tables(self, env: Env, ids: Array, n: int, group: int) -> tuple[Array, int]:
        """Counts in one or more tables, and their number."""
        m, traits = ids.shape[0], self._traits
        sizes = (m, n, ids.strides[0])
        units = traits.compute_units
        if traits.is_cpu and units * n <= max(m, 4096):
            tables = env.scratch(units * n, "uint32")
            kernel = env.kernel(self._program, "count_alone")
            env.enqueue(kernel, (units,), (1,), ids, tables, *sizes)
            return tables, units
        if n <= self._bins and not traits.is_cpu:
            kernel = env.kernel(self._program, "count_local")
            group = env.group(kernel, group)
            wanted = divide_up(max(m, 1), 8 * group)
            groups = min(wanted, _GROUPS * units, traits.most_groups)
            tables = env.scratch(groups * n, "uint32")
            env.enqueue(kernel, (groups * group,), (group,), ids, tables, *sizes)
            return tables, groups
        tables = env.scratch(n, "uint32")
        clear, count = (env.kernel(self._program, name) for name in ("clear", "count_together"))
        env.enqueue(clear, _size(env, n, group), (group,), tables, n)
        env.enqueue(count, _size(env, m, group), (group,), ids, tables, *sizes)
        return tables, 1


def _intervals(dtype: str) -> Recipe:
    """The recipe of histogram: the interval of each element, then bincount."""
    facts = DTYPES[dtype]
    key = f"i{8 * facts.size}"
    text = f"phx_order_{key}(x, PHX_ORDER_{facts.suffix}, -1, 0)"
    names = f"#define T {key}\n#define KEY_OF(x) {text}\n#define GROUP {_GROUP}\n"
    names += f"#define PHX_NAN_OF ((T)PHX_NAN_BITS_{facts.suffix})\n"
    program = Program(names + _PLACES, headers_of(text))

    def launch(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x, edges = inputs
        m, n = x.shape[0], outputs[0].shape[0]
        if not n:
            return
        places = env.scratch(max(m, 1), "int64")
        kernel = env.kernel(program, "places")
        group = min(_GROUP, env.group_limit(kernel))
        sizes = (m, n, x.strides[0], edges.strides[0])
        env.enqueue(kernel, _size(env, m, group), (group,), x, edges, places, *sizes)
        env.run("bincount", (env.view(places, (m,), (1,)),), outputs)

    return Recipe((program,), launch, error_bound=0.0)
