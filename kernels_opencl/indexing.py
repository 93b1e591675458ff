"""wrap_index and gather where a work-item is a core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code.indexing import recipe

from .cores import template

if TYPE_CHECKING:
    from phalanx.device_code.recipe import Recipe, Traits
    from phalanx.vendor import Layout


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of wrap_index or gather where work-items are cores; scatter has none."""
    del layout
    if not traits.is_cpu or op not in ("wrap_index", "gather"):
        return None
    text = template("indexing_cores.cl")
    return recipe(op, dtypes, traits, "#define WRAP\n" + text if op == "wrap_index" else text)
