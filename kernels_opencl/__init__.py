"""Kernels of the OpenCL devices: the dialect, and forms for devices whose work-items are cores.

`find` gives the recipe for an op on a device: where work-items are cores, or groups too small,
that of a module here; else that of `phalanx.device_code`, as every device has.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from phalanx import device_code
from phalanx.device_code import refusal
from phalanx.optable import OPS, Structure

if TYPE_CHECKING:
    from phalanx.device_code.recipe import Recipe, Traits
    from phalanx.vendor import Layout

#: The module of this folder that has the forms for cores of a structure.
MODULES: dict[Structure, str] = {
    structure: name
    for structure, name in device_code.MODULES.items()
    if structure
    not in (
        Structure.SEARCH,
        Structure.RANDOM,
        Structure.FOURIER,
        Structure.FACTORIZATION,
        Structure.SEGMENT,
    )
}


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe for an op of the table on devices of these traits, or ``None``.

    Each call makes a new recipe: the caller keeps it. Layouts are those of ``Driver.kernel``;
    structures other than elementwise ignore the layout.
    """
    row = OPS.get(op)
    if row is None or refusal(op, dtypes, traits):
        return None
    if all(dtypes != signature.dtypes for signature in row.signatures):
        return None
    found: Recipe | None = None
    if row.structure in MODULES:
        found = _module(row.structure).find(op, dtypes, layout, traits)
    found = found or device_code.find(op, dtypes, layout, traits)
    if found and not traits.fp64 and row.structure is Structure.ELEMENTWISE:
        from .single import as_single

        found = as_single(row, dtypes, found, traits)
    return found and device_code.as_measured(row, dtypes, found, traits)


@cache
def _module(structure: Structure) -> Any:
    return import_module(f".{MODULES[structure]}", __name__)


__all__ = ["MODULES", "find", "refusal"]
