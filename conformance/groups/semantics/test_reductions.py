"""Reductions over all sets of axes, against NumPy; the numbers are whole, so sums are exact."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    close,
    need,
    put,
    same,
    serves,
    subsets,
    whole_numbers,
)
from phalanx.conformance.layouts import HostArray
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable import ALL, kind_of

_SHAPES = ((), (6,), (3, 5), (2, 3, 4), (2, 1, 4, 3))
#: Reductions that any set of axes is given to, with the dtypes that they are tried with.
_NAMES = {
    "sum": ("int8", "uint16", "int32", "float32", "complex64", "bool"),
    "prod": ("int8", "uint16", "int32", "float32"),
    "max": ("int8", "uint32", "int64", "float32", "float16"),
    "min": ("int8", "uint32", "int64", "float32", "bfloat16"),
    "any": ("bool", "int32", "float32", "complex64"),
    "all": ("bool", "int32", "float32", "complex64"),
    "count_nonzero": ("bool", "int32", "float32", "complex64"),
    "mean": ("float32", "complex64"),
}
_PLACES = ("argmax", "argmin")
_NO_IDENTITY = ("max", "min", *_PLACES)


def _axes(ndim: int) -> Iterator[Any]:
    """None, every axis from both ends, and every set of axes, some of them backwards."""
    yield None
    yield from range(-ndim, ndim)
    for number, axes in enumerate(subsets(range(ndim))):
        yield axes if number % 2 else tuple(a - ndim for a in reversed(axes))


def _host(case: Case, shape: tuple[int, ...], dtype: str, name: str) -> HostArray:
    host = whole_numbers(case, shape, dtype, name)
    if name == "prod":  # small enough to be exact
        host = np.where(np.abs(host) % 3 == 0, 2, 1).astype(host.dtype)
    return host


def _want(name: str, host: HostArray, axis: Any, keepdims: bool) -> Any:
    """What NumPy says, in the dtype that the standard prescribes."""
    kind = kind_of(str(host.dtype))
    options: dict[str, Any] = {}
    if name in ("sum", "prod"):
        natural = {"b": "int64", "i": "int64", "u": "uint64"}.get(kind)
        options = {"dtype": np.dtype(natural) if natural else host.dtype}
    found = getattr(np, name)(host, axis=axis, keepdims=keepdims, **options)
    return np.asarray(found, "int64" if name == "count_nonzero" else None)


@pytest.mark.parametrize("name", _NAMES)
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_reduce_axes(case: Case, shape: tuple[int, ...], name: str) -> None:
    """Every set of axes, with and without ``keepdims``, in every layout."""
    for number, dtype in enumerate(d for d in _NAMES[name] if serves(case, d)):
        host = _host(case, shape, dtype, name)
        for layout in LAYOUTS[number % 3 :: 3] if case.quick else LAYOUTS:
            x = put(case, host, layout)
            for axis in _axes(len(shape)):
                for keepdims in (False, True):
                    got = getattr(px, name)(x, axis=axis, keepdims=keepdims)
                    want = _want(name, host, axis, keepdims)
                    what = f"{name} of {layout} {dtype} {shape} over {axis}"
                    if name == "mean":
                        close(case, got, want, 2**-21, what)
                        assert got.dtype is x.dtype
                    else:
                        same(case, got, want, what)


@pytest.mark.parametrize("name", _PLACES)
@pytest.mark.parametrize("shape", _SHAPES, ids=str)
def test_reduce_places(case: Case, shape: tuple[int, ...], name: str) -> None:
    """``argmax`` and ``argmin`` give the first of equal places, along every axis."""
    for dtype in ("int8", "uint8", "int32", "float32", "float16"):
        if not serves(case, dtype):
            continue
        host = whole_numbers(case, shape, dtype)
        for layout in LAYOUTS:
            x = put(case, host, layout)
            for axis in (None, *range(-len(shape), len(shape))):
                for keepdims in (False, True):
                    want = np.asarray(getattr(np, name)(host, axis=axis, keepdims=keepdims))
                    got = getattr(px, name)(x, axis=axis, keepdims=keepdims)
                    same(case, got, want, f"{name} of {layout} {dtype} {shape} over {axis}")


@pytest.mark.parametrize("name", [*_NAMES, *_PLACES])
def test_reduce_empty(case: Case, name: str) -> None:
    """Over no elements: the identity, NaN for ``mean``, ``ValueError`` where there is none."""
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4), (0, 0)):
        host = np.zeros(shape, np.float32)
        x = px.zeros(shape, dtype=px.float32)
        single = (None, *range(len(shape)))
        for axis in single if name in _PLACES else (*single, *subsets(range(len(shape)))):
            axes = (
                range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
            )
            if name in _NO_IDENTITY and any(shape[a] == 0 for a in axes):
                with pytest.raises(ValueError, match="no elements"):
                    getattr(px, name)(x, axis=axis)
                continue
            got = getattr(px, name)(x, axis=axis)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # mean of nothing
                want = _want(name, host, axis, False)
            same(case, got, want, f"{name} of {shape} over {axis}")


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32", "float32", "float16"])
def test_reduce_dtype(case: Case, dtype: str, name: str) -> None:
    """``dtype`` is that of the result, and the elements are converted to it first."""
    need(case, dtype)
    host = _host(case, (40,), dtype, "prod" if "prod" in name else name)[
        : 40 if "sum" in name else 9
    ]
    for target in ("int16", "int32", "int64", "uint8", "uint64", "float32", "complex64"):
        if (kind_of(dtype) == "f" and kind_of(target) in "iu") or not serves(case, target):
            continue
        got = getattr(px, name)(put(case, host), dtype=getattr(px, target))
        want = getattr(np, name)(host.astype(target), dtype=np.dtype(target))
        same(case, got, want, f"{name} of {dtype} in {target}")


@pytest.mark.parametrize("dtype", [d for d in ALL if d != "bool"])
def test_reduce_default_dtype(case: Case, dtype: str) -> None:
    """Without ``dtype`` integers sum in 64 bits, where small ones do not overflow; floats stay."""
    need(case, dtype)
    kind = kind_of(dtype)
    value = {"i": 127, "u": 255}.get(kind, 2)
    x = px.full(300, value, dtype=getattr(px, dtype))
    want = {"i": "int64", "u": "uint64"}.get(kind, dtype)
    same(case, px.sum(x), np.asarray(300 * value).astype(host_dtype(want)), "sum")
    got = px.cumulative_sum(x[:100])
    assert got.dtype.name == want
    same(case, got[-1], np.asarray(100 * value).astype(host_dtype(want)), "cumulative_sum")


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("correction", [0, 1, 0.5, 2.0])
def test_correction(case: Case, correction: float, name: str) -> None:
    """``var`` and ``std`` divide by the number of elements less ``correction``."""
    for shape in ((9,), (4, 5), (3, 4, 5)):
        host = whole_numbers(case, shape, "float32")
        x = put(case, host, "transposed")
        for axis in _axes(len(shape)):
            if axis == ():
                continue
            for keepdims in (False, True):
                wide = host.astype(np.float64)
                want = getattr(np, name)(wide, axis=axis, correction=correction, keepdims=keepdims)
                got = getattr(px, name)(x, axis=axis, correction=correction, keepdims=keepdims)
                close(case, got, want, 2**-20, f"{name} of {shape} over {axis}")
                assert got.dtype is px.float32


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("include_initial", [False, True])
def test_cumulative(case: Case, include_initial: bool, name: str) -> None:
    """Running sums and products along every axis, with and without the initial element."""
    for shape in ((7,), (0,), (3, 4), (2, 0), (2, 3, 5)):
        for dtype in ("int8", "uint16", "int32", "float32"):
            host = _host(case, shape, dtype, "prod" if "prod" in name else name)
            for layout in LAYOUTS:
                x = put(case, host, layout)
                for axis in (None,) * (len(shape) == 1) + tuple(range(-len(shape), len(shape))):
                    natural = {"i": np.int64, "u": np.uint64}.get(kind_of(dtype), host.dtype)
                    options: dict[str, Any] = {"axis": axis, "include_initial": include_initial}
                    want = getattr(np, name)(host, dtype=natural, **options)
                    same(case, getattr(px, name)(x, **options), want, f"{dtype} {shape} {axis}")


@pytest.mark.parametrize("count", [63, 64, 65, 255, 257, 4095, 4097, 20_001])
def test_reduce_lengths(case: Case, count: int) -> None:
    """Long rows are complete: the last element counts like the others."""
    rng = case.rng(count)
    host = rng.integers(-50, 50, (3, count)).astype(np.int32)
    host[:, -1] = 1000, -1000, 7
    x = put(case, host)
    same(case, px.sum(x, axis=1), host.sum(axis=1, dtype=np.int64), "sum of rows")
    same(case, px.sum(x, axis=0), host.sum(axis=0, dtype=np.int64), "sum of columns")
    same(case, px.sum(px.astype(x, px.float32)), np.asarray(host.sum(), np.float32), "float sum")
    same(case, px.max(x, axis=1), host.max(axis=1), "max")
    same(case, px.argmin(x, axis=1), host.argmin(axis=1), "argmin")
    same(case, px.count_nonzero(x, axis=1), np.count_nonzero(host, axis=1), "count_nonzero")
    alone = px.zeros(count, dtype=px.int32)
    alone[-1] = 1
    assert bool(px.any(alone))
    assert not bool(px.all(px.asarray(alone == 0)))
    same(case, px.max(-1 - alone), np.asarray(-1, np.int32), "max of negative numbers")
    sums = px.cumulative_sum(x, axis=1)
    same(case, sums, np.cumulative_sum(host, axis=1, dtype=np.int64), "cumulative_sum")


@pytest.mark.parametrize("name", ["max", "min", "argmax", "argmin", "sum", "any", "all"])
def test_reduce_nan(case: Case, name: str) -> None:
    """NaN propagates, is the place of an extreme, and counts as true."""
    for at in (0, 3, 70, 199):
        host = whole_numbers(case, (200,), "float32") + np.float32(1)
        host[at] = np.nan
        want = np.asarray(getattr(np, name)(host))
        same(case, getattr(px, name)(put(case, host)), want, f"NaN at {at}")


def test_diff(case: Case) -> None:
    """Differences of every order along every axis, with elements put before and behind."""
    for dtype in ("int32", "uint8", "float32", "bool"):
        host = whole_numbers(case, (4, 6), dtype)
        for layout in LAYOUTS:
            x = put(case, host, layout)
            for axis in (0, 1, -1, -2):
                for n in (1, 2, 3):
                    want = np.diff(host, n=n, axis=axis)
                    same(case, px.diff(x, n=n, axis=axis), want, f"{dtype}, order {n}")
                first = host[:1] if axis in (0, -2) else host[:, :1]
                got = px.diff(x, axis=axis, prepend=put(case, first))
                same(case, got, np.diff(host, axis=axis, prepend=first), f"{dtype}, prepend")
    host = whole_numbers(case, (5,), "int32")
    got = px.diff(put(case, host), append=put(case, host[:2]), prepend=put(case, host[3:]))
    same(case, got, np.diff(host, append=host[:2], prepend=host[3:]), "both ends")
    same(case, px.diff(put(case, host), n=7), np.zeros(0, np.int32), "more than there are")
