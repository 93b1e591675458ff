"""Sums and counts by target, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import segment_operands
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray, special_values
from phalanx.optable import Structure

_LARGE = ("float32", "float64", "int64")


@pytest.mark.parametrize("overload", overloads(Structure.SEGMENT), ids=str)
def test_segment(case: Case, overload: Overload) -> None:
    """Few and many targets, none, empty ones; rows of some widths; numbers outside."""
    check = Check(case, overload)
    rng = case.rng()
    for number, m in enumerate([0, *check.sizes(rng, (1, 65, 257, 4097))]):
        for count, width in ((1, 3), (7, 1), (300, 2), (3000, 1))[number % 2 :: 2]:
            _run(check, rng, m, count, width, number)
    _run(check, rng, 100, 0 if overload.op != "histogram" else 1, 2, 0)
    _run(check, rng, 100, 5, 0 if overload.op == "segment_sum" else 1, 1)
    if overload.inputs[0] in _LARGE:
        _run(check, rng, check.large, 3, 1, 0)
        _run(check, rng, check.large // 8, 5000, 1, 1)
    if overload.op == "histogram":
        edges = np.array([-np.inf, -1, 0, 1, np.inf]).astype(special_values(check.name).dtype)
        _special(check, edges)
        _special(check, edges[1:-1])
    case.finish()


def _run(
    check: Check, rng: np.random.Generator, m: int, count: int, width: int, number: int
) -> None:
    operands = segment_operands(check.overload, rng, m, count, width)
    found = len(operands[1]) - 1 if check.overload.op == "histogram" else count
    want = expected(check.overload.op, operands, check.to, (found,))
    label = f"{m} to {found}"
    if check.overload.op != "segment_sum":
        inside, outside = NAMES[number % len(NAMES)], NAMES[(number + 1) % len(NAMES)]
        check.run(label, operands, (), (inside, outside), outside, want)
        return
    layouts = (("contiguous", "offset")[number % 2], NAMES[number % len(NAMES)])
    check.run(f"{label} rows of {width}", operands, (), layouts, "contiguous", want)


def _special(check: Check, edges: HostArray) -> None:
    corners = np.concatenate([special_values(check.name), edges])
    want = expected("histogram", (corners, edges), check.to, (len(edges) - 1,))
    check.run("special values", (corners, edges), (), ("strided",), "contiguous", want)
