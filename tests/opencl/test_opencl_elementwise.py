"""Elementwise kernels against the CPU: the same bits for every overload, in every layout."""

from __future__ import annotations

from typing import Any

import ml_dtypes  # teaches NumPy bfloat16
import numpy as np
import phalanx as px
import pytest
from conftest import real_cpu
from exhaustive import some_of
from phalanx._warm import dtype_from_name, empty, launch_elementwise
from phalanx.optable import OPS, Structure, kind_of

COUNT = 700
ROWS = [row for row in OPS.values() if row.structure is Structure.ELEMENTWISE]
#: A loop for integers and floats, a function with rare parts, one of each other role of operands.
SOME = [OPS[name] for name in ("add", "log", "cast", "where", "floor_divide")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, 0.5, -2.5, 1e-40, -1e-40]


def values(dtype: str, seed: int) -> np.ndarray:
    """Small, random and special values, from a seed."""
    rng = np.random.default_rng(seed)
    kind = kind_of(dtype)
    if kind == "b":
        return rng.integers(0, 2, COUNT).astype(bool)
    if kind in "iu":
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max, COUNT, dtype=dtype, endpoint=True)
        x[:200] = rng.integers(0, 9, 200) - (4 if kind == "i" else 0)
        x[:2] = limits.min, limits.max
        return x
    if kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        z = np.empty(COUNT, dtype)
        z.real, z.imag = values(part, seed + 10), values(part, seed + 20)
        return z
    native = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    bits = rng.integers(0, 256, COUNT * native.itemsize, dtype=np.uint8)
    x = bits.view(native).copy()
    with np.errstate(all="ignore"):
        x[:300] = (rng.standard_normal(300) * 3).astype(native)
        x[300:312] = np.array(SPECIAL).astype(native)
        x[312:324] = rng.permutation(SPECIAL).astype(native)
    return x


def wrong(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The places where bits differ; NaN payloads are not defined."""
    if got.dtype.kind == "c":
        return wrong(got.real.copy(), want.real.copy()) | wrong(got.imag.copy(), want.imag.copy())
    same = got.view(f"u{got.itemsize}") == want.view(f"u{want.itemsize}")
    with np.errstate(invalid="ignore"):
        return ~(same | ((got != got) & (want != want)))


def run(op: str, inputs: list[Any], output: str, shape: tuple[int, ...], where: Any) -> np.ndarray:
    """Run an op on a device and return the result on the host."""
    result = empty(shape, dtype_from_name(output), where)
    launch_elementwise(op, tuple(inputs), result)
    return np.ascontiguousarray(px.asnumpy(result))


@pytest.mark.parametrize("row", some_of(ROWS, SOME), ids=lambda row: row.name)
def test_every_overload_has_the_bits_of_the_cpu(device: px.Device, row: Any) -> None:
    host_device = real_cpu()
    signatures = row.signatures if row.name != "cast" else row.signatures[::7]
    for signature in signatures:
        data = [values(dtype, seed) for seed, dtype in enumerate(signature.inputs)]
        results = []
        for where in (host_device, device):
            arrays = [
                px.asarray(x, dtype=dtype_from_name(dtype), device=where)
                for x, dtype in zip(data, signature.inputs, strict=True)
            ]
            results.append(run(row.name, arrays, signature.outputs[0], (COUNT,), where))
        bad = np.flatnonzero(wrong(results[1], results[0]))
        assert not bad.size, (
            f"{row.name} {signature}: {bad.size} differ, first "
            f"{[x[bad[0]] for x in data]}: {results[1][bad[0]]} instead of {results[0][bad[0]]}"
        )


def layouts(x: Any) -> dict[str, Any]:
    """Views of an array (4, 6, 20) in many layouts."""
    return {
        "reversed": x[:, :, ::-1],
        "steps": x[::2, 1::2, ::3],
        "transposed": px.permute_dims(x, (2, 0, 1)),
        "column": px.broadcast_to(x[:, :, 3:4], (4, 6, 20)),
        "row": px.broadcast_to(x[1, 2, :], (4, 6, 20)),
        "short": px.permute_dims(x[:, :2, :3], (1, 0, 2)),
        "scalar": x[2, 3, 4],
        "empty": x[:, 2:2, :],
    }


@pytest.mark.parametrize("name", ["reversed", "steps", "transposed", "column", "row", "short",
                                  "scalar", "empty"])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "int16", "complex64"])
def test_strided(device: px.Device, name: str, dtype: str) -> None:
    data = (np.arange(480) % 97 - 30).reshape(4, 6, 20).astype(dtype)
    got, want = [], []
    for where, results in ((device, got), (real_cpu(), want)):
        view = layouts(px.asarray(data, device=where))[name]
        with px.device(where):
            results += [px.asnumpy(px.multiply(view, view)), px.asnumpy(view - 3)]
            target = px.zeros((24, 6, 40), dtype=view.dtype)[:, :, ::2]
            target = px.permute_dims(target, (0, 1, 2))[: view.shape[0] if view.ndim else 24]
            if view.ndim == 3 and name not in ("transposed", "empty"):
                part = target[: view.shape[0], : view.shape[1], : view.shape[2]]
                part[...] = view
                results.append(px.asnumpy(target))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


def test_many_axes(device: px.Device) -> None:
    data = np.arange(2**13, dtype=np.int32).reshape((2,) * 13)
    x = px.asarray(data)
    order = (12, 0, 10, 3, 7, 1, 8, 2, 11, 5, 4, 9, 6)
    assert np.array_equal(px.asnumpy(px.permute_dims(x, order) * 1), data.transpose(order))


def test_more_rows_than_a_launch_takes(device: px.Device) -> None:
    data = np.arange(70_000 * 3 * 16, dtype=np.int32).reshape(-1, 6)
    x = px.asarray(data)
    assert np.array_equal(px.asnumpy(x[:, ::2] + 1), data[:, ::2] + 1)
    y = px.asarray(np.zeros((70_001, 64), np.uint8))
    y[:, ::2] = 7
    assert int(px.asnumpy(y).astype(np.int64).sum()) == 7 * 32 * 70_001


def test_in_place(device: px.Device) -> None:
    x = px.asarray(np.arange(100, dtype=np.float32))
    y = x
    x += 1
    x[::3] *= 2.0
    want = np.arange(100, dtype=np.float32) + 1
    want[::3] *= 2
    assert np.array_equal(px.asnumpy(y), want)


@pytest.mark.parametrize("count", [0, 1, 2, 255, 256, 257, 65537])
def test_counts(device: px.Device, count: int) -> None:
    x = px.asarray(np.arange(count, dtype=np.float32))
    assert np.array_equal(px.asnumpy(x + x), 2 * np.arange(count, dtype=np.float32))
    assert np.array_equal(px.asnumpy(x * px.asarray([2.0], dtype=px.float32)), px.asnumpy(x + x))


@pytest.mark.parametrize("count", [2**16, 2**16 + 1000, 2**17 - 1])
def test_large_arrays(device: px.Device, count: int) -> None:
    """Whole work-groups, and what is left over."""
    data = np.arange(count + 3, dtype=np.float32)
    x, two = px.asarray(data), px.asarray([2.0], dtype=px.float32)
    assert np.array_equal(px.asnumpy(x[3:] + x[:-3]), data[3:] + data[:-3])
    assert np.array_equal(px.asnumpy(two * x), 2 * data)
    y = x[1:-2]
    y -= 5.0  # in place, within a larger array
    data[1:-2] -= 5
    assert np.array_equal(px.asnumpy(x), data)


@pytest.mark.parametrize("op", ["sin", "cos", "tan", "abs"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
def test_rare_operands_among_others(device: px.Device, op: str, dtype: str) -> None:
    """A few operands that functions branch for, in some blocks and at their ends."""
    data = np.random.default_rng(1).standard_normal(10_001).astype(dtype)
    data[[0, 255, 256, 5000, 10_000]] = [1e4, -6e4, np.inf, np.nan, 3e4]
    if dtype != "float16":
        data[[700, 9000]] = [1e30, -2e38]
    results = []
    for where in (device, real_cpu()):
        result = getattr(px, op)(px.asarray(data, device=where))
        results.append(np.ascontiguousarray(px.asnumpy(result)))
    assert not wrong(*results).any()


@pytest.mark.parametrize("shape", [(9,), (30_000,), (7, 5000)])
def test_every_second_element(device: px.Device, shape: tuple[int, ...]) -> None:
    data = np.arange(2 * np.prod(shape), dtype=np.float32).reshape(*shape[:-1], -1)
    x = px.asarray(data)
    even, odd = x[..., ::2], x[..., 1::2]
    a, b = data[..., ::2], data[..., 1::2]
    last = shape[-1]
    assert np.array_equal(px.asnumpy(even * odd), a * b)
    assert np.array_equal(px.asnumpy(even - x[..., :last]), a - data[..., :last])
    assert np.array_equal(px.asnumpy(even + x[..., :1]), a + data[..., :1])
    assert np.array_equal(px.asnumpy(1.0 - odd[..., ::-1]), 1 - b[..., ::-1])
    even += odd
    data[..., ::2] += data[..., 1::2]
    assert np.array_equal(px.asnumpy(x), data)
    z = px.asarray(data.view(np.complex64))
    assert np.array_equal(px.asnumpy(px.real(z) - px.imag(z)), a - b)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "complex64"])
def test_numbers_by_value(device: px.Device, dtype: str) -> None:
    value: Any = {"b": True, "i": -3, "u": 3, "f": 1.5, "c": 1 - 2j}[kind_of(dtype)]
    results = []
    for where in (device, real_cpu()):
        x = px.ones((5,), dtype=getattr(px, dtype), device=where)
        z = x & value if dtype == "bool" else x * value
        mask = px.asarray([True, False, True, False, True], device=where)
        results.append((px.asnumpy(z).tolist(), px.asnumpy(px.where(mask, x, z)).tolist()))
    assert results[0] == results[1]
