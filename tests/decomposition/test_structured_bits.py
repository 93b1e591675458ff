"""Decomposed reductions, scans, sorts, searches, moves and products have the bits of the CPU."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from exhaustive import some
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import HostArray, wild_values
from phalanx.optable import ALL, DTYPES, FLOATING, OPS, REAL, WHOLE, Structure
from phalanx.optable.structured import NO_PLACE

from .kit import assert_same_bits, numbers, primitive

RNG = np.random.default_rng(5)


def overloads(*structures: Structure) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (row.name, s.dtypes)
        for row in OPS.values()
        if row.structure in structures
        for s in row.signatures
        if not primitive(row.name, s.dtypes)
    ]


def near_one(op: str, x: HostArray) -> HostArray:
    """Factors whose product does not overflow."""
    if not op.endswith("prod") or x.dtype.kind in "iu":
        return x
    return (1 + x * 0.01).astype(x.dtype)


@pytest.mark.parametrize(("op", "dtypes"), some(overloads(Structure.REDUCTION), 40))
def test_reductions(op: str, dtypes: tuple[str, ...]) -> None:
    complex_product = op == "prod" and dtypes[0].startswith("complex")
    for shape in ((3, 1), (2, 65), (2, 200), (1, 4097), (2, 9000)):
        if not complex_product or shape[-1] < 300:
            x = near_one(op, numbers(dtypes[0], shape, RNG))
            assert_same_bits(op, dtypes, [x], shape[:-1])
    if op in ("max", "min", "argmax", "argmin", "any", "all", "count_nonzero"):
        x = wild_values(dtypes[0], 400, RNG).reshape(100, 4)
        assert_same_bits(op, dtypes, [x], (100,))
    if op not in ("max", "min", "argmax", "argmin"):
        assert_same_bits(op, dtypes, [np.empty((3, 0), host_dtype(dtypes[0]))], (3,))


@pytest.mark.parametrize(("op", "dtypes"), some(overloads(Structure.SCAN), 12))
def test_scans(op: str, dtypes: tuple[str, ...]) -> None:
    slow = op == "cumulative_prod" and dtypes[0].startswith("complex")
    for shape in ((3, 1), (2, 256), (1, 257), (2, 600), (1, 66_000)):
        if not slow or shape[-1] < 258:
            x = near_one(op, numbers(dtypes[0], shape, RNG))
            assert_same_bits(op, dtypes, [x], shape)


@pytest.mark.parametrize(("op", "dtypes"), some(overloads(Structure.SORT), 12))
@pytest.mark.parametrize("descending", [0, 1])
def test_sorts(op: str, dtypes: tuple[str, ...], descending: int) -> None:
    for shape in ((3, 1), (2, 5), (4, 100)):
        x = wild_values(dtypes[0], 400, RNG)[: shape[0] * shape[1]].reshape(shape)
        assert_same_bits(op, dtypes, [x], shape, (descending,))


@pytest.mark.parametrize("dtype", some(REAL, 4))
def test_searchsorted(dtype: str) -> None:
    for n in (0, 1, 2, 64, 300):
        edges = px.asnumpy(px.sort(px.asarray(wild_values(dtype, 300, RNG)[:n], device="cpu:0")))
        values = np.concatenate([edges[:9], wild_values(dtype, 100, RNG)])
        for right in (0, 1):
            dtypes = (dtype, dtype, "int64")
            assert_same_bits("searchsorted", dtypes, [edges, values], values.shape, (right,))


@pytest.mark.parametrize("dtype", some(ALL, 5))
def test_moves(dtype: str) -> None:
    x = wild_values(dtype, 120, RNG)
    mask = RNG.integers(0, 2, 60).astype(bool)
    kept = (int(mask.sum()), 2)
    assert_same_bits("compress", (dtype, "bool", dtype), [x.reshape(60, 2), mask], kept)
    places = RNG.permutation(60).astype(np.int64)
    places[3] = NO_PLACE
    kinds = (dtype, "int64", dtype)
    assert_same_bits("gather", kinds, [x, places], (60,))
    assert_same_bits("scatter", kinds, [x[:60], places], (60,))


def test_nonzero() -> None:
    for n in (1, 5, 1000):
        mask = RNG.integers(0, 2, n).astype(bool)
        assert_same_bits("nonzero", ("bool", "int64"), [mask], (int(mask.sum()),))


def test_counts() -> None:
    ids = RNG.integers(-3, 40, 500)
    assert_same_bits("bincount", ("int64", "int64"), [ids], (30,))
    assert_same_bits("bincount", ("int64", "int64"), [ids[:0]], (4,))
    for dtype in FLOATING:
        x = wild_values(dtype, 300, RNG)
        edges = np.array([-3, -1, 0, 0.5, 1, 2, 1000]).astype(host_dtype(dtype))
        assert_same_bits("histogram", (dtype, dtype, "int64"), [x, edges], (6,))


@pytest.mark.parametrize("dtype", some([d for d in ALL if d not in ("bool", "int64")], 6))
def test_arange(dtype: str) -> None:
    step = 0.3 if DTYPES[dtype].kind in "fc" else 3
    ends = [np.array(x).astype(host_dtype(dtype)) for x in (7, step)]
    assert_same_bits("arange", (dtype,) * 3, ends, (70_000,))


@pytest.mark.parametrize("dtype", some([d for d in ALL if d != "bool"], 6))
def test_matmul(dtype: str) -> None:
    for m, k, n in ((1, 1, 1), (3, 0, 2), (5, 33, 7)):
        x, y = numbers(dtype, (2, m, k), RNG), numbers(dtype, (2, k, n), RNG)
        assert_same_bits("matmul", (dtype,) * 3, [x, y], (2, m, n))


def test_long_matmul() -> None:
    x, y = numbers("float32", (2, 5000), RNG), numbers("float32", (5000, 3), RNG)
    assert_same_bits("matmul", ("float32",) * 3, [x, y], (2, 3))


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("op", ["softmax", "log_softmax", "layer_norm"])
def test_rows(op: str, dtype: str) -> None:
    count = 3 if op == "layer_norm" else 1
    params = (0x3EE4F8B588E368F1,) if count > 1 else ()  # the bits of 1e-5
    wild = wild_values(dtype, 256, RNG).reshape(64, 4)
    shapes = ((3, 0), (3, 1), (2, 100), (1, 5000))
    for x in (wild, *(numbers(dtype, shape, RNG) for shape in shapes)):
        rows = [x, *(numbers(dtype, x.shape[-1:], RNG) for _ in range(count - 1))]
        assert_same_bits(op, (dtype,) * (count + 1), rows, x.shape, params)


SCALARS = {"random_bits": (2**31 + 77,), "random_bernoulli": (2**63,), "random_integers": (5, 90)}


@pytest.mark.parametrize(("op", "dtypes"), overloads(Structure.RANDOM))
def test_random_numbers(op: str, dtypes: tuple[str, ...]) -> None:
    if op in WHOLE:
        return
    values = SCALARS.get(op, (0.25, 1.5))
    scalars = [np.array(x).astype(host_dtype(d)) for x, d in zip(values, dtypes[:-1], strict=False)]
    for n in (0, 1, 3, 7, 500):
        assert_same_bits(op, dtypes, scalars, (n,), (-12345678901234, 77, 2**62))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_factors(dtype: str) -> None:
    for b, n in ((2, 1), (2, 2), (1, 9)):
        x = numbers(dtype, (b, n, n), RNG)
        positive = (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)
        for matrix in (positive, x):
            assert_same_bits("cholesky", (dtype,) * 2, [matrix], (b, n, n))
        for m in (n, n + 3, max(1, n - 2)):
            assert_same_bits("lu", (dtype,) * 2, [numbers(dtype, (b, m, n), RNG)], (b, m, n + 1))
        assert_same_bits("lu", (dtype,) * 2, [np.zeros_like(x)], (b, n, n + 1))
        for unit in (0, 1):
            y = numbers(dtype, (b, n, 3), RNG)
            assert_same_bits("triangular_solve", (dtype,) * 3, [x, y], (b, n, 3), (unit,))
