"""Integer arrays and masks as keys, read and written, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import LAYOUTS, put, same, whole_numbers
from phalanx.conformance.layouts import HostArray, place

_SHAPE = (4, 5, 6)
_ALL = slice(None)
_MASK_1 = np.asarray([True, False, True, True])
_MASK_2 = np.arange(20).reshape(4, 5) % 3 == 1
_MASK_3 = np.arange(120).reshape(_SHAPE) % 7 == 2
_ROWS = np.asarray([3, 0, -1, 0])
_COLUMNS = np.asarray([0, -5, 4, 2])

#: Keys without a place named twice; ``a`` makes an index array in the namespace of the case.
_KEYS: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "integers": lambda a: a([2, 0, -1]),
    "one_integer": lambda a: a(2),
    "no_integers": lambda a: a(np.zeros((0,), np.int64)),
    "matrix_of_integers": lambda a: a([[0, 1], [-1, 2]]),
    "small_integers": lambda a: a(np.asarray([3, 1], np.int8)),
    "unsigned_integers": lambda a: a(np.asarray([3, 1], np.uint16)),
    "integers_at_the_end": lambda a: (Ellipsis, a([5, -3])),
    "integers_in_the_middle": lambda a: (_ALL, a([[4, 0], [1, -2]])),
    "pairs": lambda a: (a(_ROWS), a(_COLUMNS)),
    "pairs_at_the_end": lambda a: (_ALL, a([4, 0, 2]), a([1, 2, -6])),
    "triples": lambda a: (a([0, 1]), a([1, 2]), a([2, -1])),
    "broadcast_pairs": lambda a: (a([[0], [2], [3]]), a([4, 1])),
    "separated_pairs": lambda a: (a([0, 3]), _ALL, a([1, 5])),
    "pairs_around_newaxis": lambda a: (a([0, 3]), None, a([1, 4])),
    "integer_and_array": lambda a: (1, a([4, 0])),
    "array_and_integer": lambda a: (a([3, 0]), 2),
    "array_slice_integer": lambda a: (a([3, 0]), slice(1, 4), -1),
    "slice_array_slice": lambda a: (slice(None, None, -1), a([1, 0, 4]), slice(1, None, 2)),
    "newaxis_and_array": lambda a: (None, a([0, 2]), Ellipsis, None),
    "mask_of_all": lambda a: a(_MASK_3),
    "mask_in_front": lambda a: a(_MASK_1),
    "mask_of_two": lambda a: a(_MASK_2),
    "mask_in_the_middle": lambda a: (_ALL, a([True, False, False, True, True])),
    "mask_at_the_end": lambda a: (Ellipsis, a(np.arange(6) % 2 == 1)),
    "mask_of_two_at_the_end": lambda a: (slice(1, 3), a(np.arange(30).reshape(5, 6) % 4 == 0)),
    "mask_and_slice": lambda a: (a(_MASK_1), slice(1, None, 2)),
    "mask_and_integer": lambda a: (a(_MASK_1), 3),
    "mask_and_integers": lambda a: (a(_MASK_1), a([0, 4, 2])),
    "mask_slice_integers": lambda a: (a(_MASK_1), _ALL, a([0, 4, 2])),
    "mask_of_two_and_integer": lambda a: (a(_MASK_2), 1),
    "mask_of_two_and_newaxis": lambda a: (None, a(_MASK_2)),
    "two_masks": lambda a: (a([True, True, False, False]), a([True, False, False, False, True])),
    "empty_mask": lambda a: a(np.zeros(_SHAPE, np.bool_)),
    "empty_mask_in_front": lambda a: (a(np.zeros(4, np.bool_)), slice(2)),
    "full_mask": lambda a: a(np.ones(_SHAPE, np.bool_)),
    "true": lambda _: True,
    "false": lambda _: False,
    "true_array": lambda a: a(np.asarray(True)),
}
_MIXED_DTYPES = ("int32", "uint8", "float32", "complex64")


def _host_key(name: str) -> Any:
    return _KEYS[name](np.asarray)


def _device_key(case: Case, name: str) -> Any:
    return _KEYS[name](lambda values: px.asarray(np.asarray(values), device=case.device))


@pytest.mark.parametrize("key", _KEYS)
def test_index_read(case: Case, key: str) -> None:
    """``x[key]`` gives what NumPy gives, in an array of its own."""
    for dtype in _MIXED_DTYPES[:: 2 if case.quick else 1]:
        for layout in LAYOUTS:
            host = whole_numbers(case, _SHAPE, dtype, layout)
            same(case, put(case, host, layout)[_device_key(case, key)], host[_host_key(key)])


@pytest.mark.parametrize("key", _KEYS)
def test_index_write(case: Case, key: str) -> None:
    """``x[key] = value`` writes the chosen places and no others: a number, an array, a row."""
    for dtype in _MIXED_DTYPES[:: 2 if case.quick else 1]:
        for layout in LAYOUTS:
            host = whole_numbers(case, _SHAPE, dtype, layout)
            shape = host[_host_key(key)].shape
            values = whole_numbers(case, shape, dtype, "values")
            for value in (7, values, values[:1], values[..., :1] if shape else values):
                want = host.copy()
                placed = place(case.device, host, dtype, layout)
                want[_host_key(key)] = value
                given = put(case, value) if isinstance(value, np.ndarray) else value
                placed.array[_device_key(case, key)] = given
                same(case, placed.array, want, f"{layout} {dtype}")
                assert placed.outside_intact(), f"memory around {layout} {dtype} changed"


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "int32", "int64", "float32"])
def test_dtypes_of_elements(case: Case, dtype: str) -> None:
    """Gathers and scatters move whole elements of every size."""
    limits = np.iinfo(dtype) if "int" in dtype else None
    rng = case.rng(dtype)
    if limits is not None:
        host: HostArray = rng.integers(limits.min, limits.max, 500, np.dtype(dtype), endpoint=True)
    else:
        host = whole_numbers(case, (500,), dtype)
    index = rng.permutation(500)
    same(case, put(case, host)[px.asarray(index)], host[index], "gather")
    x = px.zeros(500, dtype=px.asarray(host).dtype)
    x[px.asarray(index)] = put(case, host)
    want = np.zeros_like(host)
    want[index] = host
    same(case, x, want, "scatter")
    mask = rng.random(500) < 0.5
    same(case, put(case, host)[px.asarray(mask)], host[mask], "mask")


@pytest.mark.parametrize("count", [1, 7, 255, 256, 257, 3000])
def test_mask_lengths(case: Case, count: int) -> None:
    """A mask keeps the order and every chosen element, the last ones too."""
    host = np.arange(count, dtype=np.int32)
    for share in (0.1, 0.5, 1.0):
        mask = case.rng(count, share).random(count) < share
        mask[-1] = True
        same(case, put(case, host)[px.asarray(mask)], host[mask], f"a share of {share}")
        x = put(case, host)
        x[px.asarray(mask)] = -1
        same(case, x, np.where(mask, np.int32(-1), host), f"a write to a share of {share}")


@pytest.mark.parametrize("count", [3, 100, 5000])
def test_last_of_equal_places_wins(case: Case, count: int) -> None:
    """Of the values for one place, the last one in the order of C stays."""
    rng = case.rng(count)
    places = rng.integers(-7, 7, count)
    values = np.arange(1, count + 1, dtype=np.int32)
    want = np.zeros(7, np.int32)
    for at, value in zip(places.tolist(), values.tolist(), strict=True):
        want[at] = value
    x = px.zeros(7, dtype=px.int32)
    x[px.asarray(places)] = put(case, values)
    same(case, x, want, "elements")
    rows = px.zeros((7, 3), dtype=px.float32)
    rows[px.asarray(places)] = put(case, np.stack([values] * 3, axis=1).astype(np.float32))
    same(case, rows, np.stack([want] * 3, axis=1).astype(np.float32), "rows")
    pairs = px.zeros((2, 7), dtype=px.int32)
    pairs[px.asarray(places % 2), px.asarray(places)] = put(case, values)
    wanted = np.zeros((2, 7), np.int32)
    for at, value in zip(places.tolist(), values.tolist(), strict=True):
        wanted[at % 2, at] = value
    same(case, pairs, wanted, "pairs")


@pytest.mark.parametrize("how", ["array", "pair", "middle", "integer", "mask", "take"])
def test_out_of_range(case: Case, how: str) -> None:
    """An index that no element has is an ``IndexError``, and a refused write changes nothing."""
    host = whole_numbers(case, (4, 5), "int32")
    x = put(case, host)
    good = px.asarray(np.asarray([0, 1]))
    for bad in (4, -5, 2**31, -(2**63)) if how != "middle" else (5, -6, 2**32, 2**63 - 1):
        wrong = px.asarray(np.asarray([1, bad]))
        keys: dict[str, Any] = {
            "array": wrong,
            "pair": (wrong, good),
            "middle": (_ALL, wrong),
            "integer": bad,
            "mask": px.asarray(np.ones(3, np.bool_)),
            "take": None,
        }
        if how == "take":
            with pytest.raises(IndexError):
                px.asnumpy(px.take(x, wrong, axis=0))
            continue
        with pytest.raises(IndexError):
            px.asnumpy(x[keys[how]])
        with pytest.raises(IndexError):
            _write(case, x, keys[how], 9)
        same(case, x, host, f"the array after a refused write at {bad}")


def _write(case: Case, x: px.Array, key: Any, value: int) -> None:
    """Write and wait: an asynchronous device may refuse no earlier than that."""
    x[key] = value
    case.device.synchronize()


def test_nothing_of_an_empty_axis(case: Case) -> None:
    """An axis without elements takes no index, but every empty key."""
    x = px.zeros((3, 0), dtype=px.int32)
    none = px.asarray(np.zeros((0,), np.int64))
    same(case, x[:, none], np.zeros((3, 0), np.int32))
    same(case, x[x > 0], np.zeros((0,), np.int32))
    with pytest.raises(IndexError):
        px.asnumpy(x[:, px.asarray(np.asarray([0]))])


def test_index_is_read_at_once(case: Case) -> None:
    """An index array or a value that changes after the call changes nothing any more."""
    host = whole_numbers(case, (50,), "int32")
    index = np.arange(49, -1, -1)
    key, value, x = px.asarray(index), put(case, host), px.zeros(50, dtype=px.int32)
    found = value[key]
    x[key] = value
    key[...] = 0
    value[...] = 0
    same(case, found, host[index], "gather")
    same(case, x, host[index], "scatter")


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_random_slices(case: Case, dtype: str) -> None:
    """Random chains of basic keys give what NumPy gives."""
    for number in range(20 if case.quick else 200):
        rng = case.rng(dtype, number)
        host = np.arange(3 * 7 * 5, dtype=dtype).reshape(3, 7, 5)
        x = put(case, host, LAYOUTS[number % len(LAYOUTS)])
        for _ in range(3):
            key = tuple(_random_slice(rng, extent) for extent in host.shape)
            host, x = host[key], x[key]
            same(case, x, host, f"key {key}")


def _random_slice(rng: np.random.Generator, extent: int) -> slice:
    ends = [None if rng.random() < 0.3 else int(v) for v in rng.integers(-9, 10, 2)]
    step = int(rng.choice([-3, -2, -1, 1, 2, 3]))
    return slice(ends[0], ends[1], step)
