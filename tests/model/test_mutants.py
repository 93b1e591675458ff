"""Each rule of the protocol is needed: without it the search finds what goes wrong."""

from __future__ import annotations

import pytest

from model.mutants import MUTANTS
from model.programs import PROGRAMS
from model.search import Model, explore


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found(name: str) -> None:
    mutant = MUTANTS[name]
    result = explore(Model(PROGRAMS[mutant.program], mutant.protocol()))
    assert result.broken == mutant.invariant, "\n".join(result.trace)


def test_a_trace_tells_the_way_to_the_fault() -> None:
    mutant = MUTANTS["TrimDoesNotWait"]
    trace = explore(Model(PROGRAMS[mutant.program], mutant.protocol())).trace
    assert trace[0].startswith("T1  launch(s1, (write A))")
    assert any("take_segments()" in line for line in trace)
    assert "=> I1:" in trace[-1]


def test_nearly_every_program_shows_a_fault() -> None:
    unused = set(PROGRAMS) - {mutant.program for mutant in MUTANTS.values()}
    assert unused <= {"dropped on the way", "adopt twice", "events"}
