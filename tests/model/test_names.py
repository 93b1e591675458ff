"""The transitions of the model have the names of the functions that do them in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from model.protocol import Protocol

CORE = Path(__file__).parents[2] / "core"
#: The transitions of the model, and the functions that do them. Where the model has two steps
#: for one function, the driver is called between them: other threads run there.
NAMES = {
    "order": "depend_on",
    "depend": "depend",
    "mark": "mark",
    "marked": "record",
    "wait": "wait_mark",
    "waited": "wait_mark",
    "begin": "begin",
    "publish": "publish",
    "refuse": "refuse",
    "enter": "enter",
    "leave": "leave",
    "finish": "finish",
    "finished": "finish",
    "poll": "poll",
    "ask": "query",
    "answered": "query",
    "passed": "pass_to",
    "attach": "add_timeline",
    "take_id": "add_timeline",
    "close": "close",
    "settle": "leave",
    "end": "end",
    "forget": "end_dropped",
    "return_id": "forget_timeline",
    "release": "release",
    "park": "park",
    "reap": "reap_parked",
    "hand_out": "take",
    "add_segment": "add_segment",
    "trim": "trim",
    "take_segments": "take_segments",
    "give_segments": "give_segments",
    "take_free": "adopt",
    "adopt": "adopt",
    "finish_all": "finish_work",
}


@pytest.fixture(scope="module")
def functions() -> set[str]:
    """The names of all functions in the Cython parts, without the underscore of private ones."""
    texts = [path.read_text() for path in sorted(CORE.glob("warm/*.pxi"))]
    return set(re.findall(r"^ *(?:c?p?def)\b[^(\n]*?\b_?(\w+)\(", "\n".join(texts), re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_a_transition_is_a_function_of_the_code(name: str, functions: set[str]) -> None:
    assert callable(getattr(Protocol, name)), f"the model has no {name}"
    assert NAMES[name] in functions, f"no function {NAMES[name]} in core/warm/*.pxi"
