"""Order statistics: median, quantile, percentile, and their forms that leave NaN out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from phalanx._warm import Array, DType, default_float, normal_axis
from phalanx.arrays.checks import as_operand, need_array, need_one_device
from phalanx.arrays.data_types import astype, float32, float64, int64
from phalanx.driver import Feature
from phalanx.namespace.conversion import asarray
from phalanx.namespace.creation import full, ones_like, zeros_like
from phalanx.namespace.elementwise import (
    equal,
    floor,
    greater_equal,
    isinf,
    isnan,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    remainder,
    where,
)
from phalanx.namespace.manipulation import moveaxis, permute_dims, reshape
from phalanx.namespace.reductions import count_nonzero
from phalanx.namespace.sorting import sort
from phalanx.namespace.taking import take, take_along_axis

Axis = int | tuple[int, ...] | None
#: Hyndman and Fan, Sample quantiles in statistical packages, The American Statistician 50 (1996):
#: the virtual place of a continuous method is q * n + a + q * (1 - a - b) - 1.
_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
_STEPPED = ("lower", "higher", "midpoint", "nearest")
_METHODS = (*_CONTINUOUS, *_STEPPED, "inverted_cdf", "averaged_inverted_cdf", "closest_observation")


def median(a: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the median over axes (default: all): the middle element, or the mean of the two.

    The result has the dtype of a floating array; integers are converted to the default float. NaN
    propagates; the median of no elements is NaN.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, booleans, or complex numbers, which have no order.
        ValueError: an axis named twice.

    Examples:
        >>> print(px.median(px.asarray([[3, 1, 2], [9, 7, 8]]), axis=1), px.median(px.arange(4)))
        [2. 8.] 1.5
    """
    rows, kept = _rows(a, axis, keepdims, "median")
    n = rows.shape[-1]
    if n == 0:
        return reshape(_nans(rows.shape[:-1], rows), kept)
    ordered = sort(rows)
    high = ordered[..., n // 2]
    middle = high if n % 2 else _middle(ordered[..., n // 2 - 1], high)
    last = ordered[..., n - 1]
    return reshape(where(isnan(last), last, middle), kept)


def quantile(
    a: Array,
    q: Any,
    axis: Axis = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Return quantiles over axes (default: all): below one of q lies that share of the elements.

    Args:
        a: real numbers of any shape; integers count as the default float.
        q: shares from 0 to 1: a number, or numbers of any shape, whose axes come first in the
            result. Those in an array of Phalanx's are not looked at.
        axis: the axes whose elements are ordered.
        method: what lies between two elements: NumPy's names, those of Hyndman and Fan 1996.
        keepdims: whether the axes stay, with the extent 1.

    NaN propagates; quantiles of no elements are NaN. Between a number and an infinity lies the
    infinity, between the two infinities NaN.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, booleans, complex numbers, or q that is not made of numbers.
        ValueError: q outside of [0, 1], an unknown method, an axis named twice.

    Examples:
        >>> x = px.asarray([1.0, 2.0, 4.0, 8.0])
        >>> print(px.quantile(x, [0.25, 0.5]), px.quantile(x, 0.5, method="lower"))
        [1.75 3.  ] 2.0
    """
    return _quantiles(a, _shares(a, q, 1, "quantile"), axis, method, keepdims, "quantile")


def percentile(
    a: Array,
    q: Any,
    axis: Axis = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Return percentiles: ``quantile`` with shares from 0 to 100.

    Arguments and errors are those of ``quantile``.

    Examples:
        >>> print(px.percentile(px.asarray([1.0, 2.0, 4.0, 8.0]), [25, 50]))
        [1.75 3.  ]
    """
    return _quantiles(a, _shares(a, q, 100, "percentile"), axis, method, keepdims, "percentile")


def nanmedian(a: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the median over axes (default: all) of the elements that are not NaN.

    It is NaN where there are none. Dtypes and errors are those of ``median``.

    Examples:
        >>> print(px.nanmedian(px.asarray([3.0, px.nan, 1.0])))
        2.0
    """
    rows, kept = _rows(a, axis, keepdims, "nanmedian")
    if not rows.size:
        return _nans(kept, rows)
    ordered = sort(rows)
    size = count_nonzero(logical_not(isnan(rows)), axis=-1, keepdims=True)
    low, high = (
        take_along_axis(ordered, maximum(place, 0), axis=-1)
        for place in ((size - 1) // 2, size // 2)
    )
    return reshape(_middle(low, high), kept)


def nanquantile(
    a: Array,
    q: Any,
    axis: Axis = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Return quantiles over axes (default: all) of the elements that are not NaN.

    They are NaN where there are none. Arguments and errors are those of ``quantile``.

    Examples:
        >>> print(px.nanquantile(px.asarray([3.0, px.nan, 1.0]), 0.25))
        1.5
    """
    shares = _shares(a, q, 1, "nanquantile")
    return _quantiles(a, shares, axis, method, keepdims, "nanquantile", skips=True)


def nanpercentile(
    a: Array,
    q: Any,
    axis: Axis = None,
    method: str = "linear",
    keepdims: bool = False,
) -> Array:
    """Return ``nanquantile`` with shares from 0 to 100.

    Examples:
        >>> print(px.nanpercentile(px.asarray([3.0, px.nan, 1.0]), 25))
        1.5
    """
    shares = _shares(a, q, 100, "nanpercentile")
    return _quantiles(a, shares, axis, method, keepdims, "nanpercentile", skips=True)


def _middle(low: Array, high: Array) -> Array:
    """The mean of two elements: of the halves where the sum overflows."""
    total = low + high
    return where(isinf(total), low / 2 + high / 2, total / 2)


def _rows(a: Array, axis: Axis, keepdims: bool, op: str) -> tuple[Array, tuple[int, ...]]:
    """Floats with the chosen axes as one, the last; and the shape of a result."""
    need_array(a, op)
    if a.dtype.kind in "bc":
        use = "phalanx.abs(x)" if a.dtype.kind == "c" else "phalanx.astype(x, phalanx.float64)"
        raise TypeError(f"{op} is not defined for {a.dtype}: it has no order; use {use}")
    kind: DType = default_float(a.device) if a.dtype.kind in "iu" else a.dtype
    a = astype(a, kind, copy=False)
    given = range(a.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [normal_axis(x, a, op) for x in given]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{op}: axis {axis} names an axis twice")
    rest = [i for i in range(a.ndim) if i not in axes]
    whole = tuple(1 if i in axes else e for i, e in enumerate(a.shape))
    kept = whole if keepdims else tuple(a.shape[i] for i in rest)
    count = math.prod(a.shape[i] for i in axes)
    order = (*rest, *sorted(axes))
    moved = a if order == tuple(range(a.ndim)) else permute_dims(a, order)
    return reshape(moved, (*(a.shape[i] for i in rest), count)), kept


def _nans(shape: tuple[int, ...], like: Array) -> Array:
    return full(shape, math.nan, dtype=like.dtype, device=like.device)


def _shares(a: Array, q: Any, whole: int, op: str) -> Array:
    """Shares of 1 on the device, in its widest float; those from the host are checked."""
    need_array(a, op)
    wide = float64 if a.device.info.features & Feature.FP64 else float32
    if isinstance(q, Array):
        if q.dtype.kind not in "iuf":
            raise TypeError(f"{op}: q is made of real numbers, got {q.dtype}")
        need_one_device(op, a, q)
        return astype(q, wide, copy=False) / whole
    try:
        made = asarray(as_operand(q), dtype=wide, device=a.device)
    except TypeError:
        raise TypeError(f"{op}: q is made of real numbers, got {q!r}") from None
    for value in _flat(q):
        if not 0 <= value <= whole:
            raise ValueError(f"{op}: q is from 0 to {whole}, got {value}")
    return made / whole if whole != 1 else made


def _flat(q: Any) -> Iterator[float]:
    """The numbers of nested sequences."""
    items = q.tolist() if hasattr(q, "tolist") else q
    if not isinstance(items, list | tuple):
        yield items
        return
    for item in items:
        yield from _flat(item)


def _quantiles(
    a: Array,
    shares: Array,
    axis: Axis,
    method: str,
    keepdims: bool,
    op: str,
    *,
    skips: bool = False,
) -> Array:
    """Quantiles, their axes first; ``skips`` leaves NaN out of each row."""
    if method not in _METHODS:
        raise ValueError(f"{op}: method is one of {', '.join(map(repr, _METHODS))}, got {method!r}")
    rows, kept = _rows(a, axis, keepdims, op)
    n, count = rows.shape[-1], shares.size
    shape = (*shares.shape, *kept)
    if n == 0 or math.prod(shape) == 0:
        return _nans(shape, rows)
    ordered = sort(rows)
    q = reshape(shares, (count,))
    size: int | Array = n
    if skips:
        size = astype(count_nonzero(logical_not(isnan(rows)), axis=-1, keepdims=True), q.dtype)
    low, high, weight = _places(q, size, method)
    if skips:
        below, above = (take_along_axis(ordered, place, axis=-1) for place in (low, high))
    else:
        below, above = (take(ordered, place, axis=-1) for place in (low, high))
    found = _between(below, above, astype(weight, rows.dtype, copy=False))
    if not skips:
        last = ordered[..., n - 1 :]
        found = where(isnan(last), last, found)
    return reshape(moveaxis(found, -1, 0), shape)


def _places(q: Array, n: int | Array, method: str) -> tuple[Array, Array, Array]:
    """The places of the elements below and above each quantile, and the weight of the latter."""
    if method in _STEPPED or method == "linear":
        virtual = q * (n - 1)
    elif method in _CONTINUOUS:
        a, b = _CONTINUOUS[method]
        virtual = q * n + (q * (1 - a - b) + a) - 1
    else:
        virtual = q * n - (1.5 if method == "closest_observation" else 1)
    first = floor(virtual)
    weight = _weight(virtual - first, first, method)
    least = astype(first, int64)
    last = astype(n, int64) - 1 if isinstance(n, Array) else n - 1
    low, high = (maximum(minimum(place, last), 0) for place in (least, least + 1))
    return low, high, weight


def _weight(part: Array, first: Array, method: str) -> Array:
    """The weight of the element above: for methods with steps not the fractional part."""
    exact = equal(part, 0)
    one, zero = ones_like(part), zeros_like(part)
    even = equal(remainder(first, 2), 0)
    weights: dict[str, Callable[[], Array]] = {
        "lower": lambda: zero,
        "higher": lambda: where(exact, zero, one),
        "inverted_cdf": lambda: where(exact, zero, one),
        "midpoint": lambda: where(exact, zero, one * 0.5),
        "averaged_inverted_cdf": lambda: where(exact, one * 0.5, one),
        "nearest": lambda: where(
            logical_or(part < 0.5, logical_and(equal(part, 0.5), even)), zero, one
        ),
        "closest_observation": lambda: where(logical_and(exact, logical_not(even)), zero, one),
    }
    return weights.get(method, lambda: part)()


def _between(low: Array, high: Array, weight: Array) -> Array:
    """Between two elements, from the nearer one: so that it never leaves them."""
    step = high - low
    near = where(greater_equal(weight, 0.5), high - step * (1 - weight), low + step * weight)
    found = where(isinf(step), low * (1 - weight) + high * weight, near)
    found = where(equal(weight, 1), high, found)
    return where(logical_or(equal(low, high), equal(weight, 0)), low, found)
