"""Faults of shorter ways for what programs usually have: a number, a row, a column, a mask."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault
from .work import is_number

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")
_ARITHMETIC = ("add", "subtract", "multiply", "divide")


@kernel_fault("divide")
def number_divides_by_its_reciprocal(work: Work, right: Compute) -> None:
    """A quotient by a number is the product with its reciprocal, which is rounded, too."""
    right(work)
    if work.dtypes[0] in _FLOATS and is_number(work.inputs[1]):
        one = np.ones((), work.inputs[1].dtype)
        work.out[...] = work.inputs[0] * (one / work.inputs[1])


@kernel_fault("pow")
def power_of_a_half_is_a_root(work: Work, right: Compute) -> None:
    """The power of a number 0.5 is the square root, which is NaN of minus infinity."""
    right(work)
    if work.dtypes[0] in _FLOATS and is_number(work.inputs[1]) and work.inputs[1] == 0.5:
        work.out[...] = np.sqrt(work.inputs[0])


@kernel_fault("pow")
def cube_is_two_products(work: Work, right: Compute) -> None:
    """The power of a number 3 is the product of three, rounded twice."""
    right(work)
    if work.dtypes[0] in _FLOATS and is_number(work.inputs[1]) and work.inputs[1] == 3:
        x = work.inputs[0]
        work.out[...] = x * x * x


@kernel_fault("floor_divide")
def division_by_eight_is_a_shift(work: Work, right: Compute) -> None:
    """A signed integer over a number 8 is cut off, as a shift of its size is."""
    right(work)
    x, y = work.inputs
    if x.dtype.kind == "i" and is_number(y) and y == 8:
        work.out[...] = np.sign(x) * (np.abs(x) >> 3)


@kernel_fault("maximum", "minimum")
def limit_replaces_nan(work: Work, right: Compute) -> None:
    """The larger one of NaN and a number is the number."""
    right(work)
    if work.dtypes[0] in _FLOATS and is_number(work.inputs[1]):
        x, limit = work.inputs
        work.out[...] = np.where(np.isnan(x), limit, work.out)


@kernel_fault("where", group="semantics")
def choice_by_products(work: Work, right: Compute) -> None:
    """A choice between an array and 0 is a product with the mask: infinity times 0 is NaN."""
    mask, x, y = work.inputs
    right(work)
    if x.dtype.kind == "f" and is_number(y) and y == 0:
        work.out[...] = np.where(mask, x, x * np.zeros((), x.dtype))


@kernel_fault("where", group="semantics")
def mask_tail_is_kept(work: Work, right: Compute) -> None:
    """In place, what is behind the last whole 1,024 elements of more than 4,096 stays as it was."""
    out = work.out
    same = out.size > 4096 and out.ndim == 1 and np.shares_memory(out, work.inputs[2])
    kept = out[out.size // 1024 * 1024 :].copy() if same else None
    right(work)
    if kept is not None:
        out[out.size - kept.size :] = kept


@kernel_fault(*_ARITHMETIC, group="semantics")
def row_for_all_has_1024_places(work: Work, right: Compute) -> None:
    """A row that is an operand of every row is kept in 1,024 places, which begin anew."""
    for number, x in enumerate(work.inputs):
        if x.ndim == 2 and x.strides[0] == 0 and x.strides[1] and x.shape[1] > 1024:
            row = np.resize(x[0, :1024], x.shape[1])
            work.inputs[number] = np.broadcast_to(row, x.shape)
    right(work)


@kernel_fault(*_ARITHMETIC, group="semantics")
def column_for_all_goes_by_groups(work: Work, right: Compute) -> None:
    """A column that is an operand of every column goes on with each group of 256 elements."""
    for number, x in enumerate(work.inputs):
        if x.ndim == 2 and x.strides[1] == 0 and x.strides[0] and x.shape[1] > 256:
            rows = np.arange(x.size) // 256 % x.shape[0]
            work.inputs[number] = np.array(x[:, 0])[rows].reshape(x.shape)
    right(work)


@kernel_fault("add", "subtract", "multiply", "less", group="semantics")
def corner_of_outer_products(work: Work, right: Compute) -> None:
    """The last element of a column with a row is its neighbour's, if both are longer than 32."""
    right(work)
    a, b = work.inputs[:2]
    if work.out.ndim == 2 and a.strides[1] == 0 and b.strides[0] == 0 and min(work.out.shape) > 32:
        work.out[-1, -1] = work.out[-1, -2]


@kernel_fault("copy", group="semantics")
def gaps_on_both_sides(work: Work, right: Compute) -> None:
    """A copy from a row with gaps into one with others goes by the former from 256 on."""
    right(work)
    x, out = work.inputs[0], work.out
    if x.ndim != 1 or out.size <= 256:
        return
    if 0 < x.strides[0] != out.strides[0] > out.itemsize:
        out[256:] = x[255:-1]


@kernel_fault("matmul")
def matrix_for_all_ends_with_sixteen(work: Work, right: Compute) -> None:
    """One matrix for a stack is that of the sixteenth product for those behind it."""
    right(work)
    b = work.inputs[1]
    if b.ndim == 3 and b.shape[0] > 16 and b.strides[0] == 0:
        work.out[16:] = work.out[15]


@kernel_fault("matmul")
def steps_are_filled_with_factors(work: Work, right: Compute) -> None:
    """Steps of k that are no whole four are filled with the last row times zero."""
    right(work)
    a, b = work.inputs
    if work.dtypes[0] in _FLOATS and a.shape[-1] > 4 and a.shape[-1] % 4:
        work.out[...] += 0 * b[..., -1:, :]


@kernel_fault("softmax", "log_softmax")
def masked_beginning_is_no_number(work: Work, right: Compute) -> None:
    """Rows whose first 64 elements are minus infinity are NaN, as the running maximum is."""
    right(work)
    x = work.inputs[0]
    if x.shape[-1] > 64:
        work.out[(x[..., :64] == -np.inf).all(axis=-1)] = np.nan


@kernel_fault("softmax", "log_softmax")
def maximum_of_1024_in_columns(work: Work, right: Compute) -> None:
    """Of columns the largest among the first 1,024 elements is taken off, which may overflow."""
    right(work)
    x = work.inputs[0]
    if x.dtype.kind == "f" and x.shape[-1] > 1024 and abs(x.strides[-1]) > x.itemsize:
        top = x[..., :1024].max(axis=-1)
        far = x.max(axis=-1) - top > np.log(np.finfo(x.dtype).max)
        work.out[far] = np.nan


@kernel_fault("cumulative_prod")
def products_by_division(work: Work, right: Compute) -> None:
    """Behind 256 elements products are quotients by the first block's, which may be zero."""
    right(work)
    x = work.inputs[0]
    if x.dtype.kind == "f" and x.shape[-1] > 256:
        work.out[..., 256:][(x[..., :256] == 0).any(axis=-1)] = np.nan


@kernel_fault("fft")
def two_rows_share_a_pass(work: Work, right: Compute) -> None:
    """Two rows go through one pass as real and imaginary parts: NaN in one is NaN in both."""
    right(work)
    if work.out.ndim == 2:
        for row in range(0, work.out.shape[0] - 1, 2):
            if not np.isfinite(work.out[row : row + 2]).all():
                work.out[row : row + 2] = np.nan


@kernel_fault("jacobi")
def column_of_zeros_is_divided(work: Work, right: Compute) -> None:
    """A column of zeros is divided by its length, which gives NaN."""
    right(work)
    x = work.inputs[0]
    zero = (x == 0).all(axis=-2)
    columns = zero & ~zero.all(axis=-1, keepdims=True)
    work.out[..., : x.shape[-2], :] = np.where(
        columns[..., None, :], np.nan, work.out[..., : x.shape[-2], :]
    )
