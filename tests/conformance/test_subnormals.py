"""What is right on a device that flushes subnormal numbers, and what is still wrong."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from phalanx.conformance.subnormals import flushed, forgiven, lost

SMALL = 2.0**-130


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_subnormal_operands_are_zeros_of_their_sign(dtype: type) -> None:
    x = np.array([SMALL, -SMALL, 2.0**-126, -1.0, 0.0, np.inf, np.nan], dtype)
    got = flushed(x)
    assert got.dtype == x.dtype
    assert got.tolist()[:6] == [0.0, 0.0, 2.0**-126, -1.0, 0.0, np.inf]
    assert np.isnan(got[6])
    assert np.signbit(got).tolist()[:4] == [False, True, False, True]


def test_other_dtypes_stay() -> None:
    for x in (np.array([2.0**-1030]), np.array([2.0**-20], np.float16), np.array([1])):
        assert flushed(x) is x


def test_both_parts_of_a_complex_number() -> None:
    x = np.array([[SMALL + 1j, 1 - SMALL * 1j]], np.complex64)
    assert flushed(x).tolist() == [[1j, 1 + 0j]]


def test_a_zero_is_forgiven_only_for_a_subnormal_result() -> None:
    got = np.array([0.0, 0.0, 1.0, SMALL], np.float32)
    errors = np.array([2.0**19, 2.0**24, 5.0, 3.0])
    assert forgiven(got, errors).tolist() == [0.0, 2.0**24, 5.0, 3.0]
    assert forgiven(got.astype(np.float64), errors) is errors
    want = np.array([SMALL, 2.0**-100, 1.0, SMALL])
    assert lost(got, want).tolist() == [True, False, True, True]
    parts = np.array([[SMALL, 1.0], [SMALL, 2.0]])
    assert lost(np.array([1j, 1j], np.complex64), parts).tolist() == [True, False]
