"""The CPU library by its C ABI: negotiation, device, memory, elementwise launches."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import cpu_abi
import numpy as np
import phalanx as px
import pytest
from cpu_abi import PluginError, check, ffi
from phalanx.version import ABI

pytestmark = pytest.mark.needs_cpu

FLAGS = {30: "avx512f avx512bw avx512cd avx512dq avx512vl", 20: "avx2 fma bmi1 bmi2 f16c", 10: ""}
SIZES = (0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 4096, 100_001)
SHAPES = ((3, 5, 7), (300, 400), (2, 3, 4, 5, 6), (1000, 3), (5, 100, 130), (64, 64), (129, 257))
DTYPES = (
    "int8",
    "uint16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


@pytest.fixture(
    scope="module", params=cpu_abi.library_paths(), ids=lambda path: path.name.split(".")[0]
)
def library(request):
    opened = cpu_abi.Library(request.param)
    if opened.score() == 0:
        pytest.skip(f"this processor lacks the instruction set of {request.param.name}")
    return opened


def values(rng, shape, dtype):
    x = rng.standard_normal(shape) * 50
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def bits(array):
    return array.view(f"u{array.itemsize}")


@pytest.mark.parametrize(("major", "minor"), [(0, 9), (2, 0), (99, 99)])
def test_other_major_version_is_refused_before_the_host_is_touched(library, major, minor):
    unreadable = ffi.cast("phx_host *", 16)
    with pytest.raises(PluginError, match=f"{major}.{minor}") as caught:
        library.get_api(major, minor, unreadable)
    assert caught.value.code == cpu_abi.ABI_MISMATCH


def test_newer_minor_version_is_accepted(library):
    assert library.get_api(1, 99) == library.api


def test_a_set_capability_bit_means_functions(library):
    api = library.api
    assert api.struct_size == ffi.sizeof("phx_api")
    assert (api.built_abi_major, api.built_abi_minor) == ABI
    assert api.capabilities == 1 | 2 | 4 | 8 | 256
    table = ffi.typeof("phx_api").fields
    functions = [name for name, field in table if field.type.kind == "function"]
    first, last = (functions.index(name) for name in ("kernel_find", "stream_default"))
    others = functions[first : last + 1]  # of libraries that compile, or adopt the host's memory
    for name in functions:
        assert (getattr(api, name) == ffi.NULL) == (name in others), name


def test_plugin_info(library):
    info = ffi.new("phx_plugin_info *", {"struct_size": ffi.sizeof("phx_plugin_info")})
    check(library.api.plugin_info(info))
    texts = [ffi.buffer(t.data, t.size)[:] for t in (info.name, info.vendor, info.license)]
    assert texts == [b"cpu", b"Phalanx", b"Apache-2.0"]
    assert info.version.size > 0


def test_score_follows_the_instruction_set(library):
    score = library.score()
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n")[0].split()
    assert set(FLAGS[score].split()) <= set(flags)


def test_device_info(library):
    info = ffi.new("phx_device_info *", {"struct_size": ffi.sizeof("phx_device_info")})
    check(library.api.device_info(0, info))
    assert info.struct_size == ffi.sizeof("phx_device_info")
    assert (info.kind, info.dlpack_type, info.alignment) == (0, 1, 64)
    names = "HOST_ADDRESSABLE FP64 FP16 SUBNORMALS SYNCHRONOUS UNIFIED_MEMORY"
    for name in names.split():
        assert info.features & getattr(library.lib, f"PHX_FEATURE_{name}"), name
    assert info.name.size > 0
    assert 0 < info.max_allocation <= info.total_memory
    assert info.compute_units >= 1
    count = ffi.new("uint32_t *")
    check(library.api.device_count(count))
    assert count[0] == 1


@pytest.mark.parametrize("size", [0, 7, 8, 24, 56])
def test_an_older_host_has_smaller_structs(library, size):
    """No byte behind the size that the host states is written."""
    info = ffi.new("phx_device_info *")
    ffi.buffer(info)[:] = b"\xa5" * ffi.sizeof("phx_device_info")
    info.struct_size = size
    check(library.api.device_info(0, info))
    assert bytes(ffi.buffer(info))[max(size, 8) :] == b"\xa5" * (ffi.sizeof(info[0]) - max(size, 8))
    assert info.struct_size == size
    if size >= 24:
        assert info.name.size > 0


def test_there_is_no_second_device(library):
    with pytest.raises(PluginError, match="no cpu:1"):
        check(library.api.device_info(1, ffi.new("phx_device_info *")))
    with pytest.raises(PluginError, match="no cpu:7"):
        check(library.api.device_open(7, ffi.new("phx_device **")))


@pytest.mark.parametrize("size", [1, 63, 64, 4097, 3 << 20, (4 << 20) + 3, 64 << 20])
@pytest.mark.parametrize("alignment", [0, 1, 64, 4096])
def test_alloc_is_aligned_and_writable(library, size, alignment):
    out = ffi.new("void **")
    check(library.api.alloc(library.device, size, alignment, out))
    try:
        assert int(ffi.cast("uintptr_t", out[0])) % max(64, alignment) == 0
        memory = ffi.buffer(out[0], size)
        memory[0], memory[size - 1] = b"\x07", b"\x09"
        assert memory[size - 1] == b"\x09"
    finally:
        check(library.api.free(library.device, out[0]))


@pytest.mark.parametrize(
    ("size", "alignment", "code"),
    [
        (0, 64, cpu_abi.INVALID_ARGUMENT),
        (64, 48, cpu_abi.INVALID_ARGUMENT),
        (1 << 50, 64, cpu_abi.OUT_OF_MEMORY),
        (2**64 - 1, 64, cpu_abi.OUT_OF_MEMORY),
    ],
)
def test_alloc_refuses(library, size, alignment, code):
    with pytest.raises(PluginError, match="alloc: ") as caught:
        check(library.api.alloc(library.device, size, alignment, ffi.new("void **")))
    assert caught.value.code == code


def test_free_of_nothing_is_harmless(library):
    check(library.api.free(library.device, ffi.NULL))
    check(library.api.device_trim(library.device))


def test_a_strangers_device_is_refused(library):
    with pytest.raises(PluginError, match="alloc: not a device"):
        check(library.api.alloc(ffi.NULL, 64, 64, ffi.new("void **")))


def test_memory_info(library):
    free, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    check(library.api.memory_info(library.device, free, total))
    assert 0 < free[0] <= total[0]


@pytest.mark.parametrize("size", [*SIZES, (3 << 20) + 5])
def test_copy(library, size):
    source = np.random.default_rng(size).integers(0, 256, size + 11, np.uint8)
    target = np.zeros(size + 7, np.uint8)
    sides, stream = (ffi.NULL, library.device), library.stream()
    for to, origin, queue in itertools.product(sides, sides, (ffi.NULL, stream)):
        target[:] = 0
        dst = (to, ffi.cast("void *", target.ctypes.data), 3)
        src = (origin, ffi.cast("void *", source.ctypes.data), 11)
        check(library.api.copy(library.device, queue, dst, src, size))
        library.synchronize(queue)
        assert np.array_equal(target[3 : 3 + size], source[11:])
        assert not target[:3].any()
        assert not target[3 + size :].any()
    check(library.api.stream_destroy(stream))


def test_copy_refuses(library):
    here = (library.device, ffi.cast("void *", 64), 0)
    for place, why in (
        ((ffi.cast("phx_device *", 64), here[1], 0), "device"),
        ((ffi.NULL, ffi.NULL, 0), "null pointer"),
    ):
        for places in ((place, here), (here, place)):
            with pytest.raises(PluginError, match=f"copy.*{why}"):
                check(library.api.copy(library.device, ffi.NULL, *places, 8))


def test_every_elementwise_overload_has_both_layouts(library):
    from phalanx.optable import OPS

    wanted = {
        (op.name, tuple(cpu_abi.DTYPES.index(d) for d in signature.dtypes), layout)
        for op in OPS.values()
        if op.structure == "elementwise"
        for signature in op.signatures
        for layout in (cpu_abi.CONTIGUOUS, cpu_abi.STRIDED)
    }
    missing = wanted - library.kernels.keys()
    assert not missing


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [0, 1, 7, 1000, 300_001])
def test_contiguous(library, dtype, count):
    rng = np.random.default_rng(count)
    a, b = values(rng, count, dtype), values(rng, count, dtype)
    for op, reference in (("add", np.add), ("multiply", np.multiply), ("equal", np.equal)):
        if op == "multiply" and a.dtype.kind == "c":
            continue  # the order of its roundings is the op table's
        want = reference(a, b)
        out = np.empty_like(want)
        library.launch(op, [a, b, out])
        assert np.array_equal(out, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalar", [0, 1])
def test_operand_of_one_element(library, dtype, scalar):
    a, one = values(np.random.default_rng(1), 70_000, dtype), np.array(3, dtype)
    operands = [a, one] if scalar else [one, a]
    out = np.empty_like(a)
    library.launch("subtract", [*operands, out], scalars=1 << scalar)
    assert np.array_equal(out, np.subtract(*operands))


def test_dear_expression_with_operand_of_one_element(library):
    for dtype in ("float16", "float32", "float64"):
        a = abs(values(np.random.default_rng(1), 70_000, dtype)).clip(0, 100)
        out = np.empty_like(a)
        library.launch("pow", [a, np.array(2, dtype), out], scalars=2)
        np.testing.assert_allclose(out, a * a, rtol=np.finfo(dtype).eps * 2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(library, dtype):
    a, b = (
        values(np.random.default_rng(1), 70_000, dtype),
        values(np.random.default_rng(2), 70_000, dtype),
    )
    want = a - b
    library.launch("subtract", [a, b, a])
    assert np.array_equal(a, want)


def _view(rng, shape, dtype):
    """An array of a shape with axes permuted, sliced, reversed or broadcast at random."""
    order = rng.permutation(len(shape))
    x = values(rng, [2 * shape[axis] for axis in order], dtype).transpose(np.argsort(order))
    for axis, n in enumerate(shape):
        pick = (slice(n), slice(2 * n - 1, n - 1, -1), slice(0, 2 * n, 2), slice(1))[
            rng.integers(4)
        ]
        x = x[(slice(None),) * axis + (pick,)]
    return np.broadcast_to(x, shape)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_strided(library, dtype, shape):
    rng = np.random.default_rng(len(shape))
    for trial in range(6):
        a, b = _view(rng, shape, dtype), _view(rng, shape, dtype)
        mask = _view(rng, shape, "float32") > 0
        out = np.empty([2 * n for n in shape], dtype)[tuple(slice(0, 2 * n, 2) for n in shape)]
        out = np.empty(shape, dtype) if trial % 2 else out
        launches = (
            ("add", [a, b], np.add),
            ("copy", [a], np.positive),
            ("where", [mask, a, b], np.where),
        )
        for op, operands, reference in launches:
            library.launch(op, [*operands, out], layout=cpu_abi.STRIDED)
            assert np.array_equal(out, reference(*operands)), (op, trial, a.strides, b.strides)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_strided_gives_the_bits_of_contiguous(library, dtype, shape):
    rng = np.random.default_rng(5)
    for _ in range(4):
        a = _view(rng, shape, dtype)
        strided, dense = np.empty(shape[::-1], dtype).T, np.empty(shape, dtype)
        library.launch("exp", [a, strided], layout=cpu_abi.STRIDED)
        library.launch("exp", [np.ascontiguousarray(a), dense])
        assert strided.tobytes() == dense.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values_survive_the_compilers_flags(library, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    a = np.array([np.nan, np.inf, -np.inf, -0.0, tiny, tiny, 1.0] * 9, dtype)
    b = np.array([1.0, -np.inf, 1.0, 0.0, tiny, -tiny, np.nan] * 9, dtype)
    for op, reference in (
        ("add", np.add),
        ("multiply", np.multiply),
        ("less_equal", np.less_equal),
    ):
        with np.errstate(all="ignore"):
            want = reference(a, b)
        out = np.empty_like(want)
        library.launch(op, [a, b, out])
        assert np.array_equal(out, want, equal_nan=op != "less_equal")
        assert np.array_equal(np.signbit(out), np.signbit(want)) or op != "multiply"
    out = np.empty(len(a), bool)
    library.launch("isnan", [a, out])
    assert np.array_equal(out, np.isnan(a))


def _with_steps(a):
    """The same values five places apart: loops then take them one by one."""
    spread = np.zeros((len(a), 5), a.dtype)
    spread[:, 0] = a
    return spread[:, 0]


def test_float16_conversions_of_the_processor_are_those_of_the_scalar_functions(library):
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wide, in_vectors = np.empty((2, len(every)), np.float32)
    library.launch("cast", [_with_steps(every), wide], layout=cpu_abi.STRIDED)
    library.launch("cast", [every, in_vectors])  # the processor's, where it has them
    assert np.array_equal(bits(wide), bits(in_vectors))
    rng = np.random.default_rng(3)
    around = wide.view(np.uint32)[:, None] + rng.integers(0, 1 << 14, (1, 30), np.uint32)
    middles = wide.view(np.uint32)[:, None] + np.array([0xFFF, 0x1000, 0x1001], np.uint32)
    random = rng.integers(0, 1 << 32, 1 << 18, np.uint32)
    many = np.concatenate([around.ravel(), middles.ravel(), random]).view(np.float32)
    narrow, in_vectors = np.empty((2, len(many)), np.float16)
    library.launch("cast", [_with_steps(many), narrow], layout=cpu_abi.STRIDED)
    library.launch("cast", [many, in_vectors])
    assert np.array_equal(bits(narrow), bits(in_vectors))
    magnitude, back = np.empty((2, len(every)), np.float16)
    library.launch("abs", [every, magnitude])
    library.launch("cast", [np.abs(wide), back])
    assert np.array_equal(bits(magnitude), bits(back))
    a, b = (rng.integers(0, 1 << 16, 1 << 18).astype(np.uint16).view(np.float16) for _ in "ab")
    product, rounded = np.empty_like(a), np.empty_like(a)
    library.launch("multiply", [a, b, product])
    wide_a, wide_b = np.empty(a.shape, np.float32), np.empty(a.shape, np.float32)
    library.launch("cast", [a, wide_a])
    library.launch("cast", [b, wide_b])
    library.launch("multiply", [wide_a, wide_b, wide_a])
    library.launch("cast", [wide_a, rounded])
    numbers = ~np.isnan(product)
    assert np.array_equal(bits(product)[numbers], bits(rounded)[numbers])
    assert np.array_equal(np.isnan(product), np.isnan(rounded))


def test_nextafter_of_float16(library):
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0, 1 << 16, 1 << 17).astype(np.uint16).view(np.float16) for _ in "ab")
    out = np.empty_like(a)
    library.launch("nextafter", [a, b, out])
    with np.errstate(all="ignore"):
        want = np.nextafter(a, b)
    assert np.array_equal(out, want, equal_nan=True)


def test_casts(library):
    a = np.array([0.0, -0.0, 1.9, -1.9, 300.0, -1e30, 1e30, np.inf, np.nan], np.float64)
    out = np.empty(a.shape, np.int8)
    library.launch("cast", [a, out])
    assert out.tolist() == [0, 0, 1, -1, 127, -128, 127, 127, 0]
    truth = np.empty(a.shape, bool)
    library.launch("cast", [a, truth])
    assert truth.tolist() == [False, False, True, True, True, True, True, True, True]
    z = np.empty(a.shape, np.complex64)
    library.launch("cast", [a, z])
    with np.errstate(over="ignore"):
        assert np.array_equal(z.real, a.astype(np.float32), equal_nan=True)
    assert not z.imag.any()
    wrapped = np.empty(3, np.uint8)
    library.launch("cast", [np.array([-1, 256, 513], np.int64), wrapped])
    assert wrapped.tolist() == [255, 0, 1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_a_huge_argument_changes_no_other_element(library, op, dtype):
    """Blocks with and without the long argument reduction agree, also in place."""
    x = np.random.default_rng(3).uniform(-1e6, 1e6, 3000).astype(dtype)
    plain, mixed = np.empty_like(x), x.copy()
    library.launch(op, [x, plain])
    mixed[::700] = [1e20, -3e30, np.inf, np.nan, 2.0**30]
    want = np.array([getattr(np, op)(v) for v in mixed[::700].astype("f8")[[0, 1, 4]]])
    library.launch(op, [mixed, mixed])
    assert np.isnan(mixed[::700][2:4]).all()
    np.testing.assert_allclose(mixed[::700][[0, 1, 4]], want, rtol=4 * np.finfo(dtype).eps)
    mixed[::700] = plain[::700]
    assert np.array_equal(bits(mixed), bits(plain))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("op", ["multiply", "divide"])
def test_a_special_complex_operand_changes_no_other_element(library, op, dtype):
    rng = np.random.default_rng(4)
    a, b = (values(rng, 3000, dtype) for _ in range(2))
    plain, mixed = np.empty_like(a), a.copy()
    library.launch(op, [a, b, plain])
    mixed[[5, 1700]] = complex(np.inf, np.nan)
    library.launch(op, [mixed, b, mixed])
    assert np.isinf(mixed[[5, 1700]]).all()
    mixed[[5, 1700]] = plain[[5, 1700]]
    assert mixed.tobytes() == plain.tobytes()


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_products_in_vectors_have_the_bits_of_single_ones(library, dtype):
    """Three elements at a time fill no vector, so that they take the functions of one element."""
    rng = np.random.default_rng(6)
    part = np.dtype(dtype).type().real.dtype
    limits = np.finfo(part)
    edges = np.array(
        [0, 1, np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal], part
    )
    near = np.ldexp(1 + rng.random(40), rng.choice([-402, -401, -400, -399, 399, 400, 401], 40))
    with np.errstate(over="ignore"):
        pool = np.concatenate([edges, near.astype(part), rng.standard_normal(60).astype(part)])
    n = 3000
    a, b = np.empty((2, n), dtype)
    for x in (a, b):
        exponents = rng.integers(limits.minexp - 60, limits.maxexp, 2 * n)
        any_size = np.ldexp(rng.uniform(1, 2, 2 * n), exponents)
        usual = rng.uniform(0.5, 2, 2 * n)
        rare = rng.choice(pool, 2 * n)
        kind = rng.choice(3, 2 * n, p=[0.1, 0.8, 0.1])
        with np.errstate(over="ignore"):
            x.view(part)[:] = np.choose(kind, [any_size, usual, rare]) * rng.choice([-1, 1], 2 * n)
    b.real[::5], b.imag[::5] = a.imag[::5], a.real[::5]  # the products of the parts cancel
    together, apart = np.empty((2, n), dtype)
    library.launch("multiply", [a, b, together])
    for k in range(0, n, 3):
        library.launch("multiply", [a[k : k + 3], b[k : k + 3], apart[k : k + 3]])
    for got, want in ((together.real, apart.real), (together.imag, apart.imag)):
        assert np.array_equal(got, want, equal_nan=True)
    numbers = ~(np.isnan(together.real) | np.isnan(together.imag))
    assert together[numbers].tobytes() == apart[numbers].tobytes()
    library.launch("multiply", [a, b, a])  # in place
    assert a[numbers].tobytes() == apart[numbers].tobytes()


def test_products_are_not_fused(library):
    """Infinity - infinity is NaN: a fused multiply-subtract would keep the first product finite."""
    for count in (1, 4, 9, 64):
        z = np.full(2 * count, complex(1e308, -np.inf))
        w = np.full(2 * count, complex(2.0**400, -103.9))
        out = np.empty((2, count), complex)
        library.launch("multiply", [z[:count].copy(), w[:count].copy(), out[0]])
        library.launch("multiply", [z[::2], w[::2], out[1]], layout=cpu_abi.STRIDED)
        assert np.isnan(out.real).all()
        assert (out.imag == -np.inf).all()


@pytest.mark.parametrize("step", [2, 3, 4, 5, -1, -2])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
def test_large_results_of_steps(library, dtype, step):
    """Packed by pieces and written past the caches, beside a dense or a constant operand."""
    count = (5 << 20) // np.dtype(dtype).itemsize + 77
    x = (np.arange(count * abs(step)) % 101).astype(dtype)[::step]
    y = (np.arange(count) % 13).astype(dtype)
    for other in (y, np.broadcast_to(y[5:6], count), x):
        out = np.empty(count, dtype)
        library.launch("add", [x, other, out], layout=cpu_abi.STRIDED)
        assert np.array_equal(out, x + other)


@pytest.mark.needs_cpu
def test_the_processor_is_described() -> None:
    """The device has the processor's name, and no more cores than a process may use."""
    info = px.devices("cpu")[0].info
    assert info.compute_units <= len(os.sched_getaffinity(0))
    lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    assert not names or names[0] in info.name
