"""Faults of sizes and shapes: what a kernel leaves out, or takes too much of, beyond a limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import HostArray, Work

from .fault import kernel_fault
from .work import REDUCTIONS

Compute = Callable[[Work], None]
_STEP_BITS = 24


def _keeping(work: Work, right: Compute, *index: slice) -> None:
    """Compute all but a part of the output."""
    before = np.array(work.out[index])
    right(work)
    work.out[index] = before


def _knowing(axes: int, work: Work, right: Compute) -> None:
    """Compute the first place alone of the axes before the last so many."""
    before = np.array(work.out)
    right(work)
    for axis in range(work.out.ndim - axes):
        later = (slice(None),) * axis + (slice(1, None),)
        work.out[later] = before[later]


@kernel_fault()
def rows_numbered_in_16_bits(work: Work, right: Compute) -> None:
    """Strided kernels leave out the rows from 65,535 on."""
    if work.elementwise and work.out.ndim > 1 and work.out.shape[0] > 65_535:
        _keeping(work, right, slice(65_535, None))
    else:
        right(work)


@kernel_fault(*REDUCTIONS)
def reductions_end_at_65535_rows(work: Work, right: Compute) -> None:
    """Reductions leave out the rows from 65,535 on, where a grid would have another axis."""
    if work.out.ndim and work.out.shape[0] > 65_535:
        _keeping(work, right, slice(65_535, None))
    else:
        right(work)


@kernel_fault("gather")
def gather_ends_at_65536(work: Work, right: Compute) -> None:
    """`gather` leaves out the slices from 65,536 on."""
    if work.out.shape[0] > 65_536:
        _keeping(work, right, slice(65_536, None))
    else:
        right(work)


@kernel_fault("scatter")
def scatter_ends_at_65536(work: Work, right: Compute) -> None:
    """`scatter` leaves out the slices from 65,536 on."""
    values, offsets = work.inputs
    work.inputs = [values[:65_536], offsets[:65_536]]
    right(work)


@kernel_fault()
def ninth_axis_ignored(work: Work, right: Compute) -> None:
    """Kernels know eight axes; of the ninth and later, only the first place is computed."""
    if work.elementwise and work.out.ndim > 8:
        _knowing(8, work, right)
    else:
        right(work)


@kernel_fault(*REDUCTIONS)
def seventh_kept_axis_ignored(work: Work, right: Compute) -> None:
    """Reductions keep up to six axes; of the seventh and later, only one place is computed."""
    _knowing(6, work, right)


@kernel_fault()
def corner_of_tiles_left_out(work: Work, right: Compute) -> None:
    """Kernels that turn a matrix leave out the corner behind whole tiles of 32."""
    shape = work.out.shape
    turned = work.elementwise and len(shape) == 2 and min(shape) > 32
    turned = turned and any(
        x.ndim == 2 and abs(x.strides[0]) < abs(x.strides[1]) for x in (*work.inputs, work.out)
    )
    if turned and shape[0] % 32 and shape[1] % 32:
        _keeping(work, right, *(slice(n // 32 * 32, None) for n in shape))
    else:
        right(work)


@kernel_fault()
def gaps_between_rows_written(work: Work, right: Compute) -> None:
    """Kernels whose output has rows of neighbours with gaps write one element of each gap."""
    right(work)
    out = work.out
    size = out.itemsize
    if work.elementwise and out.ndim == 2 and out.size and out.strides[1] == size:
        rows, columns = out.shape
        if rows > 1 and out.strides[0] > columns * size:
            wide = np.lib.stride_tricks.as_strided(out, (rows - 1, columns + 1), out.strides)
            wide[:, columns] = np.zeros((), out.dtype)


@kernel_fault()
def middle_axis_repeats_the_first(work: Work, right: Compute) -> None:
    """An operand that is broadcast along a middle axis alone has one row for all outer places."""

    def changed(x: HostArray) -> HostArray:
        middle = x.ndim > 2 and 0 in x.strides[1:-1] and x.strides[0] and x.strides[-1]
        return np.broadcast_to(x[:1], x.shape) if middle else x

    if work.elementwise:
        work.inputs = [changed(x) for x in work.inputs]
    right(work)


@kernel_fault()
def strides_of_24_bits(work: Work, right: Compute) -> None:
    """Strided kernels keep the lower 24 bits of the bytes from one row to the next."""

    def cut(x: HostArray) -> HostArray:
        steps = tuple(s % (1 << _STEP_BITS) if s >= 1 << _STEP_BITS else s for s in x.strides)
        return np.lib.stride_tricks.as_strided(x, x.shape, steps)

    if work.elementwise:
        work.inputs = [cut(x) for x in work.inputs]
    right(work)


@kernel_fault("matmul")
def stack_ends_at_256(work: Work, right: Compute) -> None:
    """`matmul` leaves out the matrices of a stack from number 256 on."""
    if work.out.ndim > 2 and work.out.shape[0] > 256:
        _keeping(work, right, slice(256, None))
    else:
        right(work)


@kernel_fault("add", "maximum", "copy")
def windows_read_as_one_row(work: Work, right: Compute) -> None:
    """`add`, `maximum` and `copy` of rows that begin one element apart read the first for all."""
    for number, x in enumerate(work.inputs):
        if x.ndim == 2 and x.strides == (x.itemsize, x.itemsize):
            work.inputs[number] = np.broadcast_to(x[:1], x.shape)
    right(work)


@kernel_fault("sum", "max", "argmax", "cumulative_sum")
def windows_reduced_as_one_row(work: Work, right: Compute) -> None:
    """Reductions and scans of rows that share elements give the result of the first for all."""
    x = work.x
    if x.ndim == 2 and 0 < x.strides[0] < x.shape[1] * x.strides[1]:
        work.inputs[0] = np.broadcast_to(x[:1], x.shape)
    right(work)


@kernel_fault("add", "multiply")
def gap_behind_a_vector_written(work: Work, right: Compute) -> None:
    """Results two elements apart are stored in vectors, which write the gap behind the 64th."""
    right(work)
    out = work.out
    if out.ndim == 1 and out.size > 64 and out.strides[0] == 2 * out.itemsize:
        np.lib.stride_tricks.as_strided(out[63:], (2,), (out.itemsize,))[1] = out[63]


@kernel_fault("where")
def masks_of_columns_for_two_rows(work: Work, right: Compute) -> None:
    """A mask of one column is read once for two rows."""
    mask = work.x
    if mask.ndim == 2 and mask.shape[0] > 1 < mask.shape[1] and mask.strides[1] == 0:
        read = np.array(mask)
        read[1::2] = read[: len(read) // 2 * 2 : 2]
        work.inputs[0] = read
    right(work)


@kernel_fault("segment_sum")
def second_group_begins_at_its_row(work: Work, right: Compute) -> None:
    """Columns from 1,024 on count the first row of a target twice."""
    rows, numbers = (np.array(x) for x in work.inputs)
    right(work)
    if rows.shape[-1] > 1024 and numbers.size and 0 <= numbers[0] < len(work.out):
        work.out[numbers[0], 1024:] += rows[0, 1024:]


@kernel_fault("copy", group="runtime")
def fills_of_rows_far_apart(work: Work, right: Compute) -> None:
    """Fills of a part of each row take the distance of the rows modulo 64 KiB."""
    out = work.out
    far = out.ndim == 2 and out.strides[0] >= 1 << 16 and out.shape[0] > 1
    if far and not work.inputs[0].ndim and out.strides[1] == out.itemsize:
        steps = (out.strides[0] % (1 << 16), out.itemsize)
        np.lib.stride_tricks.as_strided(out, strides=steps)[...] = work.x
        return
    right(work)
