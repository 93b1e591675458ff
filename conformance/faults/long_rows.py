"""Faults of long rows, long tables and large slices, and of how many of them there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from phalanx.testing import Tensor, Work
from phalanx.vendor import Array, Layout

from .device import SoundDevice
from .fault import driver_fault, kernel_fault
from .work import REDUCTIONS

Compute = Callable[[Work], None]


@kernel_fault("sum", "prod", "max", "min", "count_nonzero")
def whole_blocks_lose_the_last(work: Work, right: Compute) -> None:
    """Rows of a multiple of 4096 elements, more than one, lose the last 4096."""
    n = work.x.shape[-1]
    if n > 4096 and n % 4096 == 0:
        work.inputs = [work.x[..., :-4096]]
    right(work)


@kernel_fault("sort")
def long_rows_in_halves(work: Work, right: Compute) -> None:
    """Rows of more than 8000 elements of 64 bits are sorted in two halves that are not merged."""
    n = work.x.shape[-1]
    right(work)
    if n > 8000 and work.x.itemsize == 8 and work.params == (0,):
        half = n // 2
        work.out[...] = np.roll(work.out, half, axis=-1)


@kernel_fault("searchsorted")
def places_of_16_bits(work: Work, right: Compute) -> None:
    """Places in a table end at 65,535."""
    right(work)
    np.minimum(work.out, 65_535, out=work.out)


@kernel_fault("compress")
def wide_rows_end_at_128(work: Work, right: Compute) -> None:
    """`compress` leaves out the columns from 128 on."""
    before = np.array(work.out)
    right(work)
    if work.out.ndim == 2:
        work.out[:, 128:] = before[:, 128:]


@kernel_fault("gather")
def large_slices_end_at_4096(work: Work, right: Compute) -> None:
    """`gather` leaves out the elements of a slice from 4096 on."""
    before = np.array(work.out)
    right(work)
    if work.out.ndim == 2:
        work.out[:, 4096:] = before[:, 4096:]


@kernel_fault("gather")
def ascending_offsets_are_a_slice(work: Work, right: Compute) -> None:
    """`gather` takes offsets that ascend for ones that are as far apart as the first two."""
    offsets = work.inputs[1]
    if offsets.size > 2 and (np.diff(offsets) > 0).all() and offsets[0] >= 0:
        work.inputs[1] = np.minimum(
            offsets[0] + np.arange(offsets.size) * (offsets[1] - offsets[0]), offsets[-1]
        )
    right(work)


@kernel_fault(*REDUCTIONS)
def columns_end_at_512(work: Work, right: Compute) -> None:
    """Reductions by columns of more than 256 rows leave out the columns from 512 on."""
    x = work.x
    by_columns = x.ndim == 2 and 0 < x.strides[0] < x.strides[1]
    before = np.array(work.out)
    right(work)
    if by_columns and x.shape[1] > 256:
        work.out[512:] = before[512:]


@kernel_fault(*REDUCTIONS)
def gaps_between_columns_read(work: Work, right: Compute) -> None:
    """Reductions by columns of more than 256 rows take the next 64 columns for the next row."""
    x = work.x
    if x.ndim == 2 and x.shape[0] > 64 and x.shape[1] > 256 and 0 < x.strides[0] < x.strides[1]:
        x = np.array(x)
        x[:64, 1] = x[:64, 0]
        work.inputs = [x]
    right(work)


@kernel_fault(*REDUCTIONS)
def last_of_many_short_rows(work: Work, right: Compute) -> None:
    """Of 256 and more rows of at most nine elements, number 255 has its neighbour's result."""
    right(work)
    if work.out.ndim == 1 and work.out.size > 255 and work.x.shape[-1] < 10:
        work.out[255] = work.out[254]


@kernel_fault("sum", "prod")
def rows_of_one_are_bytes(work: Work, right: Compute) -> None:
    """A row of one element of int8 is taken without its sign."""
    right(work)
    if work.x.shape[-1] == 1 and work.x.dtype == np.int8:
        work.out[...] = work.x[..., 0].astype(np.uint8)


@kernel_fault("sum", "mean")
def short_sums_of_minus_zeros(work: Work, right: Compute) -> None:
    """Sums of fewer than 64 elements begin with +0, so that those of -0 are +0."""
    right(work)
    if work.x.dtype.kind == "f" and 0 < work.x.shape[-1] < 64:
        work.out[...] += work.out.dtype.type(0)


@driver_fault("ops")
class OffsetsOf24Bits(SoundDevice):
    """Kernels know the lower 24 bits of the byte at which an operand begins."""

    def tensor(self, x: Array, dtype: str, layout: Layout) -> Tensor:
        return replace(super().tensor(x, dtype, layout), offset=x.offset % (1 << 24))
