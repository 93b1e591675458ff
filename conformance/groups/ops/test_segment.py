"""Sums and counts by target, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.calls import segment_operands
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.layouts import broadcast, place
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray, special_values
from phalanx.optable import INTEGER, Structure

_LARGE = ("float32", "float64", "int64")


@pytest.mark.parametrize("overload", overloads(Structure.SEGMENT), ids=str)
def test_segment(case: Case, overload: Overload) -> None:
    """Few and many targets, none, empty ones; rows of some widths; numbers outside."""
    check = Check(case, overload)
    rng = case.rng()
    for number, m in enumerate([0, *check.sizes(rng, (1, 65, 257, 1024, 4097))]):
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
        _close_edges(check)
    _many_targets(check, rng)
    _one_for_all(check, rng)
    if overload.op == "segment_sum":
        _backward_rows(check, rng)
    case.finish()


def _backward_rows(check: Check, rng: np.random.Generator) -> None:
    """Each row lies before the one that it comes behind; and numbers that do."""
    for width in (1, 5):
        args = segment_operands(check.overload, rng, 400, 7, width)
        names = zip(args, check.overload.inputs, strict=True)
        arrays = [
            place(check.case.device, x[::-1].copy(), name, "contiguous").array[::-1]
            for x, name in names
        ]
        want = expected("segment_sum", args, check.to, (7,))
        check.run_arrays(f"backward rows of {width}", arrays, args, (), "contiguous", want)


def _one_for_all(check: Check, rng: np.random.Generator) -> None:
    """Numbers, or elements to count, that are one in memory, by a stride of 0."""
    m, at = 70, 0 if check.overload.op == "histogram" else -1
    operands = list(segment_operands(check.overload, rng, m, 3, 2))
    value = operands[at][:1]
    operands[at] = np.broadcast_to(value, (m,)).copy()
    device = check.case.device
    arrays = [
        place(device, x, name, "contiguous").array
        for x, name in zip(operands, check.overload.inputs, strict=True)
    ]
    arrays[at] = broadcast(device, value, (m,), check.overload.inputs[at])
    found = len(operands[1]) - 1 if check.overload.op == "histogram" else 3
    want = expected(check.overload.op, tuple(operands), check.to, (found,))
    check.run_arrays("one number for all", arrays, tuple(operands), (), "contiguous", want)


def _many_targets(check: Check, rng: np.random.Generator) -> None:
    """More targets than 16 bits number, wide rows, one target for all, sorted numbers."""
    op = check.overload.op
    if check.overload.inputs[0] in _LARGE:
        _run(check, rng, 300, 70_001, 1, 0)
    if op == "histogram":
        return
    if op == "segment_sum":
        for width in (9, 31, 259):
            _run(check, rng, 33, 3, width, 0)
        _run(check, rng, 7, 3, 1100, 0)
        _launch(check, "one of many", (*_rows(check, rng, 600, 5), np.full(600, 4321)), 5000)
        if check.overload.inputs[0] not in INTEGER:
            kind = special_values(check.name).dtype
            _launch(check, "-0", (np.full((9, 3), -0.0, kind), np.arange(9) // 2), 6)
    if op == "bincount" or check.overload.inputs[0] == "int64":
        numbers = np.zeros(70_001, np.int64)
        _launch(check, "all to one", (*_rows(check, rng, 70_001, 1), numbers), 2)
    for m, width in ((5000, 3), (1500, 1)):  # shuffled, and sorted but for some neighbours
        numbers = np.sort(rng.integers(0, 2500, m))
        if width == 1:
            numbers = numbers // 60
            for at in rng.integers(0, m - 16, 9) // 16 * 16 + 5:
                numbers[at : at + 3] = rng.permutation(42)[:3]
        else:
            numbers = rng.permutation(numbers)
        _launch(check, f"{m} to many", (*_rows(check, rng, m, width), numbers), 3000)
    rows = _rows(check, rng, 700, 3)
    numbers = np.sort(rng.integers(0, 4, 700))
    _launch(check, "sorted", (*rows, numbers), 4)
    if rows and rows[0].dtype.kind == "f":
        rows[0][::3] = np.nan
        numbers[::3] = rng.choice([-1, 4, 2**40], len(numbers[::3]))
        _launch(check, "NaN for no target", (*rows, numbers), 4)


def _rows(check: Check, rng: np.random.Generator, m: int, width: int) -> tuple[HostArray, ...]:
    """The rows that are summed, or nothing where numbers are counted."""
    return segment_operands(check.overload, rng, m, 1, width)[:-1]


def _launch(check: Check, label: str, operands: tuple[HostArray, ...], count: int) -> None:
    want = expected(check.overload.op, operands, check.to, (count,))
    check.run(label, operands, (), ("contiguous",), "contiguous", want)


def _close_edges(check: Check) -> None:
    """Intervals of no width, and of the least; both zeros."""
    dtype = special_values(check.name).dtype
    if dtype.kind == "f":  # their differences are not equal, as they are rounded
        for n in (10,) if check.case.quick else (7, 10, 49):
            edges = np.linspace(0, 1, n + 1).astype(dtype)
            x = np.concatenate([edges, np.nextafter(edges, dtype.type(-1))])
            _launch(check, f"{n} even intervals", (x, edges), n)
    edges = np.array([-1, 0, 0, 1, 1, 1, 2]).astype(dtype)
    x = np.array([-1, -0.0, 0, 0, 1, 1, 1, 2, 2]).astype(dtype)
    _launch(check, "empty intervals", (x, edges), len(edges) - 1)
    if dtype.kind == "f":
        step = np.finfo(dtype).eps
        edges = (1 + step * np.arange(6)).astype(dtype)
        _launch(check, "least intervals", (np.repeat(edges, 3), edges), len(edges) - 1)


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
    layouts = (("contiguous", "padded", "offset")[number % 3], NAMES[number % len(NAMES)])
    check.run(f"{label} rows of {width}", operands, (), layouts, "contiguous", want)


def _special(check: Check, edges: HostArray) -> None:
    corners = np.concatenate([special_values(check.name), edges])
    want = expected("histogram", (corners, edges), check.to, (len(edges) - 1,))
    check.run("special values", (corners, edges), (), ("strided",), "contiguous", want)
