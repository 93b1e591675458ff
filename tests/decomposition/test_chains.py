"""Every op is a primitive, is made of primitives in the end, or is known to be whole."""

from __future__ import annotations

from functools import cache

import pytest
from phalanx.decomposition.program import Overload
from phalanx.decomposition.table import decomposition_of
from phalanx.optable import OPS, PRIMITIVE_CASTS, PRIMITIVES, WHOLE, is_primitive

from .kit import primitive

OVERLOADS = [(row.name, s.dtypes) for row in OPS.values() for s in row.signatures]


@cache
def leaves(overload: Overload, above: frozenset[Overload] = frozenset()) -> frozenset[Overload]:
    """What an overload is made of in the end; fails on a cycle."""
    assert overload not in above, f"{overload} is made of itself"
    found = decomposition_of(*overload)
    if found is None:
        return frozenset({overload})
    parts = (leaves(part, above | {overload}) for part in found.overloads)
    return frozenset().union(*parts)


@pytest.mark.parametrize("row", OPS.values(), ids=OPS)
def test_chains_end_in_primitives(row: object) -> None:
    for op, dtypes in OVERLOADS:
        if op != row.name:
            continue
        if op in WHOLE:
            assert decomposition_of(op, dtypes) is None
            continue
        assert (decomposition_of(op, dtypes) is None) == primitive(op, dtypes), dtypes
        wrong = [leaf for leaf in leaves((op, dtypes)) if not primitive(*leaf)]
        assert not wrong, (dtypes, wrong)


def test_primitives_are_overloads_and_few() -> None:
    assert {*PRIMITIVES, "cast"} & set(WHOLE) == set()
    assert len(PRIMITIVES) + 1 <= 40
    there = {op for op, dtypes in OVERLOADS if primitive(op, dtypes)}
    assert there == {*PRIMITIVES, "cast"}
    count = sum(primitive(op, dtypes) for op, dtypes in OVERLOADS)
    assert count == sum(map(len, PRIMITIVES.values())) + len(PRIMITIVE_CASTS)
    assert not is_primitive("exp", "float64", "float64")


def test_decompositions_name_overloads_of_the_table() -> None:
    known = set(OVERLOADS)
    for op, dtypes in OVERLOADS:
        found = decomposition_of(op, dtypes)
        assert found is None or found.overloads <= known, (op, found.overloads - known)
        assert found is None or (op, dtypes) not in found.overloads
