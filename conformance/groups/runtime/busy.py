"""Work that keeps a stream busy while a case looks at what else goes on."""

from __future__ import annotations

import time

import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.vendor import Array


def chain(x: Array, length: int) -> Array:
    """Add one to an array so many times."""
    for _ in range(length):
        x = x + 1
    return x


def busy(case: Case, seconds: float, *, asks: bool = True) -> px.Stream:
    """Return a stream with work for at least about so long; skips if the device is too fast."""
    begin = time.perf_counter()
    with px.Stream(case.device) as stream:
        chain(px.zeros(1 << 20, dtype=px.float32), 16)
    stream.synchronize()
    each = (time.perf_counter() - begin) / 16
    with stream:
        chain(px.zeros(1 << 20, dtype=px.float32), min(5000, int(seconds / each) + 1))
    if asks and stream.query():
        pytest.skip("the device is too fast for this case")
    return stream
