"""Cases of the lying plugin against the host: what is raised must be one of our errors.

``python tests/abi/fuzz/drive.py LIBRARY FIRST COUNT`` runs the cases of the seeds from FIRST on,
and prints the seed before each case, for a crash; ``run.py`` builds the library and starts this.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from phalanx.abi import library as libraries
from phalanx.abi import structs as abi
from phalanx.abi.check import check_library
from phalanx.abi.library import Library, load_table
from phalanx.abi.structs import ffi
from phalanx.device_plugins.native import NativeDevice, NativeDriver
from phalanx.discovery.loading import list_devices
from phalanx.driver import Layout, Place
from phalanx.errors import PhalanxError, PluginLoadError

#: What a user may meet: our errors, and the builtins that the codes of `phx_error` become.
FAIR = (PhalanxError, ValueError, IndexError, TimeoutError)
_F32 = ("float32",)


class Plugin:
    """The lying plugin, with the calls that begin a case and tell of it."""

    def __init__(self, path: Path) -> None:
        import cffi

        own = cffi.FFI()
        own.cdef(
            "void fuzz_begin(uint64_t, uint32_t); const char *fuzz_story(void);"
            "int32_t fuzz_live(void);"
        )
        self.path = path
        self._ffi, self._library = own, own.dlopen(str(path))

    def begin(self, seed: int) -> None:
        self._library.fuzz_begin(seed * 0x10001, 8 << seed % 6)  # few lies, or many

    def story(self) -> str:
        return self._ffi.string(self._library.fuzz_story()).decode()

    def live_errors(self) -> int:
        return int(self._library.fuzz_live())


def fair(work: Callable[[], Any]) -> Any:
    """Return what a call returns, ``None`` if it raises what a user may meet."""
    try:
        return work()
    except FAIR:
        return None


def run_case(plugin: Plugin, seed: int) -> bool:
    """Run a case; return whether the library came into use.

    Raises:
        AssertionError: an error object was left, or destroyed twice.
        Exception: the host raised what no user should meet.
    """
    plugin.begin(seed)
    if seed % 5 == 4:
        report = check_library(str(plugin.path))
        used = bool(report.get("devices"))
    else:
        used = _use(plugin.path)
    left = plugin.live_errors()
    assert left == 0, f"{left} errors were not destroyed"
    return used


def _use(path: Path) -> bool:
    try:
        handle, host, api = load_table(path)
    except PluginLoadError:
        return False
    if abi.check_api(api):
        return False
    found = fair(lambda: Library(path, handle, host, api))
    if found is None:
        return False
    driver = NativeDriver(found.name, lambda: found)
    fair(lambda: [str(step) for step in driver.explain()])
    listed = fair(driver.device_count)
    for index in range(min(listed or 0, 2)):
        fair(functools.partial(driver.device_info, index))
    opened = fair(lambda: driver.open(0))
    if opened is None:
        return False
    _use_device(opened)
    fair(opened.close)
    return True


def _use_device(opened: NativeDevice) -> None:
    stream: Any = SimpleNamespace(handle=None)
    place, host = Place(opened, 0x1000), Place(None, 0x1000)
    for op, dtypes in (("add", _F32 * 3), ("divide", _F32 * 3), ("exp", _F32 * 2)):
        kernel = fair(functools.partial(opened.kernel, op, dtypes, Layout.CONTIGUOUS))
        fair(functools.partial(opened.alternatives, op, dtypes, Layout.ANY))
        if kernel is not None and hasattr(kernel, "provider"):
            fair(functools.partial(opened.compile_ahead, kernel))
            fair(functools.partial(_run, opened, kernel))
    for work in (
        lambda: opened.free(opened.alloc(100)),
        lambda: opened.copy(place, host, 8, stream=stream),
        opened.memory_info,
        opened.synchronize,
        lambda: opened.release_host(opened.adopt_host(0x1000, 8, None).handle),  # type: ignore[union-attr]
        lambda: opened.host_address(0x1000),
        opened.trim,
        opened.threads,
        lambda: _use_streams(opened),
    ):
        try:
            fair(work)
        except (NotImplementedError, AttributeError) as error:
            # no such call, or no memory was adopted
            if isinstance(error, AttributeError) and "NoneType" not in str(error):
                raise


def _run(opened: NativeDevice, kernel: Any) -> None:
    row = ffi().cast("const phx_kernel *", kernel.handle)
    call = ffi().new("phx_call *", {"struct_size": ffi().sizeof("phx_call")})
    error = row.run(row, ffi().NULL, call)
    opened.check_native_error(int(ffi().cast("uintptr_t", error)), "a launch")


def _use_streams(opened: NativeDevice) -> None:
    stream, event = opened.stream_create(0), opened.event_create(timed=True)
    for work in (
        lambda: opened.event_record(event, None),
        lambda: opened.stream_wait_event(stream, event),
        lambda: opened.event_query(event),
        lambda: opened.stream_query(None),
        lambda: opened.event_synchronize(event, 1.0),
        lambda: opened.stream_synchronize(stream, 1.0),
        lambda: opened.event_elapsed(event, event),
        lambda: opened.stream_inject_failure(stream),
        lambda: opened.event_destroy(event),
        lambda: opened.stream_destroy(stream),
    ):
        fair(work)


def main(path: Path, first: int, count: int) -> None:
    """Run the cases, and print how many came into use."""
    keep = functools.cache(libraries._host_table)  # one for all cases: they are kept for ever
    libraries._host_table = keep  # type: ignore[assignment]
    plugin = Plugin(path)
    used = 0
    for seed in range(first, first + count):
        sys.stdout.write(f"\rcase {seed}")  # survives a crash: see the flush
        sys.stdout.flush()
        try:
            used += run_case(plugin, seed)
            if seed % 97 == 0:
                list_devices(NativeDriver("fuzz", lambda: _library(path)))
        except BaseException:
            print(f"\ncase {seed} spoilt: {plugin.story()}", flush=True)
            raise
    print(f"\r{count} cases, in {used} of them the device came into use", flush=True)


def _library(path: Path) -> Library:
    handle, host, api = load_table(path)
    if problems := abi.check_api(api):
        raise PluginLoadError("; ".join(map(str, problems)))
    return Library(path, handle, host, api)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
