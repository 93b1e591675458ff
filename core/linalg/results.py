"""What functions with several results return."""

from __future__ import annotations

from typing import NamedTuple

from phalanx._warm import Array


class EigResult(NamedTuple):
    """Eigenvalues (..., n) and eigenvectors (..., n, n), one per column."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Ascending real eigenvalues (..., n) and orthonormal eigenvectors (..., n, n) in columns."""

    eigenvalues: Array
    eigenvectors: Array


class LUResult(NamedTuple):
    """Permutation P (..., m, m), unit lower L (..., m, k), upper U (..., k, n): x = P L U."""

    P: Array
    L: Array
    U: Array


class LstsqResult(NamedTuple):
    """Solution (n,) or (n, k), residuals (k,) or (0,), rank, and singular values of a matrix."""

    x: Array
    residuals: Array
    rank: Array
    singular_values: Array


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
