"""Running sums and products, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.along import Along
from phalanx.conformance.groups.ops.structured_check import Check
from phalanx.conformance.groups.ops.structured_data import rows, special_products, special_sums
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, PARTS
from phalanx.conformance.reference.near import Only
from phalanx.conformance.reference.values import special_values
from phalanx.optable import INTEGER, Structure

_LARGE = {
    *(("cumulative_sum", "float32"), ("cumulative_sum", "int64"), ("cumulative_prod", "uint8")),
    ("cumulative_sum", "float16"),
}


@pytest.mark.parametrize("overload", overloads(Structure.SCAN), ids=str)
def test_scan(case: Case, overload: Overload) -> None:
    """Lengths around the blocks of the order of evaluation, every layout, special values."""
    check = Check(case, overload)
    along = Along(check, rows)
    along.everything()
    check.run("short rows with gaps", (along.rows(9, 20),), (), ("padded",))
    op, name = overload.op, overload.inputs[0]
    alone = special_values(name)[:, None]
    want = Only(alone) if op == "cumulative_prod" and name in PARTS else None
    check.run("special values, each alone", (alone,), want=want)
    if op == "cumulative_sum" and (name in FORMATS or name in PARTS):
        check.run("special sums", (special_sums(name),))
    if op == "cumulative_sum" and (name in FORMATS or name in PARTS):
        x = along.rows(2, 9001)  # of a complex number, one part alone
        x[0, 100], x[1, 4096] = np.inf, -np.inf
        if name in PARTS:
            x[1, 4096] = complex(1.0, -np.inf)
        check.run("infinite sums in early blocks", (x,))
    if op == "cumulative_prod" and name in FORMATS:
        check.run("special products", (special_products(name),))
        x = along.rows(2, 700)
        x[0, 100], x[1, 0] = 0, -0.0
        check.run("a zero early in a row", (np.sign(x),))
    if name in INTEGER:
        x = along.rows(3, 1100)
        x[0, 5:9] = x[2, 600] = 0
        x[1, :256] = 1 if op == "cumulative_prod" else 0  # a block that changes nothing
        check.run("zeros early in a row, and a block of nothing", (x,))
    if (op, name) == ("cumulative_sum", "int8") and not case.quick:
        x = case.rng("far").integers(-128, 128, 2**24 + 3).astype(np.int8)
        check.run(f"a row of {x.size}", (x,))
    if (op, name) in _LARGE or (op == "cumulative_sum" and name in INTEGER):
        along.large()
    case.finish()
