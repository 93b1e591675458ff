"""A decomposed elementwise op has the bits of the CPU's kernel, hard values included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exhaustive import some
from phalanx.conformance.reference.hard_places import hard_values
from phalanx.conformance.reference.values import wild_values
from phalanx.decomposition.table import decomposition_of
from phalanx.optable import DTYPES, OPS, Op, Signature, Structure

from .kit import assert_same_bits

CASES = [
    (row, signature)
    for row in OPS.values()
    if row.structure is Structure.ELEMENTWISE
    for signature in row.signatures
    if decomposition_of(row.name, signature.dtypes) is not None
]


def operands(row: Op, signature: Signature, count: int, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    hard = hard_values(row.name, signature.inputs, count, rng)
    wild = [wild_values(d, count, rng) for d in signature.inputs]
    found = [np.concatenate(pair) for pair in zip(hard, wild, strict=True)]
    if row.name == "pow" and DTYPES[signature.inputs[0]].kind in "iu":
        found[1] = (found[1] % found[1].dtype.type(70)).astype(found[1].dtype)
    return found


@pytest.mark.parametrize(
    ("row", "signature"), some(CASES, 160), ids=lambda x: x.name if isinstance(x, Op) else str(x)
)
def test_same_bits(row: Op, signature: Signature) -> None:
    values = operands(row, signature, 500, len(row.name))
    assert_same_bits(row.name, signature.dtypes, values, values[0].shape)


@pytest.mark.exhaustive
@pytest.mark.parametrize("row", [OPS[name] for name in dict.fromkeys(r.name for r, _ in CASES)])
def test_same_bits_of_many(row: Op) -> None:
    for one, signature in CASES:
        if one is row:
            values = operands(row, signature, 20_000, 7)
            assert_same_bits(row.name, signature.dtypes, values, values[0].shape)


@pytest.mark.parametrize("name", ["sin", "pow", "remainder", "where", "copy"])
def test_few_elements_and_none(name: str) -> None:
    signature = OPS[name].signatures[-1]
    for shape in ((), (0,), (1,), (3, 0, 2), (2, 3)):
        count = math.prod(shape)
        values = [x[:count].reshape(shape) for x in operands(OPS[name], signature, 8, 1)]
        assert_same_bits(name, signature.dtypes, values, shape)


@pytest.mark.parametrize("name", ["cos", "pow", "remainder", "gelu"])
def test_operands_of_other_orders(name: str) -> None:
    """Transposed and strided operands, angles that take the table of 2 / pi among them."""
    signature = OPS[name].signatures[-1]
    values = [x[:600] for x in operands(OPS[name], signature, 400, 2)]
    first = values[0].reshape(20, 30).T
    others = [x.reshape(30, 20) for x in values[1:]]
    assert_same_bits(name, signature.dtypes, [first, *others], (30, 20))
    assert_same_bits(
        name, signature.dtypes, [first[::-1, ::2], *(x[:, :10] for x in others)], (30, 10)
    )
