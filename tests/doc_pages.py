"""Reads the documentation: its blocks of code, its links, its headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").glob("*.md")),
)

_FENCE = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?"
    r"^```(?P<language>\w*)\n(?P<text>.*?)^```$"
    r"(?:\n+```text\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """One block of code. ``line`` counts the lines of the page before its text.

    ``output`` is what the block is said to print: the ``text`` block behind it, None if there is
    none. ``file`` is the name under which the reader saves it.
    """

    page: str
    line: int
    language: str
    text: str
    output: str | None
    file: str


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page in order."""
    content = page.read_text("utf-8")
    found = []
    for match in _FENCE.finditer(content):
        line = content.count("\n", 0, match.start("text"))
        output = match["output"]
        if match["language"] == "console":
            output = match["text"]
        found.append(
            Block(page.name, line, match["language"], match["text"], output, match["file"] or "")
        )
    return found


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", page.read_text("utf-8"))


def links(page: Path) -> list[str]:
    """Return the targets of a page's links that lead into this repository."""
    targets = _LINK.findall(prose(page))
    return [t for t in targets if not re.match(r"[a-z]+:", t)]


def headings(page: Path) -> list[str]:
    """Return the texts of a page's headings."""
    return re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def insertions(diff: str) -> tuple[str, str, str]:
    """Return path, anchor lines and added lines of a ``diff`` block that only adds lines."""
    lines = diff.splitlines()
    path = lines[0].removeprefix("+++ ")
    body = lines[1:]
    assert all(line[:1] in (" ", "+") for line in body), diff
    first = next(i for i, line in enumerate(body) if line.startswith("+"))
    before = "".join(f"{line[1:]}\n" for line in body[:first])
    added = "".join(f"{line[1:]}\n" for line in body[first:] if line.startswith("+"))
    return path, before, added
