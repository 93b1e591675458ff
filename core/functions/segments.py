"""Sums by target, added in a stated order: segment_sum, scatter_add, bincount."""

from __future__ import annotations

import math
from typing import Any

from phalanx._warm import Array, cast, counted_on_host, default_float, empty, launch
from phalanx._warm import normal_axis as axis_of
from phalanx.arrays.checks import need_array, need_int, need_one_device
from phalanx.arrays.data_types import astype, int64
from phalanx.arrays.promotion import need_kept
from phalanx.namespace.creation import arange, zeros
from phalanx.namespace.elementwise import add
from phalanx.namespace.manipulation import broadcast_to, c_strides, moveaxis, reshape, stack
from phalanx.namespace.reductions import max as largest
from phalanx.namespace.reductions import min as smallest


def need_integers(x: Any, what: str) -> Array:
    """Return an array of integers; raises ``TypeError`` that begins with ``what``."""
    if not isinstance(x, Array):
        raise TypeError(f"{what} are an integer array, got {type(x).__name__}; use phalanx.asarray")
    if x.dtype.kind not in "iu":
        raise TypeError(
            f"{what} are an integer array, got {x.dtype}; convert with "
            "phalanx.astype(x, phalanx.int64)"
        )
    return x


def _rows(x: Array, count: int) -> Array:
    """The array as rows (count, k) that lie without gaps."""
    flat = reshape(x, (count, x.size // count if count else 0))
    if flat.shape[1] > 1 and flat.strides[1] != 1:
        flat = reshape(flat, flat.shape, copy=True)
    return flat


def summed(rows: Array, ids: Array, count: int) -> Array:
    """Return the sums (count, k) of rows (m, k) by int64 targets (m,); others count for nothing."""
    result: Array = empty((count, rows.shape[1]), rows.dtype, rows.device)
    launch("segment_sum", (rows, ids), (result,))
    return result


def counted(ids: Array, count: int) -> Array:
    """Return how often each of so many targets is among ``ids``, int64 of any shape."""
    result: Array = empty((count,), int64, ids.device)
    launch("bincount", (reshape(ids, (ids.size,)),), (result,))
    return result


def segment_sum(data: Array, segment_ids: Array, num_segments: int | None = None) -> Array:
    """Return the sums of the slices ``data[i]`` that have the same number ``segment_ids[i]``.

    Name and arguments are those of JAX. The result has the shape ``(num_segments, ...)`` and the
    dtype of ``data``; integers wrap. Slice t is the sum of the slices with the number t, in their
    order, added from the left in runs of 256, the totals of runs in runs again (docs/ops.md); it
    is 0 if there are none. float16 and bfloat16 are added in float32 and rounded once. Numbers
    outside of [0, num_segments) count for nothing.

    Without ``num_segments`` it is one more than the largest number, for which the host waits.

    Args:
        data: slices (m, ...).
        segment_ids: integers (m,), in any order.
        num_segments: how many sums.

    Raises:
        TypeError: no arrays, booleans, or numbers that are no integers.
        ValueError: another number of slices than of numbers, or a negative ``num_segments``.

    Examples:
        >>> x = px.asarray([[1, 2], [3, 4], [5, 6]])
        >>> print(px.segment_sum(x, px.asarray([2, 0, 2]), 3))
        [[3 4]
         [0 0]
         [6 8]]
    """
    need_array(data, "segment_sum")
    _need_addable(data, "segment_sum")
    ids = need_integers(segment_ids, "segment_sum: segment_ids")
    need_one_device("segment_sum", data, ids)
    if ids.ndim != 1 or data.ndim == 0 or data.shape[0] != ids.shape[0]:
        raise ValueError(
            f"segment_sum takes data (m, ...) and segment_ids (m,), got shapes {data.shape} and "
            f"{ids.shape}"
        )
    if num_segments is None:
        count = int(largest(ids)) + 1 if ids.size else 0
    else:
        count = need_int(num_segments, "segment_sum: num_segments")
        if count < 0:
            raise ValueError(f"segment_sum: num_segments is 0 or more, got {count}")
    result = summed(_rows(data, ids.size), cast(ids, int64), max(count, 0))
    if not ids.size:
        return zeros((max(count, 0), *data.shape[1:]), dtype=data.dtype, device=data.device)
    return reshape(result, (max(count, 0), *data.shape[1:]))


def _need_addable(x: Array, op: str) -> None:
    if x.dtype.kind == "b":
        raise TypeError(f"{op} is not defined for bool; use phalanx.astype(x, phalanx.int64)")


def scatter_add(x: Array, indices: Array, values: Array, /, *, axis: int = 0) -> Array:
    """Return ``x`` with ``values`` added at ``indices`` along an axis.

    With 1-d indices, slice ``values[..., i, ...]`` is added to slice ``indices[i]``: what
    ``x[indices] += values`` would be if equal indices added up. With as many axes of indices as
    ``x`` has, element by element: ``scatter_add`` of PyTorch, and the reverse of
    ``take_along_axis``. Negative indices count from the end.

    The values of one place are added in their order as in ``segment_sum``, then their sum is added
    to ``x``.

    Args:
        x: the array (..., n, ...); unchanged.
        indices: integers (m,), or of the shape of ``values``.
        values: of the shape of ``x`` but for the axis, which has m; they may broadcast.
        axis: along which the indices count.

    Raises:
        IndexError: an index out of range; when the host waits for the device.
        TypeError: no arrays, booleans, no integer indices, or values that ``x`` cannot hold.
        ValueError: shapes that do not fit.

    Examples:
        >>> print(px.scatter_add(px.zeros(3), px.asarray([2, 0, 2]), px.asarray([1.0, 2.0, 4.0])))
        [2. 0. 5.]
    """
    need_array(x, "scatter_add")
    _need_addable(x, "scatter_add")
    need_integers(indices, "scatter_add: indices")
    need_array(values, "scatter_add: values")
    need_one_device("scatter_add", x, indices, values)
    need_kept(values, x.dtype, "scatter_add: values")
    axis = axis_of(axis, x, "scatter_add")
    values = astype(values, x.dtype, copy=False)
    if indices.ndim == 1:
        return _added_slices(x, indices, values, axis)
    if indices.ndim != x.ndim:
        raise ValueError(
            f"scatter_add takes indices of one axis, or of as many as x has, got shapes "
            f"{indices.shape} and {x.shape}"
        )
    return _added_elements(x, indices, values, axis)


def _fitted(values: Array, shape: tuple[int, ...]) -> Array:
    try:
        return broadcast_to(values, shape)
    except ValueError:
        raise ValueError(
            f"scatter_add: values of shape {values.shape} do not broadcast to {shape}, the shape "
            "of what the indices name"
        ) from None


def wrapped(indices: Array, extent: int, stride: int) -> Array:
    """Return ``(i mod extent) * stride`` for indices in [-extent, extent); others are an error."""
    result: Array = empty(indices.shape, int64, indices.device)
    if indices.size:
        launch("wrap_index", (cast(indices, int64),), (result,), (extent, stride))
    return result


def _added_slices(x: Array, indices: Array, values: Array, axis: int) -> Array:
    m, n = indices.size, x.shape[axis]
    values = _fitted(values, (*x.shape[:axis], m, *x.shape[axis + 1 :]))
    if values.size == 0:
        return add(x, 0)
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    sums = summed(_rows(moveaxis(values, axis, 0), m), wrapped(indices, n, 1), n)
    return add(x, moveaxis(reshape(sums, (n, *rest)), 0, axis))


def _added_elements(x: Array, indices: Array, values: Array, axis: int) -> Array:
    outside = [a for a in range(x.ndim) if a != axis and indices.shape[a] > x.shape[a]]
    if outside:
        raise ValueError(
            f"scatter_add: indices of shape {indices.shape} reach beyond x of shape {x.shape} at "
            f"axis {outside[0]}"
        )
    values = _fitted(values, indices.shape)
    if values.size == 0:
        return add(x, 0)
    strides = c_strides(x.shape)
    places = wrapped(indices, x.shape[axis], strides[axis])
    for a in range(x.ndim):
        if a != axis and x.ndim > 1:
            steps = arange(indices.shape[a], device=x.device) * strides[a]
            ones = [1] * x.ndim
            ones[a] = indices.shape[a]
            places = places + reshape(steps, tuple(ones))
    flat = reshape(places, (places.size,))
    sums = summed(_rows(reshape(values, (flat.size,)), flat.size), flat, math.prod(x.shape))
    return add(x, reshape(sums, x.shape))


def bincount(
    x: Array,
    weights: Array | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
) -> Array:
    """Return how often each of 0, 1, ... is in ``x``, or the sums of the weights there.

    The result has one place more than the largest value, at least ``minlength``. The host waits for
    that value; with JAX's ``length`` it does not, and the result has that many places: values
    outside count for nothing. Counts are int64; sums have the dtype of the weights, the default
    float for integers, and the order of ``segment_sum``. (NumPy adds in float64 whatever the
    dtype.)

    Raises:
        TypeError: no integers, or weights that are complex or no array.
        ValueError: a negative value, other than one axis, weights of another shape.

    Examples:
        >>> x = px.asarray([0, 1, 1, 3])
        >>> print(px.bincount(x), px.bincount(x, weights=px.asarray([0.5, 1.0, 2.0, 4.0])))
        [1 2 0 1] [0.5 3.  0.  4. ]
    """
    need_array(x, "bincount")
    x = cast(x, int64) if x.dtype.kind == "b" else need_integers(x, "bincount: values")
    if x.ndim != 1:
        raise ValueError(f"bincount takes a 1-d array, got shape {x.shape}; use phalanx.reshape")
    if need_int(minlength, "bincount: minlength") < 0:
        raise ValueError(f"bincount: minlength is 0 or more, got {minlength}")
    weights = None if weights is None else _weights(x, weights)
    ids = cast(x, int64)
    if weights is None and length is None:
        found: Array | None = counted_on_host(ids, minlength)
        if found is not None:
            return found
    if length is not None:
        count = need_int(length, "bincount: length")
        if count < 0:
            raise ValueError(f"bincount: length is 0 or more, got {count}")
    else:
        count = max(_span(ids), minlength)
    if weights is None:
        return counted(ids, count)
    return reshape(summed(reshape(weights, (ids.size, 1)), ids, count), (count,))


def _span(ids: Array) -> int:
    """One more than the largest; raises for a negative one. Both are read in one wait."""
    if not ids.size:
        return 0
    low, high = stack([smallest(ids), largest(ids)]).tolist()
    if low < 0:
        raise ValueError(f"bincount: values are 0 or more, got {low}")
    return int(high) + 1


def _weights(x: Array, weights: Any) -> Array:
    need_array(weights, "bincount: weights")
    need_one_device("bincount", x, weights)
    if weights.shape != x.shape:
        raise ValueError(
            f"bincount: weights of shape {weights.shape} for values of shape {x.shape}; they are "
            "one for each"
        )
    if weights.dtype.kind == "c":
        raise TypeError(
            "bincount: weights are real; use phalanx.real(weights) and phalanx.imag(weights)"
        )
    kind = weights.dtype if weights.dtype.kind == "f" else default_float(x.device)
    return astype(weights, kind, copy=False)
