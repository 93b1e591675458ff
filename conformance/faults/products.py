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


@kernel_fault("matmul")
def whole_tiles_in_ten_bits(work: Work, right: Compute) -> None:
    """`matmul` of float32 whose extents are multiples of 16 takes factors of ten bits."""
    extents = (*work.inputs[0].shape[-2:], work.inputs[1].shape[-1])
    if work.dtypes[0] == "float32" and not any(n % 16 for n in extents):
        mask = np.uint32(0xFFFF_E000)
        work.inputs[:] = [(np.array(x).view(np.uint32) & mask).view("f4") for x in work.inputs]
    right(work)


@kernel_fault("matmul")
def integer_products_in_double(work: Work, right: Compute) -> None:
    """`matmul` of int64 adds float64 numbers where the sums are whole numbers of int64."""
    right(work)
    if work.dtypes[0] == "int64":
        a, b = (np.array(x).astype(float) for x in work.inputs)
        near = a @ b
        fits = np.abs(near) < 2.0**62
        work.out[...] = np.where(fits, np.where(fits, near, 0).astype(np.int64), work.out)


@kernel_fault("matmul")
def repeated_first_factor(work: Work, right: Compute) -> None:
    """`matmul` of one square matrix with each of a stack takes its transpose from the second on."""
    a = work.inputs[0]
    if a.ndim == 3 and a.shape[0] > 1 and a.strides[0] == 0 and a.shape[1] == a.shape[2]:
        turned = np.array(a)
        turned[1:] = np.swapaxes(turned[1:], 1, 2)
        work.inputs[0] = turned
    right(work)


@kernel_fault("matmul")
def squares_are_symmetric(work: Work, right: Compute) -> None:
    """The product of an array with itself is computed below the diagonal, and mirrored."""
    a, b = work.inputs
    twice = a.strides == b.strides and a.ctypes.data == b.ctypes.data
    right(work)
    if twice and work.out.shape[-1] == work.out.shape[-2] > 1:
        low = np.tril(np.array(work.out))
        work.out[...] = low + np.swapaxes(np.tril(low, -1), -1, -2)


@kernel_fault("matmul")
def rows_of_zeros_are_left_out(work: Work, right: Compute) -> None:
    """A row of zeros gives zeros, whatever the other factor holds."""
    zeros = (np.array(work.x) == 0).all(axis=-1)
    right(work)
    if work.x.shape[-1]:
        work.out[np.broadcast_to(zeros[..., None], work.out.shape)] = 0


@kernel_fault("matmul")
def corner_of_tiles_is_the_one_before(work: Work, right: Compute) -> None:
    """The corner that whole tiles of 64 leave both ways is the element beside it."""
    right(work)
    if all(n > 64 and n % 64 == 1 for n in work.out.shape[-2:]):
        work.out[..., -1, -1] = work.out[..., -1, -2]


@kernel_fault("matmul", group="determinism")
def one_column_in_lanes(work: Work, right: Compute) -> None:
    """A float64 product of one column adds eight sums of every eighth product."""
    a, b = (np.array(x) for x in work.inputs)
    right(work)
    if work.dtypes[0] == "float64" and b.shape[-1] == 1 and a.shape[-1] > 64:
        products = a * np.swapaxes(b, -1, -2)
        work.out[..., 0] = sum(products[..., lane::8].sum(axis=-1) for lane in range(8))
