"""``phalanx abi-check``: all that can be told of a plugin's library without a kernel run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from phalanx.discovery.guard import Observer, ignore
from phalanx.discovery.loading import refused_name
from phalanx.driver import alignment_problem
from phalanx.errors import DeviceError, PluginLoadError, UnsupportedOpError

from . import structs as abi
from .kernel_table import read_table
from .library import Library, load_table, take_error
from .structs import ffi, text

_NO_SUCH_DEVICE = 2**32 - 1


def check_library(path: str, observe: Observer = ignore) -> dict[str, Any]:
    """Load a library; check versions, tables, device descriptions, error objects, kernel rows.

    Returns plain data: ``path``, ``problems`` (empty: the library keeps to the ABI), ``notes``
    (what could not be checked here), and what it says of itself under ``plugin``, ``abi``,
    ``capabilities``, ``score``, ``devices``. ``observe`` is told each step before it is taken.
    A library that does not keep to the ABI may crash the process.
    """
    found: dict[str, Any] = {"path": path, "problems": [], "notes": []}
    observe("the loading of the library")
    try:
        handle, host, api = load_table(Path(path).absolute())
    except PluginLoadError as error:
        found["problems"].append(str(error))
        return found
    observe("the check of its table")
    found["problems"] += abi.check_api(api)
    if found["problems"]:
        return found
    found["abi"] = f"{int(api.built_abi_major)}.{int(api.built_abi_minor)}"
    bits = int(api.capabilities)
    found["capabilities"] = [c.name for c in abi.OPTIONAL if bits & c.value]
    observe("plugin_info")
    try:
        library = Library(Path(path), handle, host, api)
        found["plugin"] = {
            "name": library.name,
            "vendor": library.vendor,
            "version": library.version,
            "license": library.license,
        }
        found["problems"] += _identity_problems(library)
        observe("plugin_score")
        found["score"] = library.score
        if library.score > 0:
            found["devices"] = _devices(library, found["problems"], found["notes"], observe)
    except _NATIVE_FAILURES as error:
        found["problems"].append(str(error))
    return found


_NATIVE_FAILURES = (
    DeviceError,
    PluginLoadError,
    UnsupportedOpError,
    ValueError,
    IndexError,
    TimeoutError,
)


def _identity_problems(library: Library) -> list[str]:
    problems = []
    if why := refused_name(library.name):
        problems.append(f"plugin_info: {why}")
    if not re.match(r"\d", library.version):
        problems.append(f"plugin_info: version {library.version!r} does not begin with a number")
    return problems


def _devices(
    library: Library, problems: list[str], notes: list[str], observe: Observer
) -> list[dict[str, Any]]:
    observe("device_count")
    count = ffi().new("uint32_t *")
    try:
        library.call("device_count", count)
    except DeviceError as error:  # an answer: the hardware or its service is not here
        notes.append(f"no device could be checked: {error}")
        return []
    problems += _error_problems(library, observe)
    return [_device(library, index, problems, observe) for index in range(count[0])]


def _error_problems(library: Library, observe: Observer) -> list[str]:
    """Ask for a device that cannot exist: the answer shows how the plugin makes errors."""
    observe("device_info of a device that does not exist")
    info = ffi().new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
    error = library.functions["device_info"](_NO_SUCH_DEVICE, info)
    call = f"device_info({_NO_SUCH_DEVICE})"
    if not error:
        return [f"{call} succeeds, though there is no such device"]
    complete = error.struct_size >= abi.end_of("phx_error", "destroy")
    owned = bool(complete and error.destroy)
    taken = take_error(error)
    problems = []
    if not owned:
        problems.append(f"{call} returns an error without destroy, or with a wrong struct_size")
    if taken.code == abi.ErrorCode.OK or taken.code not in set(abi.ErrorCode):
        problems.append(f"{call} returns an error with the code {taken.code}")
    if not taken.message:
        problems.append(f"{call} returns an error without a message")
    return problems


def _device(library: Library, index: int, problems: list[str], observe: Observer) -> dict[str, Any]:
    name = f"{library.name}:{index}"
    found: dict[str, Any] = {"name": name, "kernels": 0}
    observe(f"device_info of {name}")
    info = ffi().new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
    try:
        library.call("device_info", index, info)
        found["hardware"] = text(info.name)
        found["alignment"] = int(info.alignment)
        problems += [f"{name}: {line}" for line in _info_problems(info)]
        observe(f"device_open of {name}")
        device = ffi().new("phx_device **")
        library.call("device_open", index, device)
        observe(f"kernel_table of {name}")
        found["kernels"] = _kernels(library, device[0], name, problems)
        observe(f"device_close of {name}")
        library.call("device_close", device[0])
    except _NATIVE_FAILURES as error:
        problems.append(f"{name}: {error}")
    return found


def _info_problems(info: Any) -> list[str]:
    problems = []
    if not text(info.name):
        problems.append("device_info gives no name")
    if not 0 <= info.kind <= 2:
        problems.append(f"unknown kind {int(info.kind)}")
    if problem := alignment_problem(int(info.alignment)):
        problems.append(problem)
    if info.max_allocation > info.total_memory:
        problems.append("max_allocation is larger than total_memory")
    return problems


def _kernels(library: Library, device: Any, name: str, problems: list[str]) -> int:
    rows = ffi().new("const phx_kernel *const **")
    count = ffi().new("uint64_t *")
    library.call("kernel_table", device, rows, count)
    newer = library.built_abi[1] > abi.ABI_MINOR
    good, bad = read_table(rows[0], int(count[0]), newer=newer)
    problems += [f"{name}: {line}" for line in bad]
    return len(good)
