"""Streams on which something failed that nobody was told of yet."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import phalanx as px
import pytest
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import need_streams, take_wrongly
from phalanx.driver import Capability, Feature, OpenDevice

#: What failed: an index that is out of range, which stops nothing, or a command, which does.
of_either_kind = pytest.mark.parametrize("kind", ["index", "command"])
#: How it is told that a command failed; a device that is lost is something else.
FAILURES = (px.LaunchError, px.DriverCallError)
#: Seconds after which what was asked for is taken as it is.
_PATIENCE = 10.0


@dataclass
class Failing:
    """A stream with a failure that waits for being told, and the error by which it is."""

    stream: px.Stream
    error: type[BaseException] | tuple[type[BaseException], ...]
    #: What has no value, kept so that its memory stays.
    taken: object = None


def until(is_so: Callable[[], bool]) -> None:
    """Ask until it is so; an answer may be a failure, which a question leaves where it is."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with suppress(IndexError, px.PhalanxError):
            if is_so():
                return
        time.sleep(1e-3)


def need_injection(case: Case, device: px.Device | None = None) -> OpenDevice:
    """Return an open device; skip the case where no command of it can be made to fail."""
    need_streams(case)
    opened = (device or case.device).ensure_open()
    if Capability.FAULT_INJECTION not in opened.capabilities:
        pytest.skip("the device lets no command fail on demand")
    return opened


def let_fail(case: Case, kind: str, stream: px.Stream | None = None) -> Failing:
    """Let something fail on a stream, a new one if none is given; skip if the call tells it."""
    need_streams(case)
    stream = stream or px.Stream(case.device)
    if kind == "index":
        taken = take_wrongly(case, stream)
        if taken is None:
            pytest.skip("a wrong index is told at the call")
        return Failing(stream, IndexError, taken)
    opened = need_injection(case, stream.device)
    if stream.handle is None and Feature.SYNCHRONOUS in stream.device.info.features:
        pytest.skip("work on this stream is done at the call, which tells the failure")
    opened.stream_inject_failure(stream.handle)
    return Failing(stream, FAILURES)


def failed(case: Case, kind: str, stream: px.Stream | None = None) -> Failing:
    """Return a stream whose failure has come to light; see `let_fail`."""
    failing = let_fail(case, kind, stream)
    opened = failing.stream.device.ensure_open()
    until(lambda: opened.stream_query(failing.stream.handle))
    return failing
