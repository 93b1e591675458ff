"""matmul where a work-item is a core: a tile of the product in its registers."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

from phalanx.device_code.matmul import WRAPPING, Chains, Tile, Type, define, recipe
from phalanx.device_code.recipe import Recipe, Traits, divide_up

from .cores import GRAIN, items, template

if TYPE_CHECKING:
    from phalanx.device_code.axes import Axes
    from phalanx.device_code.env import Env
    from phalanx.vendor import Array, Layout

#: Chains of a line, and the least of them that are worth one.
_LINE, _FEW = 32, 8


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of matmul where work-items are cores."""
    del op, layout
    return recipe(dtypes[0], traits, LaneChains) if traits.is_cpu else None


class LaneChains(Chains):
    """Products in which one work-item makes a tile."""

    packed_from = 2**16
    steps = 512
    walks_panels = False

    def tiles(self) -> tuple[Tile, ...]:
        """Return the one tile: as many registers as the processor's vectors have."""
        kind = self.kind
        width = min(16, max(4, self.traits.vector_width))
        lanes = 4 * width // kind.size
        rows, vectors = (12 if width == 16 else 6), 2 // kind.parts
        names = define(ROWS=rows, VECTORS=vectors, LANES=lanes, LINE=_LINE)
        return (Tile(rows, vectors * lanes, 1, names + _registers(kind, rows, vectors, lanes)),)

    def source(self) -> str:
        """Return the kernels that pack and multiply."""
        return template("matmul_lanes.cl")

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
        tasks = divide_up(lanes[0], _LINE) * others[0][0] * others[1][0]
        strides = (*lanes[1:], *others[0][1:], *others[1][1:])
        worth = max(1, divide_up(tasks * _LINE * k, GRAIN))
        env.enqueue(
            env.kernel(self.program(1), "lines"),
            (min(tasks, worth, items(self.traits)),),
            (1,),
            *(a, b, o, tasks, lanes[0], others[0][0], k, a.strides[1], b.strides[0]),
            *strides,
        )

    def packers(self, tile: Tile) -> tuple[int, int]:
        """Return the work-items of a group that packs, each of which takes one step of k."""
        del tile
        group = min(64, self.traits.max_work_group)
        return group, group


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
    if kind.parts == 1 and kind.storage[1:] == kind.sums[1:]:
        names |= _line(lanes)
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


def _line(lanes: int) -> dict[str, str]:
    """Spell out a line of sums: one register for each vector.

    BESIDE adds the products of one step whose lanes are neighbours in memory; TURN those of as
    many steps as a vector has lanes, where steps are the neighbours.
    """
    vectors = range(_LINE // lanes)
    load = (f"*(__global const vector *)(x + {v * lanes})" for v in vectors)
    return {
        "LINE_START": " ".join(f"VECTOR sum_{v} = (VECTOR)(0);" for v in vectors),
        "BESIDE": " ".join(f"sum_{v} = mac_vector({x}, b, sum_{v});" for v, x in enumerate(load)),
        "TURN": " ".join(f"{{ {' '.join(_turn(v, lanes))} }}" for v in vectors),
        "LINE_FINISH": " ".join(f"*(vector *)(sums + {v * lanes}) = sum_{v};" for v in vectors),
    }


def _turn(vector: int, lanes: int) -> Iterator[str]:
    """Yield statements that load a square, transpose it by perfect shuffles of pairs, and add."""
    half = lanes // 2
    stages = half.bit_length()
    for i in range(lanes):
        place = f"x + {vector * lanes + i} * lane"
        yield f"const VECTOR t0_{i} = *(__global const vector *)({place});"
    for stage in range(stages):
        for i in range(lanes):
            a, b = f"t{stage}_{i // 2}", f"t{stage}_{i // 2 + half}"
            first = i % 2 * half
            mixed = (f"{a}.s{e:x}, {b}.s{e:x}" for e in range(first, first + half))
            yield f"const VECTOR t{stage + 1}_{i} = (VECTOR)({', '.join(mixed)});"
    for i in range(lanes):
        sums = f"sum_{vector}"
        yield f"{sums} = mac_vector(t{stages}_{i}, (VECTOR)((A)y[{i} * y_step]), {sums});"
