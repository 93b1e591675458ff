"""Arrays from data of all kinds, dtypes and their limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import phalanx as px
import pytest


class TestAsarray:
    def test_sources(self, device: px.Device) -> None:
        for data, want, dtype in (
            ([1, 2], [1, 2], px.int64),
            ([[1.5], [2]], [[1.5], [2]], px.float64),
            ((True, False), [True, False], px.bool),
            ([1j], [1j], px.complex128),
            (bytearray(b"\1\2"), [1, 2], px.uint8),
            (memoryview(b"\3"), [3], px.uint8),
            (np.float32(1.5), 1.5, px.float32),
            ([], [], px.float64),
        ):
            x = px.asarray(data)
            assert (x.tolist(), x.dtype) == (want, dtype)

    def test_arrays_inside_lists(self, device: px.Device) -> None:
        assert px.asarray([px.asarray(1), px.asarray(2)]).tolist() == [1, 2]
        assert px.asarray([[px.asarray(1.5), 2.0], [3, px.asarray(4.0)]]).tolist() == [
            [1.5, 2],
            [3, 4],
        ]

    def test_dtype_and_device(self, drivers: object) -> None:
        x = px.asarray([1, 2], dtype="float32", device="fake:1")
        assert (x.dtype, str(x.device)) == (px.float32, "fake:1")
        assert px.asarray(x) is x
        assert px.asarray(x, copy=True) is not x
        assert px.asarray(x, dtype=px.complex64).dtype is px.complex64
        assert px.asarray(x, dtype=px.int8).tolist() == [1, 2]
        with pytest.raises(TypeError, match="what does not go into int8"):
            px.asarray(x / 2, dtype=px.int8)
        assert str(px.asarray(x, device="fake:0").device) == "fake:0"
        assert px.asarray([1.5], dtype=px.bfloat16).tolist() == [1.5]
        for kind, want in (
            (bool, px.bool),
            (int, px.int64),
            (float, px.float64),
            (complex, px.complex128),
        ):
            assert px.asarray([1], dtype=kind).dtype is want

    def test_full_takes_dtype_and_device_of_an_array(self, drivers: object) -> None:
        x = px.full(2, px.asarray(3, dtype=px.int8, device="fake:1"))
        assert (x.tolist(), x.dtype, str(x.device)) == ([3, 3], px.int8, "fake:1")

    def test_fractions_do_not_go_into_integers_unseen(self, fake: px.Device) -> None:
        """The same for every integer dtype."""
        results = {
            px.full((), 2.0, dtype=getattr(px, name)).item()
            for name in ("int8", "int32", "int64", "uint64")
        }
        assert results == {2}


class TestDataTypes:
    def test_astype(self, device: px.Device) -> None:
        x = px.asarray([1.7, -2.7, math.nan, 1e30])
        assert px.astype(x, px.int32).tolist() == [1, -2, 0, 2**31 - 1]
        assert px.astype(x, px.float64, copy=False) is x
        assert px.astype(x, px.float64) is not x
        assert px.astype(px.asarray([300, -1]), px.uint8).tolist() == [44, 255]
        assert px.astype(px.asarray([0j, 1j]), px.bool).tolist() == [False, True]
        assert str(px.astype(x, px.float32, device="fake:1").device) == "fake:1"

    def test_limits(self) -> None:
        for name in ("float16", "float32", "float64"):
            mine, theirs = px.finfo(getattr(px, name)), np.finfo(name)
            assert (mine.bits, mine.eps, mine.max, mine.min) == (
                theirs.bits,
                theirs.eps,
                theirs.max,
                theirs.min,
            )
            assert mine.smallest_normal == theirs.smallest_normal
        assert px.finfo(px.complex64).dtype is px.float32
        assert px.finfo(px.bfloat16).eps == 2.0**-7
        for name in ("int8", "uint16", "int64", "uint64"):
            mine, theirs = px.iinfo(getattr(px, name)), np.iinfo(name)
            assert (mine.bits, mine.max, mine.min) == (theirs.bits, theirs.max, theirs.min)

    def test_limits_of_an_array(self, fake: px.Device) -> None:
        assert px.finfo(px.ones(1, dtype=px.float32)).bits == 32
        assert px.iinfo(px.ones(1, dtype=px.int8)).max == 127

    def test_kinds(self) -> None:
        assert px.isdtype(px.int8, "signed integer")
        assert px.isdtype(px.uint8, ("bool", "integral"))
        assert not px.isdtype(px.bool, "numeric")
        assert px.isdtype(px.float32, px.float32)
        assert not px.isdtype(px.float32, (px.float64, "complex floating"))

    def test_can_cast(self, fake: px.Device) -> None:
        assert px.can_cast(px.int8, px.int16)
        assert not px.can_cast(px.int16, px.int8)
        assert px.can_cast(px.ones(1, dtype=px.float32), px.complex64)
        assert not px.can_cast(px.int64, px.float64)

    def test_result_type(self, fake: px.Device) -> None:
        x = px.ones(1, dtype=px.float32)
        for arguments, want in (
            ((x, 1.5), px.float32),
            ((px.int8, "int16"), px.int16),
            ((1, 2.5), px.float64),
            ((True,), px.bool),
            ((px.int8, 1.5), px.float64),
            ((x, 1j), px.complex64),
            ((px.float64, 1j), px.complex128),
        ):
            assert px.result_type(*arguments) is want


class TestClip:
    def test_bounds(self, device: px.Device) -> None:
        x = px.asarray([1, 5, 9], dtype=px.int8)
        assert px.clip(x, 2, 6).tolist() == [2, 5, 6]
        assert px.clip(x, None, 6).tolist() == [1, 5, 6]
        assert px.clip(x, 2).tolist() == [2, 5, 9]
        assert px.clip(x).tolist() == [1, 5, 9]
        assert px.clip(x, -1000, 1000).tolist() == [1, 5, 9]
        assert px.clip(x, px.asarray([3, 0, 0], dtype=px.int8), 6).tolist() == [3, 5, 6]


@pytest.mark.parametrize("keywords", [{}, {"base": 2}, {"endpoint": False}, {"dtype": "float32"}])
def test_logspace(device: px.Device, keywords: dict[str, Any]) -> None:
    got, want = px.logspace(-3, 2, 11, **keywords), np.logspace(-3, 2, 11, **keywords)
    assert got.dtype.name == want.dtype.name
    np.testing.assert_allclose(px.asnumpy(got), want, rtol=1e-6 if "dtype" in keywords else 1e-14)
    assert px.logspace(0, 1).shape == (50,)
    assert px.logspace(0, 1, 0).shape == (0,)
