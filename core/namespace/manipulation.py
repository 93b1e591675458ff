"""Shapes: views where the layout allows, copies where not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

from phalanx._warm import (
    Array,
    assign,
    cast,
    empty,
    flipped,
    joined,
    normal_axis,
    permuted,
    reshaped,
    stacked,
    view,
    with_axis,
    without_axis,
)
from phalanx._warm import copy as copy_array
from phalanx.arrays.data_types import result_type


def need_array(x: Any, op: str) -> None:
    """Raise ``TypeError`` for what is no array."""
    if not isinstance(x, Array):
        raise TypeError(f"{op} takes a phalanx array, got {type(x).__name__}; use phalanx.asarray")


def _extents(shape: Any, op: str) -> tuple[int, ...]:
    """A shape as a tuple of ints; raises ``TypeError`` that names it."""
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
    """
    result: list[int] = []
    for shape in shapes:
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
    """
    need_array(x, "broadcast_to")
    shape = _extents(shape, "broadcast_to")
    _check_extents(shape, "broadcast_to")
    lead = len(shape) - x.ndim
    kept_shape = shape[max(0, lead) :]
    fits = all(have in (1, want) for have, want in zip(x.shape, kept_shape, strict=False))
    if lead < 0 or not fits:
        raise ValueError(f"an array of shape {x.shape} does not broadcast to {shape}")
    kept = zip(x.shape, shape[lead:], x.strides, strict=True)
    strides = [0 if have != want else stride for have, want, stride in kept]
    result: Array = view(x, shape, (*[0] * lead, *strides), readonly=True)
    return result


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return views of all arrays with their common shape; those that repeat refuse writing.

    Raises:
        TypeError: one is no array.
        ValueError: the shapes do not broadcast.
    """
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
    """
    need_array(x, "expand_dims")
    made: Array | None = with_axis(x, axis)
    if made is not None:
        return made
    places = axis if isinstance(axis, tuple | list) else (axis,)
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
        ValueError: an axis of another extent.
    """
    need_array(x, "squeeze")
    if axis is None:
        axis = tuple(i for i, extent in enumerate(x.shape) if extent == 1)
    made: Array | None = without_axis(x, axis)
    if made is not None:
        return made
    gone = {
        normal_axis(a, x, "squeeze") for a in (axis if isinstance(axis, tuple | list) else (axis,))
    }
    for a in gone:
        if x.shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of shape {x.shape} has more than one element")
    kept = [i for i in range(x.ndim) if i not in gone]
    result: Array = view(x, tuple(x.shape[i] for i in kept), tuple(x.strides[i] for i in kept))
    return result


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return a view with the axes in another order.

    Raises:
        ValueError: ``axes`` is not a permutation.
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
    """
    need_array(x, "moveaxis")
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
    """
    need_array(x, "matrix_transpose")
    result: Array = x.mT
    return result


def flip(x: Array, /, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return a view with the elements of axes (default: all) in reverse order.

    Raises:
        IndexError: an axis that is not there.
        TypeError: ``x`` is no array.
    """
    need_array(x, "flip")
    made: Array | None = flipped(x, axis)
    if made is not None:
        return made
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    strides, shift = list(x.strides), 0
    for a in {normal_axis(a, x, "flip") for a in axes}:
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
    """
    need_array(x, "reshape")
    made: Array | None = None if copy else reshaped(x, shape)
    if made is not None:
        return made
    wanted = _inferred(x, _extents(shape, "reshape"))
    strides = None if copy else _view_strides(x, wanted)
    if strides is not None:
        result: Array = view(x, wanted, strides)
        return result
    if copy is False:
        raise ValueError(f"reshape of {x.shape} to {wanted}: strides {x.strides} need a copy")
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

    Raises:
        ValueError: no arrays, or shapes that differ on another axis.
    """
    made: Array | None = joined(arrays, axis)
    if made is not None:
        return made
    parts = list(arrays)
    if not parts:
        raise ValueError("concat needs at least one array")
    for p in parts:
        need_array(p, "concat")
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


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """Join arrays of one shape along a new axis at ``axis``.

    Raises:
        ValueError: no arrays, or shapes that differ.
    """
    made: Array | None = stacked(arrays, axis)
    if made is not None:
        return made
    parts = list(arrays)
    if not parts:
        raise ValueError("stack needs at least one array")
    for p in parts:
        need_array(p, "stack")
    if len({p.shape for p in parts}) > 1:
        raise ValueError(f"stack: shapes differ: {', '.join(str(p.shape) for p in parts)}")
    return concat([expand_dims(p, axis=axis) for p in parts], axis=axis)


def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    """Return views of the slices along an axis, without that axis.

    Raises:
        IndexError: an axis that is not there.
        TypeError: ``x`` is no array.
    """
    need_array(x, "unstack")
    if x.ndim == 0:
        raise ValueError("unstack needs at least one axis, got a 0-d array")
    axis = normal_axis(axis, x, "unstack")
    shape, strides = _without(x.shape, axis), _without(x.strides, axis)
    return tuple(view(x, shape, strides, i * x.strides[axis]) for i in range(x.shape[axis]))


def roll(
    x: Array, /, shift: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None
) -> Array:
    """Return the elements moved by ``shift`` places along axes; what falls out returns in front.

    Raises:
        ValueError: several shifts and another number of axes.
    """
    need_array(x, "roll")
    if axis is None:
        flat = reshape(x, (-1,))
        return reshape(roll(flat, shift, axis=0), x.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ValueError(f"roll: shift {shift} and axis {axis} differ in length")
    moved: dict[int, int] = {}
    for s, a in zip(shifts, axes, strict=True):
        place = normal_axis(a, x, "roll")
        moved[place] = moved.get(place, 0) + s
    result = x
    for a, s in moved.items():
        n = x.shape[a]
        if n and s % n:
            cut = n - s % n
            result = concat([_part(result, a, cut, n), _part(result, a, 0, cut)], axis=a)
    return copy_array(result) if result is x else result


def _part(x: Array, axis: int, begin: int, end: int) -> Array:
    shape = (*x.shape[:axis], end - begin, *x.shape[axis + 1 :])
    result: Array = view(x, shape, x.strides, begin * x.strides[axis])
    return result


def repeat(x: Array, repeats: int | Array, /, axis: int | None = None) -> Array:
    """Return each element, or slice along ``axis``, repeated: one count, or one per slice.

    Raises:
        ValueError: a negative count, or another number of counts than slices.
    """
    from .taking import take

    need_array(x, "repeat")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normal_axis(axis, x, "repeat")
    if isinstance(repeats, int):
        if repeats < 0:
            raise ValueError(f"repeat: a count must not be negative, got {repeats}")
        have, steps = x.shape, x.strides
        shape = (*have[: axis + 1], repeats, *have[axis + 1 :])
        result = empty(shape, x.dtype, x.device)
        assign(result, view(x, shape, (*steps[: axis + 1], 0, *steps[axis + 1 :])))
        return reshape(result, (*have[:axis], have[axis] * repeats, *have[axis + 1 :]))
    places = _repeated_places(repeats, x.shape[axis])
    return take(x, places, axis=axis)


def _repeated_places(repeats: Array, n: int) -> Array:
    """The index of each slice, as often as its count says: where i lies among the running sums."""
    from phalanx.arrays.data_types import int64

    from .creation import arange
    from .reductions import cumulative_sum, min
    from .searching import searchsorted

    need_array(repeats, "repeat")
    if repeats.dtype.kind not in "iu" or repeats.ndim > 1:
        raise TypeError(
            f"repeat: counts are a 1-d integer array, got {repeats.dtype} {repeats.shape}"
        )
    counts = cast(reshape(repeats, (-1,)), int64)
    if counts.size == 1:
        counts = broadcast_to(counts, (n,))
    if counts.size != n:
        raise ValueError(f"repeat: {counts.size} counts for {n} slices")
    if n == 0:
        return counts
    if int(min(counts)) < 0:
        raise ValueError("repeat: a count is negative")
    ends = cumulative_sum(counts)
    total = int(view(ends, (), (), n - 1))
    return searchsorted(ends, arange(total, device=counts.device), side="right")


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """Return copies of ``x`` side by side, ``repetitions[i]`` times along axis i.

    Raises:
        ValueError: a negative repetition.
    """
    need_array(x, "tile")
    times = _extents(repetitions, "tile")
    if any(t < 0 for t in times):
        raise ValueError(f"tile: repetitions must not be negative, got {times}")
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    shape = (1,) * (ndim - x.ndim) + x.shape
    strides = (0,) * (ndim - x.ndim) + x.strides
    wide_shape = tuple(e for pair in zip(times, shape, strict=True) for e in pair)
    wide_strides = tuple(e for s in strides for e in (0, s))
    whole = tuple(t * e for t, e in zip(times, shape, strict=True))
    result = empty(wide_shape, x.dtype, x.device)
    assign(result, view(x, wide_shape, wide_strides))
    return reshape(result, whole)
