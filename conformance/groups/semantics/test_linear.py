"""Products of matrices in the main namespace; the numbers are whole, so products are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import LAYOUTS, need, put, same, whole_numbers
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable import ALL, kind_of

_DTYPES = [d for d in ALL if d != "bool"]
#: Shapes of two operands of ``matmul``.
_PAIRS = (
    ((3,), (3,)),
    ((4, 3), (3,)),
    ((3,), (3, 5)),
    ((4, 3), (3, 5)),
    ((1, 7), (7, 1)),
    ((2, 4, 3), (3, 5)),
    ((4, 3), (2, 3, 5)),
    ((2, 4, 3), (2, 3, 5)),
    ((2, 1, 4, 3), (6, 3, 5)),
    ((2, 4, 3), (3,)),
    ((3,), (2, 3, 5)),
    ((0, 3), (3, 4)),
    ((4, 0), (0, 5)),
    ((2, 4, 3), (2, 3, 0)),
    ((0, 4, 3), (3, 5)),
    ((0,), (0,)),
)


def _wide(dtype: str) -> Any:
    """A host dtype in which the products are exact, and wrap as the device's do."""
    return {"f": np.float64, "c": np.complex128}.get(kind_of(dtype), host_dtype(dtype))


@pytest.mark.parametrize("dtype", _DTYPES)
def test_matmul(case: Case, dtype: str) -> None:
    """Vectors, matrices and stacks that broadcast, with extents of 0."""
    need(case, dtype)
    for number, (shape1, shape2) in enumerate(_PAIRS):
        a, b = whole_numbers(case, shape1, dtype, 1), whole_numbers(case, shape2, dtype, 2)
        want = np.matmul(a.astype(_wide(dtype)), b.astype(_wide(dtype))).astype(a.dtype)
        x, y = put(case, a, LAYOUTS[number % 3]), put(case, b, LAYOUTS[number // 3 % 3])
        same(case, px.matmul(x, y), want, f"matmul of {shape1} and {shape2}")
        same(case, x @ y, want, f"{shape1} @ {shape2}")


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_matmul_layouts(case: Case, dtype: str) -> None:
    """Every pair of layouts, around the sizes of blocks."""
    sizes = ((1, 1, 1), (17, 33, 9), (64, 65, 63)) if case.quick else ((17, 33, 9), (130, 65, 127))
    for rows, inner, columns in sizes:
        a = whole_numbers(case, (rows, inner), dtype, 1)
        b = whole_numbers(case, (inner, columns), dtype, 2)
        want = np.matmul(a.astype(_wide(dtype)), b.astype(_wide(dtype))).astype(dtype)
        for left in LAYOUTS:
            for right in LAYOUTS:
                got = px.matmul(put(case, a, left), put(case, b, right))
                same(case, got, want, f"{left} {a.shape} by {right} {b.shape}")
    square = whole_numbers(case, (20, 20), dtype, "square")
    x = put(case, square)
    want = np.matmul(square.astype(_wide(dtype)), square.astype(_wide(dtype)).T).astype(dtype)
    same(case, x @ x.T, want, "by its own transpose")
    x @= x.T
    same(case, x, want, "in place")


def test_matmul_promotes(case: Case) -> None:
    """Operands of two dtypes are multiplied in their common one."""
    a, b = whole_numbers(case, (3, 4), "int8"), whole_numbers(case, (4, 2), "int32")
    same(case, put(case, a) @ put(case, b), (a.astype(np.int32) @ b))
    need(case, "complex64")
    c = whole_numbers(case, (4, 2), "complex64")
    d = whole_numbers(case, (3, 4), "float32")
    same(case, put(case, d) @ put(case, c), (d.astype(np.complex64) @ c))


@pytest.mark.parametrize("dtype", ["int32", "float32", "complex64"])
@pytest.mark.parametrize(
    "axes", [0, 1, 2, ((0,), (1,)), ((1, 0), (0, 1)), ((-1,), (-2,)), ((), ())]
)
def test_tensordot(case: Case, axes: Any, dtype: str) -> None:
    """Sums of products over a number of axes, or over named ones."""
    need(case, dtype)
    a, b = whole_numbers(case, (3, 3, 3), dtype, 1), whole_numbers(case, (3, 3), dtype, 2)
    for layout in LAYOUTS:
        got = px.tensordot(put(case, a, layout), put(case, b, layout), axes=axes)
        want = np.tensordot(a.astype(_wide(dtype)), b.astype(_wide(dtype)), axes=axes)
        same(case, got, want.astype(dtype), layout)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "complex64"])
def test_vecdot(case: Case, dtype: str) -> None:
    """Products of vectors along an axis from the end, with the first operand conjugated."""
    need(case, dtype)
    shapes = (((5,), (5,)), ((3, 5), (5,)), ((2, 1, 5), (4, 5)), ((3, 0), (3, 0)), ((0, 4), (4,)))
    for shape1, shape2 in shapes:
        a, b = whole_numbers(case, shape1, dtype, 1), whole_numbers(case, shape2, dtype, 2)
        want = np.asarray(np.vecdot(a, b))
        same(case, px.vecdot(put(case, a), put(case, b, "mixed")), want, f"{shape1}, {shape2}")
    a, b = whole_numbers(case, (4, 3), dtype, 1), whole_numbers(case, (2, 4, 3), dtype, 2)
    same(case, px.vecdot(put(case, a), put(case, b), axis=-2), np.vecdot(a.mT, b.mT), "axis -2")


def test_matrix_transpose(case: Case) -> None:
    """``matrix_transpose``, ``mT`` and ``T`` of matrices and stacks."""
    for shape in ((2, 3), (4, 2, 3), (2, 0, 3, 1)):
        host = whole_numbers(case, shape, "int32")
        x = put(case, host, "mixed")
        same(case, px.matrix_transpose(x), np.matrix_transpose(host))
        same(case, x.mT, np.matrix_transpose(host))
    same(case, px.ones((2, 3), dtype=px.int32).T, np.ones((3, 2), np.int32))
    for ndim in (0, 1):
        with pytest.raises(ValueError, match="axes"):
            px.matrix_transpose(px.ones((3,) * ndim, dtype=px.int32))
