"""What the host does itself for few elements is what launches do for many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import phalanx as px
import pytest

HostArray = npt.NDArray[Any]
#: Up to 1,024 elements the host moves them where it can.
COUNTS = [0, 1, 7, 1023, 1024, 1025, 3000]
DTYPES = ["bool", "uint8", "int16", "float16", "float32", "int64", "complex128"]


def wild(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> HostArray:
    made = rng.integers(-9, 9, shape)
    return made % 2 == 0 if dtype == "bool" else made.astype(dtype)


def laid(x: HostArray, device: px.Device, layout: str) -> tuple[px.Array, HostArray]:
    """An array over a copy of x in a layout, and NumPy's view of another copy."""
    ours, theirs = px.asarray(x, device=device), x.copy()
    if layout == "reversed":
        return ours[::-1], theirs[::-1]
    return (ours[::2], theirs[::2]) if layout == "every second" else (ours, theirs)


def same(got: px.Array, want: HostArray) -> None:
    assert got.shape == want.shape
    assert px.asnumpy(got).tobytes() == np.ascontiguousarray(want).tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", ["whole", "reversed", "every second"])
def test_vectors(device: px.Device, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(1)
    for count in COUNTS:
        x, want = laid(wild(rng, (2 * count,), dtype), device, layout)
        n = want.size
        mask = rng.random(n) < 0.5
        flags = px.asarray(mask, device=device)
        places = rng.integers(-n, n, count) if n else np.zeros(0, np.int64)
        index = px.asarray(places, device=device)
        same(x[index], want[places])
        same(px.take(x, index), want[places])
        same(x[flags], want[mask])
        same(px.nonzero(flags)[0], np.nonzero(mask)[0])
        values = wild(rng, (count,), dtype)
        x[index] = px.asarray(values, device=device)  # of equal places the last value stays
        want[places] = values
        same(x, want)
        x[flags] = True if dtype == "bool" else 3
        want[mask] = True if dtype == "bool" else 3
        same(x, want)
        chosen = wild(rng, (int(mask.sum()),), dtype)
        x[flags] = px.asarray(chosen, device=device)
        want[mask] = chosen
        same(x, want)


@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5), (40, 50)])
def test_an_index_for_each_axis(device: px.Device, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    for made in ((), (7,), (2, 3), (33, 32)):
        want = wild(rng, shape, "float32")
        x = px.asarray(want, device=device)
        places = tuple(rng.integers(-n, n, made) for n in shape)
        index = tuple(px.asarray(p, device=device) for p in places)
        same(x[index], np.asarray(want[places]))
        x[index] = 0.5
        want[places] = 0.5
        same(x, want)
        same(px.matrix_transpose(x)[(*index[:-2], index[-1], index[-2])], np.asarray(want[places]))


def test_slices_along_an_axis(device: px.Device) -> None:
    rng = np.random.default_rng(3)
    for shape, extent in (((3, 5), 2), ((3, 5, 4), 7), ((40, 50), 30)):
        x = wild(rng, shape, "float32")
        for axis in range(len(shape)):
            places = rng.integers(
                -shape[axis], shape[axis], (*shape[:axis], extent, *shape[axis + 1 :])
            )
            got = px.take_along_axis(
                px.asarray(x, device=device), px.asarray(places, device=device), axis=axis
            )
            same(got, np.take_along_axis(x, places % shape[axis], axis))


def put_and_wait(x: px.Array, index: px.Array) -> None:
    x[index] = 9.0
    x.device.synchronize()


def test_wrong_indices_write_nothing(device: px.Device) -> None:
    x = px.asarray([1.0, 2.0, 3.0], device=device)
    wrong = px.asarray([0, 3], device=device)
    with pytest.raises(IndexError, match=r"index 3 .* out of range"):
        print(x[wrong])
    with pytest.raises(IndexError, match=r"index 3 .* out of range"):
        put_and_wait(x, wrong)
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_counts(device: px.Device) -> None:
    rng = np.random.default_rng(4)
    for count in COUNTS:
        for top in (5, 1023, 1024, 1025):
            x = rng.integers(0, top + 1, count)
            for least in (0, 9, 1025):
                same(
                    px.bincount(px.asarray(x, device=device), minlength=least),
                    np.bincount(x, minlength=least),
                )
    with pytest.raises(ValueError, match="values are 0 or more, got -1"):
        px.bincount(px.asarray([2, -1], device=device))


def test_repeated_and_tiled(device: px.Device) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    ours = px.asarray(x, device=device)
    for axis in (0, 1, 2, None):
        same(px.repeat(ours, 3, axis=axis), np.repeat(x, 3, axis=axis))
        same(
            px.repeat(px.matrix_transpose(ours), 2, axis=axis),
            np.repeat(np.swapaxes(x, 1, 2), 2, axis),
        )
    for times in ((), (2,), (0,), (2, 1, 3), (2, 1, 1, 2)):
        same(px.tile(ours, times), np.tile(x, times))


NUMBERS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS += ["float16", "float32", "float64", "complex64", "complex128"]


def positive(x: HostArray) -> HostArray:
    return np.abs(x).astype(x.dtype)


def assigned(dtype: str) -> list[Any]:
    """Numbers of the dtype's kind, and of those that it includes."""
    if dtype == "bool":
        return [True, False]
    return [1, 100] + [2.5, -0.0] * (dtype[0] in "fc") + [1 - 2j] * (dtype[0] == "c")


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("layout", ["whole", "reversed", "every second"])
def test_numbers_written_by_basic_keys(device: px.Device, dtype: str, layout: str) -> None:
    rng = np.random.default_rng(4)
    for count in (1, 9, 1025):
        x, want = laid(positive(wild(rng, (2 * count,), dtype)), device, layout)
        for number in assigned(dtype):
            for key in (0, -1, slice(None), slice(1, 7, 2), slice(7, 1, -3), slice(0, 0), ...):
                x[key], want[key] = number, number
                same(x, want)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_elements_copied_by_basic_keys(device: px.Device, dtype: str) -> None:
    x, want = laid(positive(wild(np.random.default_rng(5), (9, 8), dtype)), device, "whole")
    for to, origin in [((0,), (1,)), ((2, 3), (4, 5)), (slice(0, 5), slice(2, 7)), (-1, 0)]:
        x[to], want[to] = x[origin], want[origin].copy()
        same(x, want)
    x[slice(2, 7)], want[slice(2, 7)] = x[slice(0, 5)], want[slice(0, 5)].copy()
    same(x, want)


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("layout", ["whole", "reversed", "every second"])
def test_lists_and_rows(device: px.Device, dtype: str, layout: str) -> None:
    for shape in [(6,), (4, 3), (2, 0), (0,), (4, 2, 3)]:
        x, want = laid(positive(wild(np.random.default_rng(6), shape, dtype)), device, layout)
        assert x.tolist() == want.tolist()
        assert [type(v) for v in np.ravel(x.tolist()[:1])] == [
            type(v) for v in np.ravel(want.tolist()[:1])
        ]
        for row, expected in zip(x, want, strict=True):
            same(row, np.asarray(expected))
        rows = iter(x)
        assert iter(rows) is rows


def test_special_numbers_in_lists(device: px.Device) -> None:
    x = px.asarray([np.nan, -np.inf, -0.0], dtype=px.float32, device=device)
    assert repr(x.tolist()) == "[nan, -inf, -0.0]"
    largest = px.asarray([2**63, 2**64 - 1], dtype=px.uint64, device=device)
    assert largest.tolist() == [2**63, 2**64 - 1]


@pytest.mark.parametrize("number", [300, -1, 2**70])
def test_a_number_out_of_range_writes_nothing(device: px.Device, number: int) -> None:
    x = px.asarray([1, 2, 3], dtype=px.uint8, device=device)
    for key in (0, slice(None)):
        with pytest.raises(OverflowError, match="uint8"):
            x[key] = number
    assert x.tolist() == [1, 2, 3]


def test_what_is_read_only_stays(device: px.Device) -> None:
    x = px.broadcast_to(px.asarray([1.0], device=device), (3,))
    for value in (2.0, x[1]):
        with pytest.raises(ValueError, match=r"read-only|broadcast"):
            x[0] = value
    assert x.tolist() == [1.0, 1.0, 1.0]
