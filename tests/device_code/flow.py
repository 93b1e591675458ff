"""The way through a kernel that has the fewest instructions of double: what most operands take."""

from __future__ import annotations

import heapq
import re
from typing import NamedTuple

_LINE = re.compile(
    r"^\.(?P<label>L_\w+):|"
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@(?P<predicate>!?U?P\w+)\s+)?"
    r"(?P<name>[A-Z][\w.]*)(?P<rest>[^;]*);",
    re.MULTILINE,
)
_DOUBLE = re.compile(r"D(?:ADD|FMA|MUL|SETP|MNMX)\b|(?:F2F|F2I|I2F|FRND|MUFU)\b.*64")
_TARGET = re.compile(r"`\(\.(L_\w+)\)")


class Way(NamedTuple):
    """Instructions from a kernel's begin to its first store: of double, and all."""

    double: int
    all: int


def shortest(body: str) -> Way:
    """Return the way with the fewest instructions of double, the shortest of these.

    A call counts as one instruction: none of the ways that matter has one.

    Raises:
        ValueError: nothing is stored.
    """
    names: list[str] = []
    jumps: list[tuple[str, bool]] = []  # the target, and whether the next instruction may follow
    labels: dict[str, int] = {}
    for line in _LINE.finditer(body):
        if line["label"]:
            labels[line["label"]] = len(names)
            continue
        name, rest = line["name"], line["rest"]
        target = _TARGET.search(rest) if name.startswith(("BRA", "JMP")) else None
        certain = not line["predicate"] and not re.match(r"\s*!?U?P\w+,", rest)
        names.append(f"{name} {rest}")
        jumps.append((target[1] if target else "", not (certain and (target or name == "EXIT"))))
    waiting, seen = [(Way(0, 0), 0)], set[int]()
    while waiting:
        way, at = heapq.heappop(waiting)
        if at in seen or at >= len(names):
            continue
        if names[at].startswith("STG"):
            return way
        seen.add(at)
        target, follows = jumps[at]
        way = Way(way.double + bool(_DOUBLE.match(names[at])), way.all + 1)
        for following in ([labels[target]] if target else []) + ([at + 1] if follows else []):
            heapq.heappush(waiting, (way, following))
    raise ValueError("nothing is stored")
