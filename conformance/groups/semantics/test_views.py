"""Which results share memory with their operand, and what is seen through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import LAYOUTS, put, same, whole_numbers
from phalanx.conformance.layouts import place

_SHAPE = (4, 3, 5)
_DTYPES = ("int32", "uint8", "float32", "complex64")

#: Basic keys, and functions that the documentation says give views.
_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "integer": lambda _, x: x[2],
    "negative_integer": lambda _, x: x[-1, -2],
    "all_integers": lambda _, x: x[1, 2, 3],
    "slice": lambda _, x: x[1:3],
    "step": lambda _, x: x[::2, :, 1::3],
    "negative_step": lambda _, x: x[::-1, :, ::-2],
    "negative_step_with_ends": lambda _, x: x[3:0:-1, -1:-9:-1],
    "ends_out_of_range": lambda _, x: x[-10:10, 2:99],
    "ellipsis": lambda _, x: x[..., 2],
    "ellipsis_between": lambda _, x: x[1, ..., 1:],
    "ellipsis_of_nothing": lambda _, x: x[:, 1, ..., 2:4],
    "newaxis": lambda _, x: x[None, :, None, 1],
    "newaxis_behind": lambda _, x: x[..., None],
    "integer_and_slice": lambda _, x: x[1, 1:, ::-1],
    "empty_slice": lambda _, x: x[2:2],
    "of_a_view": lambda _, x: x[1:][::-1][:, 1:][..., ::2],
    "of_a_negative_view": lambda _, x: x[::-1][1][1:, ::-1][:, 1],
    "mT": lambda _, x: x.mT,
    "T": lambda _, x: x[1].T,
    "matrix_transpose": lambda xp, x: xp.matrix_transpose(x),
    "permute_dims": lambda xp, x: xp.permute_dims(x, (2, 0, 1)),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, -1),
    "expand_dims": lambda xp, x: xp.expand_dims(x, axis=1),
    "squeeze": lambda xp, x: xp.squeeze(x[:, 1:2], axis=1),
    "flip": lambda xp, x: xp.flip(x, axis=(0, 2)),
    "unstack": lambda xp, x: xp.unstack(x, axis=1)[2],
    "broadcast_to": lambda xp, x: xp.broadcast_to(x[:, :1], _SHAPE),
    "transposed_step": lambda _, x: x.mT[1, ::2, ::-1],
}

#: What gives elements of its own.
_COPIES: dict[str, Callable[[Any, Any], Any]] = {
    "astype": lambda xp, x: xp.astype(x, x.dtype),
    "asarray": lambda xp, x: xp.asarray(x, copy=True),
    "concat": lambda xp, x: xp.concat([x]),
    "stack": lambda xp, x: xp.stack([x, x], axis=1),
    "repeat": lambda xp, x: xp.repeat(x, 1, axis=0),
    "tile": lambda xp, x: xp.tile(x, (1, 1, 1)),
    "roll_by_nothing": lambda xp, x: xp.roll(x, 0, axis=0),
    "reshape_with_copy": lambda xp, x: xp.reshape(x, (60,), copy=True),
    "integer_array": lambda xp, x: x[xp.asarray([0, 1, 2, 3])],
    "mask": lambda _, x: x[x == x],  # noqa: PLR0124 - a mask of all elements
    "take": lambda xp, x: xp.take(x, xp.asarray([1, 0]), axis=1),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0, 0])[0],
    "reversed_and_repeated": lambda xp, x: xp.repeat(x[::-1], 1, axis=1),
    "sort_of_one": lambda xp, x: xp.sort(x[..., :1]),
    "positive": lambda _, x: +x,
}


@pytest.mark.parametrize("view", _VIEWS)
def test_views(case: Case, view: str) -> None:
    """A view has the right elements, and shows what is written to its base later."""
    make = _VIEWS[view]
    for dtype in _DTYPES[: 2 if case.quick else None]:
        for layout in LAYOUTS:
            before = whole_numbers(case, _SHAPE, dtype, "before")
            after = whole_numbers(case, _SHAPE, dtype, "after")
            x = put(case, before, layout)
            found = make(px, x)
            same(case, found, make(np, before), f"view of {layout} {dtype}")
            x[...] = put(case, after)
            same(case, found, make(np, after), f"view of {layout} {dtype} after a write")


@pytest.mark.parametrize("view", [v for v in _VIEWS if v != "broadcast_to"])
def test_write_through(case: Case, view: str) -> None:
    """What is written to a view is in its base, and nothing else is."""
    make = _VIEWS[view]
    for dtype in _DTYPES[: 2 if case.quick else None]:
        for layout in LAYOUTS:
            host = whole_numbers(case, _SHAPE, dtype)
            placed = place(case.device, host, dtype, layout)
            values = whole_numbers(case, make(np, host).shape, dtype, "new")
            make(px, placed.array)[...] = put(case, values)
            part = make(np, places := np.arange(host.size).reshape(_SHAPE))
            want = host.copy()
            want[np.isin(places, part)] = values.ravel()[np.argsort(part, axis=None)]
            same(case, placed.array, want, f"the base, {layout} {dtype}")
            assert placed.outside_intact(), f"memory around {layout} {dtype} changed"


@pytest.mark.parametrize("copy", _COPIES)
def test_copies(case: Case, copy: str) -> None:
    """What is written later to the operand of a copying function is not seen in the result."""
    for dtype in ("int32", "float32"):
        host = whole_numbers(case, _SHAPE, dtype)
        x = put(case, host)
        found = _COPIES[copy](px, x)
        x[...] = 77
        same(case, found, _COPIES[copy](np, host), dtype)


_RESHAPES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], bool]] = {
    "flat": (lambda x: x, (60,), True),
    "minus_one": (lambda x: x, (5, -1, 2), True),
    "split": (lambda x: x, (2, 2, 3, 1, 5), True),
    "same_shape_of_transposed": (lambda x: x.mT, (4, 5, 3), True),
    "ones_in_transposed": (lambda x: x.mT, (1, 4, 5, 1, 3), True),
    "outer_axes_of_step": (lambda x: x[..., ::2], (12, 3), True),
    "split_of_step": (lambda x: x[::2], (2, 3, 5, 1), True),
    "split_of_negative_step": (lambda x: x[::-1], (2, 2, 15), True),
    "from_one_element": (lambda x: x[1, 1, 1], (1, 1), True),
    "empty": (lambda x: x[2:2], (5, 0, 7), True),
    "flat_of_transposed": (lambda x: x.mT, (60,), False),
    "flat_of_step": (lambda x: x[..., ::2], (36,), False),
    "flat_of_negative_step": (lambda x: x[:, ::-1], (60,), False),
    "merge_of_cut_axes": (lambda x: x[:, 1:], (8, 5), False),
}


@pytest.mark.parametrize("rule", _RESHAPES)
def test_reshape_copies(case: Case, rule: str) -> None:
    """The order is that of C; ``copy=False`` gives a view or raises, ``copy=True`` never does."""
    make, shape, is_view = _RESHAPES[rule]
    host = whole_numbers(case, _SHAPE, "int32")
    want = np.reshape(make(host), shape)
    x = put(case, host)
    same(case, px.reshape(make(x), shape), want)
    copied = px.reshape(make(x), shape, copy=True)
    if is_view:
        view = px.reshape(make(x), shape, copy=False)
        same(case, view, want)
    else:
        with pytest.raises(ValueError, match="copy"):
            px.reshape(make(x), shape, copy=False)
    x[...] = 99
    same(case, copied, want, "copy=True after a write")
    if is_view:
        same(case, view, np.full(want.shape, 99, np.int32), "copy=False after a write")


_ASSIGNMENTS: dict[str, Callable[[Any], Any]] = {
    "number": lambda x: x.__setitem__(..., 3),
    "number_in_step": lambda x: x.__setitem__((slice(None), slice(None, None, 2)), 4),
    "number_in_negative_step": lambda x: x.__setitem__((slice(None, None, -3), 1), 5),
    "number_in_element": lambda x: x.__setitem__((2, 3), 6),
    "number_in_transposed": lambda x: x.T.__setitem__((slice(1, None), 0), 7),
    "row_to_all": lambda x: x.__setitem__(slice(1, None), x[0]),
    "column_to_all": lambda x: x.__setitem__((slice(None), slice(1, None)), x[:, :1]),
    "shift_up": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "shift_down": lambda x: x.__setitem__(slice(None, -1), x[1:]),
    "shift_right": lambda x: x.__setitem__((slice(None), slice(3, None)), x[:, :-3]),
    "shift_left": lambda x: x.__setitem__((slice(None), slice(None, -1)), x[:, 1:]),
    "reverse": lambda x: x.__setitem__(slice(None), x[::-1]),
    "reverse_both": lambda x: x.__setitem__(..., x[::-1, ::-1]),
    "transpose": lambda x: x[:6, :6].__setitem__(..., x[:6, :6].T),
    "leading_ones": lambda x: x.__setitem__(0, x[None, None, 1]),
    "empty": lambda x: x.__setitem__(slice(3, 3), 9),
}


@pytest.mark.parametrize("what", _ASSIGNMENTS)
def test_assignment(case: Case, what: str) -> None:
    """A write takes all its values before it changes any, even where both sides overlap."""
    for dtype in ("int32", "uint8") if case.quick else ("uint8", "int32", "float32", "complex64"):
        for layout in LAYOUTS:
            want = whole_numbers(case, (9, 37), dtype, layout)
            placed = place(case.device, want, dtype, layout)
            _ASSIGNMENTS[what](placed.array)
            _ASSIGNMENTS[what](want)
            same(case, placed.array, want, f"{layout} {dtype}")
            assert placed.outside_intact(), f"memory around the {layout} {dtype} array changed"


def _add(x: Any, y: Any) -> None:
    x += y


def _subtract(x: Any, y: Any) -> None:
    x -= y


def _multiply(x: Any, y: Any) -> None:
    x *= y


_IN_PLACE: dict[str, Callable[[Any], None]] = {
    "number": lambda x: _add(x, 2),
    "itself": lambda x: _add(x, x),
    "itself_reversed": lambda x: _subtract(x, x[::-1]),
    "itself_transposed": lambda x: _multiply(x[:7, :7], x[:7, :7].T),
    "row": lambda x: _multiply(x, x[2]),
    "column": lambda x: _subtract(x, x[:, 3:4]),
    "step": lambda x: _add(x[:, ::2], 5),
    "negative_step": lambda x: _subtract(x[::-2, ::-1], x[::2]),
    "shifted_up": lambda x: _add(x[1:], x[:-1]),
    "shifted_right": lambda x: _add(x[:, 1:], x[:, :-1]),
    "shifted_by_three": lambda x: _subtract(x[:, 3:], x[:, :-3]),
    "shifted_left": lambda x: _multiply(x[:, :-1], x[:, 1:]),
    "transposed": lambda x: _add(x.T, x.T[:, :1]),
    "one_element": lambda x: _multiply(x[1, 1:2], 3),
    "empty": lambda x: _add(x[4:4], 1),
}


@pytest.mark.parametrize("what", _IN_PLACE)
def test_in_place(case: Case, what: str) -> None:
    """An operator in place on a view computes from the elements before it, and writes only it."""
    for dtype in ("int32", "float32") if case.quick else ("int8", "int32", "int64", "float32"):
        for layout in LAYOUTS:
            want = whole_numbers(case, (9, 37), dtype, layout)
            placed = place(case.device, want, dtype, layout)
            _IN_PLACE[what](placed.array)
            with np.errstate(over="ignore"):
                _IN_PLACE[what](want)
            same(case, placed.array, want, f"{layout} {dtype}")
            assert placed.outside_intact(), f"memory around the {layout} {dtype} array changed"


def test_in_place_is_the_same_array(case: Case) -> None:
    """After ``x += y`` the name is the same array, and all views of it see the sums."""
    x = px.zeros((3, 4), dtype=px.int32)
    first, row = x, x[1]
    x += 1
    assert x is first
    same(case, row, np.ones(4, np.int32))


def test_broadcast_view_is_not_written(case: Case) -> None:
    """Elements that share memory are refused as a target, and nothing changes."""
    x = px.asarray(np.arange(4, dtype=np.int32))
    wide = px.broadcast_to(x, (3, 4))
    with pytest.raises(ValueError, match="share memory"):
        wide += 1
    with pytest.raises(ValueError, match="share memory"):
        wide[1:] = 5
    same(case, x, np.arange(4, dtype=np.int32))


def test_view_outlives_its_base(case: Case) -> None:
    """A view keeps the memory of its base after every other name of it is gone."""
    views = []
    for number in range(20):
        x = px.full((100, 7), number, dtype=px.int32)
        views.append(x[number : 2 * number + 1, ::-2])
        del x
    for number, view in enumerate(views):
        same(case, view, np.full((number + 1, 4), number, np.int32), f"view {number}")
