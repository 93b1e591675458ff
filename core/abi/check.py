"""``phalanx abi-check`` in the child process: all that a library tells without a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from phalanx.discovery.guard import Observer, ignore
from phalanx.discovery.loading import OURS, refused_name
from phalanx.discovery.plugins import our_names
from phalanx.driver import Layout, alignment_problem
from phalanx.errors import DeviceError, PhalanxError, PluginLoadError
from phalanx.optable import DTYPES

from . import structs as abi
from .kernel_table import TableRead, read_row, read_table
from .library import Library, load_table, take_error
from .problem import Problem
from .structs import ffi, text

_NO_SUCH_DEVICE = 2**32 - 1
#: What a call of a library becomes that returns an error object.
NATIVE_FAILURES = (PhalanxError, ValueError, IndexError, TimeoutError)


def check_library(path: str, observe: Observer = ignore) -> dict[str, Any]:
    """Load a library; check versions, tables, device descriptions, error objects, kernel rows.

    Returns plain data: ``path``, ``problems`` (pairs of field and detail; empty: the library keeps
    to the ABI), ``notes`` (what could not be checked here), and what it says of itself under
    ``plugin``, ``abi``, ``capabilities``, ``score``, ``devices``. ``observe`` is told each step
    before it is taken. A library that does not keep to the ABI may crash the process.
    """
    problems: list[Problem] = []
    found: dict[str, Any] = {"path": path, "problems": problems, "notes": []}
    observe("the loading of the library")
    try:
        handle, host, api = load_table(Path(path).absolute())
    except PluginLoadError as error:
        problems.append(Problem("", str(error)))
        return found
    observe("the check of its table")
    problems += abi.check_api(api)
    if problems:
        return found
    found["abi"] = f"{int(api.built_abi_major)}.{int(api.built_abi_minor)}"
    bits = int(api.capabilities)
    found["capabilities"] = [c.name for c in abi.OPTIONAL if bits & c.value]
    found["notes"] += _newer(api)
    observe("plugin_info")
    try:
        library = Library(Path(path), handle, host, api)
    except NATIVE_FAILURES as error:
        problems.append(Problem("plugin_info", str(error)))
        return found
    found["plugin"] = {
        "name": library.name,
        "vendor": library.vendor,
        "version": library.version,
        "license": library.license,
    }
    problems += _identity_problems(library)
    observe("plugin_score")
    try:
        found["score"] = library.score
    except NATIVE_FAILURES as error:
        problems.append(Problem("plugin_score", str(error)))
        return found
    if library.score > 0:
        found["devices"] = _devices(library, problems, found["notes"], observe)
    return found


def _newer(api: Any) -> list[str]:
    """Say what of a newer plugin's table is beyond this host; it is not called."""
    if int(api.built_abi_minor) <= abi.ABI_MINOR:
        return []
    more = int(api.struct_size) - ffi().sizeof("phx_api")
    bits = abi.unknown_bits(int(api.capabilities))
    return [
        f"the plugin is newer than this host (ABI {abi.ABI_MAJOR}.{abi.ABI_MINOR}): "
        f"phx_api has {max(more, 0)} more bytes, unknown capability bits {bits:#x}"
    ]


def _identity_problems(library: Library) -> list[Problem]:
    problems = []
    if why := refused_name(library.name):
        problems.append(Problem("phx_plugin_info.name", why))
    elif library.name in our_names() and library.vendor.casefold() != OURS:
        taken = f"{library.name!r} is the name of a driver of Phalanx, which keeps it"
        problems.append(Problem("phx_plugin_info.name", taken))
    if not re.match(r"\d", library.version):
        wrong = f"{library.version!r} does not begin with a number"
        problems.append(Problem("phx_plugin_info.version", wrong))
    return problems


def _devices(
    library: Library, problems: list[Problem], notes: list[str], observe: Observer
) -> list[dict[str, Any]]:
    observe("device_count")
    count = ffi().new("uint32_t *")
    try:
        library.call("device_count", count)
    except DeviceError as error:  # an answer: the hardware or its service is not here
        notes.append(f"no device could be checked: {error}")
        return []
    except NATIVE_FAILURES as error:
        problems.append(Problem("device_count", str(error)))
        return []
    problems += _error_problems(library, observe)
    if count[0] > _MOST_DEVICES:
        problems.append(Problem("device_count", f"{count[0]} devices, more than {_MOST_DEVICES}"))
        return []
    return [_device(library, index, problems, observe) for index in range(count[0])]


_MOST_DEVICES = 4096


def _error_problems(library: Library, observe: Observer) -> list[Problem]:
    """Ask for a device that cannot exist: the answer shows how the plugin makes errors."""
    observe("device_info of a device that does not exist")
    info = ffi().new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
    error = library.functions["device_info"](_NO_SUCH_DEVICE, info)
    call = f"device_info({_NO_SUCH_DEVICE})"
    if not error:
        return [Problem("device_info", f"{call} succeeds, though there is no such device")]
    complete = error.struct_size >= abi.end_of("phx_error", "destroy")
    owned = bool(complete and error.destroy)
    taken = take_error(error)
    problems = []
    if not owned:
        wrong = f"{call} returns an error where it is null, or lies behind struct_size"
        problems.append(Problem("phx_error.destroy", wrong))
    if taken.code == abi.ErrorCode.OK or taken.code not in set(abi.ErrorCode):
        problems.append(Problem("phx_error.code", f"{call} returns an error with {taken.code}"))
    if not taken.message:
        problems.append(Problem("phx_error.message", f"{call} returns an error without a message"))
    return problems


def _device(
    library: Library, index: int, problems: list[Problem], observe: Observer
) -> dict[str, Any]:
    name = f"{library.name}:{index}"
    found: dict[str, Any] = {"name": name, "kernels": 0, "unknown_kernels": []}
    step = "device_info"
    try:
        observe(f"device_info of {name}")
        info = ffi().new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
        library.call("device_info", index, info)
        found["hardware"] = text(info.name)
        found["alignment"] = int(info.alignment)
        problems += [
            Problem(f"phx_device_info.{field}", f"{name}: {line}")
            for field, line in _info_problems(info)
        ]
        step = "device_open"
        observe(f"device_open of {name}")
        device = ffi().new("phx_device **")
        library.call("device_open", index, device)
        if not device[0]:
            problems.append(Problem("device_open", f"{name}: it gives no device and no error"))
            return found
        step = "kernel_table"
        observe(f"kernel_table of {name}")
        read = _kernels(library, device[0])
        found["kernels"], found["unknown_kernels"] = len(read.rows), read.unknown
        problems += [Problem(p.field, f"{name}: {p.detail}") for p in read.problems]
        for step in ("kernel_find", "kernel_compile"):
            observe(f"{step} of {name}")
            problems += _kernels_on_demand(library, device[0], name, step, read)
        step = "device_close"
        observe(f"device_close of {name}")
        library.call("device_close", device[0])
    except NATIVE_FAILURES as error:
        problems.append(Problem(step, f"{name}: {error}"))
    return found


def _info_problems(info: Any) -> list[tuple[str, str]]:
    problems = []
    if not text(info.name):
        problems.append(("name", "it is empty"))
    if not 0 <= info.kind <= 2:
        problems.append(("kind", f"unknown kind {int(info.kind)}"))
    if problem := alignment_problem(int(info.alignment)):
        problems.append(("alignment", problem))
    if info.max_allocation > info.total_memory:
        problems.append(("max_allocation", "it is larger than total_memory"))
    return problems


def _kernels(library: Library, device: Any) -> TableRead:
    rows = ffi().new("const phx_kernel *const **")
    count = ffi().new("uint64_t *")
    library.call("kernel_table", device, rows, count)
    newer = library.built_abi[1] > abi.ABI_MINOR
    return read_table(rows[0], int(count[0]), newer=newer)


def _kernels_on_demand(
    library: Library, device: Any, name: str, step: str, read: TableRead
) -> list[Problem]:
    """Look up one kernel, and compile one, where the library has the call."""
    new = ffi().new
    if step not in library.functions:
        return []
    if step == "kernel_compile":
        if read.rows:
            row, counts = ffi().cast("const phx_kernel *", read.rows[0].address), new("uint32_t[2]")
            library.call(step, device, row, counts, counts + 1)
        return []
    op, dtypes = new("char[]", b"add"), new("uint8_t[]", [DTYPES["float32"].code] * 3)
    found, reason = new("const phx_kernel **"), new("phx_str *")
    library.call(step, device, (op, 3), dtypes, 2, 1, Layout.ANY, found, reason)
    problem = read_row(found[0])[1] if found[0] else None
    return [Problem(step, f"{name}: {problem}")] if problem else []
