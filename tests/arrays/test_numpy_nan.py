"""NumPy's reductions that leave NaN out, on the device."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import phalanx as px
import pytest

REDUCTIONS = ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd", "nanmedian")
SCANS = ("nancumsum", "nancumprod")
rng = np.random.default_rng(0)
SOME = rng.random((5, 4, 3))
SOME[SOME < 0.3] = np.nan
SOME[:, 0, 0] = np.nan
DATA = {
    "some": SOME,
    "none": SOME * 0 + 3,
    "infinite": np.where(SOME > 0.6, np.inf, SOME),
    "ints": np.arange(60).reshape(5, 4, 3),
}


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy tells of rows without numbers
        yield


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2)], ids=str)
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("name", [*REDUCTIONS, *SCANS])
def test_as_numpy_has_it(device: px.Device, name: str, data: str, axis: Any) -> None:
    if name in SCANS and isinstance(axis, tuple):
        return
    source = DATA[data]
    found = getattr(np, name)(px.asarray(source), axis=axis)
    want = getattr(np, name)(source, axis=axis)
    assert isinstance(found, px.Array)
    assert found.device == device
    assert found.shape == want.shape
    np.testing.assert_allclose(px.asnumpy(found), want, rtol=1e-13)


def test_many_elements_in_few_bits(fake: px.Device) -> None:
    data = np.ones(70_000, np.float16)
    data[::2] = np.nan
    x = px.asarray(data)
    assert np.nanmean(x).item() == 1.0
    assert np.nanmean(x).dtype is px.float16
    assert np.nanvar(x).item() == 0.0
    assert np.nanmean(x, dtype=np.float32).dtype is px.float32


def test_options(fake: px.Device) -> None:
    x = px.asarray(SOME)
    want = np.nanstd(SOME, axis=0, ddof=1, keepdims=True)
    found = np.nanstd(x, axis=0, ddof=1, keepdims=True)
    np.testing.assert_allclose(px.asnumpy(found), want)
    with pytest.raises(TypeError, match="var is not defined for complex"):
        np.nanvar(px.asarray([1j, 2.0]))


@pytest.mark.parametrize("name", ["mean", "std", "var", "nanmean", "nanstd", "nanvar"])
def test_a_dtype_to_compute_in(name: str, device: px.Device) -> None:
    function = getattr(np, name)
    for source in (np.arange(12.0).reshape(3, 4), np.arange(12, dtype=np.int16).reshape(3, 4)):
        x = px.asarray(source)
        found = function(x, axis=1, dtype=np.float32, keepdims=True)
        assert (found.dtype, found.shape, found.device) == (px.float32, (3, 1), device)
        want = function(source, axis=1, dtype=np.float32, keepdims=True)
        np.testing.assert_allclose(px.asnumpy(found), want, rtol=1e-6)
        own = getattr(px, name)(x, axis=1, dtype="float32")
        assert own.tolist() == found[:, 0].tolist()
        with pytest.raises(TypeError, match=r"does not go into dtype=int32; ask for a floating"):
            function(x, dtype=np.int32)
    with pytest.raises(TypeError, match=r"does not go into dtype=float32; ask for a complex"):
        function(px.asarray([1j]), dtype=np.float32)
    short = px.asarray([1.0, 2.0, 4.0], dtype=px.float16)
    assert function(short, dtype=np.float64).dtype is px.float64
    assert function(px.asarray([1.0, 2.0]), dtype="float16").dtype is px.float16


def test_functions_with_numpys_arguments(device: px.Device) -> None:
    x = px.asarray(SOME)
    assert np.transpose(x, axes=(2, 0, 1)).shape == (3, 5, 4)
    assert np.transpose(x).shape == (3, 4, 5)
    assert np.transpose(x, (1, 0, 2)).shape == (4, 5, 3)
    made = np.zeros_like(x, shape=(2, 2), dtype="int32")
    assert (made.shape, made.dtype, made.device) == ((2, 2), px.int32, x.device)
    assert np.full_like(x, 3, shape=(2,)).tolist() == [3, 3]
    assert np.ones_like(x).shape == x.shape
    assert np.add(px.arange(3), 1, dtype=np.float32).dtype is px.float32


def test_a_dtype_does_not_cut_operands(device: px.Device) -> None:
    with pytest.raises(TypeError, match=r"numpy\.add: an operand of float64 does not go"):
        np.add(px.asarray([1.7, np.nan]), 1, dtype=np.int32)
    with pytest.raises(TypeError, match=r"the float 0\.5 does not go into int32"):
        np.add(px.arange(3), 0.5, dtype=np.int32)
    assert np.add(px.arange(2), np.int8(1), dtype=np.float32).tolist() == [1.0, 2.0]
    assert np.add(px.asarray([1.5]), 1, dtype=np.complex64).dtype is px.complex64
