"""The order of evaluation that the op table states, bit by bit: on ``cpu:0`` as on the others."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx._warm import launch
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import place, room
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.orders import ORDERED, in_stated_order
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import Structure
from phalanx.optable.structured import BLOCK, SCAN_BLOCK

#: Rows within a block, of one, of one and an element, and of several with a short last one.
_LENGTHS = {
    Structure.REDUCTION: (63, 129, BLOCK, BLOCK + 1, 3 * BLOCK - 7, 5 * BLOCK + 70, 70_001),
    Structure.SCAN: (SCAN_BLOCK, SCAN_BLOCK + 1, 3 * SCAN_BLOCK - 7, SCAN_BLOCK**2 + 300),
}
#: More blocks than a group, or a byte, counts.
_MANY_BLOCKS = 257 * BLOCK + 33
_LAYOUTS = ("contiguous", "transposed")
_ORDERED = [
    overload
    for overload in overloads(*_LENGTHS)
    if overload.op in ORDERED and overload.inputs[0] in ("float32", "float64")
]


@pytest.mark.parametrize("overload", _ORDERED, ids=str)
def test_orders(case: Case, overload: Overload) -> None:
    """A kernel of class bitwise gives the bits of the stated order, by rows and by columns."""
    promise = case.served[overload.op, overload.dtypes].determinism
    if promise != "bitwise":
        pytest.skip(f"the kernel's class is {promise or 'that of another device'}")
    rng = case.rng()
    shapes: list[tuple[int, ...]] = [(3, n) for n in _LENGTHS[overload.row.structure]]
    if overload.op in ("sum", "mean"):
        shapes.append((_MANY_BLOCKS,))
    for shape in shapes:
        x, n = rng.standard_normal(shape), shape[-1]
        if overload.op.endswith("prod"):  # products that stay near 1
            x = np.exp(x / n**0.5)
        x = x.astype(overload.inputs[0])
        want = in_stated_order(overload.op, x)
        for layout in _LAYOUTS:
            operand = place(case.device, x, overload.inputs[0], layout)
            out = room(case.device, want.shape, overload.outputs[0], "contiguous")
            launch(overload.op, (operand.array,), (out.array,), ())
            got = out.read()
            case.checks += 1
            if got.tobytes() != want.tobytes():
                case.mistake(_mistake(f"{layout} {x.shape}", got, want))
    case.finish()


def _mistake(label: str, got: HostArray, want: HostArray) -> Mistake:
    wrong = np.argwhere(got != want)
    at = tuple(int(i) for i in wrong[0]) if len(wrong) else (0,) * got.ndim
    return Mistake(
        label, str(at), "a row", str(got[at]), str(want[at]), wrong=len(wrong), size=got.size
    )
