"""docs/functions.md names each function beyond the standard, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import phalanx as px

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "functions.md"


def test_page_lists_the_functions() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")][1:]
    named = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(px.functions.__all__)
    assert len(set(named)) == len(named)
