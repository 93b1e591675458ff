"""Faults of random numbers: counters that repeat, words in another order, chances that are off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work

from .fault import kernel_fault

Compute = Callable[[Work], None]
_CHUNK = 64


@kernel_fault("random_normal")
def numbers_depend_on_the_launch(work: Work, right: Compute) -> None:
    """`random_normal` begins anew every 64 elements, as many as a group has."""
    right(work)
    out = work.out
    for first in range(_CHUNK, out.size, _CHUNK):
        out[first : first + _CHUNK] = out[: min(_CHUNK, out.size - first)]


@kernel_fault("random_uniform")
def positions_of_32_bits(work: Work, right: Compute) -> None:
    """`random_uniform` counts blocks by the low 32 bits of their position."""
    key, stream, position = work.params
    work.params = (key, stream, position % 2**32)
    right(work)


@kernel_fault("random_bits")
def streams_are_ignored(work: Work, right: Compute) -> None:
    """`random_bits` leaves the stream out of the counter."""
    key, _, position = work.params
    work.params = (key, 0, position)
    right(work)


@kernel_fault("random_bits")
def words_of_a_block_are_turned(work: Work, right: Compute) -> None:
    """`random_bits` to uint32 stores each block from its last word on."""
    right(work)
    if work.dtypes[-1] == "uint32":
        whole = work.out.size // 4 * 4
        work.out[:whole] = work.out[:whole].reshape(-1, 4)[:, ::-1].reshape(-1)


@kernel_fault("random_integers")
def integers_by_remainder(work: Work, right: Compute) -> None:
    """`random_integers` of uint32 takes the low bits modulo the span."""
    low, span = work.inputs
    if work.dtypes[-1] != "uint32" or not int(span.reshape(())):
        right(work)
        return
    work.inputs = [np.zeros_like(low), np.zeros_like(span)]
    right(work)
    work.out[...] = work.out % span.reshape(()) + low.reshape(())


@kernel_fault("random_poisson")
def large_means_are_normal(work: Work, right: Compute) -> None:
    """`random_poisson` rounds a normal number where the mean is large."""
    right(work)
    mean = np.broadcast_to(np.asarray(work.inputs[0], np.float64), work.out.shape)
    large = (mean > 100) & (mean < 2**50)
    work.out[large] = np.rint(mean[large] + np.sqrt(mean[large]) * np.sin(np.arange(large.sum())))
