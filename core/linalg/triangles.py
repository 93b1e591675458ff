"""Triangular systems, by halves: blocks by the op ``triangular_solve``, the rest by products."""

from __future__ import annotations

from phalanx._warm import Array, assign, cast, empty, fill, launch, on_or_below, ternary
from phalanx.arrays.checks import need_array, need_one_device
from phalanx.arrays.data_types import result_type
from phalanx.namespace.diagonals import diagonal
from phalanx.namespace.linear import matmul
from phalanx.namespace.manipulation import broadcast_shapes, broadcast_to, expand_dims, reshape

from .operands import factored, stacked

#: Rows, or columns, that an op of the table takes at once; part of the order of evaluation.
BLOCK = 32


def first_part(n: int) -> int:
    """Return where n rows are halved: after a whole number of blocks, the first half the longer."""
    blocks = -(-n // BLOCK)
    return (blocks + 1) // 2 * BLOCK


def minus_product(target: Array, a: Array, b: Array) -> None:
    """Subtract a product from what a view shows."""
    if target.size and a.shape[-1]:
        target -= matmul(a, b)


def solved_block(lower: Array, x: Array, *, unit: bool = False) -> Array:
    """Return the y with l y = x, for lower triangles of at most `BLOCK` rows, laid out as x."""
    turned = x.strides[2] != 1 and x.strides[1] == 1
    out = empty(x.mT.shape, x.dtype, x.device).mT if turned else empty(x.shape, x.dtype, x.device)
    solve_block(lower, x, out, unit=unit)
    return out


def solve_block(lower: Array, x: Array, out: Array, *, unit: bool = False) -> None:
    """Write the y with l y = x into ``out``, which shares no memory with the operands."""
    launch("triangular_solve", (lower, x), (out,), (int(unit),))


def solve_lower(lower: Array, x: Array, *, unit: bool = False) -> None:
    """Overwrite a stack x (b, n, k) by the y with l y = x, for lower triangles (b, n, n).

    With ``unit`` the diagonal counts as ones. An upper triangle is a lower one from its end:
    turn both around.
    """
    n = lower.shape[-1]
    if not x.size:
        return
    if n <= BLOCK:
        assign(x, solved_block(lower, x, unit=unit))
        return
    cut = first_part(n)
    solve_lower(lower[:, :cut, :cut], x[:, :cut], unit=unit)
    minus_product(x[:, cut:], lower[:, cut:, :cut], x[:, :cut])
    solve_lower(lower[:, cut:, cut:], x[:, cut:], unit=unit)


def solve_upper(upper: Array, x: Array, *, unit: bool = False) -> None:
    """Overwrite a stack x (b, n, k) by the y with u y = x, for upper triangles (b, n, n)."""
    solve_lower(upper[:, ::-1, ::-1], x[:, ::-1], unit=unit)


def below_diagonal(x: Array) -> Array:
    """Return where the matrices of a stack are below their diagonal: bool (m, n)."""
    found: Array = on_or_below(x.shape[1], x.shape[2], -1, x.device)
    return found


def unit_lower(x: Array, below: Array | None = None) -> Array:
    """Return the part below the diagonal of a stack, with ones on it.

    ``below`` is what `below_diagonal` says of these rows and columns, for those who know it.
    """
    made: Array = ternary(
        "where", below_diagonal(x) if below is None else below, x, 0, x.dtype, x.device
    )
    if made.size:
        fill(diagonal(made), 1)
    return made


def upper_part(x: Array, below: Array) -> Array:
    """Return the part of a stack that is not ``below`` its diagonal, zeros elsewhere."""
    made: Array = ternary("where", below, 0, x, x.dtype, x.device)
    return made


def right_side(
    op: str, a: Array, b: Array, *, copy: bool | None = True
) -> tuple[Array, Array, tuple[int, ...]]:
    """Return both operands in their common dtype and the shape of the result.

    ``b`` becomes a stack (b, n, k), a new one unless told, and a vector a column; ``a`` stays.

    Raises:
        TypeError, ValueError, DeviceMismatchError: they do not fit.
    """
    factored(a, op, square=True)
    need_array(b, op)
    need_one_device(op, a, b)
    rows = b.shape[-2 if b.ndim > 1 else -1] if b.ndim else 0
    if b.ndim == 0 or rows != a.shape[-1]:
        raise ValueError(
            f"{op} of shapes {a.shape} and {b.shape}: the right side needs {a.shape[-1]} rows, "
            f"got {rows}"
        )
    dtype = result_type(a, b)
    if dtype.kind not in "fc":
        raise TypeError(f"{op} takes floating arrays, got {a.dtype} and {b.dtype}")
    right = expand_dims(b, axis=-1) if b.ndim == 1 else b
    batch = a.shape[:-2]
    if right.shape[:-2] != batch:
        batch = broadcast_shapes(batch, right.shape[:-2])
    shape = (*batch, *right.shape[-2:])
    whole = stacked(broadcast_to(cast(right, dtype), shape), copy=copy)
    return cast(a, dtype), whole, (*batch, rows) if b.ndim == 1 else shape


def spread(x: Array, axes: int, batch: tuple[int, ...]) -> Array:
    """Return a stack over ``x``'s leading axes, less ``axes``, as one over a broadcast batch."""
    inner = x.shape[x.ndim - axes :]
    return reshape(broadcast_to(x, (*batch, *inner)), (-1 if x.size else 0, *inner))


def solve_triangular(
    a: Array, b: Array, /, *, lower: bool = False, unit_diagonal: bool = False
) -> Array:
    """Return x with a @ x = b for triangular a (..., n, n); the other triangle is not read.

    ``b`` is a vector (n,) or matrices (..., n, k), which broadcast with a's. ``lower`` says which
    triangle, ``unit_diagonal`` that the diagonal counts as ones. Name and defaults are SciPy's. A
    zero on the diagonal gives infinities or NaN.

    Raises:
        TypeError: no array of a floating or complex dtype.
        ValueError: ``a`` not square, or shapes that do not fit.
        DeviceMismatchError: the arrays lie on two devices.

    Examples:
        >>> a = px.asarray([[2.0, 1.0], [0.0, 4.0]])
        >>> print(px.linalg.solve_triangular(a, px.asarray([4.0, 8.0])))
        [1. 2.]
        >>> print(px.linalg.solve_triangular(a.mT, px.asarray([4.0, 8.0]), lower=True))
        [2.  1.5]
    """
    a, x, shape = right_side("solve_triangular", a, b)
    if x.size:
        batch = shape[: len(shape) - (1 if b.ndim == 1 else 2)]
        solve = solve_lower if lower else solve_upper
        solve(spread(a, 2, batch), x, unit=unit_diagonal)
    return reshape(x, shape)
