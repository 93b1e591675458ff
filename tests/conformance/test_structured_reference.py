"""The references of the structured ops: complete, and right by mpmath or plain Python."""

from __future__ import annotations

import functools
import math
import operator
import struct
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from phalanx.conformance.groups.ops.structured_data import rows
from phalanx.conformance.reference import order, sums
from phalanx.conformance.reference import rows as normalized
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.conformance.reference.fourier import packed, scale_bits, table, unit_roots
from phalanx.conformance.reference.near import Near, Only, near, overflow_of, roundoff
from phalanx.conformance.reference.random_tries import Decided
from phalanx.conformance.reference.structured import REFERENCES, expected, gathered, scattered
from phalanx.conformance.reference.values import (
    HostArray,
    any_bits,
    ordinary_values,
    special_values,
    wild_values,
)
from phalanx.optable import FLOATING, INTEGER, OPS, REAL, Op, Structure

STRUCTURED = [row for row in OPS.values() if row.structure is not Structure.ELEMENTWISE]
SEED = 7


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def operands(row: Op, inputs: tuple[str, ...], rng: np.random.Generator) -> tuple[HostArray, ...]:
    first = ordinary_values(inputs[0], 12, rng)
    if row.structure is Structure.CONTRACTION:
        return first.reshape(3, 4), ordinary_values(inputs[1], 8, rng).reshape(4, 2)
    if row.structure is Structure.FACTORIZATION:
        square = first[:9].reshape(1, 3, 3)
        return (square,) if len(inputs) == 1 else (square, square)
    if row.structure is Structure.SEARCH:
        return np.sort(first), ordinary_values(inputs[1], 5, rng)
    if row.structure is Structure.RANDOM:
        return tuple(np.array(i, host_dtype(d)) for i, d in enumerate(inputs, 1))
    if row.name == "fft":
        return first.reshape(2, 6), table((2, 4), inputs[0])
    if row.structure is Structure.FOURIER:
        return first.reshape(2, 6), ordinary_values(inputs[1], 7, rng)
    if row.structure is Structure.GENERATION:
        return first[:1].reshape(()), first[1:2].reshape(())
    if row.structure is Structure.SEGMENT:
        numbers = np.arange(12) % 4
        edges = np.array([-1, 0, 1, 2]).astype(first.dtype)
        second = edges if row.name == "histogram" else numbers
        return (
            (numbers,)
            if len(inputs) == 1
            else (first if row.name == "histogram" else first.reshape(-1, 1), second)
        )
    if row.name == "layer_norm":
        return first.reshape(3, 4), first[:4], first[4:8]
    if row.name == "compress":
        return first.reshape(6, 2), np.arange(6) % 2 == 0
    return (first if row.name in ("nonzero", "wrap_index") else first.reshape(3, 4),)


EPS = struct.unpack("<q", struct.pack("<d", 1e-5))[0]
PARAMS = {
    "sort": (1,),
    "argsort": (0,),
    "searchsorted": (1,),
    "wrap_index": (20, 3),
    "arange": (9,),
    "layer_norm": (EPS,),
    "triangular_solve": (0,),
    "fft": (0, 0x3F800000, *packed((2, 4))),
    "fft_from_pairs": (0x3F800000,),
    **dict.fromkeys(("segment_sum", "bincount", "histogram"), (3,)),
    **{row.name: (7, -8, 9, 3) for row in STRUCTURED if row.structure is Structure.RANDOM},
}
SHAPES = {
    **dict.fromkeys(("cumulative_sum", "cumulative_prod", "sort", "argsort"), (3, 4)),
    **dict.fromkeys(("softmax", "log_softmax", "layer_norm"), (3, 4)),
    **{"searchsorted": (5,), "compress": (3, 2), "wrap_index": (12,), "arange": (9,)},
    **{"matmul": (3, 2), "fft": (2, 8), "fft_from_pairs": (2, 7), "fft_to_pairs": (2, 6)},
    **dict.fromkeys(("cholesky", "triangular_solve"), (1, 3, 3)),
    **{"lu": (1, 3, 4), "householder": (1, 6, 3), "jacobi": (1, 7, 3), "schur": (1, 10, 3)},
    "eigh": (1, 5, 3),
    "segment_sum": (3, 1),
}


@pytest.mark.parametrize("row", STRUCTURED, ids=lambda row: row.name)
def test_every_overload_has_a_reference(row: Op, rng: np.random.Generator) -> None:
    if row.name in ("gather", "scatter"):
        return  # these move memory: gathered and scattered, below
    for signature in row.signatures:
        args = operands(row, signature.inputs, rng)
        to = signature.outputs[0]
        want = expected(row.name, args, to, PARAMS.get(row.name, ()))
        if row.name != "nonzero":
            assert want.shape == SHAPES.get(row.name, (3,)), signature
        if isinstance(want, Only | Decided):
            assert want.values.dtype == host_dtype(to), signature
        else:
            assert isinstance(want, Near)
            assert to in FORMATS or to in PARTS
        index = tuple(0 for _ in want.shape)
        assert want.text(index)


def test_no_reference_without_an_op() -> None:
    assert set(REFERENCES) | {"gather", "scatter"} == {row.name for row in STRUCTURED}


# ---- sums and products ---------------------------------------------------------------------------


def exact(x: HostArray) -> list[Fraction]:
    return [Fraction(float(v)) for v in x]


@pytest.mark.parametrize("name", FLOATING)
def test_sums_agree_with_fractions(name: str, rng: np.random.Generator) -> None:
    x = rows("sum", name, 6, 300, rng)
    want = sums.sums(x, mean=False)
    running = sums.running_sums(x)
    mean = sums.sums(x, mean=True)
    for r in range(len(x)):
        total = sum(exact(x[r]))
        for found, value in ((want, total), (mean, total / 300)):
            error = abs(Fraction(found.values[r]) + Fraction(found.rest[r]) - value)
            assert error <= Fraction(found.radius[r]) / 8
        part = Fraction(0)
        for i, v in enumerate(exact(x[r])):
            part += v
            got = Fraction(running.values[r, i]) + Fraction(running.rest[r, i])
            assert abs(got - part) <= Fraction(running.radius[r, i]) / 8 + Fraction(2) ** -1074


def tree(parts: list[Any]) -> Any:
    half = 1
    while half < len(parts):
        half *= 2
    while half := half // 2:
        for i in range(half):
            if i + half < len(parts):
                parts[i] = parts[i] + parts[i + half]
        parts = parts[:half]
    return parts[0]


def sum_in_order(x: HostArray) -> Any:
    totals = []
    for begin in range(0, len(x), 4096):
        block = x[begin : begin + 4096]
        totals.append(tree([functools.reduce(operator.add, block[j::64]) for j in range(64)]))
    return tree(totals)


def test_the_order_of_evaluation_is_within_the_bound(rng: np.random.Generator) -> None:
    """And uses a good part of it in the worst case, where all roundings go one way."""
    for n in (64, 4096, 9000):
        x = rows("sum", "float32", 4, n, rng)
        want = sums.sums(x, mean=False)
        got = np.array([sum_in_order(row) for row in x])
        assert want.errors(got).max() <= 1.0
    assert [sums.tree_depth(n) for n in (0, 1, 2, 64, 65, 4096, 4097)] == [0, 0, 1, 6, 7, 69, 70]
    assert sums.scan_depth(515)[[0, 255, 256, 511, 512, 514]].tolist() == [
        0,
        255,
        256,
        256,
        257,
        257,
    ]
    assert sums.scan_depth(66049)[[65535, 65536, 65792, 66048]].tolist() == [510, 511, 512, 512]
    assert [sums.chain_depth(k) for k in (0, 1, 4096, 4097, 8192, 8193, 2**20)] == [
        *(0, 1, 4096, 4097, 4097, 4098, 4104),
    ]


@pytest.mark.parametrize("op", ["sum", "mean", "cumulative_sum"])
def test_a_narrow_accumulator_is_outside_of_the_bound(op: str, rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 1, (1, 1000)).astype(np.float16)
    narrow = np.cumsum(x, axis=-1, dtype=np.float16)
    wide = np.cumsum(x, axis=-1, dtype=np.float32)
    for total, is_right in ((narrow, False), (wide, True)):
        got = (
            total
            if op == "cumulative_sum"
            else total[:, -1] / total.dtype.type(1000 if op == "mean" else 1)
        )
        errors = expected(op, (x,), "float16").errors(got.astype(np.float16))
        assert (errors.max() <= 1) == is_right


@pytest.mark.parametrize("name", [*FLOATING, *PARTS])
def test_products_agree_with_mpmath(name: str, rng: np.random.Generator) -> None:
    x = rows("prod", name, 3, 200, rng)
    want, running = sums.products(x), sums.running_products(x)
    with mpmath.workprec(400):
        for r in range(len(x)):
            product = mpmath.mpf(1)
            for i, v in enumerate(x[r].tolist()):
                product *= mpmath.mpmathify(complex(v) if name in PARTS else float(v))
                check_parts(running, (r, i), product)
            check_parts(want, (r,), product)


def check_parts(found: Near, at: tuple[int, ...], value: Any) -> None:
    parts = [value.real, value.imag] if found.complex_result else [value]
    for k, part in enumerate(parts):
        place = (*at, k) if found.complex_result else at
        got = mpmath.mpf(float(found.values[place])) + mpmath.mpf(float(found.rest[place]))
        # Of a product of one factor nothing is rounded, so the radius is 0.
        assert abs(got - part) <= found.radius[place] / 4 + 1e-30


@pytest.mark.parametrize("name", INTEGER)
def test_integer_sums_wrap(name: str, rng: np.random.Generator) -> None:
    x = any_bits(name, 300, rng).reshape(3, 100)
    to = "uint64" if name.startswith("u") else "int64"
    functions = {"sum": sum, "prod": math.prod}
    for op, function in functions.items():
        want = [function(row) for row in x.tolist()]
        assert wrap(want, to) == values(expected(op, (x,), to)).tolist()
    for op, step in (("cumulative_sum", operator.add), ("cumulative_prod", operator.mul)):
        got = values(expected(op, (x,), name)).tolist()
        for row, found in zip(x.tolist(), got, strict=True):
            totals, total = [], None
            for v in row:
                total = v if total is None else step(total, v)
                totals.append(total)
            assert wrap(totals, name) == found


def wrap(numbers: list[int], name: str) -> list[int]:
    info = np.iinfo(host_dtype(name))
    return [(v - info.min) % (1 << info.bits) + info.min for v in numbers]


def values(want: Any) -> HostArray:
    assert isinstance(want, Only)
    return want.values


def test_special_sums() -> None:
    inf, nan = math.inf, math.nan
    x = np.array([[inf, 1.0], [inf, -inf], [nan, 1.0], [-0.0, -0.0], [0.0, -0.0]])
    want = sums.sums(x, mean=False)
    assert want.errors(np.array([inf, nan, nan, -0.0, 0.0])).tolist() == [0] * 5
    assert want.errors(np.array([nan, inf, 1.0, 0.0, -0.0])).tolist() == [inf] * 5
    assert np.isnan(sums.sums(np.empty((2, 0)), mean=True).values).all()
    assert sums.products(np.empty((2, 0))).values.tolist() == [1, 1]


def test_overflow_is_judged_as_ieee_754_says() -> None:
    top = np.float32(np.finfo(np.float32).max)
    want = sums.sums(np.array([[top, top]]), mean=False)
    assert want.errors(np.array([np.inf], np.float32))[0] == 0
    assert want.errors(np.array([top]))[0] > 1
    assert want.errors(np.array([-np.inf], np.float32))[0] == np.inf
    assert overflow_of("float16") == 65520
    just = near(np.array([65519.0, 65521.0]), np.zeros(2), "float16")
    assert (just.errors(np.array([np.inf, np.inf], np.float16)) <= 1).tolist() == [True, True]


# ---- products of matrices, softmax, ranges -------------------------------------------------------


@pytest.mark.parametrize("name", [*FLOATING, *PARTS])
def test_matrix_products_agree_with_fractions(name: str, rng: np.random.Generator) -> None:
    a = ordinary_values(name, 2 * 3 * 30, rng).reshape(2, 3, 30)
    b = ordinary_values(name, 2 * 30 * 2, rng).reshape(2, 30, 2)
    want = sums.matrix_products(a, b)
    for at in np.ndindex(2, 3, 2):
        left, right = a[at[0], at[1]], b[at[0], :, at[2]]
        pairs = list(zip(exact(left.real), exact(left.imag), strict=True))
        others = list(zip(exact(right.real), exact(right.imag), strict=True))
        real = sum(p * r - q * s for (p, q), (r, s) in zip(pairs, others, strict=True))
        imag = sum(p * s + q * r for (p, q), (r, s) in zip(pairs, others, strict=True))
        for k, value in enumerate((real, imag) if name in PARTS else (real,)):
            place = (*at, k) if name in PARTS else at
            got = Fraction(want.values[place]) + Fraction(want.rest[place])
            assert abs(got - value) <= Fraction(want.radius[place]) / 100


def test_a_skipped_term_is_outside_of_the_bound(rng: np.random.Generator) -> None:
    a, b = rng.uniform(0.1, 1, (4, 65)), rng.uniform(0.1, 1, (65, 4))
    want = sums.matrix_products(a.astype(np.float32), b.astype(np.float32))
    assert want.errors((a @ b).astype(np.float32)).max() <= 1
    assert want.errors((a[:, :64] @ b[:64]).astype(np.float32)).min() > 1


@pytest.mark.parametrize("name", FLOATING)
def test_softmax_agrees_with_mpmath(name: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((2, 40)) * 10 + 500).astype(host_dtype(name))
    want, logs = normalized.softmax(x), normalized.log_softmax(x)
    with mpmath.workprec(200):
        for r in range(2):
            powers = [mpmath.exp(mpmath.mpf(float(v)) - 500) for v in x[r]]
            for i, power in enumerate(powers):
                share = power / sum(powers)
                assert abs(_value(want, r, i) - share) <= want.radius[r, i] / 2
                assert abs(_value(logs, r, i) - mpmath.log(share)) <= logs.radius[r, i] / 2
    assert (want.radius <= 200 * roundoff(name) * want.values + want.values / 128 + 1e-7).all()
    sizes = 60 * roundoff(name) + np.abs(logs.values) / 128 * (name in ("float16", "bfloat16"))
    assert (logs.radius <= 200 * roundoff(name) * (1 + np.abs(logs.values)) + sizes).all()


def _value(near: Near, r: int, i: int) -> mpmath.mpf:
    return mpmath.mpf(float(near.values[r, i])) + mpmath.mpf(float(near.rest[r, i]))


@pytest.mark.parametrize("name", FLOATING)
def test_layer_norm_agrees_with_mpmath(name: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((2, 40)) * 3 + 5).astype(host_dtype(name))
    weight, bias = rng.standard_normal((2, 40)).astype(host_dtype(name))
    want = normalized.layer_norm(x, weight, bias, (EPS,))
    with mpmath.workprec(200):
        for r in range(2):
            row = [mpmath.mpf(float(v)) for v in x[r]]
            mean = sum(row) / 40
            root = mpmath.sqrt(sum((v - mean) ** 2 for v in row) / 40 + mpmath.mpf(1e-5))
            for i, v in enumerate(row):
                exact_value = (v - mean) / root * float(weight[i]) + float(bias[i])
                assert abs(_value(want, r, i) - exact_value) <= want.radius[r, i] / 2
    half = np.abs(want.values) / 128 * (name in ("float16", "bfloat16"))
    assert (want.radius <= 200 * roundoff(name) * (1 + np.abs(weight.astype(float))) + half).all()


def test_layer_norm_of_special_rows() -> None:
    inf = np.inf
    x = np.array([[inf, 1.0], [np.nan, 0.0], [2.0, 2.0]])
    got = normalized.layer_norm(x, np.ones(2), np.array([0.0, 3.0]), (EPS,))
    assert np.isnan(got.values[:2]).all()
    assert got.values[2].tolist() == [0, 3]
    none = normalized.layer_norm(x[2:], np.ones(2), np.ones(2), (0,))
    assert np.isinf(none.radius).all() or np.isnan(none.values).all()


def test_softmax_of_special_rows() -> None:
    inf = np.inf
    x = np.array([[inf, 1.0], [-inf, -inf], [np.nan, 0.0], [-inf, 0.0]], np.float32)
    got, logs = normalized.softmax(x).values, normalized.log_softmax(x).values
    assert np.isnan(got[:3]).all()
    assert np.isnan(logs[:3]).all()
    assert got[3].tolist() == [0, 1]
    assert logs[3].tolist() == [-inf, 0]


@pytest.mark.parametrize("name", FLOATING)
def test_ranges_agree_with_fractions(name: str, rng: np.random.Generator) -> None:
    start, step = (v.reshape(()) for v in ordinary_values(name, 2, rng)[:, None])
    want = sums.steps(start, step, range(100))
    for i in range(100):
        value = Fraction(float(start)) + i * Fraction(float(step))
        assert abs(Fraction(want.values[i]) + Fraction(want.rest[i]) - value) <= Fraction(1, 2**90)


# ---- order ---------------------------------------------------------------------------------------


def key(v: Any, signed: bool) -> Any:
    """NaN is the largest; -0 is below +0 if signed."""
    if isinstance(v, float) and math.isnan(v):
        return (1, 0.0, 0)
    return (0, v, math.copysign(1, v) if signed and v == 0 else 0)


def plain(x: HostArray) -> list[Any]:
    return x.astype(np.float64).tolist() if x.dtype.name in FORMATS else x.tolist()


@pytest.mark.parametrize("name", ["bool", *REAL])
def test_sorting_agrees_with_python(name: str, rng: np.random.Generator) -> None:
    for x in (wild_values(name, 100, rng), rng.choice(special_values(name), 100)):
        numbers = plain(x)
        for descending in (False, True):
            want = sorted(range(100), key=lambda i: key(numbers[i], False), reverse=False)
            if descending:  # reversed twice, so that equal ones keep their order
                want = sorted(range(99, -1, -1), key=lambda i: key(numbers[i], False))[::-1]
            assert order.places(x, descending).tolist() == want
            got = plain(order.in_order(x, descending))
            wanted = sorted((key(v, True) for v in numbers), reverse=descending)
            assert [key(v, True) for v in got] == wanted


@pytest.mark.parametrize("name", REAL)
def test_search_and_extremes_agree_with_python(name: str, rng: np.random.Generator) -> None:
    x = rng.choice(special_values(name), 60)
    table = order.in_order(x, descending=False)
    numbers, wanted = [key(v, False) for v in plain(table)], rng.choice(special_values(name), 40)
    for i, v in enumerate(plain(wanted)):
        below = sum(n < key(v, False) for n in numbers)
        equal = sum(n == key(v, False) for n in numbers)
        assert order.search(table, wanted, right=False)[i] == below
        assert order.search(table, wanted, right=True)[i] == below + equal
    for row in (x, x[[not math.isnan(v) for v in x.astype(float)]]):
        listed = plain(row)
        nans = [i for i, v in enumerate(listed) if isinstance(v, float) and math.isnan(v)]
        for largest in (True, False):
            choose = max if largest else min
            place = nans[0] if nans else listed.index(choose(listed))
            assert order.extreme_places(row[None], largest)[0] == place
            found = plain(order.extremes(row[None], largest))[0]
            best = math.nan if nans else choose(listed, key=lambda v: key(v, True))
            assert key(found, True) == key(best, True)


def test_what_counts() -> None:
    x = np.array([0.0, -0.0, np.nan, 5e-324, np.inf])
    assert order.counting(x).tolist() == [False, False, True, True, True]
    z = np.array([0j, 1j, complex(0, np.nan), complex(-0.0, 0)])
    assert order.counting(z).tolist() == [False, True, True, False]


# ---- choices and moves ---------------------------------------------------------------------------


def test_moves() -> None:
    memory = np.arange(10)
    inner = np.array([0, 2])
    assert gathered(memory, inner, np.array([5, 0])).tolist() == [[5, 7], [0, 2]]
    after = scattered(memory, inner, np.array([[-1, -2], [-3, -4]]), np.array([1, 3]))
    assert after.tolist() == [0, -1, 2, -3, 4, -4, 6, 7, 8, 9]
    last = scattered(memory, np.array(0), np.array([-1, -2]), np.array([4, 4]))
    assert last[4] == -2
    lost = np.array([-(2**56), 1, -(2**62), -(2**56) + 2**48])
    assert gathered(memory, inner, lost).tolist() == [[0, 0], [1, 3], [0, 0], [0, 0]]
    assert gathered(memory[:0], inner, lost[:1]).tolist() == [[0, 0]]
    after = scattered(memory, np.array(0), np.array([-1, -2, -3, -4]), lost)
    assert after.tolist() == [0, -2, *range(2, 10)]
    mask = np.array([True, False, True])
    assert values(expected("nonzero", (mask,), "int64")).tolist() == [0, 2]
    chosen = expected("compress", (np.arange(6).reshape(3, 2), mask), "int64")
    assert values(chosen).tolist() == [[0, 1], [4, 5]]
    places = np.array([0, -1, 2, -3])
    assert values(expected("wrap_index", (places,), "int64", (3, -4))).tolist() == [0, -8, -8, 0]
    bad = values(expected("wrap_index", (places,), "int64", (2, 0))).tolist()
    assert bad == [-(2**56)] * 4  # one refuses all


# ---- Fourier transforms --------------------------------------------------------------------------


@pytest.mark.parametrize("inverse", [0, 1])
def test_transforms_agree_with_mpmath(inverse: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(1, 9)) + 1j * rng.normal(size=(1, 9))
    params = (inverse, scale_bits(0.5, "complex128"), *packed((3, 4)))
    want = expected("fft", (x, table((3, 4), "complex128")), "complex128", params)
    assert isinstance(want, Near)
    sign = 1 if inverse else -1
    with mpmath.workdps(40):
        for k in range(12):
            angles = (mpmath.mpf(sign * 2 * j * k) / 12 for j in range(9))
            terms = (mpmath.mpc(v) * mpmath.expjpi(a) for v, a in zip(x[0], angles, strict=True))
            total = mpmath.fsum(terms) / 2
            for part, value in enumerate((total.real, total.imag)):
                found = mpmath.mpf(want.values[0, k, part]) + mpmath.mpf(want.rest[0, k, part])
                assert abs(found - value) < 1e-17
            assert 0 < want.radius[0, k, 0] < 1e-13


def test_pairs_are_the_halves_of_a_real_transform(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 14))
    w = unit_roots(np.arange(8), 14).astype("complex128")
    pairs, half = np.fft.fft(x[:, 0::2] + 1j * x[:, 1::2]), np.fft.rfft(x)
    found = expected("fft_from_pairs", (pairs, w), "complex128", (scale_bits(0.5, "complex128"),))
    back = expected("fft_to_pairs", (half, w), "complex128")
    assert isinstance(found, Near)
    assert isinstance(back, Near)
    np.testing.assert_allclose(found.values[..., 0], half.real, atol=1e-13)
    np.testing.assert_allclose(found.values[..., 1], half.imag, atol=1e-13)
    np.testing.assert_allclose(back.values[..., 0], 2 * pairs.real, atol=1e-13)
    np.testing.assert_allclose(back.values[..., 1], 2 * pairs.imag, atol=1e-13)
