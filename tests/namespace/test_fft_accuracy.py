"""Transforms: no less accurate than pocketfft, the same bits on every device, rounded twiddles."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
import phalanx as px
import pytest
from array_kit import generator
from emulated.driver import EmulatedDriver
from phalanx.conformance.reference.values import HostArray
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.fft import roots, tables
from phalanx.optable import fourier

#: Powers of two, products of small primes, primes, and what lies between.
LENGTHS = (
    *range(1, 101),
    *(2**k for k in range(7, 12)),
    *(101, 103, 107, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193),
    *(105, 108, 110, 112, 120, 121, 125, 130, 132, 143, 144, 150, 160, 162, 165, 169, 175, 180),
    *(187, 189, 192, 195, 196, 200, 210, 216, 220, 225, 231, 240, 242, 243, 245, 250, 252, 254),
    *(260, 262, 264, 270, 280, 286, 288, 289, 294, 300, 315, 320, 324, 330, 343, 350, 360, 361),
    *(384, 385, 400, 405, 432, 441, 450, 480, 486, 499, 500, 504, 510, 521, 529, 540, 567, 576),
    *(600, 625, 729, 750, 768, 997, 1000, 1001, 1009),
)
_QUICK = LENGTHS[::12]
_ROWS = 24
_WIDE = np.longdouble


def definition(x: HostArray, n: int) -> HostArray:
    """The transform by its definition, in long doubles of 64 bits."""
    turns = np.outer(np.arange(x.shape[-1]), np.arange(n)) % n
    angle = np.arange(n).astype(_WIDE) * (8 * np.arctan(_WIDE(1))) / n
    wave = np.cos(angle) - 1j * np.sin(angle)
    return np.asarray(x.astype(np.clongdouble) @ wave[turns])


def error(got: HostArray, want: HostArray) -> float:
    """The root mean square of the errors, in units of the last place of that of the values."""
    unit = np.finfo(got.dtype).eps / 2
    miss = np.abs(got.astype(np.clongdouble) - want)
    size = np.sqrt(np.mean(np.abs(want) ** 2))
    return float(np.sqrt(np.mean(miss**2)) / size / unit)


def test_lengths() -> None:
    assert len(set(LENGTHS)) == len(LENGTHS) >= 200


def test_the_definition_agrees_with_mpmath() -> None:
    rng = generator("fft definition")
    with mpmath.workdps(40):
        for n in (1, 6, 13, 32):
            x = rng.normal(size=n) + 1j * rng.normal(size=n)
            found = definition(x, n)
            for k in range(n):
                turns = (mpmath.expjpi(mpmath.mpf(-2 * j * k) / n) for j in range(n))
                total = mpmath.fsum(mpmath.mpc(v) * t for v, t in zip(x, turns, strict=True))
                miss = mpmath.mpc(mpmath.mpf(str(found[k].real)), mpmath.mpf(str(found[k].imag)))
                assert abs(miss - total) < 1e-17 * n


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_no_less_accurate_than_pocketfft(name: str, request: pytest.FixtureRequest) -> None:
    """Of each length the error over many rows; over all lengths that of none is worse."""
    rng = generator("fft accuracy", name)
    lengths = LENGTHS if request.config.getoption("--full", default=False) else _QUICK
    ours, theirs = [], []
    for n in lengths:
        shape = (_ROWS, n)
        x = (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(name)
        want = definition(x, n)
        ours.append(error(px.asnumpy(px.fft.fft(px.asarray(x))), want))
        theirs.append(error(np.fft.fft(x), want))
    worse = [(n, a, b) for n, a, b in zip(lengths, ours, theirs, strict=True) if a > 1.02 * b]
    assert not worse
    assert np.mean(ours) < np.mean(theirs)
