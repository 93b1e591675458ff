"""CuPy's modules for cuBLAS and cuSOLVER without either: on the memory and streams of `FakeCuda`.

Names and parameters are those of CuPy 14.2 for CUDA 12. What cuBLAS 12.9 and cuSOLVER 12.9 do not
promise is refused: leading dimensions, memory that is not there, another context, TF32. As in CuPy,
each call works on the stream that is current for CuPy, whatever the handle had before.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .library import FakeCuda

#: As the docstrings of CuPy's functions have them.
SIGNATURES = {
    "cublas": {
        "create": "",
        "destroy": "intptr_t handle",
        "setMathMode": "intptr_t handle, int mode",
    }
    | dict.fromkeys(
        (f"{letter}gemmStridedBatched" for letter in "sdcz"),
        "intptr_t handle, int transa, int transb, int m, int n, int k, size_t alpha, size_t A, "
        "int lda, long long strideA, size_t B, int ldb, long long strideB, size_t beta, size_t C, "
        "int ldc, long long strideC, int batchCount",
    ),
    "cusolver": {
        "create": "",
        "destroy": "intptr_t handle",
    }
    | dict.fromkeys(
        (f"{letter}potrf_bufferSize" for letter in "sdcz"),
        "intptr_t handle, int uplo, int n, size_t A, int lda",
    )
    | dict.fromkeys(
        (f"{letter}potrf" for letter in "sdcz"),
        "intptr_t handle, int uplo, int n, size_t A, int lda, size_t work, int lwork, "
        "size_t devInfo",
    )
    | dict.fromkeys(
        (f"{name}_bufferSize" for name in ("ssyevd", "dsyevd", "cheevd", "zheevd")),
        "intptr_t handle, int jobz, int uplo, int n, size_t A, int lda, size_t W",
    )
    | dict.fromkeys(
        ("ssyevd", "dsyevd", "cheevd", "zheevd"),
        "intptr_t handle, int jobz, int uplo, int n, size_t A, int lda, size_t W, size_t work, "
        "int lwork, size_t info",
    ),
}
_DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
_INVALID = 7  # CUBLAS_STATUS_INVALID_VALUE
_Matrix = np.ndarray[Any, Any]


def columns(address: int, shape: tuple[int, int], lead: int, dtype: str) -> _Matrix:
    """A matrix that lies column by column at an address."""
    item = np.dtype(dtype).itemsize
    size = (lead * (shape[1] - 1) + shape[0]) * item if min(shape) else 0
    room = (ctypes.c_uint8 * size).from_address(address)
    return np.ndarray(shape, dtype, room, 0, (item, lead * item))


class _Module:
    """Handles, and the checks that both libraries share.

    Attributes:
        calls: how often each function was called.
        fails: functions that fail, with the status.
        live: the stream of each handle, which is what was CuPy's current one at its calls.
    """

    class Error(RuntimeError):
        """What a call returned."""

        def __init__(self, status: int) -> None:
            super().__init__(f"FAKE_STATUS_{status}")
            self.status = status

    def __init__(self, library: FakeCuda, cuda: Any) -> None:
        self.library = library
        self.cuda = cuda
        self.calls: Counter[str] = Counter()
        self.fails: dict[str, int] = {}
        self.live: dict[int, int | None] = {}

    def _called(self, name: str, handle: int | None = None) -> None:
        self.calls[name] += 1
        if not self.library._stack():
            raise self.Error(1)  # CUBLAS_STATUS_NOT_INITIALIZED
        if name in self.fails:
            raise self.Error(self.fails[name])
        if handle is not None and handle not in self.live:
            raise self.Error(1)

    def _need(self, right: bool) -> None:
        if not right:
            raise self.Error(_INVALID)

    def create(self) -> int:
        self._called("create")
        self.live[handle := 700 + self.calls["create"]] = None
        return handle

    def destroy(self, handle: int) -> None:
        self._called("destroy", handle)
        del self.live[handle]

    def _there(self, address: int, size: int) -> None:
        self._need(size == 0 or self.library._owner(address, size) == self.library._stack()[-1])

    def _run(self, handle: int, work: Callable[[], None]) -> None:
        stream = self.cuda.current()
        assert self.live[handle] in (None, stream), "a handle of two streams may change bits"
        self.live[handle] = stream
        assert self.library._enqueue_number(stream, work) == 0


class FakeCublas(_Module):
    """``cupy_backends.cuda.libs.cublas``."""

    CUBLASError = _Module.Error
    CUBLAS_DEFAULT_MATH = 0

    def __init__(self, library: FakeCuda, cuda: Any) -> None:
        super().__init__(library, cuda)
        self.modes: dict[int, int] = {}

    def setMathMode(self, handle: int, mode: int) -> None:
        self._called("setMathMode", handle)
        self.modes[handle] = mode

    def __getattr__(self, name: str) -> Callable[..., None]:
        letter, rest = name[:1], name[1:]
        if rest != "gemmStridedBatched" or letter not in _DTYPES:
            raise AttributeError(name)
        return lambda *args: self._gemm(name, _DTYPES[letter], *args)

    def _gemm(
        self, name: str, dtype: str, handle: int, transa: int, transb: int, m: int, n: int, k: int,
        alpha: int, a: int, lda: int, stride_a: int, b: int, ldb: int, stride_b: int, beta: int,
        c: int, ldc: int, stride_c: int, count: int,
    ) -> None:  # fmt: skip
        """C = alpha op(A) op(B) + beta C, of which alpha is one and beta zero."""
        self._called(name, handle)
        ints = (transa, transb, m, n, k, lda, ldb, ldc, count)
        self._need(all(type(x) is int and 0 <= x < 2**31 for x in ints))
        self._need(self.modes.get(handle) == self.CUBLAS_DEFAULT_MATH)
        self._need(transa in (0, 1) and transb in (0, 1) and min(m, n, k, count) > 0)
        for at, want in ((alpha, 1), (beta, 0)):
            self._need(columns(at, (1, 1), 1, dtype)[0, 0] == want)
        shapes = ((k, m) if transa else (m, k), (n, k) if transb else (k, n), (m, n))
        self._need(lda >= shapes[0][0] and ldb >= shapes[1][0] and ldc >= m)
        self._need(count == 1 or stride_c >= ldc * (n - 1) + m or stride_c >= m)
        item = np.dtype(dtype).itemsize
        places = ((a, lda, stride_a), (b, ldb, stride_b), (c, ldc, stride_c))
        for shape, (at, lead, step) in zip(shapes, places, strict=True):
            for i in {0, count - 1}:
                self._there(at + i * step * item, (lead * (shape[1] - 1) + shape[0]) * item)

        def work() -> None:
            for i in range(count):
                x, y, z = (
                    columns(at + i * step * item, shape, lead, dtype)
                    for shape, (at, lead, step) in zip(shapes, places, strict=True)
                )
                z[:] = (x.T if transa else x) @ (y.T if transb else y)

        self._run(handle, work)


class FakeCusolver(_Module):
    """``cupy_backends.cuda.libs.cusolver``."""

    CUSOLVERError = _Module.Error

    def __getattr__(self, name: str) -> Callable[..., Any]:
        dtype, rest = _DTYPES.get(name[:1], ""), name[1:]
        evd = "heevd" if "complex" in dtype else "syevd"
        known = {
            "potrf_bufferSize": self._potrf_size,
            "potrf": self._potrf,
            f"{evd}_bufferSize": self._evd_size,
            evd: self._evd,
        }
        if not dtype or rest not in known:
            raise AttributeError(name)
        return lambda handle, *args: known[rest](name, dtype, handle, *args)

    def _matrix(
        self, name: str, dtype: str, handle: int, uplo: int, n: int, a: int, lda: int
    ) -> None:
        self._called(name, handle)
        self._need(uplo in (0, 1) and n > 0 and lda >= n)
        self._there(a, (lda * (n - 1) + n) * np.dtype(dtype).itemsize)

    def _potrf_size(self, name: str, dtype: str, *args: int) -> int:
        self._matrix(name, dtype, *args)
        return args[2] + 3

    def _potrf(
        self, name: str, dtype: str, handle: int, uplo: int, n: int, a: int, lda: int, work: int,
        lwork: int, info: int,
    ) -> None:  # fmt: skip
        self._matrix(name, dtype, handle, uplo, n, a, lda)
        self._need(lwork >= n + 3)
        self._there(work, lwork * np.dtype(dtype).itemsize)
        self._there(info, 4)

        def run() -> None:
            whole = columns(a, (n, n), lda, dtype)
            lower = _hermitian(whole, uplo)
            bad = 0
            for j in range(n):
                if not lower[j, j].real > 0:
                    bad = j + 1
                    break
                lower[j:, j] /= np.sqrt(lower[j, j].real)
                lower[j + 1 :, j + 1 :] -= np.outer(lower[j + 1 :, j], lower[j + 1 :, j].conj())
            part = np.triu(lower.conj().T) if uplo else np.tril(lower)
            mask = np.triu(np.ones((n, n), bool)) if uplo else np.tril(np.ones((n, n), bool))
            whole[mask] = part[mask]
            ctypes.c_int32.from_address(info).value = bad

        self._run(handle, run)

    def _evd_size(
        self,
        name: str,
        dtype: str,
        handle: int,
        jobz: int,
        uplo: int,
        n: int,
        a: int,
        lda: int,
        w: int,
    ) -> int:
        self._matrix(name, dtype, handle, uplo, n, a, lda)
        self._need(jobz in (0, 1))
        self._there(w, n * np.zeros(0, dtype).real.itemsize)
        return 2 * n + 5

    def _evd(
        self, name: str, dtype: str, handle: int, jobz: int, uplo: int, n: int, a: int, lda: int,
        w: int, work: int, lwork: int, info: int,
    ) -> None:  # fmt: skip
        self._evd_size(name, dtype, handle, jobz, uplo, n, a, lda, w)
        self._need(jobz == 1 and lwork >= 2 * n + 5)
        self._there(work, lwork * np.dtype(dtype).itemsize)
        self._there(info, 4)

        def run() -> None:
            whole = columns(a, (n, n), lda, dtype)
            values, vectors = np.linalg.eigh(_hermitian(whole, uplo))
            whole[:] = vectors
            columns(w, (n, 1), n, values.dtype.name)[:, 0] = values
            ctypes.c_int32.from_address(info).value = 0

        self._run(handle, run)


def _hermitian(x: _Matrix, uplo: int) -> _Matrix:
    """The matrix whose upper or lower triangle is given; the other one is never read."""
    lower = np.tril(x.conj().T if uplo else x, -1)
    return lower + lower.conj().T + np.diag(x.diagonal().real).astype(x.dtype)
