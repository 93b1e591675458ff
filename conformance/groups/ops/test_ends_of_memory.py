"""Operands and results beside which there is no memory: before the first byte, behind the last."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import calls
from phalanx.conformance.case import Case
from phalanx.conformance.fences import can_fence
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.ulp import differing
from phalanx.optable import Structure

#: Bytes of operands that are placed; what is larger takes the same loops for longer.
_MOST = 1 << 20


@pytest.mark.parametrize("overload", overloads(*Structure), ids=str)
def test_ends_of_memory(case: Case, overload: Overload) -> None:
    """A kernel that reads or writes an element too far touches a barred page, and dies of it."""
    if not can_fence(case.device):
        pytest.skip("the device does not work on memory of the host")
    for number, call in enumerate(calls(overload, case.rng(), quick=True)):
        if case.quick and number and overload.row.structure is Structure.ELEMENTWISE:
            break
        if sum(x.nbytes for x in call.inputs) > _MOST:
            continue
        want = call.prepare(case.device)()
        for at_end in (True,) if case.quick and number else (True, False):
            got = call.fenced(case.device, at_end=at_end)()
            case.checks += 1
            wrong = int(np.count_nonzero(differing(got, want)))
            if wrong:
                where = "end" if at_end else "begin"
                what = f"operands {where} where memory does"
                hint = "the same as elsewhere"
                case.mistake(
                    Mistake(
                        what, "any", f"{call.shape}", "others", hint, wrong=wrong, size=got.size
                    )
                )
    case.finish()
