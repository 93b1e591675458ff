"""Powers of complex numbers with whole exponents, which are multiplied out up to 64."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest

mpmath = pytest.importorskip("mpmath")
pytestmark = pytest.mark.needs_cpu


def test_of_whole_numbers_they_are_exact() -> None:
    bases = [complex(a, b) for a in range(-4, 5) for b in range(-4, 5) if a or b]
    for n in (1, 2, 5, 10, 16, 20):
        powers = []
        for base in bases:
            re, im = 1, 0
            a, b = int(base.real), int(base.imag)
            for _ in range(n):
                re, im = re * a - im * b, re * b + im * a
            powers.append((re, im))
        fits = [max(abs(re), abs(im)) < 2**53 for re, im in powers]
        x = px.asarray([b for b, fit in zip(bases, fits, strict=True) if fit], device="cpu:0")
        want = [complex(*power) for power, fit in zip(powers, fits, strict=True) if fit]
        assert (x ** complex(n)).tolist() == want


@pytest.mark.parametrize("n", [3, 12, 31, 63, 64, 65, -64, 200.5])
def test_the_stated_bound_holds_for_all(n: float) -> None:
    rng = np.random.default_rng(int(abs(n)))
    z = rng.uniform(0.95, 1.05, 200) * np.exp(1j * rng.uniform(-np.pi, np.pi, 200))
    found = px.asnumpy(px.asarray(z, device="cpu:0") ** complex(n))
    with mpmath.workprec(200):
        for base, got in zip(z, found, strict=True):
            want = mpmath.exp(n * mpmath.log(mpmath.mpc(base)))
            assert abs(mpmath.mpc(got) - want) <= 4 * 2.0**-52 * abs(want)
