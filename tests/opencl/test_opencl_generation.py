"""arange and linspace against the CPU: the same bits for every dtype and stride."""

from __future__ import annotations

import numpy as np
import phalanx as px
import pytest
from along_kit import wrong
from conftest import real_cpu
from exhaustive import some_of
from phalanx._warm import dtype_from_name, launch, view
from phalanx.optable import OPS, kind_of

DTYPES = [signature.inputs[0] for signature in OPS["arange"].signatures]


def ends(dtype: str) -> tuple[complex, complex]:
    """A start and a step whose multiples round, or wrap."""
    kind = kind_of(dtype)
    if kind in "iu":
        return 3, 101
    return (0.1 - 2j, -0.7 + 0.3j) if kind == "c" else (0.1, -0.7)


@pytest.mark.parametrize("stride", [1, 3, -2, 0])
@pytest.mark.parametrize("dtype", some_of(DTYPES, ("uint8", "bfloat16", "float64")))
def test_same_as_cpu(device: px.Device, dtype: str, stride: int) -> None:
    kind = dtype_from_name(dtype)
    for count in (0, 1, 2, 255, 256, 257, 5000) if stride else (1,):
        answers = []
        for place in (device, real_cpu()):
            with px.device(place):
                first, step = (px.full((), v, dtype=kind) for v in ends(dtype))
                out = px.zeros(abs(stride) * count + 1, dtype=kind)
                begin = max(0, -stride * (count - 1))
                launch("arange", (first, step), (view(out, (count,), (stride,), begin),))
                answers.append(np.ascontiguousarray(px.asnumpy(out)))
        assert not wrong(*answers).any(), f"{dtype} {count} {stride}"


def check_large(device: px.Device, dtype: str, count: int, stride: int = 1) -> None:
    """Compare with the CPU in an array that has one more element at each end."""
    kind = dtype_from_name(dtype)
    answers = []
    for place in (device, real_cpu()):
        with px.device(place):
            first, step = (px.full((), v, dtype=kind) for v in ends(dtype))
            out = px.zeros(stride * count + 2, dtype=kind)
            launch("arange", (first, step), (view(out, (count,), (stride,), 1),))
            answers.append(np.ascontiguousarray(px.asnumpy(out)))
    assert not wrong(*answers).any(), f"{dtype} {count} {stride}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_large_arrays(device: px.Device, dtype: str) -> None:
    for count in (2**16 - 1, 2**16, 2**16 + 1, 3 * 2**16 + 1023):
        check_large(device, dtype, count)
    check_large(device, dtype, 2**16 + 5, 2)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "bfloat16", "float32"])
def test_numbers_that_round(device: px.Device, dtype: str) -> None:
    check_large(device, dtype, 2**24 + 2**20 + 3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("start", "step"), [(-0.0, 0.0), (1e-40, 1e-42), (1e30, 3e36)])
def test_rounding_and_overflow(device: px.Device, dtype: str, start: float, step: float) -> None:
    kind = dtype_from_name(dtype)
    answers = []
    for place in (device, real_cpu()):
        with px.device(place):
            ends = tuple(px.full((), v, dtype=kind) for v in (start, step))
            out = px.zeros(1000, dtype=kind)
            launch("arange", ends, (out,))
            answers.append(np.ascontiguousarray(px.asnumpy(out)))
    assert not wrong(*answers).any()


@pytest.mark.parametrize("arguments", [(10,), (5, 1000, 7), (-1.5, 20, 0.1), (3.0, -3.0, -0.01)])
def test_arange_of_python_numbers(device: px.Device, arguments: tuple[float, ...]) -> None:
    got = px.asnumpy(px.arange(*arguments, device=device))
    want = px.asnumpy(px.arange(*arguments, device=real_cpu()))
    assert got.dtype == want.dtype
    assert np.array_equal(got, want)
    assert len(got) == len(np.arange(*arguments))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(device: px.Device, dtype: str, *, endpoint: bool) -> None:
    for count in (1, 2, 300, 70_001):
        answers = [
            px.linspace(-1, 2, count, dtype=dtype, endpoint=endpoint, device=place)
            for place in (device, real_cpu())
        ]
        got, want = map(px.asnumpy, answers)
        assert np.array_equal(got, want)
        assert np.allclose(got, np.linspace(-1, 2, count, endpoint=endpoint), rtol=1e-6, atol=1e-6)
