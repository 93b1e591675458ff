"""Norms of matrices and vectors, and condition numbers."""

from __future__ import annotations

from typing import Literal

from phalanx._warm import Array, cast, normal_axis
from phalanx.arrays.checks import need_array, need_real
from phalanx.arrays.data_types import float32
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.manipulation import expand_dims

from .lu import inverses
from .operands import CONVERT, factored, matrices
from .singular import singular_values, svdvals

_Order = int | float | Literal["fro", "nuc"] | None
_ORDERS = ("fro", "nuc", 1, 2, float("inf"), -1, -2, float("-inf"), None)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Return a norm of matrices: Frobenius, nuclear, or 1, 2, inf and their negatives.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes, or another ``ord``.

    Examples:
        >>> x = px.asarray([[1.0, -2.0], [3.0, 4.0]])
        >>> float(px.linalg.matrix_norm(x, ord=1)), float(px.linalg.matrix_norm(x, ord=px.inf))
        (6.0, 7.0)
    """
    matrices(x, "matrix_norm")
    if ord not in _ORDERS:
        raise ValueError(
            f'matrix_norm: ord is "fro", "nuc", 1, 2, inf, -1, -2 or -inf, got {ord!r}'
        )
    if ord in ("fro", None):
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in (2, -2, "nuc"):
        values = svdvals(x)
        if ord == "nuc":
            norm = reductions.sum(values, axis=-1)
        else:
            norm = (_largest if ord == 2 else reductions.min)(values, axis=-1)
    else:
        sums = reductions.sum(elementwise.abs(x), axis=-2 if ord in (1, -1) else -1)
        norm = (_largest if ord in (1, float("inf")) else reductions.min)(sums, axis=-1)
    return expand_dims(norm, axis=(-2, -1)) if keepdims else norm


def _largest(sizes: Array, *, axis: int | tuple[int, ...] | None, keepdims: bool = False) -> Array:
    """The largest of magnitudes, 0 of none."""
    pick = reductions.max if sizes.size else reductions.sum
    return pick(sizes, axis=axis, keepdims=keepdims)


def cond(x: Array, /, p: _Order = None) -> Array:
    """Return condition numbers: the norm times that of the inverse, in any norm of ``matrix_norm``.

    The default is the largest singular value over the smallest, of any matrices; -2 is the smallest
    over the largest. Singular matrices have infinity, and 0 for -2 unless they are zeros: by
    singular values as far as these are not rounded. Name and default are NumPy's.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes, matrices without elements, not square for other norms, or
            another ``p``; for 2, -2 and "nuc" also elements that are NaN or infinite.

    Examples:
        >>> x = px.asarray([[4.0, 0.0], [0.0, 0.5]])
        >>> float(px.linalg.cond(x)), float(px.linalg.cond(x, 1))
        (8.0, 8.0)
    """
    by_values = p in (None, 2, -2)
    factored(x, "cond", square=not by_values)
    if 0 in x.shape[-2:]:
        raise ValueError(f"cond takes matrices with elements, got shape {x.shape}")
    if by_values:
        values = singular_values(x, "cond")
        first, last = values[..., 0], values[..., -1]
        ratio = last / first if p == -2 else first / last
        both = (first == 0) & (last == 0)
        return elementwise.where(both, float("inf"), ratio)
    norm = matrix_norm(x, ord=p)
    if not x.size:
        return norm
    inverse, singular = inverses(x)
    infinite = singular & ~elementwise.isnan(norm)
    return elementwise.where(infinite, float("inf"), norm * matrix_norm(inverse, ord=p))


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | float = 2,
) -> Array:
    """Return the p-norm of the vectors along axes (default: of all elements).

    ``ord`` may be inf, -inf (largest and smallest magnitude) and 0 (number of non-zero elements).
    The norm of no elements is 0, and -inf refuses them. float16 and bfloat16 are computed in
    float32.

    Raises:
        TypeError: no array of a floating or complex dtype.
        IndexError: an axis that is not there.

    Examples:
        >>> x = px.asarray([[3.0, 4.0], [-5.0, 12.0]])
        >>> print(px.linalg.vector_norm(x, axis=1), px.linalg.vector_norm(x, axis=1, ord=px.inf))
        [ 5. 13.] [ 4. 12.]
    """
    need_array(x, "vector_norm")
    if x.dtype.kind not in "fc":
        raise TypeError(f"vector_norm takes a floating array, got {x.dtype}; {CONVERT}")
    need_real(ord, "vector_norm: ord")
    for a in () if axis is None else axis if isinstance(axis, tuple) else (axis,):
        normal_axis(a, x, "vector_norm")
    if x.dtype.itemsize == 2:
        return cast(_vector_norm(cast(x, float32), axis, keepdims, ord), x.dtype)
    return _vector_norm(x, axis, keepdims, ord)


def _vector_norm(
    x: Array, axis: int | tuple[int, ...] | None, keepdims: bool, ord: int | float
) -> Array:
    size = elementwise.abs(x)
    if ord == float("inf"):
        return _largest(size, axis=axis, keepdims=keepdims)
    if ord == float("-inf"):
        return reductions.min(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return cast(reductions.count_nonzero(x, axis=axis, keepdims=keepdims), size.dtype)
    if ord == 1:
        return reductions.sum(size, axis=axis, keepdims=keepdims)
    if ord == 2:
        squares = reductions.sum(elementwise.square(size), axis=axis, keepdims=keepdims)
        return elementwise.sqrt(squares)
    powers = reductions.sum(elementwise.pow(size, float(ord)), axis=axis, keepdims=keepdims)
    return elementwise.pow(powers, 1.0 / ord)
