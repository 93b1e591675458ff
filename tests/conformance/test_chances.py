"""Logarithms of chances against those of mpmath with many digits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from phalanx.conformance.reference.chances import log_binomial, log_poisson, slack

_FAR = (-6.0, -2.0, -0.5, 0.0, 1.0, 3.0, 7.0)


def _counts(mean: float, spread: float, most: float) -> np.ndarray:
    """Whole numbers some standard deviations from the mean, and the least ones."""
    places = [np.floor(mean + far * spread) for far in _FAR] + [0.0, 1.0, 2.0, 31.0, 32.0, 33.0]
    return np.array(sorted({float(k) for k in places if 0 <= k <= most}))


def _exact_factorial(k: float) -> mpmath.mpf:
    return mpmath.loggamma(mpmath.mpf(k) + 1)


@pytest.mark.parametrize("mean", [10.0, 16.5, 31.9, 1e3, 123456.78, 1e9, 1e12, 2.0**53])
def test_poisson(mean: float) -> None:
    """Near the mean, and where the chance is next to nothing."""
    k = _counts(mean, mean**0.5, 2.0**53)
    found = log_poisson(k, np.array(mean))
    with mpmath.workprec(200):
        for one, got in zip(k.tolist(), found, strict=True):
            want = one * mpmath.log(mean) - mean - _exact_factorial(one)
            miss = abs(mpmath.mpf(np.format_float_scientific(got)) - want)
            assert miss < slack(np.array(one), np.array(mean)), (one, got, want)


@pytest.mark.parametrize("n", [20.0, 37.0, 1000.0, 1e6, 2.0**25 + 1, 1e12, 2.0**53])
@pytest.mark.parametrize("p", [0.5, 0.49999, 0.1, 1e-3, 1e-9])
def test_binomial(n: float, p: float) -> None:
    """Near the mean, without a success and with no failure."""
    mean = n * p
    k = np.append(_counts(mean, (mean * (1 - p)) ** 0.5, n), n if n < 100 else 0.0)
    found = log_binomial(k, np.array(n), np.array(p))
    with mpmath.workprec(200):
        for one, got in zip(k.tolist(), found, strict=True):
            ways = _exact_factorial(n) - _exact_factorial(one) - _exact_factorial(n - one)
            want = ways + one * mpmath.log(p) + (n - one) * mpmath.log(1 - mpmath.mpf(p))
            miss = abs(mpmath.mpf(np.format_float_scientific(got)) - want)
            assert miss < slack(np.array(one), np.array(mean)), (one, got, want)
