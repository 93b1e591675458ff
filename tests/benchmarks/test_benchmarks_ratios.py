"""Ratios from interleaved pairs, and the interval in which their median lies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from phalanx.benchmarks import ratios


class TestPairs:
    def test_a_noise_that_meets_both_leaves_the_ratio(self) -> None:
        assert ratios.pair_ratios([1.0, 9.0, 1.0], [2.0, 18.0, 2.0]) == [2.0] * 3

    def test_other_numbers_of_rounds_leave_the_medians(self) -> None:
        assert ratios.pair_ratios([1.0, 2.0, 3.0], [4.0, 8.0]) == [3.0]

    @pytest.mark.parametrize("own", [[], [0.0, 1.0]])
    def test_no_time_no_ratio(self, own: list[float]) -> None:
        assert ratios.pair_ratios(own, [1.0, 1.0]) == []
        assert ratios.pair_ratios([1.0, 1.0], own) == []


class TestInterval:
    def test_few_values_leave_the_extremes(self) -> None:
        assert ratios.median_interval([3.0]) == (3.0, 3.0)
        assert ratios.median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)

    def test_the_sixth_of_twenty_one(self) -> None:
        # of the binomial distribution's table: P(5 or fewer of 21) = 0.0133, of 6 or fewer 0.0392
        assert ratios.median_interval([float(i) for i in range(1, 22)]) == (6.0, 16.0)

    def test_it_holds_the_true_median_often_enough(self) -> None:
        rng = np.random.default_rng(5)
        hits = 0
        for _ in range(2000):
            low, high = ratios.median_interval(rng.exponential(size=15).tolist())
            hits += low <= math.log(2) <= high
        assert hits >= 0.94 * 2000


def test_geometric_mean() -> None:
    assert ratios.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert ratios.geometric_mean([1e-300] * 3) == pytest.approx(1e-300)
    assert ratios.geometric_mean([]) is None
