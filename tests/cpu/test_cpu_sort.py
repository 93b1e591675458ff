"""The sort and argsort kernels of the CPU library against NumPy's stable sorts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cpu_sort_library
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]

SOURCES = [
    f"sort/{name}.c"
    for name in (
        "sort",
        "sort_keys",
        "sort_count",
        "sort_refine",
        "sort_radix",
        "sort_quick",
        "sort_quick_avx2",
        "sort_bucket",
        "sort_row",
    )
]
DTYPES = ("bool", *cpu_sort_library.REAL)
SIZES = (0, 1, 2, 3, 15, 16, 17, 255, 256, 257, 1000, 1001)
PATTERNS = ("random", "sorted", "reversed", "equal", "few", "special")


@pytest.fixture(scope="session", params=cpu_sort_library.ISAS)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    yield from cpu_sort_library.libraries(
        tmp_path_factory, request.param, SOURCES, ["phx_sort_kernels"]
    )


@pytest.fixture(params=(1, 2))
def sorts(library: Any, request: pytest.FixtureRequest) -> Any:
    library.threads(request.param)
    return library


def storage(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype that holds a dtype's bits."""
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def bits_of(x: Array) -> Array:
    return np.ascontiguousarray(x).view(f"u{x.itemsize}")


def make(dtype: str, pattern: str, n: int) -> Array:
    """An array of a pattern; bfloat16 as its bits."""
    rng = np.random.default_rng([n, len(pattern)])
    kind = storage(dtype)
    if dtype == "bool":
        x = rng.integers(0, 2, n).astype(bool)
    elif kind.kind == "f":
        x = (rng.standard_normal(n) * 100).astype(kind)
    elif dtype == "bfloat16":
        x = (rng.standard_normal(n).astype("f4").view(np.uint32) >> 16).astype(np.uint16)
    else:
        info = np.iinfo(kind)
        x = rng.integers(info.min, info.max, n, dtype=kind, endpoint=True)
    if pattern == "sorted":
        x = x[reference_order(x, dtype, False)]
    elif pattern == "reversed":
        x = x[reference_order(x, dtype, True)]
    elif pattern == "equal":
        x[:] = x[:1]
    elif pattern == "few":
        x = x[rng.integers(0, min(n, 5), n)] if n else x
    elif pattern == "special" and n:
        x[rng.integers(0, n, n // 2 + 1)] = rng.choice(specials(dtype), n // 2 + 1)
    return x


def specials(dtype: str) -> Array:
    """Extremes; for floats also zeros, infinities and NaNs of several payloads, of both signs."""
    kind = storage(dtype)
    if dtype == "bool":
        return np.array([True, False])
    if dtype == "bfloat16":
        bits = [0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x7F81, 1, 0x8001, 0x7F7F]
        return np.array(bits, np.uint16)
    if kind.kind == "f":
        info = np.finfo(kind)
        values = [0.0, -0.0, np.inf, -np.inf, info.tiny, -info.tiny, info.max, info.min]
        nans = bits_of(np.array([np.inf, -np.inf, np.inf], kind)) + np.arange(
            1, 4, dtype=f"u{kind.itemsize}"
        )
        return np.concatenate([np.array(values, kind), nans.view(kind)])
    integers = np.iinfo(kind)
    return np.array([integers.min, integers.max, integers.min + 1, integers.max - 1, 0, 1], kind)


def values_of(x: Array, dtype: str) -> Array:
    if dtype == "bfloat16":
        return (x.astype(np.uint32) << 16).view(np.float32)
    return x


def reference_order(x: Array, dtype: str, descending: bool) -> Array:
    """Stable order of places; NaN largest, -0 equal to +0; written with lexsort on ranks."""
    v = values_of(x, dtype)
    nan = np.isnan(v) if v.dtype.kind == "f" else np.zeros(v.shape, bool)
    filled = np.where(nan, np.zeros(1, v.dtype), v)
    _, rank = np.unique(filled, return_inverse=True)
    rank = np.where(nan, v.size, rank.reshape(v.shape)).astype(np.int64)
    return np.argsort(-rank if descending else rank, kind="stable")


def reference_sort(x: Array, dtype: str, descending: bool) -> Array:
    """The elements in order; -0 below +0, NaNs with their own bits in the order of the input."""
    order = reference_order(x, dtype, descending)
    v = values_of(x, dtype)
    if v.dtype.kind != "f":
        return x[order]
    zeros = np.flatnonzero(v[order] == 0)
    result = x[order].copy()
    if zeros.size:
        block = order[zeros]
        signs = np.signbit(v[block])
        result[zeros] = x[block][np.argsort(signs if descending else ~signs, kind="stable")]
    return result


def check(sorts: Any, x: Array, dtype: str, descending: bool) -> None:
    out = np.zeros(x.shape, x.dtype)
    places = np.full(x.shape, -1, np.int64)
    sorts.call("sort", [(x, dtype), (out, dtype)], [descending])
    sorts.call("argsort", [(x, dtype), (places, "int64")], [descending])
    np.testing.assert_array_equal(places, reference_order(x, dtype, descending))
    np.testing.assert_array_equal(bits_of(out), bits_of(reference_sort(x, dtype, descending)))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(library: Any, dtype: str, pattern: str) -> None:
    library.threads(2)
    for n in SIZES:
        for descending in (False, True) if n < 256 else (n % 2 == 0,):
            check(library, make(dtype, pattern, n), dtype, descending)
    if pattern in ("random", "special"):
        check(library, make(dtype, pattern, 65_537), dtype, pattern == "random")


@pytest.mark.parametrize("dtype", ["uint8", "float16", "int32", "float32", "float64"])
def test_long_vectors(library: Any, dtype: str) -> None:
    for threads, pattern in ((1, "special"), (2, "few"), (2, "random")):
        library.threads(threads)
        check(library, make(dtype, pattern, 300_000), dtype, pattern == "few")


@pytest.mark.parametrize("shift", [0, 13, 40])
def test_argsort_of_keys_that_differ_in_low_or_high_bits(sorts: Any, shift: int) -> None:
    rng = np.random.default_rng(shift)
    for n in (1000, 40_000):
        x = rng.integers(0, n // 2, n).astype(np.uint64) << np.uint64(shift)
        x |= rng.integers(0, 2, n).astype(np.uint64) << np.uint64(63)
        for low in (0, 3):
            check(sorts, x | rng.integers(0, 1 + low, n).astype(np.uint64), "uint64", False)


def test_every_size_of_the_networks(sorts: Any) -> None:
    for dtype in ("uint32", "int64"):
        for n in range(1, 600, 3):
            x = make(dtype, "random", n)
            out = np.empty_like(x)
            sorts.call("sort", [(x, dtype), (out, dtype)], [0])
            np.testing.assert_array_equal(out, np.sort(x))


def test_pivots_chosen_by_an_enemy(sorts: Any) -> None:
    n = 20_000
    organ = np.concatenate([np.arange(n // 2), np.arange(n // 2)[::-1]])
    saw = np.arange(n) % 77
    for x in (organ, saw, np.repeat(saw[:200], 100), np.where(np.arange(n) % 3 == 0, 0, organ)):
        for dtype in ("int32", "int64", "float64"):
            check(sorts, x.astype(dtype), dtype, False)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(7, 33), (3, 5, 17), (40, 300), (5, 1), (2, 40_000)])
def test_rows_and_strides(sorts: Any, dtype: str, shape: tuple[int, ...]) -> None:
    base = make(dtype, "special", int(np.prod(shape)) * 6).reshape(*shape[:-1], shape[-1] * 2, 3)
    plain = base[..., : shape[-1], 0]
    turned = np.ascontiguousarray(np.moveaxis(plain, -1, 0))
    views = [plain, plain[..., ::-1], base[..., ::2, 1], np.moveaxis(turned, 0, -1), plain[::-1]]
    for x in views:
        expected = np.apply_along_axis(reference_sort, -1, x, dtype, False)
        order = np.apply_along_axis(reference_order, -1, x, dtype, False)
        for out_view in (False, True):
            out = np.zeros((*shape, 2), x.dtype)[..., 0] if out_view else np.zeros(shape, x.dtype)
            places = np.zeros((shape[-1], *shape[:-1]), np.int64)
            turned_places = np.moveaxis(places, 0, -1) if out_view else np.zeros(shape, np.int64)
            sorts.call("sort", [(x, dtype), (out, dtype)], [0])
            sorts.call("argsort", [(x, dtype), (turned_places, "int64")], [0])
            np.testing.assert_array_equal(bits_of(out), bits_of(expected))
            np.testing.assert_array_equal(turned_places, order)
