"""Parts of arrays as views, and arrays of parts: split, sliding_window_view, hstack, rot90."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phalanx._warm import Array, normal_axis, view
from phalanx.arrays.checks import as_operand, need_array, need_int
from phalanx.namespace.manipulation import concat, flip, permute_dims, reshape


def split(ary: Array, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return parts of an array along an axis, as views.

    Args:
        ary: of any shape but ``()``.
        indices_or_sections: how many equal parts, or the places where parts begin behind the first;
            places beyond the end give empty parts.
        axis: the one that is cut.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, or places that are no ints.
        ValueError: a number of parts that does not divide the axis; ``array_split`` takes it.

    Examples:
        >>> first, second = px.split(px.arange(6), 2)
        >>> print(first, second, [len(part) for part in px.split(px.arange(6), [1, 4])])
        [0 1 2] [3 4 5] [1, 3, 2]
    """
    need_array(ary, "split")
    if not _are_places(indices_or_sections):
        count = need_int(as_operand(indices_or_sections), "split: the number of parts")
        place = normal_axis(axis, ary, "split")
        if count > 0 and ary.shape[place] % count:
            raise ValueError(
                f"split: axis {place} of shape {ary.shape} does not divide into {count} equal "
                "parts; use phalanx.array_split"
            )
    return _parts(ary, indices_or_sections, axis, "split")


def array_split(ary: Array, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return parts of an array along an axis, as views; they need not be equal.

    n elements in k parts are n % k parts of n // k + 1, and the rest of n // k. All else is as in
    ``split``.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, or places that are no ints.
        ValueError: less than one part.

    Examples:
        >>> print([len(part) for part in px.array_split(px.arange(8), 3)])
        [3, 3, 2]
    """
    need_array(ary, "array_split")
    return _parts(ary, indices_or_sections, axis, "array_split")


def _are_places(where: Any) -> bool:
    """Whether these are places, and not a number of parts."""
    return isinstance(where, list | tuple) or (isinstance(where, Array) and where.ndim > 0)


def _parts(ary: Array, where: Any, axis: int, op: str) -> list[Array]:
    place = normal_axis(axis, ary, op)
    extent = ary.shape[place]
    if _are_places(where):
        items = where.tolist() if isinstance(where, Array) else where
        inner = [need_int(as_operand(i), f"{op}: a place") for i in items]
    else:
        count = need_int(as_operand(where), f"{op}: the number of parts")
        if count < 1:
            raise ValueError(f"{op}: the number of parts is at least 1, got {count}")
        each, more = divmod(extent, count)
        inner = [i * each + min(i, more) for i in range(1, count)]
    ends = [*inner, extent]
    lead = (slice(None),) * place
    return [ary[(*lead, slice(begin, end))] for begin, end in zip([0, *inner], ends, strict=True)]


def sliding_window_view(
    x: Array,
    window_shape: int | tuple[int, ...],
    axis: int | tuple[int, ...] | None = None,
) -> Array:
    """Return all windows of an array, as a view that refuses writing; nothing is copied.

    NumPy has it in ``lib.stride_tricks``. A window's axes come last, in the order of
    ``window_shape``; the axes of ``x`` that windows slide along get shorter by its extent less 1.

    Args:
        x: of any shape.
        window_shape: one extent for each axis in ``axis``.
        axis: along which windows slide; without it all axes.

    Raises:
        TypeError: no array, or extents that are no ints.
        ValueError: extents that are negative or larger than the axis, or another number of them
            than of axes.

    Examples:
        >>> print(px.sliding_window_view(px.arange(5), 3))
        [[0 1 2]
         [1 2 3]
         [2 3 4]]
    """
    need_array(x, "sliding_window_view")
    window = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    extents = [need_int(w, "sliding_window_view: window_shape") for w in window]
    if any(w < 0 for w in extents):
        raise ValueError(f"sliding_window_view: extents are 0 or more, got {tuple(extents)}")
    given: Sequence[int] = (
        range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    )
    axes = [normal_axis(a, x, "sliding_window_view") for a in given]
    if len(axes) != len(extents):
        raise ValueError(
            f"sliding_window_view: {len(extents)} extents of a window for {len(axes)} axes; give "
            "one for each"
        )
    shape = list(x.shape)
    for a, w in zip(axes, extents, strict=True):
        shape[a] -= w - 1
        if shape[a] < 0 or w > x.shape[a]:
            raise ValueError(
                f"sliding_window_view: a window of {w} is larger than axis {a} of shape {x.shape}"
            )
    strides = (*x.strides, *(x.strides[a] for a in axes))
    result: Array = view(x, (*shape, *extents), strides, readonly=True)
    return result


def _all_arrays(arrays: Any, op: str) -> list[Array]:
    if isinstance(arrays, Array) or not hasattr(arrays, "__iter__"):
        raise TypeError(f"{op} takes the arrays as one list: write phalanx.{op}([x, y])")
    parts = list(arrays)
    for part in parts:
        need_array(part, op)
    return parts


def hstack(tup: Sequence[Array]) -> Array:
    """Join arrays along their second axis; those of one axis, or none, along the first.

    Raises:
        TypeError: one is no array, or they have no common dtype.
        ValueError: no arrays, or shapes that differ on another axis.

    Examples:
        >>> print(px.hstack([px.asarray([1, 2]), px.asarray([3])]))
        [1 2 3]
    """
    parts = [x if x.ndim else reshape(x, (1,)) for x in _all_arrays(tup, "hstack")]
    return concat(parts, axis=1 if parts and parts[0].ndim > 1 else 0)


def vstack(tup: Sequence[Array]) -> Array:
    """Join arrays along their first axis; those of one axis are rows.

    Raises:
        TypeError: one is no array, or they have no common dtype.
        ValueError: no arrays, or shapes that differ on another axis.

    Examples:
        >>> print(px.vstack([px.asarray([1, 2]), px.asarray([3, 4])]))
        [[1 2]
         [3 4]]
    """
    parts = _all_arrays(tup, "vstack")
    return concat([x if x.ndim > 1 else reshape(x, (1, x.size)) for x in parts], axis=0)


def rot90(m: Array, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """Return a view that is turned ``k`` quarters, from the first towards the second axis.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, or ``k`` that is no int.
        ValueError: other than two different axes.

    Examples:
        >>> print(px.rot90(px.asarray([[1, 2], [3, 4]])))
        [[2 4]
         [1 3]]
    """
    need_array(m, "rot90")
    turns = need_int(k, "rot90: k") % 4
    places = [normal_axis(a, m, "rot90") for a in axes]
    if len(places) != 2 or places[0] == places[1]:
        raise ValueError(f"rot90 turns in the plane of two different axes, got {tuple(axes)}")
    first, second = places
    if turns == 0:
        result: Array = view(m, m.shape, m.strides)
        return result
    if turns == 2:
        return flip(m, axis=(first, second))
    order = list(range(m.ndim))
    order[first], order[second] = second, first
    if turns == 1:
        return permute_dims(flip(m, axis=second), tuple(order))
    return flip(permute_dims(m, tuple(order)), axis=second)
