"""The array object: attributes, conversion, copies and printing."""

from __future__ import annotations

import copy
import math
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import phalanx as px
import pytest
from phalanx.driver import Place
from phalanx.optable import ALL
from phalanx.testing import ReferenceDevice, ReferenceDriver
from phalanx.testing.kernels import numpy_type


def dtype(name: str) -> px.DType:
    return getattr(px, name)


class TestAttributes:
    def test_of_a_matrix(self, device: px.Device) -> None:
        x = px.zeros((2, 3), dtype=px.float32)
        assert (x.shape, x.ndim, x.size, len(x)) == ((2, 3), 2, 6, 2)
        assert (x.dtype, x.itemsize, x.nbytes, x.strides, x.is_contiguous) == (
            px.float32,
            4,
            24,
            (3, 1),
            True,
        )
        assert x.device is device
        assert (x.buffer.device, x.buffer.size, x.buffer.readonly) == (device, 24, False)

    def test_transposes(self, device: px.Device) -> None:
        x = px.reshape(px.arange(24), (2, 3, 4))
        assert (x.mT.shape, x.mT.strides, x.mT.is_contiguous) == ((2, 4, 3), (12, 1, 4), False)
        assert x[0].T.shape == (4, 3)
        assert px.asnumpy(x[0].T).tolist() == np.arange(12).reshape(3, 4).T.tolist()
        with pytest.raises(ValueError, match=r"two axes, got shape \(2, 3, 4\); use mT"):
            x.T  # noqa: B018
        with pytest.raises(ValueError, match="two axes or more"):
            px.arange(3).mT  # noqa: B018

    def test_offset_counts_bytes(self, fake: px.Device) -> None:
        x = px.arange(10, dtype=px.int16)
        assert x[3:].offset - x.offset == 6

    def test_no_axes(self, device: px.Device) -> None:
        x = px.asarray(5)
        assert (x.shape, x.ndim, x.size, x.strides) == ((), 0, 1, ())
        for call in (len, iter):
            with pytest.raises(TypeError, match="0-d"):
                call(x)

    def test_attributes_are_read_only(self, fake: px.Device) -> None:
        x = px.zeros(3)
        for name in ("shape", "strides", "dtype", "device", "buffer"):
            with pytest.raises(AttributeError):
                setattr(x, name, None)

    def test_weak_references(self, fake: px.Device) -> None:
        x = px.zeros(3)
        gone = weakref.ref(x)
        assert gone() is x
        del x
        assert gone() is None

    def test_namespace(self, fake: px.Device) -> None:
        x = px.zeros(1)
        for version in (None, "2025.12", "2023.12"):
            assert x.__array_namespace__(api_version=version) is px
        with pytest.raises(ValueError, match=r"2019.12"):
            x.__array_namespace__(api_version="2019.12")


class TestHash:
    def test_arrays_are_not_hashable(self, fake: px.Device) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(px.zeros(1))

    def test_iteration(self, device: px.Device) -> None:
        x = px.reshape(px.arange(6), (3, 2))
        assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
        assert [int(v) for v in px.arange(3)] == [0, 1, 2]

    def test_contains(self, device: px.Device) -> None:
        x = px.asarray([1.0, math.nan, 3.0])
        assert 3.0 in x
        assert 2.0 not in x
        assert math.nan not in x
        assert px.asarray(1.0) in x


class TestNumbers:
    @pytest.mark.parametrize("name", ALL)
    def test_item_of_every_dtype(self, device: px.Device, name: str) -> None:
        value = {"b": True, "c": 2 + 1j}.get(dtype(name).kind, 2)
        for x in (px.asarray(value, dtype=dtype(name)), px.full((1, 1), value, dtype=dtype(name))):
            got = x.item()
            assert got == value
            assert (
                type(got)
                is {"b": bool, "i": int, "u": int, "f": float, "c": complex}[dtype(name).kind]
            )

    def test_extremes_survive(self, device: px.Device) -> None:
        for value in (2**63 - 1, -(2**63)):
            assert px.asarray(value).item() == value
        assert px.asarray(2**64 - 1, dtype=px.uint64).item() == 2**64 - 1
        assert math.copysign(1, px.asarray(-0.0).item()) == -1
        assert math.isnan(px.asarray(math.nan).item())
        assert px.asarray(5e-324).item() == 5e-324

    def test_item_needs_one_element(self, fake: px.Device) -> None:
        for shape in ((2,), (0,), (1, 2)):
            with pytest.raises(ValueError, match="exactly one element"):
                px.zeros(shape).item()

    def test_conversions(self, device: px.Device) -> None:
        assert (int(px.asarray(2.9)), float(px.asarray(3)), complex(px.asarray(1.5))) == (
            2,
            3.0,
            1.5 + 0j,
        )
        assert bool(px.asarray(0.5)) is True
        assert bool(px.asarray(0)) is False
        assert [10, 20, 30][px.asarray(1, dtype=px.uint8)] == 20
        assert range(5)[px.asarray(2) :] == range(2, 5)

    @pytest.mark.parametrize(
        ("call", "data", "words"),
        [
            (bool, [1, 2], "phalanx.any or phalanx.all"),
            (bool, [[], []], "ambiguous"),
            (int, [1], "only 0-d"),
            (float, [1.0], "only 0-d"),
            (complex, [1.0], "only 0-d"),
            (int, 1j, "complex"),
            (float, 1j, "complex"),
            (lambda x: [1][x], 1.0, "only integer arrays are indices"),
            (lambda x: [1][x], True, "only integer arrays are indices"),
            (lambda x: [1][x], [0], "only 0-d"),
        ],
    )
    def test_refused_conversions(
        self, fake: px.Device, call: Callable[..., Any], data: Any, words: str
    ) -> None:
        with pytest.raises(TypeError, match=words):
            call(px.asarray(data))

    def test_nan_to_int_raises_as_python_does(self, fake: px.Device) -> None:
        with pytest.raises(ValueError, match="NaN"):
            int(px.asarray(math.nan))
        with pytest.raises(OverflowError):
            int(px.asarray(math.inf))

    def test_tolist(self, device: px.Device) -> None:
        assert px.asarray([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
        assert px.asarray(1.5).tolist() == 1.5
        assert px.zeros((0, 2)).tolist() == []
        assert px.asarray([1.5, 2.0], dtype=px.bfloat16).tolist() == [1.5, 2.0]
        assert px.asarray([[1, 2], [3, 4]]).T.tolist() == [[1, 3], [2, 4]]

    def test_format(self, device: px.Device) -> None:
        assert f"{px.asarray(1.23456):.2f}" == "1.23"
        assert f"{px.asarray([1, 2])}" == "[1 2]"


class TestTransfer:
    @pytest.mark.parametrize("name", ALL)
    def test_round_trip_through_numpy(self, device: px.Device, name: str) -> None:
        data = np.arange(24).reshape(2, 3, 4).astype(numpy_type(name))
        x = px.asarray(data)
        assert x.dtype is dtype(name)
        back = px.asnumpy(x)
        assert back.dtype == data.dtype
        assert back.tobytes() == data.tobytes()
        flipped = px.asnumpy(px.permute_dims(x, (2, 0, 1))[::-1])
        assert flipped.tobytes() == data.transpose(2, 0, 1)[::-1].tobytes()

    def test_asnumpy_is_a_copy(self, device: px.Device) -> None:
        x = px.zeros(3)
        px.asnumpy(x)[0] = 1
        assert px.asnumpy(x).tolist() == [0, 0, 0]

    def test_asarray_copies_host_data(self, device: px.Device) -> None:
        data = np.zeros(3)
        x = px.asarray(data)
        data[0] = 1
        assert px.asnumpy(x).tolist() == [0, 0, 0]

    @pytest.mark.parametrize("source", ["fake:0", "fake:1", "fakestream:0", "fakehost:0"])
    @pytest.mark.parametrize("target", ["fake:0", "fakestream:1", "fakehost:1"])
    def test_between_devices(self, drivers: object, source: str, target: str) -> None:
        data = np.arange(12.0).reshape(3, 4)
        x = px.asarray(data, device=source)
        moved = x.to_device(target)
        assert str(moved.device) == target
        assert (moved is x) is (source == target)
        assert px.asnumpy(moved).tolist() == data.tolist()
        view = x.T[::-1].to_device(target)
        assert px.asnumpy(view).tolist() == data.T[::-1].tolist()
        assert px.asnumpy(px.zeros((0, 2), device=source).to_device(target)).shape == (0, 2)

    def test_straight_into_host_memory(
        self, drivers: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        x = px.arange(5, device="fake:0")
        written: list[int] = []
        real = ReferenceDevice.copy

        def copy(self: ReferenceDevice, dst: Place, src: Place, size: int, *, stream: Any) -> None:
            written.append(dst.handle + dst.offset)
            real(self, dst, src, size, stream=stream)

        monkeypatch.setattr(ReferenceDevice, "copy", copy)
        moved = x.to_device("fakehost:0")
        assert written == [moved.buffer.handle + moved.offset]
        assert px.asnumpy(moved).tolist() == [0, 1, 2, 3, 4]

    def test_between_devices_on_a_stream(self, asynchronous: px.Device) -> None:
        stream = px.Stream("fakestream:1")
        moved = px.arange(5).to_device("fakestream:1", stream=stream)
        assert px.asnumpy(moved + 1).tolist() == [1, 2, 3, 4, 5]
        with pytest.raises(
            px.DeviceMismatchError, match="stream of fakestream:1 does not serve a copy to fake:0"
        ):
            px.arange(5).to_device("fake:0", stream=stream)
        with pytest.raises(TypeError, match="got int"):
            px.arange(5).to_device("fake:0", stream=3)

    def test_unknown_device(self, fake: px.Device) -> None:
        with pytest.raises(px.DeviceNotFoundError):
            px.zeros(1).to_device("fake:9")

    def test_asnumpy_takes_arrays_only(self) -> None:
        with pytest.raises(TypeError, match="got list"):
            px.asnumpy([1])  # type: ignore[arg-type]

    def test_bfloat16_without_ml_dtypes(
        self, fake: px.Device, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        x = px.ones(2, dtype=px.bfloat16)
        monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
        with pytest.raises(TypeError, match=r"install the package ml_dtypes.*astype"):
            px.asnumpy(x)


class TestNumpyProtocol:
    def test_device_memory_is_not_copied_unasked(self, fake: px.Device) -> None:
        with pytest.raises(TypeError, match=r"fake:0 does not convert.*asnumpy"):
            np.asarray(px.zeros(2))

    def test_host_memory_is_shared(self, drivers: object) -> None:
        x = px.zeros(3, device="fakehost:0")
        y = np.asarray(x)
        y[1] = 7
        assert px.asnumpy(x).tolist() == [0, 7, 0]
        z = np.array(x)
        z[0] = 9
        assert px.asnumpy(x).tolist() == [0, 7, 0]
        assert np.asarray(x, dtype=np.int64).tolist() == [0, 7, 0]

    def test_no_copy_means_no_copy(self, drivers: object) -> None:
        x = px.zeros(3, device="fakehost:0")
        assert np.shares_memory(np.asarray(x, copy=False), np.asarray(x))
        with pytest.raises(ValueError, match="copy"):
            np.asarray(x, dtype=np.int64, copy=False)
        b = px.ones(2, dtype=px.bfloat16, device="fakehost:0")
        assert np.asarray(b).dtype == ml_dtypes.bfloat16
        assert np.shares_memory(np.asarray(b, copy=False), np.asarray(b))
        assert not np.shares_memory(np.array(b), np.asarray(b))
        np.asarray(b[::-1])[0] = 3
        assert b.tolist() == [1.0, 3.0]


class TestCopies:
    @pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda x: px.asarray(x, copy=True)])
    def test_copies_do_not_share(
        self, device: px.Device, how: Callable[[px.Array], px.Array]
    ) -> None:
        x = px.reshape(px.arange(6.0), (2, 3)).T
        y = how(x)
        y += 1
        assert (y.device, y.dtype, y.shape) == (x.device, x.dtype, x.shape)
        assert px.asnumpy(x)[0, 0] == 0
        assert px.asnumpy(y)[0, 0] == 1

    @pytest.mark.parametrize("name", ALL)
    def test_pickle(self, device: px.Device, name: str) -> None:
        x = px.asarray(np.arange(6).reshape(2, 3), dtype=dtype(name)).T
        y = pickle.loads(pickle.dumps(x))
        assert (y.dtype, y.shape) == (x.dtype, x.shape)
        assert str(y.device) == str(device)
        assert px.asnumpy(y).tobytes() == px.asnumpy(x).tobytes()

    def test_pickle_of_nothing(self, device: px.Device) -> None:
        assert pickle.loads(pickle.dumps(px.zeros((3, 0)))).shape == (3, 0)

    def test_pickle_of_an_array_whose_device_is_gone(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        make_driver()
        data = pickle.dumps(px.ones(2, device="own:0")).replace(b"own:0", b"owm:0")
        with pytest.raises(px.DeviceNotFoundError):
            pickle.loads(data)

    def test_pickle_of_the_parts(self, fake: px.Device) -> None:
        assert pickle.loads(pickle.dumps(fake)) is fake
        assert pickle.loads(pickle.dumps(px.float32)) is px.float32
        assert copy.deepcopy(px.bfloat16) is px.bfloat16


class TestPrinting:
    def test_repr(self, device: px.Device) -> None:
        assert repr(px.asarray([1, 2])) == f"phalanx.Array([1, 2], dtype=int64, device='{device}')"
        assert repr(px.asarray(1.5)) == f"phalanx.Array(1.5, dtype=float64, device='{device}')"
        assert (
            repr(px.zeros((0, 3)))
            == f"phalanx.Array([], shape=(0, 3), dtype=float64, device='{device}')"
        )
        assert repr(px.asarray([True])).startswith("phalanx.Array([ True], dtype=bool")
        assert "1.5" in repr(px.asarray([1.5], dtype=px.bfloat16))

    def test_repr_of_a_matrix_is_aligned(self, fake: px.Device) -> None:
        assert repr(px.reshape(px.arange(4), (2, 2))) == (
            "phalanx.Array([[0, 1],\n               [2, 3]], dtype=int64, device='fake:0')"
        )

    def test_repr_of_a_large_array_is_short_and_copies_little(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        driver = make_driver()
        x = px.reshape(px.arange(1_000_000, device="own:0"), (1000, 1000))
        driver.launches.clear()
        text = repr(x)
        assert len(text) < 700
        assert "..." in text
        assert "999999" in text
        assert "shape=(1000, 1000)" in text
        assert max(math.prod(s) for launch in driver.launches for s in launch.shapes) < 10_000

    def test_long_rows_wrap(self, fake: px.Device) -> None:
        lines = repr(px.linspace(0, 1, 40)).splitlines()
        assert all(len(line) < 100 for line in lines)
        assert lines[-1].strip() == "dtype=float64, device='fake:0')" or "device" in lines[-1]

    def test_str(self, device: px.Device) -> None:
        assert str(px.asarray([[1, 2], [3, 4]])) == "[[1 2]\n [3 4]]"
        assert str(px.asarray(2.5)) == "2.5"
        assert str(px.zeros(0)) == "[]"

    def test_others(self, fake: px.Device) -> None:
        assert repr(px.float32) == "phalanx.float32"
        assert str(px.float32) == "float32"
        assert repr(fake) == "<Device fake:0 'Reference device 0'>"
        assert str(fake) == "fake:0"


class TestTypes:
    def test_dtypes_are_singletons(self) -> None:
        with pytest.raises(TypeError, match=r"float32"):
            px.DType()
        assert px.float32.dlpack == (2, 32, 1)
        assert px.bfloat16.dlpack == (4, 16, 1)
        assert px.bool.dlpack == (6, 8, 1)
        with pytest.raises(TypeError, match=r"unknown dtype 'float8'; the dtypes are bool, int8"):
            px.zeros(1, dtype="float8")

    @pytest.mark.parametrize("name", ALL)
    def test_sizes(self, name: str) -> None:
        assert dtype(name).itemsize == numpy_type(name).itemsize
        assert dtype(name).name == name
