"""The group asks for the standard's rules, as the certificate's level is named after it."""

from __future__ import annotations

from collections.abc import Iterator

import phalanx as px
import pytest


@pytest.fixture(autouse=True)
def _standard_promotion() -> Iterator[None]:
    with px.promotion("standard"):
        yield
