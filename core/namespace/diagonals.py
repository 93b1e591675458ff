"""Matrices by their diagonals: ones on one of them, or what stands on one side."""

from __future__ import annotations

from phalanx._warm import Array, Device, DType, assign, fill, view

from .creation import arange, zeros
from .elementwise import greater, less_equal, where
from .manipulation import need_array


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
    """
    cols = n_rows if n_cols is None else n_cols
    result = zeros((n_rows, cols), dtype=dtype, device=device)
    first_row, first_col = max(0, -k), max(0, k)
    length = min(n_rows - first_row, cols - first_col)
    if length > 0:
        fill(view(result, (length,), (cols + 1,), first_row * cols + first_col), 1)
    return result


def diag(x: Array, /, k: int = 0) -> Array:
    """Return diagonal ``k`` of a matrix (a view), or a matrix that has a vector there, else zeros.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: another number of axes than one or two.
    """
    need_array(x, "diag")
    if x.ndim == 2:
        from phalanx.linalg import diagonal

        return diagonal(x, offset=k)
    if x.ndim != 1:
        raise ValueError(f"diag takes one or two axes, got shape {x.shape}")
    n = x.size + abs(k)
    result = zeros((n, n), dtype=x.dtype, device=x.device)
    if x.size:
        assign(view(result, (x.size,), (n + 1,), max(0, -k) * n + max(0, k)), x)
    return result


def _triangle(x: Array, k: int, lower: bool) -> Array:
    """Keep the part of the last two axes on one side of diagonal ``k``."""
    need_array(x, "tril" if lower else "triu")
    if x.ndim < 2:
        raise ValueError(f"tril and triu need two axes or more, got shape {x.shape}")
    rows, cols = x.shape[-2:]
    row = view(arange(rows, device=x.device), (rows, 1), (1, 0))
    col = view(arange(cols, device=x.device), (1, cols), (0, 1))
    kept = less_equal(col - row, k) if lower else greater(col - row, k - 1)
    return where(kept, x, False if x.dtype.kind == "b" else 0)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangle of the last two axes, zeros above diagonal ``k``.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: fewer than two axes.
    """
    return _triangle(x, k, lower=True)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangle of the last two axes, zeros below diagonal ``k``.

    Raises:
        TypeError: ``x`` is no array.
        ValueError: fewer than two axes.
    """
    return _triangle(x, k, lower=False)
