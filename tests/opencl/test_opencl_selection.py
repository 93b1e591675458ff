"""nonzero and compress against NumPy: every item size, density of the mask, and alignment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import phalanx as px
import pytest
from along_kit import STYLES, in_style, values, wrong
from exhaustive import some_of
from phalanx._warm import dtype_from_name, empty, launch, view
from phalanx.driver import Layout
from phalanx.optable import OPS

DTYPES = [signature.inputs[0] for signature in OPS["compress"].signatures]
COUNTS = [1, 7, 8, 9, 255, 4096, 4097, 70_000, 300_007]
SHARES = [0.0, 0.003, 0.5, 0.9, 1.0]


@pytest.fixture(params=STYLES)
def where(device: px.Device, request: pytest.FixtureRequest) -> Iterator[px.Device]:
    """The device with each set of kernels."""
    with in_style(device, request.param) as found:
        yield found


def flags(count: int, share: float) -> np.ndarray:
    return np.random.default_rng(count).random(count) < share


def selected(
    where: px.Device, data: np.ndarray, dtype: str, mask: np.ndarray, shift: int = 0
) -> np.ndarray:
    """Compress rows of data at a mask that begins ``shift`` bytes into its buffer.

    The result lies between two rows that nothing may touch.
    """
    there = dtype_from_name(dtype)
    rows, inner = int(mask.sum()), data.shape[1]
    x = px.asarray(data, dtype=there, device=where)
    kept = px.asarray(np.concatenate([np.ones(shift, np.bool_), mask]), device=where)
    out = px.zeros((rows + 2, inner), dtype=there, device=where)
    target = view(out, (rows, inner), (inner, 1), inner)
    launch("compress", (x, view(kept, mask.shape, (1,), shift)), (target,))
    result = np.ascontiguousarray(px.asnumpy(out))
    assert not result[0].any()
    assert not result[-1].any()
    return result[1:-1]


def same(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape
    bad = np.flatnonzero(wrong(got.reshape(-1), np.ascontiguousarray(want).reshape(-1)))
    assert not bad.size, f"{bad.size} of {got.size} differ, first at {bad[0]}"


@pytest.mark.parametrize("share", SHARES)
def test_places(where: px.Device, share: float) -> None:
    for count in COUNTS:
        mask = flags(count, share)
        found = px.asnumpy(px.nonzero(px.asarray(mask, device=where))[0])
        np.testing.assert_array_equal(found, np.flatnonzero(mask))


@pytest.mark.parametrize("dtype", some_of(DTYPES, ("uint8", "bfloat16", "float64")))
def test_elements(where: px.Device, dtype: str) -> None:
    for count in (1, 100, 5000, 200_003):
        data = values(dtype, count, special=True).reshape(count, 1)
        for share in SHARES:
            mask = flags(count, share)
            same(selected(where, data, dtype, mask), data[mask])


@pytest.mark.parametrize("shift", range(1, 9))
def test_mask_anywhere_in_memory(where: px.Device, shift: int) -> None:
    for count in (1, 3, 8, 20, 70_000):
        data = values("float32", count).reshape(count, 1)
        for share in (0.5, 1.0):
            mask = flags(count, share)
            same(selected(where, data, "float32", mask, shift), data[mask])
            kept = px.asarray(np.concatenate([np.ones(shift, np.bool_), mask]), device=where)
            found = px.asnumpy(px.nonzero(kept[shift:])[0])
            np.testing.assert_array_equal(found, np.flatnonzero(mask))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(1, 5), (40, 3), (70_000, 2), (30, 5000)])
def test_rows(where: px.Device, dtype: str, shape: tuple[int, int]) -> None:
    data = values(dtype, shape[0] * shape[1]).reshape(shape)
    for share in SHARES:
        mask = flags(shape[0], share)
        same(selected(where, data, dtype, mask, 3), data[mask])


def test_any_byte_but_zero_is_true(where: px.Device) -> None:
    bytes_ = np.arange(256, dtype=np.uint8)
    mask = px.asarray(bytes_.view(np.bool_), device=where)
    out = empty((255,), dtype_from_name("int64"), where)
    launch("nonzero", (mask,), (out,))
    np.testing.assert_array_equal(px.asnumpy(out), np.arange(1, 256))


def test_kernels_are_exact(where: px.Device) -> None:
    for op in ("nonzero", "compress"):
        for signature in OPS[op].signatures:
            found = where.ensure_open().kernel(op, signature.dtypes, Layout.ANY)
            assert isinstance(found, px.Kernel)
            assert (found.determinism, found.error_bound) == ("bitwise", 0.0)
