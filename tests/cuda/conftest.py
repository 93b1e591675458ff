"""The driver ``cuda`` over the fake library."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from fake_cuda.kit import Card
from fake_cuda.library import FakeCuda
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.errors import DeviceLostError


@pytest.fixture
def make_card(
    drivers: dict[str, Driver], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Card]]:
    """Make and register a card; compiled programs are kept in a folder of the test's own."""
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
    made: list[Card] = []

    def make(**options: Any) -> Card:
        card = Card(FakeCuda(**options))
        host().register_driver(card.driver)
        made.append(card)
        return card

    with px.fallback_policy("error"):
        yield make
    for card in made:
        card.library.faults.clear()
        with contextlib.suppress(DeviceLostError):
            host().unregister_driver(card.driver)


@pytest.fixture
def card(make_card: Callable[..., Card]) -> Card:
    """One card without faults."""
    return make_card()
