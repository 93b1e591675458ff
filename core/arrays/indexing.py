"""Indexing: basic keys give views; boolean and integer arrays gather and scatter."""

from __future__ import annotations

import math
import operator
from typing import Any

from phalanx._warm import (
    Array,
    assign,
    cast,
    empty,
    fill,
    launch,
    overlaps,
    places_of,
    selected,
    ternary,
    view,
)
from phalanx._warm import copy as copy_array
from phalanx.arrays.data_types import int64
from phalanx.errors import DeviceMismatchError

from .promotion import need_kept, need_number
from .transfer import contiguous

Key = Any
_FLAG = object()  # stands for a truth value among other keys


def getitem(x: Array, key: Key) -> Array:
    """``x[key]``: a view for ints, slices, ``...`` and ``None``; a copy for array keys.

    Raises:
        IndexError: too many keys, an int out of range, or a key of another kind.
    """
    keys = _keys(x, key)
    if len(keys) == 1 and _is_flag(keys[0]):
        return copy_array(_repeated(x, keys[0]))
    if len(keys) == 1 and _is_mask(keys[0]) and keys[0].shape == x.shape:
        _same_device(x, keys[0])
        result: Array = selected(x, keys[0])
        return result
    x, keys = _without_flags(x, keys)
    if not any(isinstance(k, Array) for k in keys):
        return _basic(x, _expanded(x, keys))
    base, indices, axis = _advanced(x, keys)
    return _gather(base, indices, axis)


def setitem(x: Array, key: Key, value: Any) -> None:
    """``x[key] = value``: the value is broadcast and converted; raises as ``getitem`` does."""
    keys = _keys(x, key)
    if len(keys) == 1 and _is_flag(keys[0]):
        _store(_repeated(x, keys[0]), value)
        return
    if len(keys) == 1 and _is_mask(keys[0]) and keys[0].shape == x.shape:
        if not isinstance(value, bool | int | float | complex):
            value = _as_value(x, value)
        if _is_single(value):
            _fill_where(x, keys[0], value)
            return
    x, keys = _without_flags(x, keys)
    if not any(isinstance(k, Array) for k in keys):
        _store(_basic(x, _expanded(x, keys)), value)
        return
    base, indices, axis = _advanced(x, keys)
    _scatter(base, indices, axis, value)


def _keys(x: Array, key: Key) -> tuple[Key, ...]:
    """The parts of a key; lists, NumPy's arrays and its truth values become ours, on the device."""
    keys = key if isinstance(key, tuple) else (key,)
    return tuple(k if isinstance(k, Array | slice | int) else _own_key(x, k) for k in keys)


def _own_key(x: Array, key: Key) -> Key:
    from phalanx.namespace.conversion import asarray

    if isinstance(key, list):
        result = asarray(key, device=x.device)
        return cast(result, int64) if result.size == 0 else result
    kind = type(key)
    if kind.__module__.partition(".")[0] != "numpy":
        return key
    if kind.__name__ in ("bool", "bool_"):
        return bool(key)
    return asarray(key, device=x.device) if kind.__name__ == "ndarray" else key


def _is_mask(key: Key) -> bool:
    return isinstance(key, Array) and key.dtype.kind == "b"


def _is_flag(key: Key) -> bool:
    """Whether a key is one truth value, which selects all of the array or nothing."""
    return isinstance(key, bool) or (_is_mask(key) and key.ndim == 0)


def _repeated(x: Array, flag: bool | Array) -> Array:
    """A view (1, ...) or (0, ...) of the whole array."""
    if isinstance(flag, Array):
        _same_device(x, flag)
    result: Array = view(x, (int(bool(flag)), *x.shape), (0, *x.strides))
    return result


def _without_flags(x: Array, keys: tuple[Key, ...]) -> tuple[Array, tuple[Key, ...]]:
    """A view and a key in which truth values among other keys are index arrays.

    Each stands for a new axis of extent 1, of which it selects all or nothing.
    """
    if not any(_is_flag(k) for k in keys):
        return x, keys
    axes: list[Key] = []
    for k in _expanded(x, tuple(_FLAG if _is_flag(k) else k for k in keys)):
        if k is _FLAG:
            axes.append(None)
        elif k is not None:
            axes += [slice(None)] * (k.ndim if _is_mask(k) else 1)
    picked = tuple(_zeros(x, int(bool(k))) if _is_flag(k) else k for k in keys)
    return _basic(x, tuple(axes)), picked


def _zeros(x: Array, count: int) -> Array:
    """Indices of a new axis: its only place, or none."""
    result: Array = empty((count,), int64, x.device)
    fill(result, 0)
    return result


def _is_single(value: Any) -> bool:
    return not isinstance(value, Array) or value.ndim == 0


def _store(target: Array, value: Any) -> None:
    """Write a number or an array into a view."""
    if isinstance(value, bool | int | float | complex):
        need_number(value, target.dtype, "a value")
        fill(target, value)
        return
    source = _as_value(target, value)
    _check_shape(target.shape, source)
    while source.ndim > target.ndim:  # extents of 1 in front, as NumPy allows
        source = view(source, source.shape[1:], source.strides[1:])
    assign(target, source)


def _check_shape(wanted: tuple[int, ...], source: Array) -> None:
    """Refuse a value that does not broadcast to a shape; extents of 1 in front are dropped."""
    from phalanx.namespace.manipulation import broadcast_shapes

    shape = source.shape
    if shape == wanted:
        return
    while len(shape) > len(wanted) and shape[0] == 1:
        shape = shape[1:]
    try:
        fits = broadcast_shapes(shape, wanted) == wanted
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"a value of shape {source.shape} does not fit into shape {wanted}")


def _as_value(x: Array, value: Any) -> Array:
    if value is None or isinstance(value, str | bytes | dict | set):
        got = "None" if value is None else type(value).__name__
        raise TypeError(f"a value for an array of {x.dtype} is a number or an array, got {got}")
    if not isinstance(value, Array):
        from phalanx.namespace.conversion import asarray

        made = asarray(value, device=x.device)
        need_kept(made, x.dtype, "a value")
        fits = x.dtype.kind not in "iu" or made.dtype is x.dtype
        value = made if fits else asarray(value, dtype=x.dtype, device=x.device)  # checks the range
    if value.device is not x.device:
        raise DeviceMismatchError(
            f"a value on {value.device} for an array on {x.device}",
            remedy=f'move it with value.to_device("{x.device}")',
        )
    need_kept(value, x.dtype, "a value")
    result: Array = value
    return result


# Basic keys


def _expanded(x: Array, keys: tuple[Key, ...]) -> tuple[Key, ...]:
    """Keys with ``...`` written out and the missing ones added, one per axis and ``None``."""
    used = 0
    ellipses = 0
    for k in keys:
        if k is Ellipsis:
            ellipses += 1
        elif _is_mask(k):
            used += k.ndim
        elif k is not None and k is not _FLAG:
            used += 1
    if ellipses > 1:
        raise IndexError(f"an index may have one ellipsis (...), got {ellipses}")
    if used > x.ndim == 0:
        raise IndexError("a 0-d array has no axes to index: use x.item(), or x[...] to write")
    if used > x.ndim:
        raise IndexError(f"{used} indices for an array of shape {x.shape}: at most {x.ndim} fit")
    rest = (slice(None),) * (x.ndim - used)
    if not ellipses:
        return (*keys, *rest)
    place = next(i for i, k in enumerate(keys) if k is Ellipsis)
    return (*keys[:place], *rest, *keys[place + 1 :])


def _basic(x: Array, keys: tuple[Key, ...]) -> Array:
    """A view by ints, slices and ``None``; array keys take their axes whole."""
    shape: list[int] = []
    strides: list[int] = []
    shift = axis = 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = x.shape[axis], x.strides[axis]
        if isinstance(k, slice):
            begin, length, step = _slice(k, extent)
            shape.append(length)
            strides.append(stride * step)
            shift += begin * stride if length else 0
        elif isinstance(k, Array):
            for a in range(axis, axis + (k.ndim if _is_mask(k) else 1)):
                shape.append(x.shape[a])
                strides.append(x.strides[a])
            axis += k.ndim - 1 if _is_mask(k) else 0
        else:
            shift += _integer(k, extent, axis, x) * stride
        axis += 1
    result: Array = view(x, tuple(shape), tuple(strides), shift)
    return result


def _slice(k: slice, extent: int) -> tuple[int, int, int]:
    try:
        begin, end, step = k.indices(extent)
    except TypeError as error:
        raise IndexError(
            f"a slice takes ints or None, got {k.start!r}, {k.stop!r} and {k.step!r}"
        ) from error
    return begin, len(range(begin, end, step)), step


def _integer(k: Key, extent: int, axis: int, x: Array) -> int:
    try:
        if isinstance(k, bool):
            raise TypeError
        i = operator.index(k)
    except TypeError:
        raise IndexError(
            f"an index is an int, a slice, ..., None, or a phalanx array of bool or integers, "
            f"got {type(k).__name__}"
        ) from None
    if not -extent <= i < extent:
        raise IndexError(f"index {i} is out of range for axis {axis} of shape {x.shape}")
    return i + extent if i < 0 else i


# Boolean masks of the whole array


def _same_device(x: Array, key: Array) -> None:
    if key.device is not x.device:
        raise DeviceMismatchError(
            f"an index on {key.device} for an array on {x.device}",
            remedy=f'move it with key.to_device("{x.device}")',
        )


def _fill_where(x: Array, mask: Array, value: Any) -> None:
    """``x[mask] = value`` for one value, in place."""
    _same_device(x, mask)
    source: Any
    if isinstance(value, Array):
        source = cast(value, x.dtype)
    else:
        need_number(value, x.dtype, "a value")
        whole = x.dtype.kind in "iu" or (isinstance(value, bool) and x.dtype.kind != "b")
        source = int(value) if whole else value
    ternary("where", mask, source, x, x.dtype, x.device, out=x)


def unravel(flat: Array, shape: tuple[int, ...]) -> list[Array]:
    """Flat places as one index array per axis."""
    indices = []
    for axis in range(len(shape)):
        below = math.prod(shape[axis + 1 :])
        place = flat // below if below > 1 else flat
        indices.append(place % shape[axis] if axis else place)
    return indices


# Integer arrays


def _advanced(x: Array, keys: tuple[Key, ...]) -> tuple[Array, list[Array], int]:
    """Split a key with arrays into what gathers and scatters need.

    Returns the view that its basic part gives with the indexed axes first, one int64 index per
    indexed axis (all of one shape), and the place of the index axes in the result.

    Ints count as index arrays here. If all index keys stand together the result has their axes
    there, else in front, as NumPy has it: also where what parts them is a ``...`` of no axes.
    """
    if len(keys) == 1 and x.ndim and isinstance(k := keys[0], Array) and k.dtype.kind in "iu":
        _same_device(x, k)
        return x, [cast(k, int64)], 0
    places = [i for i, k in enumerate(keys) if not _is_basic(k)]
    together = places == list(range(places[0], places[0] + len(places)))
    keys = _expanded(x, keys)
    indexed: list[int] = []  # axes of the basic view
    arrays: list[Array | int] = []
    basic: list[Key] = []
    axis = source_axis = 0
    for k in keys:
        if _is_basic(k):
            basic.append(k)
            axis += 1
            source_axis += 0 if k is None else 1
            continue
        parts = _index_parts(x, k, source_axis)
        for part in parts:
            basic.append(slice(None))
            indexed.append(axis)
            arrays.append(part)
            axis += 1
            source_axis += 1
    base = _basic(x, tuple(basic))
    rest = [a for a in range(base.ndim) if a not in indexed]
    order = [*indexed, *rest]
    front = sum(1 for a in rest if a < indexed[0]) if together else 0
    moved = view(base, tuple(base.shape[a] for a in order), tuple(base.strides[a] for a in order))
    return moved, _common_shape(moved, arrays), front


def _is_basic(k: Key) -> bool:
    return k is None or k is Ellipsis or isinstance(k, slice)


def _index_parts(x: Array, k: Key, axis: int) -> list[Array | int]:
    """The index arrays that one key stands for."""
    if not isinstance(k, Array):
        return [_integer(k, x.shape[axis], axis, x)]
    _same_device(x, k)
    if k.dtype.kind == "b":
        extents = x.shape[axis : axis + k.ndim]
        if any(m not in (0, n) for m, n in zip(k.shape, extents, strict=True)):
            raise IndexError(
                f"a mask of shape {k.shape} at axis {axis} does not fit an array of shape {x.shape}"
            )
        return list(unravel(places_of(k), k.shape))
    if k.dtype.kind not in "iu":
        raise IndexError(
            f"an index array is boolean or integer, got {k.dtype.name}; convert it with "
            "phalanx.astype(key, phalanx.int64)"
        )
    return [cast(k, int64)]


def _common_shape(base: Array, arrays: list[Array | int]) -> list[Array]:
    """The indices of the first axes in one shape; those that are not left there are checked."""
    from phalanx.namespace.creation import full
    from phalanx.namespace.manipulation import broadcast_arrays

    wrapped = [
        full((), a, dtype=int64, device=base.device) if isinstance(a, int) else a for a in arrays
    ]
    try:
        indices = list(broadcast_arrays(*wrapped))
    except ValueError as error:
        raise IndexError(f"index arrays do not broadcast: {error}") from None
    if indices[0].size == 0:
        for axis, index in enumerate(wrapped):
            _along(base, axis, index)
    return indices


def _offsets(base: Array, indices: list[Array]) -> Array:
    """Element offsets of the slices that the indices name, flat; checks every index."""
    from phalanx.namespace.manipulation import reshape

    total: Array | None = None
    for axis, index in enumerate(indices):
        part = _along(base, axis, index)
        total = part if total is None else total + part
    assert total is not None
    return total if total.ndim == 1 else reshape(total, (total.size,))


def _along(base: Array, axis: int, index: Array) -> Array:
    """Element offsets along one axis; checks every index."""
    result: Array = empty(index.shape, int64, base.device)
    if index.size:
        numbers = (base.shape[axis], base.strides[axis])
        launch("wrap_index", (contiguous(index),), (result,), numbers)
    return result


def _slice_at_zero(base: Array, n: int) -> Array:
    """The slice that offset 0 names: the first element along the indexed axes."""
    result: Array = view(base, base.shape[n:], base.strides[n:])
    return result


def _gather(base: Array, indices: list[Array], front: int) -> Array:
    from phalanx.namespace.manipulation import permute_dims, reshape

    n = len(indices)
    shape, inner = indices[0].shape, base.shape[n:]
    offsets = _offsets(base, indices)
    result = empty((offsets.size, *inner), base.dtype, base.device)
    if result.size:
        launch("gather", (_slice_at_zero(base, n), offsets), (result,))
    result = reshape(result, (*shape, *inner))
    k = len(shape)
    if front == 0 or k == 0:
        return result
    order = (*range(k, k + front), *range(k), *range(k + front, k + len(inner)))
    return permute_dims(result, order)


def _scatter(base: Array, indices: list[Array], front: int, value: Any) -> None:
    from phalanx.namespace.manipulation import broadcast_to, permute_dims

    n = len(indices)
    shape, inner = indices[0].shape, base.shape[n:]
    whole = (*inner[:front], *shape, *inner[front:])
    offsets = _offsets(base, indices)
    if isinstance(value, bool | int | float | complex):
        need_number(value, base.dtype, "a value")
        source = empty((), base.dtype, base.device)
        fill(source, value)
    else:
        source = cast(_as_value(base, value), base.dtype)
    _check_shape(whole, source)
    while source.ndim > len(whole):
        source = view(source, source.shape[1:], source.strides[1:])
    spread = source if source.shape == whole else broadcast_to(source, whole)
    if front:
        k = len(shape)
        order = (*range(front, front + k), *range(front), *range(front + k, len(whole)))
        spread = permute_dims(spread, order)
    rows = contiguous(spread)
    if rows.size == 0:
        return
    rows = view(_apart(rows, base), (offsets.size, *inner), _row_strides(inner))
    from phalanx._warm import check_array_writable

    check_array_writable(base)
    launch("scatter", (rows, offsets), (_slice_at_zero(base, n),))


def _apart(source: Array, target: Array) -> Array:
    """``source``, or a copy if it shares memory with ``target``, as scatters read and write."""
    return copy_array(source) if overlaps(source, target) else source


def _row_strides(inner: tuple[int, ...]) -> tuple[int, ...]:
    from phalanx.namespace.manipulation import c_strides

    return (math.prod(inner), *c_strides(inner))
