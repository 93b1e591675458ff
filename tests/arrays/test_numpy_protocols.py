"""NumPy's functions with our arrays: on their device, or refused with what to write."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from numpy_check import check

A = np.array([[3.5, -1.0, 2.0], [0.25, 7.0, -2.5]])

CALLS: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "absolute": np.absolute,
    "arctan": np.arctan,
    "power": lambda x: np.power(abs(x), 2.0),
    "add": lambda x: np.add(x, x),
    "scalar first": lambda x: np.float64(2) - x,
    "scalar compares": lambda x: np.float64(2) < x,
    "maximum": lambda x: np.maximum(x, 0.5),
    "isnan": np.isnan,
    "matmul": lambda x: np.matmul(x, x.T),
    "mean": np.mean,
    "sum axis": lambda x: np.sum(x, 0),
    "sum keywords": lambda x: np.sum(x, axis=1, keepdims=True),
    "cumsum": np.cumsum,
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "stack": lambda x: np.stack([x, x]),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "ravel": np.ravel,
    "transpose": np.transpose,
    "where": lambda x: np.where(x > 0, x, 0.0),
    "clip": lambda x: np.clip(x, -1.0, 1.0),
    "sort": lambda x: np.sort(x, axis=0),
    "argmax": np.argmax,
    "squeeze": lambda x: np.squeeze(x[:1]),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "dot": lambda x: np.dot(x, x.T),
    "zeros_like": np.zeros_like,
    "linalg.matmul": lambda x: np.linalg.matmul(x, x.T),
    "shape": np.shape,
    "ndim": np.ndim,
    "size": np.size,
}


@pytest.mark.parametrize("name", CALLS)
def test_they_run_on_the_device(device: px.Device, name: str) -> None:
    call = CALLS[name]
    x = px.asarray(A)
    ours, want = call(x), call(A)
    assert x.tolist() == A.tolist()
    if name in ("shape", "ndim", "size"):
        assert ours == want
        return
    assert isinstance(ours, px.Array)
    assert ours.device is device
    check(ours, want)


def test_extensions(cpu: px.Device) -> None:
    x = px.asarray(A)
    check(np.linalg.det(x[:, :2]), np.linalg.det(A[:, :2]))
    check(np.fft.fft(x), np.fft.fft(A))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "out": (lambda x: np.exp(x, out=np.ones((2, 3))), "without"),
    "out of ours": (lambda x: np.exp(A, out=x), "without"),
    "where": (lambda x: np.exp(x, where=A > 0), "without"),
    "mixed": (lambda x: np.add(A, x), "write phalanx.asarray"),
    "operator": (lambda x: A + x, "write phalanx.asarray"),
    "comparison": (lambda x: operator.eq(A, x), "write phalanx.asarray"),
    "in place": (lambda x: A.copy().__iadd__(x), "with out"),
    "concatenate mixed": (lambda x: np.concatenate([A, x]), "concat takes a phalanx array"),
    "keyword": (lambda x: np.sum(x, out=np.ones(1)), "out"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_ours_does_not_take_is_refused(device: px.Device, name: str) -> None:
    call, words = REFUSED[name]
    with pytest.raises(TypeError, match=words):
        call(px.asarray(A))


LACKING: dict[str, tuple[Callable[[Any], Any], str]] = {
    "function": (np.ediff1d, "numpy.ediff1d"),
    "ufunc": (np.spacing, "numpy.spacing"),
    "method of a ufunc": (np.add.reduce, "numpy.add.reduce"),
    "in a list": (lambda x: np.column_stack([x, x]), "numpy.column_stack"),
    "keyword": (lambda x: np.polyval(p=[1.0, 2.0], x=x[0]), "numpy.polyval"),
    "linalg": (lambda x: np.linalg.norm(x), "numpy.linalg.norm"),
}


@pytest.mark.parametrize("name", LACKING)
def test_what_we_lack_is_numpys_on_the_host(device: px.Device, name: str) -> None:
    call, function = LACKING[name]
    x = px.asarray(A)
    if device.host_addressable:
        np.testing.assert_array_equal(call(x), call(A))
        return
    with pytest.raises(TypeError, match=rf"{function} does not take arrays of {device}.*asnumpy"):
        call(x)


def test_where_takes_any_condition(device: px.Device) -> None:
    flags = px.asarray([0, 2, 0])
    assert np.where(flags, 1, 5).tolist() == [5, 1, 5]
    assert [p.tolist() for p in np.where(flags)] == [[1]]


def test_dtypes_of_numpy(device: px.Device) -> None:
    assert px.zeros(2, dtype=np.float32).dtype is px.float32
    assert px.zeros(2, dtype=np.dtype("int8")).dtype is px.int8
    assert np.dtype(px.float16) == np.float16
    assert np.zeros(2, dtype=px.uint8).dtype == np.uint8
    with pytest.raises(TypeError, match="unknown dtype 'datetime64'"):
        px.zeros(2, dtype=np.datetime64)


def test_scalars_and_keys_of_numpy(device: px.Device) -> None:
    x = px.arange(np.int64(4))
    assert x.tolist() == [0, 1, 2, 3]
    assert px.full(np.int8(2), np.float32(2.5)).tolist() == [2.5, 2.5]
    assert px.linspace(np.float32(0), np.float64(1), np.int64(3)).tolist() == [0, 0.5, 1]
    assert px.arange(px.asarray(1), px.asarray(3)).tolist() == [1, 2]
    assert x[np.array([3, 1])].tolist() == [3, 1]
    assert x[np.array([True, False, False, True])].tolist() == [0, 3]
    assert x[np.int64(2)].item() == 2
    assert x[np.bool_(True)].shape == (1, 4)
    x[[0, 3]] = np.array([7, 8])
    x[np.array([1])] = np.int64(9)
    assert x.tolist() == [7, 9, 2, 8]
    y = px.reshape(px.arange(6), (2, 3))
    assert px.moveaxis(y, [0, 1], [1, 0]).shape == (3, 2)
    assert px.sum(y, axis=[0, 1]).item() == 15
    assert px.expand_dims(y, axis=[0]).shape == (1, 2, 3)
    assert px.flip(y, axis=[0, 1])[0, 0].item() == 5


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "bfloat16", "float32"])
def test_what_numpy_writes_is_in_the_array(cpu: px.Device, dtype: str) -> None:
    x = px.zeros((2, 2), dtype=dtype, device=cpu)
    np.copyto(x, 1)
    np.put(x, [1], 0)
    np.fill_diagonal(x[::-1], 0)
    assert px.astype(x, px.int64).tolist() == [[1, 0], [0, 1]]
