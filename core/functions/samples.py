"""Functions given by samples: gradient, trapezoid, unwrap, interp; geomspace makes samples."""

from __future__ import annotations

import math
from typing import Any

from phalanx._warm import Array, Device, DType, default_float, normal_axis, straight_few
from phalanx.arrays.checks import as_operand, need_array, need_int, need_one_device, need_real
from phalanx.arrays.data_types import as_dtype, astype, result_type
from phalanx.namespace.conversion import asarray
from phalanx.namespace.creation import full, logspace, zeros
from phalanx.namespace.elementwise import clip, equal, isnan, remainder, where
from phalanx.namespace.manipulation import concat, reshape
from phalanx.namespace.reductions import sum
from phalanx.namespace.running import cumulative_sum, diff
from phalanx.namespace.searching import searchsorted
from phalanx.namespace.sorting import argsort
from phalanx.namespace.taking import take


def trapezoid(y: Array, x: Array | None = None, dx: float | Array = 1.0, axis: int = -1) -> Array:
    """Return the integral of samples along an axis by the trapezoidal rule.

    Args:
        y: the samples.
        x: where they were taken: (n,), or of the shape of ``y``.
        dx: without ``x``, the distance between them.
        axis: along which to integrate.

    The areas are added in the tree of ``sum``.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no arrays.
        ValueError: another number of places than of samples.

    Examples:
        >>> y = px.asarray([1.0, 2.0, 3.0])
        >>> print(px.trapezoid(y), px.trapezoid(y, x=px.asarray([4.0, 6.0, 8.0])))
        4.0 8.0
    """
    need_array(y, "trapezoid")
    axis = normal_axis(axis, y, "trapezoid")
    y = astype(y, default_float(y.device)) if y.dtype.kind in "biu" else y
    width: Any = as_operand(dx)
    if x is not None:
        need_array(x, "trapezoid: x")
        need_one_device("trapezoid", y, x)
        n = x.shape[0] if x.ndim == 1 else x.shape[axis] if x.ndim == y.ndim else -1
        if n != y.shape[axis]:
            raise ValueError(
                f"trapezoid: x of shape {x.shape} does not fit y of shape {y.shape} along axis "
                f"{axis}"
            )
        width = diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = width.size
            width = reshape(width, tuple(shape))
    lead = (slice(None),) * axis
    return sum((y[(*lead, slice(1, None))] + y[(*lead, slice(None, -1))]) * width / 2.0, axis=axis)


def unwrap(
    p: Array, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Array:
    """Return samples of an angle without its jumps: steps become those of least size.

    Args:
        p: the samples; integers stay integers if the period is one.
        discont: steps smaller than this stay as they are; at least half a period, which is the
            default.
        axis: along which to go.
        period: of the angle, over 0.

    A step of half a period keeps its sign. The corrections are added in the tree of
    ``cumulative_sum``.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array of real numbers, a ``discont`` or ``period`` that is no real number.
        ValueError: a period that is not over 0.

    Examples:
        >>> print(px.unwrap(px.asarray([0, 3, 2, 1]), period=4))
        [ 0 -1 -2 -3]
    """
    need_array(p, "unwrap")
    axis = normal_axis(axis, p, "unwrap")
    need_real(period, "unwrap: period")
    if p.dtype.kind in "bc":
        raise TypeError(
            f"unwrap takes real numbers, got {p.dtype.name}; of complex numbers unwrap "
            "phalanx.atan2(x.imag, x.real)"
        )
    if not 0 < period < math.inf:
        raise ValueError(f"unwrap: period is over 0 and finite, got {period}")
    if discont is not None:
        need_real(discont, "unwrap: discont")
    whole = p.dtype.kind in "iu" and isinstance(period, int)
    p = p if whole or p.dtype.kind == "f" else astype(p, default_float(p.device))
    if p.shape[axis] < 2:
        return astype(p, p.dtype)
    half: Any = period // 2 if whole else period / 2
    step = diff(p, axis=axis)
    short = remainder(step + half, period) - half
    if not whole or period % 2 == 0:
        short = where((short == -half) & (step > 0), half, short)
    kept = abs(step) < (period / 2 if discont is None else discont)
    turns = cumulative_sum(where(kept, 0, short - step), axis=axis)
    lead = (slice(None),) * axis
    return concat([p[(*lead, slice(0, 1))], p[(*lead, slice(1, None))] + turns], axis=axis)


def gradient(
    f: Array, *varargs: Any, axis: int | tuple[int, ...] | None = None, edge_order: int = 1
) -> Any:
    """Return the slopes of samples along axes: second-order differences, one-sided at the ends.

    Args:
        f: the samples.
        varargs: distances: nothing for 1, one number for all axes, or for each axis a number or
            the places (n,) of its samples.
        axis: the axes (default: all). Of several the result is a tuple with the slopes along each.
        edge_order: 1 or 2, the order at the ends.

    The formulas for uneven places are those of Quarteroni, Sacco and Saleri, Numerical
    Mathematics, 2nd ed., 2007, 10.10, as NumPy has them.

    Raises:
        IndexError: an axis that is not there.
        TypeError: no array, booleans, or another number of distances than of axes.
        ValueError: fewer than ``edge_order + 1`` samples, another ``edge_order``, places that do
            not fit.

    Examples:
        >>> print(px.gradient(px.asarray([1.0, 2.0, 4.0, 7.0])))
        [1.  1.5 2.5 3. ]
    """
    need_array(f, "gradient")
    if f.dtype.kind == "b":
        raise TypeError("gradient is not defined for bool; use phalanx.astype(x, phalanx.float64)")
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is 1 or 2, got {edge_order}")
    f = astype(f, default_float(f.device)) if f.dtype.kind in "iu" else f
    given = range(f.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [normal_axis(a, f, "gradient") for a in given]
    steps = _distances(f, axes, varargs)
    found = [_slopes(f, a, h, edge_order) for a, h in zip(axes, steps, strict=True)]
    single = len(found) == 1 and (axis is None or not isinstance(axis, tuple | list))
    return found[0] if single else tuple(found)


def _distances(f: Array, axes: list[int], varargs: tuple[Any, ...]) -> list[Any]:
    """For each axis a number, or the differences of its places."""
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient takes no distance, one, or one for each of {len(axes)} axes, got "
            f"{len(varargs)}"
        )
    values = varargs or (1.0,)
    values = values * len(axes) if len(values) == 1 else values
    steps: list[Any] = []
    for a, value in zip(axes, values, strict=True):
        number = as_operand(value)
        if isinstance(number, list | tuple) or type(number).__name__ == "ndarray":
            number = asarray(number, device=f.device)
        if not isinstance(number, Array):
            need_real(number, "gradient: a distance")
            steps.append(float(number))
        elif number.ndim == 0:
            steps.append(number)
        elif number.shape != (f.shape[a],):
            raise ValueError(
                f"gradient: places of shape {number.shape} for {f.shape[a]} samples along axis {a}"
            )
        else:
            places = number if number.dtype.kind == "f" else astype(number, f.dtype)
            steps.append(diff(places))
    return steps


def _slopes(f: Array, axis: int, h: Any, edge_order: int) -> Array:
    n = f.shape[axis]
    if n < edge_order + 1:
        raise ValueError(
            f"gradient needs at least {edge_order + 1} samples along axis {axis} of shape {f.shape}"
        )
    lead = (slice(None),) * axis

    def at(begin: int, end: int | None) -> Array:
        return f[(*lead, slice(begin, end))]

    if isinstance(h, Array) and h.ndim:
        shape = [1] * f.ndim
        shape[axis] = n - 1
        h = reshape(h, tuple(shape))
        before, behind = h[(*lead, slice(0, -1))], h[(*lead, slice(1, None))]
        first, last = h[(*lead, slice(0, 1))], h[(*lead, slice(-1, None))]
        a = -behind / (before * (before + behind))
        b = (behind - before) / (before * behind)
        c = before / (behind * (before + behind))
        middle = a * at(0, -2) + b * at(1, -1) + c * at(2, None)
    else:
        before = behind = first = last = h
        middle = (at(2, None) - at(0, -2)) / (2.0 * h)
    if edge_order == 1:
        ends = (at(1, 2) - at(0, 1)) / first, (at(n - 1, None) - at(n - 2, n - 1)) / last
    else:
        left, right = _pairs(h, lead)
        ends = _edge(f, lead, (0, 1, 2), left), _edge(f, lead, (n - 1, n - 2, n - 3), right, -1)
    return concat([ends[0], middle, ends[1]], axis=axis)


def _pairs(h: Any, lead: tuple[slice, ...]) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The two distances at each end, from the outside."""
    if not isinstance(h, Array) or not h.ndim:
        return (h, h), (h, h)

    def one(i: int) -> Array:
        return h[(*lead, slice(i, i + 1 or None))]

    return (one(0), one(1)), (one(-1), one(-2))


def _edge(
    f: Array,
    lead: tuple[slice, ...],
    places: tuple[int, int, int],
    h: tuple[Any, Any],
    sign: int = 1,
) -> Array:
    """The one-sided slope of second order."""
    d1, d2 = h
    a = -(2.0 * d1 + d2) / (d1 * (d1 + d2))
    b = (d1 + d2) / (d1 * d2)
    c = -d1 / (d2 * (d1 + d2))
    parts = [f[(*lead, slice(i, i + 1))] for i in places]
    result: Array = (parts[0] * a + parts[1] * b + parts[2] * c) * sign
    return result


def interp(
    x: Array | float,
    xp: Array,
    fp: Array,
    left: complex | None = None,
    right: complex | None = None,
    period: float | None = None,
) -> Array:
    """Return at ``x`` the function that goes straight from sample to sample.

    Args:
        x: where to evaluate; of any shape, or a number.
        xp: where samples were taken: (n,), ascending, which is not looked at.
        fp: the samples (n,).
        left: below the first sample; without it the first sample.
        right: above the last one; without it the last sample.
        period: of the function; ``xp`` then need not ascend, ``left`` and ``right`` do not count.

    Between an infinite sample and the next one it is NaN; NumPy continues the infinity there.

    Raises:
        TypeError: no arrays, complex places.
        ValueError: no samples, other than one axis, another number of samples than of places, a
            period of 0.

    Examples:
        >>> xp, fp = px.asarray([1.0, 2.0, 4.0]), px.asarray([10.0, 20.0, 0.0])
        >>> print(px.interp(px.asarray([0.0, 1.5, 3.0]), xp, fp))
        [10. 15. 10.]
    """
    if left is None and right is None and period is None:
        few: Array | None = straight_few(x, xp, fp)
        if few is not None:
            return few
    need_array(xp, "interp: xp")
    need_array(fp, "interp: fp")
    if xp.ndim != 1 or fp.shape != xp.shape or not xp.size:
        raise ValueError(
            f"interp takes samples (n,) at places (n,), got shapes {fp.shape} and {xp.shape}"
        )
    x = as_operand(x)
    if not isinstance(x, Array):
        need_real(x, "interp: x")
        x = full((), x, dtype=default_float(xp.device), device=xp.device)
    need_one_device("interp", x, xp, fp)
    kind = result_type(x, xp)
    kind = default_float(x.device) if kind.kind in "biu" else kind
    if kind.kind == "c":
        raise TypeError("interp: places are real; only samples may be complex")
    x, xp = astype(x, kind, copy=False), astype(xp, kind, copy=False)
    whole = result_type(fp, kind)
    fp = astype(fp, whole, copy=False)
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, period)
        left = right = None
    return _straight(x, xp, fp, left, right)


def _periodic(x: Array, xp: Array, fp: Array, period: Any) -> tuple[Array, Array, Array]:
    """Places within one period, in order, with a sample more at either end."""
    need_real(period, "interp: period")
    if period == 0:
        raise ValueError("interp: period is not 0")
    length = abs(float(period))
    x, xp = remainder(x, length), remainder(xp, length)
    order = argsort(xp)
    xp, fp = take(xp, order), take(fp, order)
    return x, concat([xp[-1:] - length, xp, xp[:1] + length]), concat([fp[-1:], fp, fp[:1]])


def _straight(x: Array, xp: Array, fp: Array, left: Any, right: Any) -> Array:
    """The values at places of any shape."""

    def number(value: Any) -> Array:
        return full((), as_operand(value), dtype=fp.dtype, device=fp.device)

    if x.ndim != 1:
        return reshape(_straight(reshape(x, (x.size,)), xp, fp, left, right), x.shape)
    # a place beyond the samples is moved to the outermost ones; NaN stays, and finds the last one
    inner = clip(x, xp[0], xp[-1])
    at = searchsorted(xp[1:], inner, side="right")
    slopes = zeros(fp.shape, dtype=fp.dtype, device=fp.device)
    slopes[:-1] = diff(fp) / diff(xp)
    below, slope, first = (take(v, at) for v in (xp, slopes, fp))
    result = where(equal(inner, below), first, slope * (inner - below) + first)
    result = where(x < xp[0], fp[0] if left is None else number(left), result)
    if right is not None:
        result = where(x > xp[-1], number(right), result)
    if fp.dtype.kind != "c":
        return result
    return where(isnan(x), number(math.nan), result)


def geomspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    dtype: DType | str | None = None,
    *,
    device: str | Device | None = None,
) -> Array:
    """Return ``num`` numbers from ``start`` to ``stop``, each the same multiple of the one before.

    Computed by ``logspace``, in float64 where the device has it; the ends are exact. Both are
    negative or both positive.

    Raises:
        TypeError: ends that are no real numbers.
        ValueError: an end of 0, ends of different signs, a negative ``num``.

    Examples:
        >>> print(px.geomspace(1, 1000, num=4))
        [   1.   10.  100. 1000.]
    """
    first, last = as_operand(start), as_operand(stop)
    need_real(first, "geomspace: start")
    need_real(last, "geomspace: stop")
    count = need_int(num, "geomspace: num")
    if min(first, last) <= 0 <= max(first, last):
        raise ValueError(
            f"geomspace: start and stop are not 0 and of one sign, got {start} and {stop}"
        )
    sign = 1.0 if first > 0 else -1.0
    ends = math.log10(abs(first)), math.log10(abs(last))
    made = logspace(*ends, count, endpoint=endpoint, device=device) * sign
    if count:
        made[0] = float(first)
    if count > 1 and endpoint:
        made[-1] = float(last)
    kind = as_dtype(dtype)
    return made if kind is None else astype(made, kind, copy=False)
