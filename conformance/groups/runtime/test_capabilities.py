"""A set bit works, a clear bit refuses: nothing is skipped in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.driver import Capability, Feature

_STREAM_CALLS: dict[str, Callable[[Any, int], object]] = {
    "stream_create": lambda driver, index: driver.stream_create(index, 0),
    "stream_query": lambda driver, index: driver.stream_query(index, None),
    "stream_synchronize": lambda driver, index: driver.stream_synchronize(index, None),
    "event_create": lambda driver, index: driver.event_create(index),
}


@pytest.mark.parametrize("call", _STREAM_CALLS)
def test_streams_bit(case: Case, call: str) -> None:
    """With STREAMS each call works; without, each one raises."""
    driver, index = case.device.driver, case.device.index
    if Capability.STREAMS in driver.capabilities:
        handle = _STREAM_CALLS[call](driver, index)
        if call == "stream_create":
            driver.stream_synchronize(index, handle)
            driver.stream_destroy(index, handle)
        elif call == "event_create":
            driver.event_destroy(index, handle)
        return
    with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
        _STREAM_CALLS[call](driver, index)


def test_event_timing_bit(case: Case) -> None:
    """With EVENT_TIMING, two events have a time between them; without, the driver refuses."""
    driver, index = case.device.driver, case.device.index
    if Capability.EVENT_TIMING not in driver.capabilities:
        with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
            driver.event_elapsed(index, None, None)
        return
    stream = px.Stream(case.device)
    begin, end = stream.record(), stream.record()
    end.synchronize()
    assert isinstance(begin.elapsed_time(end), float)


def test_trim_bit(case: Case) -> None:
    """With TRIM the driver gives memory back; without, it refuses."""
    driver, index = case.device.driver, case.device.index
    if Capability.TRIM in driver.capabilities:
        driver.trim(index)
        return
    with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
        driver.trim(index)


def test_host_addressable_feature(case: Case) -> None:
    """HOST_ADDRESSABLE memory can be read and written by the host at its handle."""
    if Feature.HOST_ADDRESSABLE not in case.device.info.features:
        pytest.skip("the device's memory has no address on the host")
    import ctypes

    x = px.asarray(np.arange(64, dtype=np.uint8))
    case.device.synchronize()
    found = (ctypes.c_uint8 * 64).from_address(x.buffer.handle + x.offset)
    assert list(found) == list(range(64))


def test_synchronous_feature(case: Case) -> None:
    """SYNCHRONOUS work on the default stream is done when the call returns."""
    if Feature.SYNCHRONOUS not in case.device.info.features:
        pytest.skip("the device works asynchronously")
    x = px.zeros(1 << 20, dtype=px.float32)
    for _ in range(10):
        x = x + 1.0
    assert px.current_stream().query(), "work is still pending"


def test_fp64_feature(case: Case) -> None:
    """FP64 tells truthfully whether float64 is computed."""
    driver, index = case.device.driver, case.device.index
    answers = {
        op: driver.supports(index, op, dtypes)
        for op, dtypes in (
            ("add", ("float64",) * 3),
            ("multiply", ("float64",) * 3),
            ("exp", ("float64",) * 2),
        )
    }
    if Feature.FP64 in case.device.info.features:
        return
    wrong = [op for op, answer in answers.items() if answer is True]
    assert not wrong, f"the device states no fp64, but offers float64 kernels of {wrong}"


def test_fp64_is_computed(case: Case) -> None:
    """A float64 sum keeps digits that float32 has not."""
    if case.device.driver.supports(case.device.index, "add", ("float64",) * 3) is not True:
        pytest.skip("the device has no float64 addition")
    x = px.asarray([1.0], dtype=px.float64)
    y = px.asarray([2.0**-50], dtype=px.float64)
    assert px.asnumpy(x + y)[0] == 1.0 + 2.0**-50


def test_subnormals_feature(case: Case) -> None:
    """SUBNORMALS: float32 numbers below 2**-126 are kept, as operands and as results."""
    if Feature.SUBNORMALS not in case.device.info.features:
        pytest.skip("the device states that it flushes subnormals")
    values = np.array([2.0**-126, 2.0**-130, 2.0**-149], np.float32)
    x = px.asarray(values)
    assert px.asnumpy(x * px.asarray(np.float32(0.5) + np.zeros(3, np.float32))).tolist() == [
        2.0**-127,
        2.0**-131,
        0.0,
    ]
    assert px.asnumpy(x + x).tolist() == (values + values).tolist()


def test_supports_agrees_with_kernel(case: Case) -> None:
    """What ``supports`` promises, ``kernel`` delivers, and what is listed is supported."""
    from phalanx.driver import Layout
    from phalanx.optable import OPS, Structure

    driver, index = case.device.driver, case.device.index
    listed = {(k.op, k.dtypes) for k in driver.kernels(index)}
    for op in ("add", "exp", "sum", "cumulative_sum", "matmul", "sort", "copy"):
        elementwise = OPS[op].structure is Structure.ELEMENTWISE
        layouts = (Layout.CONTIGUOUS, Layout.STRIDED) if elementwise else (Layout.ANY,)
        for signature in OPS[op].signatures:
            answer = driver.supports(index, op, signature.dtypes) is True
            kernels = [driver.kernel(index, op, signature.dtypes, layout) for layout in layouts]
            found = any(kernel is not None for kernel in kernels)
            what = f"{op} {signature} on {case.device}"
            assert answer == found, f"{what}: supports says {answer}, kernel finds {found}"
            assert not ((op, signature.dtypes) in listed and not answer), f"{what}: listed only"
