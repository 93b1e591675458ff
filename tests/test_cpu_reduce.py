"""The CPU reductions, scans, softmax and arange against a literal model of the stated order.

The model follows the text of the op table (lanes, blocks, trees) element by element in NumPy scalars
or short vectors of one IEEE operation each, so that a result is either equal in every bit or wrong.
The C files are compiled here, with a stand-in for the runtime that runs chunks on 1 or 2 threads.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import cffi
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "kernels_cpu" / "src"
ORDERED = ("reduce", "reduce_sum", "scan", "softmax", "generate")
EXACT = ("reduce_integer", "reduce_extreme", "reduce_place", "reduce_logical")
FLAGS = ("-O3", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC", "-ffp-contract=off", "-fno-math-errno")
FLAGS += ("-fno-trapping-math", "-fno-strict-aliasing", "-mprefer-vector-width=512")
NEEDS = {"x86-64": set(), "x86-64-v3": {"avx2", "fma", "bmi2"}, "x86-64-v4": {"avx512bw", "avx512dq", "avx512vl"}}

STAND_IN = r"""
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lists_reduce.h"
#include "parallel.h"

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
    share a = {fn, ctx, count, grain < 1 ? 1 : grain, 0}, b = {fn, ctx, count, grain < 1 ? 1 : grain, 1};
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
    error = (phx_error){sizeof error, code, 0, {text, strlen(text)}, {NULL, 0}, NULL};
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

    def _tensor(self, array: np.ndarray[Any, Any], dtype: str, keep: list[Any]) -> Any:
        ffi, size = self._ffi, array.dtype.itemsize
        shape = ffi.new("int64_t[]", list(array.shape) or [0])
        strides = ffi.new("int64_t[]", [s // size for s in array.strides] or [0])
        code = 4 if dtype == "bfloat16" else CODES[np.dtype(dtype).kind]
        t = ffi.new("DLTensor *")
        t.data, t.ndim, t.shape, t.strides = ffi.cast("void *", array.ctypes.data), array.ndim, shape, strides
        t.dtype.code, t.dtype.bits, t.dtype.lanes = code, size * 8, 1
        keep += [shape, strides, t, array]
        return t

    def __call__(
        self, op: str, types: tuple[str, ...], *arrays: np.ndarray[Any, Any], threads: int = 1
    ) -> np.ndarray[Any, Any]:
        """Run a kernel on inputs and output and return the output; raises ValueError with its message."""
        ffi, keep = self._ffi, []
        pairs = zip(arrays, types, strict=True)
        tensors = ffi.new("DLTensor *[]", [self._tensor(a, d, keep) for a, d in pairs])
        scalars = sum(1 << i for i, a in enumerate(arrays[:-1]) if a.ndim == 0)
        call = ffi.new("phx_call *", [ffi.sizeof("phx_call"), tensors, ffi.NULL, len(arrays) - 1, 1, 0, scalars])
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


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Library]]:
    """One library per instruction set of this machine; only the widest has the order-free kernels."""
    cc = shutil.which("gcc")
    if cc is None or platform.machine() != "x86_64":
        pytest.skip("needs gcc on x86-64")
    folder = tmp_path_factory.mktemp("cpu_reduce")
    include = [f"-I{d}" for d in (SOURCES, ROOT / "core" / "include", ROOT / "core" / "scalar")]

    def compile_one(arch: str, name: str, source: Path, extra: list[str]) -> Path:
        target = folder / f"{name}.{arch}.o"
        command = [cc, *FLAGS, f"-march={arch}", *include, *extra, "-c", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
        return target

    archs = _supported()
    stand_in = folder / "stand_in.c"
    stand_in.write_text(STAND_IN)
    files = {a: ORDERED + (EXACT if a == archs[-1] else ()) for a in archs}
    lists = {a: [f"phx_{f}_kernels" for f in files[a] if f != "reduce"] for a in archs}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {a: [pool.submit(compile_one, a, f, SOURCES / f"{f}.c", []) for f in files[a]] for a in archs}
        for a in archs:
            jobs[a].append(pool.submit(compile_one, a, "stand_in", stand_in, [f"-DLISTS={','.join(lists[a])}"]))
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
    yield result


@pytest.fixture(scope="session")
def lib(libraries: dict[str, Library]) -> Library:
    """The library of the widest instruction set, with all kernels."""
    return libraries[list(libraries)[-1]]


# ---- the model -----------------------------------------------------------------------------------


def to_unit(x: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The array in the type of the arithmetic; complex numbers as a last axis of (re, im)."""
    if dtype == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    if dtype == "float16":
        return x.astype(np.float32)
    if dtype in COMPLEX:
        part = np.float32 if dtype == "complex64" else np.float64
        return np.stack([x.real, x.imag], -1).astype(part)
    return x


def from_unit(v: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Round to the storage type; every NaN becomes the positive quiet one."""
    v = np.where(np.isnan(v), v.dtype.type(np.nan), v) if v.dtype.kind == "f" else v
    if dtype == "bfloat16":
        bits = np.ascontiguousarray(v, np.float32).view(np.uint32)
        rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        return np.where(np.isnan(v), np.uint16(0x7FC0), rounded)
    if dtype in COMPLEX:
        return np.ascontiguousarray(v).view(dtype)[..., 0]
    return v.astype(storage(dtype))


def times(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The op multiply of finite numbers: each part rounded once (complex64: by way of float64)."""
    if dtype not in COMPLEX:
        return a * b
    (ar, ai), (br, bi) = np.moveaxis(a.astype(float), -1, 0), np.moveaxis(b.astype(float), -1, 0)
    if dtype == "complex64":
        return np.stack([ar * br - ai * bi, ar * bi + ai * br], -1).astype(np.float32)
    return np.stack([exact_dot(ar, br, -ai, bi), exact_dot(ar, bi, ai, br)], -1)


@np.vectorize
def exact_dot(a: float, b: float, c: float, d: float) -> float:
    """a * b + c * d, rounded once."""
    return float(Fraction(a) * Fraction(b) + Fraction(c) * Fraction(d))


def operation(op: str, dtype: str) -> Callable[[Any, Any], Any]:
    return (lambda a, b: times(a, b, dtype)) if "prod" in op else (lambda a, b: a + b)


def tree(items: list[Any], op: Callable[[Any, Any], Any]) -> Any:
    half = 1
    while half < len(items):
        half *= 2
    while half := half // 2:
        for i in range(half):
            if i + half < len(items):
                items[i] = op(items[i], items[i + half])
    return items[0]


def model_sum(x: np.ndarray[Any, Any], op: str, dtype: str) -> np.ndarray[Any, Any]:
    """sum, prod or mean of each row of x (rows, n)."""
    f, v, n = operation(op, dtype), to_unit(x, dtype), x.shape[1]
    with np.errstate(all="ignore"):
        if n == 0:
            total = np.zeros_like(v, shape=(len(x), *v.shape[2:]))
            total += np.array([1, 0] if dtype in COMPLEX else 1, v.dtype) if op == "prod" else 0
        else:
            blocks = []
            whole = n // 4096 * 4096
            for part in (v[:, :whole].reshape(len(x), -1, 4096, *v.shape[2:]), v[:, None, whole:]):
                lanes: list[Any] = []
                for i in range(part.shape[2] if part.size else 0):
                    if i < 64:
                        lanes.append(part[:, :, i])
                    else:
                        lanes[i % 64] = f(lanes[i % 64], part[:, :, i])
                if lanes:
                    blocks += list(np.moveaxis(tree(lanes, f), 1, 0))
            total = tree(blocks, f)
        if op == "mean":
            total = total / v.dtype.type(n)
    return from_unit(total, dtype)


def model_scan(x: np.ndarray[Any, Any], op: str, dtype: str) -> np.ndarray[Any, Any]:
    f, v = operation(op, dtype), to_unit(x, dtype)
    out = np.empty_like(v)
    carry: Any = None
    with np.errstate(all="ignore"):
        for i in range(x.shape[1]):
            if i % 256 == 0:
                carry = out[:, i - 1].copy() if i else None
                local = v[:, i]
            else:
                local = f(local, v[:, i])
            out[:, i] = local if carry is None else f(carry, local)
    return from_unit(out, dtype)


def accumulated(dtype: str) -> str:
    return {"i": "int64", "u": "uint64"}.get(np.dtype(storage(dtype)).kind, dtype) if dtype in INTEGERS else dtype


def sample(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if dtype in COMPLEX:
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    x = rng.standard_normal(shape).astype("float32")
    return from_unit(x if dtype != "float64" else rng.standard_normal(shape), dtype)


def layouts(x: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The same (rows, n) values in memory in other ways."""
    yield x
    yield x.T.copy().T
    wide = np.zeros((x.shape[0] * 2, x.shape[1] * 3), x.dtype)
    wide[::2, ::3] = x
    yield wide[::2, ::3]
    yield x[:, ::-1].copy()[:, ::-1]
    yield x[::-1].copy(order="F")[::-1]


def same(got: np.ndarray[Any, Any], want: np.ndarray[Any, Any], what: str) -> None:
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, what
    a, b = got.reshape(-1).view(np.uint8), want.reshape(-1).view(np.uint8)
    if not np.array_equal(a, b):
        bad = np.argwhere((a != b).reshape(got.size, -1).any(1))[0, 0]
        raise AssertionError(f"{what}: element {bad} is {got.flat[bad]!r}, not {want.flat[bad]!r}")


def run(
    lib: Library, op: str, dtype: str, to: str, x: np.ndarray[Any, Any], threads: int = 1
) -> np.ndarray[Any, Any]:
    shape = x.shape if op.startswith("cumulative") or op == "softmax" else x.shape[:-1]
    return lib(op, (dtype, to), x, np.empty(shape, storage(to)), threads=threads)


# ---- ordered reductions --------------------------------------------------------------------------

SIZES = (1, 2, 3, 10, 15, 16, 63, 64, 65, 127, 130, 321, 4095, 4096, 4097, 2 * 4096 + 77)


def factors(dtype: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Values whose product neither overflows nor vanishes."""
    x = sample("complex128" if dtype in COMPLEX else "float64", shape)
    x = 1 + x * 0.01 if dtype not in COMPLEX else np.exp(1j * x.real) * (1 + x.imag * 0.01)
    return from_unit(x.astype("float32" if dtype == "bfloat16" else dtype), dtype) if dtype in FLOATS else x.astype(dtype)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
def test_order_of_sums(libraries: dict[str, Library], op: str, dtype: str) -> None:
    for n in SIZES if (op, dtype) != ("prod", "complex128") else SIZES[:-5]:
        x = factors(dtype, (3, n)) if op == "prod" else sample(dtype, (3, n))
        want = model_sum(x, op, dtype)
        for arch, lib in libraries.items():
            for k, y in enumerate(layouts(x)):
                same(run(lib, op, dtype, dtype, y), want, f"{op} {dtype} n={n} layout {k} {arch}")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "complex64"])
@pytest.mark.parametrize(
    "shape", [(1000, 2), (517, 3), (300, 10), (300, 16), (70, 64), (600, 130), (300, 4100), (1, 40 * 4096 + 9)]
)
def test_tiles_and_threads(libraries: dict[str, Library], shape: tuple[int, int], dtype: str) -> None:
    """Tiles of columns, blocks of long rows and two threads give the bits of one row."""
    x = sample(dtype, shape)
    want = model_sum(x, "sum", dtype)
    for arch, lib in libraries.items():
        for threads in (1, 2):
            for k, y in enumerate((x, x.T.copy().T, np.repeat(x, 2, 1)[:, ::2])):
                same(run(lib, "sum", dtype, dtype, y, threads), want, f"{shape} layout {k} {arch} x{threads}")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0), (1, 3, 2, 0)])
@pytest.mark.parametrize("n", [5, 100])
def test_many_axes(lib: Library, order: tuple[int, ...], n: int) -> None:
    shape = (4, 3, 6, n)
    memory = sample("float32", tuple(shape[i] for i in order))
    x = memory.transpose(np.argsort(order))[::-1, :, 1::2]
    rows = np.ascontiguousarray(x).reshape(-1, n)
    out = np.empty((3, 3, 4), "float32").transpose(2, 1, 0)
    same(lib("sum", ("float32",) * 2, x, out), model_sum(rows, "sum", "float32").reshape(out.shape), "sum")
    out = np.empty((4, 3, 3), "int64")
    same(lib("argmax", ("float32", "int64"), x, out), rows.argmax(1).reshape(out.shape), "argmax")
    same(
        run(lib, "cumulative_sum", "float32", "float32", x),
        model_scan(rows, "cumulative_sum", "float32").reshape(x.shape),
        "scan",
    )


def test_broadcast_input(lib: Library) -> None:
    x = np.broadcast_to(np.float32(0.1), (3, 5000))
    same(run(lib, "sum", "float32", "float32", x), model_sum(x, "sum", "float32"), "stride 0")
    assert run(lib, "count_nonzero", "float32", "int64", x).tolist() == [5000] * 3


@pytest.mark.parametrize("n", [1, 100, 4097, 70_000])
def test_error_of_sum(lib: Library, n: int) -> None:
    """Higham 2002, 4.2: |error| <= depth * u / (1 - depth * u) * sum |x|, depth of the tree."""
    x = sample("float32", (1, n))
    got = float(run(lib, "sum", "float32", "float32", x)[0])
    depth = min(n, 4096) / 64 + 6 + math.ceil(math.log2(max(1, n / 4096)))
    bound = depth * 2.0**-24 / (1 - depth * 2.0**-24) * math.fsum(np.abs(x[0].astype(float)))
    assert abs(got - math.fsum(x[0].astype(float))) <= bound


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
def test_empty_and_special_sums(lib: Library, dtype: str) -> None:
    unit = "float32" if dtype == "bfloat16" else dtype
    empty = np.empty((3, 0), storage(dtype))
    for op in ("sum", "prod", "mean"):
        same(run(lib, op, dtype, dtype, empty), model_sum(empty, op, dtype), f"{op} of nothing")
        assert run(lib, op, dtype, dtype, np.empty((0, 7), storage(dtype))).size == 0
    for values in ([np.nan, 1.0], [-np.nan, 1.0], [np.inf, -np.inf], [-0.0, -0.0], [-0.0], [np.inf, 1.0], [0.0, -0.0]):
        for repeat in (1, 50):
            v = np.array([values * repeat], np.float32)
            x = from_unit(v, dtype) if dtype in FLOATS else v.astype(unit)
            for op in ("sum", "mean") if dtype in COMPLEX else ("sum", "prod", "mean"):
                same(run(lib, op, dtype, dtype, x), model_sum(x, op, dtype), f"{op} of {values}")


# ---- reductions without rounding -----------------------------------------------------------------

SHAPES = ((1, 1), (3, 5), (2, 64), (5, 255), (2, 256), (3, 1000), (2, 40_000), (700, 3), (9, 20_000), (300, 130))


def exact(op: str, x: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """The reference by NumPy's own functions on each row; NaN and zeros by their definition."""
    v = to_unit(x, dtype) if dtype not in COMPLEX else x
    if op in ("any", "all", "count_nonzero"):
        return {"any": np.any, "all": np.all, "count_nonzero": np.count_nonzero}[op](v, axis=1)
    if op in ("sum", "prod"):
        return {"sum": np.sum, "prod": np.prod}[op](x, axis=1, dtype=accumulated(dtype))
    if op in ("argmax", "argmin"):
        return {"argmax": np.argmax, "argmin": np.argmin}[op](v, axis=1)
    with np.errstate(invalid="ignore"):
        m = {"max": np.max, "min": np.min}[op](v, axis=1)
    if dtype in FLOATS:
        zeros = np.signbit(v).all(1, where=v == 0) if op == "max" else np.signbit(v).any(1, where=v == 0)
        m = np.where(m == 0, np.where(zeros, m.dtype.type(-0.0), m.dtype.type(0.0)), m)
    return from_unit(m, dtype)


def result_type(op: str, dtype: str) -> str:
    return {"any": "bool", "all": "bool"}.get(op) or (
        "int64" if op in ("argmax", "argmin", "count_nonzero") else accumulated(dtype) if op in ("sum", "prod") else dtype
    )


def awkward(dtype: str, shape: tuple[int, int], seed: int) -> np.ndarray[Any, Any]:
    """Few different values: ties, zeros of both signs, infinities and, in some rows, NaN."""
    rng = np.random.default_rng([seed, *shape])
    if dtype not in FLOATS + COMPLEX:
        return rng.choice(np.array([0, 1, 3, 127]), shape).astype(dtype)
    values = [-0.0, 0.0] if seed == 0 else [-2.5, -0.0, 0.0, 1.0, np.inf, -np.inf]
    v = rng.choice(np.array(values, np.float32), shape)
    if seed == 2:
        v[rng.random(shape) < 3 / shape[1]] = -np.nan
    return from_unit(v, dtype) if dtype in FLOATS else v.astype(dtype)


def check_exact(lib: Library, op: str, dtype: str) -> None:
    to = result_type(op, dtype)
    for shape in SHAPES:
        for seed in range(4):
            x = awkward(dtype, shape, seed) if seed < 3 else sample(dtype, shape)
            want = exact(op, x, dtype)
            for k, y in enumerate(layouts(x) if seed == 2 or shape[0] < 100 else [x, x.T.copy().T]):
                got = run(lib, op, dtype, to, y, 1 + (seed + k) % 2)
                same(got, want, f"{op} {dtype} {shape} seed {seed} layout {k}")


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(lib: Library, dtype: str) -> None:
    for op in ("sum", "prod"):
        check_exact(lib, op, dtype)
        assert run(lib, op, dtype, accumulated(dtype), np.empty((1, 0), dtype))[0] == (op == "prod")


@pytest.mark.parametrize("dtype", REAL)
def test_extremes(lib: Library, dtype: str) -> None:
    for op in ("max", "min", "argmax", "argmin"):
        check_exact(lib, op, dtype)
        with pytest.raises(ValueError, match="at least one element"):
            run(lib, op, dtype, result_type(op, dtype), np.empty((2, 0), storage(dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_logic(lib: Library, dtype: str) -> None:
    for op in ("any", "all", "count_nonzero"):
        check_exact(lib, op, dtype)
        assert run(lib, op, dtype, result_type(op, dtype), np.empty((1, 0), storage(dtype)))[0] == (op == "all")


@pytest.mark.parametrize("place", [0, 1, 70_000, 199_998])
def test_one_among_many(lib: Library, place: int) -> None:
    """A single element decides, whichever block and thread it falls to; imaginary parts count."""
    x = np.zeros((1, 200_000), "complex64")
    x[0, place] = 1e-45j
    assert run(lib, "any", "complex64", "bool", x, 2).all()
    assert run(lib, "count_nonzero", "complex64", "int64", x, 2)[0] == 1
    assert not run(lib, "all", "bool", "bool", x == 0, 2).any()
    v = x.imag.copy()
    v[0, place + 1] = v[0, place]
    assert run(lib, "argmax", "float32", "int64", v, 2)[0] == place
    assert run(lib, "argmin", "float32", "int64", -v, 2)[0] == place


# ---- scans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + COMPLEX)
@pytest.mark.parametrize("op", ["cumulative_sum", "cumulative_prod"])
def test_order_of_scans(libraries: dict[str, Library], op: str, dtype: str) -> None:
    for shape in ((1, 1), (9, 3), (8, 20), (3, 255), (2, 256), (2, 257), (150, 600), (3, 2 * 2048 + 300)):
        if (op, dtype) == ("cumulative_prod", "complex128") and math.prod(shape) > 1000:
            continue  # exact arithmetic takes long; the other types have shown the order
        x = sample(dtype, shape) if op == "cumulative_sum" or dtype in INTEGERS else factors(dtype, shape)
        want = model_scan(x, op, dtype)
        for arch, lib in libraries.items():
            for k, y in enumerate(layouts(x)):
                same(run(lib, op, dtype, dtype, y, 1 + k % 2), want, f"{op} {dtype} {shape} layout {k} {arch}")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128", "int16"])
@pytest.mark.parametrize("n", [2048 * 300, 2048 * 300 + 255, 2048 * 300 + 257])
def test_long_scan_on_threads(lib: Library, dtype: str, n: int) -> None:
    x = sample(dtype, (1, n))
    same(
        run(lib, "cumulative_sum", dtype, dtype, x, 2), run(lib, "cumulative_sum", dtype, dtype, x, 1), f"{dtype} {n}"
    )


def test_scan_keeps_nan_bits_and_strided_output(lib: Library) -> None:
    x = np.array([[1.0, np.inf, -np.inf, 2.0], [1.0, -np.nan, 1.0, -0.0]], "float32")
    same(run(lib, "cumulative_sum", "float32", "float32", x), model_scan(x, "cumulative_sum", "float32"), "NaN")
    out = np.zeros((1000, 4), "float64")
    y = sample("float64", (2, 1000))
    lib("cumulative_sum", ("float64",) * 2, y, out.T[::2])
    same(out.T[::2], model_scan(y, "cumulative_sum", "float64"), "strided output")
    assert not out[:, 1::2].any()
    assert run(lib, "cumulative_sum", "float64", "float64", np.empty((3, 0))).size == 0


# ---- softmax and arange --------------------------------------------------------------------------


def model_softmax(x: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """Unrounded: NumPy's exp in float64 or wider, exactly rounded elements for the types below."""
    v = to_unit(x, dtype).astype(np.longdouble if dtype == "float64" else np.float64)
    e = np.exp(v - v.max(1, keepdims=True))
    return (e / e.sum(1, keepdims=True)).astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 1), (5, 3), (20, 64), (3, 1000), (2, 4097), (40, 300), (1, 70_001)])
def test_softmax(libraries: dict[str, Library], shape: tuple[int, int], dtype: str) -> None:
    x = sample(dtype, shape)
    first = None
    for arch, lib in libraries.items():
        for k, y in enumerate(layouts(x)):
            for threads in (1, 2):
                got = run(lib, "softmax", dtype, dtype, y, threads)
                first = got if first is None else first
                same(got, first, f"softmax {dtype} {shape} layout {k} {arch} x{threads}")
    assert first is not None
    depth = min(shape[1], 4096) / 64 + 15
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 0.0, "float64": 0.0}[dtype]
    relative = unit + depth * (2.0**-53 if dtype == "float64" else 2.0**-24)
    error = np.abs(to_unit(first, dtype).astype(float) - model_softmax(x, dtype))
    assert (error <= relative * model_softmax(x, dtype) + (2.0**-25 if dtype == "float16" else 0)).all()


def test_softmax_without_a_finite_maximum(lib: Library) -> None:
    rows = [[np.nan, 1, 2], [np.inf, 0, 1], [-np.inf, -np.inf, -np.inf], [-np.inf, 0, -np.inf]]
    for dtype in FLOATS:
        x = from_unit(np.array(rows, "float32"), dtype)
        want = from_unit(np.array([[np.nan] * 3] * 3 + [[0, 1, 0]], "float32"), dtype)
        same(run(lib, "softmax", dtype, dtype, x), want, dtype)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS + COMPLEX)
def test_arange(libraries: dict[str, Library], dtype: str) -> None:
    if dtype in INTEGERS:
        start, step = np.array(100).astype(dtype), np.array(-7).astype(dtype)
    else:
        value = np.float32(-3.3) if dtype not in COMPLEX else np.complex64(-3.3 + 1j)
        start = from_unit(np.asarray(value), dtype) if dtype in FLOATS else np.asarray(value, dtype)
        step = from_unit(np.asarray(np.float32(0.1)), dtype) if dtype in FLOATS else np.asarray(0.1 - 0.7j, dtype)
    with np.errstate(all="ignore"):
        a, b = to_unit(start, dtype), to_unit(step, dtype)
        i = np.arange(5001).reshape(-1, *[1] * a.ndim).astype(a.dtype)
        want = from_unit(a + i * b, dtype).reshape(-1)
    for arch, lib in libraries.items():
        for out in (np.empty(5001, storage(dtype)), np.empty(15003, storage(dtype))[::-3]):
            same(lib("arange", (dtype,) * 3, start, step, out, threads=2), want, f"arange {dtype} {arch}")


def test_rows_match_the_op_table(lib: Library) -> None:
    """Each op has a kernel for the dtypes that the op table states."""
    types = {d: d for d in DTYPES}
    want = {(op, d, accumulated(d)) for op in ("sum", "prod") for d in INTEGERS + FLOATS + COMPLEX}
    want |= {("mean", d, d) for d in FLOATS + COMPLEX}
    want |= {(op, d, d) for op in ("max", "min") for d in REAL}
    want |= {(op, d, "int64") for op in ("argmax", "argmin") for d in REAL}
    want |= {(op, d, result_type(op, d)) for op in ("any", "all", "count_nonzero") for d in types}
    want |= {(op, d, d) for op in ("cumulative_sum", "cumulative_prod") for d in INTEGERS + FLOATS + COMPLEX}
    want |= {("softmax", d, d) for d in FLOATS} | {("arange", d, d, d) for d in INTEGERS + FLOATS + COMPLEX}
    assert set(lib.kernels) == want
