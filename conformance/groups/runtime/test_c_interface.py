"""The C interface of a plugin's library: hosts that are older and newer than this one."""

from __future__ import annotations

import re
import time
from typing import Any

import phalanx as px
import pytest
from phalanx.abi.build import SYMBOL
from phalanx.abi.library import Library, load_table, take_error
from phalanx.abi.structs import ABI_MAJOR, ABI_MINOR, ErrorCode, ffi
from phalanx.conformance.case import Case
from phalanx.conformance.groups.runtime.busy import need_streams
from phalanx.device_plugins.native import NativeDriver

_UNTOUCHED = 0xA5


def _library(case: Case) -> Library:
    driver = case.device.driver
    if not isinstance(driver, NativeDriver):
        pytest.skip("the plugin is no library with the C interface")
    return driver.library


def _filled(case: Case, function: str, struct: str, size: int, *args: Any) -> bytes:
    """Return what a call writes into a host's struct of so many bytes, and behind it."""
    room = ffi().new("uint8_t[]", [_UNTOUCHED] * (size + 256))
    ffi().cast("uint64_t *", room)[0] = size
    _library(case).call(function, *args, ffi().cast(f"{struct} *", room))
    return bytes(ffi().buffer(room))


@pytest.mark.parametrize("function", ["plugin_info", "device_info"])
def test_structs_of_other_hosts(case: Case, function: str) -> None:
    """What is behind the struct is left; of a newer host, so is what this one does not know."""
    struct, args = f"phx_{function}", (case.device.index,) if function == "device_info" else ()
    whole = ffi().sizeof(struct)
    full = _filled(case, function, struct, whole, *args)
    assert not full[whole:].strip(bytes([_UNTOUCHED])), f"{function} writes behind its struct"
    size = whole + 64  # no host has less: the structs are those of the first version still
    found = _filled(case, function, struct, size, *args)
    assert not found[size:].strip(bytes([_UNTOUCHED])), (
        f"{function} writes behind the {size} bytes of a host's struct"
    )
    assert found[8:whole] == full[8:whole], f"{function} fills {size} bytes with other values"
    told = int.from_bytes(found[:8], "little")
    assert 8 <= told <= size, f"{function} says that it filled {told} of {size} bytes"


def test_other_hosts(case: Case) -> None:
    """A host of a later minor version gets the table; one of another major version is refused."""
    handle, host, _ = load_table(_library(case).path)
    start = getattr(handle, SYMBOL)
    api = ffi().new("const phx_api **")
    for minor in (ABI_MINOR, ABI_MINOR + 1, ABI_MINOR + 9):
        error = start(ABI_MAJOR, minor, host, api)
        assert not error, f"a host of {ABI_MAJOR}.{minor} is refused: {take_error(error)}"
        assert api[0], f"a host of {ABI_MAJOR}.{minor} gets no table"
    error = start(ABI_MAJOR + 1, 0, host, api)
    assert error, f"a host of {ABI_MAJOR + 1}.0 is not refused"
    assert take_error(error).code == ErrorCode.ABI_MISMATCH


def test_license(case: Case) -> None:
    """The license that a library states is an SPDX expression, as its header asks for."""
    stated = _library(case).license
    if not stated or stated.lower() == "unlicensed":
        pytest.skip("the library states no license")
    licenses = pytest.importorskip("packaging.licenses", reason="this packaging knows no licenses")
    try:
        licenses.canonicalize_license_expression(stated)
    except licenses.InvalidLicenseExpression:
        pytest.fail(f"the license {stated!r} is no SPDX expression")


def _busy(case: Case, stream: px.Stream) -> None:
    """Let a stream work for some hundredths of a second; skips if there are none."""
    _library(case)
    need_streams(case)
    try:
        with stream:
            x = px.zeros(1 << 20, dtype=px.float32)
            for _ in range(100):
                x = x + 1.0
    except px.UnsupportedOpError as error:
        pytest.skip(f"the device cannot be kept busy: {error}")


def test_timeouts_tell_the_seconds(case: Case) -> None:
    """The error of a wait that is too short says how long it was."""
    opened, text = case.device.ensure_open(), ""
    for _ in range(3):
        stream = px.Stream(case.device)
        _busy(case, stream)
        try:
            opened.stream_synchronize(stream.handle, 0.001)
        except TimeoutError as error:
            text = str(error)
        stream.synchronize()
    if not text:
        pytest.skip("the device is too fast for this case")
    told = [float(number) for number in re.findall(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?) s\b", text)]
    assert not told or 0.001 in told, f"the wait was for 0.001 s, the error tells: {text}"


@pytest.mark.parametrize("first", ["failed", "busy"])
def test_a_failure_beside_a_busy_stream(case: Case, first: str) -> None:
    """A failure is told once by waits for all streams, though another one has no time to end."""
    px.synchronize(case.device)
    opened = case.device.ensure_open()
    x, bad = px.asarray([0, 1, 2], dtype=px.int64), px.asarray([0, 99], dtype=px.int64)
    px.synchronize(case.device)
    streams = [px.Stream(case.device), px.Stream(case.device)]
    failed, busy = streams if first == "failed" else reversed(streams)
    try:
        _busy(case, busy)
        with failed:
            taken = px.take(x, bad)
    except IndexError:
        return  # told at the call: nothing is left to tell
    except px.UnsupportedOpError as error:
        pytest.skip(f"the device cannot be kept busy, or takes nothing: {error}")
    end = time.monotonic() + 10.0
    while not opened.stream_query(failed.handle) and time.monotonic() < end:
        time.sleep(0.001)
    told = 0
    for limit in (0.001, 60.0, 60.0):
        try:
            opened.synchronize(limit)
        except IndexError:
            told += 1
        except TimeoutError:
            pass
    del taken
    assert told == 1, f"a failure was told {told} times"
