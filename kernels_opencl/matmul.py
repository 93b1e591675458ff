"""matmul where a work-item is a core: a tile of the product in its registers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING

from phalanx.device_code.matmul import WRAPPING, Chains, recipe
from phalanx.device_code.matmul_tiles import Tile, Type, define
from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up

from .cores import GRAIN, items, template

if TYPE_CHECKING:
    from phalanx.device_code.axes import Axes
    from phalanx.device_code.env import Env
    from phalanx.vendor import Array, Layout

#: Chains of a line and of a wide one, and the least of them that are worth a line.
_LINE, _WIDE, _FEW = 32, 128, 8
#: Most multiplications of a product whose operands are read where they lie.
_IN_PLACE = 2**30
#: Bytes that shuffles of vectors move within, without a price for crossing.
_QUARTER = 16


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of matmul where work-items are cores."""
    del op, layout
    return recipe(dtypes[0], traits, LaneChains) if traits.is_cpu else None


class LaneChains(Chains):
    """Products in which one work-item makes a tile."""

    tiles_from = packed_from = 2**16
    together, few = 1, 3
    steps = 512
    walks_panels = False

    def tiles(self) -> tuple[Tile, ...]:
        """Return the one tile: as many registers as the processor's vectors have."""
        kind = self.kind
        width = min(16, max(4, self.traits.vector_width))
        lanes = 4 * width // kind.size
        rows, vectors = (12 if width == 16 else 6), 2 // kind.parts
        names = define(ROWS=rows, VECTORS=vectors, LANES=lanes, LINE=_LINE, WIDE=_WIDE)
        return (Tile(rows, vectors * lanes, 1, names + _registers(kind, rows, vectors, lanes)),)

    @property
    def commonest(self) -> tuple[Program, ...]:
        """The programs of single products."""
        forms = ("direct", "lines") if _has_lines(self.kind) else ("plain", "packed")
        return tuple(self.program(form, 1) for form in forms)

    def kernels(self, form: str, tile: Tile) -> str:
        """Return the text of the kernels of a form.

        ``direct`` multiplies tiles where they lie, ``lines`` has lines of chains side by side.
        """
        if form in ("plain", "join"):
            return super().kernels(form, tile)
        name = "panels" if form == "packed" else form
        return template("matmul_lanes.cl") + template(f"matmul_{name}.cl")

    def launch(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue products; operands are read where they lie, if they are not large."""
        (m, k), n, tile = a.shape, b.shape[1], self._tiles[0]
        if not _has_lines(self.kind) or m * n * k > _IN_PLACE:
            super().launch(env, axes, a, b, o)
        elif b.strides[1] == 1 and m >= tile.rows and n >= tile.columns:
            self._direct(env, axes, a, b, o)
        elif a.strides[0] == 1 and n >= tile.rows and m >= tile.columns:
            turned = (env.view(t, t.shape[::-1], t.strides[::-1]) for t in (b, a, o))
            left, right, product = axes.steps
            self._direct(env, replace(axes, steps=(right, left, product)), *turned)
        else:
            super().launch(env, axes, a, b, o)

    def _direct(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue products whose columns are neighbours in b."""
        (m, k), n, tile = a.shape, b.shape[1], self._tiles[0]
        kernel = env.kernel(self.program("direct", axes.rank), "direct")
        size = divide_up(m, tile.rows), divide_up(n, tile.columns), axes.count
        steps = (*a.strides, b.strides[0], *o.strides)
        env.enqueue(kernel, size, (1, 1, 1), a, b, o, axes.pack(), m, n, k, *steps)

    def _unpacked(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue products with few rows or columns, or small ones."""
        self._plain(env, axes, a, b, o)

    def _plain(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue products with few rows or columns: lines along the longest of three axes."""
        (m, k), n = a.shape, b.shape[1]
        batch = (*axes.shape, 1)[0], *((*steps, 0)[0] for steps in axes.steps)
        rows = m, a.strides[0], 0, o.strides[0]
        columns = n, 0, b.strides[1], o.strides[1]
        lanes, *others = sorted((rows, columns, batch), key=itemgetter(0), reverse=True)
        if len(axes.shape) > 1 or self.kind.parts == 2 or lanes[0] < _FEW:
            super()._plain(env, axes, a, b, o)
            return
        wide = lanes[0] >= _WIDE and sorted(lanes[1:3]) == [0, 1] and _has_lines(self.kind)
        line = _WIDE if wide else _LINE
        tasks = divide_up(lanes[0], line) * others[0][0] * others[1][0]
        strides = (*lanes[1:], *others[0][1:], *others[1][1:])
        worth = max(1, divide_up(tasks * line * k, GRAIN))
        env.enqueue(
            env.kernel(self.program("lines", 1), "lines"),
            (min(tasks, worth, items(self.traits)),),
            (1,),
            *(a, b, o, line, tasks, lanes[0], others[0][0], k, a.strides[1], b.strides[0]),
            *strides,
        )

    def packers(self, tile: Tile) -> tuple[int, int]:
        """Return the work-items of a group that packs, each of which takes one step of k."""
        del tile
        group = min(64, self.traits.max_work_group)
        return group, group


def _has_lines(kind: Type) -> bool:
    """Tell whether lines are loaded as vectors: what is stored is what is added."""
    return kind.parts == 1 and kind.storage[1:] == kind.sums[1:]


def _registers(kind: Type, rows: int, vectors: int, lanes: int) -> str:
    """Spell out the tile of a CPU: one named register for each row, vector and part."""
    scalar = {"f32": "float", "f64": "double", "u32": "uint", "u64": "ulong"}[kind.sums]
    names = {"VECTOR": f"{scalar}{lanes}", "MAC_VECTOR(a, b, c)": WRAPPING}
    if kind.sums.startswith("f"):
        fma = "__builtin_fmaf" if kind.size == 4 else "__builtin_fma"
        each = (f"r.s{i:x} = {fma}(a.s{i:x}, b.s{i:x}, c.s{i:x});" for i in range(lanes))
        names |= {"MAC_VECTOR(a, b, c)": "fma(a, b, c)", "FUSED": " ".join(each)}
    start, finish = [], []
    places = ((q, r, v) for q in range(kind.parts) for r in range(rows) for v in range(vectors))
    for number, (q, r, v) in enumerate(places):
        name, place = f"c{q}_{r}_{v}", f"*(vector *)(sums + {number * lanes})"
        start.append(f"VECTOR {name} = (VECTOR)(0); if (more) {name} = {place};")
        finish.append(f"{place} = {name};")
    names |= {"START": " ".join(start), "FINISH": " ".join(finish)}
    if _has_lines(kind):
        names |= _line(lanes, kind.size, scalar)
        names["DIRECT_STEP"] = " ".join(_direct_step(rows, vectors, lanes))
        names["DIRECT_FINISH"] = " ".join(
            f"*(__global vector *)(z + {r} * o_row + {v * lanes}) = c0_{r}_{v};"
            for r in range(rows)
            for v in range(vectors)
        )
    return define(**names, STEP=" ".join(_step(kind.parts, rows, vectors, lanes)))


def _step(parts: int, rows: int, vectors: int, lanes: int) -> Iterator[str]:
    """Yield the statements of one step of k."""
    for q in range(parts):
        for v in range(vectors):
            place = (q * vectors + v) * lanes
            yield f"const VECTOR b{q}_{v} = *(__global const vector *)(y + {place});"
    for r in range(rows):
        for q in range(parts):
            yield f"const VECTOR a{q}_{r} = (VECTOR)(x[{q * rows + r}]);"
        if parts == 1:
            for v in range(vectors):
                yield f"c0_{r}_{v} = mac_vector(a0_{r}, b0_{v}, c0_{r}_{v});"
            continue
        for v in range(vectors):
            re, im = f"c0_{r}_{v}", f"c1_{r}_{v}"
            yield f"{re} = mac_vector(a0_{r}, b0_{v}, {re});"
            yield f"{im} = mac_vector(a0_{r}, b1_{v}, {im});"
            yield f"{re} = mac_vector(-a1_{r}, b1_{v}, {re});"
            yield f"{im} = mac_vector(a1_{r}, b0_{v}, {im});"


def _direct_step(rows: int, vectors: int, lanes: int) -> Iterator[str]:
    """Yield the statements of one step of k where operands lie as they are given."""
    for v in range(vectors):
        yield f"const VECTOR b_{v} = *(__global const vector *)(y + {v * lanes});"
    for r in range(rows):
        yield f"const VECTOR a_{r} = (VECTOR)(x[{r} * a_row]);"
        for v in range(vectors):
            yield f"c0_{r}_{v} = mac_vector(a_{r}, b_{v}, c0_{r}_{v});"


def _line(lanes: int, size: int, scalar: str) -> dict[str, str]:
    """Spell out lines of sums: one register for each vector.

    BESIDE adds the products of one step whose lanes are neighbours in memory; TURN those of TURNED
    steps, where steps are the neighbours.
    """
    steps = _QUARTER // size
    vectors = range(_LINE // lanes)
    turns = (f"{{ {' '.join(_turn(v, lanes, steps))} }}" for v in vectors)
    names = {"TURNED": str(steps), "QUARTER": f"{scalar}{steps}", "TURN": " ".join(turns)}
    for name, line in ("LINE", _LINE), ("WIDE", _WIDE):
        vectors = range(line // lanes)
        start = (f"VECTOR sum_{v} = (VECTOR)(0);" for v in vectors)
        load = (f"*(__global const vector *)(x + {v * lanes})" for v in vectors)
        beside = (f"sum_{v} = mac_vector({x}, b, sum_{v});" for v, x in enumerate(load))
        finish = (f"*(vector *)(sums + {v * lanes}) = sum_{v};" for v in vectors)
        names[f"{name}_START"] = " ".join(start)
        names[f"{name}_BESIDE"] = " ".join(beside)
        names[f"{name}_FINISH"] = " ".join(finish)
    return names


def _turn(vector: int, lanes: int, steps: int) -> Iterator[str]:
    """Yield statements that load some steps of each lane, transpose them, and add.

    A vector's quarters have lanes that are neighbours in the end, so that what is transposed by
    perfect shuffles of pairs are squares in the quarters.
    """
    quarters = range(0, lanes, steps)
    for i in range(steps):
        rows = (f"x + {vector * lanes + quarter + i} * lane" for quarter in quarters)
        parts = (f"*(__global const quarter *)({row})" for row in rows)
        yield f"const VECTOR t0_{i} = (VECTOR)({', '.join(parts)});"
    half = steps // 2
    stages = half.bit_length()
    for stage in range(stages):
        for i in range(steps):
            pair = f"t{stage}_{i // 2}", f"t{stage}_{i // 2 + half}"
            taken = (q + e for q in quarters for e in range(i % 2 * half, i % 2 * half + half))
            places = (str(place) for e in taken for place in (e, e + lanes))
            yield f"VECTOR t{stage + 1}_{i} = MIXED({', '.join((*pair, *places))});"
    for i in range(steps):
        sums = f"sum_{vector}"
        yield f"SHUFFLED(t{stages}_{i});"
        yield f"{sums} = mac_vector(t{stages}_{i}, (VECTOR)((A)y[{i} * y_step]), {sums});"
