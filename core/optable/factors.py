"""Rows of the ops that factor small matrices; ``phalanx.linalg`` makes those of large ones.

Each element is one chain of ``fma``, or a tree over FACTOR_LANES of them: see ``docs/ops.md``.
"""

from __future__ import annotations

from .dtypes import COMPLEX
from .row import Bound, Op, Signature, Structure

#: A sum along the rows of a matrix has so many lanes: row i is in lane i mod FACTOR_LANES.
FACTOR_LANES = 16
#: Turns of all pairs of columns after which ``jacobi`` gives up.
SWEEPS = 60
#: Sweeps of ``eigh`` and ``schur`` for each row, of ten at least, after which it gives up.
SWEEPS_A_ROW = 30

_DTYPES = ("float32", "float64", *COMPLEX)
_BACKWARD = Bound({}, "grows with the extents: Higham 2002, chapters 8 to 10, 19")


def _factor(
    name: str,
    arity: int,
    summary: str,
    order: str,
    special: str = "",
) -> Op:
    return Op(
        name,
        Structure.FACTORIZATION,
        tuple(Signature((d,) * arity, (d,)) for d in _DTYPES),
        summary,
        _BACKWARD,
        order=order,
        special=special,
        in_place=False,
    )


ROWS: tuple[Op, ...] = (
    _factor(
        "cholesky",
        1,
        "lower L (b, n, n) of x = L L^H for the lower triangles of x (b, n, n); zeros above",
        "each element one chain of fma over the columns before",
        "NaN from the first pivot on that is not positive",
    ),
    _factor(
        "lu",
        1,
        "factors L and U of x (b, m, n) with rows exchanged, then a column of the rows' old "
        "numbers: (b, m, n + 1)",
        "each element one chain of fma over the columns before",
        "the pivot is the first of largest |re| + |im|; NaN counts as the smallest",
    ),
    _factor(
        "triangular_solve",
        2,
        "y with l y = x for lower triangles l (b, n, n) and x (b, n, k); params: diagonal is 1",
        "each element one chain of fma over the rows before",
    ),
    _factor(
        "householder",
        1,
        "factor R above V for x (b, m, n), then T (n, n) of Q = I - V T V^H: (b, m + n, n)",
        f"sums over rows in {FACTOR_LANES} lanes of fma, joined in a tree",
        "the diagonal of R has the opposite sign of what it replaces; R's is real",
    ),
    _factor(
        "jacobi",
        1,
        "orthogonal columns x V for x (b, m, n), then V (n, n), then a row of the number of "
        "sweeps: (b, m + n + 1, n)",
        f"pairs of columns in the order of a tournament; sums in {FACTOR_LANES} lanes of fma, "
        "joined in a tree",
        f"the sweeps are -1 if {SWEEPS} were not enough",
    ),
    _factor(
        "eigh",
        1,
        "eigenvectors of x (b, n, n) in rows, not conjugated, then a row of eigenvalues in the "
        "order of these, then a row of the number of sweeps: (b, n + 2, n); reads the lower "
        "triangle and the real diagonal",
        f"reflectors row by row to a tridiagonal form, their product from the last to the first, "
        f"QR with Wilkinson's shift; sums of squares and of v^H p in {FACTOR_LANES} lanes of fma",
        f"the sweeps are -1 if {SWEEPS_A_ROW} max(10, n) were not enough",
    ),
    _factor(
        "schur",
        1,
        "upper T above unitary Q with x = Q T Q^H for x (b, n, n), then eigenvectors Y of T, "
        "upper, of any length, then a row of the number of sweeps: (b, 3 n + 1, n); of real x all "
        "is real, two rows of T belong to a pair of conjugate values, and two columns of Y are the "
        "parts of the vector whose value has the positive imaginary one",
        "rotations of neighbouring rows, then columns; QR with one shift, of real x with two by "
        "reflections; back substitution",
        f"the sweeps are -1 if {SWEEPS_A_ROW} max(10, n) were not enough",
    ),
)
