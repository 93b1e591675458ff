"""CuPy's modules for streams, memory, cuFFT and Thrust without a card: on the parts of `FakeCuda`.

Names and parameters are those of CuPy 14.2 for CUDA 12. What cuFFT 12.9 and CuPy's C++ do not take
is refused, and what a user of them has to keep to is checked: a stream must be current, memory must
be there, what a plan works in is the plan's alone, and a plan that goes has nothing left to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .library import FakeCuda
from .memory import FFI
from .numeric import _Module

#: As the docstrings of CuPy's functions have them.
SIGNATURES = {
    "cufft": {
        "PlanNd": "shape, inembed, int istride, int idist, onembed, int ostride, int odist, "
        "int fft_type, int batch, str order, int last_axis, last_size, "
        "intptr_t prealloc_plan=0, *",
    },
    "thrust": {
        "sort": "dtype, intptr_t data_start, intptr_t keys_start, vector[ptrdiff_t] shape",
        "argsort": "dtype, intptr_t idx_start, intptr_t data_start, intptr_t keys_start, "
        "vector[ptrdiff_t] shape",
    },
}
_FREED = 0xA5
#: What CuPy's Thrust sorts.
_SORTED = (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64)


class _Memory:
    """``cupy.cuda.UnownedMemory``: the owner is kept."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        assert all(type(x) is int for x in (ptr, size, device_id))
        assert device_id >= 0, "pointerGetAttributes knows no addresses of a fake card"
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, device_id


class _Pointer:
    """``cupy.cuda.MemoryPointer``."""

    def __init__(self, mem: _Memory, offset: int) -> None:
        assert type(mem) is _Memory
        assert mem.ptr != 0 or offset == 0
        self.mem, self.ptr = mem, mem.ptr + offset


class _Stream:
    """``cupy.cuda.Stream``, as `from_external` makes it."""

    def __init__(self, cuda: FakeCupyCuda, ptr: int) -> None:
        self.ptr, self._cuda = ptr, cuda

    def __enter__(self) -> _Stream:
        self._cuda.runtime.getDevice()
        self._cuda.streams().append(self.ptr)
        return self

    def __exit__(self, *_: object) -> None:
        self._cuda.streams().pop()

    def synchronize(self) -> None:
        handle = self._cuda.library._known(FFI.cast("CUstream", self.ptr))
        self._cuda.library._drain(handle, handle.put)


class FakeCupyCuda:
    """``cupy.cuda``."""

    UnownedMemory, MemoryPointer = _Memory, _Pointer

    def __init__(self, library: FakeCuda) -> None:
        self.library = library
        self.runtime = self.Stream = self  # what is asked of them are methods below
        self._here = threading.local()

    def streams(self) -> list[int]:
        """The streams that this thread has made current."""
        if not hasattr(self._here, "streams"):
            self._here.streams = []
        found: list[int] = self._here.streams
        return found

    def getDevice(self) -> int:
        stack = self.library._stack()
        if not stack:
            raise RuntimeError("cudaErrorInvalidDevice")
        return stack[-1] - 1000

    def from_external(self, obj: Any) -> _Stream:
        version, number = obj.__cuda_stream__()
        if (version, type(number)) != (0, int):
            raise TypeError("__cuda_stream__() must return a 2-tuple of (version, stream_ptr)")
        return _Stream(self, number)

    @contextlib.contextmanager
    def using_allocator(self, allocator: Callable[[int], _Pointer]) -> Iterator[None]:
        self._here.allocator = allocator
        try:
            yield
        finally:
            self._here.allocator = None

    def alloc(self, size: int) -> _Pointer:
        """Memory by the allocator in force: CuPy's own would be no part of the pool."""
        allocator = getattr(self._here, "allocator", None)
        assert allocator is not None, "memory beside the pool"
        got = allocator(size)
        assert type(got) is _Pointer
        assert got.ptr % 256 == 0
        assert self.library._owner(got.ptr, size) == self.library._stack()[-1]
        return got

    def current(self) -> int:
        """The stream that functions work on."""
        assert self.streams(), "the work would go to the default stream"
        return self.streams()[-1]


class _OnStream(_Module):
    """What both modules share."""

    def put(self, work: Callable[[], None]) -> None:
        assert self.library._enqueue_number(self.cuda.current(), work) == 0


class FakeCufft(_OnStream):
    """``cupy.cuda.cufft``."""

    CUFFT_C2C, CUFFT_Z2Z, CUFFT_FORWARD, CUFFT_INVERSE = 0x29, 0x69, -1, 1

    CuFFTError = _Module.Error

    def __init__(self, library: FakeCuda, cuda: FakeCupyCuda) -> None:
        super().__init__(library, cuda)
        self.plans = 0

    def PlanNd(self, *args: Any) -> Any:
        return _Plan(self, *args)


class _Plan:
    """``cupy.cuda.cufft.PlanNd`` of one axis."""

    def __init__(
        self, cufft: FakeCufft, shape: Any, inembed: Any, istride: int, idist: int, onembed: Any,
        ostride: int, odist: int, fft_type: int, batch: int, order: str, last_axis: int,
        last_size: object,
    ) -> None:  # fmt: skip
        cufft._called("PlanNd")
        (n,), (_,), (_,) = shape, inembed, onembed
        ints = (n, *inembed, *onembed, istride, idist, ostride, odist, fft_type, batch, last_axis)
        assert all(type(x) is int for x in ints)
        if not all(-(2**31) <= x < 2**31 for x in ints):
            raise OverflowError("value too large to convert to int")
        assert (order, last_axis, last_size) == ("C", 0, None)
        cufft._need(fft_type in (cufft.CUFFT_C2C, cufft.CUFFT_Z2Z))
        cufft._need(min(n, batch, istride, idist, ostride, odist, *inembed, *onembed) > 0)
        self._cufft, self._n, self._batch = cufft, n, batch
        self._dtype = np.dtype("complex64" if fft_type == cufft.CUFFT_C2C else "complex128")
        self._steps = ((istride, idist), (ostride, odist))
        size = self._dtype.itemsize * n * batch + 8
        self.work_area = cufft.cuda.alloc(size)
        room = (ctypes.c_uint8 * size).from_address(self.work_area.ptr)
        self._area = np.frombuffer(room, np.uint8)
        self._waits = 0
        cufft.plans += 1

    def __del__(self) -> None:
        if hasattr(self, "_waits"):
            assert self._cufft.library._stack(), "destroyed in no context"
            assert not self._waits, "destroyed before its work was done"
            self._cufft.plans -= 1

    def _rows(self, ptr: int, steps: tuple[int, int]) -> np.ndarray[Any, Any]:
        stride, distance = steps
        item = self._dtype.itemsize
        size = ((self._n - 1) * stride + (self._batch - 1) * distance + 1) * item
        self._cufft._need(ptr % item == 0)
        self._cufft._there(ptr, size)
        room = (ctypes.c_uint8 * size).from_address(ptr)
        shape, strides = (self._batch, self._n), (distance * item, stride * item)
        return np.ndarray(shape, self._dtype, room, 0, strides)

    def fft(self, a: Any, out: Any, direction: int) -> None:
        self._cufft._called("fft")
        self._cufft._need(direction in (-1, 1))
        x, y = (self._rows(z.data.ptr, s) for z, s in zip((a, out), self._steps, strict=True))
        self._cufft._need(a.data.ptr != out.data.ptr or self._steps[0] == self._steps[1])
        self._waits += 1

        def work() -> None:
            self._area[:] = _FREED  # whatever else lay there is gone
            wide = np.fft.fft(x) if direction < 0 else np.fft.ifft(x) * self._n
            y[:] = wide
            self._waits -= 1

        self._cufft.put(work)


class FakeThrust(_OnStream):
    """``cupy.cuda.thrust``, for one axis: of more it compares pairs, which is no radix sort."""

    def sort(self, dtype: Any, data_start: int, keys_start: int, shape: Any) -> None:
        keys, _ = self._begin("sort", dtype, data_start, keys_start, shape)
        self.put(lambda: keys.sort(kind="stable"))

    def argsort(
        self, dtype: Any, idx_start: int, data_start: int, keys_start: int, shape: Any
    ) -> None:
        keys, n = self._begin("argsort", dtype, data_start, keys_start, shape)
        self._there(idx_start, 8 * n)
        room = (ctypes.c_uint8 * (8 * n)).from_address(idx_start)
        places = np.frombuffer(room, np.uint64)

        def work() -> None:
            places[:] = np.argsort(keys, kind="stable")
            keys.sort(kind="stable")

        self.put(work)

    def _begin(
        self, name: str, dtype: Any, data: int, keys: int, shape: Any
    ) -> tuple[np.ndarray[Any, Any], int]:
        """The keys; memory to work in is had for the call alone, as its order is the stream's."""
        self._called(name)
        (n,) = shape
        assert all(type(x) is int for x in (data, keys, n))
        kinds = [kind for kind in _SORTED if dtype == kind]  # as CuPy: a name is equal to none
        if not kinds:
            raise NotImplementedError(f"Sorting arrays with dtype '{dtype}' is not supported")
        kind = np.dtype(kinds[0])
        assert n > 0
        self._need(data % kind.itemsize == 0)
        self._there(data, n * kind.itemsize)
        try:
            area = self.cuda.alloc(n * kind.itemsize + 1000)
        except MemoryError:  # of C++ it is another one
            raise MemoryError("std::bad_alloc") from None
        at = area.ptr
        self.put(lambda: ctypes.memset(at, _FREED, n * kind.itemsize + 1000) and None)
        return np.frombuffer((ctypes.c_uint8 * (n * kind.itemsize)).from_address(data), kind), n
