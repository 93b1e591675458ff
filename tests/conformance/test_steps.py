"""The fma of the references: the C library's, and ours where that one does not round once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from ctypes import c_float
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cffi import FFI
from phalanx.conformance.reference import fixed_point, steps

_OWN = {"float32": steps._python_fmaf, "float64": steps._python_fma}


@pytest.fixture(autouse=True)
def _asked_again() -> Iterator[None]:
    """Whether the C library's is good is found out once in a process."""
    steps.fma_of.cache_clear()
    yield
    steps.fma_of.cache_clear()


@np.errstate(over="ignore")
def _operands(dtype: str, rng: np.random.Generator) -> list[float]:
    if rng.random() < 0.1:
        return [float(x) for x in rng.choice([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0], 3)]
    most = np.finfo(dtype).maxexp // (2 if rng.random() < 0.5 else 1)
    a, b = (np.ldexp(rng.uniform(-1, 1), rng.integers(-most, most)) for _ in range(2))
    near = -a * b * (1 + rng.integers(-4, 5) * np.finfo(dtype).eps)
    c = near if rng.random() < 0.5 else np.ldexp(rng.uniform(-1, 1), rng.integers(-most, most))
    return [float(np.dtype(dtype).type(x)) for x in (a, b, c)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_both_ways_agree(dtype: str) -> None:
    rng = np.random.default_rng(6)
    fma = steps.fma_of(dtype)
    for _ in range(4000):
        numbers = _operands(dtype, rng)
        got, want = fma(*numbers), _OWN[dtype](*numbers)
        assert repr(got) == repr(want), numbers


def test_infinity_stays_beside_a_product_that_leaves_the_range() -> None:
    assert steps._python_fma(1e200, -1e200, math.inf) == math.inf
    assert math.isnan(steps._python_fma(math.inf, 1.0, -math.inf))


def _rounds_the_product(a: float, b: float, c: float) -> float:
    return a * b + c


def _rounds_the_product_32(a: float, b: float, c: float) -> float:
    return c_float(c_float(a * b).value + c).value


def _rounds_the_sum_twice_32(a: float, b: float, c: float) -> float:
    return c_float(a * b + c).value


@pytest.mark.parametrize(
    ("dtype", "wrong", "telling"),
    [
        ("float64", _rounds_the_product, 4),
        ("float32", _rounds_the_product_32, 2),
        ("float32", _rounds_the_sum_twice_32, 1),
    ],
)
def test_a_library_that_rounds_twice_is_not_taken(
    dtype: str, wrong: Any, telling: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FFI, "dlopen", lambda *_: SimpleNamespace(fma=wrong, fmaf=wrong))
    own = _OWN[dtype]
    assert steps.fma_of(dtype) is own
    assert sum(wrong(*n) != own(*n) for n in steps._TELLING[dtype]) >= telling


def test_a_system_without_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise OSError("no such library")

    monkeypatch.setattr(FFI, "dlopen", missing)
    assert steps.fma_of("float64") is steps._python_fma


def test_sums_beyond_the_range_on_the_way() -> None:
    x = np.array([1.7e308, 1.7e308, -1.7e308, -1.7e308, 1.0, 2.0**-60])
    assert fixed_point.exact_sum(x) == (1.0, 2.0**-60)
    nearest, left = fixed_point.exact_sum(np.array([1.0, 2.0**-53, 2.0**-100]))
    assert Fraction(nearest) + Fraction(left) == 1 + Fraction(2) ** -53 + Fraction(2) ** -100
