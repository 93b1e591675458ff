"""The functions that are not elementwise, on every fake device against NumPy.

How exact the kernels are and every dtype and layout is tested on the CPU; here it is what the core
does before it launches: axes, shapes, views, dtypes, errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from numpy_check import compare, run
from phalanx.testing import ReferenceDriver

A = np.arange(24.0).reshape(2, 3, 4)
M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
V = np.array([3.0, -1.0, 2.0, 2.0, 0.0, -1.0])
I32 = np.array([5, -3, 0, 7], np.int32)
Z = np.array([1 + 2j, -3j, 2.5, 1 + 2j])


Case = tuple[Callable[..., Any], tuple[Any, ...]]
CREATION: dict[str, Case] = {
    "arange": (
        lambda xp: [xp.arange(5), xp.arange(2, 9, 3), xp.arange(5, 1, -2), xp.arange(0.5, 2, 0.25)],
        (),
    ),
    "arange of nothing": (
        lambda xp: [xp.arange(0), xp.arange(3, 1), xp.arange(1), xp.arange(-1.0)],
        (),
    ),
    "arange with dtype": (
        lambda xp: [xp.arange(3, dtype=xp.float32), xp.arange(2, dtype=xp.uint8)],
        (),
    ),
    "linspace": (
        lambda xp: [
            xp.linspace(0, 1, 5),
            xp.linspace(0, 1, 4, endpoint=False),
            xp.linspace(3, 1, 1),
        ],
        (),
    ),
    "linspace of other dtypes": (
        lambda xp: [
            xp.linspace(0, 9, 4, dtype=xp.int32),
            xp.linspace(0, 1j, 3),
            xp.linspace(1, 2, 0),
        ],
        (),
    ),
    "eye": (
        lambda xp: [xp.eye(3), xp.eye(2, 4, k=1), xp.eye(4, 2, k=-2), xp.eye(2, k=5), xp.eye(0)],
        (),
    ),
    "full": (
        lambda xp: [
            xp.full((2, 2), 7),
            xp.full(3, 1.5),
            xp.full((), True),
            xp.full(2, 1j),
            xp.zeros(0),
        ],
        (),
    ),
    "like": (
        lambda xp, a: [xp.zeros_like(a), xp.ones_like(a), xp.full_like(a, 3), xp.empty_like(a) * 0],
        (I32,),
    ),
    "tril triu": (
        lambda xp, a: [xp.tril(a), xp.triu(a), xp.tril(a, k=1), xp.triu(a, k=-1), xp.triu(a > 5)],
        (A,),
    ),
    "meshgrid": (
        lambda xp, a: [
            *xp.meshgrid(a, a[:2]),
            *xp.meshgrid(a, a[:2], a[:1], indexing="ij"),
            *xp.meshgrid(a),
        ],
        (V,),
    ),
}
MANIPULATION: dict[str, Case] = {
    "reshape": (
        lambda xp, a: [xp.reshape(a, s) for s in ((24,), (4, -1), (2, 3, 4, 1), (6, 4), (1, 24))],
        (A,),
    ),
    "reshape of views": (
        lambda xp, a: [xp.reshape(v, (-1,)) for v in (a[::2], a[:, ::-1], a[..., 1], a[:, 1:2])],
        (A,),
    ),
    "reshape cuts runs": (
        lambda xp, a: [xp.reshape(a[:, ::2], s) for s in ((2, 2, 2, 2), (2, 1, 2, 4), (4, 4))],
        (A,),
    ),
    "expand squeeze": (
        lambda xp, a: [
            xp.expand_dims(a, axis=1),
            xp.squeeze(xp.expand_dims(a, axis=(0, -1)), axis=(0, -1)),
        ],
        (A,),
    ),
    "axes": (
        lambda xp, a: [
            xp.permute_dims(a, (2, 0, 1)),
            xp.moveaxis(a, 0, -1),
            xp.moveaxis(a, (0, 1), (-1, 0)),
            xp.matrix_transpose(a),
        ],
        (A,),
    ),
    "flip": (
        lambda xp, a: [xp.flip(a), xp.flip(a, axis=1), xp.flip(a, axis=(0, -1)), xp.flip(a[:0])],
        (A,),
    ),
    "concat": (
        lambda xp, a: [
            xp.concat([a, a]),
            xp.concat([a, a[:, :1]], axis=1),
            xp.concat([a, a[0]], axis=None),
        ],
        (A,),
    ),
    "stack": (
        lambda xp, a: [xp.stack([a, a * 2]), xp.stack([a, a], axis=-1), *xp.unstack(a, axis=1)],
        (A,),
    ),
    "roll": (
        lambda xp, a: [
            xp.roll(a, 1),
            xp.roll(a, -2, axis=1),
            xp.roll(a, (1, 2), axis=(0, 2)),
            xp.roll(a, 0, axis=0),
        ],
        (A,),
    ),
    "repeat": (
        lambda xp, a: [
            xp.repeat(a, 2),
            xp.repeat(a, 3, axis=1),
            xp.repeat(a, 0, axis=0),
            xp.repeat(a, xp.asarray([0, 2]), axis=0),
            xp.repeat(a, xp.asarray([2]), axis=2),
        ],
        (A,),
    ),
    "tile": (
        lambda xp, a: [
            xp.tile(a, (2,)),
            xp.tile(a, (2, 1, 3)),
            xp.tile(a, (2, 1, 1, 1)),
            xp.tile(a, (0,)),
        ],
        (A,),
    ),
    "broadcast": (
        lambda xp, a: [
            xp.broadcast_to(a, (3, 6)),
            *xp.broadcast_arrays(a, a[:1], xp.zeros((2, 1))),
        ],
        (V,),
    ),
}
REDUCTION: dict[str, Case] = {
    **{
        name: (
            lambda xp, a, f=name: [
                getattr(xp, f)(a),
                getattr(xp, f)(a, axis=1),
                getattr(xp, f)(a, axis=(0, 2), keepdims=True),
                getattr(xp, f)(a[:, ::-1], axis=-1),
            ],
            (A / 8 - 1,),
        )
        for name in (
            "sum",
            "prod",
            "mean",
            "std",
            "var",
            "max",
            "min",
            "any",
            "all",
            "count_nonzero",
        )
    },
    "sum of other dtypes": (
        lambda xp, i, z: [
            xp.sum(i),
            xp.sum(i, dtype=xp.float32),
            xp.sum(i > 0),
            xp.sum(z),
            xp.prod(i, dtype=xp.int8),
            xp.mean(z),
        ],
        (I32, Z),
    ),
    "var": (
        lambda xp, a: [
            xp.var(a, correction=1),
            xp.std(a, axis=0, correction=1, keepdims=True),
            xp.var(a, axis=(0, 1)),
        ],
        (A,),
    ),
    "of nothing": (
        lambda xp, a: [
            xp.sum(a),
            xp.prod(a),
            xp.any(a),
            xp.all(a),
            xp.sum(a, axis=0),
            xp.mean(a, axis=1),
            xp.cumulative_sum(a, axis=0),
        ],
        (np.zeros((0, 3)),),
    ),
    "argmax argmin": (
        lambda xp, a: [
            xp.argmax(a),
            xp.argmin(a, axis=1),
            xp.argmax(a, axis=-1, keepdims=True),
            xp.argmin(a[::-1]),
        ],
        (A % 7,),
    ),
    "cumulative": (
        lambda xp, a, v: [
            xp.cumulative_sum(a, axis=1),
            xp.cumulative_prod(a, axis=-1),
            xp.cumulative_sum(v),
            xp.cumulative_sum(v, include_initial=True),
            xp.cumulative_prod(a, axis=0, include_initial=True),
        ],
        (A, V),
    ),
    "cumulative integers": (
        lambda xp, i: [
            xp.cumulative_sum(i),
            xp.cumulative_sum(i, dtype=xp.float64),
            xp.cumulative_sum(i > 0),
        ],
        (I32,),
    ),
    "diff": (
        lambda xp, a: [
            xp.diff(a),
            xp.diff(a, axis=0),
            xp.diff(a, n=2),
            xp.diff(a, n=9),
            xp.diff(a > 5),
            xp.diff(a, n=0),
            xp.diff(a, prepend=a[..., :1], append=a[..., :2]),
        ],
        (A**2,),
    ),
}
ORDER: dict[str, Case] = {
    "sort": (
        lambda xp, a: [
            xp.sort(a),
            xp.sort(a, axis=0),
            xp.sort(a[:, ::-1], axis=1),
            xp.sort(a[:1], axis=0),
        ],
        (A % 5,),
    ),
    "argsort": (
        lambda xp, a: [xp.argsort(a, stable=True), xp.argsort(a, axis=0, stable=True)],
        (A % 5,),
    ),
    "searchsorted": (
        lambda xp, v: [
            xp.searchsorted(xp.sort(v), v),
            xp.searchsorted(xp.sort(v), v, side="right"),
            xp.searchsorted(v, xp.asarray([[0.5]]), sorter=xp.argsort(v)),
        ],
        (V,),
    ),
    "nonzero": (lambda xp, a: [*xp.nonzero(a % 5 > 2), *xp.nonzero(a), *xp.nonzero(a[:0])], (A,)),
    "unique": (
        lambda xp, v: [
            xp.unique_values(v),
            *xp.unique_counts(v),
            *xp.unique_inverse(v),
            *xp.unique_all(v),
        ],
        (V,),
    ),
    "unique of complex": (lambda xp, z: [*xp.unique_counts(z), *xp.unique_inverse(z)], (Z,)),
    "unique of nothing": (lambda xp, v: [xp.unique_values(v), *xp.unique_all(v)], (np.zeros(0),)),
    "isin": (
        lambda xp, v: [
            xp.isin(v, v[:2]),
            xp.isin(v, v[:2], invert=True),
            xp.isin(v, v[:0]),
            xp.isin(v > 0, v[:1] > 0),
        ],
        (V,),
    ),
    "isin of complex": (lambda xp, z: [xp.isin(z, z[:1]), xp.isin(z, z[1:2], invert=True)], (Z,)),
}
LINEAR: dict[str, Case] = {
    "matmul": (
        lambda xp, a, m: [
            m @ m,
            xp.matmul(a, a.mT),
            a[:, :, :3] @ m,
            a[0, 0, :3] @ m,
            m @ a[0, 0, :3],
            a[0, 0] @ a[0, 1],
            a[:, :0] @ a.mT,
        ],
        (A, M),
    ),
    "matmul over nothing": (lambda xp, a: [a[..., :0] @ a.mT[:, :0]], (A,)),
    "vecdot": (
        lambda xp, a, z: [xp.vecdot(a, a[0]), xp.vecdot(a[:, 0], a[:, 1]), xp.vecdot(z, z * 1j)],
        (A, Z),
    ),
    "tensordot": (
        lambda xp, a: [
            xp.tensordot(a, a[..., 0].T, axes=0),
            xp.tensordot(a, a, axes=3),
            xp.tensordot(a, a, axes=((0, 2), (0, 2))),
            xp.tensordot(a, a.mT, axes=1),
        ],
        (A[:, :2, :2],),
    ),
}
CASES = {**CREATION, **MANIPULATION, **REDUCTION, **ORDER, **LINEAR}


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(device: px.Device, name: str) -> None:
    call, data = CASES[name]
    run(call, *data)


BAD: list[tuple[str, type[Exception], str, Callable[[px.Array], Any]]] = [
    ("reshape", ValueError, "24 elements", lambda a: px.reshape(a, (5, 5))),
    ("reshape -1", ValueError, "one -1", lambda a: px.reshape(a, (-1, -1))),
    ("reshape 0", ValueError, "do not reshape", lambda a: px.reshape(a, (0, -1))),
    ("reshape view", ValueError, "need a copy", lambda a: px.reshape(a.mT, (24,), copy=False)),
    ("expand", IndexError, "out of range for 4 axes", lambda a: px.expand_dims(a, axis=4)),
    ("expand twice", ValueError, "twice", lambda a: px.expand_dims(a, axis=(0, 0))),
    ("squeeze", ValueError, "more than one element", lambda a: px.squeeze(a, axis=0)),
    ("permute", ValueError, "not a permutation", lambda a: px.permute_dims(a, (0, 1))),
    ("moveaxis", ValueError, "differ in length", lambda a: px.moveaxis(a, (0, 1), 0)),
    ("moveaxis twice", ValueError, "twice", lambda a: px.moveaxis(a, (0, 0), (1, 2))),
    ("concat none", ValueError, "at least one", lambda a: px.concat([])),
    ("concat 0-d", ValueError, "use stack", lambda a: px.concat([a[0, 0, 0]])),
    ("concat shapes", ValueError, "the other extents differ", lambda a: px.concat([a, a[..., :1]])),
    ("stack none", ValueError, "at least one", lambda a: px.stack([])),
    ("stack shapes", ValueError, "shapes differ", lambda a: px.stack([a, a[0]])),
    ("unstack", ValueError, "0-d", lambda a: px.unstack(a[0, 0, 0])),
    ("roll", ValueError, "differ in length", lambda a: px.roll(a, (1, 2), axis=0)),
    ("repeat", ValueError, "negative", lambda a: px.repeat(a, -1)),
    ("repeat count", ValueError, "negative", lambda a: px.repeat(a, px.asarray([1, -1]), axis=0)),
    (
        "repeat counts",
        ValueError,
        "3 counts for 2",
        lambda a: px.repeat(a, px.asarray([1, 1, 1]), axis=0),
    ),
    ("repeat float", TypeError, "integer array", lambda a: px.repeat(a, px.asarray([1.0]), axis=0)),
    ("tile", ValueError, "negative", lambda a: px.tile(a, (-1,))),
    ("broadcast", ValueError, "does not broadcast", lambda a: px.broadcast_to(a, (4,))),
    (
        "broadcast shapes",
        ValueError,
        "cannot be broadcast",
        lambda a: px.broadcast_shapes((2,), (3,)),
    ),
    (
        "axis",
        IndexError,
        r"sum: axis 3 is out of range for shape \(2, 3, 4\)",
        lambda a: px.sum(a, axis=3),
    ),
    ("axis twice", ValueError, "twice", lambda a: px.sum(a, axis=(0, -3))),
    ("axis type", TypeError, "got 'x'", lambda a: px.sum(a, axis="x")),
    ("max of nothing", ValueError, "no identity", lambda a: px.max(a[:0])),
    ("argmin of nothing", ValueError, "no identity", lambda a: px.argmin(a[:, :0], axis=1)),
    ("max complex", TypeError, "no order", lambda a: px.max(px.astype(a, px.complex64))),
    ("argmax complex", TypeError, "no order", lambda a: px.argmax(px.astype(a, px.complex64))),
    ("mean bool", TypeError, "not defined for bool", lambda a: px.mean(a > 0)),
    ("var complex", TypeError, "complex", lambda a: px.var(px.astype(a, px.complex64))),
    ("softmax complex", TypeError, "complex", lambda a: px.softmax(px.astype(a, px.complex64))),
    ("softmax 0-d", ValueError, "0-d", lambda a: px.softmax(a[0, 0, 0])),
    ("cumulative axis", ValueError, "needs an axis", lambda a: px.cumulative_sum(a)),
    ("cumulative 0-d", ValueError, "0-d", lambda a: px.cumulative_sum(a[0, 0, 0])),
    ("diff", ValueError, "n >= 0", lambda a: px.diff(a, n=-1)),
    ("sort 0-d", ValueError, "0-d", lambda a: px.sort(a[0, 0, 0])),
    ("sort complex", TypeError, "no order", lambda a: px.sort(px.astype(a, px.complex64))),
    ("searchsorted 2-d", ValueError, "1-d", lambda a: px.searchsorted(a, a)),
    ("searchsorted side", ValueError, "side", lambda a: px.searchsorted(a[0, 0], a, side="middle")),
    (
        "searchsorted complex",
        TypeError,
        "no order",
        lambda a: px.searchsorted(a[0, 0], px.asarray([1j])),
    ),
    ("nonzero 0-d", ValueError, "0-d", lambda a: px.nonzero(a[0, 0, 0])),
    ("isin", TypeError, "at least one", lambda a: px.isin(1, 2)),
    ("matmul 0-d", ValueError, "at least one axis", lambda a: px.matmul(a, a[0, 0, 0])),
    ("matmul extents", ValueError, "inner extents 4 and 3 differ", lambda a: a @ a),
    ("matmul bool", TypeError, "not defined for bool", lambda a: px.matmul(a > 0, a.mT)),
    ("vecdot axis", ValueError, "counts from the end", lambda a: px.vecdot(a, a, axis=0)),
    ("vecdot extents", ValueError, "4 and 3 along", lambda a: px.vecdot(a, a[..., :3])),
    ("tensordot", ValueError, "from 0 to 3 for shapes", lambda a: px.tensordot(a, a, axes=4)),
    ("tensordot extents", ValueError, "differ", lambda a: px.tensordot(a, a, axes=1)),
    ("arange step", ValueError, "step must not be 0", lambda a: px.arange(0, 1, 0)),
    ("linspace", ValueError, "negative", lambda a: px.linspace(0, 1, -1)),
    ("shape", TypeError, "a shape is an int or a tuple", lambda a: px.zeros("ab")),
    ("shape of floats", TypeError, "a shape is an int or a tuple", lambda a: px.zeros((1.5,))),
    ("tril", ValueError, "two axes", lambda a: px.tril(a[0, 0])),
    ("meshgrid", ValueError, '"xy" or "ij"', lambda a: px.meshgrid(a[0, 0], indexing="ab")),
    ("meshgrid 2-d", ValueError, "1-d arrays", lambda a: px.meshgrid(a)),
    ("meshgrid dtypes", ValueError, "one dtype", lambda a: px.meshgrid(a[0, 0], px.arange(2))),
    ("clip NaN", ValueError, "NaN", lambda a: px.clip(px.arange(2), math.nan, 3.0)),
    ("clip mixed", TypeError, "no common dtype", lambda a: px.clip(a, px.asarray([1]), 2.0)),
    ("clip number", TypeError, "takes a phalanx array", lambda a: px.clip(1, 2, 3)),
    ("where float", TypeError, "boolean condition", lambda a: px.where(a, a, a)),
    ("astype", TypeError, "astype takes a dtype", lambda a: px.astype(a, None)),
    ("astype complex", TypeError, "imaginary", lambda a: px.astype(px.asarray([1j]), px.float32)),
    ("dtype", TypeError, "takes a phalanx dtype", lambda a: px.zeros(1, dtype=3)),
    ("finfo", TypeError, "use iinfo", lambda a: px.finfo(px.int8)),
    ("iinfo", TypeError, "use finfo", lambda a: px.iinfo(px.float32)),
    ("isdtype", ValueError, "unknown kind", lambda a: px.isdtype(px.int8, "float")),
    ("result_type none", ValueError, "at least one", lambda a: px.result_type()),
    ("result_type", TypeError, "no common dtype", lambda a: px.result_type(px.int8, px.float32)),
    ("result_type odd", TypeError, "got list", lambda a: px.result_type([1])),
    ("result_type bool", TypeError, "does not mix", lambda a: px.result_type(px.bool, 1)),
    ("result_type complex", TypeError, "does not mix", lambda a: px.result_type(px.int8, 1j)),
    ("asarray ragged", ValueError, "asarray", lambda a: px.asarray([[1], [1, 2]])),
    ("asarray text", TypeError, "takes numbers", lambda a: px.asarray("text")),
    ("asarray object", TypeError, "takes numbers", lambda a: px.asarray([object()])),
    ("asarray number", ValueError, "without a copy", lambda a: px.asarray(1.0, copy=False)),
    ("asarray list", ValueError, "without a copy", lambda a: px.asarray([1.0], copy=False)),
    ("asarray dtype", ValueError, "copy=False", lambda a: px.asarray(a, dtype=px.int8, copy=False)),
    ("asarray overflow", OverflowError, "300", lambda a: px.asarray(300, dtype=px.int8)),
    *[
        (f"{name} of a list", TypeError, "phalanx array", lambda a, f=name: getattr(px, f)([1.0]))
        for name in (
            "sum",
            "max",
            "argmax",
            "any",
            "all",
            "mean",
            "sort",
            "argsort",
            "nonzero",
            "unique_values",
            "softmax",
            "cumulative_sum",
            "diff",
            "count_nonzero",
        )
    ],
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case[0])
def test_errors(
    fake: px.Device, case: tuple[str, type[Exception], str, Callable[[px.Array], Any]]
) -> None:
    _, error, words, call = case
    with px.promotion("standard"), pytest.raises(error, match=words):
        call(px.asarray(A))


def test_unique_values_of_complex_numbers_are_in_order(device: px.Device) -> None:
    compare(px.unique_values(px.asarray(Z)), np.unique(Z))


def test_softmax(device: px.Device) -> None:
    e = np.exp(A - A.max(1, keepdims=True))
    compare(px.softmax(px.asarray(A), axis=1), e / e.sum(1, keepdims=True))


def test_random_fallback_devices(make_driver: Callable[..., ReferenceDriver]) -> None:
    """A device without any structured kernel still gives every result, through the stand-in."""
    make_driver(
        missing=["sum", "sort", "argsort", "gather", "scatter", "matmul", "compress", "nonzero"]
    )
    with px.device("own:0"), px.fallback_policy("allow"):
        for name in ("sum", "sort", "unique", "matmul", "repeat", "nonzero"):
            call, data = CASES[name]
            run(call, *data)
    px.fallback_report(reset=True)
