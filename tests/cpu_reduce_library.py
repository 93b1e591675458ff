"""The reduction, scan, softmax and generation kernels of the CPU, compiled for the tests.

The C files are compiled with a stand-in for the runtime that runs chunks on 1 or 2 threads.
"""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cffi
import numpy as np

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "kernels_cpu" / "src"
ORDERED = (
    "reduce/reduce",
    "reduce/reduce_sum",
    "scan/scan",
    "scan/normalize",
    "elementwise/generate",
)
EXACT = tuple(f"reduce/reduce_{name}" for name in ("integer", "extreme", "place", "logical"))
FLAGS = (
    *("-O3", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-ffp-contract=off"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-mprefer-vector-width=512"),
)
NEEDS: dict[str, set[str]] = {
    "x86-64": set(),
    "x86-64-v3": {"avx2", "fma", "bmi2"},
    "x86-64-v4": {"avx512bw", "avx512dq", "avx512vl"},
}

STAND_IN = r"""
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "reduce/lists_reduce.h"
#include "runtime/parallel.h"

static int threads = 1;
void test_threads(int n) { threads = n; }
int phx_num_threads(void) { return threads; }

typedef struct { phx_task_fn fn; void *ctx; int64_t count, chunk; int first; } share;

static void *work(void *arg) { /* every second chunk, from the last to the first */
    share *s = arg;
    int64_t k = (s->count + s->chunk - 1) / s->chunk - 1;
    if (k % 2 != s->first) k--;
    for (; k >= 0; k -= 2)
        s->fn(s->ctx, k * s->chunk, (k + 1) * s->chunk < s->count ? (k + 1) * s->chunk : s->count);
    return NULL;
}

void phx_parallel_for(int64_t count, int64_t grain, phx_task_fn fn, void *ctx) {
    const int64_t chunk = grain < 1 ? 1 : grain;
    share a = {fn, ctx, count, chunk, 0}, b = {fn, ctx, count, chunk, 1};
    if (count <= 0) return;
    if (threads == 1) { fn(ctx, 0, count); return; }
    pthread_t other;
    if (pthread_create(&other, NULL, work, &b)) { fn(ctx, 0, count); return; }
    work(&a);
    pthread_join(other, NULL);
}

phx_error *cpu_run(const phx_kernel *self, phx_stream *stream, const phx_call *call) {
    (void)stream;
    return ((const cpu_kernel *)self)->fn((const cpu_kernel *)self, call);
}

phx_error *cpu_fail(int32_t code, const char *format, ...) {
    static char text[256];
    static phx_error error;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error = (phx_error){
        .struct_size = sizeof error, .code = code, .message = {text, strlen(text)}};
    return &error;
}

const phx_kernel *test_row(int list, uint64_t i) {
    typedef cpu_kernel_list (*list_fn)(void);
    static const list_fn lists[] = {LISTS};
    if (list >= (int)(sizeof lists / sizeof lists[0])) return NULL;
    const cpu_kernel_list rows = lists[list]();
    return i < rows.count ? &rows.rows[i].base : NULL;
}
"""

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
)
CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
INTEGERS = DTYPES[1:9]
FLOATS = DTYPES[9:13]
COMPLEX = DTYPES[13:]
REAL = INTEGERS + FLOATS


def storage(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype that holds a dtype; bfloat16 travels as its bits."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


class Library:
    """The kernels for one instruction set, called with NumPy arrays of any strides."""

    def __init__(self, ffi: cffi.FFI, path: Path, lists: int) -> None:
        self._ffi, self._lib = ffi, ffi.dlopen(str(path))
        self.kernels: dict[tuple[str, ...], Any] = {}
        for n in range(lists):
            i = 0
            while (row := self._lib.test_row(n, i)) != ffi.NULL:
                name = ffi.buffer(row.op.data, row.op.size)[:].decode()
                types = ffi.unpack(row.dtypes, row.n_inputs + row.n_outputs)
                key = (name, *(DTYPES[t] for t in types))
                assert key not in self.kernels, key
                self.kernels[key] = row
                i += 1

    def _tensor(self, array: Array, dtype: str, keep: list[Any]) -> Any:
        ffi, size = self._ffi, array.dtype.itemsize
        shape = ffi.new("int64_t[]", list(array.shape) or [0])
        strides = ffi.new("int64_t[]", [s // size for s in array.strides] or [0])
        code = 4 if dtype == "bfloat16" else CODES[np.dtype(dtype).kind]
        t = ffi.new("DLTensor *")
        t.data, t.ndim, t.shape, t.strides = (
            ffi.cast("void *", array.ctypes.data),
            array.ndim,
            shape,
            strides,
        )
        t.dtype.code, t.dtype.bits, t.dtype.lanes = code, size * 8, 1
        keep += [shape, strides, t, array]
        return t

    def __call__(self, op: str, types: tuple[str, ...], *arrays: Array, threads: int = 1) -> Array:
        """Run a kernel on inputs and output; return the output.

        Raises:
            ValueError: the kernel's error, with its message.
        """
        ffi = self._ffi
        keep: list[Any] = []
        pairs = zip(arrays, types, strict=True)
        tensors = ffi.new("DLTensor *[]", [self._tensor(a, d, keep) for a, d in pairs])
        scalars = sum(1 << i for i, a in enumerate(arrays[:-1]) if a.ndim == 0)
        call = ffi.new(
            "phx_call *",
            [ffi.sizeof("phx_call"), tensors, ffi.NULL, len(arrays) - 1, 1, 0, scalars],
        )
        self._lib.test_threads(threads)
        row = self.kernels[op, *types]
        error = row.run(row, ffi.NULL, call)
        if error != ffi.NULL:
            raise ValueError(ffi.buffer(error.message.data, error.message.size)[:].decode())
        return arrays[-1]


def _supported() -> list[str]:
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        flags = set()
    return [arch for arch, needs in NEEDS.items() if needs <= flags]


def build(cc: str, folder: Path) -> dict[str, Library]:
    """Compile one library per instruction set; only the widest has the kernels without rounding."""
    include = [f"-I{d}" for d in (SOURCES, ROOT / "core" / "include", ROOT / "core" / "scalar")]

    def compile_one(arch: str, name: str, source: Path, extra: list[str]) -> Path:
        target = folder / f"{Path(name).name}.{arch}.o"
        command = [
            cc,
            *FLAGS,
            f"-march={arch}",
            *include,
            *extra,
            "-c",
            str(source),
            "-o",
            str(target),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return target

    archs = _supported()
    stand_in = folder / "stand_in.c"
    stand_in.write_text(STAND_IN)
    files = {a: ORDERED + (EXACT if a == archs[-1] else ()) for a in archs}
    lists = {
        a: [f"phx_{Path(f).name}_kernels" for f in files[a] if f != "reduce/reduce"] for a in archs
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {
            a: [pool.submit(compile_one, a, f, SOURCES / f"{f}.c", []) for f in files[a]]
            for a in archs
        }
        for a in archs:
            jobs[a].append(
                pool.submit(compile_one, a, "stand_in", stand_in, [f"-DLISTS={','.join(lists[a])}"])
            )
    ffi = cffi.FFI()
    header = (ROOT / "core" / "include" / "phalanx.h").read_text()
    for part in header.split("/* cffi: begin */")[1:]:
        ffi.cdef(part.split("/* cffi: end */")[0])
    ffi.cdef("void test_threads(int n); const phx_kernel *test_row(int list, uint64_t i);")
    result = {}
    for a in archs:
        library = folder / f"libreduce.{a}.so"
        objects = [str(job.result()) for job in jobs[a]]
        subprocess.run([cc, "-shared", "-pthread", *objects, "-o", str(library)], check=True)
        result[a] = Library(ffi, library, len(lists[a]))
    return result
