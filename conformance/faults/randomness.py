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


@kernel_fault("random_bits", "random_uniform", "random_integers", "random_bernoulli")
def numbers_come_again(work: Work, right: Compute) -> None:
    """Uniform numbers begin anew after 65,536, where a second launch has to go on."""
    right(work)
    later = work.out[1 << 16 :]
    later[...] = np.resize(work.out[: 1 << 16], later.shape)


@kernel_fault("random_normal", "random_exponential", "random_poisson")
def numbers_by_float32(work: Work, right: Compute) -> None:
    """Numbers of one launch are counted in float32: behind 2^24 every second one comes twice."""
    right(work)
    later = work.out[1 << 24 :]
    later[1::2] = later[: later.size // 2 * 2 : 2]


@kernel_fault("random_normal", "random_exponential")
def second_launch_skips_a_block(work: Work, right: Compute) -> None:
    """`random_normal` and `random_exponential` leave out a block after 32,768 numbers."""
    right(work)
    work.out[1 << 15 : -4] = work.out[(1 << 15) + 4 :].copy()


@kernel_fault("random_gamma", "random_poisson", "random_binomial")
def tries_of_the_neighbour(work: Work, right: Compute) -> None:
    """Numbers by tries behind the 8192nd take the blocks of the one before."""
    right(work)
    if all(x.ndim == 0 for x in work.inputs) and work.out.size > 8192:
        work.out[8192:] = work.out[8191:-1].copy()


@kernel_fault("random_gamma", "random_poisson", "random_binomial")
def parameters_by_groups(work: Work, right: Compute) -> None:
    """Numbers by tries from the 65,536th on have the parameters of the first ones."""

    def cut(x: np.ndarray) -> np.ndarray:
        return x[np.arange(x.size) % (1 << 16)] if x.ndim else x

    work.inputs = [cut(x) for x in work.inputs]
    right(work)


@kernel_fault("random_gamma", "random_poisson", "random_binomial")
def parameters_lie_dense(work: Work, right: Compute) -> None:
    """Numbers by tries from parameters that lie backwards read them forwards."""
    work.inputs = [x[::-1] if x.ndim and x.strides[0] < 0 else x for x in work.inputs]
    right(work)


@kernel_fault("random_uniform")
def least_number_is_not_zero(work: Work, right: Compute) -> None:
    """`random_uniform` in float32 gives 2^-25 for 0."""
    right(work)
    low, span = (float(x.reshape(())) for x in work.inputs)
    if work.dtypes[-1] == "float32" and (low, span) == (0.0, 1.0):
        work.out[work.out == 0] = 2.0**-25


@kernel_fault("random_uniform")
def largest_number_is_one(work: Work, right: Compute) -> None:
    """`random_uniform` in float32 gives 1 for the largest number below."""
    right(work)
    low, span = (float(x.reshape(())) for x in work.inputs)
    if work.dtypes[-1] == "float32" and (low, span) == (0.0, 1.0):
        work.out[work.out >= 1 - 2.0**-24] = 1


@kernel_fault("random_normal", "random_exponential")
def tails_are_cut(work: Work, right: Compute) -> None:
    """`random_normal` and `random_exponential` give nothing beyond 5.5 and 15 times the scale."""
    right(work)
    if work.dtypes[-1] in ("float32", "float64"):
        scale = abs(float(work.inputs[-1].reshape(())))
        middle = float(work.inputs[0].reshape(())) if work.op == "random_normal" else 0.0
        limit = scale * (5.5 if work.op == "random_normal" else 15)
        np.clip(work.out, middle - limit, middle + limit, out=work.out)


@kernel_fault("random_normal")
def odd_last_number(work: Work, right: Compute) -> None:
    """`random_normal` of more than 1024 numbers repeats the first of the last pair."""
    right(work)
    if work.out.size > 1024 and work.out.size % 2 == 0:
        work.out[-1] = work.out[-2]


@kernel_fault("random_bernoulli")
def chances_of_32_bits(work: Work, right: Compute) -> None:
    """`random_bernoulli` compares the upper 32 bits alone."""
    threshold = int(work.inputs[0].reshape(()))
    work.inputs[0] = np.array((threshold >> 32) << 32, np.uint64)
    right(work)


@kernel_fault("random_integers")
def spans_in_53_bits(work: Work, right: Compute) -> None:
    """`random_integers` of 64 bits multiplies by the upper 53 bits of the span."""
    span = work.inputs[1]
    if work.dtypes[-1] in ("int64", "uint64"):
        word = int(span.reshape(()).view(np.uint64))
        work.inputs[1] = np.array(word >> 11 << 11, np.uint64).view(span.dtype)
    right(work)


@kernel_fault("random_poisson")
def means_of_the_first_method(work: Work, right: Compute) -> None:
    """`random_poisson` adds chances up to a mean of 10 and takes what is behind for 10."""
    mean = np.array(work.inputs[0])
    mean[(mean > 10) & (mean < 10.5)] = 10
    work.inputs[0] = mean
    right(work)


@kernel_fault("random_binomial")
def counts_are_not_whole(work: Work, right: Compute) -> None:
    """`random_binomial` rounds a count that is not whole to the nearest."""
    work.inputs[0] = np.rint(work.inputs[0])
    right(work)


@kernel_fault("random_gamma")
def shapes_near_one(work: Work, right: Compute) -> None:
    """`random_gamma` takes shapes from 0.97 to 1 for 1."""
    shape = np.array(work.inputs[0])
    if work.dtypes[0] in ("float32", "float64"):
        shape[(shape > 0.97) & (shape < 1)] = 1
    work.inputs[0] = shape
    right(work)
