"""Conversions between dtypes, and what the namespace says of their limits and kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    need,
    other_device,
    put,
    same,
    serves,
    whole_numbers,
)
from phalanx.conformance.reference.formats import FORMATS, PARTS, host_dtype
from phalanx.optable import ALL, COMPLEX, FLOATING, INTEGER, kind_of

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "integral": INTEGER,
    "real floating": FLOATING,
    "complex floating": COMPLEX,
    "numeric": (*INTEGER, *FLOATING, *COMPLEX),
}


def _dtype(name: str) -> px.DType:
    found: px.DType = getattr(px, name)
    return found


@pytest.mark.parametrize("source", ALL)
def test_astype(case: Case, source: str) -> None:
    """Whole numbers that both dtypes hold keep their value; complex to real is refused."""
    need(case, source)
    for target in ALL:
        if not serves(case, target):
            continue
        host = np.abs(whole_numbers(case, (7, 9), source, target).real).astype(host_dtype(source))
        for layout in LAYOUTS:
            x = put(case, host, layout)
            if kind_of(source) == "c" and kind_of(target) not in "cb":
                with pytest.raises(TypeError):
                    px.astype(x, _dtype(target))
                continue
            got = px.astype(x, _dtype(target))
            same(case, got, host.astype(host_dtype(target)), f"{source} to {target}")


@pytest.mark.parametrize("dtype", ALL)
def test_astype_copy(case: Case, dtype: str) -> None:
    """To its own dtype an array is copied, or given back with ``copy=False``."""
    host = whole_numbers(case, (6,), dtype)
    x = put(case, host)
    assert px.astype(x, _dtype(dtype), copy=False) is x
    copied = px.astype(x, _dtype(dtype))
    x[...] = put(case, np.zeros(6, host.dtype))
    same(case, copied, host)


def test_astype_to_another_device(case: Case) -> None:
    """``astype(..., device=...)`` converts and moves."""
    other = other_device(case)
    host = whole_numbers(case, (5, 3), "int32")
    moved = px.astype(put(case, host), px.float32, device=other)
    assert moved.device is other
    same(case, moved.to_device(case.device), host.astype(np.float32))


@pytest.mark.parametrize("dtype", INTEGER)
def test_integer_conversions_wrap(case: Case, dtype: str) -> None:
    """Integers become other integers modulo the number of their values; bool is ``!= 0``."""
    limits = np.iinfo(dtype)
    rng = case.rng(dtype)
    host = rng.integers(limits.min, limits.max, 300, np.dtype(dtype), endpoint=True)
    host[:4] = limits.min, limits.max, 0, 1
    for target in (*INTEGER, "bool"):
        got = px.astype(put(case, host), _dtype(target))
        same(case, got, host.astype(target), f"{dtype} to {target}")


@pytest.mark.parametrize("dtype", FLOATING)
def test_float_conversions_truncate(case: Case, dtype: str) -> None:
    """Floats become integers by leaving out their fraction, and true unless they are zero."""
    need(case, dtype)
    host = np.arange(-15, 15, 0.25).astype(host_dtype(dtype))
    for target in ("int8", "int16", "int32", "int64", "bool"):
        want = np.asarray([target_value(v, target) for v in host.astype(np.float64).tolist()])
        got = px.astype(put(case, host), _dtype(target))
        same(case, got, want.astype(target), f"{dtype} to {target}")


def target_value(value: float, target: str) -> int | bool:
    """Return what a float becomes in bool or an integer dtype."""
    return value != 0 if target == "bool" else int(value)


@pytest.mark.parametrize("dtype", ALL)
def test_itemsize(case: Case, dtype: str) -> None:
    """Arrays know the size of their elements and of all of them in bytes."""
    x = px.zeros((3, 5), dtype=_dtype(dtype))
    size = host_dtype(dtype).itemsize
    assert (x.dtype.itemsize, x.nbytes, x.size, x.ndim) == (size, 15 * size, 15, 2)


@pytest.mark.parametrize("dtype", FLOATING + COMPLEX)
def test_finfo(case: Case, dtype: str) -> None:
    """The limits are those of the format (IEEE 754-2019, 3.3), as Python floats."""
    digits, least, greatest = FORMATS[PARTS.get(dtype, dtype)]
    for argument in (_dtype(dtype), px.zeros(1, dtype=_dtype(dtype))):
        found = px.finfo(argument)
        assert found.dtype is _dtype(PARTS.get(dtype, dtype))
        assert found.bits == 8 * host_dtype(PARTS.get(dtype, dtype)).itemsize
        assert found.eps == 2.0 ** (1 - digits)
        assert found.max == (2 - 2.0 ** (1 - digits)) * 2.0**greatest
        assert found.min == -found.max
        assert found.smallest_normal == 2.0**least
        for value in (found.eps, found.max, found.min, found.smallest_normal):
            assert type(value) is float


@pytest.mark.parametrize("dtype", INTEGER)
def test_iinfo(case: Case, dtype: str) -> None:
    """The limits are those of two's complement, as Python ints."""
    want = np.iinfo(dtype)
    for argument in (_dtype(dtype), px.zeros(1, dtype=_dtype(dtype))):
        found = px.iinfo(argument)
        assert (found.bits, found.min, found.max) == (want.bits, int(want.min), int(want.max))
        assert found.dtype is _dtype(dtype)
        assert type(found.max) is int


@pytest.mark.parametrize("dtype", INTEGER)
def test_limits_hold_on_the_device(case: Case, dtype: str) -> None:
    """The limits of a dtype can be stored, compared and passed over by one."""
    found = px.iinfo(_dtype(dtype))
    x = px.asarray([found.min, found.max], dtype=_dtype(dtype))
    same(case, x, np.asarray([found.min, found.max], dtype))
    same(case, x + 1, np.asarray([found.min + 1, found.min], dtype), "one more")
    assert int(px.max(x)) == found.max
    assert int(px.min(x)) == found.min


@pytest.mark.parametrize("dtype", ALL)
def test_isdtype(case: Case, dtype: str) -> None:
    """The kinds of the standard, single and in tuples."""
    found = _dtype(dtype)
    for kind, names in _KINDS.items():
        assert px.isdtype(found, kind) is (dtype in names), f"{dtype} and {kind}"
        assert px.isdtype(found, ("bool", kind)) is (dtype in (*names, "bool"))
    for other in ALL:
        assert px.isdtype(found, _dtype(other)) is (other == dtype)
    with pytest.raises(ValueError, match="kind"):
        px.isdtype(found, "integer")


@pytest.mark.parametrize("dtype", ALL)
def test_python_conversions(case: Case, dtype: str) -> None:
    """Arrays without axes become Python numbers by ``bool``, ``int``, ``float``, ``complex``."""
    x = px.asarray(np.asarray(1).astype(host_dtype(dtype)))
    kind = kind_of(dtype)
    allowed: dict[Any, str] = {bool: "biufc", int: "biuf", float: "biuf", complex: "biufc"}
    for convert, kinds in allowed.items():
        if kind in kinds:
            assert convert(x) == convert(1)
            assert type(convert(x)) is convert
        else:
            with pytest.raises(TypeError):
                convert(x)
        with pytest.raises(TypeError):
            convert(px.zeros((2, 1), dtype=_dtype(dtype)))
    if kind in "iu":
        assert [10, 20, 30][x] == 20
    else:
        with pytest.raises(TypeError):
            [10, 20, 30][x]
