"""The bits of two runs of one kernel are the same, where its class promises that."""

from __future__ import annotations

import numpy as np
from phalanx.conformance.calls import Call
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import HostArray
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload
from phalanx.conformance.reference.ulp import same_bytes

PROMISES = ("bitwise", "reproducible")


def class_of(case: Case, overload: Overload) -> str:
    """Return what the device's kernel promises; empty if it has none."""
    return case.served[overload.op, overload.dtypes].determinism


def same(case: Case, call: Call, first: HostArray, again: HostArray, what: str) -> None:
    """Note in the case where the result of another run has other bits than that of the first."""
    a, b = (np.ascontiguousarray(x).reshape(-1) for x in (first, again))
    if same_bytes(a, b):
        return
    size = a.dtype.itemsize
    rows = (x.view(np.uint8).reshape(-1, size) for x in (a, b))
    wrong = np.flatnonzero(np.not_equal(*rows).any(axis=1))
    at = int(wrong[0])
    index = np.unravel_index(at, call.shape) if call.shape and call.base is None else (at,)
    inputs = ", ".join(str(x[index]) for x in call.inputs if x.shape == call.shape) or "a row"
    place = tuple(int(i) for i in index)
    case.mistake(
        Mistake(what, str(place), inputs, str(b[at]), str(a[at]), wrong=wrong.size, size=a.size)
    )
