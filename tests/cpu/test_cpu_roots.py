"""Square roots are those of the host, whose IEEE 754 asks for the nearest number."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest

WORDS = {"float32": np.uint32, "float64": np.uint64}


def check(x: np.ndarray) -> None:
    words = WORDS[x.dtype.name]
    with np.errstate(invalid="ignore"):
        want = np.sqrt(x)
    got = px.asnumpy(px.sqrt(px.asarray(x, device="cpu:0")))
    wrong = np.flatnonzero((got.view(words) != want.view(words)) & ~np.isnan(want))
    assert not wrong.size, f"sqrt({x[wrong[0]]!r}) is {want[wrong[0]]!r}, got {got[wrong[0]]!r}"
    assert (np.isnan(got) == np.isnan(want)).all()


def test_every_significand_of_float32() -> None:
    """Two binades have all that there are: of the others the exponent alone differs."""
    for first in range(0x3F00_0000, 0x4000_0000, 1 << 22):
        check(np.arange(first, first + (1 << 22), dtype=np.uint32).view(np.float32))


@pytest.mark.parametrize("name", WORDS)
def test_any_bits(name: str) -> None:
    """Zeros, subnormal numbers, the ends of the format, infinities and NaN among them."""
    words = WORDS[name]
    rng = np.random.default_rng(5)
    x = rng.integers(0, np.iinfo(words).max, 1 << 20, words, endpoint=True).view(name)
    x[::1000], x[7::1000], x[11::1001] = 0.0, -0.0, np.inf
    check(x)
    ends = np.arange(4000, dtype=words)
    for first in (0, *(np.array([e]).astype(name).view(words)[0] - 2000 for e in powers(name))):
        check((ends + words(first)).view(name))


def powers(name: str) -> list[float]:
    """Where the short way begins and ends, and where the format does."""
    return (
        [2.0**-126, 2.0**-100, 2.0**120] if name == "float32" else [2.0**-1022, 2.0**-900, 2.0**900]
    )


def test_near_the_middle_of_two_numbers_of_float64() -> None:
    """Squares of numbers and of those between them, and their neighbours."""
    numbers = np.random.default_rng(6).integers(2**52, 2**53, 20_000).tolist()
    for half in (0, 1):
        x = np.array([float((2 * n + half) ** 2) for n in numbers])
        for step in (-1, 0, 1):
            for scale in (1.0, 2.0, 0.5):
                check((x.view(np.int64) + step).view(np.float64) * scale)
