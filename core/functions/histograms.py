"""Counting values by intervals: histogram, histogram_bin_edges, digitize."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from phalanx._warm import Array, DType, cast, default_float, empty, launch
from phalanx.arrays.checks import as_operand, need_array, need_int, need_one_device
from phalanx.arrays.data_types import astype, int64, result_type
from phalanx.arrays.data_types import bool as bool_
from phalanx.namespace.conversion import asarray
from phalanx.namespace.creation import arange, full
from phalanx.namespace.elementwise import equal, where
from phalanx.namespace.manipulation import concat, reshape
from phalanx.namespace.reductions import max as largest
from phalanx.namespace.reductions import min as smallest
from phalanx.namespace.reductions import sum
from phalanx.namespace.running import diff
from phalanx.namespace.searching import searchsorted
from phalanx.namespace.sorting import sort

from .segments import summed

Bins = int | str | Sequence[float] | Array
_Range = tuple[float, float] | None


def _real(a: Array, op: str) -> Array:
    """The elements as floats, flat."""
    need_array(a, op)
    if a.dtype.kind == "c":
        raise TypeError(f"{op} is not defined for {a.dtype}; use phalanx.abs or phalanx.real")
    kind = a.dtype if a.dtype.kind == "f" else default_float(a.device)
    return reshape(astype(a, kind, copy=False), (a.size,))


def _ascending(values: Sequence[float], op: str) -> None:
    """Refuse edges on the host that do not ascend."""
    falls = [i for i in builtins.range(1, len(values)) if not values[i - 1] <= values[i]]
    if falls:
        i = falls[0]
        raise ValueError(f"{op}: edges ascend, got {values[i - 1]} before {values[i]} at place {i}")


def _numbers(values: Any, what: str) -> list[float]:
    """A sequence of numbers on the host; raises ``TypeError`` for another value."""
    items = values.tolist() if hasattr(values, "tolist") else values
    if not isinstance(items, list | tuple):
        raise TypeError(f"{what}, got {type(values).__name__}")
    found = [as_operand(v) for v in items]
    odd = [v for v in found if not isinstance(v, int | float)]
    if odd:
        raise TypeError(f"{what}, got {type(odd[0]).__name__} among them")
    return found


def _edges(a: Array, bins: Bins, limits: _Range, op: str) -> Array:
    """The edges for flat floats, in their dtype; nothing waits for the device."""
    if isinstance(bins, str):
        raise TypeError(
            f"{op}: bins are a number or edges; for the rule {bins!r} write "
            f"numpy.histogram_bin_edges(phalanx.asnumpy(a), {bins!r})"
        )
    if isinstance(bins, Array):
        need_one_device(op, a, bins)
        return _given(bins, a, op)
    if isinstance(bins, list | tuple) or getattr(bins, "ndim", False):
        numbers = _numbers(bins, f"{op}: bins are a number of intervals or a sequence of edges")
        _ascending(numbers, op)
        return _given(asarray(numbers, dtype=a.dtype, device=a.device), a, op)
    count = need_int(bins, f"{op}: bins")
    if count < 1:
        raise ValueError(f"{op}: bins are at least 1, got {count}")
    low, high = _ends(a, limits, op)
    steps = astype(arange(count, device=a.device), a.dtype, copy=False)
    edges = steps * ((high - low) / count) + low
    return concat([edges, reshape(high, (1,))])


def _given(edges: Array, a: Array, op: str) -> Array:
    if edges.ndim != 1 or edges.size < 1 or edges.dtype.kind == "c":
        raise ValueError(
            f"{op}: edges are a 1-d array of real numbers, got {edges.dtype} of shape {edges.shape}"
        )
    return astype(edges, result_type(edges.dtype, a.dtype), copy=False)


def _ends(a: Array, limits: _Range, op: str) -> tuple[Array, Array]:
    """The first and the last edge: of the range, else the extremes of the elements."""
    if limits is not None:
        low, high = _numbers(limits, f"{op}: range is two numbers")
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"{op}: range is finite, got ({low}, {high})")
        if low > high:
            raise ValueError(f"{op}: range is (low, high), got ({low}, {high})")
        if low == high:
            low, high = low - 0.5, high + 0.5
        return _number(low, a), _number(high, a)
    if not a.size:
        return _number(0.0, a), _number(1.0, a)
    first, last = smallest(a), largest(a)
    flat = equal(first, last)
    return where(flat, first - 0.5, first), where(flat, last + 0.5, last)


def _number(value: float, a: Array) -> Array:
    return full((), float(value), dtype=a.dtype, device=a.device)


def histogram_bin_edges(
    a: Array, bins: Bins = 10, range: _Range = None, weights: Array | None = None
) -> Array:
    """Return the edges that ``histogram`` counts between, in the dtype of the elements.

    Args:
        a: elements of any shape; integers count as the default float.
        bins: how many intervals of one width, or ascending edges.
        range: the first and the last edge; without it the smallest and the largest element, half
            a unit apart from it where they are the same.
        weights: not looked at; NumPy's function takes them.

    Raises:
        TypeError: complex numbers, or the name of a rule, which only NumPy's function knows.
        ValueError: no interval, a range that is not finite or that descends, edges that descend.

    Examples:
        >>> print(px.histogram_bin_edges(px.asarray([1.0, 2.0, 5.0]), bins=4))
        [1. 2. 3. 4. 5.]
    """
    del weights
    flat = _real(a, "histogram_bin_edges")
    return _edges(flat, bins, range, "histogram_bin_edges")


def histogram(
    a: Array,
    bins: Bins = 10,
    range: _Range = None,
    density: bool | None = None,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """Return how many elements lie in each interval, and the edges of the intervals.

    An interval holds its left edge, the last one its right edge too; NaN and what lies outside
    count for nothing. Counts are int64. With weights their sums are returned, in their dtype and
    in the order of ``segment_sum``. The host does not wait: without a ``range``, elements that are
    not finite give edges that are not, and no counts.

    Args:
        a: elements of any shape; integers count as the default float.
        bins: how many intervals of one width, or ascending edges. Edges in an array of Phalanx's
            are not looked at.
        range: the first and the last edge; without it the smallest and the largest element.
        density: divide by the width of the intervals and the number of all that were counted.
        weights: one for each element.

    Raises:
        TypeError: complex numbers, or the name of a rule, which only NumPy's function knows.
        ValueError: no interval, a range that is not finite or that descends, edges that descend,
            weights of another shape.

    Examples:
        >>> counts, edges = px.histogram(px.asarray([1.0, 2.0, 2.5, 5.0]), bins=4)
        >>> print(counts, edges)
        [1 2 0 1] [1. 2. 3. 4. 5.]
    """
    flat = _real(a, "histogram")
    edges = _edges(flat, bins, range, "histogram")
    flat = astype(flat, edges.dtype, copy=False)
    count = edges.size - 1
    if weights is None:
        result: Array = empty((count,), int64, flat.device)
        launch("histogram", (flat, edges), (result,))
    else:
        result = _weighted(a, flat, weights, edges)
    if density:
        heights = astype(result, edges.dtype, copy=False)
        return heights / diff(edges) / sum(heights), edges
    return result, edges


def _weighted(a: Array, flat: Array, weights: Array, edges: Array) -> Array:
    need_array(weights, "histogram: weights")
    need_one_device("histogram", a, weights)
    if weights.shape != a.shape:
        raise ValueError(
            f"histogram: weights of shape {weights.shape} for elements of shape {a.shape}; they "
            "are one for each"
        )
    if weights.dtype is bool_:
        weights = cast(weights, int64)
    count = edges.size - 1
    places = searchsorted(edges, flat, side="right") - 1
    places = where(equal(flat, edges[count]), count - 1, places)
    sums = summed(reshape(weights, (flat.size, 1)), places, count)
    return reshape(sums, (count,))


def digitize(x: Array, bins: Sequence[float] | Array, right: bool = False) -> Array:
    """Return for each element the number of the interval between ``bins`` that it lies in.

    It is i where ``bins[i-1] <= x < bins[i]``, with ``right`` where ``bins[i-1] < x <= bins[i]``;
    0 below all and ``len(bins)`` above; int64 of the shape of ``x``. Descending bins count from the
    other side. NaN lies behind every number.

    Args:
        x: elements of any shape.
        bins: numbers that ascend or descend. Those in an array of Phalanx's are not looked at.
        right: whether an interval holds its right edge instead of its left one.

    Raises:
        TypeError: complex numbers, or bins that are no numbers.
        ValueError: bins that neither ascend nor descend, or have no or several axes.

    Examples:
        >>> x = px.asarray([0.2, 6.4, 3.0])
        >>> print(px.digitize(x, [0.0, 1.0, 3.0]), px.digitize(x, [0.0, 1.0, 3.0], right=True))
        [1 3 3] [1 3 2]
    """
    need_array(x, "digitize")
    if not isinstance(bins, Array):
        numbers = _numbers(bins, "digitize: bins are a sequence of numbers or an array")
        if numbers != sorted(numbers) and numbers != sorted(numbers, reverse=True):
            raise ValueError(f"digitize: bins ascend or descend, got {_shown(numbers)}")
        kind: DType = result_type(x, *numbers) if numbers else x.dtype
        bins = asarray(numbers, dtype=kind, device=x.device)
    if bins.ndim != 1:
        raise ValueError(f"digitize: bins are 1-d, got shape {bins.shape}")
    found = searchsorted(sort(bins), x, side="left" if right else "right")
    if bins.size < 2:
        return found
    return where(bins[0] <= bins[-1], found, bins.size - found)


def _shown(numbers: list[float]) -> str:
    """The first numbers."""
    more = ", ..." if len(numbers) > 6 else ""
    return f"[{', '.join(map(str, numbers[:6]))}{more}]"
