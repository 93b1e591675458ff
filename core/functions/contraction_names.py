"""The names of axes that einsum is given: what they tell of the operands and of the result."""

from __future__ import annotations

import string
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from phalanx._warm import Array
from phalanx.arrays.checks import need_array, need_int

_LETTERS = set(string.ascii_letters)


def parsed(operands: tuple[Any, ...]) -> tuple[str, list[Array]]:
    """The names as a text, and the arrays."""
    if not operands:
        raise ValueError('einsum takes names and arrays, such as einsum("ij,jk->ik", a, b)')
    if isinstance(operands[0], str):
        names, arrays = operands[0].replace(" ", ""), list(operands[1:])
    else:
        names, arrays = _from_numbers(operands)
    for a in arrays:
        need_array(a, "einsum")
    if not arrays:
        raise ValueError(f"einsum: no arrays for {names!r}")
    return names, arrays


def _from_numbers(operands: tuple[Any, ...]) -> tuple[str, list[Array]]:
    """Arrays and the numbers of their axes in turn."""
    items = list(operands)
    arrays, terms = items[0 : len(items) // 2 * 2 : 2], items[1::2]
    texts = [_letters(t) for t in terms]
    names = ",".join(texts)
    if len(items) % 2:
        names += "->" + _letters(items[-1])
    return names, arrays


def _letters(numbers: Any) -> str:
    if isinstance(numbers, str | Array) or not isinstance(numbers, Sequence):
        raise TypeError(
            "einsum takes a text and arrays, or each array followed by a list of the numbers of "
            f"its axes, got {type(numbers).__name__}"
        )
    text = ""
    for n in numbers:
        if n is Ellipsis:
            text += "..."
            continue
        number = need_int(n, "einsum: the number of an axis")
        if not 0 <= number < len(string.ascii_letters):
            raise ValueError(
                f"einsum: numbers of axes are from 0 to {len(string.ascii_letters) - 1}, got {n}"
            )
        text += string.ascii_letters[number]
    return text


class Told(NamedTuple):
    """What the names tell: those of each operand, the same each once, of the result, extents."""

    inputs: list[str]
    kept: list[str]
    output: str
    sizes: dict[str, int]


@lru_cache(maxsize=256)
def read(names: str, shapes: tuple[tuple[int, ...], ...]) -> Told:
    """Return what the names tell of operands of these shapes.

    Raises:
        ValueError: names that do not fit each other or the shapes.
    """
    odd = set(names) - _LETTERS - set(".,->")
    if odd:
        raise ValueError(f"einsum: names of axes are letters, got {min(odd)!r} in {names!r}")
    if (
        names.count("->") > 1
        or names.replace("->", "").count("-")
        or ">" in names.replace("->", "")
    ):
        raise ValueError(f'einsum: names are "inputs" or "inputs->output", got {names!r}')
    inputs, output = _expanded(names, shapes)
    kept = ["".join(dict.fromkeys(n)) for n in inputs]
    sizes = _sizes(kept, [without_repeats(s, n) for s, n in zip(shapes, inputs, strict=True)])
    missing = [n for n in output if n not in sizes]
    if missing:
        raise ValueError(
            f"einsum: the result has {missing[0]!r}, which no operand has, in {names!r}"
        )
    return Told(inputs, kept, output, sizes)


def _expanded(names: str, shapes: tuple[tuple[int, ...], ...]) -> tuple[list[str], str]:
    """The names of each operand and of the result, with ``...`` written out as unused ones."""
    left, arrow, output = names.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(f"einsum: {names!r} is for {len(terms)} operands, got {len(shapes)}")
    unused = [n for n in string.ascii_letters if n not in names]
    unused += [chr(i) for i in range(192, 448)]
    inputs, longest = [], 0
    for term, shape in zip(terms, shapes, strict=True):
        letters = term.replace("...", "", 1)
        if "." in letters:
            raise ValueError(f"einsum: {term!r} has more than one ..., or parts of it")
        more = len(shape) - len(letters)
        if more < 0 or (more and "..." not in term):
            raise ValueError(
                f"einsum: {term!r} names {len(letters)} axes, the operand has shape {shape}"
            )
        longest = max(longest, more if "..." in term else 0)
        inputs.append((term, more))
    rest = "".join(unused[:longest])
    written = [t.replace("...", rest[longest - more :] if more else "") for t, more in inputs]
    if not arrow:
        whole = "".join(t.replace("...", "") for t in terms)
        output = rest + "".join(n for n in sorted(set(whole)) if whole.count(n) == 1)
        return written, output
    letters = output.replace("...", "", 1)
    if "." in letters or "," in letters:
        raise ValueError(f"einsum: the result is one term, got {output!r}")
    repeated = [n for n in letters if letters.count(n) > 1]
    if repeated:
        raise ValueError(f"einsum: the result names {repeated[0]!r} twice in {names!r}")
    if rest and "..." not in output:
        raise ValueError(f"einsum: {names!r} has ... in an operand, and not in the result")
    return written, output.replace("...", rest)


def _sizes(names: list[str], shapes: list[tuple[int, ...]]) -> dict[str, int]:
    """The extent of each name; 1 broadcasts."""
    sizes: dict[str, int] = {}
    for term, shape in zip(names, shapes, strict=True):
        for name, extent in zip(term, shape, strict=True):
            have = sizes.setdefault(name, extent)
            if have == 1:
                sizes[name] = extent
            elif extent not in (1, have):
                raise ValueError(
                    f"einsum: the axes of name {name!r} have the extents {have} and {extent}"
                )
    return sizes


def without_repeats(shape: tuple[int, ...], names: str) -> tuple[int, ...]:
    """The shape with each name once: of a diagonal, of axes that have its extent or 1."""
    kept = []
    for name in dict.fromkeys(names):
        extents = {e for e, n in zip(shape, names, strict=True) if n == name and e != 1}
        if len(extents) > 1:
            a, b = sorted(extents)
            raise ValueError(f"einsum: {name!r} twice takes a diagonal of extents {a} and {b}")
        kept.append(extents.pop() if extents else 1)
    return tuple(kept)
