"""The CPU library through its C ABI alone: what the tests of the library and its threads share.

Imports nothing of the package but the place of the libraries, so that it also runs in child
processes and against a library that ``PHALANX_TEST_CPU_LIBRARY`` names.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI

HEADER = Path(__file__).resolve().parent.parent / "core" / "include" / "phalanx.h"
FOREVER = 2**64 - 1
CONTIGUOUS, STRIDED, ANY = 0, 1, 2
ABI_MISMATCH, INVALID_ARGUMENT, OUT_OF_MEMORY, TIMEOUT, OUT_OF_RANGE, UNAVAILABLE = 7, 2, 3, 5, 6, 8
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
_DLPACK_CODE = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}


def declarations() -> str:
    """The marked parts of the header without preprocessor lines other than ``#define``."""
    parts = re.findall(
        r"/\* cffi: begin \*/\n(.*?)/\* cffi: end \*/", HEADER.read_text("utf-8"), re.DOTALL
    )
    return "".join(parts)


ffi = FFI()
ffi.cdef(declarations())
#: As in kernels_cpu/src/runtime/kernel.h, up to what a kernel of the tests fills.
ffi.cdef("""
    typedef struct cpu_kernel {
        phx_kernel base;
        phx_error *(*fn)(const struct cpu_kernel *self, const phx_call *call);
        void *loop;
        int32_t cost;
    } cpu_kernel;
""")
ffi.cdef(
    "phx_error *phalanx_plugin_get_api(uint32_t, uint32_t, const phx_host *, const phx_api **);"
)


def library_paths() -> list[Path]:
    """The libraries to test: the one that the environment names, or all that are installed."""
    named = os.environ.get("PHALANX_TEST_CPU_LIBRARY")
    if named:
        return [Path(named)]
    from phalanx import kernels_cpu

    return list(kernels_cpu.libraries().values())


class PluginError(Exception):
    """An error object of the ABI: code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def check(error: Any) -> None:
    """Raise an error object as an exception and give it back to the plugin."""
    if error == ffi.NULL:
        return
    message = ffi.buffer(error.message.data, error.message.size)[:].decode()
    code = error.code
    assert error.struct_size >= ffi.sizeof("phx_error")
    error.destroy(error)
    raise PluginError(code, message)


class Library:
    """One opened library: its table, its device, and short forms of the calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lib: Any = ffi.dlopen(str(path))
        self.api = self.get_api(1, 0)
        device = ffi.new("phx_device **")
        check(self.api.device_open(0, device))
        self.device = device[0]
        self._kernels: dict[tuple[str, tuple[int, ...], int], Any] = {}
        self._called: list[Any] = []

    def get_api(self, major: int, minor: int, host: Any = ffi.NULL) -> Any:
        out = ffi.new("phx_api **")
        check(self.lib.phalanx_plugin_get_api(major, minor, host, out))
        return out[0]

    def score(self) -> int:
        out = ffi.new("int32_t *")
        check(self.api.plugin_score(out))
        return int(out[0])

    @property
    def kernels(self) -> dict[tuple[str, tuple[int, ...], int], Any]:
        """The kernel table by (op, dtypes, layout)."""
        if not self._kernels:
            rows, count = ffi.new("phx_kernel ***"), ffi.new("uint64_t *")
            check(self.api.kernel_table(self.device, ffi.cast("void *", rows), count))
            found: dict[tuple[str, tuple[int, ...], int], Any] = {}
            for i in range(count[0]):
                row = rows[0][i]
                op = ffi.buffer(row.op.data, row.op.size)[:].decode()
                dtypes = tuple(ffi.buffer(row.dtypes, row.n_inputs + row.n_outputs)[:])
                assert (op, dtypes, row.layout) not in found, f"two rows of {op} {dtypes}"
                found[op, dtypes, row.layout] = row
            self._kernels = found  # several threads may ask first
        return self._kernels

    def stream(self) -> Any:
        out = ffi.new("phx_stream **")
        check(self.api.stream_create(self.device, 0, out))
        return out[0]

    def event(self, stream: Any = None) -> Any:
        """A new event, recorded on the stream if one is given."""
        out = ffi.new("phx_event **")
        check(self.api.event_create(self.device, 1, out))
        if stream is not None:
            check(self.api.event_record(out[0], stream))
        return out[0]

    def copy(
        self,
        dst: np.ndarray[Any, Any],
        src: np.ndarray[Any, Any],
        size: int,
        stream: Any = ffi.NULL,
    ) -> None:
        """Copy bytes between two arrays, which are places of the host."""
        places = [(ffi.NULL, ffi.cast("void *", x.ctypes.data), 0) for x in (dst, src)]
        check(self.api.copy(self.device, stream, *places, size))

    def call_in(self, stream: Any, function: Callable[[], object]) -> None:
        """Call a Python function in a stream's order: launch a kernel that does."""

        @ffi.callback("phx_error *(const cpu_kernel *, const phx_call *)")
        def fn(_kernel: Any, _call: Any) -> Any:
            function()
            return ffi.NULL

        row = next(iter(self.kernels.values()))
        kernel = ffi.new("cpu_kernel *")
        kernel.base, kernel.fn = row[0], fn
        self._called.append((kernel, fn))
        call = ffi.new("phx_call *", {"struct_size": ffi.sizeof("phx_call")})
        check(row.run(ffi.addressof(kernel, "base"), stream, call))

    def synchronize(self, stream: Any, timeout_ns: int = FOREVER) -> None:
        check(self.api.stream_synchronize(stream, timeout_ns))

    def launch(
        self,
        op: str,
        arrays: Sequence[np.ndarray[Any, Any]],
        *,
        layout: int = CONTIGUOUS,
        stream: Any = ffi.NULL,
        scalars: int = 0,
        params: Sequence[int] = (),
        bfloat16: bool = False,
    ) -> None:
        """Launch a kernel on arrays, inputs first; the last one is the output.

        uint16 arrays stand for bfloat16 if asked. The descriptors die with this call.
        """
        keep = [descriptor(a, bfloat16=bfloat16) for a in arrays]
        numbers = tuple(number(a.dtype, bfloat16=bfloat16) for a in arrays)
        row = self.kernels[op, numbers, layout]
        tensors = ffi.new("DLTensor *[]", [k[0] for k in keep])
        call = ffi.new("phx_call *")
        call.struct_size = ffi.sizeof("phx_call")
        call.tensors = tensors
        call.n_inputs = len(arrays) - 1
        call.n_outputs = 1
        call.scalars = scalars
        values = ffi.new("int64_t[]", list(params) or 1)
        call.params = values
        call.n_params = len(params)
        check(row.run(row, stream, call))


def number(dtype: np.dtype[Any], *, bfloat16: bool = False) -> int:
    name = "bfloat16" if bfloat16 and dtype == np.uint16 else dtype.name
    return DTYPES.index(name)


def descriptor(array: np.ndarray[Any, Any], *, bfloat16: bool = False) -> tuple[Any, ...]:
    """A DLTensor of an array, and what it points to."""
    shape = ffi.new("int64_t[]", array.shape or (1,))
    strides = ffi.new("int64_t[]", [s // array.itemsize for s in array.strides] or (1,))
    tensor = ffi.new("DLTensor *")
    tensor.data = ffi.cast("void *", array.ctypes.data)
    tensor.device.device_type = 1
    tensor.ndim = array.ndim
    tensor.dtype.code = (
        4 if bfloat16 and array.dtype == np.uint16 else _DLPACK_CODE[array.dtype.kind]
    )
    tensor.dtype.bits = array.itemsize * 8
    tensor.dtype.lanes = 1
    tensor.shape = shape
    tensor.strides = strides
    return tensor, shape, strides


def run(code: str, **environment: str) -> str:
    """Run a program with the library at hand as ``L``; returns what it printed."""
    header = f"""
        import os, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import numpy as np
        import cpu_abi
        from cpu_abi import check, ffi
        L = next(l for l in map(cpu_abi.Library, cpu_abi.library_paths()) if l.score() > 0)
        """
    program = textwrap.dedent(header) + textwrap.dedent(code)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, f"exit status {result.returncode}\n{result.stderr}"
    return result.stdout
