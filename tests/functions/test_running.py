"""Running extremes to the bit: few elements, which the host walks along, and many, in passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.values import (
    HostArray,
    any_bits,
    ordinary_values,
    special_values,
)
from phalanx.optable import REAL

FEW = 1024


def _walked(x: HostArray, axis: int, op: str) -> HostArray:
    """The extremes one after the other, by the op of two operands."""
    function: Any = {"cumulative_max": px.maximum, "cumulative_min": px.minimum}[op]
    lines = np.moveaxis(x, axis, 0).copy()
    for i in range(1, len(lines)):
        lines[i] = px.asnumpy(function(px.asarray(lines[i - 1]), px.asarray(lines[i])))
    return np.moveaxis(lines, 0, axis)


@pytest.mark.parametrize("op", ["cumulative_max", "cumulative_min"])
@pytest.mark.parametrize("name", REAL)
def test_special_values(name: str, op: str, cpu: px.Device) -> None:
    """Zeros of both signs, infinities, NaN and limits in any order; one axis and three."""
    rng = generator(name, op)
    values = np.concatenate([special_values(name), any_bits(name, 30, rng)])
    for shape, axis in (((1,), 0), ((41,), 0), ((4, 5, 3), 0), ((4, 5, 3), 1), ((2, 3, 7), -1)):
        x = rng.choice(values, shape)
        got = getattr(px, op)(px.asarray(x, device=cpu), axis=axis)
        assert_same(got, _walked(x, axis, op), f"{op} of {shape} along {axis}")


@pytest.mark.parametrize("op", ["cumulative_max", "cumulative_min"])
@pytest.mark.parametrize("name", ["float32", "bfloat16", "uint8", "int64"])
def test_few_and_many(name: str, op: str, device: px.Device) -> None:
    """The same bits on both sides of what the host takes; a NaN in the middle."""
    x = ordinary_values(name, 3 * FEW, generator(name, op))
    if name == "float32":
        x[FEW - 5] = np.nan
    for size in (FEW - 1, FEW, FEW + 1, 3 * FEW):
        got = getattr(px, op)(px.asarray(x[:size], device=device))
        assert_same(got, _walked(x[:size], 0, op), f"{op} of {size}")


def test_layouts_and_no_elements(device: px.Device) -> None:
    x = generator("layouts").standard_normal((6, 8)).astype(np.float32)
    for label, layout in LAYOUTS.items():
        got = px.cumulative_max(layout(x, device), axis=0)
        assert_same(got, np.maximum.accumulate(x, axis=0), label)
    for shape in ((0,), (3, 0), (0, 4)):
        assert px.cumulative_min(px.zeros(shape, device=device), axis=0).shape == shape


def test_the_operand_stays(device: px.Device) -> None:
    x = px.asarray([3, 1, 2], device=device)
    made = px.cumulative_min(x)
    made[0] = 7
    assert x.tolist() == [3, 1, 2]
    assert made.tolist() == [7, 1, 1]
