"""Gamma, beta, t, Poisson, binomial and multivariate normal numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from chances import FAR, chi_square_is_fine, distance, moments_are_fine
from exhaustive import some_of

COUNTS = some_of([50_000, 10_000_000], [50_000])


def by_quadrature(density: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    """The cumulative distribution of a density, by Simpson's rule in 2^14 cells."""
    ends = np.linspace(low, high, 2**14 + 1)
    middle = (ends[1:] + ends[:-1]) / 2
    cells = (density(ends[1:]) + 4 * density(middle) + density(ends[:-1])) * np.diff(ends) / 6
    sums = np.concatenate([[0.0], np.cumsum(cells)])
    return lambda x: np.interp(x, ends, sums)


def log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 40.0, 5000.0])
def test_gamma(shape: float, dtype: str, count: int, cpu: px.Device) -> None:
    x = px.asnumpy(px.random.Generator(21).gamma(shape, 2.0, count, dtype=dtype, device=cpu))
    assert (x >= 0).all()
    fourth = 16 * (3 * shape**2 + 6 * shape)
    assert moments_are_fine(x, 2 * shape, 4 * shape, fourth)
    if shape >= 1:
        width = 14 * math.sqrt(shape) + 30
        low, high = max(1e-12, shape - width), shape + width

        def density(v: Any) -> Any:
            return np.exp((shape - 1) * np.log(v) - v - math.lgamma(shape))

        assert distance(x / 2, by_quadrature(density, low, high)) < FAR


@pytest.mark.needs_cpu
def test_small_shapes_have_the_powers_that_they_must(cpu: px.Device) -> None:
    """The mean of x^s is gamma(shape + s) / gamma(shape)."""
    n = 400_000
    for shape in (0.1, 0.5, 0.9):
        x = px.asnumpy(px.random.Generator(22).gamma(shape, size=n, device=cpu))
        for s in (0.25, 0.5, 1.0):
            mean = math.exp(math.lgamma(shape + s) - math.lgamma(shape))
            square = math.exp(math.lgamma(shape + 2 * s) - math.lgamma(shape))
            assert abs((x**s).mean() - mean) < 5 * math.sqrt((square - mean**2) / n)


@pytest.mark.needs_cpu
@pytest.mark.parametrize(("a", "b"), [(2.0, 3.0), (1.0, 1.0), (30.0, 2.0)])
def test_beta(a: float, b: float, cpu: px.Device) -> None:
    x = px.asnumpy(px.random.Generator(23).beta(a, b, 50_000, device=cpu))

    def density(v: Any) -> Any:
        return np.exp((a - 1) * np.log(v) + (b - 1) * np.log1p(-v) - log_beta(a, b))

    assert distance(x, by_quadrature(density, 1e-12, 1 - 1e-12)) < FAR


@pytest.mark.needs_cpu
def test_beta_of_tiny_parameters_is_a_coin(cpu: px.Device) -> None:
    n = 20_000
    x = px.asnumpy(px.random.Generator(24).beta(3e-5, 1e-5, n, dtype="float32", device=cpu))
    assert np.isfinite(x).all()
    assert abs((x > 0.5).mean() - 0.75) < 5 * math.sqrt(0.75 * 0.25 / n)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("df", [1.0, 5.0, 50.0])
def test_standard_t(df: float, cpu: px.Device) -> None:
    x = px.asnumpy(px.random.Generator(25).standard_t(df, 50_000, device=cpu))

    def density(angle: Any) -> Any:  # of x = sqrt(df) tan(angle), which has no tails
        return np.cos(angle) ** (df - 1) / math.exp(log_beta(0.5, df / 2))

    end = math.pi / 2
    assert distance(np.arctan(x / math.sqrt(df)), by_quadrature(density, -end, end)) < FAR


def counts_are_fine(x: Any, chances: list[float]) -> bool:
    """Chi-square over values with an expected count of 10 or more, and all others."""
    want = len(x) * np.array(chances)
    found = np.bincount(np.minimum(x, len(chances)), minlength=len(chances) + 1)
    kept = want >= 10
    rest = len(x) - want[kept].sum()
    got = [*found[:-1][kept], len(x) - found[:-1][kept].sum()]
    expected = [*want[kept], rest]
    if rest < 10:
        got = [*got[:-2], got[-2] + got[-1]]
        expected = [*expected[:-2], expected[-2] + expected[-1]]
    return len(got) < 2 or chi_square_is_fine(got, expected)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("mean", [0.05, 1.0, 9.99, 10.0, 30.0, 400.0])
def test_poisson(mean: float, count: int, cpu: px.Device) -> None:
    most = int(mean + 10 * math.sqrt(mean) + 10)
    chances = [math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(most)]
    g = px.random.Generator(26)
    for given in (mean, px.full(count, mean, device=cpu)):
        x = px.asnumpy(g.poisson(given, count, device=cpu))
        assert x.dtype == np.int64
        assert moments_are_fine(x, mean, mean, mean + 3 * mean**2)
        assert counts_are_fine(x, chances)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("mean", [1e6, 1e12, 2.0**52])
def test_large_means(mean: float, cpu: px.Device) -> None:
    x = px.asnumpy(px.random.Generator(27).poisson(mean, 50_000, device=cpu))
    z = (x - mean) / math.sqrt(mean)
    assert moments_are_fine(z, 0, 1, 3)
    y = px.asnumpy(px.random.Generator(27).binomial(int(4 * mean) // 2, 0.5, 50_000, device=cpu))
    z = (y - mean) / math.sqrt(mean / 2)
    assert moments_are_fine(z, 0, 1, 3)


BINOMIALS = [(1, 0.3), (10, 0.5), (25, 0.5), (19, 0.5), (1000, 0.001), (300, 0.9), (5000, 0.4)]


@pytest.mark.needs_cpu
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("n", "p"), BINOMIALS)
def test_binomial(n: int, p: float, count: int, cpu: px.Device) -> None:
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    chances = [math.exp(c + k * math.log(p) + (n - k) * math.log1p(-p)) for k, c in enumerate(logs)]
    g = px.random.Generator(28)
    for given in (n, px.full(count, n, device=cpu)):
        x = px.asnumpy(g.binomial(given, p, count, device=cpu))
        assert x.min() >= 0
        assert x.max() <= n
        variance = n * p * (1 - p)
        assert moments_are_fine(x, n * p, variance, variance * (1 + 3 * (n - 2) * p * (1 - p)))
        assert counts_are_fine(x, chances)


def test_parameters_at_the_ends(device: px.Device) -> None:
    g = px.random.Generator(29)
    assert set(g.poisson(0, 5).tolist()) == {0}
    assert set(g.binomial(7, 0, 5).tolist()) == {0}
    assert set(g.binomial(7, 1, 5).tolist()) == {7}
    assert set(g.binomial(0, 0.5, 5).tolist()) == {0}
    assert set(g.gamma(0, size=5).tolist()) == {0.0}
    assert g.poisson(px.asarray([-1.0, px.nan, 0.0])).tolist() == [-1, -1, 0]
    assert g.binomial(px.asarray([-1, 5]), px.asarray([0.5, 1.0])).tolist() == [-1, 5]
    made = px.asnumpy(g.gamma(px.asarray([-1.0, 0.0, 3.0])))
    assert np.isnan(made[0])
    assert made[1] == 0
    assert made[2] > 0


TRIED: dict[str, Callable[[px.random.Generator, Any], px.Array]] = {
    "gamma": lambda g, n: g.gamma(px.asarray(2.5), size=n),
    "gamma of float32": lambda g, n: g.gamma(0.7, 3, n, dtype="float32"),
    "poisson": lambda g, n: g.poisson(30.5, n),
    "poisson of small means": lambda g, n: g.poisson(3, n),
    "binomial": lambda g, n: g.binomial(100, 0.7, n),
    "binomial of small means": lambda g, n: g.binomial(9, 0.7, n),
}


@pytest.mark.parametrize("name", TRIED)
def test_an_element_depends_on_its_place_alone(name: str, device: px.Device) -> None:
    long = px.asnumpy(TRIED[name](px.random.Generator(1), 130))
    for n in (1, 2, 65):
        short = px.asnumpy(TRIED[name](px.random.Generator(1), n))
        assert short.tobytes() == long[:n].tobytes()
    shaped = px.asnumpy(TRIED[name](px.random.Generator(1), (13, 10)))
    assert shaped.tobytes() == long.tobytes()


def test_a_parameter_for_all_and_one_for_each_are_the_same(device: px.Device) -> None:
    n = 700
    for name, values in (
        ("gamma", (2.5,)),
        ("gamma", (0.25,)),
        ("poisson", (4.0,)),
        ("poisson", (44.0,)),
        ("binomial", (11, 0.3)),
        ("binomial", (1000, 0.6)),
    ):
        alike = getattr(px.random.Generator(1), name)(*values, size=n)
        arrays = [px.full(n, value) for value in values]
        each = getattr(px.random.Generator(1), name)(*arrays)
        assert px.asnumpy(alike).tobytes() == px.asnumpy(each).tobytes(), name


def test_parameters_broadcast(device: px.Device) -> None:
    g = px.random.Generator(1)
    assert g.gamma(px.ones((3, 1)), px.ones(4)).shape == (3, 4)
    assert g.beta(px.ones((3, 1)), px.ones(4), size=(2, 3, 4)).shape == (2, 3, 4)
    assert g.poisson(px.reshape(px.arange(6), (2, 3)).T).shape == (3, 2)
    assert g.binomial(px.asarray([10, 20]), 0.5, size=(3, 2)).shape == (3, 2)
    assert g.standard_t(px.asarray([3.0, 4.0])).shape == (2,)


COVARIANCE = [[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]]


def test_multivariate_normal(device: px.Device) -> None:
    g = px.random.Generator(31)
    n = 40_000
    x = g.multivariate_normal([1, -2, 3], px.asarray(COVARIANCE), n)
    assert x.shape == (n, 3)
    host = px.asnumpy(x)
    assert np.abs(host.mean(axis=0) - [1, -2, 3]).max() < 5 * math.sqrt(2 / n)
    assert np.abs(np.cov(host.T) - COVARIANCE).max() < 0.06
    assert g.multivariate_normal(px.zeros(3), COVARIANCE).shape == (3,)
    assert g.multivariate_normal(px.zeros(3), COVARIANCE, (2, 4), dtype="float32").shape == (
        2,
        4,
        3,
    )
    assert g.multivariate_normal([0], [[1]], 0).shape == (0, 1)


def test_a_semidefinite_covariance(device: px.Device) -> None:
    g = px.random.Generator(32)
    x = px.asnumpy(g.multivariate_normal([0, 0], [[4, 2], [2, 1]], 100))
    assert np.abs(x[:, 0] - 2 * x[:, 1]).max() < 1e-12
    assert px.asnumpy(g.multivariate_normal([1, 2], [[0, 0], [0, 0]], 3)).tolist() == [[1, 2]] * 3
