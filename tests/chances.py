"""Whether numbers could come from a distribution: tests whose answer is one bool.

Thresholds are those of a false alarm in 10^6; as seeds are fixed, there is none from run to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: The standard normal quantile of 1 - 10^-6.
_QUANTILE = 4.753


def chi_square_is_fine(counts: Sequence[float] | Any, want: Sequence[float] | Any) -> bool:
    """Pearson's test, with Wilson & Hilferty's approximation (1931) of the threshold."""
    found, expected = np.asarray(counts, float), np.asarray(want, float)
    assert abs(found.sum() - expected.sum()) < 1e-6 * expected.sum() + 1e-3, "of all numbers"
    assert expected.min() >= 5, "expected counts are too small for the test"
    freedom = found.size - 1
    statistic = float((((found - expected) ** 2) / expected).sum())
    part = 2 / (9 * freedom)
    return statistic < freedom * (1 - part + _QUANTILE * math.sqrt(part)) ** 3


def distance(numbers: npt.NDArray[Any], cumulative: Callable[[Any], Any]) -> float:
    """Kolmogorov and Smirnov's statistic, times the root of the number of numbers."""
    ordered = np.sort(np.asarray(numbers, np.float64))
    n = ordered.size
    values = cumulative(ordered)
    steps = np.arange(n)
    worst = max(float((values - steps / n).max()), float(((steps + 1) / n - values).max()))
    return worst * math.sqrt(n)


#: sqrt(ln(2 / 10^-6) / 2), the threshold of `distance` for large n.
FAR = math.sqrt(math.log(2e6) / 2)


def moments_are_fine(
    numbers: npt.NDArray[Any], mean: float, variance: float, fourth: float
) -> bool:
    """Mean and variance within what their deviations allow; ``fourth`` is the central moment."""
    x = np.asarray(numbers, np.float64)
    n = x.size
    off_mean = abs(x.mean() - mean) / math.sqrt(variance / n)
    off_variance = abs(((x - mean) ** 2).mean() - variance) / math.sqrt((fourth - variance**2) / n)
    return off_mean < 5 and off_variance < 5
