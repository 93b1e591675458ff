"""A row of the op table in words, for docstrings and for the pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from .dtypes import ALL, kind_of
from .row import Op, Role

_GROUPS: dict[tuple[str, ...], str] = {
    ("b", "i", "u", "f", "c"): "all",
    ("i", "u", "f", "c"): "numeric",
    ("b", "i", "u", "f"): "real and bool",
    ("i", "u", "f"): "real",
    ("b", "i", "u"): "integer and bool",
    ("i", "u"): "integer",
    ("f", "c"): "floating and complex",
    ("b",): "bool",
    ("i",): "signed",
    ("u",): "unsigned",
    ("f",): "floating",
    ("c",): "complex",
}
_KINDS = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}


def group_name(dtypes: Iterable[str]) -> str:
    """Return the shortest name for a set of dtypes: that of its kinds, or the dtypes themselves."""
    present = list(dict.fromkeys(dtypes))
    kinds = tuple(k for k in _KINDS if any(kind_of(d) == k for d in present))
    complete = {d for d in ALL if kind_of(d) in kinds}
    if complete == set(present):
        return _GROUPS[kinds]
    return ", ".join(present)


def takes(op: Op) -> str:
    """Return the operands: the groups of dtypes of those that vary, by name for the fixed ones."""
    columns = list(zip(*(s.inputs for s in op.signatures), strict=True))
    words = []
    for column in columns:
        fixed = len(set(column)) == 1 and len(op.signatures) > 1
        words.append(column[0] if fixed else group_name(column))
    return words[0] if len(set(words)) == 1 else "; ".join(words)


def gives(op: Op) -> str:
    """Return the dtype of the result, "same" for that of the operands, per kind if they differ."""
    if Role.CONVERTED in op.roles:
        return "any other dtype"
    varies = [i for i in range(op.arity) if len({s.inputs[i] for s in op.signatures}) > 1]
    key = varies[0] if varies else 0
    results = {s.outputs[0] for s in op.signatures}
    if len(results) == 1:
        return next(iter(results))
    by_kind: dict[str, dict[str, None]] = {}
    for signature in op.signatures:
        source, result = signature.inputs[key], signature.outputs[0]
        word = "same" if source == result else result
        by_kind.setdefault(kind_of(source), {})[word] = None
    answers: dict[str, list[str]] = {}
    for kind, found in by_kind.items():
        words = [word for word in found if word != "same" or len(found) == 1]
        answers.setdefault(" or ".join(words), []).append(kind)
    if len(answers) == 1:
        return next(iter(answers))
    parts = []
    for answer, kinds in answers.items():
        group = _GROUPS.get(tuple(kinds)) or ", ".join(_KINDS[kind] for kind in kinds)
        parts.append(f"{group}: {answer}")
    return "; ".join(parts)


def error(op: Op) -> str:
    """Return the error bound in ulp with the dtypes that share it, or why there is none."""
    if not op.bound.ulp:
        return op.bound.source.partition(":")[0]
    shared: dict[float, list[str]] = {}
    for dtype, ulp in op.bound.ulp.items():
        if any(dtype in s.dtypes for s in op.signatures):
            shared.setdefault(ulp, []).append(dtype)
    if len(shared) == 1:
        return f"{next(iter(shared)):g}"
    return "; ".join(f"{ulp:g}: {', '.join(dtypes)}" for ulp, dtypes in shared.items())
