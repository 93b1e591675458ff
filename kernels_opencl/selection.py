"""nonzero and compress where a work-item is a core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code.recipe import Recipe, Traits, divide_up
from phalanx.device_code.selection import Selector, recipe

from .cores import GRAIN, items, serial, template

if TYPE_CHECKING:
    from phalanx.vendor import Layout

#: Words that a core passes over at once where nothing is true: few if elements need not be read,
#: else about a page, as memory is slow to begin anew.
_SKIPPED = {"nonzero": 8, "compress": 128}


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of nonzero or compress where work-items are cores."""
    del layout
    return recipe(op, dtypes, traits, _SerialSelector) if serial(traits) else None


class _SerialSelector(Selector):
    def largest_group(self) -> int:
        """Return 1: a work-item takes a block."""
        return 1

    def macros(self, op: str) -> dict[str, str]:
        """Return what the kernels of an op need defined."""
        return {"CHUNK": str(_SKIPPED[op])}

    def source(self) -> str:
        """Return the kernels."""
        return template("selection_serial.cl")

    def blocks(self, words: int) -> tuple[int, int]:
        """Return into how many blocks of how many words a mask is cut."""
        span = divide_up(words, max(1, min(items(self.traits), 8 * words // GRAIN)))
        return divide_up(words, span), span
