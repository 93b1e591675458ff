"""The largest elements."""

from __future__ import annotations

from math import inf, isqrt, prod
from typing import NamedTuple

from phalanx._warm import Array, along_axis, normal_axis, taken, view
from phalanx.arrays.checks import need_array, need_int
from phalanx.arrays.data_types import int64
from phalanx.arrays.transfer import contiguous
from phalanx.namespace import reductions
from phalanx.namespace.creation import arange
from phalanx.namespace.elementwise import isnan, where
from phalanx.namespace.manipulation import concat, expand_dims, moveaxis, reshape
from phalanx.namespace.taking import take_along_axis

#: Rows up to this length, and arrays of as few elements in all, are sorted whole.
_SHORT, _FEW = 64, 2**13


class TopK(NamedTuple):
    """What `topk` gives."""

    values: Array
    indices: Array


def topk(input: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> TopK:
    """Return the ``k`` largest elements along an axis and their places, the largest first.

    Places are int64. Of equal elements that with the lower place comes first; NaN counts as the
    largest, and -0.0 equals 0.0, as in ``argsort``. ``largest=False`` gives the smallest, the
    smallest first. ``sorted`` is for PyTorch's signature: the result always is.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, or one of complex numbers.
        ValueError: ``k`` is negative or more than the extent, or a 0-d array.

    Examples:
        >>> values, indices = px.nn.topk(px.asarray([3, 9, 1, 9]), 2)
        >>> print(values, indices)
        [9 9] [1 3]
    """
    del sorted
    need_array(input, "topk")
    if input.dtype.kind == "c":
        raise TypeError(f"topk is not defined for {input.dtype}, which has no order; use abs")
    if input.ndim == 0:
        raise ValueError("topk needs at least one axis, got a 0-d array")
    axis = normal_axis(dim, input, "topk")
    count, n = need_int(k, "topk: k"), input.shape[axis]
    if not 0 <= count <= n:
        raise ValueError(
            f"topk: k is from 0 to {n} along axis {axis} of {input.shape}, got {count}"
        )
    if input.size <= _FEW or n <= _SHORT or input.dtype.kind == "b":
        return _sorted(input, axis, count, largest)
    last = moveaxis(input, axis, -1)
    rows = contiguous(reshape(last, (prod(last.shape[:-1]), n)))
    values, places = _of_rows(rows, count, largest)
    shape = (*last.shape[:-1], count)
    return TopK(*(moveaxis(reshape(x, shape), -1, axis) for x in (values, places)))


def _of_rows(x: Array, k: int, largest: bool) -> tuple[Array, Array]:
    """Values and places (rows, k) of a matrix (rows, n)."""
    n = x.shape[1]
    block = _block(n, k)
    if k == 0 or n <= _SHORT or block < 4:
        return _sorted(x, 1, k, largest)
    return _of_blocks(x, k, largest, block)


def _block(n: int, k: int) -> int:
    """How many elements are one in the first round: few to sort, or blocks that are read fast.

    The largest of a block is found at the speed of memory from 64 elements on (measured 2026-11).
    """
    fast = next((b for b in (128, 64) if 3 * b * k <= n), 0)
    return max(fast, isqrt(n // max(k, 1)))


def _sorted(x: Array, axis: int, k: int, largest: bool) -> TopK:
    order = along_axis("argsort", x, axis, int64, (int(largest),))
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    places = contiguous(view(order, shape, order.strides))
    return TopK(take_along_axis(x, places, axis), places)


def _of_blocks(x: Array, k: int, largest: bool, block: int) -> tuple[Array, Array]:
    """Look into the k blocks with the largest of all blocks, and what is left of the last one.

    An element of a block that is not among these has k elements before it, one in each: larger
    ones, or equal ones at lower places.
    """
    rows, n = x.shape
    blocks = n // block
    whole = view(x, (rows, blocks, block), (n, block, 1))
    best = along_axis("argsort", _ends(whole, largest), 1, int64, (int(largest),))[:, :k]
    best = along_axis("sort", best, 1, int64, (0,))  # so that places go up
    begins = expand_dims(arange(0, rows * n, n, device=x.device), axis=1)
    every = view(x, (rows * n - block + 1, block), (1, 1))  # a block from each element on
    found = taken(every, best * block + begins, 0)
    steps = arange(block, device=x.device)
    places = reshape(expand_dims(best * block, axis=2) + steps, (rows, -1))
    candidates = reshape(found, (rows, -1))
    if blocks * block < n:
        rest = arange(blocks * block, n, device=x.device) + places[:, :1] * 0
        candidates = concat([candidates, x[:, blocks * block :]], axis=1)
        places = concat([places, rest], axis=1)
    values, among = _of_rows(candidates, k, largest)
    return values, take_along_axis(places, among, 1)


def _ends(x: Array, largest: bool) -> Array:
    """The element of each block (rows, blocks, n) that comes first in the order."""
    if largest:
        return reductions.max(x, axis=2)
    if x.dtype.kind != "f":
        return reductions.min(x, axis=2)
    # NaN is the largest: a block has the smallest of its numbers, and NaN if it has none
    nan = isnan(x)
    smallest = reductions.min(where(nan, inf, x), axis=2)
    return where(reductions.all(nan, axis=2), float("nan"), smallest)
