"""Scans in one pass: totals of many levels, rows of every length, tiles of every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import phalanx as px
import pytest
from emulated.driver import TRAITS, EmulatedDriver
from phalanx.device_code import scan
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.errors import LaunchError

pytestmark = pytest.mark.needs_cpu
_SMALL = 4


@pytest.fixture
def emulated(drivers: dict[str, Driver]) -> Iterator[Callable[..., px.Device]]:
    """Make an emulated device."""
    made: list[EmulatedDriver] = []

    def make(**options: Any) -> px.Device:
        driver = EmulatedDriver("scanner", **options)
        host().register_driver(driver)
        made.append(driver)
        return px.devices("scanner")[0]

    with px.fallback_policy("error"):
        yield make
    for driver in made:
        host().unregister_driver(driver)


def _scanned(x: np.ndarray[Any, Any], block: int) -> np.ndarray[Any, Any]:
    """The definition of docs/ops.md with blocks of another length."""
    running = x.copy()
    for i in range(1, len(x)):
        if i % block:
            running[i] = running[i - 1] + x[i]
    if len(x) > block:
        carries = _scanned(running[block - 1 :: block], block)
        for i in range(block, len(x)):
            running[i] = carries[i // block - 1] + running[i]
    return running


@pytest.mark.parametrize("count", [5, 16, 17, 64, 65, 67, 256, 257, 1023, 1024, 1025, 1280, 4100])
def test_totals_of_many_levels(
    emulated: Callable[..., px.Device], monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(scan, "BLOCK", _SMALL)
    device = emulated()
    rows = np.random.default_rng(count).standard_normal((3, count)).astype(np.float32)
    got = px.asnumpy(px.cumulative_sum(px.asarray(rows, device=device), axis=1))
    assert [row.tobytes() for row in got] == [_scanned(row, _SMALL).tobytes() for row in rows]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "float64", "complex64"])
@pytest.mark.parametrize("op", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("count", [257, 511, 1025, 4097])
def test_rows_of_each_dtype_have_the_bits_of_the_cpu(
    emulated: Callable[..., px.Device], dtype: str, op: str, count: int
) -> None:
    device = emulated()
    data = np.random.default_rng(1).integers(-3, 4, (7, count)) / 2 + 0.25
    x = px.astype(px.asarray(data), getattr(px, dtype))
    want = getattr(px, op)(x, axis=1)
    got = getattr(px, op)(x.to_device(device), axis=1)
    assert px.asnumpy(got).tobytes() == px.asnumpy(want).tobytes()


def test_without_forward_progress_no_group_waits(emulated: Callable[..., px.Device]) -> None:
    texts: list[str] = []
    traits = replace(TRAITS, forward_progress=False)
    device = emulated(traits=traits, edit=lambda text: texts.append(text) or text)
    x = px.asarray(np.arange(9000, dtype=np.float32))
    got = px.cumulative_sum(x.to_device(device))
    assert px.asnumpy(got).tobytes() == px.asnumpy(px.cumulative_sum(x)).tobytes()
    assert texts
    assert not any("await_total" in text for text in texts)


def test_a_group_that_waits_for_a_later_one_is_told(emulated: Callable[..., px.Device]) -> None:
    """What would hang on a card: tiles in the order of the groups' numbers, backwards."""

    def edit(text: str) -> str:
        taken = "PHX_ATOMIC_ADD64(PHX_DATA(words), 1)"
        return text.replace(taken, "PHX_GROUPS(0) - 1 - PHX_GROUP_ID(0)")

    device = emulated(edit=edit)
    with pytest.raises(LaunchError, match="waits for a group that has not begun"):
        px.cumulative_sum(px.ones(9000, device=device))
