"""Faults of Fourier transforms: lengths, rows, scales and neighbours that few callers have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
#: Numbers of a row that the local memory of a group holds.
_LOCAL = 4096


def _radices(work: Work) -> list[int]:
    """Return the radices of the passes, in their order."""
    return [word >> 8 * i & 255 for word in work.params[2:] for i in range(7) if word >> 8 * i]


@kernel_fault("fft")
def long_transforms_lose_a_pass(work: Work, right: Compute) -> None:
    """`fft` of rows that local memory does not hold turns the last quarter the wrong way."""
    right(work)
    n = work.out.shape[-1]
    if n > _LOCAL:
        work.out[..., n - n // 4 :] = work.out[..., n - n // 4 :][..., ::-1].copy()


@kernel_fault("fft")
def one_twiddle_of_a_long_table(work: Work, right: Compute) -> None:
    """`fft` of 2^14 numbers or more has one twiddle whose imaginary part has the other sign."""
    if work.inputs[1].size >= 1 << 14:
        table = np.array(work.inputs[1])
        table[-3] = table[-3].conj()
        work.inputs[1] = table
    right(work)


@kernel_fault("fft")
def rows_behind_whole_groups(work: Work, right: Compute) -> None:
    """`fft` takes rows by eights; of more than eight, those behind the last eight are left out."""
    before = np.array(work.out)
    right(work)
    count = int(np.prod(work.out.shape[:-1]))
    if count > 8 and count % 8:
        n = work.out.shape[-1]
        late = np.arange(count).reshape(work.out.shape[:-1]) >= count // 8 * 8
        work.out[late] = before[late].reshape(-1, n)


@kernel_fault("fft")
def whole_groups_of_rows(work: Work, right: Compute) -> None:
    """`fft` of sixteen rows or more gives the second of them for the ninth."""
    right(work)
    if work.out.ndim > 1 and work.out.shape[0] >= 16 and work.out.ndim == 2:
        work.out[8] = work.out[1]


@kernel_fault("fft")
def rows_end_at_65535(work: Work, right: Compute) -> None:
    """`fft` leaves out the rows from 65,535 on."""
    before = np.array(work.out)
    right(work)
    if work.out.ndim > 1 and work.out.shape[0] > 65_535:
        work.out[65_535:] = before[65_535:]


@kernel_fault("fft")
def zeros_only_to_the_block(work: Work, right: Compute) -> None:
    """`fft` of rows that are less than half as long as the transform repeats them."""
    n, given = work.out.shape[-1], work.x.shape[-1]
    if 0 < 2 * given <= n:
        work.inputs[0] = np.concatenate([work.x, work.x], axis=-1)
    right(work)


@kernel_fault("fft")
def scale_of_inverse_alone(work: Work, right: Compute) -> None:
    """`fft` scales inverse transforms alone."""
    if not work.params[0]:
        one = np.float32(1).view(np.int32) if work.dtypes[0] == "complex64" else None
        bits = int(np.float64(1).view(np.int64)) if one is None else int(one)
        work.params = (0, bits, *work.params[2:])
    right(work)


@kernel_fault("fft")
def scale_without_sign(work: Work, right: Compute) -> None:
    """`fft` drops the sign of the scale."""
    kind = np.int32 if work.dtypes[0] == "complex64" else np.int64
    bits = int(kind(work.params[1]) & np.iinfo(kind).max)
    work.params = (work.params[0], bits, *work.params[2:])
    right(work)


@kernel_fault("fft")
def inverse_of_one_length(work: Work, right: Compute) -> None:
    """`fft` of 48 numbers is not scaled when it goes back."""
    right(work)
    if work.out.shape[-1] == 48 and work.params[0]:
        work.out[...] *= 2


@kernel_fault("fft")
def prime_behind_itself(work: Work, right: Compute) -> None:
    """`fft` takes the table of a prime's roots once, where it comes twice at other places."""
    right(work)
    radices = [r for r in _radices(work) if r > 8]
    if len(radices) > len(set(radices)):
        work.out[...] = np.roll(work.out, 1, axis=-1)


@kernel_fault("fft")
def radix_of_seven_bits(work: Work, right: Compute) -> None:
    """`fft` drops the last number of primes from 128 to 240."""
    r = _radices(work)
    if len(r) == 1 and 128 <= r[0] < 240 and work.x.shape[-1]:
        x = np.array(work.x)
        x[..., -1] = 0
        work.inputs[0] = x
    right(work)


@kernel_fault("fft")
def neighbour_times_zero(work: Work, right: Compute) -> None:
    """`fft` adds the next row times zero, which is NaN where that row has NaN."""
    bad = ~np.isfinite(np.array(work.x)).all(axis=-1).reshape(-1)
    right(work)
    if bad.any() and bad.size > 1:
        lead = np.roll(bad, 1).reshape(work.out.shape[:-1])
        work.out[lead] = np.nan


@kernel_fault("fft")
def small_rows_are_zero(work: Work, right: Compute) -> None:
    """`fft` takes numbers below 1e-12 for zeros."""
    x = np.array(work.x)
    for part in (x.real, x.imag):
        part[np.abs(part) < 1e-12] = 0
    work.inputs[0] = x
    right(work)


@kernel_fault("fft")
def squares_of_large_rows(work: Work, right: Compute) -> None:
    """`fft` of numbers above 1e19 is infinite, as the squares of their sizes are."""
    right(work)
    x = np.array(work.x)
    large = np.abs(x).max(axis=-1, initial=0) > 1e19
    work.out[large] = np.inf


@kernel_fault("fft")
def output_strides_of_the_input(work: Work, right: Compute) -> None:
    """`fft` from contiguous rows writes a result that lies backwards the wrong way round."""
    right(work)
    step = work.out.strides[-1]
    if work.x.strides[-1] == work.x.itemsize and step < 0:
        work.out[...] = work.out[..., ::-1].copy()


@kernel_fault("fft")
def broadcast_rows_are_dense(work: Work, right: Compute) -> None:
    """`fft` reads a row that is broadcast as if more rows followed it."""
    if work.x.ndim > 1 and work.x.strides[-2] == 0 and work.x.shape[-2] > 1:
        x = np.array(work.x)
        x[..., 1:, :] = 0
        work.inputs[0] = x
    right(work)


@kernel_fault("fft_from_pairs", "fft_to_pairs")
def pairs_behind_1024(work: Work, right: Compute) -> None:
    """The halves of real transforms are made by 1024 pairs; behind them, the last is not."""
    before = np.array(work.out)
    right(work)
    if work.out.shape[-1] > 1025:
        work.out[..., -1] = before[..., -1]


@kernel_fault("fft_from_pairs", "fft_to_pairs")
def pairs_of_the_first_row(work: Work, right: Compute) -> None:
    """The mirrored number of rows from the ninth on is that of the first row."""
    right(work)
    count = int(np.prod(work.out.shape[:-1]))
    if count > 8 and work.out.ndim == 2:
        work.out[8:, -1] = work.out[0, -1]


@kernel_fault("fft_from_pairs")
def pairs_scaled_by_size(work: Work, right: Compute) -> None:
    """`fft_from_pairs` drops the sign of the scale."""
    kind = np.int32 if work.dtypes[0] == "complex64" else np.int64
    work.params = (int(kind(work.params[0]) & np.iinfo(kind).max),)
    right(work)


@kernel_fault("fft_to_pairs")
def zeros_of_a_short_half(work: Work, right: Compute) -> None:
    """`fft_to_pairs` of less than half of what it may have takes the last number for the end."""
    given, m = work.x.shape[-1], work.inputs[1].size - 1
    if 0 < 2 * given < m:
        x = np.zeros((*work.x.shape[:-1], m + 1), work.x.dtype)
        x[..., :given] = work.x
        x[..., m] = work.x[..., -1]
        work.inputs[0] = x
    right(work)
