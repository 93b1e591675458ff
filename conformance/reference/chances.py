"""Logarithms of the chances of Poisson and binomial counts, without cancellation.

By saddle points: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000).
"""

from __future__ import annotations

from functools import cache

import mpmath
import numpy as np

from .ulp import WIDE, WIDE_BITS
from .values import HostArray

#: From here on the first terms of Stirling's series say what is left of a factorial to 1e-16.
_SERIES = 32
_TURN = 8 * np.arctan(WIDE(1))
#: What the logarithms may miss, beside what the distance from the mean adds.
SLACK = 1e-9


def log_poisson(k: HostArray, mean: HostArray) -> HostArray:
    """Return log(mean^k e^-mean / k!) of whole numbers from 0 up."""
    k, mean = k.astype(WIDE), mean.astype(WIDE)
    with np.errstate(all="ignore"):
        found = -_rest(k) - _deviance(k, mean) - np.log(_TURN * k) / 2
    return np.where(k == 0, -mean, found)


def log_binomial(k: HostArray, n: HostArray, p: HostArray) -> HostArray:
    """Return log(C(n, k) p^k (1 - p)^(n - k)) for 0 <= k <= n and 0 < p <= 1/2."""
    k, n, p = k.astype(WIDE), n.astype(WIDE), p.astype(WIDE)
    left = n - k
    with np.errstate(all="ignore"):
        rest = _rest(n) - _rest(k) - _rest(left)
        found = rest - _deviance(k, n * p) - _deviance(left, n * (1 - p))
        found = found + (np.log(n) - np.log(_TURN * k) - np.log(left)) / 2
    none, all_of_them = n * np.log1p(-p), n * np.log(p)
    return np.where(k == 0, none, np.where(left == 0, all_of_them, found))


def slack(k: HostArray, mean: HostArray) -> HostArray:
    """Return how much the logarithm of a chance may be off."""
    return np.asarray(SLACK + np.ldexp(np.abs(k - mean), 6 - WIDE_BITS))


def _deviance(k: HostArray, mean: HostArray) -> HostArray:
    """Return k log(k / mean) + mean - k."""
    far = (k - mean) / mean
    return np.where(k == 0, mean, mean * ((1 + far) * np.log1p(far) - far))


def _rest(k: HostArray) -> HostArray:
    """Return log k! - log(sqrt(2 pi k) (k / e)^k); k of 0 gives any number."""
    x = np.maximum(k, _SERIES)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / (1680 * x**2)) / x**2) / x**2) / x
    few = np.minimum(k, _SERIES - 1).astype(int)
    return np.asarray(np.where(k < _SERIES, _few()[few], series))


@cache
def _few() -> HostArray:
    """The same of small numbers."""
    exact = [0.0]
    with mpmath.workprec(200):
        for k in range(1, _SERIES):
            whole = mpmath.loggamma(k + 1) - (k + mpmath.mpf(1) / 2) * mpmath.log(k) + k
            exact.append(float(whole - mpmath.log(2 * mpmath.pi) / 2))
    return np.array(exact, WIDE)
