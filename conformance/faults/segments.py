"""Faults of what goes by target: numbers that are far, rows that are wide, targets that repeat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")


@kernel_fault("segment_sum", "bincount")
def targets_of_32_bits(work: Work, right: Compute) -> None:
    """`segment_sum` and `bincount` take the low 32 bits of a target."""
    work.inputs[-1] = work.inputs[-1].astype(np.int32).astype(np.int64)
    right(work)


@kernel_fault("segment_sum", "bincount")
def negative_targets_from_the_end(work: Work, right: Compute) -> None:
    """`segment_sum` and `bincount` count the number -2^40 for the first target."""
    numbers = np.array(work.inputs[-1])
    numbers[numbers < -(2**20)] = 0
    work.inputs[-1] = numbers
    right(work)


@kernel_fault("segment_sum", "bincount", "histogram")
def targets_end_at_65536(work: Work, right: Compute) -> None:
    """Targets from 65,536 on get nothing."""
    right(work)
    work.out[65_536:] = 0


@kernel_fault("segment_sum")
def wide_rows_end_at_256(work: Work, right: Compute) -> None:
    """`segment_sum` leaves out the columns from 256 on."""
    before = np.array(work.out)
    right(work)
    if work.out.shape[1] > 256:
        work.out[:, 256:] = before[:, 256:]


@kernel_fault("segment_sum")
def columns_by_fours(work: Work, right: Compute) -> None:
    """`segment_sum` of rows of eight or more takes whole fours alone."""
    right(work)
    width = work.out.shape[1]
    if width >= 8 and width % 4:
        work.out[:, width // 4 * 4 :] = 0


@kernel_fault("segment_sum")
def outside_times_zero(work: Work, right: Compute) -> None:
    """`segment_sum` adds rows without a target, times zero, to the first target."""
    right(work)
    numbers, rows = work.inputs[1], work.inputs[0]
    outside = (numbers < 0) | (numbers >= work.out.shape[0])
    if work.out.size and outside.any() and rows.dtype.kind == "f":
        work.out[0] += (rows[outside] * rows.dtype.type(0)).sum(axis=0)


@kernel_fault("segment_sum")
def largest_alone_becomes_infinite(work: Work, right: Compute) -> None:
    """`segment_sum` of float16 keeps its sums in float16."""
    right(work)
    if work.dtypes[0] == "float16":
        work.out[...] = 0
        for row, t in zip(work.inputs[0], work.inputs[1].tolist(), strict=True):
            if 0 <= t < work.out.shape[0]:
                work.out[t] += row


@kernel_fault("segment_sum")
def runs_that_are_sorted(work: Work, right: Compute) -> None:
    """`segment_sum` of sorted targets leaves out the first row of each run of over 64."""
    right(work)
    numbers = np.array(work.inputs[1])
    if numbers.size > 64 and (np.diff(numbers) >= 0).all() and work.out.size:
        values, starts, counts = np.unique(numbers, return_index=True, return_counts=True)
        for t, at, count in zip(values.tolist(), starts.tolist(), counts.tolist(), strict=True):
            if 0 <= t < work.out.shape[0] and count > 64:
                work.out[t] -= work.inputs[0][at]


@kernel_fault("segment_sum", "bincount")
def last_row_not_counted(work: Work, right: Compute) -> None:
    """`segment_sum` and `bincount` of whole blocks of 1024 leave out the last row."""
    if work.inputs[-1].size and work.inputs[-1].size % 1024 == 0:
        work.inputs = [x[:-1] for x in work.inputs]
    right(work)


@kernel_fault("bincount")
def counts_of_16_bits(work: Work, right: Compute) -> None:
    """`bincount` keeps the counts of a group in 16 bits."""
    right(work)
    work.out[...] = work.out % 65_536


@kernel_fault("histogram")
def empty_intervals_hold_their_edge(work: Work, right: Compute) -> None:
    """`histogram` counts a value that is an edge twice over for the first of its intervals."""
    right(work)
    edges = np.array(work.inputs[1]).astype(np.float64)
    x = np.array(work.inputs[0]).astype(np.float64)
    for i in np.flatnonzero(np.diff(edges) == 0).tolist():
        if i + 1 < work.out.shape[0]:
            moved = np.count_nonzero(x == edges[i])
            later = i + 1
            while later + 1 < work.out.shape[0] and edges[later + 1] == edges[i]:
                later += 1
            work.out[i] += moved
            work.out[later] -= moved


@kernel_fault("histogram")
def zero_edge_with_a_sign(work: Work, right: Compute) -> None:
    """`histogram` takes -0 for less than an edge of 0."""
    x, edges = work.inputs
    if edges.dtype.kind == "f" and (edges == 0).any():
        x = np.array(x)
        x[(x == 0) & np.signbit(x)] = -np.finfo(x.dtype).tiny
        work.inputs[0] = x
    right(work)


@kernel_fault("histogram")
def edges_in_float32(work: Work, right: Compute) -> None:
    """`histogram` of float64 compares in float32."""
    if work.dtypes[0] == "float64":
        work.inputs = [x.astype(np.float32).astype(np.float64) for x in work.inputs]
    right(work)


@kernel_fault("scatter")
def repeats_far_apart(work: Work, right: Compute) -> None:
    """`scatter` to a place that comes again more than 4096 slices later keeps the first."""
    values, offsets = work.inputs
    right(work)
    if offsets.size > 4096:
        at: dict[int, int] = {}
        for i, o in enumerate(offsets[:-4096].tolist()):
            at.setdefault(o, i)
        again = [(at[o], o) for o in offsets[4096:].tolist() if o in at]
        if again:
            first = sorted({i for i, _ in again})
            work.inputs = [values[first], np.ascontiguousarray(offsets[first])]
            right(work)


@kernel_fault("segment_sum")
def rows_without_gaps(work: Work, right: Compute) -> None:
    """`segment_sum` reads rows with gaps between them as if they had none."""
    x = work.inputs[0]
    if x.ndim == 2 and x.shape[0] > 1 and x.strides[0] > x.shape[1] * x.itemsize > 0:
        dense = (x.shape[1] * x.itemsize, x.itemsize)
        work.inputs[0] = np.lib.stride_tricks.as_strided(x, x.shape, dense)
    right(work)


@kernel_fault("bincount", "segment_sum")
def repeated_number_counts_once(work: Work, right: Compute) -> None:
    """A number that stands for many by a stride of 0 is taken once."""
    numbers = work.inputs[-1]
    if numbers.size > 1 and numbers.strides[0] == 0:
        once = np.full(numbers.shape, -1)
        once[0] = numbers[0]
        work.inputs[-1] = once
    right(work)
