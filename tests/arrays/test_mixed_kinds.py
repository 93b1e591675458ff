"""Arrays of different kinds, and the rules of promotion that a program chooses."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from numpy_check import dtype
from phalanx.arrays.promotion import KINDS, MIXED, PAIRS
from phalanx.optable import ALL, DTYPES

RANK = {name: KINDS[DTYPES[name].kind] for name in ALL}


@pytest.mark.parametrize("pair", list(itertools.product(ALL, ALL)), ids="-".join)
def test_the_later_kind_wins(fake: px.Device, pair: tuple[str, str]) -> None:
    """PyTorch's rule: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc."""
    a, b = pair
    if (a, b) in PAIRS:
        want = PAIRS[a, b]
    elif RANK[a] != RANK[b]:
        want = max(a, b, key=RANK.__getitem__)
    else:
        with pytest.raises(TypeError, match="no integer holds both"):
            px.result_type(dtype(a), dtype(b))
        return
    assert px.result_type(dtype(a), dtype(b)) is dtype(want)
    x, y = px.ones(2, dtype=dtype(a)), px.ones(2, dtype=dtype(b))
    assert px.equal(x, y).tolist() == [True, True]
    assert px.concat([x, y]).dtype is dtype(want)
    if want != "bool":
        total = x + y
        assert total.dtype is dtype(want)
        assert px.asnumpy(px.astype(total, px.complex64)).tolist() == [2.0, 2.0]
    assert ((a, b) in MIXED) == ((a, b) not in PAIRS)


@pytest.mark.parametrize(
    ("name", "number", "want", "values"),
    [
        ("bool", 2, "int64", [0, 2]),
        ("bool", 0.5, "float64", [0.0, 0.5]),
        ("bool", 1j, "complex128", [0, 1j]),
        ("int8", True, "int8", [0, 1]),
        ("float32", True, "float32", [0.0, 1.0]),
        ("complex64", True, "complex64", [0.0, 1.0]),
        ("int64", 1j, "complex128", [0, 1j]),
        ("uint8", 2j, "complex128", [0, 2j]),
    ],
)
def test_with_a_number(
    device: px.Device, name: str, number: Any, want: str, values: list[Any]
) -> None:
    x = px.asarray([0, 1], dtype=px.int8).astype(dtype(name))
    for result in (x * number, number * x, px.multiply(x, number)):
        assert result.dtype is dtype(want)
        assert result.tolist() == values
    assert px.result_type(x, number) is dtype(want)
    assert (x == number).dtype is px.bool


def test_functions_of_the_namespace(device: px.Device) -> None:
    i, f = px.asarray([1, 2, 3]), px.asarray([0.5, 2.0, 4.0], dtype=px.float32)
    assert px.where(i > 1, i, f).tolist() == [0.5, 2.0, 3.0]
    assert px.where(i > 1, i, f).dtype is px.float32
    assert px.stack([i, f]).dtype is px.float32
    assert (i @ f).tolist() == 16.5
    assert px.isin(i, f).tolist() == [False, True, False]
    assert px.searchsorted(f, i).tolist() == [1, 1, 2]
    assert px.maximum(i, f).tolist() == [1.0, 2.0, 4.0]
    assert px.clip(f, i, 3).tolist() == [1.0, 2.0, 3.0]
    assert ((i > 1) * f).tolist() == [0.0, 2.0, 4.0]


def test_in_place_takes_wider_operands_of_the_kind(device: px.Device) -> None:
    i = px.asarray([1, 2, 100], dtype=px.int8)
    i += px.asarray([1, 300, 100])
    assert i.dtype is px.int8
    assert i.tolist() == np.asarray([2, 302, 200]).astype(np.int8).tolist()
    f = px.ones(2, dtype=px.float32)
    f *= px.asarray([0.1, 2.0])
    assert px.asnumpy(f).tolist() == [np.float32(0.1), 2.0]
    for kind, other in ((px.uint8, px.int64), (px.int32, px.float32)):
        x = px.ones(2, dtype=kind)
        with pytest.raises(TypeError, match="in place"):
            x += px.ones(2, dtype=other)
    with px.promotion("standard"), pytest.raises(TypeError, match="in place"):
        i += px.asarray([1, 2, 3])


def test_sums_and_products_of_truths(device: px.Device) -> None:
    a, b = px.asarray([True, True, False]), px.asarray([True, False, False])
    assert (a + b).tolist() == [True, True, False]
    assert (a * b).tolist() == [True, False, False]
    with pytest.raises(TypeError, match="subtract is not defined for bool"):
        a - b
    with px.promotion("standard"), pytest.raises(TypeError, match="add is not defined for bool"):
        a + b


def test_in_place_keeps_the_kind(device: px.Device) -> None:
    f = px.ones(2, dtype=px.float32)
    f += px.asarray([1, 2])
    f *= px.asarray([True, False])
    assert f.tolist() == [2.0, 0.0]
    i = px.asarray([1, 2])
    for other in (px.ones(2), px.asarray([1j, 2j])):
        with pytest.raises(TypeError, match="in place"):
            i += other
    assert i.tolist() == [1, 2]


def test_can_cast_is_the_standards() -> None:
    assert not px.can_cast(px.int32, px.float64)
    assert px.can_cast(px.int32, px.int64)


class TestSetting:
    def test_returns_and_ends(self) -> None:
        assert px.promotion() == "mixed"
        with px.promotion("standard"):
            assert px.promotion() == "standard"
            with px.promotion("mixed"):
                assert px.result_type(px.int8, px.float32) is px.float32
            with pytest.raises(TypeError, match=r'phalanx.promotion\("mixed"\)'):
                px.result_type(px.int8, px.float32)
        assert px.promotion() == "mixed"

    def test_belongs_to_its_thread(self, fake: px.Device) -> None:
        x, y = px.ones(2, dtype=px.float32), px.asarray([1, 2])
        inside, done = threading.Event(), threading.Event()
        failed: list[str] = []

        def strict() -> None:
            with px.promotion("standard"):
                inside.set()
                done.wait(30)
                try:
                    x + y
                except TypeError:
                    return
                failed.append("mixed")

        thread = threading.Thread(target=strict)
        thread.start()
        inside.wait(30)
        assert (x + y).dtype is px.float32
        done.set()
        thread.join()
        assert not failed

    def test_refuses_others(self) -> None:
        with pytest.raises(ValueError, match='"mixed" or "standard"'):
            px.promotion("numpy")  # type: ignore[call-overload]
        assert px.promotion() == "mixed"


CUT: list[tuple[str, Callable[[], object], str]] = [
    ("list", lambda: px.asarray([1.5], dtype=px.int32), "1.5 is no integer"),
    ("NaN", lambda: px.asarray([1.0, float("nan")], dtype=px.int32), "nan is no integer"),
    ("infinity", lambda: px.asarray([float("inf")], dtype=px.int8), "inf is no integer"),
    ("NumPy", lambda: px.asarray(np.array([2.5], np.float16), dtype="uint8"), "2.5 is no integer"),
    ("number", lambda: px.asarray(1.5, dtype=px.int32), "float 1.5 does not go into int32"),
    (
        "array",
        lambda: px.asarray(px.asarray([1.5]), dtype=px.int32),
        "not go into int32, fractions",
    ),
    (
        "array's NaN",
        lambda: px.asarray(px.asarray([px.nan]), dtype=px.int8),
        "does not go into int8",
    ),
    (
        "end of int64",
        lambda: px.asarray(px.asarray([2.0**63]), dtype=px.int64),
        "does not go into int64",
    ),
    (
        "half's infinity",
        lambda: px.asarray(px.asarray([px.inf], dtype=px.float16), dtype=px.int32),
        "does not go into int32",
    ),
    ("array's i", lambda: px.asarray(px.asarray([1j]), dtype=px.float64), "not go into float64"),
    ("full", lambda: px.full(2, 0.5, dtype=px.int8), "float 0.5 does not go into int8"),
    ("full_like", lambda: px.full_like(px.arange(2), 0.5), "float 0.5 does not go into int64"),
    ("complex", lambda: px.full(2, 1j, dtype=px.float32), "complex number 1j"),
    ("clip", lambda: px.clip(px.arange(3), px.asarray([0.5])), "does not go into int64"),
]


@pytest.mark.parametrize("case", CUT, ids=lambda case: case[0])
def test_nothing_is_cut_in_silence(
    fake: px.Device, case: tuple[str, Callable[[], object], str]
) -> None:
    with pytest.raises(TypeError, match=case[2]):
        case[1]()


@pytest.mark.parametrize(
    "data", [[300], [-1], np.array([300]), np.array([-1], np.int8), [256.0], np.array([1e300])]
)
def test_integers_out_of_range_are_refused(fake: px.Device, data: Any) -> None:
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        px.asarray(data, dtype=px.uint8)


def test_what_is_kept_is_taken(device: px.Device) -> None:
    assert px.asarray([1.0, -2.0], dtype=px.int8).tolist() == [1, -2]
    assert px.full(2, 3.0, dtype=px.int32).tolist() == [3, 3]
    assert px.asarray(np.array([0.0, 255.0]), dtype=px.uint8).tolist() == [0, 255]
    assert px.asarray([0.0, 2.0], dtype=px.bool).tolist() == [False, True]
    values = px.asarray([0.0, 2.0, 120.0], dtype=px.float16)
    assert px.asarray(values, dtype=px.int8).tolist() == [0, 2, 120]
    assert px.asarray(values, dtype=px.bool).tolist() == [False, True, True]
    assert px.asarray(px.asarray([-(2.0**31)]), dtype=px.int32).tolist() == [-(2**31)]


KEYS: list[Any] = [0, slice(1, 3), ..., [0, 2], px.int64]


@pytest.mark.parametrize(
    "kinds", [("float32", "int64"), ("complex64", "float32"), ("int8", "bool")]
)
@pytest.mark.parametrize("key", range(5))
def test_assignment_keeps_the_kind(device: px.Device, kinds: tuple[str, str], key: int) -> None:
    later, earlier = kinds
    x = px.zeros(4, dtype=dtype(earlier))
    where = px.asarray([0, 2]) if key == 4 else KEYS[key]
    value = px.ones((), dtype=dtype(later))
    with pytest.raises(TypeError, match=f"of {later} does not go into {earlier}"):
        x[where] = value
    with pytest.raises(TypeError, match=f"of {later} does not go into {earlier}"):
        x[px.ones(4, dtype=px.bool)] = value
    assert not px.any(x)
    y = px.zeros(4, dtype=dtype(later))
    y[where] = px.ones((), dtype=dtype(earlier))
    assert px.any(y)
