"""The ops nonzero and compress: places, and rows, where a mask is true.

The mask is cut into blocks. One pass counts the true places of each, a second one writes; a mask
that is one block needs no counts. Rows of several elements are gathered at the places found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .dtypes import BITS, ITEMSIZE, needs_fp64
from .recipe import Program, Recipe, Traits, divide_up
from .rows import defines
from .source import template

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

#: Words of 8 places that a work-item of a group takes at once.
_WORDS = 2
#: Groups per compute unit: each group reads the counts of all before it.
_GROUPS = 8


class Selector:
    """The program that writes one type of elements, and how it is launched."""

    def __init__(self, op: str, item: str, value: str, traits: Traits) -> None:
        self.traits = traits
        self.group = self.largest_group()
        macros = {"T": item, "VALUE(place)": value, **self.macros(op)}
        self.program = Program(defines(macros) + template("selection.h") + self.source())

    def largest_group(self) -> int:
        """Return the work-items of a group: a power of two."""
        group = 1
        while group * 2 <= min(256, self.traits.max_work_group):
            group *= 2
        return group

    def macros(self, op: str) -> dict[str, str]:
        """Return what the kernels of an op need defined."""
        del op
        return {"GROUP": str(self.group), "WORDS": str(_WORDS)}

    def source(self) -> str:
        """Return the kernels."""
        return template("selection_groups.h")

    def blocks(self, words: int) -> tuple[int, int]:
        """Return into how many blocks of how many words a mask is cut."""
        tile = self.group * _WORDS
        tiles = divide_up(words, tile)
        most = min(max(1, self.traits.compute_units) * _GROUPS, self.traits.most_groups)
        span = divide_up(tiles, most) * tile
        return divide_up(words, span), span

    def launch(self, env: Env, mask: Array, x: Array, out: Array) -> None:
        """Write the values of the true places of a mask (n,) to ``out`` (count,)."""
        if not out.size:
            return
        blocks, span = self.blocks(mask.size // 8 + 2)
        size, group = (blocks * self.group,), (self.group,)
        counts = out
        if blocks > 1:
            counts = env.scratch(blocks, "uint64")
            count = env.kernel(self.program, "count_blocks")
            env.enqueue(count, size, group, mask, counts, mask.size, span)
        write = env.kernel(self.program, "write_blocks")
        env.enqueue(write, size, group, mask, x, out, counts, mask.size, span, out.size)


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of nonzero or compress; ``layout`` does not matter."""
    del layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    return recipe(op, dtypes, traits, Selector)


def recipe(op: str, dtypes: tuple[str, ...], traits: Traits, selector: type[Selector]) -> Recipe:
    """Return the recipe of nonzero or compress with a form of their kernels."""
    places = selector("nonzero", "i64", "(place)", traits)
    if op == "nonzero":

        def launch(
            env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
        ) -> None:
            del params
            places.launch(env, inputs[0], outputs[0], outputs[0])

        return Recipe((places.program,), launch, error_bound=0.0)

    elements = selector("compress", BITS[ITEMSIZE[dtypes[0]]], "PHX_DATA(x)[place]", traits)

    def compress(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        x, mask = inputs
        out = outputs[0]
        inner = out.shape[1]
        if inner == 1:
            elements.launch(env, mask, x, out)
        elif out.size:
            offsets = env.scratch(out.shape[0], "int64")
            places.launch(env, mask, offsets, offsets)
            env.run("multiply", (offsets, inner), (offsets,), dtypes=("int64",) * 3)
            env.run("gather", (env.view(x, (inner,), (1,)), offsets), (out,))

    return Recipe((elements.program,), compress, error_bound=0.0)
