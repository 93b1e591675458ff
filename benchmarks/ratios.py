"""Ratios of times, drawn from rounds in which all contestants took their turn, and their noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import accumulate
from statistics import median

#: How often the interval of a median may miss it, on each side.
_MISSES = 0.025


def pair_ratios(own: Sequence[float], other: Sequence[float]) -> list[float]:
    """Return the other's seconds by the own ones, round by round.

    A noise that lasts longer than a round meets both and leaves their ratio. Results of other
    programs may lack a round: then the medians stand for all.
    """
    if not own or not other or min(*own, *other) <= 0.0:
        return []
    if len(own) != len(other):
        return [median(other) / median(own)]
    return [theirs / ours for ours, theirs in zip(own, other, strict=True)]


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return between which values the true median lies in 95 % of all cases, at least.

    Whatever the distribution, the k-th smallest and the k-th largest of n enclose it but for twice
    the chance that fewer than k of n coins show heads (David and Nagaraja, Order Statistics, 2003,
    section 7.1). Of fewer than six values, the smallest and the largest: 94 % for five.
    """
    ordered, n = sorted(values), len(values)
    chances = accumulate(math.comb(n, heads) / 2**n for heads in range(n))
    rank = max(1, sum(chance <= _MISSES for chance in chances))
    return ordered[rank - 1], ordered[n - rank]


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean, ``None`` of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs)) if logs else None
