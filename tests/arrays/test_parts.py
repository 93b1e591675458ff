"""The real and imaginary parts of complex arrays: views that can be assigned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest

VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[::-1, 1::2],
    "one": lambda x: x[1, 2],
    "empty": lambda x: x[:, :0],
}


def numbers(dtype: str) -> np.ndarray:
    return (np.arange(20) * (1 + 2j) - 3j).reshape(4, 5).astype(dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("layout", VIEWS)
def test_they_are_those_of_numpy(device: px.Device, dtype: str, layout: str) -> None:
    host = VIEWS[layout](numbers(dtype))
    x = VIEWS[layout](px.asarray(numbers(dtype), device=device))  # type: ignore[arg-type]
    for got, want in (
        (x.real, host.real),
        (x.imag, host.imag),
        (px.real(x), host.real),  # type: ignore[arg-type]
        (px.imag(x), host.imag),  # type: ignore[arg-type]
    ):
        assert got.dtype.name == want.dtype.name
        assert got.shape == want.shape
        np.testing.assert_array_equal(px.asnumpy(got), want)
        np.testing.assert_array_equal(px.asnumpy(got * 2), want * 2)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_what_is_assigned_lies_in_the_array(device: px.Device, dtype: str) -> None:
    host, x = numbers(dtype), px.asarray(numbers(dtype), device=device)
    for each in (host, x):
        each.real[1:, ::2] = 7
        each.imag *= 3
        each.T.imag[0] = each.real[:, 1]
    assert px.asnumpy(x).tobytes() == host.tobytes()
    x.real, host.real = 1.5, 1.5  # type: ignore[assignment]
    x.imag, host.imag = x.real, host.real  # of the same memory, between its bytes
    assert px.asnumpy(x).tobytes() == host.tobytes()


def test_a_real_array_is_its_real_part(device: px.Device) -> None:
    x = px.asarray([1.0, 2.0], device=device)
    x.real = 3.0  # type: ignore[assignment]
    assert px.asnumpy(x).tolist() == [3.0, 3.0]
    assert px.asnumpy(x.imag).tolist() == [0.0, 0.0]
    with pytest.raises(TypeError, match="an array of float64 has no imaginary parts to set"):
        x.imag = 3.0  # type: ignore[assignment]
    assert px.asnumpy(x.imag).tolist() == [0.0, 0.0]


def test_of_memory_that_is_read_only(cpu: px.Device) -> None:
    host = numbers("complex128")
    host.flags.writeable = False
    x = px.asarray(host, device=cpu, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        x.imag[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        x.real = 1.0  # type: ignore[assignment]
