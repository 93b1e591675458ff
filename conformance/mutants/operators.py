"""The small changes that make a mutant of a line of a kernel's text, each with a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

Change = Callable[[str], Iterator[str]]

_WORDS = (
    *(("max", "min"), ("fmax", "fmin"), ("rows", "columns"), ("rows", "cols"), ("row", "column")),
    *(("shape", "stride"), ("sm", "sn"), ("xs", "ys"), ("hi", "lo"), ("re", "im"), ("m", "n")),
    *(("PHX_LOCAL_ID", "PHX_GROUP_ID"), ("phx_floor", "phx_ceil"), ("phx_floorf", "phx_ceilf")),
)
_NARROW = {"u64": "u32", "i64": "i32", "size_t": "u32", "long": "int", "f64": "f32"}
_TYPES = r"[ui](?:8|16|32|64)|f(?:16|32|64)|size_t|place|int|A|T|U"
_FLOAT = re.compile(r"(?<![\w.])(0x[\da-f.]+p[+-]?\d+|\d+\.\d*(?:e[+-]?\d+)?)(f?)(?![\w.])", re.I)
_HEX = re.compile(r"(?<![\w.])0x([\da-f]{8,16})(?=[uUlL]*(?![\w.]))", re.I)
_WHOLE = re.compile(r"(?<![\w.])(\d{1,9})(?=[uUlL]*(?![\w.]))")
_STATEMENT = re.compile(r"^(\s*)[\w.\->\[\]()+* ]*?\S\s*(?:[-+*|&^]|<<|>>)?=(?!=)[^=].*;$")
_DECLARATION = re.compile(
    r"^\s*(?:(?:const|PHX_\w+|__\w+)\s+)*[A-Za-z_]\w*\s+\**\s*[A-Za-z_]\w*[\s=\[,]"
)
_CALL = re.compile(r"^(\s*)(?:PHX_BARRIER\w*|PHX_SYNC\w*|barrier|mem_fence)\s*\(.*\);$")


def _each(line: str, pattern: str, new: str | Callable[[re.Match[str]], str]) -> Iterator[str]:
    """Yield the line with each match of a pattern in turn exchanged."""
    for found in re.finditer(pattern, line):
        text = new if isinstance(new, str) else new(found)
        yield line[: found.start()] + text + line[found.end() :]


def _compare(line: str) -> Iterator[str]:
    """The end of a range belongs to it, or no longer does."""
    yield from _each(line, r"(?<= )([<>])(?= )", lambda m: m[1] + "=")
    yield from _each(line, r"(?<= )([<>])=(?= )", lambda m: m[1])


def _equal(line: str) -> Iterator[str]:
    """Equal is not equal."""
    yield from _each(line, r"(?<= )([=!])=(?= )", lambda m: {"=": "!=", "!": "=="}[m[1]])


def _sum(line: str) -> Iterator[str]:
    """A sum is a difference."""
    yield from _each(line, r"(?<= )([+-])(=?)(?= )", lambda m: {"+": "-", "-": "+"}[m[1]] + m[2])


def _product(line: str) -> Iterator[str]:
    """A product is a sum, a quotient or a rest something else."""
    yield from _each(line, r"(?<=[\w)\]] )([*/%])(?= [\w(])", lambda m: {"%": "/"}.get(m[1], "+"))


def _logic(line: str) -> Iterator[str]:
    """And is or."""
    swap = {"&&": "||", "||": "&&", "&": "|", "|": "&"}
    yield from _each(line, r"(?<= )(&&|\|\||&|\|)(?= )", lambda m: swap[m[1]])


def _shift(line: str) -> Iterator[str]:
    """A shift goes the other way."""
    yield from _each(line, r"<<|>>", lambda m: {"<<": ">>", ">>": "<<"}[m[0]])


def _constant(line: str) -> Iterator[str]:
    """A whole number is one more or one less."""
    for step in (1, -1):
        yield from _each(
            line,
            _WHOLE.pattern,
            lambda m, step=step: str(abs(int(m[1]) + step)),  # type: ignore[misc]
        )


def _ulp(line: str) -> Iterator[str]:
    """A number of a table or a polynomial is the next one."""
    for found in _FLOAT.finditer(line):
        dtype = np.float32 if found[2] else np.float64
        text = found[1]
        value = dtype(float.fromhex(text) if text.lower().startswith("0x") else float(text))
        if value == 0:
            continue  # what follows is compared with numbers that are far from it
        following = float(np.nextafter(value, dtype(np.inf)))
        yield line[: found.start()] + f"{following!r}{found[2]}" + line[found.end() :]
    yield from _each(line, _HEX.pattern, lambda m: f"0x{int(m[1], 16) ^ 1:0{len(m[1])}x}")


def _narrow(line: str) -> Iterator[str]:
    """A counter, a place or a number has half the bits."""
    yield from _each(line, rf"\b(?:{'|'.join(_NARROW)})\b", lambda m: _NARROW[m[0]])


def _branch(line: str) -> Iterator[str]:
    """A special case is never taken."""
    yield from _each(line, r" \? ", " && 0 ? ")
    for found in re.finditer(r"\b(?:if|while) \(", line):
        depth, end = 1, found.end()
        while end < len(line) and depth:
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            end += 1
        if not depth:
            yield line[: found.end()] + "0" + line[end - 1 :]


def _swap(line: str) -> Iterator[str]:
    """Another of two names that belong together: an extent, a stride, a part, a bound."""
    for one, other in _WORDS:
        for a, b in ((one, other), (other, one)):
            yield from _each(line, rf"\b{a}\b", b)


def _drop(line: str) -> Iterator[str]:
    """A statement is left out: a carry, an update, a store, a barrier."""
    found = _CALL.match(line) or (not _DECLARATION.match(line) and _STATEMENT.match(line))
    if found and "{" not in line and not line.lstrip().startswith(("for", "return", "else")):
        yield found[1] + ";"


def _cast(line: str) -> Iterator[str]:
    """A number keeps its type where another was asked for."""
    for found in re.finditer(rf"\(({_TYPES})\)(?=[\w(~-])", line):
        before = line[: found.start()]
        # An assignment converts by itself.
        if not before.endswith("] = ") and not re.search(rf"\b{found[1]} \w+ = $", before):
            yield before + line[found.end() :]


def _negation(line: str) -> Iterator[str]:
    """A sign or a negation is lost."""
    yield from _each(line, r"(?<=[ (])[!~-](?=[\w(])", "")


OPERATORS: dict[str, Change] = {
    **{"compare": _compare, "equal": _equal, "sum": _sum, "product": _product, "logic": _logic},
    **{"shift": _shift, "constant": _constant, "ulp": _ulp, "narrow": _narrow, "swap": _swap},
    **{"branch": _branch, "drop": _drop, "cast": _cast, "negation": _negation},
}


@cache
def changes(line: str) -> tuple[tuple[str, str], ...]:
    """Return the operator and the changed line, for each change that a line of code can have.

    Comments and directives other than definitions have none; a comment behind code stays.
    """
    if line.lstrip().startswith(("/*", "*", "//", "#")) and not line.startswith("#define"):
        return ()
    code = line.partition("/*")[0].rstrip()
    rest = line[len(code) :]
    define = re.match(r"#define \w+(?:\([^)]*\))?", code)
    head = define[0] if define else ""
    seen = {code}
    found = []
    for name, change in OPERATORS.items():
        for new in change(code[len(head) :]):
            if head + new not in seen:
                seen.add(head + new)
                found.append((name, head + new + rest))
    return tuple(found)
