"""Making arrays on the device, against NumPy."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    close,
    either,
    need,
    put,
    same,
    whole_numbers,
)
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable import ALL, kind_of

_SHAPES: tuple[Any, ...] = ((), 0, 7, (3,), (2, 0, 4), (3, 5), (2, 1, 3, 4))
_NUMBERS = [d for d in ALL if d != "bool"]


def _dtype(name: str) -> px.DType:
    found: px.DType = getattr(px, name)
    return found


@pytest.mark.parametrize("dtype", ALL)
def test_full(case: Case, dtype: str) -> None:
    """``zeros``, ``ones``, ``full``, ``empty`` of every shape, and ``full`` of an array."""
    host, target = host_dtype(dtype), _dtype(dtype)
    value: Any = {"b": True, "f": 2.5, "c": 1 - 2j}.get(kind_of(dtype), 77)
    for shape in _SHAPES:
        same(case, px.zeros(shape, dtype=target), np.zeros(shape, host))
        same(case, px.ones(shape, dtype=target), np.ones(shape, host))
        same(case, px.full(shape, value, dtype=target), np.full(shape, value, host))
        single = px.full((), value, dtype=target)
        same(case, px.full(shape, single), np.full(shape, value, host), "full of an array")
        made = px.empty(shape, dtype=target)
        same(case, px.zeros_like(made), np.zeros(shape, host))
        assert (made.dtype, made.device) == (target, case.device)


@pytest.mark.parametrize("dtype", ALL)
def test_like(case: Case, dtype: str) -> None:
    """``zeros_like`` and its family take shape, dtype and device from an array or as given."""
    host = whole_numbers(case, (3, 4, 2), dtype)
    other = "int16" if dtype != "int16" else "uint8"
    for layout in LAYOUTS:
        x = put(case, host, layout)
        same(case, px.zeros_like(x), np.zeros_like(host))
        same(case, px.ones_like(x), np.ones_like(host))
        same(case, px.full_like(x, True), np.full_like(host, True))
        same(case, px.zeros_like(x, dtype=_dtype(other)), np.zeros(host.shape, other))
        made = px.empty_like(x)
        assert (made.shape, made.dtype, made.device) == (host.shape, x.dtype, case.device)
        same(case, x, host, "the array that was the pattern")


def test_default_dtypes(case: Case) -> None:
    """Without a dtype, ints give int64, bools bool, and everything else the default float."""
    info = px.__array_namespace_info__().default_dtypes(device=case.device)
    assert px.full(2, 3).dtype is info["integral"]
    assert px.arange(3).dtype is info["indexing"] is info["integral"]
    assert px.full(2, True).dtype is px.bool
    assert px.asarray([True, False]).dtype is px.bool
    assert px.asarray([1, 2]).dtype is info["integral"]
    for made in (px.zeros(2), px.ones(2), px.empty(2), px.eye(2), px.full(2, 0.5)):
        assert made.dtype is info["real floating"]
    assert px.asarray(1j).dtype is info["complex floating"]


_RANGES: tuple[tuple[float, ...], ...] = (
    (5,),
    (0,),
    (-3,),
    (2, 9),
    (9, 2),
    (-4, 4, 3),
    (10, -10, -7),
    (0, 100, 33),
    (3, 4, 5),
    (0, 2000, 3),
    (100, -2000, -1),
    (0.0, 4.0, 0.5),
    (1.5, -1.5, -0.25),
    (2, 3, 0.125),
    (0, 0.5),
    (-0.5, 64, 0.5),
)


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint16", "float32", "float64"])
def test_arange(case: Case, dtype: str) -> None:
    """The number of elements and each of them, where all are exact."""
    need(case, dtype)
    for arguments in _RANGES:
        want = np.arange(*arguments)
        whole = all(isinstance(a, int) for a in arguments)
        if kind_of(dtype) in "iu" and (
            not whole or (dtype == "uint16" and want.min(initial=0) < 0)
        ):
            continue
        got = px.arange(*arguments, dtype=_dtype(dtype))
        same(case, got, want.astype(dtype), f"arange{arguments}")


def test_arange_does_not_accumulate(case: Case) -> None:
    """Each element of a long range comes from start and step, not from the one before it."""
    for start, step, count in ((0.0, 0.1, 20_000), (5.0, -0.3, 3000)):
        got = px.arange(start, start + (count - 0.5) * step, step, dtype=px.float32)
        want = (start + np.arange(count) * step).astype(np.float32)
        close(case, got, want, 2**-22, f"{count} steps of {step}")


@pytest.mark.allows_fallback
@pytest.mark.parametrize("endpoint", [True, False])
def test_linspace(case: Case, endpoint: bool) -> None:
    """Ends, number and spacing; exact where the spacing is."""
    for start, stop, num in ((0, 8, 9), (1, 0, 5), (-2, 2, 257), (3, 3, 4), (5, 9, 1), (0, 1, 0)):
        got = px.linspace(start, stop, num, dtype=px.float32, endpoint=endpoint)
        want = np.linspace(start, stop, num, endpoint=endpoint)
        what = f"linspace({start}, {stop}, {num})"
        close(case, got, want, 2**-23, what)
        assert got.dtype is px.float32
        if num > 1 and endpoint:
            assert (float(got[0]), float(got[-1])) == (start, stop), what
        whole = px.linspace(start, stop, num, dtype=px.int32, endpoint=endpoint)
        if num in (9, 1, 0):  # every element is exact
            same(case, whole, np.floor(want).astype(np.int32), what)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float32", "complex64"])
def test_eye(case: Case, dtype: str) -> None:
    """Every diagonal of matrices of every shape."""
    for rows, cols in product((0, 1, 3, 6), (None, 0, 2, 5)):
        for k in (0, 1, -1, 2, -4, 9, -9):
            want = np.eye(rows, cols, k=k, dtype=dtype)
            same(case, px.eye(rows, cols, k=k, dtype=_dtype(dtype)), want, f"{rows} {cols} {k}")


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "float32", "complex64"])
def test_triangle(case: Case, dtype: str, name: str) -> None:
    """Both triangles of single matrices and of stacks of them, for every diagonal."""
    shapes = ((3, 3), (1, 4), (5, 2), (2, 3, 4), (0, 3), (2, 2, 0, 1), (2, 1, 5, 3))
    for number, shape in enumerate(shapes):
        host = whole_numbers(case, shape, dtype, name)
        x = put(case, host, LAYOUTS[number % 3])
        for k in (0, 1, -1, 3, -3, 7, -7):
            got = getattr(px, name)(x, k=k)
            same(case, got, getattr(np, name)(host, k=k), f"{name} of {shape}, k={k}")


@pytest.mark.parametrize("indexing", ["xy", "ij"])
def test_meshgrid(case: Case, indexing: Any) -> None:
    """Grids of no to four axes."""
    lengths = ((), (3,), (2, 3), (3, 1, 4), (2, 0), (2, 3, 1, 2))
    for shape in lengths:
        hosts = [whole_numbers(case, (n,), "int32", i) for i, n in enumerate(shape)]
        wanted = np.meshgrid(*hosts, indexing=indexing)
        found = px.meshgrid(*(put(case, h) for h in hosts), indexing=indexing)
        assert len(found) == len(wanted)
        for got, want in zip(found, wanted, strict=True):
            same(case, got, want, f"{indexing} of {shape}")


_NESTED: tuple[Any, ...] = (
    3,
    [],
    [1, 2],
    [[1], [2]],
    [[1, 2, 3], [4, 5, 6]],
    ((), ()),
    (1, 0, 1),
    [[[7]]],
    range(5),
)


@pytest.mark.parametrize("dtype", _NUMBERS)
def test_asarray_of_sequences(case: Case, dtype: str) -> None:
    """Numbers and nested sequences of them, of any depth."""
    for nested in _NESTED:
        want = np.asarray(nested).astype(host_dtype(dtype))
        same(case, px.asarray(nested, dtype=_dtype(dtype)), want, repr(nested))
    single = px.asarray(2, dtype=_dtype(dtype))
    want = np.asarray([[1, 2], [2, 3]]).astype(host_dtype(dtype))
    same(case, px.asarray([[1, single], [single, 3]], dtype=_dtype(dtype)), want, "with arrays")


def test_asarray_copies(case: Case) -> None:
    """``copy`` says whether the result may be the array itself."""
    host = whole_numbers(case, (4,), "int32")
    x = put(case, host)
    assert px.asarray(x) is x or px.asarray(x).buffer is x.buffer
    assert px.asarray(x, copy=False).buffer is x.buffer
    for dtype in (px.float32, px.int64):
        with pytest.raises(ValueError, match="copy"):
            px.asarray(x, copy=False, dtype=dtype)
    with pytest.raises(ValueError, match="copy"):
        px.asarray([1, 2], copy=False)
    copied = px.asarray(x, copy=True)
    source = np.arange(4, dtype=np.int32)
    taken = px.asarray(source)
    x[...] = 5
    source[...] = 6
    same(case, copied, host, "the copy")
    same(case, taken, np.arange(4, dtype=np.int32), "the copy of host memory")


@pytest.mark.parametrize("dtype", ["float32", "int32", "uint64"])
def test_large_values(case: Case, dtype: str) -> None:
    """The ends of a dtype arrive as they are, by every way to make an array."""
    limits: Any = np.finfo(dtype) if "float" in dtype else np.iinfo(dtype)
    for number in either(case, (limits.max, limits.min), 2):
        value = number.item() if isinstance(number, np.generic) else number
        want = np.asarray(value, dtype)
        for made in (
            px.asarray(value, dtype=_dtype(dtype)),
            px.full((), value, dtype=_dtype(dtype)),
            px.asarray([value], dtype=_dtype(dtype))[0],
        ):
            same(case, made, want, f"{value}")
            assert math.isclose(made.item(), value, rel_tol=0)
