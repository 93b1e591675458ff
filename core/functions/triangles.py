"""Places in arrays: tril_indices, triu_indices, put_along_axis."""

from __future__ import annotations

from typing import Any

from phalanx._warm import Array, Device, cast, normal_axis, put_along, triangle_places
from phalanx.arrays.checks import need_array, need_int
from phalanx.arrays.data_types import int64
from phalanx.arrays.indexing import setitem
from phalanx.namespace.creation import arange
from phalanx.namespace.elementwise import clip
from phalanx.namespace.manipulation import broadcast_to, reshape
from phalanx.namespace.running import cumulative_sum
from phalanx.namespace.searching import searchsorted
from phalanx.namespace.taking import take

from .segments import need_integers


def tril_indices(
    n: int, k: int = 0, m: int | None = None, *, device: str | Device | None = None
) -> tuple[Array, Array]:
    """Return rows and columns (int64) of the elements on and below diagonal ``k`` of (n, m).

    ``m`` is n without it. Nothing waits for the device.

    Raises:
        TypeError: an argument that is no int.
        ValueError: a negative extent.

    Examples:
        >>> rows, columns = px.tril_indices(3, -1)
        >>> print(rows, columns)
        [1 2 2] [0 0 1]
    """
    rows, cols = _extents(n, m, "tril_indices")
    k = need_int(k, "tril_indices: k")
    return _indices(rows, cols, k, device, lower=True)


def triu_indices(
    n: int, k: int = 0, m: int | None = None, *, device: str | Device | None = None
) -> tuple[Array, Array]:
    """Return rows and columns (int64) of the elements on and above diagonal ``k`` of (n, m).

    ``m`` is n without it. Nothing waits for the device.

    Raises:
        TypeError: an argument that is no int.
        ValueError: a negative extent.

    Examples:
        >>> rows, columns = px.triu_indices(3, 1)
        >>> print(rows, columns)
        [0 0 1] [1 2 2]
    """
    rows, cols = _extents(n, m, "triu_indices")
    k = need_int(k, "triu_indices: k")
    return _indices(rows, cols, k, device, lower=False)


def _extents(n: Any, m: Any, op: str) -> tuple[int, int]:
    rows = need_int(n, f"{op}: n")
    cols = rows if m is None else need_int(m, f"{op}: m")
    if rows < 0 or cols < 0:
        raise ValueError(f"{op}: extents are 0 or more, got {(rows, cols)}")
    return rows, cols


def _indices(
    rows: int, cols: int, k: int, device: str | Device | None, *, lower: bool
) -> tuple[Array, Array]:
    """Row i has the columns up to i + k, or those from there on."""
    k = min(max(k, -rows - 1), cols)  # as good as any beyond
    below = _triangle(rows, cols, k + int(lower))
    total = below if lower else rows * cols - below
    if max(rows, cols, total) < 2**62:
        made: tuple[Array, Array] | None = triangle_places(rows, cols, k, lower, total, device)
        if made is not None:
            return made
    edges = clip(arange(rows, device=device) + (k + int(lower)), 0, cols)
    lengths = edges if lower else cols - edges
    places = arange(total, device=edges.device)
    if total == 0:
        return places, arange(0, device=edges.device)
    ends = cumulative_sum(lengths)
    row = searchsorted(ends, places, side="right")
    last = take(ends if lower else ends - cols, row)
    return row, places - last + (take(lengths, row) if lower else 0)


def _triangle(rows: int, cols: int, k: int) -> int:
    """The sum over i < rows of i + k, each within 0 and cols."""
    first = min(max(-k, 0), rows)  # rows before it have none
    full = min(max(cols - k, first), rows)  # those from it on have all
    between = full - first
    return between * k + between * (first + full - 1) // 2 + (rows - full) * cols


def put_along_axis(arr: Array, indices: Array, values: Any, axis: int | None) -> None:
    """Write values into an array, in place, where ``take_along_axis`` would read.

    Of several for one place the last is kept.

    Args:
        arr: the array that changes.
        indices: integers with as many axes; the other extents are equal or broadcast.
        values: a number or an array that broadcasts to the indices.
        axis: along which the indices count; ``None`` for the flattened array, which must be a view.

    Raises:
        IndexError: an index out of range, or an axis that is not there.
        TypeError: no integer indices, or values that the dtype cannot hold.
        ValueError: another number of axes, shapes that do not fit.

    Examples:
        >>> x = px.asarray([[10, 30, 20], [60, 40, 50]])
        >>> px.put_along_axis(x, px.argmax(x, axis=1, keepdims=True), 99, axis=1)
        >>> print(x)
        [[10 99 20]
         [99 40 50]]
    """
    need_array(arr, "put_along_axis")
    need_integers(indices, "put_along_axis: indices")
    if axis is None:
        arr, axis = reshape(arr, (-1,), copy=False), 0
        if indices.ndim != 1:
            raise ValueError(
                f"put_along_axis without an axis takes 1-d indices, got shape {indices.shape}"
            )
    if arr.ndim != indices.ndim:
        raise ValueError(
            f"put_along_axis takes indices with as many axes as arr, got shapes {indices.shape} "
            f"and {arr.shape}"
        )
    axis = normal_axis(axis, arr, "put_along_axis")
    if put_along(arr, indices, axis, values):
        return
    extents = [arr.shape[a] if a != axis else indices.shape[a] for a in range(arr.ndim)]
    for a, (have, want) in enumerate(zip(indices.shape, extents, strict=True)):
        if have not in (1, want):
            raise ValueError(
                f"put_along_axis: indices of shape {indices.shape} do not fit arr of shape "
                f"{arr.shape} at axis {a}"
            )
    shape = tuple(extents)
    keys: list[Array] = []
    for a in range(arr.ndim):
        ones = [1] * arr.ndim
        ones[a] = shape[a]
        steps = reshape(arange(shape[a], device=arr.device), tuple(ones))
        keys.append(broadcast_to(cast(indices, int64) if a == axis else steps, shape))
    setitem(arr, tuple(keys), values)
