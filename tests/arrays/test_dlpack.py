"""DLPack both ways: ``core/arrays/interchange.py`` and ``core/warm/dlpack.pxi``."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.testing import ReferenceDriver

CPU = (1, 0)
DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip


@pytest.fixture(params=["fakehost:0", pytest.param("cpu:0", marks=pytest.mark.needs_cpu)])
def host(request: pytest.FixtureRequest, drivers: object) -> Any:
    """A device whose memory NumPy can address."""
    if request.param == "cpu:0":
        from conftest import real_cpu

        real_cpu()
    with px.device(request.param) as device:
        yield device


class Exporter:
    """An object of another library: hands on what an array exports, as old or as new as wanted."""

    def __init__(
        self, source: Any, *, old: bool = False, device: tuple[int, int] | None = None
    ) -> None:
        self.source, self.old, self.device = source, old, device
        self.wishes: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device or self.source.__dlpack_device__()

    def __dlpack__(self, **wish: Any) -> Any:
        self.wishes.append(wish)
        if self.old and wish:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        return self.source.__dlpack__(**wish)


class Capsule:
    """An exporter with one ready capsule."""

    def __init__(self, capsule: Any, device: tuple[int, int] = CPU) -> None:
        self.capsule, self.device = capsule, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **wish: Any) -> Any:
        return self.capsule


class TestImport:
    @pytest.mark.parametrize("name", DTYPES)
    def test_numpy_zero_copy(self, host: px.Device, name: str) -> None:
        data = np.arange(12).reshape(3, 4).astype(name)
        x = px.from_dlpack(data)
        assert (x.dtype.name, x.shape, x.device) == (name, (3, 4), host)
        data[1, 2] = 0
        assert px.asnumpy(x).tolist() == data.tolist()
        x[0] = x[2]
        assert data[0].tolist() == data[2].tolist()

    def test_views(self, host: px.Device) -> None:
        base = np.arange(24.0).reshape(2, 3, 4)
        for view in (
            base[::-1],
            base[:, 1:, ::2],
            base.T,
            base[:, ::-1, ::-2],
            base[1, 2, 3:].reshape(()),
            base[:0],
            base[..., None],
        ):
            x = px.from_dlpack(view)
            assert px.asnumpy(x).tolist() == view.tolist()
            assert px.asnumpy(x + 1).tolist() == (view + 1).tolist()
            assert px.asnumpy(px.sum(x)).tolist() == view.sum()

    def test_index_into_imported_views(self, host: px.Device) -> None:
        data = np.arange(10.0)[::-1]
        x = px.from_dlpack(data)
        x[px.asarray([0, 9])] = -1.0
        assert data.tolist() == [-1, 8, 7, 6, 5, 4, 3, 2, 1, -1]
        assert px.asnumpy(x[px.asarray([1, -2])]).tolist() == [8, 1]

    def test_imported_views_fall_back_whole(
        self, make_driver: Callable[..., ReferenceDriver]
    ) -> None:
        """Memory that lies before the first element travels too."""
        make_driver(host_addressable=True, missing=["gather", "scatter", "add"])
        data = np.arange(10.0)[::-2]
        x = px.from_dlpack(data, device="own:0")
        with px.fallback_policy("allow"), px.device("own:0"):
            assert px.asnumpy(x[px.asarray([0, 2, 4])]).tolist() == [9, 5, 1]
            x[px.asarray([1, 3])] = -1.0
            assert data.tolist() == [9, -1, 5, -1, 1]
            assert px.asnumpy(x + 1).tolist() == (data + 1).tolist()
        px.fallback_report(reset=True)

    def test_exporter_may_die_first(self, host: px.Device) -> None:
        data = np.full(1000, 3.0)
        gone = weakref.ref(data)
        x = px.from_dlpack(data)[10:20]
        del data
        gc.collect()
        assert gone() is not None
        assert px.asnumpy(x).tolist() == [3.0] * 10
        del x
        gc.collect()
        assert gone() is None

    def test_read_only_memory_stays_read_only(self, host: px.Device) -> None:
        data = np.arange(3.0)
        data.flags.writeable = False
        x = px.from_dlpack(data)
        assert x.buffer.readonly
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        assert px.asnumpy(x + 1).tolist() == [1, 2, 3]
        x = px.from_dlpack(data, copy=True)
        x += 1
        assert data.tolist() == [0, 1, 2]

    @pytest.mark.parametrize("copied", [True, False, None])
    def test_copy(self, host: px.Device, copied: bool | None) -> None:
        data = np.zeros(3)
        x = px.from_dlpack(data, copy=copied)
        data[0] = 1
        assert float(x[0]) == (0.0 if copied else 1.0)

    def test_to_another_device(self, host: px.Device) -> None:
        data = np.arange(6.0).reshape(2, 3).T
        x = px.from_dlpack(data, device="fake:1")
        assert str(x.device) == "fake:1"
        assert px.asnumpy(x).tolist() == data.tolist()
        with pytest.raises(BufferError, match=r"copy=False.*fake:1"):
            px.from_dlpack(data, device="fake:1", copy=False)

    def test_misaligned_memory_is_copied(self, host: px.Device) -> None:
        raw = np.zeros(8 * 4 + 1, np.uint8)
        data = raw[1:].view(np.float64)
        data[:] = [1, 2, 3, 4]
        assert not data.flags.aligned
        x = px.from_dlpack(data)
        assert px.asnumpy(x).tolist() == [1, 2, 3, 4]
        raw[:] = 0
        assert px.asnumpy(x).tolist() == [1, 2, 3, 4], (
            "the kernels would have met a misaligned address"
        )
        with pytest.raises(BufferError, match="not aligned"):
            px.from_dlpack(data, copy=False)

    def test_exporter_of_the_first_edition(self, host: px.Device) -> None:
        data = np.arange(4.0)
        x = px.from_dlpack(Exporter(data, old=True))
        data[0] = 9
        assert px.asnumpy(x).tolist() == [9, 1, 2, 3]
        x = px.from_dlpack(Exporter(data, old=True), copy=True)
        data[0] = 0
        assert float(x[0]) == 9

    def test_asks_for_versioned_capsules(self, host: px.Device) -> None:
        exporter = Exporter(np.zeros(2))
        px.from_dlpack(exporter)
        assert exporter.wishes[0]["max_version"][0] == 1

    def test_asarray_takes_dlpack(self, host: px.Device) -> None:
        data = np.arange(3.0)
        x = px.asarray(Exporter(data), dtype=px.float32)
        assert px.asnumpy(x).tolist() == [0, 1, 2]
        assert x.dtype is px.float32

    def test_foreign_device_is_asked_to_copy_to_the_host(self, host: px.Device) -> None:
        class Far(Exporter):
            def __dlpack__(self, **wish: Any) -> Any:
                self.wishes.append(dict(wish))
                wish.pop("dl_device")
                return self.source.__dlpack__(**wish)

        far = Far(np.arange(3.0), device=(2, 0))
        assert px.asnumpy(px.from_dlpack(far, device=host)).tolist() == [0, 1, 2]
        assert far.wishes[0]["dl_device"] == CPU

    def test_old_exporter_on_a_foreign_device(self, host: px.Device) -> None:
        with pytest.raises(BufferError, match=r"device \(2, 0\) and too old"):
            px.from_dlpack(Exporter(np.zeros(2), old=True, device=(2, 0)), device=host)

    def test_device_that_nobody_has(self, fake: px.Device) -> None:
        class Structure(ctypes.Structure):
            _fields_ = ()

        exporter = Capsule(_capsule(device=(7, 3)), (7, 3))
        with pytest.raises(
            BufferError, match=r"no Phalanx device stands for DLPack device \(7, 3\)"
        ):
            px.from_dlpack(exporter)

    def test_unknown_dtype(self, fake: px.Device) -> None:
        with pytest.raises(BufferError, match="no dtype for DLPack code 17, 4 bits"):
            px.from_dlpack(Capsule(_capsule(code=17, bits=4)))

    def test_capsule_of_a_later_major_version(self, fake: px.Device) -> None:
        with pytest.raises(BufferError, match=r"DLPack 2\.0; this version reads 1\.x"):
            px.from_dlpack(Capsule(_capsule(major=2)))

    def test_capsule_is_used_once(self, host: px.Device) -> None:
        capsule = np.arange(3.0).__dlpack__()
        px.from_dlpack(Capsule(capsule))
        with pytest.raises(BufferError, match="no unused DLPack capsule"):
            px.from_dlpack(Capsule(capsule))

    def test_no_capsule_at_all(self, host: px.Device) -> None:
        with pytest.raises(BufferError, match="no unused DLPack capsule"):
            px.from_dlpack(Capsule(3))
        with pytest.raises(TypeError, match=r"list has no __dlpack__; use phalanx.asarray"):
            px.from_dlpack([1, 2])


# A versioned capsule made by hand: https://dmlc.github.io/dlpack/latest/c_api.html


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_kept: list[Any] = []


def _capsule(
    *, major: int = 1, device: tuple[int, int] = CPU, code: int = 2, bits: int = 64, offset: int = 0
) -> Any:
    """A capsule over four float64 without strides, which means C order, and without a deleter."""
    data, shape = (ctypes.c_double * 4)(1, 2, 3, 4), (ctypes.c_int64 * 2)(2, (32 - offset) // 16)
    tensor = _Tensor(
        ctypes.addressof(data), *device, 2, code, bits, 1, ctypes.addressof(shape), None, offset
    )
    managed = _Versioned(major, 0, None, None, 0, tensor)
    _kept.append((data, shape, managed))
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = (
        ctypes.py_object,
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
    )
    return make(ctypes.addressof(managed), b"dltensor_versioned", None)


class TestHandMadeCapsules:
    def test_null_strides_mean_c_order(self, host: px.Device) -> None:
        assert px.from_dlpack(Capsule(_capsule())).tolist() == [[1, 2], [3, 4]]

    def test_byte_offset(self, host: px.Device) -> None:
        assert px.from_dlpack(Capsule(_capsule(offset=16))).tolist() == [[3], [4]]


class TestExport:
    @pytest.mark.parametrize("name", DTYPES)
    def test_numpy_zero_copy(self, host: px.Device, name: str) -> None:
        x = px.asarray(np.arange(12).reshape(3, 4), dtype=getattr(px, name))
        y = np.from_dlpack(x)
        assert (y.dtype.name, y.shape) == (name, (3, 4))
        assert y.tolist() == x.tolist()
        x[1] = x[2]
        assert y[1].tolist() == y[2].tolist()

    def test_views(self, host: px.Device) -> None:
        x = px.reshape(px.arange(24.0), (2, 3, 4))
        for view in (
            x[::-1],
            x[:, 1:, ::2],
            x[1].T,
            x[1, 2, 3],
            x[:0],
            px.broadcast_to(x[0, 0], (5, 4)),
        ):
            assert np.from_dlpack(view).tolist() == view.tolist()

    def test_array_may_die_first(self, host: px.Device) -> None:
        x = px.full(1000, 4.0)
        y = np.from_dlpack(x)
        requested = px.memory_stats()["requested"]
        del x
        assert px.memory_stats()["requested"] == requested
        assert y.sum() == 4000
        del y
        gc.collect()
        assert px.memory_stats()["requested"] == requested - 8000

    @pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 5)])
    def test_capsule_that_nobody_consumes(
        self, host: px.Device, version: tuple[int, int] | None
    ) -> None:
        x = px.ones(500)
        requested = px.memory_stats()["requested"]
        capsule = x.__dlpack__(max_version=version)
        name = "dltensor_versioned" if version is not None and version[0] >= 1 else "dltensor"
        assert f'"{name}"' in repr(capsule)
        del x
        gc.collect()
        assert px.memory_stats()["requested"] == requested
        del capsule
        gc.collect()
        assert px.memory_stats()["requested"] == requested - 4000

    def test_consumed_plain_capsule_is_released_once(self, host: px.Device) -> None:
        x = px.ones(500)
        requested = px.memory_stats()["requested"]
        y = px.from_dlpack(Capsule(x.__dlpack__(), x.__dlpack_device__()))
        del x
        assert float(px.sum(y)) == 500
        del y
        gc.collect()
        assert px.memory_stats()["requested"] <= requested - 4000

    def test_read_only(self, host: px.Device) -> None:
        data = np.arange(3.0)
        data.flags.writeable = False
        x = px.from_dlpack(data)
        assert not np.from_dlpack(x).flags.writeable
        with pytest.raises(BufferError, match=r"max_version >= \(1, 0\), or copy=True"):
            x.__dlpack__()
        assert np.from_dlpack(x, copy=True).flags.writeable

    def test_copy(self, host: px.Device) -> None:
        x = px.zeros(3)
        y, z = np.from_dlpack(x, copy=True), np.from_dlpack(x, copy=False)
        x += 1
        assert y.tolist() == [0, 0, 0]
        assert z.tolist() == [1, 1, 1]

    def test_stream_on_a_cpu(self, host: px.Device) -> None:
        with pytest.raises(ValueError, match="stream must be None"):
            px.zeros(1).__dlpack__(stream=1)

    def test_pending_work_is_waited_for(self, make_driver: Callable[..., ReferenceDriver]) -> None:
        driver = make_driver(streams=True, delay=0.05)
        x = px.zeros(3, device="own:0") + 1
        x.__dlpack__()
        assert px.Stream("own:0").query()
        assert driver.open_devices[0].stream(None).idle()

    def test_to_the_host(self, fake: px.Device) -> None:
        x = px.arange(6.0)
        assert x.__dlpack_device__() == (12, 0)
        y = np.from_dlpack(x, device="cpu")
        assert y.tolist() == [0, 1, 2, 3, 4, 5]
        with pytest.raises(
            BufferError, match=r"fake:0 cannot be exported to DLPack device \(1, 0\)"
        ):
            np.from_dlpack(x, device="cpu", copy=False)
        with pytest.raises(BufferError, match=r"\(2, 1\)"):
            x.__dlpack__(dl_device=(2, 1))

    def test_to_the_host_without_a_cpu(
        self, fake: px.Device, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("phalanx.dispatch.fallback.fallback_device", lambda device: None)
        with pytest.raises(BufferError, match="no CPU device"):
            px.zeros(1).__dlpack__(dl_device=CPU)

    def test_between_phalanx_arrays(self, device: px.Device) -> None:
        x = px.arange(5.0)
        y = px.from_dlpack(x)
        assert y.device is device
        y[0] = 9.0
        assert px.asnumpy(x).tolist() == [9, 1, 2, 3, 4]

    def test_opaque_handles_keep_their_offset(self, fake: px.Device) -> None:
        x = px.arange(10.0)[3:8][::-1]
        y = px.from_dlpack(x)
        assert px.asnumpy(y).tolist() == [7, 6, 5, 4, 3]
        assert y.buffer.handle == x.buffer.handle
        assert y.offset == x.offset


class TestNumpyWithoutDlpack:
    """``asarray(copy=False)`` shares NumPy's memory too."""

    def test_shared(self, host: px.Device) -> None:
        for data in (np.arange(6.0), np.arange(6.0)[::-1], np.arange(12.0).reshape(3, 4).T[::2]):
            x = px.asarray(data, copy=False)
            assert px.asnumpy(x).tolist() == data.tolist()
            data[...] = 5
            assert set(px.asnumpy(x).ravel().tolist()) == {5.0}

    def test_records_and_foreign_byte_order_cannot_be_shared(self, host: px.Device) -> None:
        record = np.zeros(4, dtype=[("a", "u4"), ("b", "f8")])
        record["b"] = [1, 2, 3, 4]
        swapped = np.arange(4, dtype=">i4")
        for data in (record["b"], swapped):
            with pytest.raises(ValueError, match="copy=False"):
                px.asarray(data, copy=False)
            assert px.asarray(data).tolist() == data.tolist()

    def test_other_dtype_cannot_be_shared(self, host: px.Device) -> None:
        with pytest.raises(ValueError, match="must be converted"):
            px.asarray(np.zeros(3), dtype=px.float32, copy=False)

    def test_opaque_device(self, fake: px.Device) -> None:
        with pytest.raises(ValueError, match="cannot be shared between the host and fake:0"):
            px.asarray(np.zeros(3), copy=False)

    def test_owner_lives_as_long_as_the_view(self, host: px.Device) -> None:
        data = np.full(100, 2.0)
        gone = weakref.ref(data)
        x = px.asarray(data, copy=False)[3:]
        del data
        gc.collect()
        assert gone() is not None
        assert float(px.sum(x)) == 194
        del x
        gc.collect()
        assert gone() is None


class TestTorch:
    def test_both_ways(self, host: px.Device) -> None:
        torch = pytest.importorskip("torch")
        x = px.arange(6.0)
        t = torch.from_dlpack(x)
        t[0] = 9
        assert float(x[0]) == 9
        y = px.from_dlpack(t)
        y[1] = 8.0
        assert t.tolist() == [9, 8, 2, 3, 4, 5]
        b = px.from_dlpack(torch.ones(3, dtype=torch.bfloat16))
        assert b.dtype is px.bfloat16
