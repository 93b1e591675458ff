"""Running sums and products, and the differences that undo them."""

from __future__ import annotations

import builtins

from phalanx._warm import Array, DType, along_axis, empty, launch, normal_axis
from phalanx._warm import view as make_view
from phalanx.arrays.checks import need_array, need_int
from phalanx.arrays.data_types import as_dtype, astype, int64, uint64
from phalanx.arrays.transfer import contiguous

from .creation import full
from .elementwise import not_equal, subtract
from .manipulation import concat, moveaxis

_bool = builtins.bool


def running_axis(x: Array, axis: int | None, op: str) -> int:
    """Return the axis that a running form goes along, which only one axis need not name.

    Raises:
        IndexError: an axis that is not there.
        ValueError: a 0-d array, or no ``axis`` for several.
    """
    if x.ndim == 0:
        raise ValueError(f"{op} needs at least one axis, got a 0-d array")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{op} needs an axis for shape {x.shape}; write axis=0, for example")
        axis = 0
    found: int = normal_axis(axis, x, op)
    return found


def _cumulative(
    x: Array, axis: int | None, dtype: DType | None, include_initial: _bool, op: str
) -> Array:
    need_array(x, op)
    axis = running_axis(x, axis, op)
    if dtype is None and not include_initial and x.dtype.kind in "fc":
        return along_axis(op, x, axis, x.dtype)
    target = as_dtype(dtype) or {"i": int64, "u": uint64, "b": int64}.get(x.dtype.kind, x.dtype)
    x = astype(x, target, copy=False)
    if not include_initial:
        return along_axis(op, x, axis, target)
    n = x.shape[axis]
    shape = (*x.shape[:axis], n + 1, *x.shape[axis + 1 :])
    result = full(shape, 0 if op == "cumulative_sum" else 1, dtype=target, device=x.device)
    rest = make_view(result, x.shape, result.strides, result.strides[axis])
    if x.size:
        launch(op, (moveaxis(x, axis, -1),), (moveaxis(rest, axis, -1),))
    return result


def cumulative_sum(
    x: Array,
    /,
    axis: int | None = None,
    *,
    dtype: DType | None = None,
    include_initial: _bool = False,
) -> Array:
    """Return the running sum along an axis, added in the blocks that docs/ops.md states.

    ``axis`` may be left out for one axis only. The dtype of the result is that of ``sum``. With
    ``include_initial`` a 0 comes first, and the axis is one longer.
    The rounding error grows with the logarithm of the number of elements (Higham 2002, 4.2).

    Raises:
        IndexError: an axis that is not there.
        ValueError: a 0-d array, or no ``axis`` for several.

    Examples:
        >>> print(px.cumulative_sum(px.asarray([1, 2, 3]), include_initial=True))
        [0 1 3 6]
    """
    return _cumulative(x, axis, dtype, include_initial, "cumulative_sum")


def cumulative_prod(
    x: Array,
    /,
    axis: int | None = None,
    *,
    dtype: DType | None = None,
    include_initial: _bool = False,
) -> Array:
    """Return the running product along an axis, multiplied in the blocks of ``cumulative_sum``.

    Dtypes and errors are those of ``cumulative_sum``. With ``include_initial`` a 1 comes first.

    Examples:
        >>> print(px.cumulative_prod(px.asarray([[1, 2], [3, 4]]), axis=0))
        [[1 2]
         [3 8]]
    """
    return _cumulative(x, axis, dtype, include_initial, "cumulative_prod")


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the n-th difference of neighbours along an axis, which gets ``n`` shorter.

    ``prepend`` and ``append`` are joined to ``x`` along the axis first. The result has the dtype of
    ``x``; of booleans it is whether neighbours differ.

    Raises:
        ValueError: a negative ``n``.

    Examples:
        >>> x = px.asarray([1, 4, 9, 16])
        >>> print(px.diff(x, n=2), px.diff(x, prepend=px.asarray([0])))
        [2 2] [1 3 5 7]
    """
    need_array(x, "diff")
    if need_int(n, "diff: n") < 0:
        raise ValueError(f"diff takes n >= 0, got {n}")
    axis = normal_axis(axis, x, "diff")
    parts = [p for p in (prepend, x, append) if p is not None]
    for part, name in ((prepend, "prepend"), (append, "append")):
        if part is not None:
            need_array(part, f"diff: {name}")
    if len(parts) > 1:
        x = concat(parts, axis=axis)
    for _ in range(n):
        extent = builtins.max(x.shape[axis] - 1, 0)
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
        if extent == 0:
            return empty(shape, x.dtype, x.device)
        behind = make_view(x, shape, x.strides)
        ahead = make_view(x, shape, x.strides, x.strides[axis])
        x = not_equal(ahead, behind) if x.dtype.kind == "b" else subtract(ahead, behind)
    return x if n else contiguous(x)
