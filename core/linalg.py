"""The ``linalg`` extension of the Array API standard 2025.12.

Products, norms of vectors and views run as Phalanx ops; decompositions run in NumPy's LAPACK on the
host (see ``host_numpy``), which on other devices is a fallback under the policy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn

from ._warm import Array, cast, normal_axis
from .arrays.checks import need_array, need_int, need_one_device, need_real
from .arrays.data_types import result_type
from .arrays.host_numpy import on_host
from .arrays.transfer import asnumpy
from .namespace import elementwise, reductions
from .namespace.diagonals import diagonal, trace
from .namespace.linear import matmul, tensordot, vecdot
from .namespace.manipulation import (
    broadcast_arrays,
    expand_dims,
    matrix_transpose,
    moveaxis,
    reshape,
    stack,
)


class EigResult(NamedTuple):
    """Eigenvalues (..., n) and eigenvectors (..., n, n), one per column."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Ascending real eigenvalues (..., n) and orthonormal eigenvectors (..., n, n) in columns."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Orthonormal Q (..., m, k) and upper triangular R (..., k, n)."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the absolute value of a determinant (...)."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """U (..., m, k), descending singular values S (..., k), and Vh (..., k, n)."""

    U: Array
    S: Array
    Vh: Array


_CONVERT = "convert it with phalanx.astype(x, phalanx.float64)"


def _matrices(x: Array, op: str, *, square: bool = False) -> None:
    need_array(x, op)
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices" if square else "matrices"
        raise ValueError(f"{op} takes {kind} (..., n, m) on the last two axes, got shape {x.shape}")
    if x.dtype.kind not in "fc":
        raise TypeError(f"{op} takes a floating array, got {x.dtype}; {_CONVERT}")


def _lapack(name: str, x: Array, *others: Array, **options: object) -> object:
    """Apply the NumPy function of the same name."""
    import numpy as np

    try:
        return on_host(f"linalg.{name}", getattr(np.linalg, name), x, *others, **options)
    except np.linalg.LinAlgError as error:
        raise ValueError(f"{name} of shape {x.shape}: {error}") from error


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the lower factor L of positive definite x = L Lᴴ; ``upper``: the factor of x = Lᴴ L.

    Raises:
        ValueError: not square, or not positive definite.

    Examples:
        >>> print(px.linalg.cholesky(px.asarray([[4.0, 2.0], [2.0, 5.0]]), upper=True))
        [[2. 1.]
         [0. 2.]]
    """
    _matrices(x, "cholesky", square=True)
    return _lapack("cholesky", x, upper=upper)  # type: ignore[return-value]


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of 3 along ``axis`` from the end; they broadcast.

    Raises:
        ValueError: the axis has not 3 elements in both.

    Examples:
        >>> print(px.linalg.cross(px.asarray([1, 0, 0]), px.asarray([[0, 1, 0], [0, 0, 1]])))
        [[ 0  0  1]
         [ 0 -1  0]]
    """
    need_array(x1, "cross")
    need_array(x2, "cross")
    if axis >= 0 or -axis > min(x1.ndim, x2.ndim):
        raise ValueError(f"cross: axis counts from the end within both shapes, got {axis}")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross takes vectors of 3, got extents {x1.shape[axis]}, {x2.shape[axis]} along axis "
            f"{axis}"
        )
    a, b = broadcast_arrays(moveaxis(x1, axis, -1), moveaxis(x2, axis, -1))
    a0, a1, a2 = (a[..., i] for i in range(3))
    b0, b1, b2 = (b[..., i] for i in range(3))
    parts = (a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0)
    return moveaxis(stack(parts, axis=-1), -1, axis)


def det(x: Array, /) -> Array:
    """Return the determinants (...) of square matrices (..., n, n); errors are those of ``eig``.

    Examples:
        >>> print(px.linalg.det(px.asarray([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 0.0], [0.0, 3.0]]])))
        [-2.  6.]
    """
    _matrices(x, "det", square=True)
    return _lapack("det", x)  # type: ignore[return-value]


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
    _matrices(x, "eig", square=True)
    wide = result_type(x.dtype, 1j) if x.dtype.kind == "f" else x.dtype
    return EigResult(*(cast(part, wide) for part in _lapack("eig", x)))  # type: ignore[attr-defined]


def eigh(x: Array, /) -> EighResult:
    """Return real eigenvalues and eigenvectors of Hermitian matrices; reads the lower triangle.

    Errors are those of ``eig``.

    Examples:
        >>> values, vectors = px.linalg.eigh(px.asarray([[2.0, 1.0], [1.0, 2.0]]))
        >>> print(values, px.abs(vectors[:, 1]))
        [1. 3.] [0.70710678 0.70710678]
    """
    _matrices(x, "eigh", square=True)
    return EighResult(*_lapack("eigh", x))  # type: ignore[misc]


def eigvals(x: Array, /) -> Array:
    """Return the complex eigenvalues of square matrices; errors are those of ``eig``.

    Examples:
        >>> print(px.linalg.eigvals(px.asarray([[2.0, 1.0], [0.0, 3.0]])))
        [2.+0.j 3.+0.j]
    """
    return eig(x).eigenvalues


def eigvalsh(x: Array, /) -> Array:
    """Return the ascending real eigenvalues of Hermitian matrices; errors are those of ``eig``.

    Examples:
        >>> print(px.linalg.eigvalsh(px.asarray([[2.0, 1j], [-1j, 2.0]])))
        [1. 3.]
    """
    _matrices(x, "eigvalsh", square=True)
    return _lapack("eigvalsh", x)  # type: ignore[return-value]


def inv(x: Array, /) -> Array:
    """Return the inverses of square matrices, in their dtype.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square, or singular.

    Examples:
        >>> print(px.linalg.inv(px.asarray([[2.0, 1.0], [0.0, 4.0]])))
        [[ 0.5   -0.125]
         [ 0.     0.25 ]]
    """
    _matrices(x, "inv", square=True)
    return _lapack("inv", x)  # type: ignore[return-value]


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
    _matrices(x, "matrix_norm")
    if ord not in _ORDERS:
        raise ValueError(
            f'matrix_norm: ord is "fro", "nuc", 1, 2, inf, -1, -2 or -inf, got {ord!r}'
        )
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _lapack("matrix_norm", x, keepdims=keepdims, ord=ord)  # type: ignore[return-value]


def matrix_power(x: Array, n: int, /) -> Array:
    """Return square matrices to an integer power; a negative one inverts first.

    Raises:
        ValueError: not square, or singular and ``n`` negative.

    Examples:
        >>> print(px.linalg.matrix_power(px.asarray([[1, 1], [1, 0]]), 10))
        [[89 55]
         [55 34]]
    """
    need_array(x, "matrix_power")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"matrix_power takes square matrices, got shape {x.shape}")
    if need_int(n, "matrix_power: n") < 0:
        return matrix_power(inv(x), -n)
    from .namespace.diagonals import eye
    from .namespace.manipulation import broadcast_to

    result = broadcast_to(eye(x.shape[-1], dtype=x.dtype, device=x.device), x.shape)
    while n:
        if n & 1:
            result = matmul(result, x)
        n >>= 1
        if n:
            x = matmul(x, x)
    return +result


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the number of singular values above ``rtol`` times the largest one.

    The default is max(m, n) times the dtype's eps, as in Press et al., Numerical Recipes, 2.6.

    Examples:
        >>> x = px.asarray([[1.0, 0.0], [0.0, 1e-6]])
        >>> int(px.linalg.matrix_rank(x)), int(px.linalg.matrix_rank(x, rtol=1e-3))
        (2, 1)
    """
    from .arrays.data_types import finfo

    values = svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * finfo(x.dtype).eps
    if isinstance(rtol, Array):
        rtol = expand_dims(cast(rtol, values.dtype), axis=-1)
    if values.shape[-1] == 0:
        return reductions.count_nonzero(values, axis=-1)
    limit = reductions.max(values, axis=-1, keepdims=True) * rtol
    return reductions.count_nonzero(values > limit, axis=-1)


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products (n, m) of all pairs of two vectors (n,) and (m,).

    Raises:
        ValueError: another number of axes than one.

    Examples:
        >>> print(px.linalg.outer(px.asarray([1, 2]), px.asarray([10, 20, 30])))
        [[10 20 30]
         [20 40 60]]
    """
    need_array(x1, "outer")
    need_array(x2, "outer")
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer takes two vectors, got shapes {x1.shape} and {x2.shape}")
    return expand_dims(x1, axis=1) * expand_dims(x2, axis=0)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose inverses; values below ``rtol`` times the largest count as 0.

    Errors are those of ``svd``.

    Examples:
        >>> print(px.linalg.pinv(px.asarray([[3.0], [4.0]])))
        [[0.12 0.16]]
    """
    _matrices(x, "pinv")
    if isinstance(rtol, Array):
        return _lapack("pinv", x, rtol=asnumpy(rtol))  # type: ignore[return-value]
    from .arrays.data_types import finfo

    limit = max(x.shape[-2:]) * finfo(x.dtype).eps if rtol is None else rtol
    return _lapack("pinv", x, rtol=limit)  # type: ignore[return-value]


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return Q with orthonormal columns and upper triangular R, x = Q R.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes, or another ``mode``.

    Examples:
        >>> x = px.ones((5, 2))
        >>> [a.shape for a in (*px.linalg.qr(x), *px.linalg.qr(x, mode="complete"))]
        [(5, 2), (2, 2), (5, 5), (5, 2)]
    """
    _matrices(x, "qr")
    if mode not in ("reduced", "complete"):
        raise ValueError(f'qr: mode is "reduced" or "complete", got {mode!r}')
    return QRResult(*_lapack("qr", x, mode=mode))  # type: ignore[misc]


def slogdet(x: Array, /) -> SlogdetResult:
    """Return sign and logarithm of the magnitude of determinants; errors are those of ``eig``.

    Examples:
        >>> sign, logabsdet = px.linalg.slogdet(-1e-200 * px.eye(3))  # the determinant underflows
        >>> float(sign), round(float(logabsdet), 3)
        (-1.0, -1381.551)
    """
    _matrices(x, "slogdet", square=True)
    return SlogdetResult(*_lapack("slogdet", x))  # type: ignore[misc]


def solve(x1: Array, x2: Array, /) -> Array:
    """Return x with x1 @ x = x2 for square matrices x1; a 1-d ``x2`` is one vector.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: ``x1`` not square or singular, or shapes that do not fit.
        DeviceMismatchError: the arrays lie on two devices.

    Examples:
        >>> print(px.linalg.solve(px.asarray([[2.0, 1.0], [1.0, 3.0]]), px.asarray([3.0, 5.0])))
        [0.8 1.4]
    """
    _matrices(x1, "solve", square=True)
    need_array(x2, "solve")
    need_one_device("solve", x1, x2)
    rows = x2.shape[-2 if x2.ndim > 1 else -1] if x2.ndim else 0
    if rows != x1.shape[-1]:
        raise ValueError(
            f"solve of shapes {x1.shape} and {x2.shape}: the right side needs {x1.shape[-1]} rows, "
            f"got {rows}"
        )
    dtype = result_type(x1, x2)
    right = cast(x2, dtype)
    if x2.ndim == 1:
        return reshape(
            solve(cast(x1, dtype), expand_dims(right, axis=-1)), (*x1.shape[:-2], x2.shape[0])
        )
    return _lapack("solve", cast(x1, dtype), right)  # type: ignore[return-value]


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition x = U diag(S) Vh.

    ``full_matrices=False`` leaves out what S does not multiply.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes.

    Examples:
        >>> U, S, Vh = px.linalg.svd(px.ones((5, 2)), full_matrices=False)
        >>> U.shape, S.shape, Vh.shape
        ((5, 2), (2,), (2, 2))
    """
    _matrices(x, "svd")
    return SVDResult(*_lapack("svd", x, full_matrices=full_matrices))  # type: ignore[misc]


def svdvals(x: Array, /) -> Array:
    """Return the singular values in descending order; errors are those of ``svd``.

    Examples:
        >>> print(px.linalg.svdvals(px.asarray([[0.0, 3.0], [4.0, 0.0], [0.0, 0.0]])))
        [4. 3.]
    """
    _matrices(x, "svdvals")
    return _lapack("svdvals", x)  # type: ignore[return-value]


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
        raise TypeError(f"vector_norm takes a floating array, got {x.dtype}; {_CONVERT}")
    need_real(ord, "vector_norm: ord")
    for a in () if axis is None else axis if isinstance(axis, tuple) else (axis,):
        normal_axis(a, x, "vector_norm")
    size = elementwise.abs(x)
    if ord == float("inf"):
        return reductions.max(size, axis=axis, keepdims=keepdims)
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


if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from .namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
