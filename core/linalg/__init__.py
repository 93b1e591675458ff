"""The ``linalg`` extension of the Array API standard 2025.12, and names of NumPy and SciPy.

Everything is composed of ops of the table in a stated order, so every device gives the same bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from phalanx.namespace.diagonals import diagonal, trace
from phalanx.namespace.linear import matmul, tensordot, vecdot
from phalanx.namespace.manipulation import matrix_transpose

from .definite import cholesky
from .eigen import eig, eigh, eigvals, eigvalsh
from .lu import det, inv, lu, slogdet, solve
from .norms import cond, matrix_norm, vector_norm
from .orthogonal import qr
from .products import cross, matrix_power, outer
from .singular import lstsq, matrix_rank, pinv, svd, svdvals
from .triangles import solve_triangular


def __dir__() -> list[str]:
    """The public names and the module's own, not the modules behind them."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


if not TYPE_CHECKING:  # type checkers know what the module has

    def __getattr__(name: str) -> NoReturn:
        """Say what to write for a name that other libraries have."""
        from phalanx.namespace.namesakes import MissingName

        raise MissingName(name, of_array=False, module=__name__)


__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
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
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
