"""Means and covariances on the host, and the root of a covariance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phalanx._warm import Array
from phalanx.arrays.transfer import asnumpy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    HostArray = npt.NDArray[np.float64]

#: How far below 0 a pivot, how far from symmetric a matrix may be: per row, of its largest number.
_SLACK = 1e-13


def _real(value: Any, name: str, axes: int) -> HostArray:
    import numpy as np

    host = np.asarray(asnumpy(value) if isinstance(value, Array) else value)
    if host.dtype.kind not in "iufV":
        raise TypeError(f"multivariate_normal: {name} is real, got {host.dtype}")
    if host.ndim != axes:
        shape = "(d,)" if axes == 1 else "(d, d)"
        raise ValueError(f"multivariate_normal: {name} has the shape {shape}, got {host.shape}")
    wide = host.astype(np.float64)
    if not np.isfinite(wide).all():
        raise ValueError(f"multivariate_normal: {name} has a number that is not finite")
    return wide


def vector(mean: Any) -> HostArray:
    """Return a mean (d,) as float64; waits if it is an array."""
    return _real(mean, "mean", 1)


def factor(cov: Any) -> HostArray:
    """Return the lower triangular L (d, d) with ``L @ L.T`` the covariance; waits for an array.

    One column after the other is taken from what is left (Golub & Van Loan, Matrix Computations,
    4th ed., 2013, 4.2.5), by elementwise operations alone, so that the bits do not depend on a
    BLAS. A column whose pivot is 0 but for rounding is left out: the matrix is semidefinite then.

    Raises:
        TypeError: numbers that are not real.
        ValueError: no symmetric matrix, or one with a negative direction.
    """
    import numpy as np

    left = _real(cov, "cov", 2)
    d = left.shape[0]
    largest = float(np.abs(left).max(initial=0.0))
    slack = _SLACK * max(1, d) * largest
    if left.shape[1] != d or float(np.abs(left - left.T).max(initial=0.0)) > slack:
        raise ValueError(f"multivariate_normal: cov is a symmetric matrix, got shape {left.shape}")
    lower = np.zeros((d, d))
    for j in range(d):
        pivot = float(left[j, j])
        column = left[j:, j]
        if pivot <= slack:
            if pivot < -slack or float(np.abs(column).max()) > np.sqrt(slack * largest):
                raise ValueError(
                    "multivariate_normal: cov is not a covariance, as some direction has a "
                    "negative variance; add a small multiple of the identity if rounding made it so"
                )
            continue
        lower[j:, j] = column / np.sqrt(pivot)
        left[j:, j:] -= np.outer(lower[j:, j], lower[j:, j])
    return lower
