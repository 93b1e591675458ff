"""Sums and products in double-double, against fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from operator import mul

import numpy as np
import pytest
from phalanx.conformance.reference import double_double, fixed_point, sums
from phalanx.conformance.reference.values import HostArray

ROWS, LENGTH = 12, 40


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def fractions(row: HostArray) -> list[Fraction]:
    return [Fraction(v) for v in row.tolist()]


def error(pair: tuple[HostArray, HostArray], want: list[Fraction], size: list[Fraction]) -> float:
    high, low = (fractions(part) for part in pair)
    return max(float(abs(h + r - w) / s) for h, r, w, s in zip(high, low, want, size, strict=True))


def test_running_sums_of_rows(rng: np.random.Generator) -> None:
    x = rng.standard_normal((ROWS, LENGTH)) * 2.0 ** rng.integers(-80, 80, (ROWS, LENGTH))
    x[0, 1:] = -x[0, :-1]  # which cancel
    values, rest = double_double.running_sums(x)
    for row, high, low in zip(x, values, rest, strict=True):
        size = list(accumulate(map(abs, fractions(row))))
        assert error((high, low), list(accumulate(fractions(row))), size) < LENGTH * 2.0**-104
        assert (high + low == high).all()


def test_running_products_of_rows(rng: np.random.Generator) -> None:
    x = rng.uniform(0.2, 4, (ROWS, LENGTH)) * rng.choice([-1, 1], (ROWS, LENGTH))
    x[0, :3] = double_double.LEAST, 2.0**300, 2.0**500
    values, rest = double_double.running_products(x)
    for row, high, low in zip(x, values, rest, strict=True):
        want = list(accumulate(fractions(row), mul))
        assert error((high, low), want, list(map(abs, want))) < LENGTH * 2.0**-103


@pytest.mark.parametrize(("start", "step"), [(1.1, -0.37), (1e200, 3e-7), (-0.0, 0.0), (-5.5, 0.5)])
def test_steps(start: float, step: float) -> None:
    pair = double_double.steps(start, step, range(1000))
    want = [Fraction(start) + i * Fraction(step) for i in range(1000)]
    size = [max(abs(Fraction(start)), abs(i * Fraction(step)), Fraction(1)) for i in range(1000)]
    assert error(pair, want, size) < 2.0**-104
    exact = fixed_point.steps(start, step, range(1000))
    assert pair[0].tolist() == exact[0].tolist()


def test_what_is_too_large_or_too_small() -> None:
    least, greatest = double_double.LEAST, double_double.GREATEST
    numbers = np.array([0.0, -0.0, least, -greatest, least / 2, -2 * greatest, np.inf, np.nan])
    assert double_double.in_range(numbers).tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize("scan", [sums.running_sums, sums.running_products])
@pytest.mark.parametrize("scale", [1.0, 2.0**1000, 2.0**-1060])
def test_many_rows_are_judged_as_one_is(
    scan: Callable[[HostArray], sums.Near], scale: float, rng: np.random.Generator
) -> None:
    """Rows that are taken at once, and such as overflow, are subnormal or special."""
    x = rng.standard_normal((3 * sums.MANY_ROWS, 9))
    x[1] *= scale
    x[2, 4], x[3, 5], x[4, 6] = 0, np.inf, np.nan
    whole = scan(x)
    for i, row in enumerate(x):
        alone = scan(row[None])
        assert (whole.radius[i] == alone.radius[0]).all() or np.isnan(alone.radius[0]).any()
        with np.errstate(all="ignore"):
            difference = np.abs(whole.values[i] - alone.values[0] + whole.rest[i] - alone.rest[0])
        same = (whole.values[i] == alone.values[0]) | np.isnan(alone.values[0])
        assert (same & ~(difference > 2.0**-45 * alone.radius[0])).all()
        assert (np.isnan(whole.values[i]) == np.isnan(alone.values[0])).all()
