"""Reductions that leave NaN out: nansum, nanmean, nanmax, nanargmax and the like."""

from __future__ import annotations

import math

from phalanx._warm import Array, DType
from phalanx.arrays.checks import need_array
from phalanx.arrays.data_types import astype, float32, uint8
from phalanx.namespace import reductions
from phalanx.namespace.creation import full
from phalanx.namespace.elementwise import isnan, logical_not, sqrt, where

Axis = int | tuple[int, ...] | None


def _filled(a: Array, value: float, op: str) -> Array:
    """The array with a number in place of NaN; integers and booleans have none."""
    need_array(a, op)
    if a.dtype.kind not in "fc":
        return a
    return where(isnan(a), value, a)


def nansum(
    a: Array, axis: Axis = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Array:
    """Return the sum over axes (default: all) of the elements that are not NaN: ``sum`` of them.

    Without any it is 0. Dtypes and errors are those of ``sum``.

    Examples:
        >>> print(px.nansum(px.asarray([1.0, px.nan, 2.0])))
        3.0
    """
    return reductions.sum(_filled(a, 0.0, "nansum"), axis=axis, dtype=dtype, keepdims=keepdims)


def nanprod(
    a: Array, axis: Axis = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Array:
    """Return the product over axes (default: all) of the elements that are not NaN.

    Without any it is 1. Dtypes and errors are those of ``prod``.

    Examples:
        >>> print(px.nanprod(px.asarray([3.0, px.nan, 2.0])))
        6.0
    """
    return reductions.prod(_filled(a, 1.0, "nanprod"), axis=axis, dtype=dtype, keepdims=keepdims)


def nancumsum(a: Array, axis: int | None = None, dtype: DType | None = None) -> Array:
    """Return the running sum along an axis, or of the flattened array, with 0 in place of NaN.

    Examples:
        >>> print(px.nancumsum(px.asarray([1.0, px.nan, 2.0])))
        [1. 1. 3.]
    """
    return _filled(a, 0.0, "nancumsum").cumsum(axis, dtype=dtype)


def nancumprod(a: Array, axis: int | None = None, dtype: DType | None = None) -> Array:
    """Return the running product along an axis, or of the flattened array, with 1 in place of NaN.

    Examples:
        >>> print(px.nancumprod(px.asarray([3.0, px.nan, 2.0])))
        [3. 3. 6.]
    """
    return _filled(a, 1.0, "nancumprod").cumprod(axis, dtype=dtype)


def _extreme(a: Array, axis: Axis, keepdims: bool, op: str) -> Array:
    """``max`` or ``min``; NaN where a row has nothing else."""
    largest = op == "nanmax"
    function = reductions.max if largest else reductions.min
    need_array(a, op)
    if a.dtype.kind != "f":
        return function(a, axis=axis, keepdims=keepdims)
    gone = isnan(a)
    filled = where(gone, -math.inf if largest else math.inf, a)
    result = function(filled, axis, keepdims=keepdims)
    return where(reductions.all(gone, axis=axis, keepdims=keepdims), math.nan, result)


def nanmax(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Return the largest element over axes (default: all) that is not NaN; NaN without any.

    Errors are those of ``max``.

    Examples:
        >>> print(px.nanmax(px.asarray([[1.0, px.nan], [px.nan, px.nan]]), axis=1))
        [ 1. nan]
    """
    return _extreme(a, axis, keepdims, "nanmax")


def nanmin(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Return the smallest element over axes (default: all) that is not NaN; NaN without any.

    Errors are those of ``min``.

    Examples:
        >>> print(px.nanmin(px.asarray([[1.0, px.nan], [px.nan, px.nan]]), axis=1))
        [ 1. nan]
    """
    return _extreme(a, axis, keepdims, "nanmin")


def _place(a: Array, axis: int | None, keepdims: bool, op: str) -> Array:
    largest = op == "nanargmax"
    function = reductions.argmax if largest else reductions.argmin
    need_array(a, op)
    if a.dtype.kind != "f":
        return function(a, axis=axis, keepdims=keepdims)
    there = logical_not(isnan(a))
    found = function(
        _filled(a, -math.inf if largest else math.inf, op), axis=axis, keepdims=keepdims
    )
    # among infinities and NaN, the first place that is not NaN
    first = reductions.argmax(astype(there, uint8), axis=axis, keepdims=keepdims)
    worst = -math.inf if largest else math.inf
    limits = reductions.all(_filled(a, worst, op) == worst, axis=axis, keepdims=keepdims)
    found = where(limits, first, found)
    some = reductions.any(there, axis=axis, keepdims=keepdims)
    return where(some, found, full((), -1, dtype=found.dtype, device=a.device))


def nanargmax(a: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the first place of the largest element along an axis (default: flat) but NaN.

    Where there is nothing but NaN it is -1; NumPy raises, for which the host would have to wait.
    Errors are those of ``argmax``.

    Examples:
        >>> print(px.nanargmax(px.asarray([[px.nan, 2.0, 1.0], [px.nan, px.nan, px.nan]]), axis=1))
        [ 1 -1]
    """
    return _place(a, axis, keepdims, "nanargmax")


def nanargmin(a: Array, axis: int | None = None, *, keepdims: bool = False) -> Array:
    """Return the first place of the smallest element along an axis (default: flat) but NaN.

    Where there is nothing but NaN it is -1; NumPy raises, for which the host would have to wait.
    Errors are those of ``argmin``.

    Examples:
        >>> print(px.nanargmin(px.asarray([[px.nan, 2.0, 1.0], [px.nan, px.nan, px.nan]]), axis=1))
        [ 2 -1]
    """
    return _place(a, axis, keepdims, "nanargmin")


def nanmean(
    a: Array, axis: Axis = None, dtype: DType | None = None, *, keepdims: bool = False
) -> Array:
    """Return the mean over axes (default: all) of the elements that are not NaN: their ``sum``.

    It is NaN where there are none. Dtypes and errors are those of ``mean``.

    Examples:
        >>> print(px.nanmean(px.asarray([[1.0, px.nan], [px.nan, px.nan]]), axis=1))
        [ 1. nan]
    """
    wide, kind = _wide(a, dtype, "nanmean")
    if a.dtype.kind not in "fc":
        found = reductions.mean(wide, axis=axis, keepdims=keepdims)
    else:
        found = _mean(wide, axis, keepdims)
    return astype(found, kind, copy=False)


def _wide(a: Array, dtype: DType | None, op: str) -> tuple[Array, DType]:
    """The array in the dtype to compute in, float32 for the short ones, and the result's dtype."""
    x = reductions.floating(a, op, dtype)
    short = x.dtype.kind == "f" and x.dtype.itemsize == 2
    return astype(x, float32) if short else x, x.dtype


def _counted(a: Array, axis: Axis, keepdims: bool) -> Array:
    """How many elements are not NaN, in the dtype of the array."""
    there = logical_not(isnan(a))
    return astype(reductions.count_nonzero(there, axis=axis, keepdims=keepdims), a.dtype)


def _mean(a: Array, axis: Axis, keepdims: bool) -> Array:
    total = reductions.sum(_filled(a, 0.0, "nanmean"), axis=axis, keepdims=keepdims)
    return total / _counted(a, axis, keepdims)


def nanvar(
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    *,
    correction: float = 0.0,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the variance over axes (default: all) of the elements that are not NaN.

    It is NaN where there are no more than ``correction`` of them, which NumPy calls ``ddof``.
    Dtypes and errors are those of ``var``.

    Examples:
        >>> print(px.nanvar(px.asarray([1.0, px.nan, 3.0])))
        1.0
    """
    shift = reductions.one_correction(correction, ddof, "nanvar")
    wide, kind = _wide(a, dtype, "nanvar")
    if a.dtype.kind != "f" or wide.dtype.kind == "c":  # of which there is no variance
        found = reductions.var(wide, axis=axis, correction=shift, keepdims=keepdims)
        return astype(found, kind, copy=False)
    zero = full((), 0.0, dtype=wide.dtype, device=a.device)
    deviation = where(isnan(wide), zero, wide - _mean(wide, axis, True))
    total = reductions.sum(deviation * deviation, axis=axis, keepdims=keepdims)
    divisor = _counted(wide, axis, keepdims) - shift
    enough = divisor > 0
    nothing = full((), math.nan, dtype=wide.dtype, device=a.device)
    return astype(where(enough, total / divisor, nothing), kind, copy=False)


def nanstd(
    a: Array,
    axis: Axis = None,
    dtype: DType | None = None,
    *,
    correction: float = 0.0,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation over axes (default: all) of the elements that are not NaN.

    It is the square root of ``nanvar``, whose dtypes and errors it has.

    Examples:
        >>> print(px.nanstd(px.asarray([1.0, px.nan, 3.0])))
        1.0
    """
    shift = reductions.one_correction(correction, ddof, "nanstd")
    wide, kind = _wide(a, dtype, "nanstd")
    if wide.dtype is not kind:
        a, dtype = wide, None
    root = sqrt(nanvar(a, axis, dtype, correction=shift, keepdims=keepdims))
    return astype(root, kind, copy=False)
