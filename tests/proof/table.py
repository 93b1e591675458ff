"""The table in docs/numerics.md: what has been proven, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .blocks import DTYPES, Subject
from .state import State

_BEGIN, _END = "<!-- proof: begin -->\n", "<!-- proof: end -->\n"


def markdown(state: State, device: str, functions: Iterable[str]) -> str:
    """Return a table with a row for each function: wrong results and inputs in doubt by dtype."""
    heads = [f"{dtype}: wrong | in doubt" for dtype in DTYPES]
    lines = [f"| function | {' | '.join(heads)} | date |", "|---" * (2 * len(DTYPES) + 2) + "|"]
    for function in functions:
        rows = [state.of(Subject(function, dtype, device)) for dtype in DTYPES]
        inputs = [Subject(function, dtype, device).inputs for dtype in DTYPES]
        if not any(row.checked for row in rows):
            continue
        cells = [
            f"{len(row.wrong):,} | {row.decided:,}" if row.checked == n else "not run | "
            for row, n in zip(rows, inputs, strict=True)
        ]
        date = max(row.date for row in rows)
        lines.append(f"| {function} | {' | '.join(cells)} | {date} |")
    return "\n".join(lines) + "\n"


def write(page: Path, table: str) -> None:
    """Put the table between the marks of a page.

    Raises:
        ValueError: the page has no marks.
    """
    text = page.read_text("utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{page} has no lines {_BEGIN.strip()} and {_END.strip()}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", "utf-8")
