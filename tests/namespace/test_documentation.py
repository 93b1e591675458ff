"""What ``help`` says of the public functions, and what they say of an operand that is no array."""

from __future__ import annotations

import re

import phalanx as px
import pytest

FUNCTIONS = {
    name: found
    for name in px.__all__
    if callable(found := getattr(px, name)) and not isinstance(found, type)
}
HOOKS = {"hookimpl", "hookspec"}  # pluggy's
TAKE_ARRAYS = (
    *("argmax", "argsort", "cumulative_sum", "empty_like", "exp", "flip", "matrix_transpose"),
    *(
        "mean",
        "nonzero",
        "ones_like",
        "reshape",
        "sort",
        "sum",
        "take",
        "tril",
        "triu",
        "unique_all",
    ),
    *("unique_all", "unstack", "var", "zeros_like"),
)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - HOOKS))
def test_first_paragraph_is_a_sentence(name: str) -> None:
    lines = [line.strip() for line in (FUNCTIONS[name].__doc__ or "").splitlines()]
    if lines and lines[0].startswith(f"{name}("):  # the signature that Cython puts there
        lines = lines[1:]
    first = " ".join(lines).strip().partition("  ")[0]
    assert re.match(r"[A-Z].*[.:]$", first), first


@pytest.mark.parametrize("name", TAKE_ARRAYS)
def test_text_is_no_array(name: str) -> None:
    more = {"reshape": ((1,),), "take": (px.asarray([0]),)}.get(name, ())
    with pytest.raises(TypeError, match=rf"{name}.* takes a phalanx array.*got str"):
        FUNCTIONS[name]("text", *more)
