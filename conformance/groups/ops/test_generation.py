"""Evenly spaced numbers, in every layout, against the reference."""

from __future__ import annotations

import numpy as np
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.ops.structured_check import NAMES, Check
from phalanx.conformance.overloads import Overload, overloads
from phalanx.conformance.reference.formats import FORMATS, host_dtype
from phalanx.conformance.reference.structured import expected
from phalanx.conformance.reference.values import HostArray, any_bits, ordinary_values
from phalanx.optable import INTEGER, Structure

_LARGE = ("float32", "float64", "int32", "complex64")


@pytest.mark.parametrize("overload", overloads(Structure.GENERATION), ids=str)
def test_generation(case: Case, overload: Overload) -> None:
    """Every length and layout, steps of both signs and of zero, integers that wrap."""
    check = Check(case, overload)
    rng = case.rng()
    for number, n in enumerate([0, *check.sizes(rng, (1, 2, 257, 1025))]):
        _run(check, _ends(check.name, rng), n, NAMES[number % len(NAMES)])
    for name in NAMES:
        _run(check, _ends(check.name, rng), 70, name)
    for pair in ((0, 1), (5, 0), (100, -1), (0, 0), (-0.0, 1)):
        numbers = map(abs, pair) if check.name.startswith("u") else pair
        ends = tuple(np.array(v).astype(host_dtype(check.name)) for v in numbers)
        _run(check, ends, 66, "contiguous")
    if check.name in INTEGER:
        bits = np.iinfo(host_dtype(check.name)).bits
        for width in (7, 8, 15, 16, 31, 32, 47):  # of steps: numbers pass words of as many bits
            if width < bits - 1:
                ends = tuple(np.array(v, host_dtype(check.name)) for v in (5, 2**width - 1))
                _run(check, ends, 66, "contiguous")
                _run(check, ends, 700, "contiguous")
        for _ in range(3):
            wild = any_bits(check.name, 2, rng)
            _run(check, (wild[:1].reshape(()), wild[1:].reshape(())), 300, "contiguous")
    if (
        check.name in FORMATS and host_dtype(check.name).itemsize == 2
    ):  # beyond the whole numbers of the dtype
        _run(
            check, tuple(np.array(v, host_dtype(check.name)) for v in (3, 0.5)), 4133, "contiguous"
        )
    if check.name in _LARGE:
        _run(check, _ends(check.name, rng), check.large // 4, "contiguous")
    if check.name == "float64" and not case.quick:  # more than float32 has whole numbers
        _run(check, _ends(check.name, rng), 2**24 + 3, "contiguous")
    case.finish()


def _ends(name: str, rng: np.random.Generator) -> tuple[HostArray, ...]:
    return tuple(ordinary_values(name, 1, rng).reshape(()) for _ in range(2))


def _run(check: Check, ends: tuple[HostArray, ...], count: int, layout: str) -> None:
    want = expected("arange", ends, check.to, (count,))
    label = f"from {ends[0]} by {ends[1]}, {count} numbers"
    check.run(label, ends, (), ("offset",), layout, want)
