"""Exact sums and quotients in whole numbers, against fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from phalanx.conformance.reference import fixed_point
from phalanx.conformance.reference.values import HostArray, wild_values


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def _exact(x: HostArray) -> list[Fraction]:
    return [Fraction(v) for v in x.tolist()]


def test_fixed_point_is_exact(rng: np.random.Generator) -> None:
    x = np.concatenate([wild_values("float64", 200, rng), [0.0, -0.0, 5e-324, 1.7e308]])
    x = x[np.isfinite(x)]
    integers, exponent = fixed_point.fixed_point(x)
    assert [Fraction(i) * Fraction(2) ** exponent for i in integers] == _exact(x)
    high, rest = fixed_point.exact_sum(x[:20])
    assert high == math.fsum(x[:20])
    assert abs(Fraction(high) + Fraction(rest) - sum(_exact(x[:20]))) <= abs(Fraction(rest)) / 2**50
    assert fixed_point.exact_sum(np.array([1.7e308, 1.7e308])) == (math.inf, 0.0)


def test_whole_numbers_over_powers_of_two(rng: np.random.Generator) -> None:
    """Of any size, beyond the format and below its normal numbers, too; ties to even."""
    sizes, exponents = (1, 53, 54, 64, 200, 999, 1000, 1023, 1025), (0, -7, -900, -1074)
    for bits, exponent in product(sizes, exponents):
        for low in (0, 1, 1 << max(0, bits - 54), int(rng.integers(1 << 62))):
            value = (1 << bits - 1) | low % (1 << bits)
            exact = Fraction(value) * Fraction(2) ** exponent
            high, rest = fixed_point.split(-value, exponent)
            try:
                assert high == -float(exact)
            except OverflowError:
                assert (high, rest) == (-math.inf, 0.0)
                continue
            left = -exact - Fraction(high)
            assert abs(Fraction(rest) - left) <= max(abs(left) / 2**52, Fraction(1, 2**1074))
