"""Factors by Gaussian elimination with exchanged rows, and what follows from them."""

from __future__ import annotations

from phalanx._warm import Array, assign, cast, factor, odd_few, rows_at, some
from phalanx.arrays.data_types import int64
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.creation import arange, zeros
from phalanx.namespace.diagonals import diagonal, eye, triu
from phalanx.namespace.manipulation import broadcast_to, concat, expand_dims, reshape

from .operands import as_places, factored, real_dtype, stacked
from .results import LUResult, SlogdetResult
from .triangles import (
    BLOCK,
    below_diagonal,
    first_part,
    minus_product,
    right_side,
    solve_block,
    solve_lower,
    solve_upper,
    solved_block,
    spread,
    unit_lower,
    upper_part,
)


def factor_in_place(a: Array) -> Array:
    """Overwrite a stack (b, m, n) by L below and U; return the old places of its rows (b, m)."""
    m, n = a.shape[1:]
    if n <= BLOCK:
        made = factor("lu", a, m, n + 1)
        assign(a, made[..., :n])
        return as_places(made[..., n])
    k = min(m, n)
    cut = first_part(k) if k > BLOCK else k
    order = factor_in_place(a[..., :cut])
    right = a[..., cut:]
    assign(right, rows_at(right, order))
    solve_lower(a[:, :cut, :cut], right[:, :cut], unit=True)
    if cut == m:
        return order
    minus_product(right[:, cut:], a[:, cut:, :cut], right[:, :cut])
    rest = factor_in_place(right[:, cut:])
    left = a[:, cut:, :cut]
    assign(left, rows_at(left, rest))
    below = rows_at(expand_dims(order[:, cut:], axis=-1), rest)
    return concat((order[:, :cut], below[..., 0]), axis=1)


def _factored(x: Array) -> tuple[Array, Array]:
    """A new stack of factors, and the places of its rows; of matrices with a row at least."""
    m, n = x.shape[-2:]
    if x.size and n <= BLOCK:
        whole = factor("lu", stacked(x, copy=None), m, n + 1)
        return whole[..., :n], as_places(whole[..., n])
    made = stacked(x)
    if not made.size:
        return made, zeros(made.shape[:2], dtype=int64, device=x.device)
    return made, factor_in_place(made)


def _need_regular(op: str, x: Array, factors: Array) -> None:
    """Refuse a zero on the diagonal; waits."""
    if factors.size and some(diagonal(factors) == 0):
        raise ValueError(f"{op} of shape {x.shape}: Singular matrix")


def _parity(order: Array) -> Array:
    """Whether permutations (b, n) are odd: by their inversions."""
    few: Array | None = odd_few(order)
    if few is not None:
        return few
    later = triu(expand_dims(order, axis=-1) > expand_dims(order, axis=-2))
    return reductions.count_nonzero(later, axis=(-2, -1)) % 2 == 1


def lu(x: Array, /) -> LUResult:
    """Return P, L and U with x = P L U: a permutation, unit lower and upper triangles.

    The pivot of a column is the first of largest |re| + |im|. Names are those of SciPy.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: fewer than two axes.

    Examples:
        >>> P, L, U = px.linalg.lu(px.asarray([[1.0, 2.0], [4.0, 4.0]]))
        >>> print(L, U)
        [[1.   0.  ]
         [0.25 1.  ]] [[4. 4.]
         [0. 1.]]
        >>> print(P @ L @ U)
        [[1. 2.]
         [4. 4.]]
    """
    factored(x, "lu")
    m, n = x.shape[-2:]
    k = min(m, n)
    factors, order = _factored(x)
    batch = x.shape[:-2]
    if not factors.size:
        order = broadcast_to(arange(m, device=x.device), order.shape)
    rows = expand_dims(arange(m, device=x.device), axis=-1)
    places = cast(rows == expand_dims(order, axis=-2), x.dtype)
    below = below_diagonal(factors)
    return LUResult(
        reshape(places, (*batch, m, m)),
        reshape(unit_lower(factors[..., :k], below[:, :k]), (*batch, m, k)),
        reshape(upper_part(factors[:, :k], below[:k]), (*batch, k, n)),
    )


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
    a, right, shape = right_side("solve", x1, x2, copy=None)
    factors, order = _factored(a)
    _need_regular("solve", x1, factors)
    if not right.size:
        return reshape(right, shape)
    batch = shape[: len(shape) - (1 if x2.ndim == 1 else 2)]
    if batch != a.shape[:-2]:
        factors = spread(reshape(factors, a.shape), 2, batch)
        order = spread(reshape(order, a.shape[:-1]), 1, batch)
    return reshape(_solved(factors, order, right), shape)


def _solved(factors: Array, order: Array, right: Array) -> Array:
    x = rows_at(right, order)
    if x.size and factors.shape[-1] <= BLOCK:
        y = solved_block(factors, x, unit=True)
        solve_block(factors[:, ::-1, ::-1], y[:, ::-1], x[:, ::-1])
        return x
    solve_lower(factors, x, unit=True)
    solve_upper(factors, x)
    return x


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
    factored(x, "inv", square=True)
    factors, order = _factored(x)
    _need_regular("inv", x, factors)
    if not factors.size:
        return reshape(factors, x.shape)
    return reshape(_solved(factors, order, _units(factors)), x.shape)


def inverses(x: Array) -> tuple[Array, Array]:
    """Return inverses and which matrices are singular: of those something finite; waits for none.

    Square matrices with elements.
    """
    factors, order = _factored(x)
    singular = reductions.any(diagonal(factors) == 0, axis=-1)
    units = _units(factors)
    regular = elementwise.where(expand_dims(singular, axis=(-2, -1)), units, factors)
    return reshape(_solved(regular, order, units), x.shape), reshape(singular, x.shape[:-2])


def _units(factors: Array) -> Array:
    """A stack of unit matrices as large as the factors."""
    unit = eye(factors.shape[-1], dtype=factors.dtype, device=factors.device)
    return broadcast_to(unit, factors.shape)


def det(x: Array, /) -> Array:
    """Return the determinants (...) of square matrices (..., n, n).

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square.

    Examples:
        >>> print(px.linalg.det(px.asarray([[[1.0, 2.0], [3.0, 4.0]], [[2.0, 0.0], [0.0, 3.0]]])))
        [-2.  6.]
    """
    factored(x, "det", square=True)
    factors, order = _factored(x)
    product = reductions.prod(diagonal(factors), axis=-1)
    return reshape(elementwise.where(_parity(order), -product, product), x.shape[:-2])


def slogdet(x: Array, /) -> SlogdetResult:
    """Return sign and logarithm of the magnitude of determinants; errors are those of ``det``.

    Examples:
        >>> sign, logabsdet = px.linalg.slogdet(-1e-200 * px.eye(3))  # the determinant underflows
        >>> float(sign), round(float(logabsdet), 3)
        (-1.0, -1381.551)
    """
    factored(x, "slogdet", square=True)
    factors, order = _factored(x)
    pivots = diagonal(factors)
    sign = reductions.prod(elementwise.sign(pivots), axis=-1)
    sign = elementwise.where(_parity(order), -sign, sign)
    logs = reductions.sum(elementwise.log(elementwise.abs(pivots)), axis=-1)
    shape = x.shape[:-2]
    return SlogdetResult(reshape(sign, shape), reshape(cast(logs, real_dtype(x)), shape))
