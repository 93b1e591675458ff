"""Random programs of the driver's own calls, with a model of every byte."""

from __future__ import annotations

import pytest
from phalanx.conformance.case import Case

from .calls import DriverProgram, Kind

_QUICK = (1, 120)
_FULL = (4, 300)
_KINDS = {
    "few streams": Kind(),
    "one stream": Kind(streams=1, events=2),
    "many streams": Kind(streams=30, events=40),
    "large memories": Kind(sizes=(4000, 1 << 20, 6 << 20), part=0.3),
}


@pytest.mark.parametrize("kind", list(_KINDS))
def test_calls(case: Case, kind: str) -> None:
    """Copies, launches, events, waits and blocks in any order, from several threads."""
    programs, steps = _QUICK if case.quick else _FULL
    for rng in case.rng().spawn(programs):
        DriverProgram(case, rng, _KINDS[kind]).run(steps)
