"""Programs of several threads with streams: each kind of part for itself, then all at random."""

from __future__ import annotations

import pytest
from phalanx.conformance.case import Case

from .crew import Crew
from .parts import AUTOMATIC, MANUAL

_ROUNDS = {True: 2, False: 12}


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("part", [*AUTOMATIC, *MANUAL])
def test_threads(case: Case, part: str, threads: int) -> None:
    """All threads do the same kind of thing, again and again."""
    crew = Crew(case, threads, manual=part in MANUAL)
    crew.run([{**AUTOMATIC, **MANUAL}[part]] * _ROUNDS[case.quick])


@pytest.mark.parametrize("threads", [2, 8])
@pytest.mark.parametrize("order", ["auto", "manual"])
def test_mixed_threads(case: Case, order: str, threads: int) -> None:
    """All threads do one thing after another, in a random order."""
    parts = AUTOMATIC if order == "auto" else MANUAL
    chosen = case.rng().choice(sorted(parts), 3 * _ROUNDS[case.quick])
    Crew(case, threads, manual=order == "manual").run([parts[name] for name in chosen])
