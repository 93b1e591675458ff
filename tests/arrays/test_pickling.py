"""Pickled arrays: whole, and on the device that the reader wants."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable

import phalanx as px
import pytest
from phalanx.arrays.pickling import rebuild
from phalanx.testing import ReferenceDriver


def test_a_device_for_all(device: px.Device) -> None:
    data = pickle.dumps(px.arange(3))
    with px.map_location("fakehost:0"):
        assert pickle.loads(data).device == "fakehost:0"
    assert pickle.loads(data).device is device


def test_devices_by_name(drivers: object) -> None:
    data = pickle.dumps([px.arange(3, device=d) for d in ("fake:0", "fakestream:0")])
    with px.map_location({"fake:0": "fakehost:0", "gone:7": "fakehost:0"}):
        first, second = pickle.loads(data)
    assert (first.device, second.device) == ("fakehost:0", "fakestream:0")
    assert first.tolist() == second.tolist() == [0, 1, 2]


def test_the_inner_one_counts(drivers: object) -> None:
    data = pickle.dumps(px.arange(3, device="fake:0"))
    with px.map_location("fakestream:0"):
        with px.map_location("fakehost:0"):
            assert pickle.loads(data).device == "fakehost:0"
        assert pickle.loads(data).device == "fakestream:0"


def test_other_threads_are_left_alone(drivers: object) -> None:
    data = pickle.dumps(px.arange(3, device="fake:0"))
    found = []
    with px.map_location("fakehost:0"):
        thread = threading.Thread(target=lambda: found.append(pickle.loads(data).device))
        thread.start()
        thread.join()
    assert found == ["fake:0"]


def test_a_device_that_is_gone(make_driver: Callable[..., ReferenceDriver]) -> None:
    make_driver()
    data = pickle.dumps(px.ones(2, device="own:0")).replace(b"own:0", b"owm:0")
    with pytest.raises(
        px.DeviceNotFoundError, match=r"pickled on owm:0, which is not there"
    ) as info:
        pickle.loads(data)
    assert '`with phalanx.map_location({"owm:0": "cpu:0"})`' in info.value.remedy
    with px.map_location({"owm:0": "own:0"}):
        assert pickle.loads(data).tolist() == [1.0, 1.0]


def test_a_location_that_is_none(drivers: object) -> None:
    for location in ("none:0", {"fake:0": "none:0"}):
        with pytest.raises(px.DeviceNotFoundError, match="none:0"), px.map_location(location):
            pass
    with pytest.raises(TypeError), px.map_location(3):  # type: ignore[arg-type]
        pass


def test_bytes_that_are_not_the_array(drivers: object) -> None:
    for data in (b"", bytes(15), bytes(17)):
        with pytest.raises(ValueError, match=f"has {len(data)} bytes of elements for 16"):
            rebuild(data, (2,), "float64", "fake:0")


def test_copies_are_apart_and_on_the_same_device(device: px.Device) -> None:
    x = px.arange(3)
    for y in (copy.copy(x), copy.deepcopy(x), copy.deepcopy([x, x])[1]):
        y[0] = 9
        assert y.device is device
        assert x.tolist() == [0, 1, 2]
    first, second = copy.deepcopy([x, x])
    assert first is second
