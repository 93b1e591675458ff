"""Sorting along an axis."""

from __future__ import annotations

from phalanx._warm import Array, sorted_along


def sort(x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements in order along an axis, in the dtype of ``x``; exact.

    NaN counts as the largest, and -0.0 stands before 0.0. The order is always stable.

    Raises:
        IndexError: an axis that is not there.
        TypeError: complex numbers, which have no order.
        ValueError: a 0-d array.

    Examples:
        >>> print(px.sort(px.asarray([2.0, px.nan, 1.0])))
        [ 1.  2. nan]
    """
    del stable  # a stable order is a legal unstable one
    return sorted_along(x, axis, descending, False)


def argsort(x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Return the places that sort an axis, as int64; order and errors are those of ``sort``.

    ``take_along_axis(x, argsort(x, axis=axis), axis=axis)`` is ``sort(x, axis=axis)``.

    Examples:
        >>> print(px.argsort(px.asarray([20, 10, 20]), descending=True))  # stable
        [0 2 1]
    """
    del stable
    return sorted_along(x, axis, descending, True)
