"""A set bit works, a clear bit refuses: nothing is skipped in silence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import by_a_thread
from phalanx.conformance.groups.runtime.failing import FAILURES
from phalanx.dispatch.registry import ask_for_kernel, find_kernel, layouts_of
from phalanx.driver import Capability, Feature, OpenDevice
from phalanx.optable import OPS

_STREAM_CALLS: dict[str, Callable[[OpenDevice], object]] = {
    "stream_create": lambda opened: opened.stream_create(0),
    "stream_query": lambda opened: opened.stream_query(None),
    "stream_synchronize": lambda opened: opened.stream_synchronize(None),
    "event_create": lambda opened: opened.event_create(timed=False),
}


@pytest.mark.parametrize("call", _STREAM_CALLS)
def test_streams_bit(case: Case, call: str) -> None:
    """With STREAMS each call works; without, each one raises."""
    opened = case.device.ensure_open()
    if Capability.STREAMS in opened.capabilities:
        handle = _STREAM_CALLS[call](opened)
        if call == "stream_create":
            opened.stream_synchronize(handle)
            opened.stream_destroy(handle)
        elif call == "event_create":
            opened.event_destroy(handle)
        return
    with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
        _STREAM_CALLS[call](opened)


def test_event_timing_bit(case: Case) -> None:
    """With EVENT_TIMING, two events have a time between them; without, the driver refuses."""
    opened = case.device.ensure_open()
    if Capability.EVENT_TIMING not in opened.capabilities:
        with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
            opened.event_elapsed(None, None)
        return
    stream = px.Stream(case.device)
    begin, end = stream.record(), stream.record()
    end.synchronize()
    assert isinstance(begin.elapsed_time(end), float)


def test_trim_bit(case: Case) -> None:
    """With TRIM the driver gives memory back; without, it refuses."""
    opened = case.device.ensure_open()
    if Capability.TRIM in opened.capabilities:
        opened.trim()
        return
    with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
        opened.trim()


def test_threads_bit(case: Case) -> None:
    """With THREADS a number of threads can be set, with equal results; without, it is refused."""
    opened = case.device.ensure_open()
    if Capability.THREADS not in opened.capabilities:
        with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
            opened.threads(1)
        return
    before = opened.threads()
    x = px.asarray(np.arange(200_000, dtype=np.float32) / 7)
    found = set()
    try:
        for count in (1, 2, 3):
            assert opened.threads(count) == count
            assert opened.threads() == by_a_thread(opened.threads) == count
            found.add(px.asnumpy(px.cumulative_sum(x)).tobytes() + px.asnumpy(px.exp(-x)).tobytes())
        assert opened.threads(0) >= 1
    finally:
        opened.threads(before)
    assert len(found) == 1


def test_fault_injection_bit(case: Case) -> None:
    """With FAULT_INJECTION a command fails on demand, and a wait tells it; without, no."""
    opened = case.device.ensure_open()
    if Capability.FAULT_INJECTION not in opened.capabilities:
        with pytest.raises((NotImplementedError, px.UnsupportedOpError)):
            opened.stream_inject_failure(None)
        return
    assert Capability.STREAMS in opened.capabilities, "a failure on demand needs streams"
    stream = opened.stream_create(0)
    opened.stream_inject_failure(stream)
    with pytest.raises(FAILURES):
        opened.stream_synchronize(stream, 60.0)
    opened.stream_synchronize(stream, 60.0)
    opened.stream_destroy(stream)


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


_FLOAT64 = {"add": ("float64",) * 3, "multiply": ("float64",) * 3, "exp": ("float64",) * 2}


def test_fp64_feature(case: Case) -> None:
    """FP64 tells truthfully whether float64 is computed."""
    if Feature.FP64 in case.device.info.features:
        return
    answers = {op: find_kernel(case.device, op, dtypes) for op, dtypes in _FLOAT64.items()}
    wrong = [op for op, answer in answers.items() if isinstance(answer, px.Kernel)]
    assert not wrong, f"the device states no fp64, but offers float64 kernels of {wrong}"


def test_fp64_is_computed(case: Case) -> None:
    """A float64 sum keeps digits that float32 has not."""
    if isinstance(find_kernel(case.device, "add", _FLOAT64["add"]), px.Refusal):
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


def test_kernels_stay(case: Case) -> None:
    """The answer to a question for a kernel is that kernel or a refusal, at every time the same."""
    for op in (*("add", "exp", "tanh", "atan2"), "sum", "cumulative_sum", "matmul", "sort", "copy"):
        for signature in OPS[op].signatures:
            for layout in layouts_of(op):
                what = f"{op} {signature} {layout.name} on {case.device}"
                first, second = (
                    ask_for_kernel(case.device, op, signature.dtypes, layout) for _ in range(2)
                )
                same = (
                    first == second
                    if isinstance(first, px.Refusal)
                    else isinstance(second, px.Kernel)
                    and (first.layout, first.determinism, first.error_bound)
                    == (second.layout, second.determinism, second.error_bound)
                )
                assert same, f"{what}: first {first}, then {second}"
                served = case.served[op, signature.dtypes].determinism
                if isinstance(first, px.Kernel) and layout == layouts_of(op)[0]:
                    assert first.determinism == served, (
                        f"{what}: first {served or 'no class'}, then {first.determinism}"
                    )
