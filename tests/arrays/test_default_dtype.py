"""The dtype of numbers that have none of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import phalanx as px
import pytest


@pytest.fixture
def single() -> Iterator[None]:
    """In a block where it is float32."""
    with px.set_default_dtype(px.float32):
        yield


MADE: list[tuple[str, Callable[[], Any], str]] = [
    ("number", lambda: px.asarray(0.5), "float32"),
    ("complex number", lambda: px.asarray(2j), "complex64"),
    ("list", lambda: px.asarray([1, 0.5]), "float32"),
    ("nested", lambda: px.asarray([[0.5], [True]]), "float32"),
    ("empty list", lambda: px.asarray([]), "float32"),
    ("complex list", lambda: px.asarray([0.5, 1j]), "complex64"),
    ("beyond int64", lambda: px.asarray([0.5, 2**70]), "float32"),
    ("zeros", lambda: px.zeros(3), "float32"),
    ("ones", lambda: px.ones((2, 2)), "float32"),
    ("empty", lambda: px.empty(3), "float32"),
    ("full", lambda: px.full(3, 0.5), "float32"),
    ("eye", lambda: px.eye(2), "float32"),
    ("arange", lambda: px.arange(0.0, 1.0, 0.25), "float32"),
    ("linspace", lambda: px.linspace(0, 1, 3), "float32"),
    ("complex linspace", lambda: px.linspace(0, 1j, 3), "complex64"),
    ("logspace", lambda: px.logspace(0, 1, 3), "float32"),
    ("frequencies", lambda: px.fft.fftfreq(4), "float32"),
    ("function of ints", lambda: px.exp(px.arange(3)), "float32"),
    ("quotient of ints", lambda: px.arange(3) / px.asarray(2), "float32"),
    ("ints and a float", lambda: px.arange(3) * 0.5, "float32"),
    ("ints and a complex", lambda: px.arange(3) * 1j, "complex64"),
    ("mean of ints", lambda: px.mean(px.arange(3)), "float32"),
    ("variance of ints", lambda: px.arange(3).var(), "float32"),
    ("common dtype", lambda: px.zeros(1, dtype=px.result_type(px.int8, 0.5)), "float32"),
    ("ints", lambda: px.asarray([1, 2]), "int64"),
    ("range of ints", lambda: px.arange(3), "int64"),
    ("float64 stays", lambda: px.zeros(2, dtype=px.float64) * 0.5, "float64"),
    ("int64 and float64", lambda: px.arange(2) * px.ones(2, dtype="float64"), "float64"),
    ("NumPy's float64", lambda: px.asarray(np.ones(2)), "float64"),
    ("NumPy's scalars", lambda: px.asarray([np.float64(1), np.float64(2)]), "float64"),
    ("asked for", lambda: px.asarray([0.5], dtype=float), "float64"),
]


@pytest.mark.parametrize(("make", "want"), [m[1:] for m in MADE], ids=[m[0] for m in MADE])
def test_what_it_decides(
    device: px.Device, single: None, make: Callable[[], px.Array], want: str
) -> None:
    assert make().dtype == want


def test_the_first_one_is_float64(device: px.Device) -> None:
    assert px.get_default_dtype() is px.float64
    assert px.zeros(1).dtype is px.asarray(0.5).dtype is px.exp(px.arange(1)).dtype is px.float64


def test_values_are_rounded_once(fake: px.Device, single: None) -> None:
    assert px.asarray([0.1, 2**70]).tolist() == [float(np.float32(0.1)), 2.0**70]
    assert px.linspace(0, 1, 4).tolist() == np.linspace(0, 1, 4).astype("f4").tolist()


def test_the_namespace_tells(single: None) -> None:
    found = px.__array_namespace_info__().default_dtypes()
    assert (found["real floating"], found["complex floating"]) == (px.float32, px.complex64)


def test_it_is_set_for_the_process_and_undone_in_a_block(fake: px.Device) -> None:
    seen: list[px.DType] = []

    def look() -> None:
        seen.append(px.zeros(1).dtype)

    def in_thread() -> px.DType:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return seen.pop()

    with px.set_default_dtype("float32"):
        assert px.zeros(1).dtype is px.float32
        assert in_thread() is px.float64
    try:
        px.set_default_dtype(px.float32)
        assert px.zeros(1).dtype is in_thread() is px.float32
    finally:
        px.set_default_dtype(px.float64)
    assert px.zeros(1).dtype is in_thread() is px.float64


@pytest.mark.parametrize("dtype", [px.float16, "int64", "complex64", bool])
def test_others_are_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match="the default dtype is float32 or float64, got "):
        px.set_default_dtype(dtype)
    with pytest.raises(TypeError, match="dtype"):
        px.set_default_dtype("floaty")
    assert px.get_default_dtype() is px.float64
