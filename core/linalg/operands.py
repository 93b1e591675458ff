"""What the functions take: checks, and matrices as stacks (b, m, n) that may be overwritten."""

from __future__ import annotations

import math

from phalanx._warm import Array, DType, cast, rows_at
from phalanx.arrays.checks import need_array
from phalanx.arrays.data_types import finfo, int64
from phalanx.namespace.elementwise import conj
from phalanx.namespace.manipulation import expand_dims, reshape

CONVERT = "convert it with phalanx.astype(x, phalanx.float64)"


def matrices(x: Array, op: str, *, square: bool = False) -> None:
    """Refuse what is no floating array of matrices.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes, or not square.
    """
    need_array(x, op)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ValueError(f"{op} takes {kind} (..., n, m) on the last two axes, got shape {x.shape}")
    if x.dtype.kind not in "fc":
        raise TypeError(f"{op} takes a floating array, got {x.dtype}; {CONVERT}")


def factored(x: Array, op: str, *, square: bool = False) -> None:
    """Refuse what no op of the table factors: the short dtypes too.

    Raises:
        TypeError, ValueError: as `matrices`.
    """
    matrices(x, op, square=square)
    if x.dtype.itemsize == 2:
        raise TypeError(f"linalg.{op} is not defined for {x.dtype}; convert to float32")


def stacked(x: Array, *, copy: bool | None = True) -> Array:
    """Return matrices (..., m, n) as one stack (b, m, n), a new one unless told."""
    if x.ndim == 2 and copy is None:
        return expand_dims(x, axis=0)
    return reshape(x, (math.prod(x.shape[:-2]), *x.shape[-2:]), copy=copy)


def real_dtype(x: Array) -> DType:
    """Return the dtype of the parts of an array's elements."""
    return finfo(x.dtype).dtype if x.dtype.kind == "c" else x.dtype


def adjoint(x: Array) -> Array:
    """Return the conjugate transposes; a view where there is nothing to conjugate."""
    return conjugate(x).mT


def conjugate(x: Array) -> Array:
    """Return the conjugates; the array itself where it is real."""
    return conj(x) if x.dtype.kind == "c" else x


def columns_at(x: Array, order: Array) -> Array:
    """Return the columns of a stack (b, m, n) at places (b, k): (b, m, k)."""
    return rows_at(x.mT, order).mT


def as_places(x: Array) -> Array:
    """Return whole numbers of a floating or complex array as int64."""
    return cast(x.real if x.dtype.kind == "c" else x, int64)
