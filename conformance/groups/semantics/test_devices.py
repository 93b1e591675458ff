"""The current device, where results are made, and moves between devices."""

from __future__ import annotations

import threading

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.semantics.compare import (
    LAYOUTS,
    need,
    other_device,
    put,
    same,
    whole_numbers,
)
from phalanx.optable import ALL


def test_current_device_makes_arrays(case: Case) -> None:
    """Without ``device=`` arrays are made on the current device, with it on the named one."""
    other = other_device(case)
    with px.device(other):
        assert px.zeros(2, dtype=px.int32).device is other
        assert px.asarray([1, 2]).device is other
        for named in (case.device, str(case.device)):
            assert px.zeros(2, dtype=px.int32, device=named).device is case.device
            assert px.arange(3, device=named).device is case.device
            assert px.asarray(np.ones(2, np.float32), device=named).device is case.device
    for made in (px.zeros(2, dtype=px.int32), px.arange(3), px.asarray([1]), px.full(2, True)):
        assert made.device is case.device


def test_results_stay_with_operands(case: Case) -> None:
    """What is computed from arrays lies where they lie, whichever device is current."""
    other = other_device(case)
    host = whole_numbers(case, (3, 4), "int32")
    x = put(case, host)
    index = px.asarray([2, 0])
    with px.device(other):
        same(case, x + 1, host + 1, "x + 1")
        same(case, 1 - x, 1 - host, "1 - x")
        same(case, px.sum(x, axis=0), host.sum(axis=0, dtype=np.int64), "sum")
        same(case, px.concat([x, x]), np.concat([host, host]), "concat")
        same(case, x[index], host[[2, 0]], "gather")
        same(case, x[x > 0], host[host > 0], "mask")
        same(case, px.zeros_like(x), np.zeros_like(host), "zeros_like")
        same(case, px.tril(x), np.tril(host), "tril")
        same(case, px.sort(x), np.sort(host), "sort")
        same(case, px.unique_values(x), np.unique(host), "unique_values")
        same(case, px.repeat(x[:2], index, axis=0), np.repeat(host[:2], [2, 0], axis=0), "repeat")
        same(case, px.take_along_axis(x, px.argsort(x)), np.sort(host), "take_along_axis")
        same(case, px.asarray(x), host, "asarray")
        x[1] = 5
        x[index] = 6
        x *= 2
    host[1], host[[2, 0]] = 5, 6
    same(case, x, host * 2, "what was written")


def test_with_block_nests(case: Case) -> None:
    """Blocks end in the order in which they began, whatever ends them."""
    other = other_device(case)
    with px.device(other) as inner:
        assert inner is other is px.get_device()
        with px.device(case.device):
            assert px.get_device() is case.device
        assert px.get_device() is other
        with pytest.raises(RuntimeError, match="inside"), px.device(case.device):
            raise RuntimeError("inside")
        assert px.get_device() is other
        px.set_device(case.device)
        assert px.get_device() is case.device
    assert px.get_device() is case.device


@pytest.mark.parametrize("name", ["nosuch:0", "cpu:99", "not a name", ""])
def test_unknown_device(case: Case, name: str) -> None:
    """No device of the name: an error with a reason, and the current device stays."""
    x = px.ones(3, dtype=px.int32)
    for call in (
        px.set_device,
        lambda n: px.device(n).__enter__(),
        x.to_device,
        lambda n: px.zeros(2, device=n),
        lambda n: px.asarray(x, device=n),
    ):
        with pytest.raises(px.DeviceNotFoundError) as found:
            call(name)
        assert str(found.value)
        assert px.get_device() is case.device
    same(case, x + 1, np.full(3, 2, np.int32))


def test_current_device_after_errors(case: Case) -> None:
    """Out of memory, a bad index and a refused call leave the current device and its results."""
    host = whole_numbers(case, (50,), "int32")
    x = put(case, host)
    for _ in range(3):
        with pytest.raises(px.OutOfMemoryError):
            px.empty(1 << 58, dtype=px.int8)
        same(case, x + x, host * 2, "after too large a request")
        with pytest.raises(IndexError):
            px.asnumpy(x[px.asarray([0, 50])])
        same(case, x - 1, host - 1, "after a bad index")
        with pytest.raises(TypeError):
            x + px.ones(50, dtype=px.float32)
        assert px.get_device() is case.device
        same(case, px.arange(10), np.arange(10), "a new array")


def test_current_device_of_threads(case: Case) -> None:
    """A thread begins with the default device and changes only its own."""
    other = other_device(case)
    seen: list[object] = []

    def work() -> None:
        px.set_device(other)
        seen.append(px.get_device())
        seen.append(px.zeros(1, dtype=px.int32).device)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert seen == [other, other]
    assert px.get_device() is case.device


@pytest.mark.parametrize("dtype", ALL)
def test_to_device(case: Case, dtype: str) -> None:
    """Arrays of every layout arrive whole and in order, and come back."""
    other = other_device(case)
    for layout in LAYOUTS:
        host = whole_numbers(case, (5, 7, 3), dtype, layout)
        x = put(case, host, layout)
        moved = x.to_device(other)
        assert (moved.device, moved.shape, moved.dtype) == (other, x.shape, x.dtype)
        assert np.array_equal(px.asnumpy(moved), host), f"{layout} on {other}"
        same(case, moved[1:, ::-2].to_device(case.device), host[1:, ::-2], f"{layout} and back")


def test_to_same_device(case: Case) -> None:
    """A move to the array's own device is no copy."""
    x = px.ones(4, dtype=px.int32)
    y = x.to_device(case.device)
    x += 1
    same(case, y, np.full(4, 2, np.int32))
    assert x.to_device(str(case.device)).buffer is x.buffer


def test_moved_is_a_copy(case: Case) -> None:
    """What is written on one device is not seen on the other."""
    other = other_device(case)
    host = whole_numbers(case, (100,), "int32")
    x = put(case, host)
    moved = x.to_device(other)
    x[...] = 0
    assert np.array_equal(px.asnumpy(moved), host)
    with px.device(other):
        back = moved.to_device(case.device)
        moved[...] = 1
    same(case, back, host)


@pytest.mark.parametrize(
    "kind", ["integral", "real floating", "complex floating", "numeric", "bool"]
)
def test_namespace_info(case: Case, kind: str) -> None:
    """The namespace lists the device and the dtypes that it computes in."""
    info = px.__array_namespace_info__()
    assert case.device in info.devices()
    assert info.default_device() in info.devices()
    found = info.dtypes(device=case.device, kind=kind)
    for name, dtype in found.items():
        assert px.isdtype(dtype, kind)
        x = px.ones(2, dtype=dtype)
        assert x.dtype.name == name
        assert px.asnumpy(x).astype(np.complex128).tolist() == [1, 1]


def test_namespace_of_array(case: Case) -> None:
    """Arrays name this namespace, its version and their device."""
    x = px.ones(2, dtype=px.int32)
    assert x.__array_namespace__() is px
    assert x.__array_namespace__(api_version=px.__array_api_version__) is px
    assert x.device is case.device
    need(case, "float32")
    assert str(case.device) in repr(x)
