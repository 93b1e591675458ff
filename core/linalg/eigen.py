"""Eigenvalues: of Hermitian matrices by Jacobi's rotations, of others by Schur's form."""

from __future__ import annotations

from phalanx._warm import Array, cast
from phalanx.arrays.data_types import result_type
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.creation import empty
from phalanx.namespace.diagonals import diagonal, eye, tril
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import expand_dims, reshape
from phalanx.namespace.sorting import argsort
from phalanx.namespace.taking import take_along_axis
from phalanx.optable.factors import SWEEPS_A_ROW

from .norms import vector_norm
from .operands import adjoint, columns_at, conjugate, factor, factored, real_dtype, stacked
from .results import EighResult, EigResult
from .rotations import orthogonal_columns, turned_real


def eig(x: Array, /) -> EigResult:
    """Return complex eigenvalues and right eigenvectors of square matrices.

    The values are in the order of Schur's form. Vectors have length 1, and the element of largest
    magnitude of each, the first if there are several, is real and positive.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square, elements that are NaN or infinite, or no convergence.

    Examples:
        >>> values, vectors = px.linalg.eig(px.asarray([[2.0, 1.0], [0.0, 3.0]]))
        >>> print(values.real, vectors.real[:, 1])
        [2. 3.] [0.70710678 0.70710678]
    """
    factored(x, "eig", square=True)
    a, largest = _over_largest(x, "eig")
    n = x.shape[-1]
    if not a.size:
        return EigResult(empty(x.shape[:-1], dtype=a.dtype, device=a.device), reshape(a, x.shape))
    made = _schur(a, x, "eig")
    vectors = made[:, 2 * n : 3 * n]
    tallest = reductions.max(elementwise.abs(vectors), axis=-2, keepdims=True)
    vectors = matmul(made[:, n : 2 * n], vectors / cast(tallest, a.dtype))
    lengths = vector_norm(vectors, axis=-2, keepdims=True)
    vectors = turned_real(vectors / cast(lengths, a.dtype))[0]
    values = diagonal(made[:, :n]) * largest
    return EigResult(reshape(values, x.shape[:-1]), reshape(vectors, x.shape))


def _over_largest(x: Array, op: str) -> tuple[Array, Array]:
    """A complex stack (b, n, n), each matrix over its largest part, and those parts (b, 1)."""
    a = stacked(x)
    wide = result_type(x.dtype, 1j)
    if not a.size:
        return cast(a, wide), a
    parts = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    sizes = [reductions.max(elementwise.abs(part), axis=(-2, -1)) for part in parts]
    largest = sizes[0] if len(sizes) == 1 else elementwise.maximum(*sizes)
    if not bool(reductions.all(elementwise.isfinite(largest))):
        raise ValueError(f"{op} of shape {x.shape}: elements are NaN or infinite")
    largest = expand_dims(_not_zero(largest), axis=-1)
    return cast(a, wide) / cast(expand_dims(largest, axis=-1), wide), largest


def _schur(a: Array, x: Array, op: str) -> Array:
    """T above Q, Y and the number of sweeps: (b, 3 n + 1, n); ``x`` is what the caller gave."""
    n = a.shape[-1]
    made = factor("schur", a, 3 * n + 1, n)
    if bool(reductions.any(made[:, 3 * n, :1].real < 0)):
        most = SWEEPS_A_ROW * max(10, n)
        raise ValueError(f"{op} of shape {x.shape} did not converge in {most} sweeps")
    return made


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
