"""Eigenvalues: of Hermitian matrices by a tridiagonal form, of others by Schur's form."""

from __future__ import annotations

from phalanx._warm import Array, cast, every, factor, rows_at, some
from phalanx.arrays.data_types import result_type
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.creation import empty, zeros
from phalanx.namespace.diagonals import diagonal, tril
from phalanx.namespace.elementwise import where
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import concat, expand_dims, reshape, roll
from phalanx.namespace.sorting import argsort
from phalanx.namespace.taking import take_along_axis
from phalanx.optable.factors import SWEEPS_A_ROW

from .norms import vector_norm
from .operands import factored, real_dtype, stacked
from .results import EighResult, EigResult
from .rotations import turned_real


def eig(x: Array, /) -> EigResult:
    """Return complex eigenvalues and right eigenvectors of square matrices.

    The values are in the order of Schur's form. Of real matrices they are real, with imaginary
    parts that are 0, or come in pairs of exact conjugates, the one with the positive imaginary part
    first; the vectors are real or exact conjugates as well. Vectors have length 1, and the element
    of largest magnitude of each, the first if there are several, is real and positive.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square, elements that are NaN or infinite, or no convergence.

    Examples:
        >>> values, vectors = px.linalg.eig(px.asarray([[2.0, 1.0], [0.0, 3.0]]))
        >>> print(values.real, vectors.real[:, 1])
        [2. 3.] [0.70710678 0.70710678]
    """
    made, values = _triangular(x, "eig")
    n = x.shape[-1]
    if not made.size:
        return EigResult(values, reshape(cast(made, values.dtype), x.shape))
    vectors = _vectors(made, n)
    lengths = vector_norm(vectors, axis=-2, keepdims=True)
    vectors = turned_real(vectors / cast(lengths, vectors.dtype))[0]
    return EigResult(values, reshape(vectors, x.shape))


def _vectors(made: Array, n: int) -> Array:
    """The eigenvectors (b, n, n) of any length: Q Y, each column of Y over its largest element."""
    vectors = made[:, 2 * n : 3 * n]
    tallest = reductions.max(elementwise.abs(vectors), axis=-2, keepdims=True)
    if made.dtype.kind == "c":
        return matmul(made[:, n : 2 * n], vectors / cast(tallest, made.dtype))
    first, second = _pairs(made, n)
    first, second = expand_dims(first, axis=-2), expand_dims(second, axis=-2)
    other = where(first, roll(tallest, -1, axis=-1), roll(tallest, 1, axis=-1))
    tallest = where(first | second, elementwise.maximum(tallest, other), tallest)
    parts = matmul(made[:, n : 2 * n], vectors / tallest)
    imaginary = where(first, roll(parts, -1, axis=-1), where(second, -parts, 0))
    return _complex(where(second, roll(parts, 1, axis=-1), parts), imaginary)


def _pairs(made: Array, n: int) -> tuple[Array, Array]:
    """Whether a column of a real T is the first, or the second, of two for conjugate values."""
    joined = diagonal(made[:, :n], offset=-1) != 0
    none = zeros((made.shape[0], 1), dtype=joined.dtype, device=made.device)
    return concat((joined, none), axis=-1), concat((none, joined), axis=-1)


def _half_gaps(made: Array, n: int) -> Array:
    """The imaginary parts of the values of a real T (b, n)."""
    roots = [elementwise.sqrt(elementwise.abs(diagonal(made[:, :n], offset=k))) for k in (-1, 1)]
    gaps = roots[0] * roots[1]
    none = zeros((made.shape[0], 1), dtype=made.dtype, device=made.device)
    first, second = _pairs(made, n)
    upper, lower = concat((gaps, none), axis=-1), concat((none, gaps), axis=-1)
    return where(first, upper, where(second, -lower, 0))


def _complex(re: Array, im: Array) -> Array:
    to = result_type(re.dtype, 1j)
    return cast(re, to) + 1j * cast(im, to)


def _triangular(x: Array, op: str) -> tuple[Array, Array]:
    """What the op ``schur`` makes of the matrices, and their complex eigenvalues."""
    factored(x, op, square=True)
    n = x.shape[-1]
    a, largest = _over_largest(stacked(x, copy=None), x, op)
    if not a.size:
        return a, empty(x.shape[:-1], dtype=result_type(x.dtype, 1j), device=a.device)
    made = factor("schur", a, 3 * n + 1, n)
    _converged(made[:, 3 * n, :1], x, op)
    values = diagonal(made[:, :n])
    if a.dtype.kind != "c":
        values = _complex(values, _half_gaps(made, n))
    return made, reshape(values * largest, x.shape[:-1])


def _over_largest(a: Array, x: Array, op: str) -> tuple[Array, Array]:
    """A stack (b, n, n), each matrix over its largest part, and those parts (b, 1).

    ``x`` is what the caller gave.
    """
    if not a.size:
        return a, a
    parts = (a.real, a.imag) if a.dtype.kind == "c" else (a,)
    sizes = [reductions.max(elementwise.abs(p), axis=(-2, -1), keepdims=True) for p in parts]
    largest = sizes[0] if len(sizes) == 1 else elementwise.maximum(*sizes)
    if not every(elementwise.isfinite(largest)):
        raise ValueError(f"{op} of shape {x.shape}: elements are NaN or infinite")
    largest = _not_zero(largest)
    return a / cast(largest, a.dtype), largest[..., 0]


def _converged(sweeps: Array, x: Array, op: str) -> None:
    """Wait, and refuse results whose number of sweeps (b, 1) says that they are none."""
    if some(elementwise.real(sweeps) < 0 if sweeps.dtype.kind == "c" else sweeps < 0):
        most = SWEEPS_A_ROW * max(10, x.shape[-1])
        raise ValueError(f"{op} of shape {x.shape} did not converge in {most} sweeps")


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
    made, values, order = _hermitian(x, "eigh")
    if not made.size:
        return EighResult(values, reshape(made, x.shape))
    vectors = turned_real(rows_at(made[:, : x.shape[-1]], order).mT)[0]
    return EighResult(values, reshape(vectors, x.shape))


def _hermitian(x: Array, op: str) -> tuple[Array, Array, Array]:
    """What the op ``eigh`` makes of the matrices, their eigenvalues, and the order of these."""
    factored(x, op, square=True)
    n = x.shape[-1]
    a, largest = _over_largest(tril(stacked(x, copy=None)), x, op)
    if not a.size:
        values = empty(x.shape[:-1], dtype=real_dtype(x), device=x.device)
        return a, values, values
    made = factor("eigh", a, n + 2, n)
    _converged(made[:, n + 1, :1], x, op)
    values = elementwise.real(made[:, n]) if a.dtype.kind == "c" else made[:, n]
    order = argsort(values, axis=-1)
    values = take_along_axis(values, order, axis=-1) * largest
    return made, reshape(values, x.shape[:-1]), order


def _not_zero(x: Array) -> Array:
    return where(x == 0, 1, x)


def eigvals(x: Array, /) -> Array:
    """Return the complex eigenvalues of square matrices; errors are those of ``eig``.

    Examples:
        >>> print(px.linalg.eigvals(px.asarray([[2.0, 1.0], [0.0, 3.0]])))
        [2.+0.j 3.+0.j]
    """
    return _triangular(x, "eigvals")[1]


def eigvalsh(x: Array, /) -> Array:
    """Return the ascending real eigenvalues of Hermitian matrices; errors are those of ``eigh``.

    Examples:
        >>> print(px.linalg.eigvalsh(px.asarray([[2.0, 1j], [-1j, 2.0]])))
        [1. 3.]
    """
    return _hermitian(x, "eigvalsh")[1]
