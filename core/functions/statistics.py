"""Covariances, weighted means, ranges of values and running extremes."""

from __future__ import annotations

from typing import Any

from phalanx._warm import (
    Array,
    DType,
    assign,
    default_float,
    launch_elementwise,
    normal_axis,
    running_on_host,
    view,
)
from phalanx._warm import copy as copy_array
from phalanx.arrays.checks import need_array, need_int, need_one_device
from phalanx.arrays.data_types import as_dtype, astype, result_type
from phalanx.namespace.creation import empty_like
from phalanx.namespace.elementwise import clip, conj, maximum, multiply, real, sqrt
from phalanx.namespace.elementwise import imag as imaginary
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_to, concat, matrix_transpose, reshape
from phalanx.namespace.reductions import max as largest
from phalanx.namespace.reductions import mean, sum
from phalanx.namespace.reductions import min as smallest
from phalanx.namespace.running import running_axis

Axis = int | tuple[int, ...] | None


def ptp(a: Array, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """Return the largest less the smallest element over axes (default: all).

    The dtype is that of ``a``, in which integers wrap. Errors are those of ``max``.

    Examples:
        >>> print(px.ptp(px.asarray([[4, 9], [7, 1]]), axis=1))
        [5 6]
    """
    need_array(a, "ptp")
    return largest(a, axis=axis, keepdims=keepdims) - smallest(a, axis=axis, keepdims=keepdims)


def average(
    a: Array,
    axis: Axis = None,
    weights: Array | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """Return the weighted mean over axes (default: all): the sum of products over that of weights.

    Args:
        a: of any shape; integers count as the default float.
        axis: one or several.
        weights: of the shape of ``a``, or of the axes; without them this is ``mean``.
        returned: return the sum of weights, too.
        keepdims: whether the axes stay, with the extent 1.

    Weights whose sum is 0 give NaN or infinity; the host does not wait to find out.

    Raises:
        TypeError: no arrays, or booleans.
        ValueError: weights of another shape.

    Examples:
        >>> print(px.average(px.asarray([1.0, 2.0, 4.0]), weights=px.asarray([1, 1, 2])))
        2.75
    """
    need_array(a, "average")
    if weights is None:
        found = mean(a, axis=axis, keepdims=keepdims)
        count = a.size // max(found.size, 1)
        return (found, found * 0 + count) if returned else found
    need_array(weights, "average: weights")
    need_one_device("average", a, weights)
    given = range(a.ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = [normal_axis(x, a, "average") for x in given]
    if weights.shape != a.shape:
        extents = tuple(a.shape[x] for x in axes)
        if weights.shape != extents:
            raise ValueError(
                f"average: weights of shape {weights.shape} for an array of shape {a.shape} over "
                f"axes of extents {extents}; they have one of these shapes"
            )
        shape = [1] * a.ndim
        strides = [0] * a.ndim
        for place, x in enumerate(axes):
            shape[x], strides[x] = weights.shape[place], weights.strides[place]
        weights = view(weights, tuple(shape), tuple(strides))
    dtype = result_type(a, weights)
    dtype = default_float(a.device) if dtype.kind in "biu" else dtype
    w = broadcast_to(astype(weights, dtype, copy=False), a.shape)
    total = sum(w, axis=tuple(axes), keepdims=keepdims)
    products = multiply(astype(a, dtype, copy=False), w)
    result = sum(products, axis=tuple(axes), keepdims=keepdims) / total
    return (result, total) if returned else result


def _variables(m: Array, y: Array | None, rowvar: bool, dtype: Any, op: str) -> Array:
    """The observations as floats (variables, observations)."""
    need_array(m, op)
    if m.ndim > 2:
        raise ValueError(f"{op} takes an array of one or two axes, got shape {m.shape}")
    arrays = [m]
    if y is not None:
        need_array(y, f"{op}: y")
        need_one_device(op, m, y)
        if y.ndim > 2:
            raise ValueError(f"{op}: y has one or two axes, got shape {y.shape}")
        arrays.append(y)
    kind: DType = as_dtype(dtype) or result_type(*arrays)
    kind = default_float(m.device) if kind.kind in "biu" else kind
    rows = []
    for x in arrays:
        flat = reshape(x, (1, x.size)) if x.ndim < 2 else x
        turned = not rowvar and x.ndim == 2
        rows.append(astype(matrix_transpose(flat) if turned else flat, kind, copy=False))
    if len({r.shape[1] for r in rows}) > 1:
        raise ValueError(
            f"{op}: m and y have {rows[0].shape[1]} and {rows[1].shape[1]} observations"
        )
    return rows[0] if y is None else concat(rows, axis=0)


def cov(
    m: Array,
    y: Array | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Array | None = None,
    aweights: Array | None = None,
    *,
    dtype: DType | str | None = None,
) -> Array:
    """Return the covariances (v, v) of v variables; of one variable its variance, 0-d.

    Args:
        m: observations: (v, n), or (n, v) without ``rowvar``, or (n,) of one variable.
        y: more variables, in the same form.
        rowvar: whether rows are variables.
        bias: divide by n instead of n - 1.
        ddof: divide by n - ddof instead.
        fweights: how often each observation was made: integers (n,).
        aweights: what each observation weighs: (n,).
        dtype: of the computation and the result; without it that of the operands, the default
            float for integers.

    Deviations from the means are multiplied in the order of ``matmul``. With too few observations
    the result is NaN or infinite.

    Raises:
        TypeError: no arrays, ``ddof`` that is no int, ``fweights`` that are no integers.
        ValueError: more than two axes, other numbers of observations or weights.

    Examples:
        >>> print(px.cov(px.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])))
        [[ 1. -1.]
         [-1.  1.]]
    """
    x = _variables(m, y, rowvar, dtype, "cov")
    shift = int(not bias) if ddof is None else need_int(ddof, "cov: ddof")
    w = _observation_weights(x, fweights, aweights)
    if w is None:
        center = mean(x, axis=1, keepdims=True)
        deviation = x - center
        factor: Any = max(x.shape[1] - shift, 0)
        weighted = deviation
    else:
        total = sum(w)
        deviation = x - sum(x * w, axis=1, keepdims=True) / total
        weighted = deviation * w
        factor = maximum(_factor(w, aweights, total, shift), 0)
    product = matmul(
        deviation, matrix_transpose(conj(weighted) if x.dtype.kind == "c" else weighted)
    )
    result = product / factor if isinstance(factor, Array) else product / float(factor)
    return reshape(result, ()) if result.size == 1 else result


def _observation_weights(x: Array, fweights: Any, aweights: Any) -> Array | None:
    """The product of both kinds, in the real dtype of the observations."""
    made: Array | None = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        need_array(given, f"cov: {name}")
        need_one_device("cov", x, given)
        if given.shape != (x.shape[1],):
            raise ValueError(
                f"cov: {name} of shape {given.shape} for {x.shape[1]} observations; they are one "
                "for each"
            )
        if name == "fweights" and given.dtype.kind not in "iu":
            raise TypeError(f"cov: fweights are integers, got {given.dtype}; use aweights")
        part = astype(given, real(x).dtype if x.dtype.kind == "c" else x.dtype, copy=False)
        made = part if made is None else made * part
    return made


def _factor(w: Array, aweights: Array | None, total: Array, shift: int) -> Array:
    if shift == 0:
        return total
    if aweights is None:
        return total - shift
    return total - sum(w * astype(aweights, w.dtype, copy=False)) * shift / total


def corrcoef(
    x: Array,
    y: Array | None = None,
    rowvar: bool = True,
    *,
    dtype: DType | str | None = None,
) -> Array:
    """Return Pearson's correlation coefficients (v, v) of v variables; of one variable 1, 0-d.

    Covariances over the roots of both variances, kept within -1 and 1. Arguments and errors are
    those of ``cov``.

    Examples:
        >>> print(px.corrcoef(px.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]])))
        [[ 1. -1.]
         [-1.  1.]]
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    n = c.shape[0]
    diagonal = view(c, (n,), (c.strides[0] + c.strides[1],))
    deviation = sqrt(real(diagonal) if c.dtype.kind == "c" else diagonal)
    result = c / reshape(deviation, (n, 1)) / reshape(deviation, (1, n))
    if c.dtype.kind != "c":
        return clip(result, -1, 1)
    parts = clip(real(result), -1, 1), clip(imaginary(result), -1, 1)
    return parts[0] + parts[1] * 1j


def cumulative_max(x: Array, /, axis: int | None = None) -> Array:
    """Return the running maximum along an axis, in the dtype of ``x``; exact.

    NaN propagates. ``axis`` may be left out for one axis only. (NumPy writes it
    ``maximum.accumulate``, PyTorch ``cummax``, which also returns places; the name here goes with
    the standard's ``cumulative_sum``.)

    Raises:
        IndexError: an axis that is not there.
        TypeError: booleans and complex numbers, which have no order.
        ValueError: a 0-d array, or no ``axis`` for several.

    Examples:
        >>> print(px.cumulative_max(px.asarray([1, 3, 2, 5])))
        [1 3 3 5]
    """
    return _running(x, axis, "maximum", "cumulative_max")


def cumulative_min(x: Array, /, axis: int | None = None) -> Array:
    """Return the running minimum along an axis, as ``cumulative_max`` does the maximum.

    Examples:
        >>> print(px.cumulative_min(px.asarray([4, 3, 5, 1])))
        [4 3 3 1]
    """
    return _running(x, axis, "minimum", "cumulative_min")


def _running(x: Array, axis: int | None, function: str, op: str) -> Array:
    """Extremes of stretches that double in length: one pass for each doubling."""
    need_array(x, op)
    if x.dtype.kind not in "iuf":
        raise TypeError(f"{op} is not defined for {x.dtype}: it has no order")
    axis = running_axis(x, axis, op)
    ran: Array | None = running_on_host(x, axis, function == "maximum")
    if ran is not None:
        return ran
    result: Array = copy_array(x)
    lead, n, rest = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    reach = 1

    def part(of: Array, begin: int, length: int) -> Array:
        found: Array = view(of, (*lead, length, *rest), of.strides, begin * of.strides[axis])
        return found

    while reach < n:
        made = empty_like(result)
        assign(part(made, 0, reach), part(result, 0, reach))
        later, earlier = part(result, reach, n - reach), part(result, 0, n - reach)
        launch_elementwise(function, (later, earlier), part(made, reach, n - reach))
        result, reach = made, 2 * reach
    return result
