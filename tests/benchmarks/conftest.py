"""No run of these tests measures the limits of this computer, or touches its history."""

from __future__ import annotations

from pathlib import Path

import pytest
from phalanx.benchmarks import history, limits
from phalanx.benchmarks.limits import Limits


@pytest.fixture(autouse=True)
def _known_limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.module.__name__.endswith("limits"):
        made = Limits(2, ((2**18, 4e10), (2**28, 1e10)), {"float32": 1e11, "float64": 5e10})
        monkeypatch.setattr(limits, "measure_limits", lambda _: made)


@pytest.fixture(autouse=True)
def own_history(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Path:
    """The file of the history in these tests."""
    path = tmp_path / "data" / "history.jsonl"
    if not request.module.__name__.endswith("history"):
        monkeypatch.setattr(history, "default_path", lambda _: path)
    return path
