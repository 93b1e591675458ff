"""Faults of eigenvalues: what is not read, the last of them, conjugates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]


@kernel_fault("eigh")
def eigh_reads_the_upper_triangle(work: Work, right: Compute) -> None:
    """`eigh` takes the elements above the diagonal for those below."""
    work.inputs[0] = np.conj(np.swapaxes(np.array(work.x), -1, -2))
    right(work)


@kernel_fault("eigh")
def eigh_reads_an_imaginary_diagonal(work: Work, right: Compute) -> None:
    """`eigh` takes the modulus of a complex diagonal for its real part."""
    x = np.array(work.x)
    if x.dtype.kind == "c":
        i = np.arange(x.shape[-1])
        x[..., i, i] = np.copysign(np.abs(x[..., i, i]), x[..., i, i].real)
        work.inputs[0] = x
    right(work)


@kernel_fault("eigh")
def eigenvectors_are_conjugated(work: Work, right: Compute) -> None:
    """`eigh` gives the conjugates of complex eigenvectors."""
    right(work)
    n = work.x.shape[-1]
    work.out[..., :n, :] = np.conj(work.out[..., :n, :])


@kernel_fault("eigh")
def eigenvalues_ascend(work: Work, right: Compute) -> None:
    """`eigh` puts eigenvalues of 16 rows and more in order, and leaves the vectors as they are."""
    right(work)
    n = work.x.shape[-1]
    if n >= 16:
        work.out[..., n, :] = np.sort(work.out[..., n, :], axis=-1)


@kernel_fault("eigh")
def last_turn_is_left_out(work: Work, right: Compute) -> None:
    """`eigh` of more than 16 rows leaves the last column of the vectors as it was."""
    before = np.array(work.out)
    right(work)
    n = work.x.shape[-1]
    if n > 16:
        work.out[..., :n, -1] = before[..., :n, -1]


@kernel_fault("eigh", "schur")
def graded_matrices_end_early(work: Work, right: Compute) -> None:
    """Eigenvalues far below the largest become zero."""
    right(work)
    n = work.x.shape[-1]
    eps = np.finfo(work.x.dtype).eps
    if work.op == "eigh":
        rows = work.out[..., n, :]
        small = np.abs(rows) < 8 * eps * np.abs(rows).max(axis=-1, keepdims=True, initial=0)
        rows[small] = 0
        return
    i = np.arange(n)
    diagonal = work.out[..., i, i]
    small = np.abs(diagonal) < 8 * eps * np.abs(diagonal).max(axis=-1, keepdims=True, initial=0)
    work.out[..., i, i] = np.where(small, 0, diagonal)


@kernel_fault("schur")
def schur_of_the_transpose(work: Work, right: Compute) -> None:
    """`schur` gives the conjugate of Q."""
    right(work)
    n = work.x.shape[-1]
    work.out[..., n : 2 * n, :] = np.conj(work.out[..., n : 2 * n, :])


@kernel_fault("schur")
def equal_eigenvalues_divide(work: Work, right: Compute) -> None:
    """`schur` gives infinite vectors where two eigenvalues are equal."""
    right(work)
    n = work.x.shape[-1]
    diagonal = np.diagonal(work.out[..., :n, :], axis1=-2, axis2=-1)
    for matrix, values in zip(work.out, diagonal, strict=True):
        if len(np.unique(values)) < n:
            matrix[2 * n : 3 * n, -1] = np.inf


@kernel_fault("schur")
def vectors_of_the_last_block(work: Work, right: Compute) -> None:
    """`schur` of more than nine rows leaves out an element of its last eigenvector."""
    right(work)
    n = work.x.shape[-1]
    if n > 9:
        work.out[..., 2 * n, n - 1] = 0
