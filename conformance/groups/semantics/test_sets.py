"""Distinct values and membership, against NumPy."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    need,
    put,
    same,
    whole_numbers,
)
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable import ALL, kind_of

_SHAPES = ((0,), (1,), (12,), (3, 4), (2, 3, 4), (2, 0), (), (300,))


@pytest.mark.parametrize("dtype", ALL)
def test_unique(case: Case, dtype: str) -> None:
    """All four functions: ascending values, first places, the way back and counts."""
    need(case, dtype)
    for number, shape in enumerate(_SHAPES):
        host = whole_numbers(case, shape, dtype)
        wide = host.astype(np.complex128 if kind_of(dtype) == "c" else np.float64)
        want = np.unique_all(wide)
        values = want.values.astype(host_dtype(dtype))
        x = put(case, host, LAYOUTS[number % 3])
        found = px.unique_all(x)
        same(case, found.values, values, f"values of {shape}")
        same(case, found.indices, want.indices, f"indices of {shape}")
        same(case, found.inverse_indices, want.inverse_indices, f"inverse of {shape}")
        same(case, found.counts, want.counts, f"counts of {shape}")
        same(case, px.unique_values(x), values, f"unique_values of {shape}")
        counted = px.unique_counts(x)
        same(case, counted.values, values, f"unique_counts of {shape}")
        same(case, counted.counts, want.counts, f"unique_counts of {shape}")
        inverse = px.unique_inverse(x)
        same(case, inverse.values, values, f"unique_inverse of {shape}")
        same(case, inverse.inverse_indices, want.inverse_indices, f"unique_inverse of {shape}")


def test_unique_nan(case: Case) -> None:
    """Each NaN is a value of its own; zeros of both signs are one."""
    host = np.asarray([np.nan, 1, 0.0, np.nan, -0.0, 1], np.float32)
    found = px.unique_counts(put(case, host))
    same(case, found.values, np.asarray([0, 1, np.nan, np.nan], np.float32))
    same(case, found.counts, np.asarray([2, 2, 1, 1], np.int64))


@pytest.mark.parametrize("count", [257, 4097, 20_000])
def test_unique_of_many(case: Case, count: int) -> None:
    """Long arrays with few and with many distinct values."""
    for limit in (5, count):
        host = case.rng(count, limit).integers(0, limit, count).astype(np.int32)
        found, want = px.unique_all(put(case, host)), np.unique_all(host)
        for part in ("values", "indices", "inverse_indices", "counts"):
            same(case, getattr(found, part), getattr(want, part), f"{part} of {limit} values")


@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("dtype", ALL)
def test_isin(case: Case, dtype: str, invert: bool) -> None:
    """Whether each element is among others, of any shape, none included."""
    need(case, dtype)
    for shape in ((7,), (3, 4), (), (0,)):
        host = whole_numbers(case, shape, dtype, "what")
        for others in ((5,), (2, 3), (0,), (1,), (40,)):
            among = whole_numbers(case, others, dtype, "where")
            got = px.isin(put(case, host), put(case, among), invert=invert)
            wide = np.complex128 if kind_of(dtype) == "c" else np.float64
            want = np.isin(host.astype(wide), among.astype(wide), invert=invert)
            same(case, got, want, f"{shape} among {others}")


def test_isin_number(case: Case) -> None:
    """A Python number may be either of the two."""
    host = whole_numbers(case, (30,), "int32")
    same(case, px.isin(put(case, host), 3), np.isin(host, 3))
    same(case, px.isin(3, put(case, host)), np.isin(3, host))
