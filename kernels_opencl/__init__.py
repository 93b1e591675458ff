"""Kernels of the OpenCL devices: `find` gives the recipe for an op on a device."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from phalanx.optable import OPS, Structure

if TYPE_CHECKING:
    from phalanx.device_code.recipe import Recipe, Traits
    from phalanx.driver import Layout

#: The module that has the kernels of each structure.
MODULES = {
    Structure.ELEMENTWISE: "phalanx.device_code.elementwise",
    Structure.REDUCTION: "phalanx.device_code.reduction",
    Structure.SCAN: "phalanx.kernels_opencl.scan",
    Structure.SORT: "phalanx.device_code.sort",
    Structure.SEARCH: "phalanx.device_code.search",
    Structure.SELECTION: "phalanx.device_code.selection",
    Structure.INDEXING: "phalanx.device_code.indexing",
    Structure.GENERATION: "phalanx.device_code.generation",
    Structure.CONTRACTION: "phalanx.kernels_opencl.matmul",
    Structure.ROW: "phalanx.kernels_opencl.softmax",
}


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe for an op of the table on devices of these traits, or ``None``.

    Each call makes a new recipe: the caller keeps it. Layouts are those of ``Driver.kernel``;
    structures other than elementwise ignore the layout.
    """
    row = OPS.get(op)
    if row is None or all(dtypes != signature.dtypes for signature in row.signatures):
        return None
    module = _module(MODULES[row.structure])
    found: Recipe | None = module.find(op, dtypes, layout, traits) if module else None
    return found


@cache
def _module(name: str) -> Any:
    """Return a module, ``None`` if there is none: the core then falls back."""
    return import_module(name) if find_spec(name) else None


def refusal(op: str, dtypes: tuple[str, ...], traits: Traits) -> str:
    """Return why a device of these traits cannot run an op on dtypes, or an empty string."""
    from phalanx.device_code.dtypes import needs_fp64

    if needs_fp64(dtypes) and not traits.fp64:
        missing = sorted({d for d in dtypes if needs_fp64((d,))})
        return f"{op}: the device has no fp64 arithmetic, which {' and '.join(missing)} needs"
    return ""
