from __future__ import annotations

from collections.abc import Iterator

import phalanx as px
import pytest
from phalanx.discovery.plugins import host

from .kit import ChipDriver


@pytest.fixture(scope="package")
def chip() -> Iterator[px.Device]:
    driver = ChipDriver()
    host().register_driver(driver)
    px.fallback_report(reset=True)
    yield px.devices("chip")[0]
    host().unregister_driver(driver)


@pytest.fixture(autouse=True)
def no_fallback(chip: px.Device) -> Iterator[None]:
    """All work stays on the chip."""
    del chip
    yield
    assert px.fallback_report(reset=True) == ()
