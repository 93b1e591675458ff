"""Some parameters for every run, the others for `make test-all`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_of(values: Iterable[Any], kept: Collection[Any]) -> list[Any]:
    """Return parameters of which all but the kept ones are marked as exhaustive."""
    everything = list(values)
    unknown = [value for value in kept if value not in everything]
    assert not unknown, unknown
    return [value if value in kept else _marked(value) for value in everything]


def _marked(value: Any) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    return pytest.param(*values, marks=pytest.mark.exhaustive)


def some(values: Iterable[Any], count: int) -> list[Any]:
    """Return parameters; all but about ``count``, evenly spread, are marked as exhaustive."""
    everything = list(values)
    step = max(1, len(everything) // count)
    return [x if i % step == 0 else _marked(x) for i, x in enumerate(everything)]
