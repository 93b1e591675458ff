"""Shapes: views where the layout allows, copies where not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

from phalanx._warm import (
    Array,
    assign,
    empty,
    flipped,
    joined,
    moved_axis,
    normal_axis,
    permuted,
    reshaped,
    rolled,
    slices_of,
    spread,
    spread_alike,
    stacked,
    view,
    with_axis,
    without_axis,
)
from phalanx._warm import copy as copy_array
from phalanx.arrays.checks import need_addressable, need_array, need_one_device
from phalanx.arrays.data_types import result_type


def extents_of(shape: Any, op: str) -> tuple[int, ...]:
    """Return a shape as a tuple of ints; raises ``TypeError`` that names it."""
    try:
        return (index(shape),) if hasattr(shape, "__index__") else tuple(index(e) for e in shape)
    except TypeError:
        raise TypeError(f"{op} takes an int or a tuple of ints, got {shape!r}") from None


def _check_extents(shape: tuple[int, ...], op: str) -> None:
    if any(extent < 0 for extent in shape):
        raise ValueError(f"{op}: the extents of a shape are 0 or more, got {shape}")


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the common shape: aligned at the last axis, extents equal or 1.

    Raises:
        ValueError: they do not broadcast, or an extent is negative.

    Examples:
        >>> px.broadcast_shapes((3, 1), (4,), ())
        (3, 4)
    """
    result: list[int] = []
    for given in shapes:
        shape = extents_of(given, "broadcast_shapes")
        _check_extents(shape, "broadcast_shapes")
        result = [1] * (len(shape) - len(result)) + result
        for i in range(1, len(shape) + 1):
            if result[-i] == 1:
                result[-i] = shape[-i]
            elif shape[-i] not in (1, result[-i]):
                raise ValueError(
                    f"shapes {', '.join(map(str, shapes))} cannot be broadcast: aligned at the "
                    "last axis, extents must be equal or 1"
                )
    return tuple(result)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return a view of ``x`` with a larger shape; repeated elements share memory.

    It and its views refuse writing.

    Raises:
        ValueError: the shape does not fit, or has a negative extent.

    Examples:
        >>> x = px.broadcast_to(px.asarray([1, 2, 3]), (2, 3))
        >>> print(x, x.strides)  # both rows are the same memory
        [[1 2 3]
         [1 2 3]] (0, 1)
    """
    need_array(x, "broadcast_to")
    made: Array | None = spread(x, shape)
    if made is not None:
        return made
    shape = extents_of(shape, "broadcast_to")
    _check_extents(shape, "broadcast_to")
    lead = len(shape) - x.ndim
    kept_shape = shape[max(0, lead) :]
    fits = all(have in (1, want) for have, want in zip(x.shape, kept_shape, strict=False))
    if lead < 0 or not fits:
        raise ValueError(f"an array of shape {x.shape} does not broadcast to {shape}")
    need_addressable(shape, x.dtype, x.device)
    kept = zip(x.shape, shape[lead:], x.strides, strict=True)
    strides = [0 if have != want else stride for have, want, stride in kept]
    result: Array = view(x, shape, (*[0] * lead, *strides), readonly=True)
    return result


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return views of all arrays with their common shape; those that repeat refuse writing.

    Raises:
        TypeError: one is no array.
        ValueError: the shapes do not broadcast.

    Examples:
        >>> x, y = px.broadcast_arrays(px.asarray([[1], [2]]), px.asarray([10, 20, 30]))
        >>> x.shape, y.shape
        ((2, 3), (2, 3))
    """
    made: tuple[Array, ...] | None = spread_alike(arrays)
    if made is not None:
        return made
    for a in arrays:
        need_array(a, "broadcast_arrays")
    shape = broadcast_shapes(*(a.shape for a in arrays))
    return tuple(
        view(a, shape, a.strides) if a.shape == shape else broadcast_to(a, shape) for a in arrays
    )


def expand_dims(x: Array, /, axis: int | tuple[int, ...] = 0) -> Array:
    """Return a view with new axes of extent 1 at ``axis``, places in the result.

    Raises:
        IndexError: a place outside the result.

    Examples:
        >>> px.expand_dims(px.zeros((2, 3)), axis=(0, -1)).shape
        (1, 2, 3, 1)
    """
    need_array(x, "expand_dims")
    made: Array | None = with_axis(x, axis)
    if made is not None:
        return made
    places = extents_of(axis, "expand_dims: axis")
    ndim = x.ndim + len(places)
    if any(not -ndim <= a < ndim for a in places):
        raise IndexError(f"expand_dims: axis {axis} is out of range for {ndim} axes")
    new = {a % ndim for a in places}
    if len(new) != len(places):
        raise ValueError(f"expand_dims: axis {axis} names a place twice")
    rest = iter(zip(x.shape, x.strides, strict=True))
    dims = [(1, 0) if i in new else next(rest) for i in range(ndim)]
    result: Array = view(x, tuple(d[0] for d in dims), tuple(d[1] for d in dims))
    return result


def squeeze(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return a view without the given axes (default: all of extent 1).

    Raises:
        ValueError: an axis of another extent, or named twice.

    Examples:
        >>> x = px.zeros((1, 3, 1))
        >>> px.squeeze(x).shape, px.squeeze(x, axis=0).shape
        ((3,), (3, 1))
    """
    need_array(x, "squeeze")
    if axis is None:
        axis = tuple(i for i, extent in enumerate(x.shape) if extent == 1)
    made: Array | None = without_axis(x, axis)
    if made is not None:
        return made
    gone = _axes(x, axis, "squeeze")
    for a in gone:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of shape {x.shape} has more than one element")
    kept = [i for i in range(x.ndim) if i not in gone]
    result: Array = view(x, tuple(x.shape[i] for i in kept), tuple(x.strides[i] for i in kept))
    return result


def _axes(x: Array, axis: Any, op: str) -> list[int]:
    """Axes from 0 on; refuses one that is named twice."""
    axes = [normal_axis(a, x, op) for a in (axis if isinstance(axis, tuple | list) else (axis,))]
    if len(set(axes)) != len(axes):
        raise ValueError(f"{op}: axis {axis} names an axis twice")
    return axes


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return a view with the axes in another order.

    Raises:
        ValueError: ``axes`` is not a permutation.

    Examples:
        >>> px.permute_dims(px.zeros((2, 3, 4)), (2, 0, 1)).shape
        (4, 2, 3)
    """
    need_array(x, "permute_dims")
    made: Array | None = permuted(x, axes)
    if made is not None:
        return made
    order = [normal_axis(a, x, "permute_dims") for a in axes]
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"permute_dims: {axes} is not a permutation of the axes of {x.shape}")
    result: Array = view(x, tuple(x.shape[i] for i in order), tuple(x.strides[i] for i in order))
    return result


def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """Return a view with axes moved from ``source`` to ``destination``, the others in order.

    Raises:
        ValueError: different numbers of axes, or one named twice.

    Examples:
        >>> px.moveaxis(px.zeros((2, 3, 4, 5)), (0, 1), (-1, -2)).shape
        (4, 5, 3, 2)
    """
    need_array(x, "moveaxis")
    made: Array | None = moved_axis(x, source, destination)
    if made is not None:
        return made
    sources = source if isinstance(source, tuple | list) else (source,)
    targets = destination if isinstance(destination, tuple | list) else (destination,)
    if len(sources) != len(targets):
        raise ValueError(f"moveaxis: {source} and {destination} differ in length")
    froms = [normal_axis(a, x, "moveaxis") for a in sources]
    tos = [normal_axis(a, x, "moveaxis") for a in targets]
    if len(set(froms)) != len(froms) or len(set(tos)) != len(tos):
        raise ValueError(f"moveaxis: {source} to {destination} names an axis twice")
    order = [i for i in range(x.ndim) if i not in froms]
    for to, origin in sorted(zip(tos, froms, strict=True)):
        order.insert(to, origin)
    return permute_dims(x, tuple(order))


def matrix_transpose(x: Array, /) -> Array:
    """Return a view (..., m, n) of a stack of matrices (..., n, m).

    Raises:
        TypeError: ``x`` is no array.
        ValueError: fewer than two axes.

    Examples:
        >>> px.matrix_transpose(px.zeros((5, 2, 3))).shape
        (5, 3, 2)
    """
    need_array(x, "matrix_transpose")
    result: Array = x.mT
    return result


def flip(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return a view with the elements of axes (default: all) in reverse order.

    Raises:
        IndexError: an axis that is not there.
        TypeError: ``x`` is no array.
        ValueError: an axis named twice.

    Examples:
        >>> print(px.flip(px.asarray([[1, 2], [3, 4]]), axis=0))
        [[3 4]
         [1 2]]
    """
    need_array(x, "flip")
    made: Array | None = flipped(x, axis)
    if made is not None:
        return made
    strides, shift = list(x.strides), 0
    for a in _axes(x, axis, "flip"):
        if x.shape[a] > 0:
            shift += (x.shape[a] - 1) * strides[a]
            strides[a] = -strides[a]
    result: Array = view(x, x.shape, tuple(strides), shift if x.size else 0)
    return result


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return the elements in C order with another shape; one extent may be -1.

    A view if the layout allows; ``copy=True`` copies always, ``copy=False`` never.

    Raises:
        ValueError: the number of elements differs, or ``copy=False`` and a copy is needed.

    Examples:
        >>> print(px.reshape(px.arange(6), (2, -1)))
        [[0 1 2]
         [3 4 5]]
    """
    need_array(x, "reshape")
    made: Array | None = reshaped(x, shape, copy)
    if made is not None:
        return made
    wanted = _inferred(x, extents_of(shape, "reshape"))
    strides = None if copy else _view_strides(x, wanted)
    if strides is not None:
        result: Array = view(x, wanted, strides)
        return result
    if copy is False:
        raise ValueError(
            f"reshape of {x.shape} to {wanted}: strides {x.strides} need a copy; "
            "leave copy=False out"
        )
    source = empty(x.shape, x.dtype, x.device)
    assign(source, x)
    return view(source, wanted, c_strides(wanted))


def _inferred(x: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with -1 replaced; raises if it does not hold the elements of ``x``."""
    if shape.count(-1) > 1 or any(e < -1 for e in shape):
        raise ValueError(f"reshape: {shape} may have one -1 and no other negative extent")
    known = math.prod(e for e in shape if e != -1)
    if -1 in shape:
        if known == 0 or x.size % known:
            raise ValueError(f"{x.size} elements of shape {x.shape} do not reshape to {shape}")
        shape = tuple(x.size // known if e == -1 else e for e in shape)
    if math.prod(shape) != x.size:
        raise ValueError(f"{x.size} elements of shape {x.shape} do not reshape to {shape}")
    return shape


def c_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of C order without gaps."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _view_strides(x: Array, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides that show ``x`` with another shape in C order, or None if no view can.

    Runs of axes that lie behind each other in memory are cut anew; a new axis must lie in one run.
    """
    if x.is_contiguous or x.size == 0:
        return c_strides(shape)
    runs: list[tuple[int, int]] = []  # extent, smallest stride
    for extent, stride in zip(x.shape, x.strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == stride * extent:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    strides = [0] * len(shape)
    place = len(shape) - 1
    for extent, stride in reversed(runs):
        inside = 1
        while inside < extent:
            if place < 0 or extent % (inside * shape[place]):
                return None
            strides[place] = stride * inside
            inside *= shape[place]
            place -= 1
    return tuple(strides)


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """Join arrays along an axis that they have; ``axis=None`` joins the flattened arrays.

    The result has their common dtype.

    Raises:
        TypeError: one is no array, or they have no common dtype.
        ValueError: no arrays, or shapes that differ on another axis.

    Examples:
        >>> print(px.concat([px.asarray([[1, 2]]), px.asarray([[0.5, 1]])]))
        [[1.  2. ]
         [0.5 1. ]]
    """
    made: Array | None = None if _is_array(axis) else joined(arrays, axis)
    if made is not None:
        return made
    parts = _parts(arrays, axis, "concat")
    if axis is None:
        parts = [reshape(p, (-1,)) for p in parts]
        axis = 0
    first = parts[0]
    if first.ndim == 0:
        raise ValueError("concat: 0-d arrays have no axis to join; use stack")
    axis = normal_axis(axis, first, "concat")
    for p in parts:
        if p.ndim != first.ndim or _without(p.shape, axis) != _without(first.shape, axis):
            shapes = ", ".join(str(q.shape) for q in parts)
            raise ValueError(f"concat along axis {axis}: the other extents differ in {shapes}")
    dtype = result_type(*parts)
    total = sum(p.shape[axis] for p in parts)
    result = empty((*first.shape[:axis], total, *first.shape[axis + 1 :]), dtype, first.device)
    begin = 0
    for p in parts:
        assign(view(result, p.shape, result.strides, begin * result.strides[axis]), p)
        begin += p.shape[axis]
    return result


def _is_array(axis: object) -> bool:
    """Whether a second array was given where an axis is meant."""
    return isinstance(axis, Array)


def _parts(arrays: Any, axis: Any, op: str) -> list[Array]:
    """What to join; raises ``TypeError`` for what is no sequence of arrays."""
    if _is_array(axis) or not hasattr(arrays, "__iter__"):
        raise TypeError(f"{op} takes the arrays as one list: write phalanx.{op}([x, y])")
    parts = list(arrays)
    if not parts:
        raise ValueError(f"{op} needs at least one array, got none")
    for p in parts:
        need_array(p, op)
    need_one_device(op, *parts)
    return parts


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis at ``axis``; dtypes are those of ``concat``.

    Raises:
        TypeError: one is no array, or they have no common dtype.
        ValueError: no arrays, or shapes that differ.

    Examples:
        >>> print(px.stack([px.asarray([1, 2, 3]), px.asarray([4, 5, 6])], axis=1))
        [[1 4]
         [2 5]
         [3 6]]
    """
    made: Array | None = None if _is_array(axis) else stacked(arrays, axis)
    if made is not None:
        return made
    parts = _parts(arrays, axis, "stack")
    if len({p.shape for p in parts}) > 1:
        raise ValueError(f"stack: shapes differ: {', '.join(str(p.shape) for p in parts)}")
    ndim = parts[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise IndexError(f"stack: axis {axis} is out of range for {ndim} axes")
    return concat([expand_dims(p, axis=axis) for p in parts], axis=axis)


def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    """Return views of the slices along an axis, without that axis.

    Raises:
        IndexError: an axis that is not there.
        TypeError: ``x`` is no array.

    Examples:
        >>> x, y = px.unstack(px.asarray([[1, 2], [3, 4], [5, 6]]), axis=1)
        >>> print(y - x, y)
        [1 1 1] [2 4 6]
    """
    need_array(x, "unstack")
    if x.ndim == 0:
        raise ValueError("unstack needs at least one axis, got a 0-d array")
    made: tuple[Array, ...] = slices_of(x, normal_axis(axis, x, "unstack"))
    return made


def roll(
    x: Array, /, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> Array:
    """Return the elements moved by ``shift`` places along axes; what falls out returns in front.

    Raises:
        ValueError: several shifts and another number of axes.

    Examples:
        >>> print(px.roll(px.asarray([[1, 2, 3], [4, 5, 6]]), -1, axis=1))
        [[2 3 1]
         [5 6 4]]
    """
    need_array(x, "roll")
    given = extents_of(shift, "roll: shift")
    if axis is None:
        flat = reshape(x, (-1,))
        return reshape(roll(flat, shift, axis=0), x.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = given if hasattr(shift, "__len__") else given * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: shift {shift} and axis {axis} differ in length")
    places = [normal_axis(a, x, "roll") for a in axes]
    result = x
    for s, place in zip(shifts, places, strict=True):
        result = rolled(result, s, place)
    return copy_array(result) if result is x else result
