"""Operands far from the start of their memory, and rows far from each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from phalanx._warm import launch, launch_elementwise, view
from phalanx.conformance.case import Case
from phalanx.conformance.overloads import Overload, overloads
from phalanx.optable import Structure
from phalanx.vendor import Array

#: Bytes beyond which a place needs more than 24 bits; the block has more than twice as many.
_FAR = 1 << 24
_OPS = {"negative": "int8", "add": "int32", "copy": "int8", "max": "int8", "sort": "int32"}
_CASES = [
    overload
    for overload in overloads(*Structure)
    if set(overload.inputs) == {_OPS.get(overload.op)} == set(overload.outputs)
]


@pytest.mark.parametrize("overload", _CASES, ids=str)
def test_far_places(case: Case, overload: Overload) -> None:
    """Operands and results beyond 16 MiB, and rows that are further apart than that."""
    rng = case.rng()
    kind = np.dtype(overload.inputs[0])
    count, far = 2 * _FAR // kind.itemsize + 5000, _FAR // kind.itemsize
    base = px.zeros(count, dtype=getattr(px, kind.name))
    host = np.zeros(count, kind)
    places = [(far + 67, (1000, 1)), (131, (far + 501, 1)), (count - 1, (-far - 7, -1))]
    if case.quick:
        places = [places[int(rng.integers(len(places)))]]
    for first, strides in places:
        values = rng.integers(-100, 100, (2, 1000)).astype(kind)
        inputs = _place(base, host, values, strides, first)
        shape = (2,) if overload.op == "max" else (2, 1000)
        to = first + (2048 if strides[1] > 0 else -2048)
        out = _place(base, host, np.zeros(shape, kind), strides[: len(shape)], to)
        want = _want(overload.op, values)
        _launch(overload, inputs, out)
        _window(host, shape, strides, to)[...] = want
        found = np.asarray(px.asnumpy(base))
        wrong = np.flatnonzero(found != host)
        assert not wrong.size, (
            f"rows {strides[0]} elements apart from element {first} on: {wrong.size} elements of "
            f"the memory are wrong, the first is {wrong[0]}: {found[wrong[0]]} for {host[wrong[0]]}"
        )


def _window(
    host: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], first: int
) -> np.ndarray:
    steps = [s * host.itemsize for s in strides[: len(shape)]]
    return np.lib.stride_tricks.as_strided(host[first:], shape, steps)


def _place(
    base: Array, host: np.ndarray, values: np.ndarray, strides: tuple[int, ...], first: int
) -> Array:
    """Write values into both memories, in plain slices, and return the view of the device's."""
    window = _window(host, values.shape, strides, first)
    window[...] = values
    for number in range(values.shape[0]):
        low = first + number * strides[0]
        low -= values.shape[1] - 1 if values.ndim > 1 and strides[1] < 0 else 0
        high = low + (values.shape[1] if values.ndim > 1 else 1)
        base[low:high] = px.asarray(host[low:high])
    return view(base, values.shape, strides[: values.ndim], first)


def _want(op: str, values: np.ndarray) -> np.ndarray:
    done: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "negative": np.negative,
        "add": lambda x: x + x,
        "max": lambda x: np.max(x, axis=-1),
        "sort": lambda x: np.sort(x, axis=-1),
        "copy": np.copy,
    }
    return np.asarray(done[op](values))


def _launch(overload: Overload, x: Array, out: Array) -> None:
    if overload.op in ("negative", "add", "copy"):
        launch_elementwise(overload.op, (x,) * len(overload.inputs), out)
    else:
        launch(overload.op, (x,), (out,), (0,) if overload.op == "sort" else ())
