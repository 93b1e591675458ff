"""Places and rows where a mask is true, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.along import MANY_ROWS
from phalanx.conformance.groups.ops.structured_check import Check
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.values import HostArray, wild_values
from phalanx.optable import Structure

#: The canonical form is contiguous; both layouts are, at an aligned and a misaligned address.
_LAYOUTS = ("contiguous", "offset")
_LARGE = ("float32", "int8", "bool")
#: Elements of a mask, most of them true: more than 2**18.
_LONG = 2**18 + 9


@pytest.mark.parametrize("overload", overloads(Structure.SELECTION), ids=str)
def test_selection(case: Case, overload: Overload) -> None:
    """Masks of every length with many, few, all and no true elements; rows of some widths."""
    check = Check(case, overload)
    rng = case.rng()
    for number, n in enumerate([0, *check.sizes(rng, (1, 65, 1025, 4097))]):
        masks = _masks(n, rng)
        for i, mask in enumerate(masks):
            if check.case.quick and n > 1 and i not in (number % len(masks), 0):
                continue
            width = (1, 3, 2, 7, 64)[(number + i) % 5]
            _run(check, mask, width, _LAYOUTS[(number + i) % 2], rng)
    for width in (0, 1, 5, 131, 1031):
        _run(check, rng.random(33) < 0.5, width, "offset", rng)
    for n in MANY_ROWS[2:3] if case.quick else MANY_ROWS:
        _run(check, rng.random(n) < 0.5, 1, "offset", rng)
    _run(check, rng.random(_LONG) < 0.9, 1, "contiguous", rng)
    _run(check, np.ones(3 * 65_536 + 5, bool), 1, "contiguous", rng)
    sparse = np.zeros(_LONG, bool)
    sparse[[3, _LONG // 2, _LONG - 1]] = True
    _run(check, sparse, 1, "contiguous", rng)
    if overload.inputs[0] in _LARGE:
        _run(check, rng.random(check.large) < 0.4, 2, "contiguous", rng)
    case.finish()


def _masks(n: int, rng: np.random.Generator) -> list[HostArray]:
    place = np.arange(n)
    return [
        (rng.random(n) < 0.5) | (place >= n - 3),
        rng.random(n) < 0.05,
        np.ones(n, bool),
        np.zeros(n, bool),
        place == n - 1,
        place == 0,
        place // 64 % 2 == 1,
    ]


def _run(check: Check, mask: HostArray, width: int, layout: str, rng: np.random.Generator) -> None:
    label = f"{layout}, {int(mask.sum())} of {mask.size}"
    if check.overload.op == "nonzero":
        check.run(label, (mask,), (), (layout,), layout)
        return
    rows = wild_values(check.name, mask.size * width, rng).reshape(mask.size, width)
    check.run(f"{label} rows of {width}", (rows, mask), (), (layout,), layout)
