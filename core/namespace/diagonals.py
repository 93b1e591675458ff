"""Matrices by their diagonals: ones on one of them, what stands there or on one side."""

from __future__ import annotations

from phalanx._warm import Array, Device, DType, assign, diagonal_of, mark_diagonal, triangle, view
from phalanx.arrays.checks import need_array, need_int

from .creation import zeros
from .reductions import sum


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | str | None = None,
    device: str | Device | None = None,
) -> Array:
    """Return a matrix with ones on diagonal ``k`` (positive is above the main one), else zeros.

    Raises:
        DeviceNotFoundError: no such device.
        OutOfMemoryError: the memory does not suffice; the message says what holds it.
        TypeError: no dtype, or a shape that is not made of ints.
        ValueError: a negative extent.

    Examples:
        >>> print(px.eye(2, 3, k=1, dtype=px.int64))
        [[0 1 0]
         [0 0 1]]
    """
    k = need_int(k, "eye: k")
    cols = n_rows if n_cols is None else n_cols
    result = zeros((n_rows, cols), dtype=dtype, device=device)
    mark_diagonal(result, max(-n_rows, min(k, cols)))
    return result


def diag(x: Array, /, k: int = 0) -> Array:
    """Return diagonal ``k`` of a matrix (a view), or a matrix that has a vector there, else zeros.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: another number of axes than one or two.

    Examples:
        >>> print(px.diag(px.asarray([1, 2]), k=1))
        [[0 1 0]
         [0 0 2]
         [0 0 0]]
    """
    need_array(x, "diag")
    need_int(k, "diag: k")
    if x.ndim == 2:
        return diagonal(x, offset=k)
    if x.ndim != 1:
        raise ValueError(f"diag takes an array of one or two axes, got shape {x.shape}")
    n = x.size + abs(k)
    result = zeros((n, n), dtype=x.dtype, device=x.device)
    if x.size:
        assign(view(result, (x.size,), (n + 1,), max(0, -k) * n + max(0, k)), x)
    return result


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return a view (..., k) of a diagonal of the last two axes; positive offsets lie above.

    Raises:
        TypeError: ``x`` is no array, or the offset no int.
        ValueError: fewer than two axes.

    Examples:
        >>> print(px.linalg.diagonal(px.asarray([[1, 2, 3], [4, 5, 6]]), offset=1))
        [2 6]
    """
    need_array(x, "diagonal")
    if x.ndim < 2:
        raise ValueError(f"diagonal takes matrices (..., n, m), got shape {x.shape}")
    result: Array = diagonal_of(x, need_int(offset, "diagonal: offset"))
    return result


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sum of a diagonal of the last two axes, typed as ``sum``.

    Errors are those of ``diagonal``.

    Examples:
        >>> int(px.linalg.trace(px.asarray([[1, 2, 3], [4, 5, 6]]), offset=1))
        8
    """
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def _triangle(x: Array, k: int, lower: bool) -> Array:
    """Keep the part of the last two axes on one side of diagonal ``k``."""
    op = "tril" if lower else "triu"
    need_array(x, op)
    k = need_int(k, f"{op}: k")
    if x.ndim < 2:
        raise ValueError(f"{op} takes an array of two axes or more, got shape {x.shape}")
    result: Array = triangle(x, k, lower)
    return result


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangle of the last two axes, zeros above diagonal ``k``.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: fewer than two axes.

    Examples:
        >>> print(px.tril(px.asarray([[1, 2, 3], [4, 5, 6]]), k=1))
        [[1 2 0]
         [4 5 6]]
    """
    return _triangle(x, k, lower=True)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangle of the last two axes, zeros below diagonal ``k``.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: fewer than two axes.

    Examples:
        >>> print(px.triu(px.asarray([[1, 2, 3], [4, 5, 6]]), k=1))
        [[0 2 3]
         [0 0 6]]
    """
    return _triangle(x, k, lower=False)
