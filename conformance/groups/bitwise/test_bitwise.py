"""The same bits as ``cpu:0``: what the op table promises of kernels of class bitwise."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.calls import Call, calls
from phalanx.conformance.case import Case
from phalanx.conformance.layouts import HostArray
from phalanx.conformance.outcome import Mistake
from phalanx.conformance.overloads import Overload, overloads
from phalanx.optable import Structure


def _bits(x: HostArray) -> HostArray:
    """Return the elements as rows of bytes; every NaN is one NaN, as payloads are not defined."""
    flat = np.ascontiguousarray(x).reshape(-1).copy()
    if flat.dtype.kind in "fcV":
        parts = flat.view(flat.real.dtype) if flat.dtype.kind == "c" else flat
        parts[np.isnan(parts.astype(np.float64))] = np.nan
    return flat.view(np.uint8).reshape(-1, flat.dtype.itemsize)


@pytest.mark.parametrize("overload", overloads(*Structure), ids=str)
def test_bits(case: Case, overload: Overload) -> None:
    """Every overload gives the bits of ``cpu:0``."""
    other = px.devices("cpu")[0]
    if other is case.device:
        pytest.skip("this is the device that the others are compared with")
    for call in calls(overload, case.rng(), quick=case.quick):
        want = call.prepare(other)()
        got = call.prepare(case.device)()
        case.checks += 1
        _compare(case, call, got, want)
    case.finish()


def _compare(case: Case, call: Call, got: HostArray, want: HostArray) -> None:
    wrong = np.flatnonzero((_bits(got) != _bits(want)).any(axis=1))
    if not wrong.size:
        return
    at = int(wrong[0])
    inputs = ", ".join(str(x.reshape(-1)[at]) for x in call.inputs if x.shape == call.shape)
    flat_got, flat_want = got.reshape(-1), want.reshape(-1)
    case.mistake(
        Mistake(
            "contiguous",
            str(at),
            inputs or "a row",
            repr(flat_got[at]),
            repr(flat_want[at]),
            wrong=wrong.size,
            size=flat_got.size,
        )
    )
