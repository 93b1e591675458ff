"""Docstrings and signatures of the functions that the op table makes."""

from __future__ import annotations

import inspect

from .optable import Op, Structure


def function_signature(row: Op) -> inspect.Signature:
    """Return ``(x, /)`` or ``(x1, x2, /)``."""
    names = ("x",) if row.arity == 1 else ("x1", "x2")
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def function_doc(row: Op) -> str:
    """Return the docstring of an elementwise function."""
    dtypes = sorted({s.inputs[row.key] for s in row.signatures}, key=_order)
    lines = [
        f"{row.summary[0].upper()}{row.summary[1:]}.",
        "",
        f"Dtypes: {', '.join(dtypes)}.",
    ]
    if row.structure is Structure.ELEMENTWISE and row.arity == 2:
        lines.append("The operands broadcast and are promoted; one may be a Python number.")
    if row.special:
        lines.append(f"Special values: {row.special}.")
    if row.bound.ulp:
        bounds = sorted({(v, k) for k, v in row.bound.ulp.items()})
        text = ", ".join(f"{name} {value:g}" for value, name in bounds)
        lines.append(f"Largest error in ulp: {text} ({row.bound.source}).")
    return "\n".join(lines)


def _order(name: str) -> int:
    from .optable import ALL

    return ALL.index(name)
