"""The ops nonzero and compress: places, and rows, where a mask is true.

The mask is cut into blocks. One pass counts the true places of each, a second one writes; a mask
that is one block needs no counts. Rows of several elements are gathered at the places found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .dtypes import BITS, ITEMSIZE, needs_fp64
from .recipe import Env, Program, Recipe, Traits, divide_up
from .rows import GRAIN, defines, items, serial, template

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout

#: Words of 8 places that a work-item of a group takes at once.
_WORDS = 2
#: Groups per compute unit: each group reads the counts of all before it.
_GROUPS = 8
#: Words that a core passes over at once where nothing is true: few if elements need not be read,
#: else about a page, as memory is slow to begin anew.
_SKIPPED = {"nonzero": 8, "compress": 128}


class Selector:
    """The program that writes one type of elements, and how it is launched."""

    def __init__(self, op: str, item: str, value: str, traits: Traits) -> None:
        self._serial = serial(traits)
        self._group = 1
        while not self._serial and self._group * 2 <= min(256, traits.max_work_group):
            self._group *= 2
        macros = {"T": item, "VALUE(place)": value, "SERIAL": str(int(self._serial))}
        macros |= {"GROUP": str(self._group), "WORDS": str(_WORDS), "CHUNK": str(_SKIPPED[op])}
        self.program = Program(defines(macros) + template("selection.h"))

    def launch(self, env: Env, mask: Array, x: Array, out: Array) -> None:
        """Write the values of the true places of a mask (n,) to ``out`` (count,)."""
        if not out.size:
            return
        blocks, span = self._blocks(env.traits, mask.size // 8 + 2)
        size, group = (blocks * self._group,), (self._group,)
        counts = out
        if blocks > 1:
            counts = env.scratch(blocks, "uint64")
            count = env.kernel(self.program, "count_blocks")
            env.enqueue(count, size, group, mask, counts, mask.size, span)
        write = env.kernel(self.program, "write_blocks")
        env.enqueue(write, size, group, mask, x, out, counts, mask.size, span, out.size)

    def _blocks(self, traits: Traits, words: int) -> tuple[int, int]:
        """How many blocks there are of how many words."""
        if self._serial:
            span = divide_up(words, max(1, min(items(traits), 8 * words // GRAIN)))
        else:
            tile = self._group * _WORDS
            tiles = divide_up(words, tile)
            span = divide_up(tiles, max(1, traits.compute_units) * _GROUPS) * tile
        return divide_up(words, span), span


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of nonzero or compress; ``layout`` does not matter."""
    del layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    places = Selector("nonzero", "i64", "(place)", traits)
    if op == "nonzero":

        def launch(
            env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
        ) -> None:
            del params
            places.launch(env, inputs[0], outputs[0], outputs[0])

        return Recipe((places.program,), launch, error_bound=0.0)

    elements = Selector("compress", BITS[ITEMSIZE[dtypes[0]]], "PHX_DATA(x)[place]", traits)

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
