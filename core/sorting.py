"""Sorting along an axis."""

from __future__ import annotations

from ._warm import Array, normal_axis
from ._warm import copy as copy_array
from .data_types import int64
from .reductions import along_axis


def _checked(x: Array, axis: int, op: str) -> int:
    if not isinstance(x, Array):
        raise TypeError(f"{op} takes a phalanx array, got {type(x).__name__}")
    if x.dtype.kind == "c":
        raise TypeError(f"{op} is not defined for complex arrays: they have no order")
    if x.ndim == 0:
        raise ValueError(f"{op} needs at least one axis, got a 0-d array")
    place: int = normal_axis(axis, x, op)
    return place


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements in order along an axis; NaN counts as the largest. Always stable."""
    del stable  # a stable order is a legal unstable one
    axis = _checked(x, axis, "sort")
    if x.shape[axis] < 2:
        return copy_array(x)
    return along_axis("sort", x, axis, x.dtype, (int(descending),))


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the places (int64) that sort an axis; NaN counts as the largest. Always stable."""
    del stable
    return along_axis("argsort", x, _checked(x, axis, "argsort"), int64, (int(descending),))
