"""Matrix products: the bits of the fma chain over k, whatever the tile, the pass and the layout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import STYLES, in_style, values, wrong
from conftest import real_cpu
from exhaustive import some_of
from phalanx._warm import dtype_from_name
from phalanx.device_code import matmul
from phalanx.kernels_opencl.matmul import LaneChains
from phalanx.optable import OPS

DTYPES = [signature.inputs[0] for signature in OPS["matmul"].signatures]
SEVERAL = ("float16", "float32", "complex64", "uint8", "complex128")
SHAPES = [
    ((3, 4), (4, 5)),
    ((1, 1), (1, 1)),
    ((3, 0), (0, 4)),
    ((64, 64), (64, 64)),
    ((129, 1030), (1030, 67)),
    ((300,), (300, 40)),
    ((64, 1500), (1500,)),
    ((127, 6), (6,)),
    ((5,), (5, 128)),
    ((3, 7), (7, 161)),
    ((40, 9), (9, 2)),
    ((5, 63, 80), (5, 80, 70)),
    ((2, 3, 50, 41), (3, 41, 60)),
    ((4, 1, 60, 41), (7, 41, 60)),
]


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


def product(a: np.ndarray, b: np.ndarray, dtype: str, where: px.Device, form: str) -> np.ndarray:
    """The product of two operands that lie in memory in some way."""
    operands = []
    for x in (a, b):
        turned = form == "transposed" and x.ndim > 1
        data = np.ascontiguousarray(np.swapaxes(x, -1, -2)) if turned else x
        array = px.asarray(data, dtype=dtype_from_name(dtype), device=where)
        array = array.mT if turned else array
        operands.append(px.flip(array) if form == "backwards" else array)
    return np.ascontiguousarray(px.asnumpy(px.matmul(*operands)))


def compare(a: np.ndarray, b: np.ndarray, dtype: str, where: px.Device, form: str) -> None:
    got, want = (product(a, b, dtype, place, form) for place in (where, real_cpu()))
    assert got.shape == want.shape
    bad = np.flatnonzero(wrong(got.reshape(-1), want.reshape(-1)))
    assert not bad.size, f"{dtype} {a.shape} {b.shape} {form}: {bad.size} of {got.size} differ"


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("float16", "float64")))
def test_same_as_cpu(where: px.Device, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for tiles, packed in ((2**62, 2**62), (0, 2**62), (0, 0)):  # plain, unpacked and packed
        for chains in (matmul.Chains, LaneChains):
            monkeypatch.setattr(chains, "tiles_from", tiles)
            monkeypatch.setattr(chains, "packed_from", packed)
        for left, right in SHAPES:
            a = values(dtype, int(np.prod(left)), seed=1).reshape(left)
            b = values(dtype, int(np.prod(right)), seed=2).reshape(right)
            for form in ("dense", "transposed", "backwards"):
                compare(a, b, dtype, where, form)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "uint8", "int64"])
def test_passes(where: px.Device, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products cut into passes over rows, columns, batches and k."""
    for chains in (matmul.Chains, LaneChains):
        monkeypatch.setattr(chains, "tiles_from", 0)
        monkeypatch.setattr(chains, "packed_from", 0)
        monkeypatch.setattr(chains, "steps", 40)
    monkeypatch.setattr(matmul, "_ROOM", 40 * 70)
    a = values(dtype, 3 * 200 * 130).reshape(3, 200, 130)
    b = values(dtype, 3 * 130 * 150, seed=2).reshape(3, 130, 150)
    compare(a, b, dtype, where, "dense")


@pytest.mark.parametrize("dtype", some_of(SEVERAL, ("float32", "complex64")))
def test_several_chains(where: px.Device, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More steps of k than a chain has, in one piece and rows by rows."""
    shapes = [((k,), (k,)) for k in (4095, 4096, 4097, 8192, 8193, 2**20)]
    shapes += [((3, 2, 12_293), (12_293, 5)), ((20, 8193), (8193, 30)), ((1, 9000), (9000, 70))]
    for left, right in shapes:
        a = values(dtype, int(np.prod(left)), seed=1).reshape(left)
        b = values(dtype, int(np.prod(right)), seed=2).reshape(right)
        for form in ("dense", "transposed", "backwards"):
            compare(a, b, dtype, where, form)
    monkeypatch.setattr(matmul, "_ROOM", 8000)
    compare(a, b, dtype, where, "dense")
    a, b = (values(dtype, 30 * 5000, seed=s) for s in (3, 4))
    compare(a.reshape(30, 5000), b.reshape(5000, 30), dtype, where, "transposed")


@pytest.mark.parametrize("special", ["tiny", "nan"])
def test_special_values(where: px.Device, special: str) -> None:
    """Products that underflow to -0, and NaN and infinity, stay in their rows and columns."""
    a, b = values("float32", 70 * 60).reshape(70, 60), values("float32", 60 * 90).reshape(60, 90)
    if special == "tiny":
        a, b = a * np.float32(1e-23), b * np.float32(1e-22)
        a[:, ::3] = -0.0
    else:
        a[3, 4], b[5, 6], a[10, :] = np.inf, np.nan, -0.0
    compare(a, b, "float32", where, "dense")
