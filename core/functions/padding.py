"""Arrays with a border: pad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phalanx._warm import Array, assign, default_float, empty, fill
from phalanx.arrays.checks import as_operand, need_array, need_int
from phalanx.arrays.data_types import astype
from phalanx.arrays.promotion import need_number
from phalanx.namespace.creation import arange
from phalanx.namespace.elementwise import floor, round
from phalanx.namespace.manipulation import flip, reshape
from phalanx.namespace.reductions import max, mean, min

Pair = tuple[Any, Any]


def pad(array: Array, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Array:
    """Return the array with a border on each side of each axis, in its dtype.

    Args:
        array: of any shape.
        pad_width: how many elements before and behind: one number for all, ``(before, after)`` for
            all axes, one such pair for each axis, or a dict of numbers or pairs by axis.
        mode: ``"constant"``, ``"empty"``; ``"edge"``, ``"reflect"`` (not repeating the edge),
            ``"symmetric"`` (repeating it), ``"wrap"``; ``"linear_ramp"``; or what the elements of
            the axis give: ``"maximum"``, ``"minimum"``, ``"mean"``, ``"median"``.
        kwargs: ``constant_values`` (default 0), ``end_values`` (default 0), ``stat_length``
            (default all of the axis): as ``pad_width``; ``reflect_type`` is ``"even"`` or
            ``"odd"``, where the border is twice the edge minus its mirror image.

    Axes are filled one after the other, so corners have been filled by the last. Means of integers
    are rounded to the nearest.

    Raises:
        TypeError: an unknown argument, a function as mode, widths that are no ints, a number that
            the dtype cannot hold.
        ValueError: an unknown mode, negative widths, more of them than axes, an axis without
            elements where the border is made of them.

    Examples:
        >>> x = px.asarray([1, 2, 3])
        >>> print(px.pad(x, 2), px.pad(x, (1, 2), mode="reflect"))
        [0 0 1 2 3 0 0] [2 1 2 3 2 1]
    """
    need_array(array, "pad")
    if callable(mode):
        raise TypeError(
            "pad: mode is a name, got a function, which runs on the host: "
            "phalanx.asarray(numpy.pad(phalanx.asnumpy(array), pad_width, function))"
        )
    if mode not in _MODES:
        raise ValueError(f"pad: mode is one of {', '.join(map(repr, _MODES))}, got {mode!r}")
    fill_axis, known = _MODES[mode]
    odd = [name for name in kwargs if name not in known]
    if odd:
        takes = f"takes {', '.join(known)}" if known else "takes no other arguments"
        raise TypeError(f"pad: mode {mode!r} {takes}, got {odd[0]}")
    widths = _widths(array, pad_width)
    options = {name: _option(name, kwargs.get(name), array) for name in known}
    return _padded(array, widths, mode, fill_axis, options)


def _padded(
    array: Array,
    widths: list[tuple[int, int]],
    mode: str,
    fill_axis: Callable[..., None] | None,
    options: dict[str, Any],
) -> Array:
    shape = tuple(b + n + a for (b, a), n in zip(widths, array.shape, strict=True))
    result: Array = empty(shape, array.dtype, array.device)
    inside = tuple(slice(b, b + n) for (b, _), n in zip(widths, array.shape, strict=True))
    if array.size:
        assign(result[inside], array)
    for axis, (before, after) in enumerate(widths):
        if fill_axis is None or before + after == 0:
            continue
        if array.shape[axis] == 0 and mode != "constant":
            raise ValueError(
                f"pad: axis {axis} of shape {array.shape} has no elements to make a border of; "
                'use mode "constant" or "empty"'
            )
        region = result[(slice(None),) * (axis + 1) + inside[axis + 1 :]]
        if region.size:
            own = {name: value[axis] for name, value in options.items()}
            fill_axis(region, axis, before, array.shape[axis], **own)
    return result


def _widths(array: Array, pad_width: Any) -> list[tuple[int, int]]:
    """Two ints for each axis."""
    if isinstance(pad_width, dict):
        chosen: list[Any] = [(0, 0)] * array.ndim
        for axis, value in pad_width.items():
            place = need_int(axis, "pad: an axis of pad_width")
            if not -array.ndim <= place < array.ndim:
                raise IndexError(
                    f"pad: axis {place} of pad_width is out of range for {array.ndim} axes"
                )
            chosen[place] = value if hasattr(value, "__len__") else (value, value)
        pad_width = chosen
    pairs = _pairs(pad_width, array.ndim, "pad_width")
    result = [(need_int(b, "pad: pad_width"), need_int(a, "pad: pad_width")) for b, a in pairs]
    if any(n < 0 for pair in result for n in pair):
        raise ValueError(f"pad: widths are 0 or more, got {pad_width}")
    return result


def _pairs(value: Any, ndim: int, name: str) -> list[Pair]:
    """A number, a pair, or a pair or number for each axis, as a pair for each axis."""
    items = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(items, list | tuple):
        return [(items, items)] * ndim
    rows = list(items)
    if len(rows) == 2 and not any(isinstance(r, list | tuple) for r in rows):
        return [(rows[0], rows[1])] * ndim
    if len(rows) == 1:
        rows = rows * ndim
    pairs = [tuple(r) * (3 - len(r)) if isinstance(r, list | tuple) else (r, r) for r in rows]
    if len(pairs) != ndim or any(len(p) != 2 for p in pairs):
        raise ValueError(
            f"pad: {name} is a number, (before, after), or such a pair for each of {ndim} axes, "
            f"got {value}"
        )
    return pairs


def _option(name: str, value: Any, array: Array) -> list[Any]:
    """A keyword's value for each axis, checked."""
    if name == "reflect_type":
        kind = "even" if value is None else value
        if kind not in ("even", "odd"):
            raise ValueError(f'pad: reflect_type is "even" or "odd", got {value!r}')
        return [kind == "odd"] * array.ndim
    if name == "stat_length":
        if value is None:
            return [(None, None)] * array.ndim
        lengths = _pairs(value, array.ndim, name)
        for n in (n for pair in lengths for n in pair):
            if need_int(n, "pad: stat_length") < 1:
                raise ValueError(f"pad: stat_length is 1 or more, got {n}")
        return lengths
    pairs = _pairs(0 if value is None else value, array.ndim, name)
    numbers = [tuple(as_operand(v) for v in pair) for pair in pairs]
    for number in (v for pair in numbers for v in pair):
        need_number(number, array.dtype, f"pad: {name}")
    return numbers


def _part(x: Array, axis: int, begin: int, end: int) -> Array:
    """A view of a stretch of an axis."""
    return x[(slice(None),) * axis + (slice(begin, end),)]


def _constant(x: Array, axis: int, before: int, n: int, constant_values: Pair) -> None:
    ends = ((0, before), (before + n, x.shape[axis]))
    for (begin, end), value in zip(ends, constant_values, strict=True):
        if end > begin:
            fill(_part(x, axis, begin, end), value)


def _edge(x: Array, axis: int, before: int, n: int) -> None:
    _spread(x, axis, before, n, _part(x, axis, before, before + 1), _last(x, axis, before + n))


def _last(x: Array, axis: int, end: int) -> Array:
    return _part(x, axis, end - 1, end)


def _spread(x: Array, axis: int, before: int, n: int, first: Array, last: Array) -> None:
    """Write one slice into all places before, another into all behind."""
    if before:
        x[(slice(None),) * axis + (slice(0, before),)] = first
    if x.shape[axis] > before + n:
        x[(slice(None),) * axis + (slice(before + n, None),)] = last


def _mirror(x: Array, axis: int, before: int, n: int, reflect_type: bool, *, repeats: bool) -> None:
    """Mirror images at both edges, again and again where the border is longer."""
    if n == 1 and not repeats:
        _edge(x, axis, before, n)
        return
    skip = 0 if repeats else 1
    period, low, high, total = n - skip, before, before + n, x.shape[axis]
    while low > 0:
        k = period if period < low else low
        image = flip(_part(x, axis, low + skip, low + skip + k), axis=axis)
        image = 2 * _part(x, axis, low, low + 1) - image if reflect_type else image
        assign(_part(x, axis, low - k, low), image)
        low -= k
    while high < total:
        k = period if period < total - high else total - high
        image = flip(_part(x, axis, high - skip - k, high - skip), axis=axis)
        image = 2 * _last(x, axis, high) - image if reflect_type else image
        assign(_part(x, axis, high, high + k), image)
        high += k


def _reflect(x: Array, axis: int, before: int, n: int, reflect_type: bool) -> None:
    _mirror(x, axis, before, n, reflect_type, repeats=False)


def _symmetric(x: Array, axis: int, before: int, n: int, reflect_type: bool) -> None:
    _mirror(x, axis, before, n, reflect_type, repeats=True)


def _wrap(x: Array, axis: int, before: int, n: int) -> None:
    low, high, total = before, before + n, x.shape[axis]
    while low > 0:
        k = n if n < low else low
        assign(_part(x, axis, low - k, low), _part(x, axis, low + n - k, low + n))
        low -= k
    while high < total:
        k = n if n < total - high else total - high
        assign(_part(x, axis, high, high + k), _part(x, axis, high - n, high - n + k))
        high += k


def _linear_ramp(x: Array, axis: int, before: int, n: int, end_values: Pair) -> None:
    after = x.shape[axis] - before - n
    if before:
        edge = _part(x, axis, before, before + 1)
        assign(_part(x, axis, 0, before), _ramp(edge, end_values[0], before, axis))
    if after:
        ramp = _ramp(_last(x, axis, before + n), end_values[1], after, axis)
        assign(_part(x, axis, before + n, before + n + after), flip(ramp, axis=axis))


def _ramp(edge: Array, end: Any, count: int, axis: int) -> Array:
    """Even steps from ``end`` to the edge, without it; for integers rounded down."""
    whole = edge.dtype.kind in "iu"
    kind = default_float(edge.device) if whole else edge.dtype
    shape = [1] * edge.ndim
    shape[axis] = count
    places = reshape(astype(arange(count, device=edge.device), kind, copy=False), tuple(shape))
    ramp = places * ((astype(edge, kind, copy=False) - end) / count) + end
    return astype(floor(ramp), edge.dtype) if whole else ramp


def _statistic(
    function: Callable[..., Array],
) -> Callable[[Array, int, int, int, Pair], None]:
    def fill_axis(x: Array, axis: int, before: int, n: int, stat_length: Pair) -> None:
        left, right = (n if s is None or s > n else s for s in stat_length)
        end = before + n
        parts = _part(x, axis, before, before + left), _part(x, axis, end - right, end)
        found = [function(part, axis=axis, keepdims=True) for part in parts]
        if x.dtype.kind in "iu":
            found = [
                f if f.dtype is x.dtype else astype(round(f), x.dtype, copy=False) for f in found
            ]
        _spread(x, axis, before, n, *found)

    return fill_axis


def _median(x: Array, *, axis: int, keepdims: bool) -> Array:
    from .quantiles import median

    return median(x, axis=axis, keepdims=keepdims)


_MODES: dict[str, tuple[Callable[..., None] | None, tuple[str, ...]]] = {
    "constant": (_constant, ("constant_values",)),
    "edge": (_edge, ()),
    "linear_ramp": (_linear_ramp, ("end_values",)),
    "maximum": (_statistic(max), ("stat_length",)),
    "mean": (_statistic(mean), ("stat_length",)),
    "median": (_statistic(_median), ("stat_length",)),
    "minimum": (_statistic(min), ("stat_length",)),
    "reflect": (_reflect, ("reflect_type",)),
    "symmetric": (_symmetric, ("reflect_type",)),
    "wrap": (_wrap, ()),
    "empty": (None, ()),
}
