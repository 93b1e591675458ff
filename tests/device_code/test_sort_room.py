"""Rows are sorted in scratch that the device gives in one piece, or one is told why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import phalanx as px
import pytest
from emulated.driver import TRAITS, EmulatedDriver
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.errors import OutOfMemoryError

pytestmark = pytest.mark.needs_cpu
_MOST = 2**13


@pytest.fixture
def device(drivers: dict[str, Driver]) -> Iterator[px.Device]:
    """An emulated device that gives 8 KiB at a time."""
    driver = EmulatedDriver("tight", replace(TRAITS, max_allocation=_MOST))
    host().register_driver(driver)
    with px.fallback_policy("error"):
        yield px.devices("tight")[0]
    host().unregister_driver(driver)


def test_rows_that_fit_are_sorted_some_at_a_time(device: px.Device) -> None:
    x = np.random.default_rng(1).standard_normal((5, _MOST // 16))
    got = px.argsort(px.asarray(x, device=device))
    assert np.array_equal(px.asnumpy(got), np.argsort(x, stable=True))


def test_a_row_that_does_not_fit_is_refused_with_what_to_do(device: px.Device) -> None:
    x = np.random.default_rng(2).standard_normal(_MOST // 16 + 1)
    y = px.asarray(x, device=device)
    with pytest.raises(
        OutOfMemoryError, match=r"argsort of a row of 513 .* tight:0 needs 8208 "
    ) as e:
        px.argsort(y)
    assert "sort parts of the row" in e.value.remedy
    assert e.value.size == 8208
    assert np.array_equal(px.asnumpy(px.sort(y)), np.sort(x))
