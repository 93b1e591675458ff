"""Waits with a limit."""

from __future__ import annotations

import time

import phalanx as px
import pytest


@pytest.mark.parametrize("timeout", [-1, float("nan"), "a", [1]])
def test_what_is_no_time_is_refused(device: px.Device, timeout: object) -> None:
    stream, event = px.Stream(device), px.Event(device)
    event.record(stream)
    kind = ValueError if isinstance(timeout, int | float) else TypeError
    for wait in (device.synchronize, stream.synchronize, event.synchronize):
        with pytest.raises(kind, match="a timeout is a number of seconds from 0 up or None"):
            wait(timeout=timeout)  # type: ignore[arg-type]
    stream.close()


def test_a_timeout_and_later_success(asynchronous: px.Device) -> None:
    stream = px.Stream()
    x = px.ones(4)
    with asynchronous.driver.paused(stream):
        with stream:
            y = x + 1
        begin = time.perf_counter()
        with pytest.raises(TimeoutError):
            stream.synchronize(timeout=0.05)
        assert 0.04 < time.perf_counter() - begin < 5
        with pytest.raises(TimeoutError):
            px.synchronize(asynchronous, timeout=0.01)
    px.synchronize(asynchronous, timeout=10)
    assert px.asnumpy(y).tolist() == [2.0] * 4
