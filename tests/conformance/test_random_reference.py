"""The references of random numbers, by Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.reference.near import Only
from phalanx.conformance.reference.random_numbers import words
from phalanx.conformance.reference.structured import expected


@pytest.mark.parametrize("span", [0, 1, 3, 2**32 - 1, 2**32, 2**63 + 12345, 2**64 - 1])
def test_random_integers_are_upper_halves_of_products(span: int) -> None:
    low, place = 2**64 - 5, (3, 5, 7, 200)
    ends = np.array(low, np.uint64), np.array(span, np.uint64)
    found = expected("random_integers", ends, "uint64", place)
    assert isinstance(found, Only)
    halves = words(*place[:3], 400).tolist()
    bits = [a | b << 32 for a, b in zip(halves[0::2], halves[1::2], strict=True)]
    want = [(low + (b * (span or 2**64) >> 64)) % 2**64 for b in bits]
    assert found.values.tolist() == want
