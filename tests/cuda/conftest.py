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
from fake_cuda.library_kit import Here
from phalanx.discovery.plugins import host
from phalanx.driver import Driver
from phalanx.errors import DeviceLostError
from phalanx.kernels_cuda import libraries


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep programs of the fake compiler out of the folder that real ones are looked up in."""
    monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))


@pytest.fixture
def make_card(drivers: dict[str, Driver]) -> Iterator[Callable[..., Card]]:
    """Make and register a card."""
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


@pytest.fixture
def here(card: Card, monkeypatch: pytest.MonkeyPatch) -> Iterator[Here]:
    """The mode ``reproducible`` is in force, and CuPy seems to be installed."""
    made = Here(card)
    monkeypatch.setattr(libraries, "_version", lambda: "14.2.0")
    monkeypatch.setattr(libraries, "load", made.load)
    monkeypatch.setattr(libraries, "cupy_cuda", lambda: made.cuda)
    monkeypatch.setattr(libraries, "_problems", {})
    px.use_deterministic_algorithms("reproducible")
    with px.device(card.device):
        yield made
    px.use_deterministic_algorithms(None)
