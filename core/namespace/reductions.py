"""Statistical and logical reductions, and softmax."""

from __future__ import annotations

import builtins

from phalanx._warm import (
    Array,
    DType,
    along_axis,
    cast,
    counted,
    default_float,
    normal_axis,
    reduce,
)
from phalanx.arrays.checks import need_array, need_real
from phalanx.arrays.data_types import as_dtype, astype, float32, int64, uint64
from phalanx.arrays.data_types import bool as bool_

from .elementwise import sqrt

Axis = int | tuple[int, ...] | None
_bool = builtins.bool


def _need_elements(x: Array, axis: Axis, op: str) -> None:
    """Refuse a reduction without identity over no elements."""
    if x.size:
        return
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    for a in axes:
        if x.shape[normal_axis(a, x, op)] == 0:
            raise ValueError(
                f"{op} of shape {x.shape} over axis {a}: no elements, and no identity to give "
                "instead"
            )


def _accumulate(x: Array, axis: Axis, dtype: DType | None, keepdims: _bool, op: str) -> Array:
    """Sum or product: in the dtype asked for, else in the standard's default."""
    need_array(x, op)
    target = as_dtype(dtype)
    # Integers need no conversion to other integers before: both wrap, so the sum is the same.
    if target is not None and (x.dtype.kind not in "biu" or target.kind not in "iu"):
        x = astype(x, target, copy=False)
    if x.dtype is bool_:
        x = cast(x, int64)
    natural = {"i": int64, "u": uint64}.get(x.dtype.kind, x.dtype)
    result: Array = reduce(op, x, axis, keepdims, natural)
    return result if target is None or target is natural else cast(result, target)


def sum(
    x: Array, /, axis: Axis = None, *, dtype: DType | None = None, keepdims: _bool = False
) -> Array:
    """Return the sum over axes (default: all), added in a tree that is the same on every device.

    The result has the dtype of a floating or complex ``x``; booleans and signed integers give
    int64 and unsigned ones uint64, which wrap. ``dtype`` converts the elements first. The sum of no
    elements is 0.
    The rounding error grows with the logarithm of the number of elements (Higham 2002, 4.2).

    Raises:
        IndexError: an axis that is not there.
        ValueError: an axis named twice.
        TypeError: no array, or a real ``dtype`` for a complex one.

    Examples:
        >>> x = px.asarray([[100, 200], [150, 250]], dtype=px.uint8)
        >>> print(px.sum(x), px.sum(x, axis=1, keepdims=True).shape, px.sum(x, dtype=px.uint8))
        700 (2, 1) 188
    """
    if dtype is None and type(x) is Array and x.dtype.kind in "fc":
        result: Array = reduce("sum", x, axis, keepdims, x.dtype)
        return result
    return _accumulate(x, axis, dtype, keepdims, "sum")


def prod(
    x: Array, /, axis: Axis = None, *, dtype: DType | None = None, keepdims: _bool = False
) -> Array:
    """Return the product over axes (default: all), multiplied in the tree of ``sum``.

    The dtype of the result is that of ``sum``. The product of no elements is 1.

    Raises:
        IndexError: an axis that is not there.
        ValueError: an axis named twice.
        TypeError: no array, or a real ``dtype`` for a complex one.

    Examples:
        >>> print(px.prod(px.asarray([[1, 2], [30, 40]], dtype=px.int8), axis=1))  # as int64
        [   2 1200]
    """
    if dtype is None and type(x) is Array and x.dtype.kind in "fc":
        result: Array = reduce("prod", x, axis, keepdims, x.dtype)
        return result
    return _accumulate(x, axis, dtype, keepdims, "prod")


def floating(x: Array, op: str, dtype: DType | None = None) -> Array:
    """The array in a floating or complex dtype, without one itself; integers in the default float.

    Raises:
        TypeError: no array, booleans, or a dtype that does not hold the result.
    """
    need_array(x, op)
    if x.dtype.kind == "b":
        raise TypeError(f"{op} is not defined for bool; use phalanx.astype(x, phalanx.float64)")
    if dtype is None:
        return cast(x, default_float(x.device)) if x.dtype.kind in "iu" else x
    target: DType = as_dtype(dtype) or x.dtype
    if target.kind not in "fc" or (target.kind == "f" and x.dtype.kind == "c"):
        raise TypeError(
            f"{op}: the result for {x.dtype.name} does not go into dtype={target.name}; ask for a "
            f"{'complex' if x.dtype.kind == 'c' else 'floating'} one, and convert the result"
        )
    return cast(x, target)


def mean(
    x: Array, /, axis: Axis = None, *, dtype: DType | None = None, keepdims: _bool = False
) -> Array:
    """Return the arithmetic mean over axes (default: all), summed in the tree of ``sum``.

    The result has the dtype of a floating or complex ``x``; integers are converted to the default
    float. The elements are converted to ``dtype``, floating or complex, before, which the result
    has then. The mean of no elements is NaN.
    The rounding error grows with the logarithm of the number of elements (Higham 2002, 4.2).

    Raises:
        IndexError: an axis that is not there.
        ValueError: an axis named twice.
        TypeError: no array, booleans, or a ``dtype`` of integers.

    Examples:
        >>> print(px.mean(px.asarray([[1, 2], [3, 5]]), axis=0))
        [2.  3.5]
    """
    x = floating(x, "mean", dtype)
    result: Array = reduce("mean", x, axis, keepdims, x.dtype)
    return result


def one_correction(correction: int | float, ddof: int | float | None, op: str) -> int | float:
    """What is taken off the number of elements, by the standard's name or by NumPy's."""
    if ddof is None:
        need_real(correction, f"{op}: correction")
        return correction
    if correction != 0.0:
        raise TypeError(f"{op} takes correction or ddof, not both: they are the same")
    need_real(ddof, f"{op}: ddof")
    return ddof


def var(
    x: Array,
    /,
    axis: Axis = None,
    *,
    correction: int | float = 0.0,
    ddof: int | float | None = None,
    dtype: DType | None = None,
    keepdims: _bool = False,
) -> Array:
    """Return the variance over axes (default: all): squared deviations over n - ``correction``.

    ``ddof`` is NumPy's word for ``correction``. It takes two passes, the mean first. The result has
    the dtype of a floating ``x``, of which float16 and bfloat16 are computed in float32; integers
    are converted to the default float. The elements are converted to ``dtype``, a floating one,
    before, which the result has then. Where n is not greater than ``correction`` it is NaN or
    infinite.

    Raises:
        IndexError: an axis that is not there.
        ValueError: an axis named twice.
        TypeError: no array, one of booleans or complex numbers, a ``dtype`` of such, or both
            ``correction`` and ``ddof``.

    Examples:
        >>> x = px.asarray([1.0, 2.0, 3.0, 6.0])
        >>> float(px.var(x)), float(px.var(x[:3], correction=1))  # the latter over n - 1
        (3.5, 1.0)
    """
    x = floating(x, "var", dtype)
    if x.dtype.kind == "c":
        raise TypeError(
            f"var is not defined for {x.dtype}; use phalanx.real(x) and phalanx.imag(x)"
        )
    correction = one_correction(correction, ddof, "var")
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    n = 1
    for a in axes:
        n *= x.shape[normal_axis(a, x, "var")]
    wide = cast(x, float32) if x.dtype.itemsize == 2 else x
    total = reduce("sum_squared_deviations", wide, axis, keepdims, wide.dtype)
    # Without enough elements the result is NaN or infinite, as IEEE division has it.
    divisor = builtins.max(n - correction, 0.0)
    result = total / float(divisor)
    return cast(result, x.dtype)


def std(
    x: Array,
    /,
    axis: Axis = None,
    *,
    correction: int | float = 0.0,
    ddof: int | float | None = None,
    dtype: DType | None = None,
    keepdims: _bool = False,
) -> Array:
    """Return the standard deviation over axes (default: all), the square root of ``var``.

    Dtypes and errors are those of ``var``; the root of a float16 or bfloat16 is rounded once.

    Examples:
        >>> float(px.std(px.asarray([2, 4, 4, 4, 5, 5, 7, 9])))
        2.0
    """
    shift = one_correction(correction, ddof, "std")
    x = floating(x, "std", dtype)
    wide = cast(x, float32) if x.dtype.itemsize == 2 else x
    return cast(sqrt(var(wide, axis=axis, correction=shift, keepdims=keepdims)), x.dtype)


def _need_order(x: Array, op: str, otherwise: str) -> None:
    if x.dtype.kind not in "iuf":
        use = otherwise if x.dtype.kind == "b" else "phalanx.abs(x) or phalanx.real(x)"
        raise TypeError(f"{op} is not defined for {x.dtype.name}: it has no order; use {use}")


def _extreme(x: Array, axis: Axis, keepdims: _bool, op: str) -> Array:
    if type(x) is not Array or not x.size or x.dtype.kind not in "iuf" or isinstance(axis, Array):
        _need_extreme(x, axis, op)
    result: Array = reduce(op, x, axis, keepdims, x.dtype)
    return result


def _need_extreme(x: Array, axis: Axis, op: str) -> None:
    """Refuse what has no extreme."""
    need_array(x, op)
    if isinstance(axis, Array):
        raise TypeError(
            f"{op}: axis takes an int, a tuple of ints or None, got an array; for the {op} of two "
            f"arrays write phalanx.{op}imum(x, y)"
        )
    _need_elements(x, axis, op)
    _need_order(x, op, "phalanx.any(x)" if op == "max" else "phalanx.all(x)")


def max(x: Array, /, axis: Axis = None, *, keepdims: _bool = False) -> Array:
    """Return the largest element over axes (default: all), in the dtype of ``x``; exact.

    NaN propagates, and 0.0 is greater than -0.0.

    Raises:
        IndexError: an axis that is not there.
        TypeError: booleans and complex numbers, which have no order.
        ValueError: no elements, or an axis named twice.

    Examples:
        >>> print(px.max(px.asarray([[1, 5], [7, 3]]), axis=1), px.max(px.asarray([1.0, px.nan])))
        [5 7] nan
    """
    return _extreme(x, axis, keepdims, "max")


def min(x: Array, /, axis: Axis = None, *, keepdims: _bool = False) -> Array:
    """Return the smallest element over axes (default: all), in the dtype of ``x``; exact.

    NaN propagates, and -0.0 is less than 0.0.

    Raises:
        IndexError: an axis that is not there.
        TypeError: booleans and complex numbers, which have no order.
        ValueError: no elements, or an axis named twice.

    Examples:
        >>> print(px.min(px.asarray([[1, 5], [7, 3]]), axis=0, keepdims=True))
        [[1 3]]
    """
    return _extreme(x, axis, keepdims, "min")


def _place(x: Array, axis: int | None, keepdims: _bool, op: str) -> Array:
    need_array(x, op)
    if isinstance(axis, tuple | list):
        raise TypeError(f"{op}: axis takes an int or None, got {axis}")
    _need_elements(x, axis, op)
    _need_order(x, op, "phalanx.astype(x, phalanx.uint8)")
    result: Array = reduce(op, x, axis, keepdims, int64)
    return result


def argmax(x: Array, /, axis: int | None = None, *, keepdims: _bool = False) -> Array:
    """Return the first place of the largest element along an axis, or in the flattened array.

    The result is int64. The first NaN wins; 0.0 and -0.0 are equal.

    Raises:
        IndexError: an axis that is not there.
        TypeError: booleans and complex numbers, or a tuple of axes.
        ValueError: no elements.

    Examples:
        >>> x = px.asarray([[1, 7], [7, 3]])
        >>> int(px.argmax(x)), px.argmax(x, axis=1).tolist()
        (1, [1, 0])
    """
    return _place(x, axis, keepdims, "argmax")


def argmin(x: Array, /, axis: int | None = None, *, keepdims: _bool = False) -> Array:
    """Return the first place of the smallest element along an axis, or in the flattened array.

    The result is int64. The first NaN wins; 0.0 and -0.0 are equal.

    Raises:
        IndexError: an axis that is not there.
        TypeError: booleans and complex numbers, or a tuple of axes.
        ValueError: no elements.

    Examples:
        >>> print(px.argmin(px.asarray([[4, 1], [1, px.nan]]), axis=1))  # the NaN is first
        [1 1]
    """
    return _place(x, axis, keepdims, "argmin")


def any(x: Array, /, axis: Axis = None, *, keepdims: _bool = False) -> Array:
    """Return whether some element over axes (default: all) is not zero, as bool.

    NaN is not zero. Of no elements it is False.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array.
        ValueError: an axis named twice.

    Examples:
        >>> print(px.any(px.asarray([[0, 0], [0, 2]]), axis=1))
        [False  True]
    """
    need_array(x, "any")
    result: Array = reduce("any", x, axis, keepdims, bool_)
    return result


def all(x: Array, /, axis: Axis = None, *, keepdims: _bool = False) -> Array:
    """Return whether no element over axes (default: all) is zero, as bool.

    NaN is not zero. Of no elements it is True.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array.
        ValueError: an axis named twice.

    Examples:
        >>> print(px.all(px.asarray([[1, 0], [px.nan, 2]]), axis=1))
        [False  True]
    """
    need_array(x, "all")
    result: Array = reduce("all", x, axis, keepdims, bool_)
    return result


def count_nonzero(x: Array, /, axis: Axis = None, *, keepdims: _bool = False) -> Array:
    """Return the number of elements over axes (default: all) that are not zero, as int64.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array.
        ValueError: an axis named twice.

    Examples:
        >>> print(px.count_nonzero(px.asarray([[0, 1], [2, 3]]), axis=0))
        [1 2]
    """
    need_array(x, "count_nonzero")
    result: Array = counted(x, axis, keepdims)
    return result


def softmax(x: Array, /, axis: int = -1) -> Array:
    """Return exp(x) over its sum along an axis, shifted by the maximum so that nothing overflows.

    The result has the dtype of a floating ``x``, of which float16 and bfloat16 are computed in
    float32; integers are converted to the default float. The exponential is within 1 ulp in
    float32, and the sum is that of ``sum``.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, one of booleans or complex numbers, a ``dtype`` of such, or both
            ``correction`` and ``ddof``.
        ValueError: a 0-d array.

    Examples:
        >>> print(px.softmax(px.asarray([1000.0, 1000.0, 999.0])))
        [0.4223188 0.4223188 0.1553624]
    """
    x = floating(x, "softmax")
    if x.dtype.kind == "c":
        raise TypeError(f"softmax is not defined for {x.dtype}; use phalanx.abs(x)")
    if x.ndim == 0:
        raise ValueError("softmax needs at least one axis, got a 0-d array")
    return along_axis("softmax", x, normal_axis(axis, x, "softmax"), x.dtype)
