"""Public functions made of several ops: on an OpenCL device the same bits as on the CPU.

Fallbacks are errors here: every op that such a function needs has a kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from along_kit import in_style, values, wrong
from conftest import real_cpu
from exhaustive import some_of
from phalanx.optable import ALL, kind_of

SHAPE = (37, 5, 29)
COUNT = int(np.prod(SHAPE))


#: All dtypes with the device's own kernels, one of each item size with those for groups.
STYLED = [("own", dtype) for dtype in ALL]
STYLED += [("groups", d) for d in ("bool", "bfloat16", "float32", "uint64", "complex128")]


class Operands:
    """The same arrays on any device; what depends on dtype has one of a given dtype."""

    def __init__(self, dtype: str, where: px.Device) -> None:
        rng = np.random.default_rng(3)
        data = values(dtype, COUNT, special=True)
        data[rng.random(COUNT) < 0.4] = 0
        repeated = data[rng.integers(0, 60, COUNT)]
        few = repeated[:50]

        def put(x: np.ndarray, name: str = "int64") -> px.Array:
            return px.asarray(x, dtype=name, device=where)

        self.x = put(data.reshape(SHAPE), dtype)
        self.y = put(np.roll(data, 11).reshape(SHAPE), dtype)
        self.flat = put(data, dtype)
        self.same = put(repeated, dtype)
        self.few = put(few, dtype)
        self.mask = put((rng.random(SHAPE) < 0.3), "bool")
        self.front = put((rng.random(SHAPE[:2]) < 0.5), "bool")
        self.rows = put((rng.random(SHAPE[0]) < 0.5), "bool")
        self.columns = put((rng.random(SHAPE[2]) < 0.5), "bool")
        self.i = put(rng.integers(-SHAPE[0], SHAPE[0], 40))
        self.j = put(rng.integers(-SHAPE[1], SHAPE[1], (6, 40)))
        self.k = put(rng.integers(-SHAPE[2], SHAPE[2], (*SHAPE[:2], 8)))
        self.repeats = put(rng.integers(0, 4, SHAPE[0]))
        self.dtype = self.x.dtype
        self.number = True if dtype == "bool" else 1


def written(x: px.Array, key: Any, value: Any) -> px.Array:
    """A copy after an assignment."""
    result = px.asarray(x, copy=True)
    result[key] = value
    return result


def flipped(x: px.Array) -> px.Array:
    return px.permute_dims(px.flip(x), (2, 0, 1))


def one(o: Operands) -> px.Array:
    return px.ones((), dtype=o.dtype, device=o.x.device)


Case = Callable[[Operands], Any]

CASES: dict[str, Case] = {
    "mask": lambda o: (o.x[o.mask], o.flat[px.reshape(o.mask, (COUNT,))]),
    "mask of a view": lambda o: (o.x[:, ::-1, 3:][o.mask[:, :, 3:]], flipped(o.x)[flipped(o.mask)]),
    "mask of the first axes": lambda o: (o.x[o.rows], o.x[o.front], o.x[o.rows, 2:4, ::3]),
    "mask of the last axis": lambda o: (o.x[..., o.columns], o.x[3, :, o.columns]),
    "masks and indices": lambda o: (o.x[o.front, 3], o.x[o.rows, :, 7], o.x[None, o.front, 1:9]),
    "mask, nothing true": lambda o: (o.x[o.mask & ~o.mask], o.x[o.rows & ~o.rows]),
    "mask, all true": lambda o: (o.x[o.mask | ~o.mask], o.x[o.rows | ~o.rows]),
    "mask = number": lambda o: (written(o.x, o.mask, o.number), written(o.x, o.front, True)),
    "mask = array": lambda o: (
        written(o.x, o.mask, o.y[o.mask]),
        written(o.x, o.rows, o.y[0]),
        written(o.x, o.mask, one(o)),
        written(o.x, (slice(None), slice(1, 3), o.columns), o.y[:, 1:3, o.columns]),
    ),
    "integer arrays": lambda o: (o.x[o.i], o.x[o.i, o.j], o.x[o.j[0], :, o.i % 29], o.x[o.i, ::2]),
    "integer arrays = array": lambda o: (
        written(o.x, o.i, o.y[o.i]),
        written(o.x, (o.i, o.j), o.y[o.i, o.j]),
        written(o.x, (o.i, slice(None), 4), o.y[2, 3, 4]),
    ),
    "integer arrays = number": lambda o: (
        written(o.x, o.i, True),
        written(o.x, (o.i, o.j), False),
    ),
    "indices of other dtypes": lambda o: tuple(
        o.x[px.astype(px.abs(o.i) % 37, getattr(px, name))]
        for name in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
    ),
    "nonzero": lambda o: (*px.nonzero(o.x), *px.nonzero(o.flat), *px.nonzero(flipped(o.x))),
    "count_nonzero": lambda o: (px.count_nonzero(o.x), px.count_nonzero(o.x, axis=1)),
    "where": lambda o: (
        px.where(o.mask, o.x, o.y),
        px.where(o.rows[:, None], flipped(o.x[:, :, 3:]), one(o)),
        px.where(o.front[:, :, None], o.x, o.number),
    ),
    "take": lambda o: (
        px.take(o.flat, o.i),
        px.take(o.x, o.i, axis=0),
        px.take(o.x, o.j[0], axis=1),
        px.take(flipped(o.x), o.i, axis=-2),
    ),
    "take_along_axis": lambda o: (
        px.take_along_axis(o.x, o.k),
        px.take_along_axis(o.x, px.astype(px.abs(o.k[..., :1]), px.uint8) % 5, axis=1),
    ),
    "unique_values": lambda o: px.unique_values(o.same),
    "unique_counts": lambda o: tuple(px.unique_counts(o.same)),
    "unique_inverse": lambda o: tuple(px.unique_inverse(px.reshape(o.same, SHAPE))),
    "unique_all": lambda o: (*px.unique_all(o.same), *px.unique_all(o.x), *px.unique_all(o.x[:0])),
    "isin": lambda o: (px.isin(o.x, o.few), px.isin(o.x, o.few[:3], invert=True)),
    "repeat": lambda o: (
        px.repeat(o.x, 3, axis=1),
        px.repeat(o.flat, 2),
        px.repeat(o.x, o.repeats, axis=0),
    ),
    "roll": lambda o: (
        px.roll(o.x, 5),
        px.roll(o.x, (3, -40), axis=(0, 2)),
        px.roll(flipped(o.x), -1, axis=0),
    ),
    "tile": lambda o: (px.tile(o.x, (2, 1, 3)), px.tile(o.flat, (2, 2))),
    "concat and stack": lambda o: (
        px.concat([o.x, o.y[:, :2]], axis=1),
        px.stack([o.x, o.y], axis=-1),
        *px.unstack(o.x, axis=1),
    ),
    "triangles": lambda o: (px.tril(o.x, k=2), px.triu(flipped(o.x), k=-1)),
    "searchsorted": lambda o: (
        px.searchsorted(px.sort(o.flat), o.x),
        px.searchsorted(px.sort(o.few), o.x, side="right"),
        px.searchsorted(o.few, o.y, sorter=px.argsort(o.few)),
    ),
    "sort": lambda o: (px.sort(o.x, axis=0), px.sort(o.same, descending=True)),
    "argsort": lambda o: (px.argsort(o.x, axis=1), px.argsort(o.same, descending=True)),
    "argmax": lambda o: (px.argmax(o.x), px.argmin(o.x, axis=0)),
    "diff": lambda o: (px.diff(o.x), px.diff(o.x, axis=0, n=2)),
    "diff with ends": lambda o: px.diff(o.x, axis=1, prepend=o.y[:, :1], append=o.y[:, 2:3]),
    "cumulative_sum": lambda o: px.cumulative_sum(o.x, axis=1, include_initial=True),
}


#: Cases that need an order.
ORDERED = ("searchsorted", "sort", "argsort", "argmax")


def takes(name: str, dtype: str) -> bool:
    kinds = "iuf" if name in ("searchsorted", "argmax") else "biuf"
    return name not in ORDERED or kind_of(dtype) in kinds


def parts(answer: Any) -> list[px.Array]:
    return list(answer) if isinstance(answer, tuple) else [answer]


def same(got: px.Array, want: px.Array, what: str) -> None:
    assert got.dtype is want.dtype
    a, b = (np.ascontiguousarray(px.asnumpy(x)) for x in (got, want))
    assert a.shape == b.shape, what
    bad = np.flatnonzero(wrong(a.reshape(-1), b.reshape(-1)))
    assert not bad.size, (
        f"{what}: {bad.size} of {a.size} differ, first at {bad[0]}: "
        f"{a.reshape(-1)[bad[0]]} instead of {b.reshape(-1)[bad[0]]}"
    )


@pytest.mark.parametrize(
    ("style", "dtype"),
    some_of(STYLED, [("own", "int16"), ("groups", "float32")]),
)
@pytest.mark.parametrize("name", CASES)
def test_same_as_cpu(device: px.Device, name: str, style: str, dtype: str) -> None:
    with in_style(device, style) as where:
        if not takes(name, dtype):
            with pytest.raises(TypeError):
                CASES[name](Operands(dtype, where))
            return
        got = parts(CASES[name](Operands(dtype, where)))
        assert all(x.device is where for x in got)
        cpu = real_cpu()
        with px.device(cpu):
            want = parts(CASES[name](Operands(dtype, cpu)))
        assert len(got) == len(want)
        for place, (a, b) in enumerate(zip(got, want, strict=True)):
            same(a, b, f"{name} of {dtype}, result {place}")
