"""Eigenvalues: of Hermitian matrices by Jacobi's rotations, of others on the host."""

from __future__ import annotations

from phalanx._warm import Array, cast
from phalanx.arrays.data_types import result_type
from phalanx.arrays.host_numpy import on_host
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.diagonals import diagonal, eye, tril
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import expand_dims, reshape
from phalanx.namespace.sorting import argsort
from phalanx.namespace.taking import take_along_axis

from .operands import adjoint, columns_at, conjugate, factored, matrices, real_dtype, stacked
from .results import EighResult, EigResult
from .rotations import orthogonal_columns, turned_real


def eig(x: Array, /) -> EigResult:
    """Return complex eigenvalues and right eigenvectors of square matrices.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square.

    Examples:
        >>> values, vectors = px.linalg.eig(px.asarray([[0.0, -1.0], [1.0, 0.0]]))  # a quarter turn
        >>> print(values.imag, vectors.dtype)
        [ 1. -1.] complex128
    """
    matrices(x, "eig", square=True)
    wide = result_type(x.dtype, 1j) if x.dtype.kind == "f" else x.dtype
    return EigResult(*(cast(part, wide) for part in _lapack(x)))


def _lapack(x: Array) -> tuple[Array, Array]:
    """Apply NumPy's function on the host."""
    import numpy as np

    try:
        values, vectors = on_host("linalg.eig", np.linalg.eig, x)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"eig of shape {x.shape}: {error}") from error
    return values, vectors


def eigh(x: Array, /) -> EighResult:
    """Return real eigenvalues and eigenvectors of Hermitian matrices; reads the lower triangle.

    Of each vector the element of largest magnitude, the first if there are several, is real and
    positive.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square, elements that are NaN or infinite, or no convergence.

    Examples:
        >>> values, vectors = px.linalg.eigh(px.asarray([[2.0, 1.0], [1.0, 2.0]]))
        >>> print(values, vectors[:, 1])
        [1. 3.] [0.70710678 0.70710678]
    """
    return _hermitian(x, "eigh")


def _hermitian(x: Array, op: str) -> EighResult:
    factored(x, op, square=True)
    n = x.shape[-1]
    a = stacked(x)
    real = real_dtype(x)
    if a.size:
        values, vectors = _by_rotations(a, x, op)
    else:
        values, vectors = cast(a[..., 0] if n else a[..., :0].sum(axis=-1), real), a
    return EighResult(reshape(values, x.shape[:-1]), reshape(vectors, x.shape))


def _by_rotations(a: Array, x: Array, op: str) -> tuple[Array, Array]:
    """Values (b, n) and vectors of a stack: B = A / |A| + 2 I has the same vectors.

    Its singular values are between 1 and 3, so rotations that make the columns of B V orthogonal
    diagonalise it; the values are the quotients of Rayleigh, V^H A V.
    """
    unit = eye(a.shape[-1], dtype=a.dtype, device=a.device)
    below = tril(a, k=-1)
    whole = below + adjoint(below) + unit * expand_dims(_real(diagonal(a), a), axis=-2)
    largest = _not_zero(reductions.max(elementwise.abs(whole), axis=(-2, -1), keepdims=True))
    scaled = whole / cast(largest, a.dtype)
    sums = reductions.sum(elementwise.abs(scaled), axis=-1)
    size = _not_zero(reductions.max(sums, axis=-1, keepdims=True))
    scaled /= cast(expand_dims(size, axis=-1), a.dtype)
    _, vectors = orthogonal_columns(scaled + 2 * unit, x, op)
    products = conjugate(vectors) * matmul(scaled, vectors)
    values = reductions.sum(products.real if a.dtype.kind == "c" else products, axis=-2)
    order = argsort(values, axis=-1)
    values = take_along_axis(values, order, axis=-1) * size * largest[..., 0]
    return values, turned_real(columns_at(vectors, order))[0]


def _not_zero(x: Array) -> Array:
    return elementwise.where(x == 0, 1, x)


def _real(x: Array, like: Array) -> Array:
    return cast(x.real, like.dtype) if x.dtype.kind == "c" else x


def eigvals(x: Array, /) -> Array:
    """Return the complex eigenvalues of square matrices; errors are those of ``eig``.

    Examples:
        >>> print(px.linalg.eigvals(px.asarray([[2.0, 1.0], [0.0, 3.0]])))
        [2.+0.j 3.+0.j]
    """
    return eig(x).eigenvalues


def eigvalsh(x: Array, /) -> Array:
    """Return the ascending real eigenvalues of Hermitian matrices; errors are those of ``eigh``.

    Examples:
        >>> print(px.linalg.eigvalsh(px.asarray([[2.0, 1j], [-1j, 2.0]])))
        [1. 3.]
    """
    return _hermitian(x, "eigvalsh").eigenvalues
