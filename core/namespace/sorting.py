"""Sorting along an axis."""

from __future__ import annotations

from phalanx._warm import Array, along_axis, normal_axis
from phalanx._warm import copy as copy_array
from phalanx.arrays.checks import need_array
from phalanx.arrays.data_types import int64


def _checked(x: Array, axis: int, op: str) -> int:
    need_array(x, op)
    if x.dtype.kind == "c":
        raise TypeError(
            f"{op} is not defined for {x.dtype}: complex numbers have no order; use phalanx.abs(x) "
            "or phalanx.real(x)"
        )
    if x.ndim == 0:
        raise ValueError(f"{op} needs at least one axis, got a 0-d array")
    place: int = normal_axis(axis, x, op)
    return place


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
    axis = _checked(x, axis, "sort")
    if x.shape[axis] < 2:
        return copy_array(x)
    return along_axis("sort", x, axis, x.dtype, (int(descending),))


def argsort(x: Array, /, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Array:
    """Return the places that sort an axis, as int64; order and errors are those of ``sort``.

    ``take_along_axis(x, argsort(x, axis=axis), axis=axis)`` is ``sort(x, axis=axis)``.

    Examples:
        >>> print(px.argsort(px.asarray([20, 10, 20]), descending=True))  # stable
        [0 2 1]
    """
    del stable
    return along_axis("argsort", x, _checked(x, axis, "argsort"), int64, (int(descending),))
