"""Singular values by one-sided rotations, and what follows from them."""

from __future__ import annotations

from phalanx._warm import Array, cast, factor, rows_at
from phalanx.arrays.checks import need_array, need_one_device
from phalanx.arrays.data_types import finfo, result_type
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.creation import zeros
from phalanx.namespace.diagonals import diagonal, eye, triu
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_to, concat, expand_dims, reshape
from phalanx.namespace.sorting import argsort
from phalanx.namespace.taking import take_along_axis

from .operands import adjoint, columns_at, factored, real_dtype, stacked
from .orthogonal import decomposed, factors_of
from .results import LstsqResult, SVDResult
from .rotations import need_finite, orthogonal_columns, turned_real
from .triangles import BLOCK


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return the singular value decomposition x = U diag(S) Vh.

    ``full_matrices=False`` leaves out what S does not multiply. Of each column of U that S
    multiplies the element of largest magnitude, the first if there are several, is real and
    positive; of wide matrices, of each column of the adjoint of Vh.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes, elements that are NaN or infinite, or no convergence.

    Examples:
        >>> U, S, Vh = px.linalg.svd(px.ones((5, 2)), full_matrices=False)
        >>> U.shape, S.shape, Vh.shape
        ((5, 2), (2,), (2, 2))
    """
    return _decomposed(x, "svd", full_matrices)


def _decomposed(x: Array, op: str, full_matrices: bool) -> SVDResult:
    factored(x, op)
    m, n = x.shape[-2:]
    batch = x.shape[:-2]
    k = min(m, n)
    tall = m >= n
    u, s, v = _tall(stacked(x if tall else adjoint(x), copy=None), x, op, full_matrices)
    if not tall:
        u, v = v, u
    vh = adjoint(v)
    return SVDResult(
        reshape(u, (*batch, *u.shape[1:])),
        reshape(s, (*batch, k)),
        reshape(vh, (*batch, *vh.shape[1:])),
    )


def _tall(a: Array, x: Array, op: str, full: bool) -> tuple[Array, Array, Array]:
    """U (b, m, n or m), S and V of a stack (b, m, n), m >= n, by those of R of A = Q R."""
    b, m, n = a.shape
    columns = m if full else n
    if not a.size:
        unit = broadcast_to(eye(m, columns, dtype=a.dtype, device=a.device), (b, m, columns))
        none = zeros((b, n), dtype=real_dtype(a), device=a.device)
        return +unit, none, zeros((b, n, n), dtype=a.dtype, device=a.device)
    a, size = _scaled(a)
    outer = None
    if m > n:
        outer, r = decomposed(a, columns)
        a = r[:, :n]
    u, values, v = _square(a, x, op)
    if outer is not None:
        u = _joined(outer, u, n)
    head, phases = turned_real(u[..., :n])
    v = v * phases
    if columns > n:
        head = concat((head, u[..., n:]), axis=-1)
    return head, values * size[..., 0], v


def _square(a: Array, x: Array, op: str) -> tuple[Array, Array, Array]:
    """U, S and V of a stack (b, n, n); of large ones by those of R^H, with Q R = A W."""
    if a.shape[-1] <= BLOCK:
        return _rotated(a, x, op)
    turned, w = _nearly_orthogonal(a, x, op)
    q, r = decomposed(turned, a.shape[-1])
    u, values, v = _rotated(adjoint(r), x, op)
    return matmul(q, v), values, matmul(w, u)


def _nearly_orthogonal(a: Array, x: Array, op: str) -> tuple[Array, Array]:
    """A W and the unitary W, the eigenvectors of A^H A by falling eigenvalue.

    Rotations of the rows of its R converge in 2 to 12 sweeps, of A in 10 to 50 (Drmac & Veselic,
    SIAM J. Matrix Anal. Appl. 29, 2008, use R of A with exchanged columns in this way). How good W
    is says how many, and nothing else.
    """
    need_finite(a, x, op)
    n = a.shape[-1]
    made = factor("eigh", matmul(adjoint(a), a), n + 2, n)
    order = argsort(elementwise.real(made[:, n]), axis=-1, descending=True)
    w = rows_at(made[:, :n], order).mT
    return matmul(a, w), w


def _rotated(a: Array, x: Array, op: str) -> tuple[Array, Array, Array]:
    """U, S and V of a stack (b, n, n) by rotations alone.

    The columns of A V, the longest first, are factored once more: their Q is orthonormal where
    columns are 0, too.
    """
    turned, v = orthogonal_columns(a, x, op)
    values, order = _lengths(turned)
    u, r = decomposed(+columns_at(turned, order), a.shape[-1])
    signs = elementwise.where(diagonal(r) == 0, 1, elementwise.sign(diagonal(r)))
    return u * expand_dims(signs, axis=-2), values, columns_at(v, order)


def _scaled(a: Array) -> tuple[Array, Array]:
    """A stack, each matrix over its largest magnitude, and those (b, 1, 1); 1 instead of 0."""
    size = reductions.max(elementwise.abs(a), axis=(-2, -1), keepdims=True)
    size = elementwise.where(size == 0, 1, size)
    return a / cast(size, a.dtype), size


def _lengths(turned: Array) -> tuple[Array, Array]:
    """The lengths (b, n) of orthogonal columns, the longest first, and their order."""
    squares = elementwise.square(elementwise.abs(turned))
    values = elementwise.sqrt(reductions.sum(squares, axis=-2))
    order = argsort(values, axis=-1, descending=True)
    return take_along_axis(values, order, axis=-1), order


def singular_values(x: Array, op: str) -> Array:
    """Return the S of ``svd``, without the vectors, for an op that errors name."""
    factored(x, op)
    m, n = x.shape[-2:]
    k = min(m, n)
    a = stacked(x if m >= n else adjoint(x), copy=None)
    if not a.size:
        return zeros((*x.shape[:-2], k), dtype=real_dtype(x), device=x.device)
    a, size = _scaled(a)
    if m != n:
        a = triu(factors_of(a)[0][:, :k])
    if k > BLOCK:
        a = adjoint(triu(factors_of(_nearly_orthogonal(a, x, op)[0])[0]))
    turned, _ = orthogonal_columns(a, x, op)
    return reshape(_lengths(turned)[0] * size[..., 0], (*x.shape[:-2], k))


def _joined(outer: Array, u: Array, n: int) -> Array:
    """The product of Q and U beside the columns of Q that U does not reach."""
    head = matmul(outer[..., :n], u)
    return concat((head, outer[..., n:]), axis=-1) if outer.shape[-1] > n else head


def svdvals(x: Array, /) -> Array:
    """Return the singular values in descending order; errors are those of ``svd``.

    Examples:
        >>> print(px.linalg.svdvals(px.asarray([[0.0, 3.0], [4.0, 0.0], [0.0, 0.0]])))
        [4. 3.]
    """
    return singular_values(x, "svdvals")


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the number of singular values above ``rtol`` times the largest one.

    The default is max(m, n) times the dtype's eps, as in Press et al., Numerical Recipes, 2.6.

    Examples:
        >>> x = px.asarray([[1.0, 0.0], [0.0, 1e-6]])
        >>> int(px.linalg.matrix_rank(x)), int(px.linalg.matrix_rank(x, rtol=1e-3))
        (2, 1)
    """
    values = svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * finfo(x.dtype).eps
    if isinstance(rtol, Array):
        rtol = expand_dims(cast(rtol, values.dtype), axis=-1)
    if values.shape[-1] == 0:
        return reductions.count_nonzero(values, axis=-1)
    limit = reductions.max(values, axis=-1, keepdims=True) * rtol
    return reductions.count_nonzero(values > limit, axis=-1)


def _limit(x: Array, rtol: float | Array | None) -> float | Array:
    """The part of the largest singular value below which the others count as 0."""
    if isinstance(rtol, Array):
        return expand_dims(cast(rtol, real_dtype(x)), axis=-1)
    return max(x.shape[-2:]) * float(finfo(x.dtype).eps) if rtol is None else rtol


def _inverted(s: Array, limit: float | Array) -> tuple[Array, Array]:
    """The reciprocals of the singular values that count, zeros for the others; and which count."""
    counts = s > reductions.max(s, axis=-1, keepdims=True) * limit
    return elementwise.where(counts, 1 / elementwise.where(counts, s, 1), 0), counts


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose inverses; values below ``rtol`` times the largest count as 0.

    The default is that of ``matrix_rank``; errors are those of ``svd``.

    Examples:
        >>> print(px.linalg.pinv(px.asarray([[3.0], [4.0]])))
        [[0.12 0.16]]
    """
    factored(x, "pinv")
    if not x.size:
        return zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype=x.dtype, device=x.device)
    u, s, vh = _decomposed(x, "pinv", False)
    inverse, _ = _inverted(s, _limit(x, rtol))
    return matmul(adjoint(vh) * cast(expand_dims(inverse, axis=-2), x.dtype), adjoint(u))


def lstsq(a: Array, b: Array, /, rcond: float | None = None) -> LstsqResult:
    """Return the x of least norm that makes |b - a x| least, by the singular values of ``a``.

    For a matrix (m, n) and a vector (m,) or columns (m, k). Values below ``rcond`` times the
    largest count as 0; the default is that of ``matrix_rank``. ``residuals`` are the squares of
    |b - a x| by column, and empty where the rank is below n or m <= n. Name and results
    are NumPy's.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: another number of axes, shapes that do not fit, or as ``svd``.
        DeviceMismatchError: the arrays lie on two devices.

    Examples:
        >>> a = px.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])  # a line through three points
        >>> found = px.linalg.lstsq(a, px.asarray([1.0, 3.0, 5.0]))
        >>> print(px.round(found.x), int(found.rank))
        [1. 2.] 2
    """
    factored(a, "lstsq")
    need_array(b, "lstsq")
    need_one_device("lstsq", a, b)
    if a.ndim != 2 or b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"lstsq takes a matrix (m, n) and (m,) or (m, k), got shapes {a.shape} and {b.shape}"
        )
    dtype = result_type(a, b)
    a, right = cast(a, dtype), cast(b, dtype)
    if b.ndim == 1:
        right = expand_dims(right, axis=-1)
    m, n = a.shape
    u, s, vh = _decomposed(a, "lstsq", False)
    real = real_dtype(a)
    if s.size:
        inverse, counts = _inverted(s, _limit(a, rcond))
        scaled = cast(expand_dims(inverse, axis=-1), dtype) * matmul(adjoint(u), right)
        x, rank = matmul(adjoint(vh), scaled), reductions.count_nonzero(counts)
    else:
        x = zeros((n, right.shape[1]), dtype=dtype, device=a.device)
        rank = reductions.count_nonzero(s)
    residuals = zeros((0,), dtype=real, device=a.device)
    if m > n and int(rank) == n:
        residuals = reductions.sum(
            elementwise.square(elementwise.abs(right - matmul(a, x))), axis=0
        )
    return LstsqResult(x[:, 0] if b.ndim == 1 else x, residuals, rank, s)
