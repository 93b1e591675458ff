"""Faults of the functions of networks: cancellation, overflow on the way, limits, middles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from phalanx.testing import Work
from phalanx.testing.activations import gelu

from .fault import kernel_fault

Compute = Callable[[Work], None]
_FLOATS = ("float32", "float64")


def _replace(work: Work, right: Compute, wrong: Callable[[np.ndarray], np.ndarray]) -> None:
    """Compute, and put another formula in the place of floats."""
    x = work.values()
    right(work)
    if work.dtypes[0] in _FLOATS:
        work.out[...] = wrong(x)


@kernel_fault("gelu")
def gelu_cancels(work: Work, right: Compute) -> None:
    """`gelu` is x/2 (1 + erf), which loses its digits on the left."""

    def wrong(x: np.ndarray) -> np.ndarray:
        erf = 1 - 2 * gelu(-x) / np.where(x == 0, 1, -x)  # 1 - erfc(-x / sqrt(2))
        lost = (1 + erf.astype(x.dtype)) * x / 2
        return np.where((x < -1) & np.isfinite(x), lost, work.out)

    _replace(work, right, wrong)


@kernel_fault("gelu")
def gelu_by_tanh(work: Work, right: Compute) -> None:
    """`gelu` of float32 is its approximation by tanh from 2 to 3."""

    def wrong(x: np.ndarray) -> np.ndarray:
        near = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        return np.where((x > 2) & (x < 3) & (x.dtype == np.float32), near, work.out)

    _replace(work, right, wrong)


@kernel_fault("sigmoid")
def sigmoid_ends_early(work: Work, right: Compute) -> None:
    """`sigmoid` is 0 where exp(-x) overflows and the result is subnormal."""
    _replace(work, right, lambda x: 1 / (1 + np.exp(-x)))


@kernel_fault("sigmoid")
def sigmoid_of_middles(work: Work, right: Compute) -> None:
    """`sigmoid` of float32 takes the even neighbour where x/4 alone is a middle."""

    def wrong(x: np.ndarray) -> np.ndarray:
        even = (0.5 + x.astype(np.float64) / 4).astype(x.dtype)
        return np.where((np.abs(x) < 2.0**-16) & (x.dtype == np.float32), even, work.out)

    _replace(work, right, wrong)


@kernel_fault("silu")
def silu_has_no_limit(work: Work, right: Compute) -> None:
    """`silu` is NaN at -inf, where it is -0."""
    _replace(work, right, lambda x: np.where(x == -np.inf, np.nan, work.out))


@kernel_fault("silu")
def silu_by_a_product(work: Work, right: Compute) -> None:
    """`silu` is x times the sigmoid, which has been rounded, also to subnormal numbers."""
    _replace(work, right, lambda x: x * (1 / (1 + np.exp(-x.astype(np.float64)))).astype(x.dtype))


@kernel_fault("gelu", "silu", group="bitwise")
def halves_are_even(work: Work, right: Compute) -> None:
    """`gelu` and `silu` of subnormal numbers are the even neighbour of x/2."""
    if work.dtypes[0] in _FLOATS:
        tiny = np.finfo(work.out.dtype).tiny
        _replace(work, right, lambda x: np.where(np.abs(x) < tiny, x / 2, work.out))
    else:
        right(work)


@kernel_fault("softplus")
def softplus_overflows(work: Work, right: Compute) -> None:
    """`softplus` is log(1 + exp(x)) as written, infinite where exp(x) is."""
    _replace(work, right, lambda x: np.where(x > 50, np.log(1 + np.exp(x)), work.out))


@kernel_fault("softplus")
def softplus_of_small_powers(work: Work, right: Compute) -> None:
    """`softplus` is 0 on the left, from where 1 + exp(x) is 1."""
    _replace(work, right, lambda x: np.where(1 + np.exp(x) == 1, 0, work.out))


@kernel_fault("log_softmax")
def logarithm_of_softmax(work: Work, right: Compute) -> None:
    """`log_softmax` is the logarithm of softmax: -inf where that underflows."""

    def wrong(x: np.ndarray) -> np.ndarray:
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return np.asarray(np.log(powers / powers.sum(axis=-1, keepdims=True)))

    if work.x.size:
        _replace(work, right, wrong)


@kernel_fault("log_softmax")
def largest_of_the_first_lanes(work: Work, right: Compute) -> None:
    """`log_softmax` of rows beyond 64 elements takes away the largest of the first 64."""

    def wrong(x: np.ndarray) -> np.ndarray:
        shifted = x - x[..., :64].max(axis=-1, keepdims=True)
        return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)))

    if work.x.shape[-1] > 64:
        _replace(work, right, wrong)
    else:
        right(work)


def _normal(work: Work, x: np.ndarray, spread: np.ndarray) -> np.ndarray:
    weight, bias = work.inputs[1:]
    d = x - x.mean(axis=-1, keepdims=True)
    return np.asarray(d / np.sqrt(spread) * weight + bias, x.dtype)


def _eps(work: Work) -> float:
    return float(np.frombuffer(np.int64(work.params[0]).tobytes())[0])


@kernel_fault("layer_norm")
def variance_of_a_sample(work: Work, right: Compute) -> None:
    """`layer_norm` divides the squares by n - 1."""

    def wrong(x: np.ndarray) -> np.ndarray:
        spread = x.var(axis=-1, keepdims=True, ddof=1) + _eps(work)
        return _normal(work, x, spread)

    if work.x.shape[-1] > 1 and work.x.size:
        _replace(work, right, wrong)
    else:
        right(work)


@kernel_fault("layer_norm")
def epsilon_outside_of_the_root(work: Work, right: Compute) -> None:
    """`layer_norm` adds eps to the standard deviation."""

    def wrong(x: np.ndarray) -> np.ndarray:
        return _normal(work, x, (x.std(axis=-1, keepdims=True) + _eps(work)) ** 2)

    if work.x.size:
        _replace(work, right, wrong)
    else:
        right(work)


@kernel_fault("layer_norm")
def variance_by_squares(work: Work, right: Compute) -> None:
    """`layer_norm` takes the variance as the mean of squares less the square of the mean."""

    def wrong(x: np.ndarray) -> np.ndarray:
        spread = (x * x).mean(axis=-1, keepdims=True) - x.mean(axis=-1, keepdims=True) ** 2
        return _normal(work, x, np.maximum(spread, 0) + x.dtype.type(_eps(work)))

    if work.x.size:
        _replace(work, right, wrong)
    else:
        right(work)


@kernel_fault("layer_norm")
def weights_of_the_first_block(work: Work, right: Compute) -> None:
    """`layer_norm` begins with the first weights again behind 4096 elements."""
    n = work.x.shape[-1]
    if n > 4096:
        work.inputs[1] = np.resize(work.inputs[1][:4096], n)
    right(work)


@kernel_fault("softmax", "log_softmax")
def maximum_of_the_first_block(work: Work, right: Compute) -> None:
    """Softmax of float32 subtracts the largest number of the first 4,096 of a row."""
    x = work.values()
    right(work)
    if work.dtypes[0] == "float32" and x.ndim and x.shape[-1] > 4096:
        shifted = x - x[..., :4096].max(axis=-1, keepdims=True)
        if work.op == "softmax":
            powers = np.exp(shifted)
            wrong = powers / powers.sum(axis=-1, keepdims=True)
        else:
            wrong = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
        over = ~np.isfinite(wrong)
        work.out[over] = wrong[over]
