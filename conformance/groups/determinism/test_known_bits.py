"""The bits that a definition gives, on ``cpu:0`` as on the others, where results are rounded.

A reference cannot tell a result from its neighbours where both are within the op's bound; what a
kernel of class bitwise gives is one of them.
"""

from __future__ import annotations

import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.determinism.known_bits import (
    digest,
    is_known,
    known_calls,
    known_digests,
)
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload, overloads
from phalanx.optable import Structure

_KNOWN = [overload for overload in overloads(*Structure) if is_known(overload)]


@pytest.mark.parametrize("overload", _KNOWN, ids=str)
def test_known_bits(case: Case, overload: Overload) -> None:
    """A kernel of class bitwise gives the results whose digests are known."""
    promise = case.served[overload.op, overload.dtypes].determinism
    if promise != "bitwise":
        pytest.skip(f"the kernel's class is {promise or 'that of another device'}")
    if case.flushes:
        pytest.skip("the device may take subnormal numbers as zero")
    known = known_digests()[str(overload)]
    for number, call in enumerate(known_calls(overload, quick=case.quick)):
        got = digest(call.prepare(case.device)())
        case.checks += 1
        if got != known[number]:
            case.mistake(_mistake(number, call.shape, got, known[number]))
    case.finish()


def _mistake(number: int, shape: tuple[int, ...], got: str, want: str) -> Mistake:
    what = f"launch {number} of known_calls, a result {shape}"
    hint = f"the digest {want}; the case bitwise/bits of this overload shows elements"
    return Mistake(what, "any", "a pattern", f"the digest {got}", hint)
