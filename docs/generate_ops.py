"""Writes docs/op-table.md from the op table: ``python docs/generate_ops.py [--check]``.

Standard library only, and no import of ``phalanx``: works in a clone that was not built.
``--check`` writes nothing and ends with 1 if the page is not current.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE / "op-table.md"

_HEAD = """\
# The op table

This page is written by `docs/generate_ops.py` from `core/optable`; do not edit it.
[ops.md](ops.md) explains the structures, the orders of evaluation and the classes.

- *Takes* names the dtypes of the operands. *signed*, *unsigned*, *floating* (float16, bfloat16,
  float32, float64) and *complex* are groups; *integer* is signed and unsigned, *real* is integer
  and floating, *numeric* is real and complex, *all* is numeric and bool. The operands of one group
  share one dtype: the public functions promote before.
- *Gives* names the dtype of the result; *same* is that of the operands.
- *Error* is the largest error in ulp of the result: 0.5 is correctly rounded.
- Every op of this table is of class `bitwise` unless a row says otherwise.
"""

_NAMES: dict[tuple[str, ...], str] = {
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
_WORDS = {"b": "bool", "i": "signed", "u": "unsigned", "f": "floating", "c": "complex"}


def load_optable() -> ModuleType:
    """Import ``core/optable`` by path, under a name of its own."""
    folder = HERE.parent / "core" / "optable"
    name = "phalanx_docs_optable"
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"no op table at {folder}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def group_name(dtypes: Iterable[str], table: ModuleType) -> str:
    """Return the shortest name for a set of dtypes: that of its kinds, or the dtypes themselves."""
    present = list(dict.fromkeys(dtypes))
    kinds = tuple(k for k in _WORDS if any(table.kind_of(d) == k for d in present))
    complete = {d for d in table.ALL if table.kind_of(d) in kinds}
    if complete == set(present):
        return _NAMES[kinds]
    return ", ".join(present)


def takes(op: Any, table: ModuleType) -> str:
    """Return the operands: the groups of dtypes of those that vary, by name for the fixed ones."""
    columns = list(zip(*(s.inputs for s in op.signatures), strict=True))
    words = []
    for column in columns:
        fixed = len(set(column)) == 1 and len(op.signatures) > 1
        words.append(column[0] if fixed else group_name(column, table))
    return words[0] if len(set(words)) == 1 else "; ".join(words)


def gives(op: Any, table: ModuleType) -> str:
    """Return the dtype of the result, per kind where they differ."""
    varies = [i for i in range(op.arity) if len({s.inputs[i] for s in op.signatures}) > 1]
    key = varies[0] if varies else 0
    if op.name == "cast":
        return "any other dtype"
    results = {s.outputs[0] for s in op.signatures}
    if len(results) == 1:
        return str(next(iter(results)))
    by_kind: dict[str, dict[str, None]] = {}
    for signature in op.signatures:
        source, result = signature.inputs[key], signature.outputs[0]
        word = "same" if source == result else result
        by_kind.setdefault(table.kind_of(source), {})[word] = None
    answers: dict[str, list[str]] = {}
    for kind, found in by_kind.items():
        words = [word for word in found if word != "same" or len(found) == 1]
        answers.setdefault(" or ".join(words), []).append(kind)
    if len(answers) == 1:
        return next(iter(answers))
    parts = []
    for answer, kinds in answers.items():
        group = _NAMES.get(tuple(kinds)) or ", ".join(_WORDS[kind] for kind in kinds)
        parts.append(f"{group}: {answer}")
    return "; ".join(parts)


def error(op: Any) -> str:
    """Return the error bound with the dtypes that share it."""
    if not op.bound.ulp:
        return str(op.bound.source.partition(":")[0])
    shared: dict[float, list[str]] = {}
    for dtype, ulp in op.bound.ulp.items():
        if any(dtype in s.dtypes for s in op.signatures):
            shared.setdefault(ulp, []).append(dtype)
    if len(shared) == 1:
        return f"{next(iter(shared)):g}"
    return "; ".join(f"{ulp:g}: {', '.join(dtypes)}" for ulp, dtypes in shared.items())


def notes(op: Any) -> str:
    """Return what else the row states."""
    parts = [op.special, f"order: {op.order}" if op.order else ""]
    if op.decomposition:
        parts.append("decomposes into other ops where a device has no kernel")
    if op.determinism != "bitwise":
        parts.append(f"class {op.determinism}")
    return "; ".join(part for part in parts if part)


def page(table: ModuleType) -> str:
    """Return the text of the page."""
    overloads = sum(len(op.signatures) for op in table.OPS.values())
    lines = [_HEAD, f"{len(table.OPS)} ops, {overloads} overloads.", ""]
    for structure in table.Structure:
        ops = [op for op in table.OPS.values() if op.structure == structure]
        lines += [f"## {structure.value}", "", "| op | meaning | takes | gives | error | notes |"]
        lines.append("|---|---|---|---|---|---|")
        for op in ops:
            cells = (
                f"`{op.name}`",
                op.summary,
                takes(op, table),
                gives(op, table),
                error(op),
                notes(op),
            )
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    sources = dict.fromkeys(op.bound.source for op in table.OPS.values())
    lines += ["## Where the error bounds come from", "", *(f"- {source}" for source in sources)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if the page is old")
    options = parser.parse_args()
    text = page(load_optable())
    if not options.check:
        PAGE.write_text(text, "utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text("utf-8") == text:
        return 0
    print("docs/op-table.md is not current: run python docs/generate_ops.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
