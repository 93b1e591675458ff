"""The matrix-product kernels of the CPU library give the bits of the naive fma loop.

Each instruction set's build is compared, bit by bit, with a triple loop in C that follows the rule
of ``gemm.h``: per element and block of k one chain of fused multiply-adds, k increasing, and a tree
of the blocks. Any NaN equals any NaN.
"""

from __future__ import annotations

import importlib.util
import itertools
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

cffi = pytest.importorskip("cffi")

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "kernels_cpu" / "src"
SCALAR = ROOT / "core" / "scalar"

Array = npt.NDArray[Any]

INTEGERS = {
    f"{sign}{bits}": f"{'u' if sign == 'u' else ''}int{bits}"
    for sign in "iu"
    for bits in (8, 16, 32, 64)
}
DTYPES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "bf16": "uint16",
    "c64": "complex64",
}
DTYPES |= {"c128": "complex128"} | INTEGERS
SIZES = (0, 1, 2, 3, 5, 15, 16, 17, 31, 33, 63, 65, 100, 257)

ISAS = {
    "baseline": ("-march=x86-64", ()),
    "avx2": ("-march=x86-64-v3", ("avx2", "fma", "f16c")),
    "avx512": ("-march=x86-64-v4", ("avx512f", "avx512dq", "avx512bw", "avx512vl")),
}

# The worker of phx_parallel_for: inline for one thread; for two, both take one item at a time.
PREAMBLE = r"""
#include <pthread.h>
#include <stdatomic.h>
#include "gemm/gemm.c"

int test_threads = 1;

struct job { int64_t count, grain; phx_task_fn fn; void *ctx; atomic_int_fast64_t next; };

static void *work(void *arg) {
    struct job *j = arg;
    for (int64_t b; (b = atomic_fetch_add(&j->next, j->grain)) < j->count;)
        j->fn(j->ctx, b, b + j->grain < j->count ? b + j->grain : j->count);
    return NULL;
}

void phx_parallel_for(int64_t count, int64_t grain, phx_task_fn fn, void *ctx) {
    struct job j = {count, grain > 0 ? grain : 1, fn, ctx, 0};
    pthread_t other;
    if (test_threads == 1) {
        if (count > 0) fn(ctx, 0, count);
    } else if (pthread_create(&other, NULL, work, &j) == 0) {
        work(&j);
        pthread_join(other, NULL);
    } else {
        work(&j);
    }
}

int phx_num_threads(void) { return test_threads; }

#define MOST_BLOCKS 300
/* The tree over the blocks' sums, as docs/ops.md words it. */
#define JOINED(parts, blocks, PLUS)                                                                \
    int64_t half = 1;                                                                              \
    while (half < blocks) half *= 2;                                                               \
    for (half /= 2; half > 0; half /= 2)                                                           \
        for (int64_t i = 0; i < half; i++)                                                         \
            if (i + half < blocks) PLUS(parts[i], parts[i + half]);
#define PLUS_REAL(a, b) a += b
#define PLUS_COMPLEX(a, b) (a.re += b.re, a.im += b.im)

#define AT(x, i, j) x[(i) * x##_rs + (j) * x##_cs]
#define NAIVE(NAME, T, ACC, WIDEN, STEP, NARROW)                                                   \
    PHX_GEMM(NAME##_naive, T) {                                                                    \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++) {                                                      \
                ACC parts[MOST_BLOCKS] = {0};                                                      \
                for (int64_t p = 0; p < k; p++) {                                                  \
                    ACC *acc = parts + p / 4096;                                                   \
                    *acc = STEP(WIDEN(AT(a, i, p)), WIDEN(AT(b, p, j)), *acc);                     \
                }                                                                                  \
                {JOINED(parts, (k + 4095) / 4096, PLUS_REAL)}                                      \
                AT(c, i, j) = NARROW(parts[0]);                                                    \
            }                                                                                      \
        return 0;                                                                                  \
    }
#define SAME_VALUE(x) (x)
#define WRAP(a, b, acc) ((uint64_t)(a) * (uint64_t)(b) + (acc))
NAIVE(f32, float, float, SAME_VALUE, fmaf, SAME_VALUE)
NAIVE(f64, double, double, SAME_VALUE, fma, SAME_VALUE)
NAIVE(f16, uint16_t, float, phx_f16_to_f32, fmaf, phx_f32_to_f16)
NAIVE(bf16, uint16_t, float, phx_bf16_to_f32, fmaf, phx_f32_to_bf16)
NAIVE(i8, int8_t, uint64_t, SAME_VALUE, WRAP, (int8_t))
NAIVE(i16, int16_t, uint64_t, SAME_VALUE, WRAP, (int16_t))
NAIVE(i32, int32_t, uint64_t, SAME_VALUE, WRAP, (int32_t))
NAIVE(i64, int64_t, uint64_t, SAME_VALUE, WRAP, (int64_t))
NAIVE(u8, uint8_t, uint64_t, SAME_VALUE, WRAP, (uint8_t))
NAIVE(u16, uint16_t, uint64_t, SAME_VALUE, WRAP, (uint16_t))
NAIVE(u32, uint32_t, uint64_t, SAME_VALUE, WRAP, (uint32_t))
NAIVE(u64, uint64_t, uint64_t, SAME_VALUE, WRAP, (uint64_t))

#define NAIVE_COMPLEX(NAME, T, FMA)                                                                \
    PHX_GEMM(NAME##_naive, T) {                                                                    \
        for (int64_t i = 0; i < m; i++)                                                            \
            for (int64_t j = 0; j < n; j++) {                                                      \
                T parts[MOST_BLOCKS] = {{0, 0}};                                                   \
                for (int64_t p = 0; p < k; p++) {                                                  \
                    const T x = AT(a, i, p), y = AT(b, p, j);                                      \
                    T *acc = parts + p / 4096;                                                     \
                    acc->re = FMA(x.re, y.re, acc->re);                                            \
                    acc->re = FMA(-x.im, y.im, acc->re);                                           \
                    acc->im = FMA(x.re, y.im, acc->im);                                            \
                    acc->im = FMA(x.im, y.re, acc->im);                                            \
                }                                                                                  \
                {JOINED(parts, (k + 4095) / 4096, PLUS_COMPLEX)}                                   \
                AT(c, i, j) = parts[0];                                                            \
            }                                                                                      \
        return 0;                                                                                  \
    }
NAIVE_COMPLEX(c64, c64, fmaf)
NAIVE_COMPLEX(c128, c128, fma)

/* For cffi, which need not know the types: every pointer is void. */
#define PLAIN(NAME, T)                                                                             \
    static int NAME##_plain(int64_t m, int64_t n, int64_t k, void *a, int64_t a_rs, int64_t a_cs,  \
                            void *b, int64_t b_rs, int64_t b_cs, void *c, int64_t c_rs,            \
                            int64_t c_cs) {                                                      \
        return phx_gemm_##NAME(m, n, k, a, a_rs, a_cs, b, b_rs, b_cs, c, c_rs, c_cs);              \
    }
#define BOTH(NAME, T) PLAIN(NAME, T) PLAIN(NAME##_naive, T)
BOTH(f32, float) BOTH(f64, double) BOTH(f16, uint16_t) BOTH(bf16, uint16_t)
BOTH(c64, c64) BOTH(c128, c128)
BOTH(i8, int8_t) BOTH(i16, int16_t) BOTH(i32, int32_t) BOTH(i64, int64_t)
BOTH(u8, uint8_t) BOTH(u16, uint16_t) BOTH(u32, uint32_t) BOTH(u64, uint64_t)
"""

ARGUMENTS = "int64_t m, int64_t n, int64_t k" + "".join(
    f", void *{x}, int64_t {x}_rs, int64_t {x}_cs" for x in "abc"
)


def _cpu_flags() -> set[str]:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((set(line.split()) for line in lines if line.startswith("flags")), set())


def _runnable_isas() -> list[str]:
    flags = _cpu_flags()
    return [isa for isa, (_, needs) in ISAS.items() if flags.issuperset(needs)]


@pytest.fixture(scope="module", params=_runnable_isas())
def lib(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The kernels and the naive loops, built for one instruction set."""
    if platform.machine() not in ("x86_64", "AMD64") or sys.platform == "win32":
        pytest.skip("the flags of this test are gcc's and clang's for x86-64")
    isa = request.param
    ffi = cffi.FFI()
    ffi.cdef("extern int test_threads;")
    for name in DTYPES:
        ffi.cdef(f"int {name}_plain({ARGUMENTS}); int {name}_naive_plain({ARGUMENTS});")
    module = f"gemm_{isa}"
    ffi.set_source(
        module,
        PREAMBLE,
        include_dirs=[str(SOURCES), str(SCALAR)],
        extra_compile_args=["-std=gnu11", "-O2", "-ffp-contract=off", ISAS[isa][0]],
        libraries=["m", "pthread"],
    )
    built = ffi.compile(tmpdir=str(tmp_path_factory.mktemp(module)))
    spec = importlib.util.spec_from_file_location(module, built)
    assert spec is not None
    assert spec.loader is not None
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    extension.lib.test_threads = 2
    return extension


def _random(rng: np.random.Generator, name: str, shape: tuple[int, int]) -> Array:
    dtype = np.dtype(DTYPES[name])
    if name == "bf16":
        return (rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(
            np.uint16
        )
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def _laid_out(values: Array, layout: str) -> Array:
    """The same values (of the first row or column, if all are the same) in another layout."""
    rows, columns = values.shape
    if layout in ("row", "column"):
        return np.array(values, order="C" if layout == "row" else "F")
    if layout == "negative":
        return np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    if layout == "part":
        whole = np.zeros((rows + 3, 2 * columns + 5), values.dtype)
        view = whole[2 : 2 + rows, 3 : 3 + 2 * columns : 2]
        view[...] = values
        return view
    if layout == "margin":
        whole = np.zeros((rows + 3, columns + 5), values.dtype)
        view = whole[2 : 2 + rows, 3 : 3 + columns]
        view[...] = values
        return view
    if layout == "same rows":
        return np.broadcast_to(values[:1], values.shape)
    assert layout == "same columns"
    return np.broadcast_to(values[:, :1], values.shape)


def _call(lib: Any, function: str, a: Array, b: Array, c: Array) -> None:
    arguments: list[Any] = [a.shape[0], b.shape[1], a.shape[1]]
    for x in (a, b, c):
        pointer = lib.ffi.cast("void *", x.__array_interface__["data"][0])
        arguments += [pointer, x.strides[0] // x.itemsize, x.strides[1] // x.itemsize]
    assert getattr(lib.lib, function)(*arguments) == 0


def _bits(name: str, x: Array) -> Array:
    """The bits of x, all NaNs made one."""
    x = np.ascontiguousarray(x)
    if name == "bf16":
        return np.where((x & 0x7FFF) > 0x7F80, np.uint16(0x7FC0), x)
    if x.dtype.kind == "c":
        x = x.view(x.real.dtype)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), np.array(np.nan, x.dtype), x)
    return x.view(f"u{x.itemsize}")


def _check(lib: Any, name: str, a: Array, b: Array, c_layout: str = "row") -> Array:
    shape = a.shape[0], b.shape[1]
    filler = np.full(shape, 77, DTYPES[name])
    got, want = _laid_out(filler, c_layout), filler.copy()
    _call(lib, f"{name}_plain", a, b, got)
    _call(lib, f"{name}_naive_plain", a, b, want)
    same = _bits(name, got) == _bits(name, want)
    if not same.all():
        at = tuple(np.argwhere(~same)[0])
        pytest.fail(f"{name} {a.shape} @ {b.shape}: {np.sum(~same)} differ, first at {at}")
    if got.base is not None and c_layout in ("part", "margin"):
        outside = np.count_nonzero(got.base) - np.count_nonzero(got)
        assert outside == 0, f"{name} {a.shape} @ {b.shape}: wrote beside C"
    return got


@pytest.mark.parametrize("name", DTYPES)
def test_sizes(lib: Any, name: str) -> None:
    """Every size as m, n and k, against short and long partners."""
    rng = np.random.default_rng(1)
    shapes = {(s, s, s) for s in SIZES if s <= 100}
    for s, t in itertools.product(SIZES, (1, 5, 33)):
        shapes |= {(s, t, 17), (t, s, 17), (17, t, s)}
    for m, n, k in sorted(shapes):
        _check(lib, name, _random(rng, name, (m, k)), _random(rng, name, (k, n)))


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "c64", "u8", "i64"])
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks(lib: Any, name: str, threads: int) -> None:
    """Sizes at which k and C are split, packed and shared among threads."""
    rng = np.random.default_rng(2)
    lib.lib.test_threads = threads
    for m, n, k in [(257, 100, 257), (100, 257, 257), (33, 65, 1100), (1, 700, 800)]:
        _check(lib, name, _random(rng, name, (m, k)), _random(rng, name, (k, n)))
    lib.lib.test_threads = 2


def test_outer_blocks(lib: Any) -> None:
    """More rows, and more columns, than a block of C holds."""
    rng = np.random.default_rng(3)
    for name, (m, n, k) in itertools.product(
        ("f32", "c64", "u8"), [(4200, 35, 65), (35, 4200, 65)]
    ):
        _check(lib, name, _random(rng, name, (m, k)), _random(rng, name, (k, n)))


@pytest.mark.parametrize("name", DTYPES)
def test_several_chains(lib: Any, name: str) -> None:
    """More steps of k than a chain has: few elements and many, in order and not."""
    rng = np.random.default_rng(8)
    for k in (4095, 4096, 4097, 8192, 8193, 3 * 4096 + 5):
        for m, n in ((1, 1), (1, 3), (3, 1), (2, 3)):
            a, b = _random(rng, name, (m, k)), _random(rng, name, (k, n))
            _check(lib, name, a, b)
            _check(lib, name, _laid_out(a, "column"), _laid_out(b, "part"), "margin")
            _check(lib, name, _laid_out(a, "negative"), _laid_out(b, "column"), "column")
    a, b = _random(rng, name, (1, 2**20)), _random(rng, name, (2**20, 1))
    _check(lib, name, a, b)
    _check(lib, name, _laid_out(a, "negative"), _laid_out(b, "part"))


@pytest.mark.parametrize("name", ["f32", "f16", "c128", "u8"])
def test_several_chains_of_large_products(lib: Any, name: str) -> None:
    """Threads share a block, or the blocks; then with more rows than are computed at a time."""
    rng = np.random.default_rng(9)
    for m, n, k in [(33, 34, 3 * 4096 + 5), (33, 34, 9 * 4096 + 5), (2100, 1, 5000)]:
        a, b = _random(rng, name, (m, k)), _random(rng, name, (k, n))
        _check(lib, name, a, b)
        _check(lib, name, _laid_out(a, "column"), b, "part")


def test_several_chains_of_which_some_are_computed_at_a_time(lib: Any) -> None:
    """The sums of 17 blocks do not fit, those of the tree's branches do."""
    rng = np.random.default_rng(10)
    blocks, side = 17, 362
    k = (blocks - 1) * 4096 + 9
    a = rng.standard_normal((side, k), np.float32)
    b = rng.standard_normal((k, side), np.float32)
    got = np.empty((side, side), np.float32)
    _call(lib, "f32_plain", a, b, got)
    parts = np.empty((blocks, side, side), np.float32)
    for i, part in enumerate(parts):  # one chain each, which the other tests hold
        _call(lib, "f32_plain", a[:, 4096 * i :][:, :4096], b[4096 * i :][:4096], part)
    for half in (16, 8, 4, 2, 1):
        parts[: min(half, blocks - half)] += parts[half : 2 * half]
    assert np.array_equal(got, parts[0])


@pytest.mark.parametrize("name", DTYPES)
def test_strides(lib: Any, name: str) -> None:
    """Every layout of A, B and C, small (read in place) and vector-shaped."""
    rng = np.random.default_rng(4)
    layouts = ("row", "column", "negative", "part", "same rows", "same columns")
    for m, n, k in [(17, 33, 15), (1, 65, 31), (65, 1, 31), (1, 1, 20)]:
        a, b = _random(rng, name, (m, k)), _random(rng, name, (k, n))
        for layout_a, layout_b in itertools.product(layouts, layouts):
            for layout_c in ("row", "column", "part", "margin"):
                _check(lib, name, _laid_out(a, layout_a), _laid_out(b, layout_b), layout_c)


@pytest.mark.parametrize("name", ["f32", "f64", "bf16", "c128", "i16"])
def test_strides_when_packed(lib: Any, name: str) -> None:
    """Layouts at a size where both operands are packed by several threads."""
    rng = np.random.default_rng(5)
    a, b = _random(rng, name, (150, 170)), _random(rng, name, (170, 180))
    for layout in ("column", "negative", "part", "same rows", "same columns"):
        _check(lib, name, _laid_out(a, layout), _laid_out(b, "row"), "column")
        _check(lib, name, _laid_out(a, "row"), _laid_out(b, layout), "part")


@pytest.mark.parametrize("name", DTYPES)
def test_no_steps_give_zeros(lib: Any, name: str) -> None:
    for layout in ("row", "column", "part", "negative"):
        got = _check(
            lib,
            name,
            _random(np.random.default_rng(6), name, (5, 0)),
            np.zeros((0, 7), DTYPES[name]),
            layout,
        )
        assert not _bits(name, got).any()


@pytest.mark.parametrize("name", ["f32", "f64", "f16", "c64", "c128"])
@pytest.mark.parametrize("size", [5, 33, 140])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_special_values(lib: Any, name: str, size: int) -> None:
    """NaN, infinities, signed zeros, subnormals and overflow travel as in the chain."""
    rng = np.random.default_rng(7)
    dtype = np.dtype(DTYPES[name])
    info = np.finfo(dtype)
    a, b = _random(rng, name, (size, size)), _random(rng, name, (size, size))
    specials = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.smallest_subnormal, info.tiny, -info.max]
    for x in (a, b):
        real = x.view(info.dtype)
        for value in specials:
            real[rng.integers(size), rng.integers(real.shape[1])] = value
    got = _check(lib, name, a, b)
    real = got.view(info.dtype)
    assert np.isnan(real).any()
    assert np.isfinite(real).any()


@pytest.mark.parametrize("exponent", [0, -60, -74])
def test_one_rounding_per_step(lib: Any, exponent: int) -> None:
    """Midpoints of float32 and subnormal sums: there an fma that rounds twice goes wrong."""
    rng = np.random.default_rng(8)
    a = rng.integers(-(2**12), 2**12, (40, 40)).astype(np.float32)
    a *= np.float32(2.0) ** rng.integers(-14, 1, a.shape) * np.float32(2.0) ** exponent
    b = (rng.integers(-(2**24), 2**24, (40, 40)) * 2.0 ** rng.integers(-24, 1, (40, 40))).astype(
        np.float32
    )
    b *= np.float32(2.0) ** exponent
    _check(lib, "f32", a, b)


def test_midpoint_of_subnormals(lib: Any) -> None:
    """A sum just below a midpoint of subnormals, and on it once it is rounded to double."""
    x = np.array([2.0**-65 * (1 + 2.0**-19), 2.0**-75 * (1 + 2.0**-23)], np.float32)
    y = np.array([2.0**-65, 2.0**-75 * (1 - 2.0**-23)], np.float32)
    got = _check(lib, "f32", np.tile(x, (5, 1)), np.tile(y[:, None], (1, 6)))
    assert (got == np.float32(2.0**-130 + 2.0**-149)).all()


def test_all_instruction_sets_are_tested() -> None:
    assert _runnable_isas() or platform.machine() not in ("x86_64", "AMD64")
