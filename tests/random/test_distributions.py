"""Distributions: moments, Kolmogorov and Smirnov's test, chi-square, independence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from chances import FAR, chi_square_is_fine, distance, moments_are_fine
from exhaustive import some_of

pytestmark = pytest.mark.needs_cpu
COUNTS = some_of([100_000, 10_000_000], [100_000])


def normal_cumulative(x: Any) -> Any:
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


#: Draws, cumulative distribution, mean, variance, fourth central moment.
REALS: dict[str, tuple[Callable[..., px.Array], Callable[[Any], Any], float, float, float]] = {
    "uniform": (
        lambda g, n, d: g.uniform(-1, 3, n, dtype=d),
        lambda x: (x + 1) / 4,
        1.0,
        16 / 12,
        256 / 80,
    ),
    "normal": (
        lambda g, n, d: g.normal(size=n, dtype=d),
        normal_cumulative,
        0.0,
        1.0,
        3.0,
    ),
    "normal with parameters": (
        lambda g, n, d: g.normal(-2, 3, n, dtype=d),
        lambda x: normal_cumulative((x + 2) / 3),
        -2.0,
        9.0,
        243.0,
    ),
    "exponential": (
        lambda g, n, d: g.exponential(2, n, dtype=d),
        lambda x: -np.expm1(-x / 2),
        2.0,
        4.0,
        144.0,
    ),
}


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", REALS)
def test_reals(name: str, dtype: str, count: int, cpu: px.Device) -> None:
    make, cumulative, mean, variance, fourth = REALS[name]
    with px.device(cpu):
        x = px.asnumpy(make(px.random.Generator(11), count, dtype))
    assert np.isfinite(x).all()
    assert moments_are_fine(x, mean, variance, fourth)
    assert distance(x, cumulative) < FAR


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_have_the_moments(dtype: str, cpu: px.Device) -> None:
    """To their precision; a uniform number of theirs is the lower end of its interval."""
    with px.device(cpu):
        g = px.random.Generator(12)
        digits = 11 if dtype == "float16" else 8
        u = px.asnumpy(px.astype(g.uniform(size=200_000, dtype=dtype), "float64"))
        z = px.asnumpy(px.astype(g.normal(size=200_000, dtype=dtype), "float64"))
    assert moments_are_fine(u + 2.0 ** -(digits + 1), 0.5, 1 / 12, 1 / 80)
    counts = np.bincount((u * 2**8).astype(int), minlength=256)
    assert chi_square_is_fine(counts, [u.size / 256] * 256)
    assert abs(z.mean()) < 0.02
    assert abs(z.std() - 1) < 0.02


def test_every_number_is_below_one(cpu: px.Device) -> None:
    with px.device(cpu):
        for dtype in ("float16", "bfloat16", "float32", "float64"):
            u = px.random.Generator(1).uniform(size=1_000_000, dtype=dtype)
            assert float(px.min(u)) >= 0
            assert float(px.max(u)) < 1


def test_tails_of_normal_numbers(cpu: px.Device) -> None:
    """How many are beyond 2, 3, 4 deviations."""
    n = 2_000_000
    for dtype in ("float32", "float64"):
        z = np.abs(px.asnumpy(px.random.Generator(13).normal(size=n, dtype=dtype, device=cpu)))
        beyond = [n * math.erfc(k / math.sqrt(2)) for k in (0, 1, 2, 3, 4)]
        want = [*(a - b for a, b in itertools.pairwise(beyond)), beyond[-1]]
        got = [*np.histogram(z, [0, 1, 2, 3, 4])[0], (z > 4).sum()]
        assert chi_square_is_fine(got, want)


def test_neighbours_are_independent(cpu: px.Device) -> None:
    """Pairs at several distances, words of a block and the two of Box and Muller among them."""
    n = 400_000
    g = px.random.Generator(14)
    with px.device(cpu):
        for x in (
            px.asnumpy(g.normal(size=n, dtype="float32")).astype(float),
            px.asnumpy(g.normal(size=n)),
            px.asnumpy(g.uniform(size=n)) - 0.5,
        ):
            for step in (1, 2, 3, 4, 5, 8, 1024):
                correlation = (x[step:] * x[:-step]).mean() / x.var()
                assert abs(correlation) < 5 / math.sqrt(n)
                squares = x**2 - (x**2).mean()
                correlation = (squares[step:] * squares[:-step]).mean() / squares.var()
                assert abs(correlation) < 5 / math.sqrt(n)
            cells = np.histogram2d(
                x[::2], x[1::2], bins=[np.quantile(x, np.linspace(0, 1, 9))] * 2
            )[0]
            assert abs(cells - n / 128).max() < 6 * math.sqrt(n / 128)


def test_seeds_that_are_near_give_independent_numbers(cpu: px.Device) -> None:
    n = 100_000
    x = [px.asnumpy(px.random.Generator(s).normal(size=n, device=cpu)) for s in range(6)]
    x += [px.asnumpy(c.normal(size=n, device=cpu)) for c in px.random.Generator(0).split(6)]
    for i, a in enumerate(x):
        for b in x[:i]:
            assert abs((a * b).mean()) < 5 / math.sqrt(n)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("low", "high"), [(0, 6), (-5, 95), (10, 11), (-(2**40), 2**40)])
def test_integers(low: int, high: int, count: int, cpu: px.Device) -> None:
    x = px.asnumpy(px.random.Generator(15).integers(low, high, count, device=cpu))
    assert x.min() >= low
    assert x.max() < high
    cells = min(high - low, 64)
    if cells > 1:
        counts = np.bincount((x - low) * cells // (high - low), minlength=cells)
        ends = [-(-i * (high - low) // cells) for i in range(cells + 1)]
        want = np.diff(np.array(ends, float)) * count / (high - low)
        assert chi_square_is_fine(counts, want)


def test_bits(cpu: px.Device) -> None:
    """Each bit is one half, and bytes are uniform."""
    n = 200_000
    for dtype in ("uint32", "uint64"):
        x = px.asnumpy(px.random.Generator(16).bits(n, dtype=dtype, device=cpu))
        ones = np.unpackbits(x.view(np.uint8).reshape(n, -1), axis=1).sum(axis=0)
        assert abs(ones - n / 2).max() < 6 * math.sqrt(n / 4)
        counts = np.bincount(x.view(np.uint8), minlength=256)
        assert chi_square_is_fine(counts, [counts.sum() / 256] * 256)


@pytest.mark.parametrize("p", [0.0, 1e-5, 0.1, 0.5, 0.999, 1.0])
def test_bernoulli(p: float, cpu: px.Device) -> None:
    n = 1_000_000
    g = px.random.Generator(17)
    for made in (g.bernoulli(p, n, device=cpu), g.bernoulli(px.asarray(p, device=cpu), n)):
        assert made.dtype is px.bool
        got = int(px.count_nonzero(made))
        assert abs(got - n * p) <= 5 * math.sqrt(n * p * (1 - p))


def test_dropout(cpu: px.Device) -> None:
    mask = px.asnumpy(
        px.random.Generator(18).dropout_mask(0.2, 100_000, dtype="float32", device=cpu)
    )
    assert set(mask.tolist()) == {0.0, 1.25}
    assert abs(mask.mean() - 1) < 0.01
    assert set(px.random.Generator(1).dropout_mask(0, 9, device=cpu).tolist()) == {1.0}
