"""``asarray`` of nested sequences: numbers, arrays, and what is odd."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
import phalanx as px
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phalanx._warm import nested_array
from phalanx.errors import DeviceMismatchError
from phalanx.optable import ALL

NUMBERS = {
    "bool": st.booleans(),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "complex": st.complex_numbers(),
}


@st.composite
def nested(draw: st.DrawFn) -> Any:
    """Lists and tuples of one shape, of numbers of one or several kinds."""
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    kinds = draw(st.lists(st.sampled_from(sorted(NUMBERS)), min_size=1, max_size=2))
    numbers = st.one_of([NUMBERS[k] for k in kinds])

    def make(depth: int) -> Any:
        if depth == len(shape):
            return draw(numbers)
        parts = [make(depth + 1) for _ in range(shape[depth])]
        return tuple(parts) if draw(st.booleans()) else parts

    return make(0)


@settings(max_examples=300, deadline=None)
@given(nested())
def test_is_numpys(data: Any) -> None:
    want = np.asarray(data)
    ours = px.asarray(data)
    assert ours.dtype.name == want.dtype.name
    assert ours.shape == want.shape
    assert px.asnumpy(ours).tobytes() == want.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_into_each_dtype(device: px.Device, name: str) -> None:
    for data in ([[1, 0], [1, 1]], [[True, False]], [[1.0, 0.0]]):
        ours = px.asarray(data, dtype=name, device=device)
        assert ours.dtype.name == name
        got = px.asnumpy(px.astype(ours, px.complex128))
        assert got.tolist() == np.asarray(data).astype(complex).tolist()


def test_large_integers_are_rounded_once() -> None:
    for number in (2**53 + 1, 2**60 + 2**36 + 1, -(2**62) - 2**38 - 1):
        ours = px.asarray([number], dtype=px.float32)
        assert px.asnumpy(ours)[0] == np.asarray([number]).astype(np.float32)[0]
    with pytest.raises(OverflowError, match=r"too (large|big)|out of bounds"):
        px.asarray([2**64])


@pytest.mark.parametrize(
    "data",
    [
        [[1, 2], [3]],
        [[1], 2],
        [1, [2]],
        [1, "a"],
        [None],
        [[[]], [[], []]],
        [{1: 2}],
        [object()],
    ],
    ids=["ragged", "depth", "depth later", "text", "none", "empties", "dict", "object"],
)
def test_what_is_no_array_is_refused(data: Any) -> None:
    assert nested_array(data, None, px.get_device()) is None
    with pytest.raises((TypeError, ValueError), match="asarray"):
        px.asarray(data)


def test_a_list_that_holds_itself() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises((ValueError, TypeError)):
        px.asarray(loop)


def test_a_list_that_another_thread_changes() -> None:
    data: list[Any] = [[0.5] * 50 for _ in range(50)]
    stop = threading.Event()

    def change() -> None:
        while not stop.is_set():
            data[3].append(1.5)
            data.append([0.5] * 50)
            data.pop()
            data[3].pop()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(100):
            with contextlib.suppress(ValueError):  # it was ragged then
                assert px.asarray(data, dtype=px.float16).shape[1] == 50
    finally:
        stop.set()
        thread.join()


class TestArraysInside:
    def test_they_are_stacked_on_their_device(self, device: px.Device) -> None:
        a, b = px.asarray([1, 2], dtype=px.int8), px.asarray([3, 4], dtype=px.int16)
        x = px.asarray([a, b])
        assert x.tolist() == [[1, 2], [3, 4]]
        assert x.dtype is px.int16
        assert x.device is device

    def test_not_on_the_current_device(self, fake: px.Device, device: px.Device) -> None:
        there = px.ones(2, device=fake)
        with px.device(device):
            x = px.asarray([there, there])
        assert x.device is fake

    def test_with_numbers_and_lists(self, device: px.Device) -> None:
        s = px.asarray(2.5, dtype=px.float32)
        x = px.asarray([s, 1, True])
        assert x.dtype is px.float32
        assert x.tolist() == [2.5, 1.0, 1.0]
        y = px.asarray([px.asarray([1, 2]), [3, 4], np.array([5, 6])])
        assert y.tolist() == [[1, 2], [3, 4], [5, 6]]
        z = px.asarray([[s, 0], [1, s]])
        assert z.tolist() == [[2.5, 0.0], [1.0, 2.5]]

    def test_dtype_and_device(self, device: px.Device, fake: px.Device) -> None:
        x = px.asarray([px.ones(2), px.zeros(2)], dtype=px.float32, device=fake)
        assert (x.dtype, x.device) == (px.float32, fake)

    def test_of_several_devices_they_are_refused(self, device: px.Device, fake: px.Device) -> None:
        if fake is device:
            pytest.skip("one device")
        with pytest.raises(DeviceMismatchError):
            px.asarray([px.ones(2, device=device), px.ones(2, device=fake)])

    def test_of_several_shapes_they_are_refused(self, device: px.Device) -> None:
        with pytest.raises(ValueError, match="shapes differ"):
            px.asarray([px.ones(2), px.ones(3)])
