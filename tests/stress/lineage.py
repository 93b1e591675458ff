"""How a value came to be: the part of a program that a wrong value depends on."""

from __future__ import annotations

from .program import Program, Step
from .semantics import WRITING

_WRITES = (*WRITING, "host_write", "export_keep")


def lineage(program: Program, last: Step) -> list[Step]:
    """Return the steps up to ``last`` that made or changed what it uses, in their order."""
    roots: dict[int, int] = {}
    for step in program.steps:
        if step.out >= 0:
            viewed = step.kind == "view"
            roots[step.out] = roots[step.inputs[0]] if viewed else roots.get(step.out, step.out)
    wanted = {roots[n] for n in last.inputs}
    found = [last]
    for step in reversed(program.steps[: program.steps.index(last)]):
        makes = step.out >= 0 and roots[step.out] in wanted
        writes = step.kind in _WRITES and bool(step.inputs) and roots[step.inputs[0]] in wanted
        gives = step.kind in ("send", "share") and roots[step.inputs[0]] in wanted
        if makes or writes or gives:
            wanted.update(roots[n] for n in step.inputs)
            found.append(step)
    return found[::-1]
