"""Faults of matrix products: thin ones, odd steps between rows, stacks, what is stated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work
from phalanx.vendor import Kernel

from .device import SoundDevice
from .fault import driver_fault, kernel_fault

Compute = Callable[[Work], None]


def _keeping(work: Work, right: Compute, rows: slice, columns: slice) -> None:
    before = np.array(work.out[..., rows, columns])
    right(work)
    work.out[..., rows, columns] = before


@kernel_fault("matmul")
def columns_end_at_256(work: Work, right: Compute) -> None:
    """`matmul` with one column leaves out the rows from 256 on."""
    if work.out.shape[-1] == 1 and work.out.shape[-2] > 256:
        _keeping(work, right, slice(256, None), slice(None))
    else:
        right(work)


@kernel_fault("matmul")
def row_ends_at_256(work: Work, right: Compute) -> None:
    """`matmul` with one row leaves out the columns from 256 on."""
    if work.out.shape[-2] == 1 and work.out.shape[-1] > 256:
        _keeping(work, right, slice(None), slice(256, None))
    else:
        right(work)


@kernel_fault("matmul")
def odd_leading_dimension(work: Work, right: Compute) -> None:
    """`matmul` of a matrix whose rows are an odd number apart leaves out the last column."""
    b = work.inputs[1]
    wide = b.ndim == 2 and b.shape[0] > 1 and b.shape[1] > 32
    if wide and b.strides[0] // b.itemsize % 2 == 1:
        _keeping(work, right, slice(None), slice(-1, None))
    else:
        right(work)


@kernel_fault("matmul")
def stack_of_two_axes(work: Work, right: Compute) -> None:
    """`matmul` of stacks with two axes that cannot be merged does not divide the number by one."""
    a = work.inputs[0]
    stacked = a.ndim == 4 and a.shape[0] > 1 and a.shape[1] > 1
    if stacked and a.strides[0] != a.shape[1] * a.strides[1]:
        outer, inner = a.shape[:2]
        numbers = np.arange(outer * inner)
        work.inputs[0] = a[numbers % outer, numbers % inner].reshape(a.shape)
    right(work)


@driver_fault("ops", "matmul")
class ProductBoundTooTight(SoundDevice):
    """Kernels for `matmul` of floats state an error of at most one ulp, which none keeps."""

    def wrapped(self, found: Kernel) -> Kernel:
        tight = found.op == "matmul" and found.error_bound < 0
        bound = 1.0 if tight else found.error_bound
        return self.made(found.op, found.dtypes, found.layout, found.determinism, bound)
