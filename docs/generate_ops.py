"""Writes docs/op-table.md from the op table: ``python docs/generate_ops.py [--check]``.

Standard library only, and no import of ``phalanx``: works in a clone that was not built.
``--check`` writes nothing and ends with 1 if the page is not current.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from importlib import import_module
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


_PRIMITIVES = """\
A device without a kernel for an op computes it by others, as far down as these, with the same
bits: [add-a-plugin.md](add-a-plugin.md#few-kernels-are-enough). The functions whose float32
results come from float64 need it: a device without fp64 has kernels of its own for them."""


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
    import_module(f"{name}.words")
    return module


def notes(op: Any) -> str:
    """Return what else the row states."""
    parts = [op.special, f"order: {op.order}" if op.order else ""]
    if op.determinism != "bitwise":
        parts.append(f"class {op.determinism}")
    return "; ".join(part for part in parts if part)


def primitives(table: ModuleType) -> list[str]:
    """Return the lines about what the other ops are made of."""
    lines = ["## Primitives", "", *_PRIMITIVES.splitlines(), "", "| op | operands |", "|---|---|"]
    groups: dict[tuple[str, ...], list[str]] = {}
    for op, dtypes in table.PRIMITIVES.items():
        groups.setdefault(dtypes, []).append(f"`{op}`")
    lines += [f"| {', '.join(ops)} | {', '.join(dtypes)} |" for dtypes, ops in groups.items()]
    pairs = ", ".join(f"{a} to {b}" for a, b in table.PRIMITIVE_CASTS)
    lines += [f"| `cast` | {pairs} |", ""]
    whole = ", ".join(f"`{op}`" for op in table.WHOLE)
    return [*lines, f"These have no decomposition, and no level requires them: {whole}.", ""]


def page(table: ModuleType) -> str:
    """Return the text of the page."""
    words = table.words
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
                words.takes(op),
                words.gives(op),
                words.error(op),
                notes(op),
            )
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines.append("")
    sources = dict.fromkeys(op.bound.source for op in table.OPS.values())
    lines += primitives(table)
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
