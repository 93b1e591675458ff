"""Kernels that a mode of `use_deterministic_algorithms` takes in place of those of no mode."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import phalanx as px
import pytest
from phalanx.conformance.calls import calls
from phalanx.conformance.case import Case
from phalanx.conformance.groups.determinism.same import PROMISES, class_of, same
from phalanx.conformance.groups.ops.elementwise_check import Check as ElementwiseCheck
from phalanx.conformance.groups.ops.elementwise_data import data_of
from phalanx.conformance.groups.ops.structured_check import Check
from phalanx.conformance.groups.ops.test_elementwise import (
    all_values,
    broadcast_operands,
    in_place,
    layouts,
    numbers,
)
from phalanx.conformance.groups.ops.test_reduction import specials
from phalanx.conformance.overloads import Overload, overloads
from phalanx.optable import Structure

_REPEATS = 20
#: Structures whose references take the params of a launch as they are.
_CHECKED = (
    *(Structure.REDUCTION, Structure.SCAN, Structure.SORT, Structure.ROW, Structure.SEARCH),
    Structure.CONTRACTION,
)


@contextmanager
def _mode(mode: str) -> Iterator[None]:
    former = px.use_deterministic_algorithms(mode)
    try:
        yield
    finally:
        px.use_deterministic_algorithms(former)


def _others(case: Case, overload: Overload) -> set[str]:
    """Return the classes of kernels that do not serve where no mode is in force."""
    found = px.kernels(overload.op, case.device)
    classes = {kernel.determinism for kernel in found if kernel.dtypes == overload.dtypes}
    return classes & set(PROMISES) - {class_of(case, overload)}


@pytest.mark.parametrize("structure", Structure, ids=lambda structure: structure.name.lower())
def test_other_kernels(case: Case, structure: Structure) -> None:
    """They are right, special values included, and give the same bits again and again."""
    found = 0
    for overload in overloads(structure):
        for mode in _others(case, overload):
            found += 1
            with _mode(mode):
                _check(case, overload)
    if not found:
        pytest.skip("no mode takes another kernel")
    case.finish()


def _check(case: Case, overload: Overload) -> None:
    rng, structure = case.rng(str(overload)), overload.row.structure
    if structure is Structure.ELEMENTWISE:
        check = ElementwiseCheck(case, overload, data_of(overload, rng, case.quick, case.flushes))
        all_values(check)
        for arrange in (layouts, in_place, broadcast_operands, numbers):
            arrange(check, rng)
    if structure is Structure.REDUCTION:
        specials(Check(case, overload))
    for call in calls(overload, rng, quick=True):
        if structure in _CHECKED:
            Check(case, overload).run("another kernel", call.inputs, call.params)
        run = call.prepare(case.device)
        first = run()
        for number in range(1, _REPEATS):
            same(case, call, first, run(), f"another kernel of {overload}, run {number + 1}")
            case.checks += 1
