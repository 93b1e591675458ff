"""The suite's own models: the stated order of sums and scans, rows of bad pivots."""

from __future__ import annotations

import numpy as np
import order_model
import pytest
from phalanx.conformance.groups.ops.sort_data import BAD, bad_pivots
from phalanx.conformance.reference.orders import in_stated_order


@pytest.mark.parametrize("n", [1, 64, 65, 4097, 13_000])
def test_sums_agree_with_the_other_model(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((2, n)).astype(np.float32)
    found = in_stated_order("sum", x)
    assert found.tolist() == [order_model.reduction(row, np.add) for row in x]


@pytest.mark.parametrize("n", [1, 256, 257, 66_000])
def test_scans_agree_with_the_other_model(n: int) -> None:
    x = np.exp(np.random.default_rng(n).standard_normal((2, n)) / n)
    found = in_stated_order("cumulative_prod", x)
    assert found.tolist() == order_model.scan(x.T, np.multiply).T.tolist()


@pytest.mark.parametrize("name", ["int32", "int64"])
@pytest.mark.parametrize("n", BAD)
@pytest.mark.parametrize("lanes", [0, 4, 8])
def test_bad_pivots_leave_out_a_few_elements_each(name: str, n: int, lanes: int) -> None:
    left = bad_pivots(name, n, lanes)
    assert len(set(left.tolist())) == n
    for turn in range(8 + 2 * n.bit_length()):
        step, jitter, sample = len(left) // 16, len(left) * 2_654_435_769 % 2**32, []
        for i in range(16):
            sample.append(left[i * step + (jitter * step >> 32)])
            jitter = (jitter * 1_664_525 + 1_013_904_223) % 2**32
        pivot = sorted(sample)[8]
        below = np.count_nonzero(left < pivot)
        assert 0 < below <= 16
        if lanes and not turn:  # vectors are streamed to the end, the first of them last
            left = left[np.argsort(-(np.arange(n) // lanes), kind="stable")]
        left = left[left >= pivot]
    leaf = 256 if n > 500 else 128  # of the longer vectors, and of the shorter ones
    assert len(left) > leaf, "a quicksort gives up before it has leaves alone"
