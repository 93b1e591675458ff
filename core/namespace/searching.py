"""Where elements are: nonzero and searchsorted; the others are in reductions and elementwise."""

from __future__ import annotations

from typing import Literal

from phalanx._warm import Array, cast, empty, launch, places_of, plain_search
from phalanx.arrays.checks import as_operand, need_array, need_one_device
from phalanx.arrays.data_types import bool as bool_
from phalanx.arrays.data_types import int64, result_type
from phalanx.arrays.indexing import unravel

from .taking import take


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the index arrays (int64, one per axis) of the elements that are not zero, in C order.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: a 0-d array, which has no axis.

    Examples:
        >>> rows, columns = px.nonzero(px.asarray([[0, 7], [8, 9]]))
        >>> print(rows, columns)
        [0 1 1] [1 0 1]
    """
    need_array(x, "nonzero")
    if x.ndim == 0:
        raise ValueError("nonzero needs at least one axis, got a 0-d array; write x != 0")
    places = places_of(cast(x, bool_))
    return (places,) if x.ndim == 1 else tuple(unravel(places, x.shape))


def searchsorted(
    x1: Array,
    x2: Array | int | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Return the places (int64) where the values ``x2`` keep the sorted ``x1`` (n,) in order.

    Args:
        x1: sorted 1-d array, or any order with ``sorter``.
        x2: values of any shape, or a Python number.
        side: ``"left"`` puts a value before equal ones, ``"right"`` behind them.
        sorter: indices that sort ``x1``.

    Raises:
        DeviceMismatchError: the arrays lie on two devices.
        TypeError: booleans and complex numbers, which have no order.
        ValueError: ``x1`` is not 1-d, or another ``side``.

    Examples:
        >>> x = px.asarray([10, 20, 20, 30])
        >>> print(px.searchsorted(x, px.asarray([5, 20])), px.searchsorted(x, 20, side="right"))
        [0 1] 3
    """
    if sorter is None and side in ("left", "right"):
        plain: Array | None = plain_search(x1, x2, side == "right")
        if plain is not None:
            return plain
    if not isinstance(x1, Array) or x1.ndim != 1:
        got = f"shape {x1.shape}" if isinstance(x1, Array) else type(x1).__name__
        raise ValueError(f"searchsorted: x1 is a sorted 1-d array, got {got}")
    x2 = as_operand(x2)
    if not isinstance(x2, Array | int | float | complex):
        raise TypeError(
            f"searchsorted: x2 is an array or a number, got {type(x2).__name__}; use "
            "phalanx.asarray"
        )
    if side not in ("left", "right"):
        raise ValueError(f'searchsorted: side is "left" or "right", got {side!r}')
    dtype = result_type(x1, x2)
    if dtype.kind not in "iuf":
        raise TypeError(f"searchsorted is not defined for {dtype.name}: it has no order")
    if not isinstance(x2, Array):
        from .conversion import asarray

        x2 = asarray(x2, dtype=dtype, device=x1.device)
    need_one_device("searchsorted", x1, x2)
    if sorter is not None:
        need_array(sorter, "searchsorted: sorter")
        if sorter.shape != x1.shape:
            raise ValueError(
                f"searchsorted: a sorter of shape {sorter.shape} does not order x1 of shape "
                f"{x1.shape}"
            )
        x1 = take(x1, sorter)
    result = empty(x2.shape, int64, x1.device)
    if result.size:
        from .manipulation import reshape

        values = reshape(cast(x2, dtype), (x2.size,))
        launch(
            "searchsorted",
            (cast(x1, dtype), values),
            (reshape(result, (x2.size,)),),
            (int(side == "right"),),
        )
    return result
