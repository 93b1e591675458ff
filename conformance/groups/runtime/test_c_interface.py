"""The C interface of a plugin's library: hosts that are older and newer than this one."""

from __future__ import annotations

from typing import Any

import pytest
from phalanx.abi.build import SYMBOL
from phalanx.abi.library import Library, load_table, take_error
from phalanx.abi.structs import ABI_MAJOR, ABI_MINOR, ErrorCode, ffi
from phalanx.conformance.case import Case
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
