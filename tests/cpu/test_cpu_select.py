"""The search, selection and indexing kernels of the CPU library against NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cpu_sort_library
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]

LISTS = ["phx_search_kernels", "phx_select_kernels", "phx_index_kernels"]
SIZES = (0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 1000, 65537, 300_000)
INDEX_OUT_OF_RANGE = 6
#: The copying kernels look at the size of an element only.
ONE_PER_SIZE = ("bool", "bfloat16", "float32", "int64", "complex128")


@pytest.fixture(scope="session", params=cpu_sort_library.ISAS)
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    sources = ["sort/search.c", "indexing/select.c", "indexing/index.c"]
    yield from cpu_sort_library.libraries(tmp_path_factory, request.param, sources, LISTS)


@pytest.fixture(params=(1, 2))
def kernels(library: Any, request: pytest.FixtureRequest) -> Any:
    library.threads(request.param)
    return library


def storage(dtype: str) -> np.dtype[Any]:
    return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def some(dtype: str, n: int, seed: int = 0) -> Array:
    """n elements of any bits that are valid for the dtype."""
    rng = np.random.default_rng([seed, n])
    kind = storage(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, n).astype(bool)
    return np.frombuffer(rng.bytes(n * kind.itemsize), kind)


def same(a: Array, b: Array) -> None:
    np.testing.assert_array_equal(
        np.ascontiguousarray(a).view(np.uint8), np.ascontiguousarray(b).view(np.uint8)
    )


@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 0.97, 1.0])
def test_nonzero(kernels: Any, share: float) -> None:
    for n in SIZES:
        mask = np.random.default_rng(n).random(n) < share
        expected = np.flatnonzero(mask)
        guarded = np.full(expected.size + 1, -7, np.int64)
        kernels.call("nonzero", [(mask, "bool"), (guarded[:-1], "int64")])
        same(guarded[:-1], expected)
        assert guarded[-1] == -7


@pytest.mark.parametrize("dtype", ONE_PER_SIZE)
def test_compress(kernels: Any, dtype: str) -> None:
    for share in (0.0, 0.1, 0.5, 1.0):
        for n, inner in [*((n, 1) for n in SIZES), (1000, 3), (1000, 17), (40_000, 5), (9, 0)]:
            if n == 300_000 and share != 0.5:
                continue
            x = some(dtype, n * inner).reshape(n, inner)
            mask = np.random.default_rng(n).random(n) < share
            count = int(mask.sum())
            guarded = np.zeros((count + 1, inner), x.dtype)
            kernels.call("compress", [(x, dtype), (mask, "bool"), (guarded[:-1], dtype)])
            same(guarded[:-1], x[mask])
            assert not guarded[-1].view(np.uint8).any()


@pytest.mark.parametrize("dtype", cpu_sort_library.REAL)
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(kernels: Any, dtype: str, right: bool) -> None:
    for n, m in [(0, 5), (1, 40), (2, 40), (17, 100), (1000, 5000), (65_537, 20_001), (5, 0)]:
        x, values = some(dtype, n, 1), some(dtype, m, 2)
        real, wanted = x, values
        if dtype == "bfloat16":
            real, wanted = ((a.astype(np.uint32) << 16).view(np.float32) for a in (x, values))
        order = np.argsort(real, kind="stable")
        real, x = real[order], np.ascontiguousarray(x[order])
        if n:
            values = np.concatenate([values, x[:: max(1, n // 50)]])
            wanted = np.concatenate([wanted, real[:: max(1, n // 50)]])
        expected = np.searchsorted(real, wanted, side="right" if right else "left")
        out = np.full(values.size, -1, np.int64)
        kernels.call("searchsorted", [(x, dtype), (values, dtype), (out, "int64")], [right])
        np.testing.assert_array_equal(out, expected)
        spread, wide = np.repeat(x, 2)[::2], np.zeros((values.size, 2), np.int64)
        turned = np.ascontiguousarray(values[::-1])[::-1]
        kernels.call(
            "searchsorted", [(spread, dtype), (turned, dtype), (wide[:, 1], "int64")], [right]
        )
        np.testing.assert_array_equal(wide[:, 1], expected)


def test_wrap_index(kernels: Any) -> None:
    rng = np.random.default_rng(0)
    for shape in [(), (1,), (5,), (100_000,), (3, 7), (4, 0), (300, 70)]:
        x = rng.integers(-11, 11, shape)
        for view in (x, x.T, x[::-1] if x.ndim else x, np.repeat(x[..., None], 2, -1)[..., 0]):
            out = np.full(view.shape, -1, np.int64)
            kernels.call("wrap_index", [(view, "int64"), (out, "int64")], [11, 6])
            np.testing.assert_array_equal(out, np.mod(view, 11) * 6)


@pytest.mark.parametrize("bad", [11, -12, 2**63 - 1, -(2**63)])
def test_wrap_index_names_the_first_index_out_of_range(kernels: Any, bad: int) -> None:
    for shape in [(), (50,), (70_000,), (30, 900)]:
        x = np.zeros(shape, np.int64)
        flat = x.reshape(-1)
        place = flat.size // 3
        flat[place] = bad
        flat[place + 1 :] = np.where(np.arange(flat.size - place - 1) % 5 == 0, 99, 0)
        for view in (x, x[...]):
            with pytest.raises(
                cpu_sort_library.KernelError, match=rf"index {bad} at place {place} .*extent 11;"
            ) as info:
                kernels.call(
                    "wrap_index", [(view, "int64"), (np.empty(shape, np.int64), "int64")], [11, 1]
                )
            assert info.value.args[0] == INDEX_OUT_OF_RANGE


def test_wrap_index_of_an_empty_axis(kernels: Any) -> None:
    x = np.zeros(3, np.int64)
    with pytest.raises(cpu_sort_library.KernelError, match="extent 0"):
        kernels.call("wrap_index", [(x, "int64"), (x.copy(), "int64")], [0, 1])
    kernels.call("wrap_index", [(np.empty(0, np.int64), "int64")] * 2, [0, 1])


NO_PLACE = -(2**56)


@pytest.mark.parametrize(("n", "stride"), [(11, 6), (11, -6), (11, 0), (1, 2**40), (0, 1)])
def test_wrap_index_gives_no_place_if_one_is_out_of_range(
    kernels: Any, n: int, stride: int
) -> None:
    rng = np.random.default_rng(1)
    for shape in [(), (9,), (70_000,), (30, 900)]:
        good = rng.integers(-n, n, shape) if n else np.zeros(shape, np.int64)
        bad = rng.choice([n, -n - 1, 2**62, 2**63 - 1, -(2**63)], shape)
        x = np.where(rng.random(shape) < 0.5, good, bad)
        x.reshape(-1)[0] = n
        for view in (x, x.T, np.repeat(x[..., None], 2, -1)[..., 0]):
            out = np.full(view.shape, -1, np.int64)
            with pytest.raises(cpu_sort_library.KernelError, match="out of range"):
                kernels.call("wrap_index", [(view, "int64"), (out, "int64")], [n, stride])
            np.testing.assert_array_equal(out, np.full(view.shape, NO_PLACE))


CASES = [
    ((), (), 5_000),
    ((), (), 70_000),
    ((6,), (1,), 500),
    ((6,), (100,), 500),
    ((300,), (1,), 400),
    ((4, 5), (5, 1), 300),
    ((4, 5), (50, 2), 300),
    ((3, 1, 4), (40, 7, -1), 200),
    ((0,), (1,), 3),
]


@pytest.mark.parametrize("dtype", ONE_PER_SIZE)
@pytest.mark.parametrize(("inner", "strides", "m"), CASES)
def test_gather_and_scatter(
    kernels: Any, dtype: str, inner: tuple[int, ...], strides: tuple[int, ...], m: int
) -> None:
    memory = some(dtype, 100_000).copy()
    start = 1000
    item = memory.itemsize
    base = np.lib.stride_tricks.as_strided(
        memory[start:], inner, [s * item for s in strides], writeable=True
    )
    offsets = np.random.default_rng(m).integers(-500, 98_000, m)
    if sum(abs(s) * e for s, e in zip(strides, inner, strict=True)) > 1000:
        offsets = offsets % 60_000
    grid = np.full(inner, start, np.int64)
    for axis, (stride, extent) in enumerate(zip(strides, inner, strict=True)):
        grid = grid + (np.arange(extent) * stride).reshape(
            [-1 if a == axis else 1 for a in range(len(inner))]
        )
    places = grid[None] + offsets.reshape(-1, *[1] * len(inner))
    outs = [np.zeros((m, *inner), memory.dtype), np.zeros((*inner, m), memory.dtype)]
    outs[1] = np.moveaxis(outs[1], -1, 0)
    for out in outs:
        kernels.call("gather", [(base, dtype), (offsets, "int64"), (out, dtype)])
        same(out, memory[places])
    values = some(dtype, m * int(np.prod(inner)), 5).reshape(m, *inner)
    one = np.broadcast_to(some(dtype, 3, 6)[:1], (m, *inner))
    turned = np.moveaxis(np.ascontiguousarray(np.moveaxis(values, 0, -1)), -1, 0)
    for source in (values, turned, one, values[::-1]):
        before = memory.copy()
        expected = memory.copy()
        expected[places.reshape(-1)] = source.reshape(-1)  # in order: the last of equal places wins
        kernels.call("scatter", [(source, dtype), (offsets, "int64"), (base, dtype)])
        same(memory, expected)
        memory[:] = before


@pytest.mark.parametrize("dtype", ONE_PER_SIZE)
@pytest.mark.parametrize(("inner", "strides", "m"), CASES)
def test_offsets_that_name_no_element(
    kernels: Any, dtype: str, inner: tuple[int, ...], strides: tuple[int, ...], m: int
) -> None:
    memory = some(dtype, 60_000).copy()
    start, rng = 1000, np.random.default_rng(m)
    base = np.lib.stride_tricks.as_strided(
        memory[start:], inner, [s * memory.itemsize for s in strides], writeable=True
    )
    steps = np.array(strides, int).reshape(-1, *[1] * len(inner))
    grid = start + (np.indices(inner) * steps).sum(0)
    lost = [NO_PLACE, NO_PLACE - 2**48, NO_PLACE + 2**48, 64 * NO_PLACE, -(2**63)]
    for share in (0.02, 0.5, 1.0):
        there = rng.random(m) >= share
        offsets = np.where(there, rng.integers(-500, 20_000, m), rng.choice(lost, m))
        spread = np.repeat(offsets, 3)[::3]
        places = grid[None] + np.where(there, offsets, 0).reshape(-1, *[1] * len(inner))
        wanted = memory[places]
        wanted[~there] = np.zeros((), memory.dtype)
        dense = some(dtype, m * int(np.prod(inner)), 3).reshape(m, *inner).copy()
        for out in (dense, np.moveaxis(np.moveaxis(dense, 0, -1).copy(), -1, 0)):
            for offs in (offsets, spread):
                out[...] = some(dtype, 9, 4)[:1]
                kernels.call("gather", [(base, dtype), (offs, "int64"), (out, dtype)])
                same(out, wanted)
        values = some(dtype, dense.size, 5).reshape(m, *inner)
        expected = memory.copy()
        expected[places[there].reshape(-1)] = values[there].reshape(-1)
        before = memory.copy()
        for offs in (offsets, spread):
            kernels.call("scatter", [(values, dtype), (offs, "int64"), (base, dtype)])
            same(memory, expected)
            memory[:] = before


@pytest.mark.parametrize("dtype", cpu_sort_library.DTYPES)
def test_every_dtype_has_its_copying_kernels(library: Any, dtype: str) -> None:
    x = some(dtype, 3)
    places, mask, out = np.array([2, 0]), np.array([True, False, True]), np.zeros(2, x.dtype)
    library.call("compress", [(x[:, None], dtype), (mask, "bool"), (out[:, None], dtype)])
    same(out, x[mask])
    library.call("gather", [(x[:1].reshape(()), dtype), (places, "int64"), (out, dtype)])
    same(out, x[places])
    target = np.zeros(3, x.dtype)
    library.call("scatter", [(out, dtype), (places, "int64"), (target[:1].reshape(()), dtype)])
    same(target[places], out)
