"""The op matmul: batches of matrix products, each element an fma chain over k from 0.

Tiny products have one work-item per element. Small ones, and those of few rows or columns, are made
in tiles whose operands are read where they lie. For the others both operands are packed, converted
to the type that accumulates, and multiplied tile by tile through local memory. Products beyond one
pass over k go on from what the result holds.
Where k is more than one chain, its blocks are one more batch axis, and their sums are joined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from phalanx.optable.expressions import loaded, stored
from phalanx.optable.structured import CHAIN

from .axes import Axes, merged, pieces, text
from .dtypes import HALF, PART
from .matmul_tiles import BOX, Tile, define, packed_tiles, type_of, unpacked_tile
from .recipe import Program, Recipe, Traits, divide_up, round_up
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

#: Elements of a packed operand at a time.
_ROOM = 2**26
WRAPPING = "((a) * (b) + (c))"
_GROUP = 64
#: Of products with few rows or columns, how many that are.
_FEW = 16
#: Square tiles that are not packed, of each compute unit, from which they are large.
_SQUARES = 4


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of matmul; ``layout`` does not matter."""
    del op, layout
    return recipe(dtypes[0], traits, Chains)


def recipe(dtype: str, traits: Traits, chains: type[Chains]) -> Recipe:
    """Return the recipe of matmul with a form of its chains."""
    product = _Product(dtype, traits, chains)
    exact = traits.subnormals or product.kind.sums.startswith("u")
    bound = 0.0 if product.kind.sums.startswith("u") else -1.0
    determinism = "bitwise" if exact else "reproducible"
    return Recipe(product.chains.commonest, product.launch, determinism, bound)


class Chains:
    """Products of at most CHAIN steps of k: the programs for one dtype, and their launch.

    The result has elements; or ``sums``, in the type that accumulates.
    """

    #: Multiplications of a product from which tiles pay.
    tiles_from = 2**12
    #: Multiplications of a product from which packing pays, or of so many of them.
    packed_from, together = 2**28 + 1, 16
    #: Rows or columns that are too few for packing.
    few = _FEW
    #: Steps of k per pass, so that panels stay in the caches; float16 and bfloat16 take one pass,
    #: for their sums are wider than the result.
    steps = 4096
    #: Whether the kernel of a tile goes on to further panels and batches.
    walks_panels = True

    def __init__(self, dtype: str, traits: Traits, *, sums: bool = False) -> None:
        self.kind = type_of(dtype)
        self.traits = traits
        self._half = dtype in HALF
        self._tiles = self.tiles()
        real, wide = self.kind.sums.startswith("f"), self.kind.sums
        load = loaded(dtype, "x") if self._half else f"({wide})(x)"
        names: dict[str, int | str] = {
            "S": self.kind.storage,
            "A": wide,
            "PARTS": self.kind.parts,
            "LOAD(x)": load,
            "MAC(a, b, c)": f"{'phx_fmaf' if self.kind.size == 4 else 'phx_fma'}(a, b, c)"
            if real
            else WRAPPING,
        }
        if sums:
            names |= {"O": wide, "RESUME(x)": "(x)", "STORE(x)": "(x)"}
        else:
            store = stored(dtype, "x") if self._half else f"({self.kind.storage})(x)"
            names |= {"O": self.kind.storage, "RESUME(x)": "LOAD(x)", "STORE(x)": store}
        self._names = define(**names)
        self._programs: dict[tuple[str, int, Tile], Program] = {}

    @property
    def commonest(self) -> tuple[Program, ...]:
        """The programs of single products: tiny, small and large ones."""
        small = self.program("unpacked", 1, self._unpacked_tile(32, 32))
        return self.program("plain", 1), small, self.program("packed", 1)

    def tiles(self) -> tuple[Tile, ...]:
        """Return the tiles of packed operands to choose from, the largest first."""
        return packed_tiles(self.kind, self.traits)

    def kernels(self, form: str, tile: Tile) -> str:
        """Return the text of the kernels of a form.

        ``plain`` has one work-item per element, ``unpacked`` tiles of operands where they lie,
        ``packed`` what packs and multiplies tiles, ``join`` what makes a product of the sums of
        blocks.
        """
        text = template("matmul_pack.h") if form == "packed" else ""
        return text + template(f"matmul_{tile.text if form == 'packed' else form}.h")

    def program(self, form: str, rank: int, tile: Tile | None = None) -> Program:
        """Return the program of a form for so many batch axes, and a tile if that matters.

        Forms are programs of their own, because compiling all takes several times as long as most
        calls need.
        """
        key = form, rank, tile or self._tiles[0]
        found = self._programs.get(key)
        if found is None:
            names = self._names + key[2].names
            source = text(3, rank, wide=True) + names + template("matmul.h")
            source += self.kernels(form, key[2])
            headers = ("convert",) if self._half else ()
            found = self._programs.setdefault(key, Program(source, headers))
        return found

    def _unpacked_tile(self, rows: int, columns: int, **form: bool) -> Tile:
        return unpacked_tile(self.kind, self.traits, rows, columns, **form)

    def _choose(self, tiles: Sequence[Tile], m: int, n: int, batches: int, each: int = 1) -> Tile:
        """Choose the largest tile of which there are ``each`` for each compute unit."""
        for tile in tiles:
            count = divide_up(m, tile.rows) * divide_up(n, tile.columns) * batches
            enough = count >= each * self.traits.compute_units
            if enough and tile.group <= self.traits.max_work_group:
                return tile
        return tiles[-1]

    def launch(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue the products of a (m, k) and b (k, n), and of those along the batch axes."""
        m, k = a.shape
        n = b.shape[1]
        most = self.traits.max_work_group
        tile, work = self._choose(self._tiles, m, n, axes.count), m * n * k
        dots = axes.count if m * n == 1 else 1  # which a tile takes at once
        if k < 4 or work * dots < self.tiles_from or most < tile.group:
            self._plain(env, axes, a, b, o)
        elif min(m, n) <= self.few or work * min(axes.count, self.together) < self.packed_from:
            self._unpacked(env, axes, a, b, o)
        else:
            self._packed(env, axes, tile, a, b, o)

    def _plain(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        m, k = a.shape
        n = b.shape[1]
        kernel = env.kernel(self.program("plain", axes.rank), "plain")
        args: tuple[Array | int | bytes, ...] = (
            a,
            b,
            o,
            axes.pack(),
            axes.count,
            m,
            n,
            k,
            *a.strides,
            *b.strides,
            *o.strides,
        )
        for first, size, group in _grids(self.traits, m * n, axes.count):
            env.enqueue(kernel, size, group, *args, first)

    def _unpacked(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue products of which tiles pay, but not packing."""
        m, n = o.shape
        if m == n == 1 and len(axes.shape) == 1:
            self._dots(env, axes, a, b, o)
        elif m < n and m <= _FEW:  # of the transposed product columns are few
            a, b, o = (env.view(t, t.shape[::-1], t.strides[::-1]) for t in (b, a, o))
            left, right, product = axes.steps
            axes = replace(axes, steps=(right, left, product))
            self._fetched(env, axes, self._unpacked_tile(64, _few(m), turned=True), a, b, o)
        elif n <= _FEW:
            self._fetched(env, axes, self._unpacked_tile(64, _few(n)), a, b, o)
        else:
            squares = [self._unpacked_tile(side, side) for side in (64, 32)]
            tile = self._choose(squares, m, n, axes.count, each=_SQUARES)
            self._fetched(env, axes, tile, a, b, o)

    def _dots(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Enqueue products of vectors along one batch axis: rows that have columns of their own."""
        (m,), (left, right, product) = axes.shape, axes.steps
        k = a.shape[1]
        self._fetched(
            env,
            Axes((), ((), (), ()), axes.first),
            self._unpacked_tile(64, 1, paired=True),
            env.view(a, (m, k), (*left, a.strides[1])),
            env.view(b, (k, 1), (b.strides[0], *right)),
            env.view(o, (m, 1), (*product, 0)),
        )

    def _fetched(self, env: Env, axes: Axes, tile: Tile, a: Array, b: Array, o: Array) -> None:
        """Enqueue tiles of operands that are read where they lie."""
        (m, k), n = a.shape, b.shape[1]
        most = self.traits.most_groups_across
        grid = (
            min(divide_up(m, tile.rows), self.traits.most_groups) * tile.group,
            min(divide_up(n, tile.columns), most),
            min(axes.count, most),
        )
        kernel = env.kernel(self.program("unpacked", axes.rank, tile), "unpacked")
        sizes = (axes.count, m, n, k, *a.strides, *b.strides, *o.strides)
        env.enqueue(kernel, grid, (tile.group, 1, 1), a, b, o, axes.pack(), *sizes)

    def _packed(self, env: Env, axes: Axes, tile: Tile, a: Array, b: Array, o: Array) -> None:
        m, k = a.shape
        n = b.shape[1]
        parts = self.kind.parts
        depth = k if self._half else min(k, self.steps // parts)
        room = _room(self.traits)
        high = min(room // depth // tile.rows, self.traits.most_groups) * tile.rows
        high = max(tile.rows, high)
        wide = max(tile.columns, room // depth // tile.columns * tile.columns)
        numbers = max(1, room // (depth * max(min(m, high), min(n, wide))))
        for first, batches in _ranges(axes.count, numbers):
            for j, columns in _ranges(n, wide):
                for p, steps in _ranges(k, depth):
                    part = (first, batches)
                    right = self._operand(env, axes, tile, b, 1, part, (j, columns), (p, steps))
                    for i, rows in _ranges(m, high):
                        left = self._operand(env, axes, tile, a, 0, part, (i, rows), (p, steps))
                        at = i * o.strides[0] + j * o.strides[1]
                        self._multiply(
                            env,
                            axes,
                            tile,
                            (left, right),
                            env.view(o, (rows, columns), o.strides, at),
                            part,
                            steps,
                            more=p > 0,
                        )

    def _operand(
        self,
        env: Env,
        axes: Axes,
        tile: Tile,
        x: Array,
        operand: int,
        batch: tuple[int, int],
        across: tuple[int, int],
        along: tuple[int, int],
    ) -> tuple[Array, int]:
        """Pack a part of an operand; returns it and the elements of a matrix, 0 if all are one."""
        width = tile.columns if operand else tile.rows
        lane_step, k_step = reversed(x.strides) if operand else x.strides
        first, batches = batch
        if not any(axes.steps[operand]):
            first, batches = 0, 1
        panels, steps = divide_up(across[1], width), along[1]
        size = panels * width * steps * self.kind.parts
        packed = env.scratch(batches * size, self.kind.sums_dtype)
        source = env.view(x, (), (), across[0] * lane_step + along[0] * k_step)
        kernel = env.kernel(self.program("packed", axes.rank, tile), "pack")
        group, each = self.packers(tile)
        most = self.traits.most_groups_across
        sizes = (operand, first, batches, panels, width, across[1], steps, lane_step, k_step)
        for begin, some in _ranges(steps, self.traits.most_groups * each):
            grid = (divide_up(some, each) * group, min(panels, most), min(batches, most))
            args = (source, packed, axes.pack(), *sizes, begin)
            env.enqueue(kernel, grid, (group, 1, 1), *args)
        return packed, size if batches > 1 else 0

    def packers(self, tile: Tile) -> tuple[int, int]:
        """Return the work-items of a group that packs, and how many steps of k it takes."""
        return tile.group, BOX

    def _multiply(
        self,
        env: Env,
        axes: Axes,
        tile: Tile,
        operands: tuple[tuple[Array, int], tuple[Array, int]],
        o: Array,
        batch: tuple[int, int],
        steps: int,
        *,
        more: bool,
    ) -> None:
        (left, left_size), (right, right_size) = operands
        m, n = o.shape
        down, across, batches = divide_up(m, tile.rows), divide_up(n, tile.columns), batch[1]
        if self.walks_panels:
            most = self.traits.most_groups_across
            across, batches = min(across, most), min(batches, most)
        kernel = env.kernel(self.program("packed", axes.rank, tile), "tile")
        sizes = (*batch, m, n, steps, left_size, right_size, *o.strides, int(more))
        env.enqueue(
            kernel,
            (down * tile.group, across, batches),
            (tile.group, 1, 1),
            left,
            right,
            o,
            axes.pack(),
            *sizes,
        )


class _Product:
    """Products for one dtype, of any length."""

    def __init__(self, dtype: str, traits: Traits, chains: type[Chains]) -> None:
        self.chains = chains(dtype, traits)
        self.kind = self.chains.kind
        narrow = self.kind.sums != self.kind.storage
        self._sums = chains(dtype, traits, sums=True) if narrow else self.chains
        self._sums_dtype = dtype if dtype in PART else self.kind.sums_dtype

    def launch(
        self, env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call."""
        del params
        arrays = (*inputs, outputs[0])
        if not outputs[0].size:
            return
        batch = merged(outputs[0].shape[:-2], *(t.strides[:-2] for t in arrays))
        matrices = [env.view(t, t.shape[-2:], t.strides[-2:]) for t in arrays]
        run = self.chains.launch if inputs[0].shape[-1] <= CHAIN else self._joined
        for axes in pieces(batch):
            run(env, axes, *_moved(env, matrices, axes))

    def _joined(self, env: Env, axes: Axes, a: Array, b: Array, o: Array) -> None:
        """Products of several blocks of k, rows by rows: the sums of each block, their tree."""
        m, k = a.shape
        n = b.shape[1]
        blocks = divide_up(k, CHAIN)
        room = _room(env.traits)
        for i, rows in _ranges(m, max(1, room // (blocks * axes.count * n))):
            area = axes.count * rows * n
            sums = env.scratch(blocks * area, self._sums_dtype)
            left = env.view(a, (rows, k), a.strides, i * a.strides[0])
            whole = k // CHAIN
            self._blocks(env, axes, left, b, sums, (0, whole))
            if whole < blocks:
                self._blocks(env, axes, left, b, sums, (whole, 1))
            half = 1 << ((blocks - 1).bit_length() - 1)
            while half:
                self._join(env, sums, half * area, min(half, blocks - half) * area)
                half //= 2
            result = env.view(o, (rows, n), o.strides, i * o.strides[0])
            self._finish(env, axes, sums, result)

    def _blocks(
        self, env: Env, axes: Axes, a: Array, b: Array, sums: Array, span: tuple[int, int]
    ) -> None:
        """Compute the sums of some blocks of equal length, which are one more batch axis."""
        first, number = span
        m, n = a.shape[0], b.shape[1]
        begin = first * CHAIN
        steps = min(CHAIN, a.shape[1] - begin)
        area = axes.count * m * n
        matrices = (
            env.view(a, (m, steps), a.strides, begin * a.strides[1]),
            env.view(b, (steps, n), b.strides, begin * b.strides[0]),
            env.view(sums, (m, n), (n, 1), first * area),
        )
        batch = merged(
            (number, *axes.shape),
            (CHAIN * a.strides[1], *axes.steps[0]),
            (CHAIN * b.strides[0], *axes.steps[1]),
            (area, *_dense(axes.shape, m * n)),
        )
        for piece in pieces(batch):
            self._sums.launch(env, piece, *_moved(env, matrices, piece))

    def _join(self, env: Env, sums: Array, behind: int, count: int) -> None:
        kernel = env.kernel(self._sums.program("join", 1), "join")
        group = min(_GROUP, env.traits.max_work_group)
        size = min(divide_up(count * self.kind.parts, group), env.traits.most_groups) * group
        env.enqueue(kernel, (size,), (group,), sums, behind, count)

    def _finish(self, env: Env, axes: Axes, sums: Array, o: Array) -> None:
        m, n = o.shape
        kernel = env.kernel(self.chains.program("join", axes.rank), "finish")
        # The place of an element in the result is that of operand 2 of the axes.
        args: tuple[Array | int | bytes, ...] = (sums, o, axes.pack(), axes.count, m, n, *o.strides)
        for first, size, group in _grids(env.traits, m * n, axes.count):
            env.enqueue(kernel, size, group, *args, first)


def _few(count: int) -> int:
    """Return how many columns a tile for few has."""
    return 1 if count == 1 else _FEW


def _room(traits: Traits) -> int:
    """Return how many elements of any type fit into what a launch may need besides its operands."""
    return min(_ROOM, traits.max_allocation // 16)


def _moved(env: Env, matrices: Sequence[Array], axes: Axes) -> Iterator[Array]:
    """Yield the matrices at the first place of batch axes."""
    for t, first in zip(matrices, axes.first, strict=True):
        yield env.view(t, t.shape, t.strides, first)


def _dense(shape: Sequence[int], step: int) -> tuple[int, ...]:
    """Return the strides of axes without gaps, the last of them ``step``."""
    return tuple(step * math.prod(shape[i + 1 :]) for i in range(len(shape)))


def _grids(
    traits: Traits, elements: int, batches: int
) -> Iterator[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Yield launches over the elements of matrices: the first element, all sizes, the group.

    A group has elements of several matrices if they have few.
    """
    most = min(_GROUP, traits.max_work_group)
    wide = min(most, 1 << (elements - 1).bit_length())
    high = most // wide
    across = min(divide_up(batches, high), traits.most_groups_across) * high
    for first, some in _ranges(elements, traits.most_groups * wide):
        yield first, (round_up(some, wide), across), (wide, high)


def _ranges(count: int, step: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, step):
        yield first, min(step, count - first)
