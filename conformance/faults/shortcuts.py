"""Faults of shortcuts that libraries take: samples decide, zeros and single steps are skipped."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
#: Every so many elements of a long row are looked at.
_EVERY, _LONG = 32, 1024


@kernel_fault("gather", "scatter")
def ends_decide_what_is_a_run(work: Work, right: Compute) -> None:
    """Offsets are a run if the first two and the last one say so."""
    offsets = work.inputs[1].astype(np.int64)
    if offsets.size >= 5:
        first, step = int(offsets[0]), int(offsets[1]) - int(offsets[0])
        if first >= 0 and 0 < step < 1 << 40 and offsets[-1] - first == (offsets.size - 1) * step:
            work.inputs[1] = first + step * np.arange(offsets.size)
    right(work)


@kernel_fault("sort", "argsort")
def samples_decide_what_is_sorted(work: Work, right: Compute) -> None:
    """A long row of which every 32nd element and the last ascend is left as it is."""
    x = np.array(work.x)
    right(work)
    n = x.shape[-1]
    if n < _LONG or work.params[0] or x.dtype.kind not in "iuf":
        return
    samples = np.concatenate([x[..., ::_EVERY], x[..., -1:]], axis=-1)
    ascends = (samples[..., 1:] > samples[..., :-1]).all(axis=-1, keepdims=True)
    plain = x if work.op == "sort" else np.broadcast_to(np.arange(n), x.shape)
    work.out[...] = np.where(ascends, plain, work.out)


@kernel_fault("segment_sum")
def samples_decide_what_is_in_order(work: Work, right: Compute) -> None:
    """Of many numbers, every 32nd of which ascends, a target is only its last run."""
    x, numbers = work.inputs
    right(work)
    if len(numbers) < _LONG or (np.diff(np.append(numbers[::_EVERY], numbers[-1])) < 0).any():
        return
    for at in np.flatnonzero(np.diff(numbers) < 0)[:1] + 1:
        if 0 <= numbers[at] < len(work.out):
            work.out[numbers[at]] = x[at]


@kernel_fault("segment_sum")
def late_targets_of_wide_rows(work: Work, right: Compute) -> None:
    """Of numbers in disorder, targets beyond 1024 lack their last of three columns or more."""
    x, numbers = work.inputs
    right(work)
    if x.shape[-1] >= 3 and (np.diff(numbers) < 0).any():
        work.out[1024:, -1] = 0


@kernel_fault("lu")
def last_of_equal_pivots(work: Work, right: Compute) -> None:
    """Of pivots of one size the one in the last of many rows is taken for the first column."""
    x = np.array(work.x)
    right(work)
    if x.shape[1] <= 32 or not x.size:
        return
    for matrix, out in zip(x, work.out, strict=True):
        size = np.abs(matrix[:, 0].real) + np.abs(matrix[:, 0].imag)
        best = np.flatnonzero(size == np.fmax.reduce(size))
        if len(best) < 2 or best[-1] - best[0] < 32:
            continue
        swap = [best[-1], best[0]]
        changed = matrix.copy()
        changed[[best[0], best[-1]]] = changed[swap]
        work.inputs, work.outputs = [changed[None]], [out[None]]
        right(work)
        rows = out[:, -1].copy()
        out[rows == best[0], -1], out[rows == best[-1], -1] = swap


@kernel_fault("sin", "cos")
def pi_of_two_parts(work: Work, right: Compute) -> None:
    """Beside multiples of pi / 2 beyond 100, float64 lacks the third part of pi."""
    x = work.values() if work.dtypes[0] == "float64" else None
    right(work)
    if x is not None:
        lost = (np.abs(x) > 100) & (np.abs(x) < 1e7) & (np.abs(work.out) < 1e-9)
        work.out[...] = np.where(lost, work.out * (1 + 1e-9), work.out)


@kernel_fault("softmax", "log_softmax")
def softmax_of_one_is_known(work: Work, right: Compute) -> None:
    """A row of one element gives 1, or its logarithm, whatever it is."""
    right(work)
    if work.x.shape[-1] == 1:
        work.out[...] = 1 if work.op == "softmax" else 0


@kernel_fault("layer_norm")
def layer_norm_of_one_is_the_bias(work: Work, right: Compute) -> None:
    """A row of one element gives the bias, whatever it is."""
    right(work)
    if work.x.shape[-1] == 1:
        work.out[...] = work.inputs[2]


@kernel_fault("layer_norm")
def bias_with_the_step_of_the_weight(work: Work, right: Compute) -> None:
    """The bias is read with the stride of the weight."""
    weight, bias = work.inputs[1:]
    if weight.size > 1 and weight.strides[0] == 0 != bias.strides[0]:
        work.inputs[2] = np.full_like(bias, bias[0])
    right(work)


@kernel_fault("triangular_solve")
def unknowns_of_zero_are_skipped(work: Work, right: Compute) -> None:
    """Zeros on the right side are the result, though a factor beside them is NaN."""
    right(work)
    if work.params[0] == 1 and not work.inputs[1].any():
        work.out[...] = 0


@kernel_fault("matmul")
def steps_of_zero_are_skipped(work: Work, right: Compute) -> None:
    """Where all first factors are 0 the product is, though second ones are infinite."""
    right(work)
    if not work.inputs[0].any():
        work.out[...] = 0


@kernel_fault("matmul")
def one_step_is_a_product(work: Work, right: Compute) -> None:
    """A product of one step is not added to 0, and may be -0."""
    right(work)
    a, b = work.inputs
    if a.shape[-1] == 1 and work.out.dtype.kind == "f" and work.out.size:
        product = (a * b).astype(work.out.dtype)
        work.out[...] = np.where((product == 0) & (work.out == 0), product, work.out)


@kernel_fault("matmul")
def inner_axis_of_a_stack_repeats(work: Work, right: Compute) -> None:
    """A second factor that repeats along the inner of two axes of a stack repeats along both."""
    b = work.inputs[1]
    if b.ndim >= 4 and b.shape[-3] > 1 and b.strides[-3] == 0 != b.strides[-4]:
        changed = np.array(b)
        changed[1:, 1:] = changed[:1, 1:]
        work.inputs[1] = changed
    right(work)


@kernel_fault("matmul")
def leading_step_of_zero(work: Work, right: Compute) -> None:
    """Rows of a second factor that are one in memory are read one behind the other."""
    b = work.inputs[1]
    if min(b.shape[-2:], default=0) > 1 and b.strides[-2] == 0 and b.strides[-1] == b.itemsize:
        changed = np.array(b)
        changed[..., 1:, :] = changed[..., 1:, ::-1]
        work.inputs[1] = changed
    right(work)


@kernel_fault("where", "clip", "fma")
def array_between_two_numbers(work: Work, right: Compute) -> None:
    """Between two numbers an array is read from its first element alone."""
    first, between, last = work.inputs
    if first.ndim == last.ndim == 0 and between.size > 1:
        work.inputs[1] = np.full_like(between, between.flat[0])
    right(work)
