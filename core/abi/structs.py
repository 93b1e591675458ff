"""The plugin ABI as Python sees it: types, golden layout, and the check of a plugin's tables.

Nothing here trusts a plugin: a field is read only if it lies inside the ``struct_size`` that the
plugin states, and nothing but that size and the versions is read before the versions fit.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

from phalanx.runtime.locks import ForkSafeLock
from phalanx.version import ABI

from .build import HEADER, SYMBOL, declarations
from .problem import Problem

ABI_MAJOR, ABI_MINOR = ABI
#: The longest string that is taken from a plugin, in bytes.
_MOST_TEXT = 1 << 16


class ErrorCode(IntEnum):
    """The codes of ``phx_error``."""

    OK = 0
    UNIMPLEMENTED = 1
    INVALID_ARGUMENT = 2
    OUT_OF_MEMORY = 3
    DEVICE_LOST = 4
    TIMEOUT = 5
    INDEX_OUT_OF_RANGE = 6
    ABI_MISMATCH = 7
    UNAVAILABLE = 8
    INTERNAL = 9


class Capability(IntFlag):
    """The bits of ``PHX_CAP_*``; those of ``phalanx.driver.Capability`` are the same there.

    What the others promise has a default in ``OpenDevice``, so a driver in Python needs no bit.
    """

    STREAMS = 1
    EVENT_TIMING = 2
    TRIM = 4
    THREADS = 8
    FIND_KERNEL = 16
    COMPILE = 32
    HOST_MEMORY = 64
    DEFAULT_STREAM = 128
    FAULT_INJECTION = 256


REQUIRED = (
    "plugin_info",
    "plugin_score",
    "device_count",
    "device_info",
    "device_open",
    "device_close",
    "device_synchronize",
    "memory_info",
    "alloc",
    "free",
    "copy",
    "kernel_table",
)
OPTIONAL = {
    Capability.STREAMS: (
        "stream_create",
        "stream_destroy",
        "stream_query",
        "stream_synchronize",
        "stream_wait_event",
        "event_create",
        "event_destroy",
        "event_record",
        "event_query",
        "event_synchronize",
    ),
    Capability.EVENT_TIMING: ("event_elapsed",),
    Capability.TRIM: ("device_trim",),
    Capability.THREADS: ("device_threads",),
    Capability.FIND_KERNEL: ("kernel_find",),
    Capability.COMPILE: ("kernel_compile",),
    Capability.HOST_MEMORY: ("host_adopt", "host_release", "host_address"),
    Capability.DEFAULT_STREAM: ("stream_default",),
    Capability.FAULT_INJECTION: ("stream_inject_failure",),
}
#: Capabilities that make sense only with the streams of another one.
_NEEDS_STREAMS = (
    Capability.EVENT_TIMING,
    Capability.DEFAULT_STREAM,
    Capability.FAULT_INJECTION,
)

_ffi_lock = ForkSafeLock()
_ffi: Any = None


def _make_ffi() -> Any:
    source = declarations()
    crc = re.findall(r"PHX_DECLARATIONS_CRC (\d+)", source)[0]
    try:
        from phalanx._abi import ffi  # type: ignore[import-not-found,unused-ignore] # the build writes it
    except ImportError:
        pass
    else:
        if ffi.integer_const("PHX_DECLARATIONS_CRC") == int(crc):
            return ffi
    # Not built, or built from an older header: an editable install whose header changed since.
    import cffi

    parsed = cffi.FFI()
    parsed.cdef(source)
    return parsed


def ffi() -> Any:
    """Return the cffi object that knows the types of ``phalanx.h``; made at the first call."""
    global _ffi  # noqa: PLW0603 - made once
    found = _ffi
    if found is None:
        with _ffi_lock:  # two objects would have incompatible types
            found = _ffi = _ffi or _make_ffi()
    return found


def text(value: Any) -> str:
    """Return the text of a ``phx_str``; bytes that are not UTF-8 become replacement characters.

    One longer than 64 KiB is not read: its length is wrong.
    """
    size = int(value.size)
    if not value.data or not size:
        return ""
    if size > _MOST_TEXT:
        return f"<a text of {size} bytes, which is not read>"
    return bytes(ffi().buffer(value.data, size)).decode("utf-8", "replace")


@functools.cache
def end_of(struct: str, field: str) -> int:
    """Return the offset just behind a field: the least ``struct_size`` of a struct that has it."""
    types = ffi()
    kind = dict(types.typeof(struct).fields)[field].type
    return int(types.offsetof(struct, field) + types.sizeof(kind))


def layout() -> dict[str, Any]:
    """Return the size of every struct of the header, and offset and size of every field."""
    types = ffi()
    names = re.findall(r"typedef struct(?: \w+)? \{.*?\} (\w+);", declarations(), re.DOTALL)
    structs = {}
    for name in (*names, "phx_kernel"):
        fields = [
            [field, info.offset, types.sizeof(info.type)]
            for field, info in types.typeof(name).fields
        ]
        structs[name] = {"size": types.sizeof(name), "fields": fields}
    return {
        "abi": f"{ABI_MAJOR}.{ABI_MINOR}",
        "pointer_size": types.sizeof("void *"),
        "structs": structs,
    }


def golden_path(version: str = f"{ABI_MAJOR}.{ABI_MINOR}") -> Path:
    """Return the file that holds the layout of a released ABI."""
    return HEADER.parent / f"abi-{version}.json"


@functools.cache
def _table_size(minor: int) -> int:
    """Return the size of ``phx_api`` in a version up to ours."""
    golden = json.loads(golden_path(f"{ABI_MAJOR}.{minor}").read_text(encoding="utf-8"))
    return int(golden["structs"]["phx_api"]["size"])


def write_golden() -> None:
    """Write today's layout as the golden one; only ever for a version that is not released yet."""
    lines = json.dumps(layout(), indent=1)
    compact = re.sub(r"\[\s+(\"\w+\"),\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2, \3]", lines)
    golden_path().write_text(compact + "\n", encoding="utf-8")


def negotiate(built: tuple[int, int], min_host_minor: int) -> str:
    """Return why a plugin and this host do not fit, empty if they do.

    A plugin may be older or newer within the major version, if it can live with our minor one.
    """
    major, minor = built
    built_for = f"was built for ABI {major}.{minor}"
    ours = f"this host speaks {ABI_MAJOR}.{ABI_MINOR}"
    if major != ABI_MAJOR:
        which = "a newer phalanx" if major > ABI_MAJOR else "a newer release of the plugin"
        return f"the plugin {built_for}, and {ours}: install {which}"
    if min_host_minor > ABI_MINOR:
        needs = f"needs a host of at least {major}.{min_host_minor}"
        remedy = "upgrade phalanx, or use an older plugin"
        return f"the plugin {built_for} and {needs}, and {ours}: {remedy}"
    if min_host_minor > minor:
        return (
            f"the plugin {built_for} but asks for a host of {major}.{min_host_minor}, "
            "newer than itself: its min_host_abi_minor is wrong"
        )
    return ""


def check_api(api: Any) -> list[Problem]:
    """Return what is wrong with a plugin's ``phx_api``, a cffi pointer; empty if nothing is."""
    if not api:
        return [Problem(SYMBOL, "the plugin returned no error and no table")]
    size = int(api.struct_size)
    if size < end_of("phx_api", "min_host_abi_minor"):
        return [_api_problem("struct_size", f"it is {size}, too small to hold the versions")]
    built = (int(api.built_abi_major), int(api.built_abi_minor))
    if why := negotiate(built, int(api.min_host_abi_minor)):
        field = "built_abi_major" if built[0] != ABI_MAJOR else "min_host_abi_minor"
        return [_api_problem(field, why)]
    if problem := _size_problem(size, built[1]):
        return [_api_problem("struct_size", problem)]
    return _required_problems(api) + _capability_problems(api, built[1])


def _api_problem(field: str, detail: str) -> Problem:
    return Problem(f"phx_api.{field}", detail)


def _size_problem(size: int, minor: int) -> str:
    least = end_of("phx_api", REQUIRED[-1])
    if size < least:
        return f"it is {size}, and tier 'sync' alone takes {least} bytes"
    if minor <= ABI_MINOR and size > (most := _table_size(minor)):
        return f"it is {size}, and that of ABI {ABI_MAJOR}.{minor} is {most}"
    if (size - least) % ffi().sizeof("void *"):
        return f"it is {size}, which ends inside a field"
    return ""


def function(api: Any, name: str) -> Any:
    """Return a function pointer of a table, None if it is null or the table ends before it."""
    if int(api.struct_size) < end_of("phx_api", name):
        return None
    return getattr(api, name) or None


def _required_problems(api: Any) -> list[Problem]:
    return [
        _api_problem(name, "it is null; tier 'sync' requires it")
        for name in REQUIRED
        if function(api, name) is None
    ]


def _capability_problems(api: Any, minor: int) -> list[Problem]:
    problems = []
    bits = int(api.capabilities)
    for capability, names in OPTIONAL.items():
        claimed = bool(bits & capability.value)
        label = f"PHX_CAP_{capability.name}"
        for name in names:
            present = function(api, name) is not None
            if claimed and not present:
                problems.append(_api_problem(name, f"it is null, but {label} is set"))
            elif present and not claimed:
                problems.append(_api_problem(name, f"it is there, but {label} is not set"))
    return problems + [
        _api_problem(field, detail) for field, detail in _bit_problems(bits, int(api.flags), minor)
    ]


def _bit_problems(bits: int, flags: int, minor: int) -> Iterator[tuple[str, str]]:
    for needy in _NEEDS_STREAMS:
        if bits & needy and not bits & Capability.STREAMS:
            without = "is set without PHX_CAP_STREAMS, which it adds to"
            yield "capabilities", f"PHX_CAP_{needy.name} {without}"
    if minor <= ABI_MINOR:
        if unknown := unknown_bits(bits):
            yield "capabilities", f"it has unknown bits {unknown:#x}"
        if flags:
            yield "flags", f"it is {flags:#x}, and ABI {ABI_MAJOR}.{minor} defines none"


def unknown_bits(capabilities: int) -> int:
    """Return the bits of ``phx_api.capabilities`` that this host does not know."""
    return capabilities & ~sum(Capability)
