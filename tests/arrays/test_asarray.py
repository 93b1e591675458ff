"""asarray from everything: Python objects, NumPy in any order, buffers, arrays, and mistakes."""

from __future__ import annotations

import array
import decimal
import math
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.conformance.reference.values import HostArray, special_values, wild_values
from phalanx.optable import ALL, FLOATING, INTEGER, NUMERIC


@pytest.mark.parametrize(
    ("obj", "dtype", "want"),
    [
        ([1, 2, 3], "int64", [1, 2, 3]),
        ([[1, 2], [3, 4]], "int64", [[1, 2], [3, 4]]),
        ((1, 2.5), "float64", [1.0, 2.5]),
        ([True, False], "bool", [True, False]),
        ([True, 2], "int64", [1, 2]),
        ([1, 2.5, 1j], "complex128", [1, 2.5, 1j]),
        ([], "float64", []),
        ([[], []], "float64", [[], []]),
        (5, "int64", 5),
        (True, "bool", True),
        (2.5, "float64", 2.5),
        (1j, "complex128", 1j),
        (range(3), "int64", [0, 1, 2]),
        (bytearray(b"abc"), "uint8", [97, 98, 99]),
        (memoryview(b"abc"), "uint8", [97, 98, 99]),
        (array.array("f", [1, 2]), "float32", [1.0, 2.0]),
        (array.array("q", [-1]), "int64", [-1]),
        (np.float32(1.5), "float32", 1.5),
        (np.bool_(True), "bool", True),
        ([np.int8(1), np.int8(2)], "int8", [1, 2]),
    ],
)
def test_python_objects(obj: object, dtype: str, want: object, device: px.Device) -> None:
    x = px.asarray(obj)
    assert x.dtype.name == dtype
    assert x.tolist() == want
    assert x.device is device
    assert x.is_contiguous


def test_arrays_in_sequences(device: px.Device) -> None:
    assert px.asarray([px.asarray(1), px.asarray(2)]).tolist() == [1, 2]
    assert px.asarray([px.asarray([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ALL)
def test_numpy_in_any_order(name: str, device: px.Device) -> None:
    values = np.concatenate([special_values(name), wild_values(name, 24, generator(name))])
    cube = values[: len(values) // 8 * 8].reshape(2, -1, 4)
    strange = cube[::-1, 1::2, ::-2]
    for host in (cube, cube.T, strange, np.asfortranarray(cube), cube[0, 0, 0], cube[:0]):
        x = px.asarray(host)
        assert_same(x, np.asarray(host), f"{name} {host.strides}")
        assert x.dtype.name == name
    if name not in ("bool", "bfloat16"):
        assert_same(px.asarray(cube.astype(cube.dtype.newbyteorder())), cube, "swapped bytes")


def test_host_data_are_copied(device: px.Device) -> None:
    host = np.arange(4.0)
    x = px.asarray(host)
    host[0] = 9
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]
    data = bytearray(b"ab")
    y = px.asarray(data)
    data[0] = 0
    assert y.tolist() == [97, 98]


def test_without_copy(device: px.Device) -> None:
    x = px.asarray([1.0, 2.0])
    assert px.asarray(x) is x
    assert px.asarray(x, copy=False) is x
    assert px.asarray(x, dtype=px.float64, device=device) is x
    y = px.asarray(x, copy=True)
    y += 1
    assert x.tolist() == [1.0, 2.0]
    host = np.arange(6, dtype=np.int16).reshape(2, 3)
    if not device.host_addressable:
        with pytest.raises(ValueError, match=f"cannot be shared between the host and {device}"):
            px.asarray(host, copy=False)
        return
    for source in (host, host.T, host[:, ::-2]):
        z = px.asarray(source, copy=False)
        assert_same(z, np.ascontiguousarray(source))
        z += 1
        assert_same(z, np.ascontiguousarray(source), "written through")
    host.setflags(write=False)
    frozen = px.asarray(host, copy=False)
    with pytest.raises(ValueError, match="read-only"):
        frozen += 1
    with pytest.raises(ValueError, match="read-only"):
        frozen[0, 0] = 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: px.asarray([1, 2], copy=False),
        lambda: px.asarray(1, copy=False),
        lambda: px.asarray(px.ones(2), dtype=px.float32, copy=False),
        lambda: px.asarray(np.ones(2), dtype=px.float32, copy=False),
    ],
)
def test_copy_that_is_forbidden_and_needed(make: Callable[[], object], device: px.Device) -> None:
    with pytest.raises(ValueError, match="copy"):
        make()


@pytest.mark.parametrize("name", NUMERIC)
def test_into_another_dtype(name: str, device: px.Device) -> None:
    """From lists, NumPy and arrays; what an integer dtype would cut is refused."""
    assert px.asarray([1, 0, 3], dtype=name).tolist() == [1, 0, 3]
    assert px.asarray(3, dtype=name).item() == 3
    assert px.asarray(np.array([1, 0, 3], np.int8), dtype=name).dtype.name == name
    values = np.array([0.0, 2.9, -2.9, 1e30, -1e30, np.inf, -np.inf, np.nan])
    if name in INTEGER:
        for value in values[1:]:
            for source in (np.array([value]), np.array([value], ml_dtypes.bfloat16), [value]):
                with pytest.raises((TypeError, OverflowError), match=f"{name}.*astype"):
                    px.asarray(source, dtype=name)
        whole = np.array([0.0, 3.0, 100.0], ml_dtypes.bfloat16)
        for source in (whole, whole.astype(np.float64), [0.0, 3.0, 100.0]):
            assert px.asarray(source, dtype=name).tolist() == [0, 3, 100]
    if name in FLOATING:
        top = 1e300 if name == "float64" else math.inf
        assert px.asarray([1e300, -1e300], dtype=name).tolist() == [top, -top]


def test_bfloat16_is_rounded_once(device: px.Device) -> None:
    """From wider dtypes of NumPy, next to the ties above all."""
    rng = generator("bfloat16 once")
    normal = (rng.integers(2**7, 2**8, 400) + 0.5) * 2.0 ** rng.integers(-130, 120, 400)
    ties = np.concatenate([normal, (np.arange(2.0**7) + 0.5) * 2.0**-133])  # subnormal ones, too
    ties = np.concatenate([ties, [2.0**128 - 2.0**119], -ties])  # halfway to infinity
    near = [np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)]
    special = [0.0, -0.0, 1e-300, -1e-300, 1e300, -1e300, np.inf, -np.inf, np.nan]
    _same_bfloat16(np.concatenate([ties, *near, special]), device)
    for name in ("int32", "uint32", "int64", "uint64"):
        limits = np.iinfo(name)
        shifts = rng.integers(0, limits.bits - 9, 200, dtype=np.uint64)
        whole = (rng.integers(2**8, 2**9, 200, dtype=np.uint64) << shifts).astype(name)
        ends = np.array([limits.min, limits.max], name)
        beside = np.concatenate([whole, whole + 1, whole - 1, ends])
        _same_bfloat16(beside, device)
        _same_bfloat16(~beside, device)
    one = px.asarray(np.float64(1 + 2**-8 + 2**-40), dtype=px.bfloat16)
    assert one.item() == 1 + 2**-7
    assert px.asarray(np.array(2**40 + 2**32 + 1), dtype=px.bfloat16).item() == 2**40 + 2**33
    assert px.asarray(np.ones((2, 3))[:, ::2], dtype=px.bfloat16).tolist() == [[1.0, 1.0]] * 2
    assert px.asarray(np.zeros((0, 2)), dtype=px.bfloat16).shape == (0, 2)


def _same_bfloat16(host: HostArray, device: px.Device) -> None:
    want = np.array([_bfloat16(v) for v in host.tolist()]).astype(np.float32)  # exact
    got = px.asarray(host, dtype=px.bfloat16, device=device)
    assert_same(got, want.astype(ml_dtypes.bfloat16), host.dtype.name)


def _bfloat16(value: float) -> float:
    """The nearest number of 8 bits, ties to even, in exact arithmetic."""
    if not math.isfinite(value) or value == 0:
        return value
    scale = Fraction(2) ** (max(math.frexp(value)[1] - 1, -126) - 7)
    rounded = round(Fraction(value) / scale) * scale
    return math.copysign(math.inf if abs(rounded) >= 2**128 else float(abs(rounded)), value)


def test_integers_out_of_range(device: px.Device) -> None:
    cases = [(300, "int8"), (-1, "uint8"), (2**63, "int64"), (2**64, "uint64")]
    for value, name in (*cases, (-(2**31) - 1, "int32")):
        for obj in (value, [value], [[0, value]]):
            with pytest.raises(OverflowError):
                px.asarray(obj, dtype=name)
        with pytest.raises(OverflowError, match=name):
            px.full((2,), value, dtype=name)
    for obj in (2**63, [2**63], [0, 2**63], 10**30, [[10**30]]):
        with pytest.raises(OverflowError):
            px.asarray(obj)
    assert px.asarray([2**64 - 1], dtype=px.uint64).tolist() == [2**64 - 1]
    assert px.asarray([2**63 - 1, -(2**63)]).tolist() == [2**63 - 1, -(2**63)]
    assert px.asarray([0, 2**63 + 1], dtype=px.uint64).tolist() == [0, 2**63 + 1]
    assert px.asarray([10**30], dtype=px.float64).tolist() == [1e30]
    assert px.asarray([10**30, 0.5], dtype=px.float32).tolist() == [float(np.float32(1e30)), 0.5]
    assert px.asarray([np.uint64(2**63)]).dtype is px.uint64


@pytest.mark.parametrize("source", INTEGER)
def test_integers_of_an_array_out_of_range(source: str, device: px.Device) -> None:
    """What the dtype holds stays, and the rest is refused, also in a sequence of arrays."""
    own = np.iinfo(source)
    for name in INTEGER:
        limits = np.iinfo(name)
        low, high = max(own.min, limits.min), min(own.max, limits.max)
        fits = px.asarray([low, high, 1], dtype=source)
        assert px.asarray(fits, dtype=name).tolist() == [low, high, 1]
        assert px.asarray([fits[0], 1], dtype=name).tolist() == [low, 1]
        assert px.asarray(fits[:0], dtype=name).shape == (0,)
        outside = {low - 1, high + 1, own.min, own.max} - {low, high}
        for value in (v for v in outside if own.min <= v <= own.max):
            x = px.asarray([1, value], dtype=source)
            for obj in (x, [x[1], 1]):
                with pytest.raises(OverflowError, match=f"out of bounds for {name}.*astype"):
                    px.asarray(obj, dtype=name)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: px.asarray([[1, 2], [3]]), ValueError, "asarray: the sequence is ragged"),
        (lambda: px.asarray("abc"), TypeError, "asarray takes numbers, got the text 'abc'"),
        (lambda: px.asarray(["a"]), TypeError, "asarray takes numbers, got the text 'a'"),
        (lambda: px.asarray(b"abc"), TypeError, "asarray takes numbers, got bytes"),
        (lambda: px.asarray(None), TypeError, "asarray takes numbers, got None"),
        (lambda: px.asarray([None]), TypeError, "asarray takes numbers"),
        (lambda: px.asarray({1: 2}), TypeError, "asarray takes numbers, got dict"),
        (lambda: px.asarray(decimal.Decimal(1)), TypeError, "asarray takes numbers, got Decimal"),
        (lambda: px.asarray(np.array(["2020"], "M8[Y]")), TypeError, "datetime64"),
        (lambda: px.asarray(np.zeros(2, [("a", int)])), TypeError, "asarray takes numbers"),
        (lambda: px.asarray(np.longdouble(1)), TypeError, r"(float128|longdouble).*'float64'"),
        (lambda: px.asarray(1j, dtype=px.float32), TypeError, "complex number 1j does not go into"),
        (lambda: px.asarray([1j], dtype=px.float32), TypeError, "drops the imaginary part"),
        (lambda: px.asarray(np.array([1j]), dtype=px.int8), TypeError, "drops the imaginary part"),
        (lambda: px.asarray(px.asarray([1j]), dtype=px.int8), TypeError, "lose imaginary parts"),
        (
            lambda: px.asarray(math.nan, dtype=px.int32),
            TypeError,
            "float nan does not go into int32",
        ),
        (
            lambda: px.asarray([1], dtype="float31"),
            TypeError,
            r"unknown dtype 'float31'; did you mean 'float\d+'\? The",
        ),
        (lambda: px.asarray([1], dtype=[np.float32]), TypeError, "dtype takes a phalanx dtype"),
        (lambda: px.asarray([1], device="nowhere:0"), px.DeviceNotFoundError, "'nowhere:0'"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with pytest.raises(error, match=message):
        make()


def test_between_devices(drivers: object) -> None:
    x = px.asarray([1, 2, 3], device="fake:0")
    y = px.asarray(x, device="fakestream:0")
    assert str(y.device) == "fakestream:0"
    assert y.tolist() == [1, 2, 3]
    z = px.asarray(px.flip(x), dtype=px.float32, device="fakehost:0")
    assert z.tolist() == [3.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="copy=False"):
        px.asarray(x, device="fake:1", copy=False)


@pytest.mark.parametrize("name", ALL)
def test_there_and_back(name: str, device: px.Device) -> None:
    host = np.concatenate([special_values(name), wild_values(name, 12, generator("back", name))])
    assert_same(px.asarray(host), host)
    table = host[-12:].reshape(3, 4)
    for layout, make in LAYOUTS.items():
        assert_same(make(table, device), table, layout)
    for value in host[:6]:
        got = px.asarray(np.asarray(value)).item()
        wide = float(value) if name == "bfloat16" else value.item()
        assert got == wide or got != got
