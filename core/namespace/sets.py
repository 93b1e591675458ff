"""Unique values and membership, by sorting."""

from __future__ import annotations

from typing import NamedTuple

from phalanx._warm import Array, cast, empty, launch, launch_elementwise, places_of, view
from phalanx.arrays.checks import as_operand, need_array, need_one_device
from phalanx.arrays.data_types import bool as bool_
from phalanx.arrays.data_types import int64, result_type
from phalanx.arrays.indexing import getitem

from .conversion import asarray
from .creation import full
from .elementwise import equal, imag, logical_not, logical_or, minimum, real
from .manipulation import concat, reshape
from .running import cumulative_sum
from .searching import searchsorted
from .sorting import argsort, sort
from .taking import take


class UniqueAllResult(NamedTuple):
    """Distinct values, the place of each first occurrence, the way back, and the counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    """Distinct values and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    """Distinct values and for each element the place of its value."""

    values: Array
    inverse_indices: Array


def _flat(x: Array, op: str) -> Array:
    need_array(x, op)
    return reshape(x, (x.size,))


def _begins(ordered: Array) -> Array:
    """A mask of the first of each run of equal elements; every NaN is a run of its own."""
    n = ordered.size
    mask = full((n,), True, device=ordered.device)
    if n > 1:
        ahead = view(ordered, (n - 1,), (1,), 1)
        behind = view(ordered, (n - 1,), (1,))
        launch_elementwise("not_equal", (ahead, behind), view(mask, (n - 1,), (1,), 1))
    return mask


def _order(flat: Array) -> Array:
    """Places that sort a flat array, stably; complex numbers by real, then by imaginary part."""
    if flat.dtype.kind != "c":
        return argsort(flat)
    order = argsort(imag(flat))
    return take(order, argsort(take(real(flat), order)))


def unique_values(x: Array, /) -> Array:
    """Return the distinct values in ascending order; each NaN counts as distinct.

    Complex numbers are ordered by real, then by imaginary part.

    Raises:
        TypeError: ``x`` is no array.

    Examples:
        >>> print(px.unique_values(px.asarray([[3.0, px.nan], [1.0, 3.0]])))
        [ 1.  3. nan]
    """
    flat = _flat(x, "unique_values")
    ordered = take(flat, _order(flat)) if x.dtype.kind == "c" else sort(flat)
    return getitem(ordered, _begins(ordered))


def _runs(x: Array, op: str) -> tuple[Array, Array, Array]:
    """Order, first-of-run mask, and places of the firsts of a flattened array."""
    flat = _flat(x, op)
    order = _order(flat)
    ordered = take(flat, order)
    mask = _begins(ordered)
    return order, mask, places_of(mask)


def _counts(firsts: Array, size: int) -> Array:
    """How long each run is, of so many elements in all."""
    ends = concat([firsts, full((1,), size, dtype=int64, device=firsts.device)])
    n = firsts.size
    return view(ends, (n,), (1,), 1) - view(ends, (n,), (1,))


def _inverse(x: Array, order: Array, mask: Array) -> Array:
    """For each element the number of its run, scattered from sorted places to the original ones."""
    result = empty(x.shape, int64, x.device)
    if x.size:
        numbers = cumulative_sum(cast(mask, int64)) - 1
        rows = view(numbers, (x.size,), (1,))
        target = view(reshape(result, (x.size,)), (), ())
        launch("scatter", (rows, order), (target,))
    return result


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the distinct values in ascending order and how often each occurs, as int64.

    Raises:
        TypeError: ``x`` is no array.

    Examples:
        >>> values, counts = px.unique_counts(px.asarray([30, 10, 30]))
        >>> print(values, counts)
        [10 30] [1 2]
    """
    order, _, firsts = _runs(x, "unique_counts")
    values = take(_flat(x, "unique_counts"), take(order, firsts))
    return UniqueCountsResult(values, _counts(firsts, x.size))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the distinct values in ascending order and for each element the place of its value.

    The places are int64, in the shape of ``x``: ``take(values, inverse_indices)`` gives ``x`` back.

    Raises:
        TypeError: ``x`` is no array.

    Examples:
        >>> values, inverse = px.unique_inverse(px.asarray([30, 10, 30]))
        >>> print(inverse, px.take(values, inverse))
        [1 0 1] [30 10 30]
    """
    order, mask, firsts = _runs(x, "unique_inverse")
    values = take(_flat(x, "unique_inverse"), take(order, firsts))
    return UniqueInverseResult(values, _inverse(x, order, mask))


def unique_all(x: Array, /) -> UniqueAllResult:
    """Return values, first occurrences (in the flattened array), the way back, and counts.

    All but the values are int64.

    Raises:
        TypeError: ``x`` is no array.

    Examples:
        >>> print(px.unique_all(px.asarray([30, 10, 30])).indices)
        [1 0]
    """
    order, mask, firsts = _runs(x, "unique_all")
    indices = take(order, firsts)  # the order is stable: the first of a run is the first at all
    values = take(_flat(x, "unique_all"), indices)
    return UniqueAllResult(values, indices, _inverse(x, order, mask), _counts(firsts, x.size))


def isin(x1: Array | int, x2: Array | int, /, *, invert: bool = False) -> Array:
    """Return for each element of ``x1`` whether it is among the elements of ``x2``, as bool.

    Raises:
        TypeError: no array at all, or no common dtype.
        DeviceMismatchError: arrays of two devices.

    Examples:
        >>> print(px.isin(px.asarray([[1, 2], [3, 4]]), px.asarray([2, 3]), invert=True))
        [[ True False]
         [False  True]]
    """
    x1, x2 = as_operand(x1), as_operand(x2)
    known = x1 if isinstance(x1, Array) else x2
    if not isinstance(known, Array):
        raise TypeError("isin needs at least one phalanx array")
    for other in (x1, x2):
        if not isinstance(other, Array | bool | int | float | complex):
            raise TypeError(
                f"isin takes arrays and numbers, got {type(other).__name__}; use phalanx.asarray"
            )
    need_one_device("isin", known, *(x for x in (x1, x2) if isinstance(x, Array)))
    dtype = result_type(x1, x2)
    elements = asarray(x1, dtype=dtype, device=known.device)
    among = _flat(asarray(x2, dtype=dtype, device=known.device), "isin")
    if among.size == 0:
        return full(elements.shape, invert, dtype=bool_, device=known.device)
    if dtype.kind == "c":
        result = _isin_pairwise(elements, among)
        return logical_not(result) if invert else result
    ordered = sort(among)
    places = searchsorted(
        *(cast(a, int64) if dtype.kind == "b" else a for a in (ordered, elements))
    )
    found = take(ordered, reshape(minimum(places, ordered.size - 1), (places.size,)))
    result = equal(reshape(found, elements.shape), elements)
    return logical_not(result) if invert else result


def _isin_pairwise(elements: Array, among: Array) -> Array:
    """Membership of complex numbers, which searchsorted cannot order: one comparison per value."""
    values = unique_values(among)
    result = full(elements.shape, False, device=elements.device)
    for i in range(values.size):
        result = logical_or(result, equal(elements, view(values, (), (), i)))
    return result
