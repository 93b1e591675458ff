"""Kernels for devices with groups of work-items: `find` gives the recipe for an op.

Texts are in words that each vendor's `dialect.Dialect` defines for its own compiler. So a driver
needs a dialect and an `env.Env`, and has a kernel for every op of the table.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from phalanx.optable import OPS, Op, Structure, kind_of

if TYPE_CHECKING:
    from phalanx.vendor import Layout

    from .recipe import Recipe, Traits

#: The module of this folder that has the kernels of each structure.
MODULES = {
    Structure.ELEMENTWISE: "elementwise",
    Structure.REDUCTION: "reduction",
    Structure.SCAN: "scan",
    Structure.SORT: "sort",
    Structure.SEARCH: "search",
    Structure.SELECTION: "selection",
    Structure.INDEXING: "indexing",
    Structure.GENERATION: "generation",
    Structure.RANDOM: "random",
    Structure.FOURIER: "fourier",
    Structure.CONTRACTION: "matmul",
    Structure.ROW: "normalize",
    Structure.FACTORIZATION: "factors",
    Structure.SEGMENT: "segment",
}
#: Structures whose kernels compute with floats, rather than move and compare them.
_ROUNDING = {
    Structure.ELEMENTWISE,
    Structure.REDUCTION,
    Structure.SCAN,
    Structure.GENERATION,
    Structure.RANDOM,
    Structure.FOURIER,
    Structure.CONTRACTION,
    Structure.ROW,
    Structure.FACTORIZATION,
    Structure.SEGMENT,
}


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe for an op of the table on devices of these traits, or ``None``.

    Each call makes a new recipe: the caller keeps it. Layouts are those of ``Driver.kernel``;
    structures other than elementwise ignore the layout.
    """
    row = OPS.get(op)
    if row is None or all(dtypes != signature.dtypes for signature in row.signatures):
        return None
    if refusal(op, dtypes, traits):
        return None
    found: Recipe | None = _module(row.structure).find(op, dtypes, layout, traits)
    return found and as_measured(row, dtypes, found, traits)


def as_measured(op: Op, dtypes: tuple[str, ...], recipe: Recipe, traits: Traits) -> Recipe:
    """Return a recipe with the class that it has where the compiler contracts."""
    rounds = op.structure in _ROUNDING and any(kind_of(dtype) in "fc" for dtype in dtypes)
    if not (rounds and traits.contracts):
        return recipe
    return replace(recipe, determinism="reproducible", error_bound=-1.0)


@cache
def _module(structure: Structure) -> Any:
    return import_module(f".{MODULES[structure]}", __name__)


def refusal(op: str, dtypes: tuple[str, ...], traits: Traits) -> str:
    """Return why a device of these traits cannot run an op on dtypes, or an empty string."""
    from .dtypes import needs_fp64

    if needs_fp64(dtypes) and not traits.fp64:
        missing = sorted({d for d in dtypes if needs_fp64((d,))})
        return f"{op}: the device has no fp64 arithmetic, which {' and '.join(missing)} needs"
    return ""
