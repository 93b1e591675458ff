"""Operands of different shapes, in all combinations of ranks and axes of one element."""

from __future__ import annotations

from itertools import product

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    either,
    put,
    same,
    subsets,
    whole_numbers,
)

_FULL = (2, 3, 4, 5)
_RANKS = range(5)


def _shapes(rank: int) -> list[tuple[int, ...]]:
    """The last axes of the full shape, with any of them of one element."""
    extents = _FULL[len(_FULL) - rank :]
    return [
        tuple(1 if axis in ones else n for axis, n in enumerate(extents))
        for ones in subsets(range(rank))
    ]


def _pairs(case: Case, rank1: int, rank2: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return either(case, product(_shapes(rank1), _shapes(rank2)), 12, rank1, rank2)


@pytest.mark.parametrize("rank2", _RANKS)
@pytest.mark.parametrize("rank1", _RANKS)
def test_two_operands(case: Case, rank1: int, rank2: int) -> None:
    """``x - y`` and ``x < y`` of every pair of shapes."""
    for number, (shape1, shape2) in enumerate(_pairs(case, rank1, rank2)):
        a = whole_numbers(case, shape1, "int32", 1)
        b = whole_numbers(case, shape2, "int32", 2)
        x = put(case, a, LAYOUTS[number % 3])
        y = put(case, b, LAYOUTS[number // 3 % 3])
        same(case, x - y, a - b, f"subtract of {shape1} and {shape2}")
        same(case, x < y, a < b, f"less of {shape1} and {shape2}")


@pytest.mark.parametrize("rank", _RANKS)
def test_three_operands(case: Case, rank: int) -> None:
    """``where`` and ``clip`` of three shapes."""
    shapes = [s for r in _RANKS for s in _shapes(r)]
    for number, shape in enumerate(_shapes(rank)):
        for _ in range(4 if case.quick else 20):
            rng = case.rng(number, _)
            shape1, shape2 = (shapes[i] for i in rng.integers(0, len(shapes), 2))
            condition = whole_numbers(case, shape, "bool", number)
            a = whole_numbers(case, shape1, "float32", 1)
            b = whole_numbers(case, shape2, "float32", 2)
            got = px.where(put(case, condition), put(case, a), put(case, b))
            same(case, got, np.where(condition, a, b), f"where of {shape}, {shape1}, {shape2}")
            x, y, z = (put(case, v) for v in (condition.astype(np.float32), a, a + 3))
            same(case, px.clip(x, y, z), np.clip(condition.astype(np.float32), a, a + 3))


@pytest.mark.parametrize("rank", _RANKS)
def test_in_place_broadcast(case: Case, rank: int) -> None:
    """The right side of ``x -= y`` broadcasts to the left one; the left one does not."""
    for shape1, shape2 in _pairs(case, 4, rank):
        a = whole_numbers(case, shape1, "int32", 1)
        b = whole_numbers(case, shape2, "int32", 2)
        x, y = put(case, a, "mixed"), put(case, b)
        if np.broadcast_shapes(shape1, shape2) == shape1:
            x -= y
            same(case, x, a - b, f"{shape1} in place by {shape2}")
        else:
            with pytest.raises(ValueError, match="fit"):
                x -= y
            same(case, x, a, "after it was refused")


@pytest.mark.parametrize("rank", _RANKS)
def test_empty_broadcast(case: Case, rank: int) -> None:
    """An axis without elements broadcasts with one of one element, and with no other."""
    for shape, axis in product(_shapes(rank), range(rank)):
        empty = (*shape[:axis], 0, *shape[axis + 1 :])
        a = np.zeros(empty, np.int32)
        for other in (shape, (1,), (), empty):
            b = np.ones(other, np.int32)
            try:
                want = a + b
            except ValueError:
                with pytest.raises(ValueError, match="broadcast"):
                    put(case, a) + put(case, b)
                continue
            same(case, put(case, a) + put(case, b), want, f"{empty} and {other}")


@pytest.mark.parametrize(
    "shapes",
    [((3,), (4,)), ((2, 3), (2,)), ((2, 1, 4), (3, 5)), ((0,), (2,)), ((1, 2), (3, 1, 3))],
    ids=str,
)
def test_refused_shapes(case: Case, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    """Extents that differ and are not 1 are a ``ValueError`` for every kind of function."""
    x, y = (px.ones(shape, dtype=px.int32) for shape in shapes)
    for function in (px.add, px.less, px.maximum):
        with pytest.raises(ValueError, match="broadcast"):
            function(x, y)
    with pytest.raises(ValueError, match="broadcast"):
        px.where(x > 0, x, y)
    with pytest.raises(ValueError, match="broadcast"):
        px.broadcast_arrays(x, y)
    with pytest.raises(ValueError, match="broadcast"):
        px.broadcast_shapes(*shapes)


@pytest.mark.parametrize("rank", _RANKS)
def test_broadcast_to(case: Case, rank: int) -> None:
    """``broadcast_to``, ``broadcast_arrays`` and ``broadcast_shapes`` agree with NumPy."""
    for shape in _shapes(rank):
        host = whole_numbers(case, shape, "int32")
        x = put(case, host, "transposed")
        same(case, px.broadcast_to(x, _FULL), np.broadcast_to(host, _FULL))
        same(case, px.broadcast_to(x, (6, *_FULL)), np.broadcast_to(host, (6, *_FULL)))
        other = np.zeros((3, 1, 1), np.int32)
        found = px.broadcast_arrays(x, put(case, other))
        for got, want in zip(found, np.broadcast_arrays(host, other), strict=True):
            same(case, got, want)
        assert px.broadcast_shapes(shape, (4, 1), ()) == np.broadcast_shapes(shape, (4, 1), ())


def test_many_axes(case: Case) -> None:
    """Arrays of eight axes broadcast as those of few do."""
    for number in range(5 if case.quick else 40):
        rng = case.rng(number)
        extents = rng.integers(1, 4, 8)
        kept = rng.random((2, 8)) < 0.6
        a, b = (whole_numbers(case, tuple(np.where(k, extents, 1).tolist()), "int32") for k in kept)
        same(
            case, put(case, a, "mixed") + put(case, b, "transposed"), a + b, f"{a.shape} {b.shape}"
        )
