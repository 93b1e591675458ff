"""Joining, turning and repeating: every function on every layout, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    either,
    put,
    same,
    subsets,
    whole_numbers,
)

_DTYPES = ("bool", "int8", "int32", "float32", "complex64")
_SHAPE = (3, 4, 5)

#: Functions of one array (3, 4, 5).
_CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "concat": lambda xp, x: xp.concat([x, x[:1], x[2:]]),
    "concat_of_two_views": lambda xp, x: xp.concat((x[..., ::2], x[..., ::-1]), axis=2),
    "concat_negative_axis": lambda xp, x: xp.concat([x, x], axis=-2),
    "concat_flat": lambda xp, x: xp.concat([x, x[0], x[0, 0, 0]], axis=None),
    "concat_empty": lambda xp, x: xp.concat([x[:0], x, x[:0]]),
    "concat_of_nothing": lambda xp, x: xp.concat([x[:0], x[:0]]),
    "stack": lambda xp, x: xp.stack([x, x[::-1]]),
    "stack_behind": lambda xp, x: xp.stack([x[0], x[1], x[2]], axis=-1),
    "stack_between": lambda xp, x: xp.stack([x, x], axis=2),
    "stack_numbers": lambda xp, x: xp.stack([x[0, 0, 0], x[1, 1, 1]]),
    "roll": lambda xp, x: xp.roll(x, 7),
    "roll_back": lambda xp, x: xp.roll(x, -61),
    "roll_axis": lambda xp, x: xp.roll(x, 3, axis=1),
    "roll_last_axis_far": lambda xp, x: xp.roll(x, -1002, axis=-1),
    "roll_axes": lambda xp, x: xp.roll(x, (1, -2), axis=(0, 2)),
    "roll_axis_twice": lambda xp, x: xp.roll(x, (1, 2), axis=(1, 1)),
    "roll_one_shift": lambda xp, x: xp.roll(x, 2, axis=(0, 1)),
    "flip": lambda xp, x: xp.flip(x),
    "flip_negative_axis": lambda xp, x: xp.flip(x, axis=-2),
    "flip_axes": lambda xp, x: xp.flip(x, axis=(0, -1)),
    "repeat": lambda xp, x: xp.repeat(x, 3),
    "repeat_axis": lambda xp, x: xp.repeat(x, 2, axis=1),
    "repeat_not": lambda xp, x: xp.repeat(x, 0, axis=-1),
    "repeat_counts": lambda xp, x: xp.repeat(x, xp.asarray([2, 0, 3]), axis=0),
    "repeat_one_count": lambda xp, x: xp.repeat(x, xp.asarray([2]), axis=2),
    "repeat_no_counts": lambda xp, x: xp.repeat(x, xp.asarray([0, 0, 0]), axis=0),
    "tile": lambda xp, x: xp.tile(x, (2, 1, 3)),
    "tile_fewer": lambda xp, x: xp.tile(x, (2,)),
    "tile_more": lambda xp, x: xp.tile(x, (2, 1, 1, 2)),
    "tile_none": lambda xp, x: xp.tile(x, (1, 0, 1)),
    "reshape": lambda xp, x: xp.reshape(x, (2, 15, 2)),
    "reshape_flat": lambda xp, x: xp.reshape(x, (-1,)),
    "squeeze": lambda xp, x: xp.squeeze(x[:, :1, :1], axis=(1, -1)),
    "squeeze_nothing": lambda xp, x: xp.squeeze(x, axis=()),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=-1),
    "expand_dims_several": lambda xp, x: xp.expand_dims(x, axis=(0, -2)),
    "moveaxis_several": lambda xp, x: xp.moveaxis(x, (0, 1), (-1, 0)),
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x[:, :1], (2, 3, 4, 5)),
}


@pytest.mark.parametrize("call", _CALLS)
def test_manipulation(case: Case, call: str) -> None:
    """The result has the elements, the shape and the dtype that NumPy gives."""
    for dtype in either(case, _DTYPES, 2, call):
        for layout in LAYOUTS:
            host = whole_numbers(case, _SHAPE, dtype, layout)
            got = _CALLS[call](px, put(case, host, layout))
            same(case, got, _CALLS[call](np, host), f"{call} of {layout} {dtype}")


def test_permute_dims(case: Case) -> None:
    """Every order of four axes, with negative numbers too."""
    host = whole_numbers(case, (2, 3, 4, 5), "int32")
    x = put(case, host, "mixed")
    for axes in permutations(range(4)):
        same(case, px.permute_dims(x, axes), np.permute_dims(host, axes), str(axes))
        negative = tuple(a - 4 for a in axes)
        same(case, px.permute_dims(x, negative), np.permute_dims(host, axes), str(negative))
        copied = px.reshape(px.permute_dims(x, axes), (120,))
        same(case, copied, np.permute_dims(host, axes).ravel(), f"{axes}, laid out anew")


def test_moveaxis(case: Case) -> None:
    """Every axis to every place."""
    host = whole_numbers(case, (2, 3, 4, 5), "int32")
    x = put(case, host)
    for source in range(-4, 4):
        for target in range(-4, 4):
            want = np.moveaxis(host, source, target)
            same(case, px.moveaxis(x, source, target), want, f"{source} to {target}")


def test_expand_dims(case: Case) -> None:
    """New axes at every set of places, and ``squeeze`` takes them away again."""
    host = whole_numbers(case, (3, 4), "int32")
    x = put(case, host, "transposed")
    for axes in subsets(range(5)):
        if len(axes) + 2 <= max(axes, default=0):
            continue
        wide = px.expand_dims(x, axis=axes)
        same(case, wide, np.expand_dims(host, axes), f"expand_dims {axes}")
        same(case, px.squeeze(wide, axis=axes), host, f"squeeze {axes}")


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_unstack(case: Case, axis: int) -> None:
    """The slices along an axis, and ``stack`` joins them again."""
    for layout in LAYOUTS:
        host = whole_numbers(case, _SHAPE, "float32", layout)
        parts = px.unstack(put(case, host, layout), axis=axis)
        wanted = np.unstack(host, axis=axis)
        assert isinstance(parts, tuple)
        assert len(parts) == len(wanted)
        for got, want in zip(parts, wanted, strict=True):
            same(case, got, want)
        same(case, px.stack(parts, axis=axis), host, "stack of unstack")


@pytest.mark.parametrize("name", ["concat", "stack"])
def test_many_parts(case: Case, name: str) -> None:
    """Hundreds of arrays of different lengths, of one length in ``stack``."""
    lengths = case.rng(name).integers(0, 9, 300).tolist() if name == "concat" else [5] * 300
    hosts = [whole_numbers(case, (n, 3), "int32", i) for i, n in enumerate(lengths)]
    parts = [put(case, h, LAYOUTS[i % 3]) for i, h in enumerate(hosts)]
    same(case, getattr(px, name)(parts), getattr(np, name)(hosts))


@pytest.mark.parametrize("count", [255, 1025, 70_001])
def test_long_arrays(case: Case, count: int) -> None:
    """Long arrays, with elements behind the last whole block, are complete."""
    host = np.arange(count, dtype=np.int32)
    x = put(case, host)
    same(case, px.concat([x, x[::-1]]), np.concat([host, host[::-1]]), "concat")
    same(case, px.roll(x, 100), np.roll(host, 100), "roll")
    same(case, px.repeat(x, 2), np.repeat(host, 2), "repeat")
    same(case, px.tile(x, (2,)), np.tile(host, (2,)), "tile")
    same(case, px.reshape(px.flip(x), (count, 1)), host[::-1][:, None], "flip and reshape")
    same(case, px.stack([x, x], axis=1), np.stack([host, host], axis=1), "stack")
