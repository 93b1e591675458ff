"""Docstrings and signatures of the functions that the op table makes."""

from __future__ import annotations

import inspect
import textwrap

from phalanx.optable import INTEGER, Op
from phalanx.optable.words import error, gives, takes

from .examples import EXAMPLES


def function_signature(row: Op) -> inspect.Signature:
    """Return ``(x, /)`` or ``(x1, x2, /)``."""
    names = ("x",) if row.arity == 1 else ("x1", "x2")
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def function_doc(row: Op) -> str:
    """Return the docstring of an elementwise function."""
    first = f"Return {row.summary}, element by element."
    rules = " ".join((_operands(row), _result(row)))
    facts = [rules, f"Special values: {row.special}." if row.special else "", _accuracy(row)]
    paragraphs = [first, "", *(line for fact in facts for line in textwrap.wrap(fact, 96))]
    return "\n".join((*paragraphs, "", *_raises(row), *_examples(row)))


def _operands(row: Op) -> str:
    """Which dtypes, and what becomes of two operands."""
    dtypes = {s.inputs[row.key] for s in row.signatures}
    text = f"The dtypes are {takes(row)}"
    if "float64" in dtypes and not dtypes & set(INTEGER):
        text += "; integers are converted to the default float"
    if row.arity == 2:
        text += ". The operands broadcast and are promoted; one may be a Python number"
    return text + "."


def _result(row: Op) -> str:
    dtype = gives(row)
    if row.name in ("real", "imag"):
        return f"That of complex numbers is a view of theirs. The dtype is {dtype}."
    if dtype == "same":
        return f"The result has {'that dtype' if row.arity == 1 else 'their common dtype'}."
    if ":" not in dtype:
        return f"The result is {dtype}."
    return f"The dtype of the result is, for operands that are {dtype}."


def _accuracy(row: Op) -> str:
    if not row.bound.ulp:
        return "The result is exact."
    return f"The largest error in ulp is {error(row)} ({row.bound.source})."


def _raises(row: Op) -> list[str]:
    lines = ["Raises:"]
    if row.arity == 1:
        return [*lines, "    TypeError: the operand is no array, or of a dtype not named here."]
    return [
        *lines,
        "    TypeError: no operand is an array, or they have no common dtype of those named here.",
        "    ValueError: the shapes do not broadcast.",
        "    DeviceMismatchError: the operands lie on two devices.",
        "    OverflowError: a Python number is out of bounds for the dtype.",
    ]


def _examples(row: Op) -> list[str]:
    """The heading and the lines of the op's entry, none for an op that has none yet."""
    if row.name not in EXAMPLES:
        return []
    lines = textwrap.dedent(EXAMPLES[row.name]).strip().splitlines()
    return ["", "Examples:", *(f"    {line}" for line in lines)]
