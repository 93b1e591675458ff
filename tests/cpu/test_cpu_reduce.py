"""The CPU reductions, scans, softmax and arange against a literal model of the stated order."""

from __future__ import annotations

import math
import platform
import shutil

import numpy as np
import pytest
from cpu_reduce_library import (
    COMPLEX,
    DTYPES,
    FLOATS,
    INTEGERS,
    REAL,
    Array,
    Library,
    build,
    storage,
)
from cpu_reduce_model import (
    accumulated,
    awkward,
    exact,
    factors,
    from_unit,
    layouts,
    model_scan,
    model_softmax,
    model_sum,
    result_type,
    same,
    sample,
    to_unit,
)
from phalanx.optable import structured


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Library]:
    """One library per instruction set of this machine; the last has all kernels."""
    cc = shutil.which("gcc")
    if cc is None or platform.machine() != "x86_64":
        pytest.skip("needs gcc on x86-64")
    return build(cc, tmp_path_factory.mktemp("cpu_reduce"))


@pytest.fixture(scope="session")
def lib(libraries: dict[str, Library]) -> Library:
    """The library with all kernels."""
    return libraries[list(libraries)[-1]]


def run(lib: Library, op: str, dtype: str, to: str, x: Array, threads: int = 1) -> Array:
    shape = x.shape if op.startswith("cumulative") or op == "softmax" else x.shape[:-1]
    return lib(op, (dtype, to), x, np.empty(shape, storage(to)), threads=threads)


# ---- ordered reductions --------------------------------------------------------------------------

SIZES = (1, 2, 3, 10, 15, 16, 63, 64, 65, 127, 130, 321, 4095, 4096, 4097, 2 * 4096 + 77)


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX)
@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
def test_order_of_sums(libraries: dict[str, Library], op: str, dtype: str) -> None:
    for n in SIZES if (op, dtype) != ("prod", "complex128") else SIZES[:-5]:
        x = factors(dtype, (3, n)) if op == "prod" else sample(dtype, (3, n))
        want = model_sum(x, op, dtype)
        for arch, lib in libraries.items():
            for k, y in enumerate(layouts(x)):
                same(run(lib, op, dtype, dtype, y), want, f"{op} {dtype} n={n} layout {k} {arch}")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_squared_deviations(libraries: dict[str, Library], dtype: str) -> None:
    """Means of the rows in any order of their axes, then the tree of a sum; nothing gives 0."""
    op = "sum_squared_deviations"
    for shape in ((3, 0), *((3, n) for n in SIZES), (600, 130), (517, 3), (1, 40 * 4096 + 9)):
        x = sample(dtype, shape)
        want = model_sum(x, op, dtype)
        for arch, lib in libraries.items():
            for threads in (1, 2):
                for k, y in enumerate(layouts(x) if x.size else (x,)):
                    same(run(lib, op, dtype, dtype, y, threads), want, f"{shape} layout {k} {arch}")
    x = sample(dtype, (4, 3, 5, 100))
    want = model_sum(x.reshape(-1, 100), op, dtype).reshape(4, 3, 5)
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0)):
        y = np.ascontiguousarray(x.transpose(*order, 3)).transpose(*np.argsort(order), 3)
        for arch, lib in libraries.items():
            same(run(lib, op, dtype, dtype, y), want, f"axes {order} {arch}")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "complex64"])
@pytest.mark.parametrize(
    "shape",
    [
        (1000, 2),
        (517, 3),
        (300, 10),
        (300, 16),
        (70, 64),
        (600, 130),
        (300, 4100),
        (1, 40 * 4096 + 9),
    ],
)
def test_tiles_and_threads(
    libraries: dict[str, Library], shape: tuple[int, int], dtype: str
) -> None:
    """Tiles of columns, blocks of long rows and two threads give the bits of one row."""
    x = sample(dtype, shape)
    want = model_sum(x, "sum", dtype)
    for arch, lib in libraries.items():
        for threads in (1, 2):
            for k, y in enumerate((x, x.T.copy().T, np.repeat(x, 2, 1)[:, ::2])):
                same(
                    run(lib, "sum", dtype, dtype, y, threads),
                    want,
                    f"{shape} layout {k} {arch} x{threads}",
                )


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (2, 3, 1, 0), (1, 3, 2, 0)])
@pytest.mark.parametrize("n", [5, 100])
def test_many_axes(lib: Library, order: tuple[int, ...], n: int) -> None:
    shape = (4, 3, 6, n)
    memory = sample("float32", tuple(shape[i] for i in order))
    x = memory.transpose(np.argsort(order))[::-1, :, 1::2]
    rows = np.ascontiguousarray(x).reshape(-1, n)
    out = np.empty((3, 3, 4), "float32").transpose(2, 1, 0)
    same(
        lib("sum", ("float32",) * 2, x, out),
        model_sum(rows, "sum", "float32").reshape(out.shape),
        "sum",
    )
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
    for values in (
        [np.nan, 1.0],
        [-np.nan, 1.0],
        [np.inf, -np.inf],
        [-0.0, -0.0],
        [-0.0],
        [np.inf, 1.0],
        [0.0, -0.0],
    ):
        for repeat in (1, 50):
            v = np.array([values * repeat], np.float32)
            x = from_unit(v, dtype) if dtype in FLOATS else v.astype(unit)
            for op in ("sum", "mean") if dtype in COMPLEX else ("sum", "prod", "mean"):
                same(run(lib, op, dtype, dtype, x), model_sum(x, op, dtype), f"{op} of {values}")


# ---- reductions without rounding -----------------------------------------------------------------

SHAPES = (
    (1, 1),
    (3, 5),
    (2, 64),
    (5, 255),
    (2, 256),
    (3, 1000),
    (2, 40_000),
    (700, 3),
    (9, 20_000),
    (300, 130),
)


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


@pytest.mark.parametrize("dtype", REAL)
def test_extremes_of_short_rows(lib: Library, dtype: str) -> None:
    """Their elements meet in pairs or side by side, more than a block of rows holds; and places."""
    for n in (2, 3, 5, 6, 7, 8, 13, 14, 15, 16, 17, 31, 33, 48, 63, 64, 65):
        x = awkward(dtype, (4200 // n + 261, n), 2)
        for op, to in (("max", dtype), ("min", dtype), ("argmax", "int64"), ("argmin", "int64")):
            for k, y in enumerate((x, np.concatenate([x, x], 1)[:, n:], x[:3], x[:, ::-1])):
                same(run(lib, op, dtype, to, y), exact(op, y, dtype), f"{op} {dtype} {n} {k}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_logic(lib: Library, dtype: str) -> None:
    for op in ("any", "all", "count_nonzero"):
        check_exact(lib, op, dtype)
        assert run(lib, op, dtype, result_type(op, dtype), np.empty((1, 0), storage(dtype)))[0] == (
            op == "all"
        )


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
    for shape in (
        (1, 1),
        (9, 3),
        (8, 20),
        (3, 255),
        (2, 256),
        (2, 257),
        (150, 600),
        (3, 2 * 2048 + 300),
    ):
        if (op, dtype) == ("cumulative_prod", "complex128") and math.prod(shape) > 1000:
            continue  # exact arithmetic takes long; the other types have shown the order
        x = (
            sample(dtype, shape)
            if op == "cumulative_sum" or dtype in INTEGERS
            else factors(dtype, shape)
        )
        want = model_scan(x, op, dtype)
        for arch, lib in libraries.items():
            for k, y in enumerate(layouts(x)):
                same(
                    run(lib, op, dtype, dtype, y, 1 + k % 2),
                    want,
                    f"{op} {dtype} {shape} layout {k} {arch}",
                )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex128", "int16"])
@pytest.mark.parametrize("n", [2048 * 300, 2048 * 300 + 255, 2048 * 300 + 257])
def test_long_scan_on_threads(lib: Library, dtype: str, n: int) -> None:
    x = sample(dtype, (1, n))
    same(
        run(lib, "cumulative_sum", dtype, dtype, x, 2),
        run(lib, "cumulative_sum", dtype, dtype, x, 1),
        f"{dtype} {n}",
    )


def test_scan_keeps_nan_bits_and_strided_output(lib: Library) -> None:
    x = np.array([[1.0, np.inf, -np.inf, 2.0], [1.0, -np.nan, 1.0, -0.0]], "float32")
    same(
        run(lib, "cumulative_sum", "float32", "float32", x),
        model_scan(x, "cumulative_sum", "float32"),
        "NaN",
    )
    out = np.zeros((1000, 4), "float64")
    y = sample("float64", (2, 1000))
    lib("cumulative_sum", ("float64",) * 2, y, out.T[::2])
    same(out.T[::2], model_scan(y, "cumulative_sum", "float64"), "strided output")
    assert not out[:, 1::2].any()
    assert run(lib, "cumulative_sum", "float64", "float64", np.empty((3, 0))).size == 0


# ---- softmax and arange --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "shape", [(3, 1), (5, 3), (20, 64), (3, 1000), (2, 4097), (40, 300), (1, 70_001)]
)
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
    assert (
        error <= relative * model_softmax(x, dtype) + (2.0**-25 if dtype == "float16" else 0)
    ).all()


def test_softmax_of_more_blocks_than_lanes(lib: Library) -> None:
    """A row of 70 equal blocks: the blocks beyond the 64th count too."""
    n = 70 * 4096
    x = np.zeros((1, n), np.float64)
    assert (run(lib, "softmax", "float64", "float64", x) == 1 / n).all()


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
        step = (
            from_unit(np.asarray(np.float32(0.1)), dtype)
            if dtype in FLOATS
            else np.asarray(0.1 - 0.7j, dtype)
        )
    with np.errstate(all="ignore"):
        a, b = to_unit(start, dtype), to_unit(step, dtype)
        i = np.arange(5001).reshape(-1, *[1] * a.ndim).astype(a.dtype)
        want = from_unit(a + i * b, dtype).reshape(-1)
    for arch, lib in libraries.items():
        for out in (np.empty(5001, storage(dtype)), np.empty(15003, storage(dtype))[::-3]):
            same(
                lib("arange", (dtype,) * 3, start, step, out, threads=2),
                want,
                f"arange {dtype} {arch}",
            )


def test_rows_match_the_op_table(lib: Library) -> None:
    """Each op of these structures has a kernel for all dtypes that the op table states."""
    structures = ("reduction", "scan", "row", "generation")
    ops = [op for op in structured.ROWS if op.structure in structures]
    assert set(lib.kernels) == {(op.name, *sig.dtypes) for op in ops for sig in op.signatures}
    orders = (structured.LANES, structured.BLOCK, structured.SCAN_BLOCK)
    assert orders == (64, 4096, 256), "the order changed: so must the kernels and the model"
