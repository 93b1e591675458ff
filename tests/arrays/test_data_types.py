"""Promotion, casting rules, limits and kinds against the standard's text and NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import ml_dtypes
import numpy as np
import phalanx as px
import pytest
from array_kit import LAYOUTS, assert_same, generator
from phalanx.arrays.promotion import PAIRS
from phalanx.conformance.reference.conversion import cast as reference_cast
from phalanx.conformance.reference.formats import host_dtype
from phalanx.conformance.reference.values import special_values, wild_values
from phalanx.optable import ALL, COMPLEX, FLOATING, INTEGER, SIGNED, UNSIGNED, kind_of

NAMES = {name: getattr(px, name) for name in ALL}


def test_dtypes_are_single_objects() -> None:
    for name, dtype in NAMES.items():
        assert dtype.name == name
        assert str(dtype) == name
        assert repr(dtype) == f"phalanx.{name}"
        assert dtype.itemsize == host_dtype(name).itemsize
        assert dtype.kind == kind_of(name)
        assert px.result_type(name) is dtype
        assert dtype == dtype
        assert len({dtype, NAMES[name]}) == 1
    assert px.float32 != px.float64


def test_dtypes_travel_by_pickle() -> None:
    import copy
    import pickle

    for dtype in NAMES.values():
        assert pickle.loads(pickle.dumps(dtype)) is dtype
        assert copy.deepcopy(dtype) is dtype


def test_promotion_is_symmetric_and_associative() -> None:
    """Three dtypes give the same result in any order wherever all pairs are defined."""
    for a, b in itertools.product(ALL, repeat=2):
        assert PAIRS.get((a, b)) == PAIRS.get((b, a))
    for a, b, c in itertools.product(
        [n for n in ALL if n not in ("float16", "bfloat16")], repeat=3
    ):
        left, right = PAIRS.get((a, b)), PAIRS.get((b, c))
        if left and right and (left, c) in PAIRS and (a, right) in PAIRS:
            assert PAIRS[left, c] == PAIRS[a, right], (a, b, c)


def test_promotion_is_numpys_where_the_standard_defines_it() -> None:
    for a, b in itertools.product(ALL, repeat=2):
        kinds = {kind_of(a), kind_of(b)}
        defined = kinds <= {"i", "u"} or kinds <= {"f", "c"} or kinds == {"b"}
        defined = defined and not ("uint64" in (a, b) and kinds == {"i", "u"})
        assert ((a, b) in PAIRS) == defined, (a, b)
        if not defined:
            with (
                px.promotion("standard"),
                pytest.raises(TypeError, match=f"{a} and {b} have no common dtype"),
            ):
                px.result_type(NAMES[a], NAMES[b])
            continue
        assert px.result_type(NAMES[a], NAMES[b]).name == PAIRS[a, b]
        if "bfloat16" not in (a, b):
            assert PAIRS[a, b] == np.promote_types(a, b).name, (a, b)
    assert PAIRS["float16", "bfloat16"] == "float32"
    assert PAIRS["bfloat16", "complex64"] == "complex64"


def test_result_type_of_mixtures(device: px.Device) -> None:
    assert px.result_type(px.ones(2, dtype=px.int8), px.uint8, 3) is px.int16
    assert px.result_type("int8", "int16") is px.int16
    assert px.result_type(px.int8, 1.5) is px.float64
    assert px.result_type(px.float16, 1.5) is px.float16
    assert px.result_type(px.bfloat16, 1j) is px.complex64
    assert px.result_type(px.float64, 1j) is px.complex128
    assert px.result_type(1, 2) is px.int64
    assert px.result_type(1, 2.5) is px.float64
    assert px.result_type(1, 2.5, 1j) is px.complex128
    assert px.result_type(True) is px.bool
    assert px.result_type(px.float32, px.float64, px.float16) is px.float64


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: px.result_type(), ValueError, "needs at least one array, dtype or number"),
        (lambda: px.result_type(px.bool, 1), TypeError, "bool does not mix with a Python int"),
        (
            lambda: px.result_type(px.int64, True),
            TypeError,
            "int64 does not mix with a Python bool",
        ),
        (
            lambda: px.result_type(px.int64, 1j),
            TypeError,
            "int64 does not mix with a Python complex",
        ),
        (
            lambda: px.result_type(px.float32, [1]),
            TypeError,
            "takes arrays, dtypes and numbers, got list",
        ),
        (
            lambda: px.result_type("float31"),
            TypeError,
            r"unknown dtype 'float31'; did you mean 'float\d+'\? The dtypes are bool, int8",
        ),
        (
            lambda: px.finfo(px.int8),
            TypeError,
            "finfo takes a floating dtype, got int8; for integers use iinfo",
        ),
        (
            lambda: px.iinfo(px.float32),
            TypeError,
            "iinfo takes an integer dtype, got float32; for floats use finfo",
        ),
        (
            lambda: px.isdtype(px.int8, "foo"),
            ValueError,
            "unknown kind 'foo'; the kinds are 'bool'",
        ),
        (lambda: px.astype([1], px.int8), TypeError, "astype takes a phalanx array, got list"),
        (lambda: px.astype(px.ones(1), None), TypeError, "astype takes a dtype such as"),
        (lambda: px.astype(px.ones(1), "int31"), TypeError, "unknown dtype 'int31'"),
        (lambda: px.astype(px.asarray([1j]), px.float64), TypeError, r"use phalanx\.real\(x\)"),
        (lambda: px.astype(px.asarray([1j]), px.int8), TypeError, "drops the imaginary part"),
    ],
)
def test_errors(
    make: Callable[[], object], error: type[Exception], message: str, device: px.Device
) -> None:
    with px.promotion("standard"), pytest.raises(error, match=message):
        make()


def test_can_cast_is_promotion(device: px.Device) -> None:
    for a, b in itertools.product(ALL, repeat=2):
        want = PAIRS.get((a, b)) == b
        assert px.can_cast(NAMES[a], NAMES[b]) is want, (a, b)
        assert px.can_cast(a, b) is want
    assert px.can_cast(px.ones(1, dtype=px.int8), px.int16)
    assert not px.can_cast(px.float64, px.float32)


@pytest.mark.parametrize("name", FLOATING + COMPLEX)
def test_finfo(name: str, device: px.Device) -> None:
    part = {"complex64": "float32", "complex128": "float64"}.get(name, name)
    want = (ml_dtypes if part == "bfloat16" else np).finfo(host_dtype(part))
    got = px.finfo(NAMES[name])
    assert got.bits == want.bits
    assert got.dtype.name == part
    for field in ("eps", "max", "min", "smallest_normal"):
        assert getattr(got, field) == float(getattr(want, field)), field
        assert isinstance(getattr(got, field), float)
    assert px.finfo(px.ones(1, dtype=name)) == got


@pytest.mark.parametrize("name", INTEGER)
def test_iinfo(name: str, device: px.Device) -> None:
    want, got = np.iinfo(name), px.iinfo(NAMES[name])
    assert (got.bits, got.min, got.max, got.dtype.name) == (want.bits, want.min, want.max, name)
    assert px.iinfo(px.ones(1, dtype=name)) == got


def test_isdtype() -> None:
    kinds = {
        "bool": ("bool",),
        "signed integer": SIGNED,
        "unsigned integer": UNSIGNED,
        "integral": INTEGER,
        "real floating": FLOATING,
        "complex floating": COMPLEX,
        "numeric": INTEGER + FLOATING + COMPLEX,
    }
    for (kind, members), name in itertools.product(kinds.items(), ALL):
        assert px.isdtype(NAMES[name], kind) is (name in members), (name, kind)
        assert px.isdtype(name, kind) is (name in members)
    assert px.isdtype(px.int8, ("bool", "integral"))
    assert px.isdtype(px.int8, (px.float32, px.int8))
    assert not px.isdtype(px.int8, ())
    assert px.isdtype(px.int8, px.int8)
    assert not px.isdtype(px.int8, px.uint8)


@pytest.mark.needs_cpu
@pytest.mark.parametrize("name", ALL)
def test_astype_from_every_layout(name: str, cpu: px.Device) -> None:
    x = np.concatenate([special_values(name), wild_values(name, 60, generator("cast", name))])
    x = x[: len(x) // 6 * 6].reshape(2, 3, -1)
    for to in ALL:
        if name in COMPLEX and to not in (*COMPLEX, "bool"):
            continue
        with np.errstate(all="ignore"):
            want = reference_cast(x.ravel(), to).reshape(x.shape) if to != name else x
        for layout, make in LAYOUTS.items():
            assert_same(px.astype(make(x, cpu), NAMES[to]), want, f"{name} to {to}, {layout}")


def test_astype_copies(device: px.Device) -> None:
    x = px.asarray([1, 2])
    assert px.astype(x, px.int64, copy=False) is x
    y = px.astype(x, px.int64)
    y += 1
    assert x.tolist() == [1, 2]
    assert px.astype(x, px.float32, copy=False).dtype is px.float32
    assert px.astype(x, "int8").dtype is px.int8
    assert px.astype(px.asarray([0, 2]), px.bool).tolist() == [False, True]
    assert px.astype(px.asarray([1j, 0]), px.bool).tolist() == [True, False]
    assert px.astype(px.asarray([True]), px.complex64).tolist() == [1 + 0j]


def test_astype_moves(drivers: object) -> None:
    x = px.ones((2,), device="fake:0")
    y = px.astype(x, px.int8, device="fakestream:0")
    assert str(y.device) == "fakestream:0"
    assert y.tolist() == [1, 1]
    assert px.astype(x, px.float64, copy=False, device="fake:0") is x
    assert px.astype(x, px.float64, device="fake:1").tolist() == [1.0, 1.0]


def test_namespace_info(device: px.Device) -> None:
    info = px.__array_namespace_info__()
    assert info.default_device() is device
    assert info.default_dtypes()["real floating"] is px.float64
    assert "float16" not in info.dtypes()
    assert set(info.dtypes(kind="complex floating")) == set(COMPLEX)
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", *SIGNED}
    assert info.capabilities()["boolean indexing"] is True
    assert device in info.devices()
    x = px.ones(2)
    assert x.__array_namespace__() is px
    assert x.__array_namespace__(api_version="2025.12") is px
    with pytest.raises(ValueError, match=r"version '1999\.1' is not implemented"):
        x.__array_namespace__(api_version="1999.1")


def test_dtypes_of_a_device_without_fp64(make_driver: Callable[..., object]) -> None:
    make_driver("nofp64", fp64=False)
    info = px.__array_namespace_info__()
    assert set(info.dtypes(device="nofp64:0", kind=("real floating", "complex floating"))) == {
        "float32",
        "complex64",
    }
    with px.device("nofp64:0"):
        assert px.asarray([1.5, 2.5], dtype=px.float32).tolist() == [1.5, 2.5]
        x = px.asarray(np.array([1.5, 2.5]), dtype=px.bfloat16)
        assert (x + x).tolist() == [3.0, 5.0]
