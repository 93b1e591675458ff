"""Faults of factorizations: pivots, signs, triangles that are not read, the last of the blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
#: Columns that are factored together.
_BLOCK = 32


def _square(work: Work) -> int:
    """Return how many columns the matrices have."""
    return int(work.x.shape[-1])


@kernel_fault("cholesky")
def cholesky_reads_the_upper_triangle(work: Work, right: Compute) -> None:
    """`cholesky` factors the mean of a matrix and its adjoint."""
    x = np.array(work.x)
    upper = np.triu(np.ones(x.shape[-2:], bool), 1)
    work.inputs[0] = np.where(upper.T, np.conj(np.swapaxes(x, -1, -2)), x)
    right(work)


@kernel_fault("cholesky")
def cholesky_takes_sizes_of_pivots(work: Work, right: Compute) -> None:
    """`cholesky` takes the modulus of a complex diagonal for its real part."""
    if work.dtypes[0].startswith("complex"):
        x = np.array(work.x)
        i = np.arange(_square(work))
        x[..., i, i] = np.abs(x[..., i, i]) * np.sign(x[..., i, i].real)
        work.inputs[0] = x
    right(work)


@kernel_fault("cholesky")
def last_block_of_cholesky(work: Work, right: Compute) -> None:
    """`cholesky` of more than 32 columns does not update the last element of the diagonal."""
    right(work)
    if _square(work) > _BLOCK:
        work.out[..., -1, -1] = np.sqrt(work.x[..., -1, -1])


@kernel_fault("cholesky")
def cholesky_of_zero_pivot_goes_on(work: Work, right: Compute) -> None:
    """`cholesky` gives 0 and not NaN where the last pivot is zero."""
    right(work)
    n = _square(work)
    if n and work.out.size:
        rest = work.x[..., -1, -1].real - (np.abs(work.out[..., -1, :-1]) ** 2).sum(axis=-1)
        work.out[..., -1, -1] = np.where(rest == 0, 0, work.out[..., -1, -1])


@kernel_fault("cholesky")
def cholesky_leaves_the_rest(work: Work, right: Compute) -> None:
    """`cholesky` that fails leaves zeros and not NaN behind the pivot's column."""
    right(work)
    n = _square(work)
    lower = np.tril(np.ones((n, n), bool), -1)
    work.out[...] = np.where(np.isnan(work.out) & lower, 0, work.out)


@kernel_fault("lu")
def second_best_pivot(work: Work, right: Compute) -> None:
    """`lu` of more than 16 columns takes the largest real part for the pivot."""
    if work.dtypes[0].startswith("complex") and _square(work) > 16:
        _lu(work, lambda column: np.abs(column.real))
    else:
        right(work)


@kernel_fault("lu")
def pivots_of_the_first_rows(work: Work, right: Compute) -> None:
    """`lu` looks for pivots in the first 128 rows behind the diagonal."""
    if work.x.shape[-2] > 128:
        _lu(work, lambda column: np.where(np.arange(len(column)) < 128, np.abs(column), -1))
    else:
        right(work)


def _lu(work: Work, sizes: Callable[[np.ndarray], np.ndarray]) -> None:
    """Factor matrices with other pivots."""
    m, n = work.x.shape[-2:]
    for a, out in zip(np.array(work.x), work.out, strict=True):
        rows = np.arange(m)
        for j in range(min(m, n)):
            best = j + int(np.argmax(sizes(a[j:, j])))
            a[[j, best]], rows[[j, best]] = a[[best, j]], rows[[best, j]]
            if a[j, j] != 0:
                a[j + 1 :, j] /= a[j, j]
            a[j + 1 :, j + 1 :] -= np.outer(a[j + 1 :, j], a[j, j + 1 :])
        out[:, :n], out[:, n] = a, rows


@kernel_fault("lu")
def nan_is_the_best_pivot(work: Work, right: Compute) -> None:
    """`lu` takes the first row for the pivot where the column has NaN."""
    right(work)
    if _square(work) and work.x.shape[-2] > 1:
        bad = np.isnan(work.x[..., :, 0]).any(axis=-1)
        work.out[bad] = np.nan


@kernel_fault("lu")
def infinite_pivot_is_passed_over(work: Work, right: Compute) -> None:
    """`lu` counts an infinite element as the smallest."""
    x = np.array(work.x)
    if np.isinf(x).any():
        work.inputs[0] = np.where(np.isinf(x), np.nan, x)
    right(work)


@kernel_fault("lu")
def singular_lu_divides(work: Work, right: Compute) -> None:
    """`lu` divides by a zero pivot in the last column but one."""
    right(work)
    n = _square(work)
    if n > 2 and work.x.shape[-2] > n:
        zero = work.out[..., n - 1, n - 1] == 0
        work.out[zero, n:, n - 1] = np.nan


@kernel_fault("lu")
def rows_of_eight_bits(work: Work, right: Compute) -> None:
    """`lu` keeps the numbers of rows in eight bits."""
    right(work)
    n = _square(work)
    work.out[..., n] = work.out[..., n].real % 256


@kernel_fault("triangular_solve")
def solve_reads_above_the_diagonal(work: Work, right: Compute) -> None:
    """`triangular_solve` adds what is above the diagonal times zero."""
    right(work)
    n = work.inputs[0].shape[-1]
    above = ~np.isfinite(work.inputs[0]) & np.triu(np.ones((n, n), bool), 1)
    work.out[above.any(axis=-1)] = np.nan


@kernel_fault("triangular_solve")
def unit_diagonal_is_read(work: Work, right: Compute) -> None:
    """`triangular_solve` with ones on the diagonal divides by it where it is below 1/4."""
    if work.params[0]:
        diagonal = np.diagonal(work.inputs[0], axis1=-2, axis2=-1)
        right(work)
        small = np.abs(diagonal) < 0.25
        work.out[small] /= diagonal[small][:, None]
    else:
        right(work)


@kernel_fault("triangular_solve")
def columns_behind_64(work: Work, right: Compute) -> None:
    """`triangular_solve` of more than 64 columns leaves the last of them as it was."""
    right(work)
    if work.out.shape[-1] > 64:
        work.out[..., -1] = work.inputs[1][..., -1]


@kernel_fault("triangular_solve")
def rows_behind_a_block(work: Work, right: Compute) -> None:
    """`triangular_solve` of more than 32 rows leaves out one product of the last row."""
    right(work)
    lower = work.inputs[0]
    if lower.shape[-1] > _BLOCK and work.out.size:
        added = lower[..., -1:, 0] * work.out[..., 0, :] / lower[..., -1:, -1]
        work.out[..., -1, :] += added


@kernel_fault("cholesky", "lu", "triangular_solve", "householder", "jacobi", "eigh", "schur")
def stacks_end_at_256(work: Work, right: Compute) -> None:
    """Stacks of more than 256 matrices end there."""
    before = np.array(work.out)
    right(work)
    if work.out.shape[0] > 256:
        work.out[256:] = before[256:]


@kernel_fault("cholesky", "lu", "triangular_solve", "householder", "jacobi", "eigh", "schur")
def stacks_by_fours(work: Work, right: Compute) -> None:
    """Of stacks of more than four matrices that are no whole fours, the last is left out."""
    before = np.array(work.out)
    right(work)
    if work.out.shape[0] > 4 and work.out.shape[0] % 4:
        work.out[-1] = before[-1]


@kernel_fault("cholesky", "lu", "triangular_solve", "householder", "jacobi", "eigh", "schur")
def stacks_read_by_rows(work: Work, right: Compute) -> None:
    """A matrix that is broadcast over a stack is read as if another followed it."""
    x = work.inputs[0]
    if x.ndim == 3 and x.shape[0] > 1 and x.strides[0] == 0:
        dense = np.array(x)
        dense[1:] *= 2
        work.inputs[0] = dense
    right(work)


@kernel_fault("householder")
def squares_overflow(work: Work, right: Compute) -> None:
    """`householder` does not scale a column before it squares it."""
    right(work)
    limit = np.sqrt(np.finfo(work.x.dtype).max)
    large = (np.abs(work.x) > limit).any(axis=(-1, -2))
    work.out[large] = np.inf


@kernel_fault("householder")
def squares_vanish(work: Work, right: Compute) -> None:
    """`householder` takes columns whose squares underflow for columns of zeros."""
    info = np.finfo(work.x.dtype)
    x = np.array(work.x)
    for part in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
        part[np.abs(part) < np.sqrt(info.tiny)] = 0
    work.inputs[0] = x
    right(work)


@kernel_fault("householder")
def rows_behind_1024(work: Work, right: Compute) -> None:
    """`householder` sums the first 512 rows of a column alone."""
    m = work.x.shape[-2]
    before = np.array(work.out)
    right(work)
    if m > 512:
        work.out[..., 512:m, :] = before[..., 512:m, :]


@kernel_fault("householder")
def wide_matrix_keeps_a_row(work: Work, right: Compute) -> None:
    """`householder` of more than 32 columns leaves T's last column as it would be for tau = 0."""
    right(work)
    n = _square(work)
    if n > _BLOCK:
        work.out[..., work.x.shape[-2] :, n - 1] = 0


@kernel_fault("jacobi")
def pairs_of_the_first_32(work: Work, right: Compute) -> None:
    """`jacobi` of more than 24 columns does not turn the last column."""
    n = _square(work)
    right(work)
    if n > 24:
        work.out[..., : work.x.shape[-2], n - 1] = work.x[..., n - 1]


@kernel_fault("jacobi", "eigh", "schur")
def a_sweep_too_few(work: Work, right: Compute) -> None:
    """The number of sweeps is one less where it is above seven."""
    right(work)
    count = work.out[..., -1, :]
    work.out[..., -1, :] = np.where(count.real > 7, count - 1, count)


@kernel_fault("jacobi")
def huge_columns_are_orthogonal(work: Work, right: Compute) -> None:
    """`jacobi` of columns whose squares overflow gives NaN for the sweeps."""
    right(work)
    if (np.abs(work.x) > np.sqrt(np.finfo(work.x.dtype).max)).any():
        work.out[..., -1, :] = np.nan


@kernel_fault("cholesky")
def last_row_from_above(work: Work, right: Compute) -> None:
    """`cholesky` of more than 16 rows takes the last one from the column above the diagonal."""
    if work.x.ndim == 3 and _square(work) > 16:
        x = np.array(work.x)
        x[:, -1, :-1] = np.conj(x[:, :-1, -1])
        work.inputs[0] = x
    right(work)
