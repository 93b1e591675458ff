"""Elements and slices at integer indices."""

from __future__ import annotations

from math import prod
from typing import Any

from phalanx._warm import Array, cast, empty, launch, normal_axis, taken, taken_along, view
from phalanx.arrays.checks import need_array
from phalanx.arrays.data_types import int64
from phalanx.arrays.indexing import getitem
from phalanx.arrays.transfer import contiguous

from .creation import arange
from .manipulation import broadcast_shapes, broadcast_to


def take(x: Array, indices: Array, /, axis: int | None = None) -> Array:
    """Return slices along an axis at integer ``indices``; negative ones count from the end.

    ``axis`` may be left out for one axis only.

    Raises:
        IndexError: an index out of range.
        TypeError: ``x`` is no array, or ``indices`` no integer array.
        ValueError: no axis given for several.

    Examples:
        >>> print(px.take(px.asarray([[1, 2, 3], [4, 5, 6]]), px.asarray([0, -1]), axis=1))
        [[1 3]
         [4 6]]
    """
    need_array(x, "take")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take needs an axis for shape {x.shape}; write axis=0, for example")
        axis = 0
    axis = normal_axis(axis, x, "take")
    _need_indices(indices, "take")
    if indices.device is not x.device:
        return getitem(x, (*[slice(None)] * axis, indices))  # which says what to do
    result: Array = taken(x, indices, axis)
    return result


def _need_indices(indices: Any, op: str) -> None:
    if not isinstance(indices, Array):
        raise TypeError(
            f"{op}: indices are an integer array, got {type(indices).__name__}; use phalanx.asarray"
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(
            f"{op}: indices are an integer array, got {indices.dtype}; convert with "
            "phalanx.astype(indices, phalanx.int64)"
        )


def take_along_axis(x: Array, indices: Array, /, axis: int = -1) -> Array:
    """Return for each place of ``indices`` the element of ``x`` at that index along ``axis``.

    The other extents are equal or broadcast.

    Raises:
        IndexError: an index out of range.
        TypeError: ``x`` is no array, or ``indices`` no integer array.
        ValueError: another number of axes.

    Examples:
        >>> x = px.asarray([[1, 5], [7, 3]])
        >>> print(px.take_along_axis(x, px.argmax(x, axis=1, keepdims=True), axis=1))
        [[5]
         [7]]
    """
    need_array(x, "take_along_axis")
    _need_indices(indices, "take_along_axis")
    if x.ndim != indices.ndim:
        raise ValueError(
            f"take_along_axis takes indices with as many axes as x, got shapes {indices.shape} "
            f"and {x.shape}"
        )
    axis = normal_axis(axis, x, "take_along_axis")
    if x.ndim == 1 and indices.device is x.device:
        result: Array = taken(x, indices, 0)
        return result
    few: Array | None = taken_along(x, indices, axis)
    if few is not None:
        return few
    if x.size and indices.device is x.device and _like_but(x.shape, indices.shape, axis):
        return _taken_along(contiguous(x), contiguous(cast(indices, int64)), axis)
    rest = broadcast_shapes(
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]),
        (*indices.shape[:axis], 1, *indices.shape[axis + 1 :]),
    )
    shape = (*rest[:axis], indices.shape[axis], *rest[axis + 1 :])
    source = broadcast_to(x, (*rest[:axis], x.shape[axis], *rest[axis + 1 :]))
    keys: list[Array] = []
    for a in range(x.ndim):
        if a == axis:
            keys.append(broadcast_to(cast(indices, int64), shape))
        else:
            steps = arange(shape[a], device=x.device)
            ones = [1] * x.ndim
            ones[a] = shape[a]
            strides = [0] * x.ndim
            strides[a] = 1
            keys.append(broadcast_to(view(steps, tuple(ones), tuple(strides)), shape))
    return getitem(source, tuple(keys))


def _like_but(shape: tuple[int, ...], other: tuple[int, ...], axis: int) -> bool:
    return shape[:axis] == other[:axis] and shape[axis + 1 :] == other[axis + 1 :]


def _taken_along(x: Array, places: Array, axis: int) -> Array:
    """The elements of contiguous x (outer, n, inner) at contiguous places (outer, m, inner)."""
    n, m = x.shape[axis], places.shape[axis]
    outer, inner = prod(x.shape[:axis]), prod(x.shape[axis + 1 :])
    out = empty(places.shape, x.dtype, x.device)
    if not out.size:
        return out
    offsets = empty((out.size,), int64, x.device)
    launch("wrap_index", (view(places, (out.size,), (1,)),), (offsets,), (n, inner))
    every = view(offsets, (outer, m, inner), (m * inner, inner, 1))
    if outer > 1:
        rows = arange(0, outer * n * inner, n * inner, device=x.device)
        every += view(rows, every.shape, (1, 0, 0))
    if inner > 1:
        every += view(arange(inner, device=x.device), every.shape, (0, 0, 1))
    launch("gather", (view(x, (), ()), offsets), (view(out, (out.size,), (1,)),))
    return out
