"""The protocol holds in every state of every program."""

from __future__ import annotations

import pytest

from model.programs import PROGRAMS
from model.protocol import Protocol
from model.search import Model, explore


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_protocol_holds_in_every_state(name: str) -> None:
    result = explore(Model(PROGRAMS[name], Protocol()))
    assert not result.violation, "\n".join(result.trace)
    assert result.states > 20  # the program did something
