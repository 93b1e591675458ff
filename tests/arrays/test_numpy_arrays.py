"""The short way for NumPy's arrays, in and out: every dtype, order and size keeps its numbers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import phalanx as px
import pytest

DTYPES = tuple("?bBhHiIlLqQefdFD")
SHAPES = ((), (0,), (3,), (2, 0, 3), (5, 7), (2, 3, 4), (1,) * 20, (40_000,), (700, 300))


def arranged(a: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The elements in other orders and with gaps, at odd places, and without leave to write."""
    moved = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    moved[...] = a
    moved.flags.writeable = False
    rows = [a[::-1], a[::2], a[..., ::-1]] if a.ndim else []
    return [a, a.T, np.asfortranarray(a), moved, *rows]


@pytest.mark.parametrize("dtype", DTYPES)
def test_comes_and_goes_as_it_is(dtype: str, device: px.Device) -> None:
    rng = np.random.default_rng(3)
    for shape in SHAPES:
        for a in arranged((rng.random(shape) * 100).astype(dtype)):
            for x in (px.asarray(a), px.asarray(a, dtype=a.dtype)):
                assert x.device is device
                assert x.dtype.name == a.dtype.name
                got = px.asnumpy(x)
                assert got.dtype == a.dtype
                assert got.shape == a.shape
                assert np.array_equal(got, a)


def test_other_byte_orders_are_converted(device: px.Device) -> None:
    a = np.arange(5, dtype=">f4")
    assert px.asarray(a).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("dtype", ["U3", "M8[s]", "O", "i4,i4", "S2"])
def test_what_has_no_dtype_is_refused(dtype: str, device: px.Device) -> None:
    with pytest.raises(TypeError, match="asarray takes numbers, got a NumPy array of"):
        px.asarray(np.zeros(2, dtype=dtype))


def test_a_copy_does_not_follow_its_source(device: px.Device) -> None:
    a = np.ones(3)
    x = px.asarray(a)
    a[0] = 5
    assert x.tolist() == [1.0, 1.0, 1.0]
    back = px.asnumpy(x)
    back[0] = 7
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_nothing_is_kept_of_the_source(device: px.Device) -> None:
    a = np.ones(3)
    before = sys.getrefcount(a)
    for _ in range(100):
        px.asarray(a)
    assert sys.getrefcount(a) == before
    a.resize(5)  # no buffer of it is held
