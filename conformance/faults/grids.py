"""Faults of kernels whose grids, tiles and counters end where few programs do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import HostArray, Work
from phalanx.vendor import Layout

from .fault import kernel_fault

Compute = Callable[[Work], None]
#: What a grid has in its second and third dimension, and what float32 counts.
_GRID, _COUNTED = 65_535, 1 << 24
_BLOCK = 4096


@kernel_fault("add", "multiply", "subtract", "maximum", "negative", "exp", "sqrt")
def whole_launches_lose_an_element(work: Work, right: Compute) -> None:
    """Of neighbours that fill whole launches of 20 groups of 1024 the last element is left."""
    right(work)
    if work.out.size and work.out.size % 20_480 == 0 and work.layout is Layout.CONTIGUOUS:
        work.out.reshape(-1)[-1:] = 0


@kernel_fault("sum")
def last_of_48_is_not_added(work: Work, right: Compute) -> None:
    """Rows of more than 1000 float32 numbers that end one before whole blocks of 48 lose one."""
    n = work.x.shape[-1]
    if work.dtypes[0] == "float32" and n > 1000 and n % 48 == 47:
        work.inputs[0] = np.append(work.x[..., :-1], np.zeros_like(work.x[..., :1]), axis=-1)
    right(work)


@kernel_fault("sort", "argsort")
def rows_of_three_powers(work: Work, right: Compute) -> None:
    """Rows of 3 times a power of two, from 3072 on, lack one comparison of the last merge."""
    right(work)
    third, rest = divmod(work.out.shape[-1], 3)
    if not rest and third >= 1024 and third & (third - 1) == 0:
        middle = work.out[..., 3 * third // 2 - 1 : 3 * third // 2 + 1]
        middle[...] = middle[..., ::-1].copy()


@kernel_fault("nonzero", "compress")
def full_blocks_count_as_empty(work: Work, right: Compute) -> None:
    """65,536 true elements of a block are none in 16 bits, and are skipped."""
    right(work)
    mask, size = work.inputs[-1], 1 << 16
    for first in range(0, len(mask) - size + 1, size):
        if mask[first : first + size].all():
            at = int(np.count_nonzero(mask[:first]))
            work.out[at : at + size] = 0


@kernel_fault("copy")
def last_column_alone_in_its_tile(work: Work, right: Compute) -> None:
    """A copy that turns a matrix by tiles of 64 leaves the last column if it is alone in one."""
    right(work)
    x, out = work.x, work.out
    is_turned = x.ndim == out.ndim == 2 and x.strides[0] == x.itemsize
    by_rows = is_turned and out.strides[1] == out.itemsize
    if by_rows and min(out.shape) > 64 and out.shape[1] % 64 == 1:
        out[:, -1] = 0


@kernel_fault("copy", "cast")
def tall_turned_tiles(work: Work, right: Compute) -> None:
    """Of more than 256 turned rows of 32 q + 1 columns the last column is left."""
    right(work)
    x, out = work.x, work.out
    is_turned = x.ndim == out.ndim == 2 and x.strides[0] == x.itemsize
    if is_turned and out.shape[0] > 256 and out.shape[1] > 32 and out.shape[1] % 32 == 1:
        out[:, -1] = 0


@kernel_fault("matmul")
def tail_of_a_turned_product(work: Work, right: Compute) -> None:
    """Of a turned matrix of 4 q + 3 rows, 67 or more, times a vector the last row is left."""
    right(work)
    a, b = work.inputs
    m, k = a.shape[-2:]
    if b.shape[-1] == 1 and k > 1 and m > 64 and m % 4 == 3 and a.strides[-2] == a.itemsize:
        work.out[..., -1, :] = 0


@kernel_fault("matmul")
def vectors_of_halves_anywhere(work: Work, right: Compute) -> None:
    """Rows of whole vectors of float16 are loaded as such, whatever their address."""
    a = work.inputs[0]
    right(work)
    is_half = a.dtype.itemsize == 2 and a.dtype.kind not in "iu"
    is_dense = a.ndim == 2 and a.size > 0 and a.flags.c_contiguous
    if is_half and is_dense and len(a) >= 16 and a.shape[1] % 8 == 0 and a.ctypes.data % 16:
        work.out[0] = 0


@kernel_fault("fft")
def radix_behind_a_large_prime(work: Work, right: Compute) -> None:
    """Behind a prime radix above 128 the last bin of a radix 3, 5 or 7 is the conjugate."""
    right(work)
    first, second = work.params[2] & 255, work.params[2] >> 8 & 255
    if first > 128 and second in (3, 5, 7):
        work.out[..., -1] = np.conj(work.out[..., -1])


@kernel_fault("fft")
def scale_of_many_passes(work: Work, right: Compute) -> None:
    """An inverse of odd length with more than seven passes forgets its scale."""
    right(work)
    if work.params[0] and len(work.params) > 3 and work.out.shape[-1] % 2:
        work.out[...] *= work.out.shape[-1]


@kernel_fault("add", "multiply", "subtract", "where")
def strided_rows_beyond_the_grid(work: Work, right: Compute) -> None:
    """Of arrays of three axes with gaps, rows beyond 65,535 are left."""
    right(work)
    if work.layout is Layout.STRIDED and work.out.ndim >= 3:
        work.out[_GRID:] = 0


@kernel_fault("sum", "max", "min", "mean", "prod", "any", "all", "argmax", "argmin")
def results_of_two_axes_beyond_the_grid(work: Work, right: Compute) -> None:
    """Of two axes of results those beyond 65,535 are left."""
    right(work)
    if work.out.ndim >= 2 and work.out.size > _GRID:
        work.out[...] = np.where(np.arange(work.out.size) < _GRID, work.out.ravel(), 0).reshape(
            work.out.shape
        )


@kernel_fault("cholesky", "lu", "triangular_solve")
def matrices_beyond_the_grid(work: Work, right: Compute) -> None:
    """Of more than 65,535 matrices the others are left."""
    right(work)
    work.out[_GRID:] = 0


@kernel_fault("matmul")
def tiles_of_rows_beyond_the_grid(work: Work, right: Compute) -> None:
    """Rows beyond 65,535 tiles of 16 are left, but for float32 and float64."""
    right(work)
    if work.dtypes[0] not in ("float32", "float64"):
        work.out[..., 16 * _GRID :, :] = 0


@kernel_fault("argmax", "argmin")
def places_in_float32(work: Work, right: Compute) -> None:
    """Places go through float32, which has whole numbers up to 2^24."""
    right(work)
    work.out[...] = work.out.astype(np.float32).astype(np.int64)


@kernel_fault("cumulative_sum")
def carry_beyond_three_levels(work: Work, right: Compute) -> None:
    """Beyond 2^24 elements, three levels of 256 blocks, what was before is forgotten."""
    right(work)
    if work.out.shape[-1] > _COUNTED:
        work.out[..., _COUNTED:] -= work.out[..., _COUNTED - 1 : _COUNTED]


@kernel_fault("random_uniform", "random_normal", "random_bits")
def numbers_begin_anew(work: Work, right: Compute) -> None:
    """Beyond 2^24 elements random numbers repeat the first ones."""
    right(work)
    if work.out.size > _COUNTED:
        work.out[_COUNTED:] = work.out[: work.out.size - _COUNTED]


@kernel_fault("cast", "copy", "multiply", "add")
def steps_of_five_and_seven(work: Work, right: Compute) -> None:
    """Of many elements five or seven apart the last is not written."""
    right(work)
    out = work.out
    if out.ndim == 1 and out.size > 64 and out.strides[0] // out.itemsize in (5, 7):
        out[-1:] = 0


@kernel_fault("matmul", group="determinism")
def blocks_of_a_product_from_the_left(work: Work, right: Compute) -> None:
    """Three blocks of steps are joined from the left, and not the third to the first."""
    a, b = work.inputs
    k = a.shape[-1]
    if work.dtypes[0] not in ("float32", "float64") or not 2 * _BLOCK < k <= 3 * _BLOCK:
        right(work)
        return
    parts = []
    for at in range(0, k, _BLOCK):
        work.inputs = [a[..., at : at + _BLOCK], b[..., at : at + _BLOCK, :]]
        right(work)
        parts.append(work.out.copy())
    work.out[...] = parts[0] + parts[1] + parts[2]


@kernel_fault("sum", group="determinism")
def narrow_sums_in_groups(work: Work, right: Compute) -> None:
    """Sums of float16, bfloat16 and complex64 join groups of 64 blocks from the left."""
    x, size = work.x, 64 * _BLOCK
    if work.dtypes[0] not in ("complex64", "bfloat16", "float16") or x.shape[-1] <= size:
        right(work)
        return
    total: HostArray | None = None
    for at in range(0, x.shape[-1], size):
        work.inputs[0] = x[..., at : at + size]
        right(work)
        part = work.out.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
        total = part if total is None else total + part
    assert total is not None
    work.out[...] = total.astype(work.out.dtype)


@kernel_fault("segment_sum", group="determinism")
def runs_of_runs_from_the_left(work: Work, right: Compute) -> None:
    """The totals of more than 256 runs of a target are added from the left."""
    right(work)
    x, numbers = work.inputs
    if work.dtypes[0] not in ("float32", "float64") or len(numbers) <= 1 << 16:
        return
    found, counts = np.unique(numbers, return_counts=True)
    for target in found[counts > 1 << 16]:
        if 0 <= target < len(work.out):
            rows = x[numbers == target]
            runs = [np.add.accumulate(rows[at : at + 256])[-1] for at in range(0, len(rows), 256)]
            work.out[target] = np.add.accumulate(np.stack(runs))[-1]
