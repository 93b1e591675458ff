"""Tiles of matrix products: their sizes, and what their kernels need defined."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .dtypes import HALF, PART, STORAGE
from .recipe import Traits

#: Steps of k, and lanes, that a group packs at once.
BOX = 16
#: Bytes of local memory of a tile that is not packed, and of what a work-item brings at once.
_ROOM, _HELD = 17 * 2**10, 264
#: Blocks of a matrix unit, of 16 x 8 elements, that 32 work-items have, and steps of k at a time.
_BLOCKS, _STEPS = (4, 4), 8


class Type(NamedTuple):
    """How the elements of a dtype are multiplied."""

    storage: str
    sums: str
    sums_dtype: str
    size: int
    parts: int


class Tile(NamedTuple):
    """Rows and columns of a tile, the work-items that make it, what its kernel needs defined.

    ``text`` is the name of the kernel's.
    """

    rows: int
    columns: int
    group: int
    names: str
    text: str = "tile"


def type_of(dtype: str) -> Type:
    """Return how the elements of a dtype are multiplied."""
    part = PART.get(dtype, dtype)
    if part == "float64":
        return Type("f64", "f64", part, 8, 1 + (dtype in PART))
    if part == "float32" or dtype in HALF:
        return Type(STORAGE[part], "f32", "float32", 4, 1 + (dtype in PART))
    if dtype in ("int64", "uint64"):
        return Type(STORAGE[dtype], "u64", "uint64", 8, 1)
    return Type(STORAGE[dtype], "u32", "uint32", 4, 1)


def packed_tiles(kind: Type, traits: Traits) -> tuple[Tile, ...]:
    """Return the tiles of packed operands to choose from, the largest first.

    A work-item has 8 x 8 elements if they are few registers, or 4 x 4; of the local memory a tile
    takes up to three quarters. Matrix units take the place of work-items where they can.
    """
    if traits.matrix_f64 and kind.sums == "f64":
        fragments = [_fragments(kind, *warps) for warps in ((2, 2), (1, 2), (1, 1))]
        return tuple(tile for tile in fragments if tile.group <= traits.max_work_group)
    side = 16 if traits.max_work_group >= 256 else 8
    made = []
    for span in (8, 4) if kind.size * kind.parts == 4 else (4,):
        width, depth = span * side, 16
        step = 2 * 2 * width * kind.size * kind.parts  # bytes of both panels, twice
        while depth > 1 and depth * step > traits.local_memory * 3 // 4:
            depth //= 2
        names = define(GROUP=side, SPAN=span, DEPTH=depth, WIDE=16 // kind.size)
        names += define(BOX=BOX, PACKERS=side * side)
        made.append(Tile(width, width, side * side, names))
    return tuple(made)


def _fragments(kind: Type, down: int, across: int) -> Tile:
    """Return a tile made by matrix units: so many times 32 work-items down and across."""
    rows, columns = down * _BLOCKS[0] * 16, across * _BLOCKS[1] * 8 // kind.parts
    names = define(WARPS_DOWN=down, WARPS_ACROSS=across, DOWN=_BLOCKS[0], ACROSS=_BLOCKS[1])
    group = 32 * down * across
    names += define(DEPTH=_STEPS, BOX=BOX, PACKERS=group)
    return Tile(rows, columns, group, names, "fragments")


@lru_cache(maxsize=1024)
def unpacked_tile(
    kind: Type,
    traits: Traits,
    rows: int,
    columns: int,
    *,
    turned: bool = False,
    paired: bool = False,
) -> Tile:
    """Return a tile whose operands are read where they lie.

    A work-item has 4 x 4 elements, fewer where columns are few. ``turned`` tells that the right
    operand is the first one, which is seen in complex products; ``paired`` that each row has a
    column of its own.
    """
    few = columns < 32 and traits.max_work_group >= 128
    down, across = (1, 1) if columns == 1 else (4, 2 if few else 4)
    group = rows // down * (columns // across)
    depth = min(group, 32 if columns >= 32 else 64)
    room = min(_ROOM, traits.local_memory * 3 // 4, group * _HELD)
    lanes = 2 * rows if paired else rows + columns
    while depth > 1 and depth * lanes * kind.size * kind.parts > room:
        depth //= 2
    names = define(ROWS=rows, COLUMNS=columns, DOWN=down, ACROSS=across, DEPTH=depth)
    names += define(TURNED=int(turned and kind.parts == 2), PAIRED=int(paired))
    return Tile(rows, columns, group, names)


def define(**names: int | str) -> str:
    """Return the C text that defines macros."""
    return "".join(f"#define {name} {value}\n" for name, value in names.items())
