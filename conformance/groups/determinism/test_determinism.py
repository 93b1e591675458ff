"""What a kernel's class promises: the same bits run to run and for every layout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch
from phalanx.conformance.calls import Call, calls
from phalanx.conformance.case import Case
from phalanx.conformance.groups.determinism.same import PROMISES, class_of, same
from phalanx.conformance.layouts import broadcast, place, room
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.values import ordinary_values
from phalanx.optable import Structure

#: A race that shows once in a hundred runs is found by the many kernels of its kind together.
_REPEATS = 60
_ELEMENTWISE_REPEATS = 3


@pytest.mark.parametrize("overload", overloads(*Structure), ids=str)
def test_repeats(case: Case, overload: Overload) -> None:
    """Run again and again, a kernel gives the same bits."""
    promise = class_of(case, overload)
    if promise not in PROMISES:
        pytest.skip(f"the kernel's class is {promise or 'that of another device'}")
    elementwise = overload.row.structure is Structure.ELEMENTWISE
    repeats = _ELEMENTWISE_REPEATS if elementwise else _REPEATS
    for call in calls(overload, case.rng(), quick=case.quick):
        run = call.prepare(case.device)
        first = run()
        for number in range(1, repeats):
            same(case, call, first, run(), f"contiguous, run {number + 1}")
            case.checks += 1
    case.finish()


@pytest.mark.parametrize("overload", overloads(*Structure), ids=str)
def test_layouts(case: Case, overload: Overload) -> None:
    """A kernel of class bitwise gives the same bits for every layout of its operands."""
    promise = class_of(case, overload)
    if promise != "bitwise":
        pytest.skip(f"the kernel's class is {promise or 'that of another device'}")
    for call in calls(overload, case.rng(), quick=case.quick):
        layouts = [name for name in call.layouts if name != "contiguous"]
        if not layouts:
            continue
        if case.quick:
            layouts = [layouts[int(case.rng(call.shape).integers(len(layouts)))]]
        first = call.prepare(case.device)()
        for layout in layouts:
            same(case, call, first, call.prepare(case.device, layout)(), layout)
            case.checks += 1
    if overload.row.structure is Structure.REDUCTION:
        _rows_of_one(case, overload)
    case.finish()


def _rows_of_one(case: Case, overload: Overload) -> None:
    """Rows of equal elements, in memory and by a stride of 0, are reduced in the same order."""
    name = overload.inputs[0]
    column = ordinary_values(name, 5, case.rng("rows of one")).reshape(5, 1)
    call = Call(overload, (np.repeat(column, 300, axis=1),), (5,))
    out = room(case.device, call.shape, overload.outputs[0], "contiguous")
    launch(overload.op, (broadcast(case.device, column, (5, 300), name),), (out.array,), ())
    same(case, call, call.prepare(case.device)(), out.read(), "one element for a row")
    case.checks += 1


@pytest.mark.parametrize("mode", PROMISES)
def test_kernels_of_a_mode(case: Case, mode: str) -> None:
    """What serves under a mode computes the same: whole numbers, whose sums are exact."""
    rng = case.rng()
    a, b = (rng.integers(-9, 10, shape).astype(np.float32) for shape in ((3, 4099), (4099, 5)))
    former = px.use_deterministic_algorithms(mode)
    try:
        for k in (1, 2, 7, 64, 333, 4099):
            x, y = px.asarray(a[:, :k]), px.asarray(b[:k])
            try:
                found = (x @ y, px.sum(x, axis=1), px.sum(x, axis=0), px.cumulative_sum(x, axis=1))
            except px.UnsupportedOpError as error:
                pytest.skip(f"no kernel for the mode: {error}")
            left, right = a[:, :k], b[:k]
            want = (left @ right, left.sum(1), left.sum(0), np.cumsum(left, 1))
            for name, got, exact in zip(("matmul", "sum", "sum", "scan"), found, want, strict=True):
                assert (px.asnumpy(got) == exact).all(), f"{name} of {k} steps under {mode!r}"
    finally:
        px.use_deterministic_algorithms(former)


@pytest.mark.parametrize("mode", ["reproducible", "bitwise"])
@pytest.mark.parametrize("layout", ["contiguous", "padded", "transposed"])
def test_modes(case: Case, mode: str, layout: str) -> None:
    """Kernels that a mode chooses compute the same, in every layout: on whole numbers."""
    if case.served["add", ("float32",) * 3].how != "native":
        pytest.skip("the device has no float32 of its own")
    a, b = (case.rng(i).integers(-9, 10, (5, 35)).astype(np.float32) for i in range(2))
    x, y = (place(case.device, host, "float32", layout).array for host in (a, b))
    before = px.use_deterministic_algorithms(mode)
    try:
        for name, function in _WHOLE.items():
            try:
                got = px.asnumpy(function(px, x, y))
            except px.UnsupportedOpError:
                continue  # the device has no kernel of this class
            want = function(np, a, b)
            assert got.shape == want.shape
            assert (got == want).all(), f"{name} of {layout} operands in the mode {mode!r}"
    finally:
        px.use_deterministic_algorithms(before)


#: Functions whose results are whole numbers, too.
_WHOLE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda _, x, y: x + y,
    "subtract of columns": lambda _, x, y: x[:, :2] - y[:, 1:3],
    "multiply": lambda _, x, y: x * y,
    "a row for all": lambda _, x, y: x + y[2],
    "maximum": lambda xp, x, y: xp.maximum(x, y),
    "where": lambda xp, x, y: xp.where(x > y, x, y),
    "sum": lambda xp, x, _: xp.sum(x, axis=0),
    "max": lambda xp, x, _: xp.max(x, axis=1),
    "cumulative_sum": lambda xp, x, _: xp.cumulative_sum(x, axis=1),
    "matmul": lambda _, x, y: x @ y.T,
    "sort": lambda xp, x, _: xp.sort(x, axis=1),
    "take": lambda _, x, __: x[:, [3, 0, -1]],
}
