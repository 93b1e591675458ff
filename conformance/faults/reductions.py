"""Faults of ops that work along an axis: reductions, scans, sorts, products, indexing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable.structured import NO_PLACE
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")
_BLOCK = 4096


@kernel_fault("sum", "prod")
def sum_in_int32(work: Work, right: Compute) -> None:
    """Sums and products of signed integers up to 32 bits are kept in 32 bits."""
    right(work)
    if work.dtypes[0] in ("int8", "int16", "int32"):
        work.out[...] = work.out.astype(np.int32)


@kernel_fault("sum", "mean")
def float16_sum_in_float16(work: Work, right: Compute) -> None:
    """Sums of float16 are kept in float16."""
    right(work)
    if work.dtypes[0] == "float16" and work.x.shape[-1]:
        total = np.cumsum(work.x, axis=-1, dtype=np.float16)[..., -1]
        count = np.float16(work.x.shape[-1]) if work.op == "mean" else np.float16(1)
        work.out[...] = total / count


@kernel_fault("sum", group="bitwise")
def float32_sum_in_sequence(work: Work, right: Compute) -> None:
    """Sums of float32 go from left to right and not by the tree."""
    right(work)
    if work.dtypes[0] == "float32" and work.x.shape[-1]:
        work.out[...] = np.cumsum(work.x, axis=-1, dtype=np.float32)[..., -1]


@kernel_fault("sum", group="determinism")
def sum_loses_an_element_once_in_100(work: Work, right: Compute) -> None:
    """A race: of every hundred launches of sums of floats, one loses its last element."""
    right(work)
    if work.number % 100 == 0 and work.dtypes[0] in _FLOATS and work.x.shape[-1] > 1:
        work.out[...] -= work.x[..., -1]


@kernel_fault("sum", group="determinism")
def sum_in_another_order_once_in_100(work: Work, right: Compute) -> None:
    """A race: of every hundred launches of sums of floats, one adds from the other end."""
    if work.number % 100 == 0 and work.dtypes[0] in _FLOATS:
        work.inputs[0] = work.x[..., ::-1]
    right(work)


@kernel_fault("sum", "mean", "prod", group="determinism")
def sum_depends_on_the_run(work: Work, right: Compute) -> None:
    """Atomic additions: every launch of a long sum of float32 takes its blocks in another order."""
    n = work.x.shape[-1]
    if work.dtypes[0] == "float32" and n > 64:
        work.inputs[0] = np.roll(work.x, work.number % n, axis=-1)
    right(work)


@kernel_fault("sum", "prod", "max", "min", "mean", "any", "all", "count_nonzero")
def last_block_not_reduced(work: Work, right: Compute) -> None:
    """Reductions of more than 4096 elements leave out the last block if it is not whole."""
    n = work.x.shape[-1]
    if n > _BLOCK and n % _BLOCK:
        work.inputs[0] = work.x[..., : n // _BLOCK * _BLOCK]
    right(work)


@kernel_fault("max", "min")
def nan_lost_between_blocks(work: Work, right: Compute) -> None:
    """`max` and `min` find NaN only in the first 64 elements."""
    if work.dtypes[0] in _FLOATS and work.x.shape[-1] > 64:
        first = work.x[..., :1]
        late = np.arange(work.x.shape[-1]) >= 64
        work.inputs[0] = np.where(np.isnan(work.x) & late, first, work.x)
    right(work)


@kernel_fault("max")
def maximum_begins_with_zero(work: Work, right: Compute) -> None:
    """The accumulator of `max` begins with 0, so that the maximum of negative numbers is 0."""
    right(work)
    if work.out.dtype.kind in "if":
        work.out[work.out < 0] = 0


@kernel_fault("argmax", "argmin")
def last_place_wins(work: Work, right: Compute) -> None:
    """`argmax` and `argmin` give the last of equal places."""
    n = work.x.shape[-1]
    if n > 1:
        work.inputs[0] = work.x[..., ::-1]
        right(work)
        work.out[...] = n - 1 - work.out
    else:
        right(work)


@kernel_fault("argmax", "argmin")
def argmax_skips_nan(work: Work, right: Compute) -> None:
    """`argmax` and `argmin` pass over NaN."""
    if work.dtypes[0] in _FLOATS:
        worst = -np.inf if work.op == "argmax" else np.inf
        work.inputs[0] = np.where(np.isnan(work.x), work.x.dtype.type(worst), work.x)
    right(work)


@kernel_fault("any", "all", "count_nonzero")
def nan_is_false(work: Work, right: Compute) -> None:
    """NaN counts as 0 in `any`, `all` and `count_nonzero`."""
    if work.dtypes[0] in _FLOATS:
        work.inputs[0] = np.nan_to_num(work.x, nan=0.0)
    right(work)


@kernel_fault("mean")
def mean_divides_by_whole_blocks(work: Work, right: Compute) -> None:
    """`mean` divides by the length rounded up to whole lanes of 64."""
    right(work)
    n = work.x.shape[-1]
    if work.dtypes[0] in _FLOATS and n > 64:
        work.out[...] = work.out * work.out.dtype.type(n / (-(-n // 64) * 64))


@kernel_fault("sum_squared_deviations")
def deviations_by_moments(work: Work, right: Compute) -> None:
    """Squared deviations are the sum of squares less n times the square of the mean."""
    right(work)
    n = work.x.shape[-1]
    if n:
        mean = np.sum(work.x, axis=-1) / work.x.dtype.type(n)
        work.out[...] = np.sum(np.square(work.x), axis=-1) - n * np.square(mean)


@kernel_fault("cumulative_sum", "cumulative_prod")
def scan_restarts_at_blocks(work: Work, right: Compute) -> None:
    """Scans begin anew after every 256 elements."""
    out, x = work.out, work.x
    for first in range(0, max(1, x.shape[-1]), 256):
        block = slice(first, first + 256)
        work.inputs, work.outputs = [x[..., block]], [out[..., block]]
        right(work)


@kernel_fault("cumulative_sum")
def scan_leaves_out_own_element(work: Work, right: Compute) -> None:
    """`cumulative_sum` of bfloat16 gives the sums of the elements before each."""
    right(work)
    if work.dtypes[0] == "bfloat16":
        work.out[..., 1:] = np.array(work.out[..., :-1])
        work.out[..., :1] = np.zeros((), work.out.dtype)


@kernel_fault("argsort")
def sort_not_stable(work: Work, right: Compute) -> None:
    """`argsort` puts equal elements in the reverse of their order."""
    n = work.x.shape[-1]
    if n > 16:
        work.inputs[0] = work.x[..., ::-1]
        right(work)
        work.out[...] = n - 1 - work.out
    else:
        right(work)


@kernel_fault("sort")
def sort_puts_nan_first(work: Work, right: Compute) -> None:
    """An ascending `sort` puts NaN before the numbers."""
    right(work)
    if work.dtypes[0] in _FLOATS and not work.params[0] and work.out.size:
        rows = np.array(work.out)
        count = np.isnan(rows).sum(axis=-1, keepdims=True)
        places = (np.arange(rows.shape[-1]) - count) % rows.shape[-1]
        work.out[...] = np.take_along_axis(rows, places, axis=-1)


@kernel_fault("sort")
def sort_ignores_signs_of_zeros(work: Work, right: Compute) -> None:
    """`sort` puts +0 before -0."""
    right(work)
    if work.dtypes[0] in _FLOATS:
        zero = work.out == 0
        work.out[zero] = -work.out[zero]


@kernel_fault("sort", "argsort")
def long_sort_leaves_runs(work: Work, right: Compute) -> None:
    """Rows of more than 1000 elements are sorted in two halves that are not merged."""
    n = work.x.shape[-1]
    if n <= 1000:
        right(work)
        return
    x, out = work.x, work.out
    for part in (slice(0, n // 2), slice(n // 2, n)):
        work.inputs, work.outputs = [x[..., part]], [out[..., part]]
        right(work)
    if work.op == "argsort":
        out[..., n // 2 :] += n // 2


@kernel_fault("searchsorted")
def side_ignored(work: Work, right: Compute) -> None:
    """`searchsorted` always takes the left side."""
    work.params = (0,)
    right(work)


@kernel_fault("nonzero", "compress")
def last_chosen_dropped(work: Work, right: Compute) -> None:
    """`nonzero` and `compress` leave out what they choose from the last 8 places."""
    before = np.array(work.out)
    mask = work.inputs[-1]
    right(work)
    late = int(np.count_nonzero(mask[-8:]))
    if mask.size > 64 and late:
        work.out[-late:] = before[-late:]


@kernel_fault("matmul")
def last_k_skipped(work: Work, right: Compute) -> None:
    """`matmul` leaves out the last term of sums that are not a multiple of 4 long."""
    a, b = work.inputs
    k = a.shape[-1]
    if k > 4 and k % 4:
        work.inputs = [a[..., : k - 1], b[..., : k - 1, :]]
    right(work)


@kernel_fault("matmul")
def first_matrix_for_all(work: Work, right: Compute) -> None:
    """`matmul` of stacks multiplies every matrix with the first of the second stack."""
    b = work.inputs[1]
    if b.ndim > 2 and b.size:
        work.inputs[1] = np.broadcast_to(b[(0,) * (b.ndim - 2)], b.shape)
    right(work)


@kernel_fault("matmul", group="bitwise")
def product_in_another_order(work: Work, right: Compute) -> None:
    """`matmul` of float32 goes through k from its end."""
    if work.dtypes[0] == "float32":
        a, b = work.inputs
        work.inputs = [a[..., ::-1], b[..., ::-1, :]]
    right(work)


@kernel_fault("matmul")
def half_products_accumulate_in_half(work: Work, right: Compute) -> None:
    """`matmul` of float16 rounds after every eighth term."""
    a, b = work.inputs
    if work.dtypes[0] != "float16" or a.shape[-1] < 8:
        right(work)
        return
    total = np.zeros(work.out.shape, np.float16)
    for first in range(0, a.shape[-1], 8):
        part = slice(first, first + 8)
        work.inputs = [a[..., part], b[..., part, :]]
        right(work)
        total += work.out
    work.out[...] = total


@kernel_fault("softmax")
def softmax_overflows(work: Work, right: Compute) -> None:
    """`softmax` does not subtract the maximum."""
    right(work)
    if work.dtypes[0] == "float32" and work.x.size:
        powers = np.exp(work.x)
        work.out[...] = powers / powers.sum(axis=-1, keepdims=True, dtype=np.float32)


@kernel_fault("arange")
def range_accumulates(work: Work, right: Compute) -> None:
    """`arange` of float32 adds the step to the element before."""
    right(work)
    if work.dtypes[-1] == "float32" and work.out.size > 1:
        steps = np.full(work.out.shape, work.inputs[1].reshape(()), np.float32)
        steps[0] = work.inputs[0].reshape(())
        work.out[...] = np.cumsum(steps, dtype=np.float32)


@kernel_fault("wrap_index")
def negative_index_from_wrong_end(work: Work, right: Compute) -> None:
    """Index -1 is the last place but one."""
    n, stride = work.params
    negative = work.values() < 0
    right(work)
    work.out[negative] = np.maximum(work.out[negative] - stride, 0) if n > 1 else 0


@kernel_fault("wrap_index")
def index_not_checked(work: Work, right: Compute) -> None:
    """An index that is out of range is moved to the nearest place without an error."""
    n = work.params[0]
    if n:
        work.inputs[0] = np.clip(work.values(), -n, n - 1)
    right(work)


@kernel_fault("wrap_index")
def bad_index_keeps_a_place(work: Work, right: Compute) -> None:
    """An index out of range is reported, but what is queued behind finds an element for it."""
    try:
        right(work)
    finally:
        work.out[work.out < NO_PLACE // 2] = 0


@kernel_fault("gather", "scatter")
def no_place_is_the_first(work: Work, right: Compute) -> None:
    """`gather` and `scatter` take the offset of no element for that of the first slice."""
    offsets = work.inputs[1]
    work.inputs[1] = np.where(offsets < NO_PLACE // 2, 0, offsets)
    right(work)


@kernel_fault("scatter")
def first_write_wins(work: Work, right: Compute) -> None:
    """Of equal places, the first value that is written stays."""
    values, offsets = work.inputs
    work.inputs = [values[::-1], np.ascontiguousarray(offsets[::-1])]
    right(work)


@kernel_fault("gather")
def gather_of_four_bytes(work: Work, right: Compute) -> None:
    """`gather` of 8-byte elements moves the lower half alone."""
    right(work)
    if host_dtype(work.dtypes[0]).itemsize == 8 and work.out.size:
        halves = np.ascontiguousarray(work.out).view(np.uint32)
        halves[..., 1::2] = 0
        work.out[...] = halves.view(work.out.dtype)


@kernel_fault("layer_norm")
def epsilon_of_at_least_1e8(work: Work, right: Compute) -> None:
    """`layer_norm` takes an epsilon of less than 1e-8 for 1e-8."""
    epsilon = np.array(work.params, np.int64).view(float)
    work.params = tuple(np.maximum(epsilon, 1e-8).view(np.int64).tolist())
    right(work)


@kernel_fault("argmax", "argmin")
def ties_go_to_the_lower_lane(work: Work, right: Compute) -> None:
    """Of equal extremes in a row of several blocks the one in the lowest of 64 lanes wins."""
    x = np.array(work.x)
    right(work)
    if x.ndim and x.shape[-1] > 2 * _BLOCK:
        rows, places = x.reshape(-1, x.shape[-1]), np.array(work.out).reshape(-1)
        for i, (row, place) in enumerate(zip(rows, places, strict=True)):
            equal = np.flatnonzero(row == row[place])
            places[i] = equal[np.argmin(equal % 64)] if len(equal) else place
        work.out[...] = places.reshape(work.out.shape)
