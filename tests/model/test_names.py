"""The transitions of the model have the names of the functions that do them in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.protocol import Protocol

CORE = Path(__file__).parents[2] / "core"
#: Transitions that the code has under the same name.
NAMES = (
    "depend", "order", "mark", "marked", "wait", "waited", "begin", "publish", "refuse",
    "enter", "leave", "finish", "finished", "poll", "ask", "passed", "answered",
    "attach", "close", "settle", "end", "forget", "take_id", "return_id",
    "release", "park", "reap", "hand_out", "add_segment",
    "trim", "take_segments", "give_segments", "take_free", "adopt", "finish_all",
)  # fmt: skip


@pytest.fixture(scope="module")
def functions() -> set[str]:
    """The names of all functions in the Cython parts."""
    texts = [path.read_text() for path in sorted(CORE.glob("_warm_*.pxi"))]
    return set(re.findall(r"^ *(?:c?p?def)\b[^(\n]*?\b_?(\w+)\(", "\n".join(texts), re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_a_transition_is_a_function_of_the_code(name: str, functions: set[str]) -> None:
    assert callable(getattr(Protocol, name)), f"the model has no {name}"
    assert name in functions, f"no function {name} in core/_warm_*.pxi"
