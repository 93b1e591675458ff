"""Householder's factors Q R, by halves of the columns, and Q as one product."""

from __future__ import annotations

from typing import Literal

from phalanx._warm import Array, assign, factor
from phalanx.namespace.creation import zeros
from phalanx.namespace.diagonals import eye
from phalanx.namespace.elementwise import where
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_to, reshape

from .operands import adjoint, factored, stacked
from .results import QRResult
from .triangles import (
    BLOCK,
    below_diagonal,
    first_part,
    minus_product,
    unit_lower,
    upper_part,
)


def factor_in_place(a: Array) -> Array:
    """Overwrite a stack (b, m, n), m >= n, by R above V; return T (b, n, n) of Q = I - V T V^H."""
    n = a.shape[2]
    if n <= BLOCK:
        made, t = factors_of(a)
        assign(a, made)
        return t
    cut = first_part(n)
    right = a[..., cut:]
    first = factor_in_place(a[..., :cut])
    vectors = unit_lower(a[..., :cut])
    reflect(vectors, first, right)
    second = factor_in_place(right[:, cut:])
    joint = matmul(adjoint(vectors[:, cut:]), unit_lower(right[:, cut:]))
    t = zeros((a.shape[0], n, n), dtype=a.dtype, device=a.device)
    assign(t[:, :cut, :cut], first)
    assign(t[:, cut:, cut:], second)
    assign(t[:, :cut, cut:], -matmul(matmul(first, joint), second))
    return t


def factors_of(a: Array) -> tuple[Array, Array]:
    """Return R above V and T of a stack (b, m, n), m >= n, which is overwritten where n > BLOCK."""
    m, n = a.shape[1:]
    if n > BLOCK:
        return a, factor_in_place(a)
    made = factor("householder", a, m + n, n)
    return made[:, :m], made[:, m:]


def reflect(vectors: Array, t: Array, x: Array) -> None:
    """Overwrite a stack x by Q^H x."""
    minus_product(x, vectors, matmul(adjoint(t), matmul(adjoint(vectors), x)))


def decomposed(x: Array, columns: int) -> tuple[Array, Array]:
    """Return Q with so many columns and R with as many rows; see `factors_of` for the stack."""
    b, m, n = x.shape
    k = min(m, n)
    if not k or not b:
        unit = broadcast_to(eye(m, columns, dtype=x.dtype, device=x.device), (b, m, columns))
        return +unit, zeros((b, columns, n), dtype=x.dtype, device=x.device)
    if k == n:
        x, t = factors_of(x)
    else:
        t = factor_in_place(x[..., :k])
    below = below_diagonal(x)
    unit = eye(m, columns, dtype=x.dtype, device=x.device)
    # the unit lower part in one launch: most of the time of small matrices goes into these
    vectors = where(below[:, :k], x[..., :k], unit[:, :k])
    if k < n:
        reflect(vectors, t, x[..., k:])
    heads = adjoint(vectors[:, :columns])
    return unit - matmul(vectors, matmul(t, heads)), upper_part(x[:, :columns], below[:columns])


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return Q with orthonormal columns and upper triangular R, x = Q R.

    The diagonal of R is real, and each number of it has the sign opposite to that of the real part
    that it takes the place of, as in LAPACK.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes, or another ``mode``.

    Examples:
        >>> x = px.ones((5, 2))
        >>> [a.shape for a in (*px.linalg.qr(x), *px.linalg.qr(x, mode="complete"))]
        [(5, 2), (2, 2), (5, 5), (5, 2)]
    """
    factored(x, "qr")
    if mode not in ("reduced", "complete"):
        raise ValueError(f'qr: mode is "reduced" or "complete", got {mode!r}')
    m, n = x.shape[-2:]
    columns = m if mode == "complete" else min(m, n)
    stays = n <= min(m, BLOCK)
    q, r = decomposed(stacked(x, copy=None if stays else True), columns)
    batch = x.shape[:-2]
    return QRResult(reshape(q, (*batch, m, columns)), reshape(r, (*batch, columns, n)))
