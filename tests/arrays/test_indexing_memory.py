"""What indexing may touch: values that overlap their target, bad indices on a stream."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from hypothesis import HealthCheck, settings
from phalanx.abi.structs import ffi
from phalanx.optable.structured import NO_PLACE

FAKES = ("fake:0", "fakestream:0", "fakehost:0")
SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BASE = np.arange(4 * 5 * 3).reshape(4, 5, 3)


def on_device(key: Any, device: px.Device | str) -> Any:
    """The key with its NumPy arrays on a device."""
    if isinstance(key, tuple):
        return tuple(on_device(k, device) for k in key)
    return px.asarray(key, device=device) if isinstance(key, np.ndarray) else key


def same(got: px.Array, want: Any) -> None:
    have = px.asnumpy(got)
    assert have.shape == np.shape(want)
    np.testing.assert_array_equal(have, want)


def _store_and_wait(x: px.Array, key: px.Array) -> None:
    x[key] = 1.0
    px.synchronize()


class TestOverlap:
    """A value that shares memory with what is written is read as it was before."""

    @pytest.mark.parametrize("n", [8, 4099])
    @pytest.mark.parametrize(
        "write",
        [
            lambda a, on: operator.setitem(a, on(np.arange(1, a.size)), a[:-1]),
            lambda a, on: operator.setitem(a, on(np.arange(a.size - 1)), a[1:]),
            lambda a, on: operator.setitem(a, on(np.arange(a.size)), a[::-1]),
            lambda a, on: operator.setitem(a[::-1], on(np.arange(a.size)), a),
            lambda a, on: operator.setitem(a, on(np.arange(a.size) > 0), a[:-1]),
            lambda a, on: operator.setitem(a[::2], on(np.arange(a.size // 2)), a[: a.size // 2]),
            lambda a, on: operator.setitem(a, on(np.array([2])), a[:1]),
            lambda a, on: operator.setitem(a, on(np.arange(a.size) % 2 == 0), a[1]),
            lambda a, on: operator.setitem(a, a % 3 == 0, a[-1]),
            lambda a, on: operator.setitem(a, slice(1, None), a[:-1]),
            lambda a, on: operator.setitem(a, slice(None, None, -1), a),
            lambda a, on: operator.setitem(a, True, a[::-1]),
        ],
    )
    def test_of_one_axis(self, device: px.Device, n: int, write: Callable[..., None]) -> None:
        host = np.arange(n)
        here = px.asarray(host)
        write(host, lambda key: key)
        write(here, lambda key: on_device(key, device))
        same(here, host)

    def test_of_rows(self, device: px.Device) -> None:
        host = np.arange(400.0).reshape(100, 4)
        here = px.asarray(host)
        places = np.arange(1, 100)
        here[px.asarray(places)] = here[:-1]
        host[places] = host[:-1].copy()
        same(here, host)

    def test_of_the_index_itself(self, device: px.Device) -> None:
        host = np.roll(np.arange(1000), 1)
        here = px.asarray(host)
        here[here] = here
        want = host.copy()
        want[host] = host
        same(here, want)

    def test_of_the_mask_itself(self, device: px.Device) -> None:
        mask = px.asarray(np.arange(1000) % 3 == 0)
        mask[mask] = False
        assert not px.any(mask)

    def test_of_a_mask_over_the_same_bytes(self, cpu: px.Device) -> None:
        """Two views of one memory whose elements differ in size."""
        memory = np.arange(64, dtype=np.uint8) % 2
        mask = px.asarray(memory[:32].view(bool), copy=False)
        words = px.asarray(memory.view(np.int16), copy=False)
        want = np.where(memory[:32].view(bool), 7, memory.view(np.int16))
        words[mask] = 7
        same(words, want)

    def test_of_bytes_that_become_words(self, cpu: px.Device) -> None:
        memory = np.arange(64, dtype=np.int8)
        want = memory[:32].astype(np.int16)
        px.asarray(memory.view(np.int16), copy=False)[...] = px.asarray(memory[:32], copy=False)
        np.testing.assert_array_equal(memory.view(np.int16), want)


@pytest.mark.parametrize("value", [3, px.float32], ids=["number", "array"])
def test_a_mask_writes_in_place(device: px.Device, value: Any) -> None:
    """Without a full temporary, and only where the mask is true."""
    host = np.arange(1 << 16, dtype=np.float32).reshape(256, 256)
    x, keep = px.asarray(host), px.asarray(host % 3 == 0)
    one = px.asarray(3.0, dtype=value) if value is px.float32 else value
    px.synchronize()
    px.reset_peak_memory_stats()
    before = px.memory_stats()["allocated_peak"]
    x.T[keep.T] = one
    assert px.memory_stats()["allocated_peak"] == before
    same(x, np.where(host % 3 == 0, np.float32(3), host))


def test_no_place_is_that_of_the_header() -> None:
    assert ffi().dlopen(None).PHX_NO_PLACE == NO_PLACE == -(2**56)


def _indices(axes: int, count: int, lost: str) -> list[np.ndarray]:
    """Indices of axes of 4 elements; bad ones, of one axis or all, miss by less than 8 elements."""
    rng = np.random.default_rng([axes, count])
    bad = rng.random(count) < 0.4
    bad[:2] = True, False
    keys = [rng.integers(-4, 4, count) for _ in range(axes)]
    for axis, key in enumerate(keys):
        here = bad if lost == "all" else bad & (np.arange(count) % axes == axis)
        key[here] = rng.choice([4, 11, -5, -12], int(here.sum()))
    return keys


@pytest.mark.needs_cpu
@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("lost", ["one", "all"])
@pytest.mark.parametrize("count", [5, 3000])
def test_bad_index_on_a_stream_stays_inside(
    cpu: px.Device, dtype: str, axes: int, lost: str, count: int
) -> None:
    room = np.random.default_rng(0).integers(1, 100, (20, 20, 20)).astype(dtype)
    whole = px.asarray(room, copy=True)
    x, inside = whole[8:12, 8:12, 8:12], room[8:12, 8:12, 8:12]
    keys = _indices(axes, count, lost)
    key = tuple(px.asarray(k) for k in keys)
    with px.Stream(cpu) as stream:
        found = x[key]
        with pytest.raises(IndexError, match=r"extent 4; valid indices are in \[-4, 4\)"):
            stream.synchronize()
        for _ in range(2):
            with pytest.raises(IndexError, match="extent 4"):
                px.asnumpy(found)
        values = (1 + np.arange(found.size).reshape(found.shape) % 50).astype(dtype)
        zero = np.zeros((), dtype).item()
        for value in (zero, px.asarray(values)):
            x[key] = value
            with pytest.raises(IndexError):
                stream.synchronize()
            same(whole, room)  # one bad index refuses all
        x[key[0][1]] = zero  # the next statement
        inside[keys[0][1]] = zero
        same(whole, room)
        stream.synchronize()


@pytest.mark.needs_cpu
def test_index_of_an_axis_without_elements_on_a_stream(cpu: px.Device) -> None:
    whole = px.full((4, 3), 7.0)
    none, key = whole[2:2], px.asarray(np.array([0, -1, 2**62]))
    with px.Stream(cpu) as stream:
        found = none[key]
        none[key] = 1.0
        with pytest.raises(IndexError, match="extent 0"):
            stream.synchronize()
    with pytest.raises(IndexError, match="extent 0"):
        px.asnumpy(found)
    same(whole, np.full((4, 3), 7.0))
