"""Builds the sort, search, selection and index kernels and calls them on NumPy arrays."""

from __future__ import annotations

import importlib.util
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
import pytest

cffi = pytest.importorskip("cffi")

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "kernels_cpu" / "src"
HEADER = ROOT / "core" / "include" / "phalanx.h"
HEADERS = (HEADER.parent, ROOT / "core" / "scalar")

Array = npt.NDArray[Any]

#: What the build for an instruction set needs: the flag, and the CPU features to run it.
ISAS = {
    "baseline": ("-march=x86-64", ()),
    "avx2": ("-march=x86-64-v3", ("avx2", "fma", "bmi2")),
    "avx512": ("-march=x86-64-v4", ("avx512f", "avx512dq", "avx512bw", "avx512cd", "avx512vl")),
}
#: Name: (DLPack code, place in phalanx.h's list of element types).
DTYPES = {
    "bool": (6, 0),
    **{f"int{8 << i}": (0, 1 + i) for i in range(4)},
    **{f"uint{8 << i}": (1, 5 + i) for i in range(4)},
    "float16": (2, 9),
    "bfloat16": (4, 10),
    "float32": (2, 11),
    "float64": (2, 12),
    "complex64": (5, 13),
    "complex128": (5, 14),
}
REAL = tuple(d for d in DTYPES if not d.startswith(("bool", "complex")))


class KernelError(Exception):
    """An error object that a kernel returned: its code and message."""


class Library:
    """One build of some kernel sources."""

    def __init__(self, module: Any) -> None:
        self.ffi, self.lib = module.ffi, module.lib

    def threads(self, count: int) -> None:
        """Let phx_parallel_for use this many threads, 1 or 2."""
        self.lib.harness_threads = count

    def call(
        self,
        op: str,
        tensors: Sequence[tuple[Array, str]],
        params: Sequence[int] = (),
    ) -> None:
        """Run a kernel on (array, dtype name) pairs, inputs then the output; raises KernelError."""
        self.prepare(op, tensors, params)()

    def prepare(
        self,
        op: str,
        tensors: Sequence[tuple[Array, str]],
        params: Sequence[int] = (),
    ) -> Callable[[], None]:
        """Find the kernel and describe the arrays; the result runs it."""
        ffi, lib = self.ffi, self.lib
        codes = bytes(DTYPES[d][1] for _, d in tensors)
        kernel = lib.harness_find(op.encode(), codes, len(codes))
        assert kernel != ffi.NULL, f"no kernel for {op} of {[d for _, d in tensors]}"
        keep, pointers = [], ffi.new("DLTensor *[]", len(tensors))
        for i, (array, dtype) in enumerate(tensors):
            t = ffi.new("DLTensor *")
            shape = ffi.new("int64_t[]", [*array.shape, 0])
            strides = ffi.new("int64_t[]", [*(s // array.itemsize for s in array.strides), 0])
            t.data = ffi.cast("void *", array.ctypes.data)
            t.ndim, t.shape, t.strides = array.ndim, shape, strides
            t.dtype.code, t.dtype.bits, t.dtype.lanes = DTYPES[dtype][0], array.itemsize * 8, 1
            t.device.device_type = 1
            pointers[i] = t
            keep += [t, shape, strides]
        values = ffi.new("int64_t[]", [*params, 0])
        call = ffi.new("phx_call *")
        call.struct_size = ffi.sizeof("phx_call")
        call.tensors, call.params = pointers, values
        call.n_inputs, call.n_outputs, call.n_params = len(tensors) - 1, 1, len(params)

        def run() -> None:
            error = kernel.run(kernel, ffi.NULL, call)
            if error != ffi.NULL:
                message = ffi.unpack(error.message.data, error.message.size).decode()
                code = error.code
                error.destroy(error)
                raise KernelError(code, message)

        run.keep = (keep, pointers, values, tensors)  # type: ignore[attr-defined]
        return run


def supported(isa: str) -> bool:
    """Whether this machine can run a build for an instruction set."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return False
    needed = ISAS[isa][1]
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return all(re.search(rf"\b{flag}\b", flags) for flag in needed)


def build(folder: Path, isa: str, sources: Sequence[str], lists: Sequence[str]) -> Library:
    """Compile kernel sources of ``kernels_cpu/src`` for an instruction set and load them."""
    ffi = cffi.FFI()
    text = HEADER.read_text()
    for part in re.findall(r"/\* cffi: begin \*/(.*?)/\* cffi: end \*/", text, re.DOTALL):
        ffi.cdef(part)
    ffi.cdef(
        "static int harness_threads;"
        "static const phx_kernel *harness_find(const char *, const uint8_t *, uint32_t);"
    )
    name = f"_phx_sort_{isa}_{len(sources)}"
    ffi.set_source(
        name,
        f"#define HARNESS_LISTS {', '.join(lists)}\n" + '#include "cpu_sort_harness.h"',
        sources=[str(SOURCES / s) for s in sources],
        include_dirs=[str(SOURCES), *map(str, HEADERS), str(ROOT / "tests")],
        extra_compile_args=["-O3", "-std=c11", "-ffp-contract=off", ISAS[isa][0]],
        libraries=["pthread"],
    )
    path = ffi.compile(tmpdir=str(folder))
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return Library(module)


def libraries(
    factory: pytest.TempPathFactory, isa: str, sources: Sequence[str], lists: Sequence[str]
) -> Iterator[Library]:
    """The body of a session fixture: build once, skip where the CPU lacks the instructions."""
    if not supported(isa):
        pytest.skip(f"this CPU lacks {isa}")
    yield build(factory.mktemp(isa), isa, sources, lists)
