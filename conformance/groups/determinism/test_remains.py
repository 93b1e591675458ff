"""Nothing remains of a launch but its result: neither its operands nor a way to compute."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import Call, calls
from phalanx.conformance.case import Case
from phalanx.conformance.groups.determinism.same import PROMISES, class_of, same
from phalanx.conformance.groups.determinism.test_circumstances import Run, circumstances
from phalanx.conformance.layouts import HostArray
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS
from phalanx.optable import Structure

#: Operands that have to be in an order, or roots of unity, and ops whose matrices are of a kind.
_FIXED = {Structure.SEARCH: (0,), Structure.FOURIER: (1,)}
_OF_A_KIND = (Structure.FACTORIZATION, Structure.GENERATION, Structure.RANDOM)
#: Ops on whose rounding, or on whose subnormal results, a mode of the arithmetic shows.
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "sqrt")


@pytest.mark.parametrize("overload", overloads(*Structure), ids=str)
def test_changed_operands(case: Case, overload: Overload) -> None:
    """Operands that change where they lie, but for their ends, are read anew."""
    structure = overload.row.structure
    if class_of(case, overload) not in PROMISES or structure in _OF_A_KIND:
        pytest.skip("the op has no such operands, or its kernel promises nothing")
    fixed = _FIXED.get(structure, (1,) if overload.op == "histogram" else ())
    for call in calls(overload, case.rng(), quick=True):
        for number, values in enumerate(call.inputs):
            changed = _changed(values)
            if number in fixed or changed is None or call.base is not None:
                continue
            other = call.with_operand(number, changed)
            run, operands = call.prepared(case.device)
            run()
            operands[number].replace(changed)
            again = run()
            same(case, other, other.prepare(case.device)(), again, f"operand {number} changed")
            case.checks += 1
    case.finish()


def _changed(values: HostArray) -> HostArray | None:
    """Return values whose first and last row, or element, are as before; None if there are few."""
    if values.ndim == 0 or values.shape[0] < 4:
        return None
    changed = values.copy()
    changed[1:-1] = np.roll(values[1:-1], 1, axis=0)
    return changed


def _probes(case: Case) -> list[tuple[Call, Run, HostArray]]:
    """Return launches with results of all sizes, subnormal ones too, and what they give first."""
    found = []
    for overload in overloads(Structure.ELEMENTWISE):
        name = overload.inputs[0]
        if overload.op not in _ARITHMETIC or name not in ("float32", "float64"):
            continue
        if class_of(case, overload) not in PROMISES:
            continue
        _, low, _ = FORMATS[name]
        rng = case.rng(str(overload))
        small = 2.0 ** rng.integers(low, low // 2, 400)
        usual = 2.0 ** rng.integers(-12, 13, 400)
        sizes = np.concatenate([small, usual]) * rng.uniform(1, 2, 800)
        x = (sizes if overload.op == "sqrt" else sizes * rng.choice([-1, 1], 800)).astype(name)
        inputs = (x, np.roll(x, 3))[: len(overload.inputs)]
        call = Call(overload, inputs, x.shape)
        run = call.prepare(case.device)
        found.append((call, run, run()))
    if not found:
        pytest.skip("no kernel of the device promises anything")
    return found


def test_arithmetic_in_all_circumstances(case: Case) -> None:
    """Roundings and subnormal results are the same on all streams and threads, beside all else."""
    probes = _probes(case)
    for what, circumstance in circumstances(case):
        with circumstance as around:
            for call, run, first in probes:
                same(case, call, first, around(run), f"{call.overload} {what}")
                case.checks += 1
    case.finish()


@pytest.mark.parametrize("structure", Structure, ids=lambda structure: structure.name.lower())
def test_arithmetic_behind_each_op(case: Case, structure: Structure) -> None:
    """No op leaves a mode of the arithmetic behind, in which the next one computes."""
    probes, rng = _probes(case), case.rng()
    by_op: dict[str, list[Overload]] = {}
    for overload in overloads(structure):
        if class_of(case, overload) in PROMISES:
            by_op.setdefault(overload.op, []).append(overload)
    for some in by_op.values():
        floats = [o for o in some if o.inputs[0] in ("float32", "float64")] or some
        for overload in {floats[0], some[int(rng.integers(len(some)))]}:
            before = next(iter(calls(overload, rng, quick=True))).prepare(case.device)
            for call, run, first in probes:
                before()
                same(case, call, first, run(), f"{call.overload} behind {overload}")
                case.checks += 1
    case.finish()
