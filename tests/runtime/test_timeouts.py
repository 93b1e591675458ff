"""Waits with a limit."""

from __future__ import annotations

import time
from decimal import Decimal

import numpy as np
import phalanx as px
import pytest


@pytest.mark.parametrize("timeout", [-1, -(10**400), float("nan"), "a", [1], np.ones(2)], ids=str)
def test_what_is_no_time_is_refused(device: px.Device, timeout: object) -> None:
    stream, event = px.Stream(device), px.Event(device)
    event.record(stream)
    kind = ValueError if isinstance(timeout, int | float) else TypeError
    for wait in (device.synchronize, stream.synchronize, event.synchronize):
        with pytest.raises(kind, match="a timeout is a number of seconds from 0 up or None"):
            wait(timeout=timeout)  # type: ignore[arg-type]
    stream.close()


@pytest.mark.parametrize(
    "timeout", [Decimal("60.5"), np.float32(60), 10**400, 1e300, np.inf], ids=str
)
def test_any_number_is_a_time_however_long(device: px.Device, timeout: object) -> None:
    stream, event = px.Stream(device), px.Event(device)
    with stream:
        x = px.ones(4) + 1
    event.record(stream)
    for wait in (device.synchronize, stream.synchronize, event.synchronize, px.synchronize):
        wait(timeout=timeout)  # type: ignore[arg-type]
    assert px.asnumpy(x).tolist() == [2.0] * 4
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
