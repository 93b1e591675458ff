"""Bad input raises the error that the caller would catch, and nothing is changed by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    need,
    other_device,
    put,
    same,
    whole_numbers,
)

#: Calls on an int32 array (3, 4) that are refused, by the error.
_VALUE_ERRORS: dict[str, Callable[[px.Array], object]] = {
    "add_of_shapes": lambda x: x + x[:, :3],
    "in_place_of_shapes": lambda x: x[0].__iadd__(x),
    "assignment_of_shapes": lambda x: x.__setitem__(0, x[:, 0]),
    "reshape": lambda x: px.reshape(x, (5,)),
    "reshape_two_unknown": lambda x: px.reshape(x, (-1, -1)),
    "reshape_unknown_of_nothing": lambda x: px.reshape(x[:0], (0, -1)),
    "squeeze": lambda x: px.squeeze(x, axis=0),
    "broadcast_to": lambda x: px.broadcast_to(x, (3, 5)),
    "broadcast_to_fewer_axes": lambda x: px.broadcast_to(x, (4,)),
    "permute_dims_twice": lambda x: px.permute_dims(x, (0, 0)),
    "permute_dims_too_few": lambda x: px.permute_dims(x, (0,)),
    "moveaxis": lambda x: px.moveaxis(x, (0, 1), (0,)),
    "expand_dims_twice": lambda x: px.expand_dims(x, axis=(1, 1)),
    "concat_of_shapes": lambda x: px.concat([x, x[:, :2]]),
    "concat_of_ranks": lambda x: px.concat([x, x[0]]),
    "concat_of_none": lambda _: px.concat([]),
    "concat_of_numbers": lambda x: px.concat([x[0, 0], x[0, 0]]),
    "stack_of_shapes": lambda x: px.stack([x, x[0]]),
    "roll": lambda x: px.roll(x, (1, 2), axis=0),
    "repeat_negative": lambda x: px.repeat(x, -1),
    "repeat_counts": lambda x: px.repeat(x, px.asarray([1, 2]), axis=0),
    "repeat_negative_counts": lambda x: px.repeat(x, px.asarray([1, -2, 1]), axis=0),
    "tile": lambda x: px.tile(x, (-1,)),
    "sum_axis_twice": lambda x: px.sum(x, axis=(0, 0)),
    "sum_axis_twice_by_sign": lambda x: px.sum(x, axis=(0, -2)),
    "max_of_nothing": lambda x: px.max(x[:0]),
    "argmin_of_nothing": lambda x: px.argmin(x[:, :0], axis=1),
    "matmul": lambda x: px.matmul(x, x),
    "matmul_of_number": lambda x: px.matmul(x, x[0, 0]),
    "matmul_of_stacks": lambda x: px.matmul(px.stack([x, x]), px.stack([x.T, x.T, x.T])),
    "tensordot": lambda x: px.tensordot(x, x, axes=1),
    "vecdot": lambda x: px.vecdot(x, x[:, :3]),
    "sort_of_number": lambda x: px.sort(x[0, 0]),
    "nonzero_of_number": lambda x: px.nonzero(x[0, 0]),
    "searchsorted": lambda x: px.searchsorted(x, x),
    "searchsorted_side": lambda x: px.searchsorted(x[0], x, side="middle"),  # type: ignore[arg-type]
    "take_without_axis": lambda x: px.take(x, px.asarray([0])),
    "take_along_axis": lambda x: px.take_along_axis(x, px.asarray([0])),
    "cumulative_sum_without_axis": px.cumulative_sum,
    "diff": lambda x: px.diff(x, n=-1),
    "tril": lambda x: px.tril(x[0]),
    "meshgrid": px.meshgrid,
    "meshgrid_indexing": lambda x: px.meshgrid(x[0], indexing="ab"),
    "zeros_negative": lambda _: px.zeros((2, -1)),
    "arange_step": lambda _: px.arange(0, 5, 0),
    "linspace": lambda _: px.linspace(0, 1, -1),
    "step_of_0": lambda x: x[::0],
    "T_of_stack": lambda x: px.stack([x, x]).T,
    "ragged": lambda _: px.asarray([[1, 2], [3]]),
    "no_view": lambda x: px.reshape(x.T, (12,), copy=False),
}
_TYPE_ERRORS: dict[str, Callable[[px.Array], object]] = {
    "add_of_kinds": lambda x: x + px.ones(4, dtype=px.float32),
    "in_place_of_kinds": lambda x: x.__iadd__(px.ones(4, dtype=px.float32)),
    "in_place_float": lambda x: x.__iadd__(0.5),
    "assignment_of_fraction": lambda x: x.__setitem__(0, 0.5),
    "assignment_of_complex": lambda x: x.__setitem__(0, 1j),
    "assignment_of_complex_array": lambda x: x.__setitem__(0, px.ones(4, dtype=px.complex64)),
    "add_of_text": lambda x: x + "a",  # type: ignore[operator]
    "add_of_none": lambda x: x + None,  # type: ignore[operator]
    "add_of_list": lambda x: px.add(x, [1, 2, 3, 4]),  # type: ignore[arg-type]
    "add_function_of_text": lambda x: px.add(x, "b"),  # type: ignore[arg-type]
    "no_array": lambda _: px.add(1, 2),
    "sum_of_list": lambda _: px.sum([1, 2]),  # type: ignore[arg-type]
    "exp_of_bool": lambda x: px.exp(x > 0),
    "bitwise_of_float": lambda x: px.bitwise_and(*[px.astype(x, px.float32)] * 2),
    "invert_float": lambda x: ~px.astype(x, px.float32),
    "negative_of_bool": lambda x: -(x > 0),
    "sort_of_complex": lambda x: px.sort(px.astype(x, px.complex64)),
    "max_of_complex": lambda x: px.max(px.astype(x, px.complex64)),
    "less_of_complex": lambda x: px.less(px.astype(x, px.complex64), px.astype(x, px.complex64)),
    "complex_to_real": lambda x: px.astype(px.astype(x, px.complex64), px.float32),
    "where_condition": lambda x: px.where(x, x, x),
    "concat_of_kinds": lambda x: px.concat([x, px.ones((3, 4), dtype=px.float32)]),
    "axis": lambda x: px.sum(x, axis="rows"),  # type: ignore[arg-type]
    "argmax_axes": lambda x: px.argmax(x, axis=(0,)),  # type: ignore[arg-type]
    "shape": lambda _: px.zeros((2, 1.5)),  # type: ignore[arg-type]
    "dtype": lambda _: px.zeros(2, dtype="int7"),
    "asarray_of_text": lambda _: px.asarray("abc"),
    "take_of_floats": lambda x: px.take(x, px.ones(2, dtype=px.float32), axis=0),
    "matmul_of_bool": lambda x: px.matmul(x > 0, x.T > 0),
    "truth_of_many": bool,
    "float_of_many": float,
    "length_of_number": lambda x: len(x[0, 0]),
    "iteration_over_number": lambda x: list(x[0, 0]),
    "hash": hash,
    "finfo": lambda _: px.finfo(px.int32),
    "iinfo": lambda _: px.iinfo(px.float32),
}
_INDEX_ERRORS: dict[str, Callable[[px.Array], object]] = {
    "integer": lambda x: x[3],
    "negative_integer": lambda x: x[0, -5],
    "write": lambda x: x.__setitem__(3, 1),
    "too_many": lambda x: x[0, 0, 0],
    "write_of_too_many": lambda x: x.__setitem__((0, 0, 0), 1),
    "two_ellipses": lambda x: x[..., ...],
    "float": lambda x: x[1.0],
    "text": lambda x: x["a"],
    "float_array": lambda x: x[px.ones(2, dtype=px.float32)],
    "mask_of_another_shape": lambda x: x[px.ones(4, dtype=px.bool)],
    "write_by_mask_of_another_shape": lambda x: x.__setitem__(px.ones((3, 3), dtype=px.bool), 1),
    "arrays_of_shapes": lambda x: x[px.asarray([0, 1]), px.asarray([0, 1, 2])],
    "sum_axis": lambda x: px.sum(x, axis=2),
    "sum_negative_axis": lambda x: px.sum(x, axis=-3),
    "sum_one_of_axes": lambda x: px.sum(x, axis=(0, 2)),
    "argmax_axis": lambda x: px.argmax(x, axis=2),
    "sort_axis": lambda x: px.sort(x, axis=2),
    "concat_axis": lambda x: px.concat([x, x], axis=2),
    "stack_axis": lambda x: px.stack([x, x], axis=4),
    "flip_axis": lambda x: px.flip(x, axis=2),
    "roll_axis": lambda x: px.roll(x, 1, axis=-3),
    "squeeze_axis": lambda x: px.squeeze(x, axis=2),
    "expand_dims_axis": lambda x: px.expand_dims(x, axis=4),
    "unstack_axis": lambda x: px.unstack(x, axis=2),
    "take_axis": lambda x: px.take(x, px.asarray([0]), axis=2),
    "permute_dims_axis": lambda x: px.permute_dims(x, (0, 2)),
}
_OVERFLOWS: dict[str, Callable[[px.Array], object]] = {
    "add": lambda x: x + 2**31,
    "full": lambda _: px.full(2, 256, dtype=px.uint8),
    "asarray": lambda _: px.asarray([1, -1], dtype=px.uint16),
    "arange": lambda _: px.arange(0, 300, dtype=px.int8),
    "assignment": lambda x: x.__setitem__(0, 2**31),
    "in_place": lambda x: x.__iadd__(-(2**31) - 1),
}
_REFUSED: dict[str, tuple[type[Exception], Callable[[px.Array], object]]] = {
    f"{error.__name__}-{name}": (error, call)
    for error, calls in (
        (ValueError, _VALUE_ERRORS),
        (TypeError, _TYPE_ERRORS),
        (IndexError, _INDEX_ERRORS),
        (OverflowError, _OVERFLOWS),
    )
    for name, call in calls.items()
}


@pytest.mark.parametrize("what", _REFUSED)
def test_refused_call(case: Case, what: str) -> None:
    """The error has the right type, and afterwards all is as before."""
    error, call = _REFUSED[what]
    if "complex" in what:
        need(case, "complex64")
    host = whole_numbers(case, (3, 4), "int32")
    x = put(case, host)
    with pytest.raises(error) as found:
        call(x)
    assert str(found.value), f"{error.__name__} without a message"
    case.device.synchronize()
    same(case, x, host, "the operand after the error")
    same(case, x + x, host + host, "a sum after the error")
    assert px.get_device() is case.device, "another device is current after the error"


#: Calls of two arrays (2, 2), both float32 or (if named so) of the kind that the call takes.
_TWO_DEVICES: dict[str, Callable[[px.Array, px.Array], Any]] = {
    "add": lambda x, y: x + y,
    "add_function": px.add,
    "less": lambda x, y: x < y,
    "in_place": lambda x, y: x.__iadd__(y),
    "assignment": lambda x, y: x.__setitem__(0, y[0]),
    "where": lambda x, y: px.where(x > 0, x, y),
    "where_condition": lambda x, y: px.where(y > 0, x, x),
    "clip": lambda x, y: px.clip(x, y, y),
    "matmul": lambda x, y: x @ y,
    "tensordot": px.tensordot,
    "vecdot": px.vecdot,
    "concat": lambda x, y: px.concat([x, y]),
    "stack": lambda x, y: px.stack([x, y]),
    "index": lambda x, y: x[px.astype(y, px.int32)],
    "mask": lambda x, y: x[y > 0],
    "write_by_mask": lambda x, y: x.__setitem__(y > 0, 1),
    "take": lambda x, y: px.take(x, px.astype(y[0], px.int32), axis=0),
    "searchsorted": lambda x, y: px.searchsorted(x[0], y),
    "isin": px.isin,
    "diff": lambda x, y: px.diff(x, append=y),
    "repeat": lambda x, y: px.repeat(x, px.astype(y[0], px.int32), axis=0),
    "solve": px.linalg.solve,
    "outer": lambda x, y: px.linalg.outer(x[0], y[0]),
    "cross": lambda x, y: px.linalg.cross(px.repeat(x[:, 0], 3)[:3], px.repeat(y[:, 0], 3)[:3]),
}


@pytest.mark.parametrize("what", _TWO_DEVICES)
@pytest.mark.allows_fallback
def test_two_devices(case: Case, what: str) -> None:
    """Arrays of two devices in one call are refused with both names, and nothing moves."""
    other = other_device(case)
    host = np.asarray([[1, 0], [1, 1]], np.float32)
    x, y = put(case, host), px.asarray(host, device=other)
    for first, second in ((x, y), (y, x)):
        with pytest.raises(px.DeviceMismatchError) as found:
            _TWO_DEVICES[what](first, second)
        for device in (case.device, other):
            assert str(device) in str(found.value), f"{device} is not named: {found.value}"
    same(case, x, host)
    assert np.array_equal(px.asnumpy(y), host)
