"""Arrays with elements, slices or all of an array more than once."""

from __future__ import annotations

from phalanx._warm import Array, cast, normal_axis, repeated, tiled, view
from phalanx.arrays.checks import need_array
from phalanx.arrays.data_types import int64

from .creation import arange
from .manipulation import broadcast_to, extents_of, reshape
from .reductions import min as smallest
from .running import cumulative_sum
from .searching import searchsorted
from .taking import take


def repeat(x: Array, repeats: int | Array, /, axis: int | None = None) -> Array:
    """Return each element, or slice along ``axis``, repeated: one count, or one per slice.

    Without ``axis`` the array is flattened first. The result has the dtype of ``x``.

    Raises:
        IndexError: an axis that is not there.
        TypeError: ``x`` is no array, or the counts are no integers.
        ValueError: a negative count, or another number of counts than slices.

    Examples:
        >>> x = px.asarray([1, 2, 3])
        >>> print(px.repeat(x, 2), px.repeat(x, px.asarray([1, 0, 2])))
        [1 1 2 2 3 3] [1 3 3]
    """
    need_array(x, "repeat")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normal_axis(axis, x, "repeat")
    if isinstance(repeats, int):
        if repeats < 0:
            raise ValueError(f"repeat: a count must not be negative, got {repeats}")
        result: Array | None = repeated(x, repeats, axis)
        if result is None:
            raise ValueError(f"repeat: an array of shape {x.shape} has too many axes")
        return result
    places = _repeated_places(repeats, x.shape[axis])
    return take(x, places, axis=axis)


def _repeated_places(repeats: Array, n: int) -> Array:
    """The index of each slice, as often as its count says: where i lies among the running sums."""
    if not isinstance(repeats, Array):
        raise TypeError(
            f"repeat: the counts are an int or an integer array, got {type(repeats).__name__}; "
            "use phalanx.asarray"
        )
    if repeats.dtype.kind not in "iu" or repeats.ndim > 1:
        raise TypeError(
            f"repeat: counts are a 1-d integer array, got {repeats.dtype} {repeats.shape}"
        )
    counts = cast(reshape(repeats, (-1,)), int64)
    if counts.size == 1:
        counts = broadcast_to(counts, (n,))
    if counts.size != n:
        raise ValueError(
            f"repeat: {counts.size} counts for {n} slices; give one count, or one for each"
        )
    if n == 0:
        return counts
    if int(smallest(counts)) < 0:
        raise ValueError("repeat: a count is negative")
    ends = cumulative_sum(counts)
    total = int(view(ends, (), (), n - 1))
    return searchsorted(ends, arange(total, device=counts.device), side="right")


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Return copies of ``x`` side by side, ``repetitions[i]`` times along axis i.

    Fewer repetitions than axes count from the last axis.

    Raises:
        TypeError: ``x`` is no array, or repetitions that are not made of ints.
        ValueError: a negative repetition.

    Examples:
        >>> print(px.tile(px.asarray([1, 2]), (2, 2)))
        [[1 2 1 2]
         [1 2 1 2]]
    """
    need_array(x, "tile")
    times = extents_of(repetitions, "tile")
    if any(t < 0 for t in times):
        raise ValueError(f"tile: repetitions must not be negative, got {times}")
    result: Array | None = tiled(x, times)
    if result is None:
        raise ValueError(f"tile: an array of shape {x.shape} has too many axes for {times}")
    return result
