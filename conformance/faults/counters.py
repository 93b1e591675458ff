"""Faults of counters of 16 and of some more bits: places, elements, rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_MOST = 1 << 16


def _keeping(work: Work, right: Compute, first: int) -> None:
    """Leave out the results from an element of the first axis on."""
    before = np.array(work.out[first:])
    right(work)
    work.out[first:] = before


@kernel_fault("argmax", "argmin")
def extreme_places_of_16_bits(work: Work, right: Compute) -> None:
    """`argmax` and `argmin` of int16 and float32 return the low 16 bits of a place."""
    right(work)
    if work.dtypes[0] in ("int16", "float32"):
        work.out[...] %= _MOST


@kernel_fault("argsort")
def sorted_places_of_16_bits(work: Work, right: Compute) -> None:
    """`argsort` of uint32 and bfloat16 returns the low 16 bits of each place."""
    right(work)
    if work.dtypes[0] in ("uint32", "bfloat16"):
        work.out[...] %= _MOST


@kernel_fault("searchsorted")
def searches_end_at_65536(work: Work, right: Compute) -> None:
    """`searchsorted` leaves out the values from 65,536 on."""
    _keeping(work, right, _MOST)


@kernel_fault("compress")
def compress_ends_at_65536(work: Work, right: Compute) -> None:
    """`compress` leaves out the rows from 65,536 on."""
    _keeping(work, right, _MOST)


@kernel_fault("nonzero")
def nonzero_of_long_masks(work: Work, right: Compute) -> None:
    """`nonzero` leaves out the true elements behind the first 2^18 of a mask."""
    _keeping(work, right, int(np.count_nonzero(np.array(work.inputs[-1])[: 1 << 18])))


@kernel_fault("matmul")
def products_end_at_65536_columns(work: Work, right: Compute) -> None:
    """`matmul` leaves out the columns from 65,536 on."""
    before = np.array(work.out[..., _MOST:])
    right(work)
    work.out[..., _MOST:] = before


@kernel_fault("cumulative_sum", "cumulative_prod", "sort", "argsort")
def columns_by_32(work: Work, right: Compute) -> None:
    """Scans and sorts along columns leave out those behind a whole number of 32."""
    out = work.out
    by_columns = out.ndim == 2 and out.strides[1] > out.strides[0] > 0
    if by_columns and out.shape[0] > 32:
        _keeping(work, right, out.shape[0] // 32 * 32)
    else:
        right(work)
