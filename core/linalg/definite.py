"""Cholesky factors, by halves."""

from __future__ import annotations

from phalanx._warm import Array, assign, factor, fill
from phalanx.dispatch.registry import is_replaced
from phalanx.namespace import elementwise, reductions
from phalanx.namespace.diagonals import diagonal
from phalanx.namespace.manipulation import reshape

from .operands import adjoint, conjugate, factored, stacked
from .triangles import BLOCK, first_part, minus_product, solve_lower


def factor_in_place(a: Array) -> None:
    """Overwrite a stack (b, n, n) by the lower factors of its lower triangles, and zeros."""
    n = a.shape[-1]
    if n <= BLOCK or is_replaced(a.device, "cholesky", (a.dtype.name,) * 2):
        assign(a, factor("cholesky", a, n, n))
        return
    cut = first_part(n)
    corner, left, rest = a[:, :cut, :cut], a[:, cut:, :cut], a[:, cut:, cut:]
    factor_in_place(corner)
    solve_lower(conjugate(corner), left.mT)
    minus_product(rest, left, adjoint(left))
    factor_in_place(rest)
    fill(a[:, :cut, cut:], 0)


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the lower factor L of positive definite x = L Lᴴ; ``upper``: the factor of x = Lᴴ L.

    Reads the lower triangle, or the upper one.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: not square, or not positive definite.

    Examples:
        >>> print(px.linalg.cholesky(px.asarray([[4.0, 2.0], [2.0, 5.0]]), upper=True))
        [[2. 1.]
         [0. 2.]]
    """
    factored(x, "cholesky", square=True)
    made = stacked(adjoint(x) if upper else x)
    if made.size:
        factor_in_place(made)
        if bool(reductions.any(elementwise.isnan(diagonal(made)))):
            raise ValueError(f"cholesky of shape {x.shape}: Matrix is not positive definite")
    return reshape(adjoint(made) if upper else made, x.shape)
