"""Scans, contractions and softmax in the orders that docs/ops.md states: every bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import order_model
import phalanx as px
import pytest
from array_kit import assert_same, generator
from phalanx.conformance.reference.formats import PARTS, host_dtype
from phalanx.conformance.reference.values import HostArray
from phalanx.optable import COMPLEX, FLOATING, INTEGER
from phalanx.optable.structured import SOFTMAX_EXP_ULP
from scalar_library import ScalarLibrary

pytestmark = pytest.mark.needs_cpu

HALVES = ("float16", "bfloat16")


def computed(x: HostArray) -> HostArray:
    """The values in the dtype of the arithmetic."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x


# ---- scans ---------------------------------------------------------------------------------------


def test_a_scan_of_carries_of_carries(cpu: px.Device) -> None:
    """2^24 + 1 elements: blocks of blocks of blocks, and one that is alone on every level."""
    n = 2**24 + 1
    x = generator("long scan").standard_normal(n).astype(np.float32)
    want = order_model.scan(x, np.add)
    plain = np.cumsum(x, dtype=np.float32)
    assert np.count_nonzero(want != plain) > n // 2, "the order shows in these values"
    assert_same(px.cumulative_sum(px.asarray(x)), want, f"{n}")
    columns = px.asarray(np.stack([x, x], axis=1), device=cpu)
    assert_same(px.cumulative_sum(columns, axis=0)[:, 1], want, "columns")


@pytest.mark.parametrize("name", [*FLOATING, "complex64"])
@pytest.mark.parametrize("n", [65535, 65536, 65537, 66048 + 3])
def test_scans_around_two_levels(name: str, n: int, cpu: px.Device) -> None:
    """Rows, columns, and rows with gaps."""
    rng = generator("scan", name, n)
    x = rng.standard_normal((2, n))
    x = (x + 1j * rng.standard_normal((2, n)) if name in PARTS else x).astype(host_dtype(name))
    want = order_model.scan(computed(x).T, np.add).T.astype(x.dtype)
    array = px.asarray(x, device=cpu)
    assert_same(px.cumulative_sum(array, axis=1), np.ascontiguousarray(want), "rows")
    turned = px.cumulative_sum(px.asarray(x.T.copy(), device=cpu), axis=0)
    assert_same(turned, np.ascontiguousarray(want.T), "columns")
    gaps = px.asarray(np.repeat(x, 2, axis=1), device=cpu)[:, ::2]
    assert_same(px.cumulative_sum(gaps, axis=1), np.ascontiguousarray(want), "gaps")


# ---- contractions --------------------------------------------------------------------------------


def short_numbers(name: str, shape: tuple[int, ...], *labels: object) -> HostArray:
    """Numbers whose products are exact in the type of the arithmetic, but not their sums."""
    rng = generator(name, shape, *labels)
    part = PARTS.get(name, name)

    def real() -> Any:
        most = 2**24 if part == "float64" else 2**7
        low, high = (-14, -6) if part == "float16" else (-6, 6)
        return rng.integers(-most, most, shape) * 2.0 ** rng.integers(low, high, shape)

    values = real() + 1j * real() if name in PARTS else real()
    return values.astype(host_dtype(name))


def expected(a: HostArray, b: HostArray) -> HostArray:
    return order_model.contraction(computed(a), computed(b)).astype(a.dtype)


@pytest.mark.parametrize("name", [*FLOATING, *COMPLEX])
@pytest.mark.parametrize("k", [4095, 4096, 4097, 8192, 8193, 3 * 4096 + 5])
def test_contractions_around_chains(name: str, k: int, cpu: px.Device) -> None:
    for m, n in ((1, 1), (1, 9), (2, 3), (17, 18)):
        a, b = short_numbers(name, (m, k), "a"), short_numbers(name, (k, n), "b")
        want = expected(a, b)
        left, right = px.asarray(a, device=cpu), px.asarray(b, device=cpu)
        assert_same(left @ right, want, f"{m}, {k}, {n}")
        left = px.asarray(a.T.copy(), device=cpu).mT
        right = px.asarray(np.repeat(b, 2, axis=0), device=cpu)[::2]
        assert_same(left @ right, want, f"{m}, {k}, {n} transposed and with gaps")


@pytest.mark.parametrize("name", [*FLOATING, *COMPLEX])
def test_a_contraction_of_many_chains(name: str, cpu: px.Device) -> None:
    a, b = short_numbers(name, (2**20,), "a"), short_numbers(name, (2**20,), "b")
    want = expected(a[None], b[:, None])[0, 0]
    x, y = px.asarray(a, device=cpu), px.asarray(b, device=cpu)
    assert_same(x @ y, want, "matmul")
    assert_same(px.vecdot(px.conj(x) if name in PARTS else x, y), want, "vecdot")
    cubes = [px.reshape(v, (2**10, 2**5, 2**5)) for v in (x, y)]
    assert_same(px.tensordot(*cubes, axes=3), want, "tensordot")


@pytest.mark.parametrize("name", ["float32", "float16", "complex128"])
def test_batches_of_several_chains(name: str, cpu: px.Device) -> None:
    """Batches that share an operand, and the same chains for each."""
    a, b = short_numbers(name, (3, 2, 5000), "a"), short_numbers(name, (5000, 4), "b")
    want = np.stack([expected(x, b) for x in a])
    assert_same(px.asarray(a, device=cpu) @ px.asarray(b, device=cpu), want, "batches")


@pytest.mark.parametrize("name", INTEGER)
def test_long_integer_contractions_wrap(name: str, cpu: px.Device) -> None:
    info, rng = np.iinfo(name), generator(name)
    a, b = (
        rng.integers(info.min, info.max, s, name, endpoint=True) for s in ((3, 8193), (8193, 2))
    )
    with np.errstate(over="ignore"):
        want = (a[:, :, None] * b[None]).sum(axis=1, dtype=name)
    assert_same(px.asarray(a, device=cpu) @ px.asarray(b, device=cpu), want, name)


# ---- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_order_of_softmax(name: str, cpu: px.Device) -> None:
    for n in (1, 2, 63, 64, 65, 1000, 4097, 70_001):
        x = (generator(name, n).standard_normal(n) * 30).astype(host_dtype(name))
        want = order_model.softmax(computed(x)).astype(x.dtype)
        assert_same(px.softmax(px.asarray(x, device=cpu)), want, f"{n}")
        logs = order_model.log_softmax(computed(x)).astype(x.dtype)
        assert_same(px.nn.log_softmax(px.asarray(x, device=cpu)), logs, f"logarithm of {n}")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_order_of_layer_norm(name: str, cpu: px.Device) -> None:
    for n in (1, 2, 63, 64, 65, 1000, 4097, 70_001):
        some = generator(name, n).standard_normal((3, n)) * 3 + 1
        x, weight, bias = some.astype(host_dtype(name))
        operands = (px.asarray(a, device=cpu) for a in (x, weight, bias))
        first, *others = (computed(a) for a in (x, weight, bias))
        want = order_model.layer_norm(first, *others, 1e-5).astype(x.dtype)
        got = px.nn.layer_norm(next(operands), n, *operands)
        assert_same(got, want, f"{n}")
        none = order_model.layer_norm(first, np.float32(1), np.float32(-0.0), 0.5).astype(x.dtype)
        assert_same(px.nn.layer_norm(px.asarray(x, device=cpu), n, eps=0.5), none, f"{n} alone")


def test_the_exponential_inside_of_softmax(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A stratified sample of all float32 up to 0: as its model, and within the stated bound."""
    folder = tmp_path_factory.mktemp("softmax_exp")
    library = ScalarLibrary(folder, ["softmax_exp.h"], {"softmax_exp_f32": ("f32", "f32")})
    bits = np.arange(0x80000000, 0xFF800001, 4099, dtype=np.uint64).astype(np.uint32)
    # The worst, of normal and of subnormal results; around the ends of both.
    worst = [float.fromhex("-0x1.765026p+2"), float.fromhex("-0x1.5ec8f6p+6")]
    edges = np.linspace(-104.5, -86.5, 20_001)
    x = np.concatenate([bits.view(np.float32), worst, edges]).astype(np.float32)
    got = library("softmax_exp_f32", x)
    assert_same(got, order_model.softmax_exp(x), "the model")
    exact = np.exp(x.astype(np.longdouble))
    step = np.spacing(np.maximum(exact, 2.0**-126).astype(np.float32)).astype(np.longdouble)
    step = np.where((exact < 1) & (exact.astype(np.float32) == 1), 2.0**-24, step)
    assert float((np.abs(got - exact) / step).max()) <= SOFTMAX_EXP_ULP
    special = np.array([0.0, -0.0, -np.inf, -104, np.nan], np.float32)
    assert library("softmax_exp_f32", special)[:4].tolist() == [1, 1, 0, 0]
    assert np.isnan(library("softmax_exp_f32", special)[4])
