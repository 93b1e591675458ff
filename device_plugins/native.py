"""The driver for any shared library with the plugin ABI of ``phalanx.h``."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx._warm import deliver_log
from phalanx.abi import ABI_MINOR, ffi, text
from phalanx.diagnosis import Status, Step
from phalanx.driver import (
    Capability,
    DeviceInfo,
    DeviceKind,
    Direction,
    Driver,
    Feature,
    Layout,
    alignment_problem,
)
from phalanx.errors import (
    ClosedError,
    DeviceError,
    DriverCallError,
    PluginLoadError,
    UnsupportedOpError,
)
from phalanx.kernel_table import KernelRow, read_table
from phalanx.library import Library, open_library
from phalanx.locks import ForkSafeLock

if TYPE_CHECKING:
    from phalanx._warm import Kernel, Stream

_FOREVER = 2**64 - 1
_KINDS = (DeviceKind.CPU, DeviceKind.GPU, DeviceKind.ACCELERATOR)
_Table = dict[tuple[str, tuple[str, ...], Layout], "Kernel"]


def load_library(path: str | os.PathLike[str]) -> NativeDriver:
    """Return the driver of a library that exports the plugin ABI.

    For a plugin package this is all: return it from the hook ``phalanx_drivers``.

    Raises:
        PluginLoadError: if it does not load or does not fit, with the path and every fault.
    """
    library = open_library(path)
    return NativeDriver(library.name, lambda: library)


def _nanoseconds(timeout: float | None) -> int:
    if timeout is None:
        return _FOREVER
    if math.isnan(timeout) or timeout < 0:
        raise ValueError(f"a timeout is a number of seconds from 0 up or None, not {timeout!r}")
    return int(min(timeout * 1e9, _FOREVER))


class NativeDriver(Driver):
    """All devices of one library.

    ``locate`` opens the library when a device is first asked for, so that a library that is absent
    is an error with a reason then, and not while plugins are being loaded.
    """

    def __init__(self, name: str, locate: Callable[[], Library]) -> None:
        self.name = name
        self._locate = locate
        self._lock = ForkSafeLock()
        self._library: Library | None = None
        self._opened: dict[int, Any] = {}
        self._tables: dict[int, _Table] = {}
        self._alignments: dict[int, int] = {}

    @property
    def library(self) -> Library:
        """The opened library.

        Raises:
            PluginLoadError: if it does not load, or is another driver's.
            DeviceError: if it cannot run on this machine.
        """
        if self._library is None:
            with self._lock:
                self._library = self._library or self._checked(self._locate())
        return self._library

    @property
    def capabilities(self) -> Capability:  # type: ignore[override]
        """Which optional calls the library implements; opens it."""
        return Capability(self.library.capabilities & sum(Capability))

    def _checked(self, library: Library) -> Library:
        if library.name != self.name:
            raise PluginLoadError(
                f"{library.path} is of driver {library.name!r}, not {self.name!r}"
            )
        if library.score <= 0:
            raise DeviceError(
                f"{library.path.name} cannot run on this machine (its score is {library.score}); "
                "it may be built for another processor or need another driver version"
            )
        return library

    def explain(self) -> Iterable[Step]:
        """Return the steps ``ABI`` and ``library`` of ``phalanx why``."""
        try:
            library = self.library
        except PluginLoadError as error:
            head, _, faults = str(error).partition("\n")
            if faults or "refuses this host" in head:
                remedy = "rebuild the plugin against this phalanx.h; `phalanx abi-check` shows more"
                return (Step("ABI", Status.FAIL, " ".join(str(error).split()), remedy),)
            detail, _, remedy = head.partition("; ")
            remedy = remedy or "check the path, and with ldd the libraries that it needs"
            return (Step("library", Status.FAIL, detail, remedy),)
        except DeviceError as error:
            return (Step("library", Status.FAIL, str(error)),)
        major, minor = library.built_abi
        about = ", ".join(part for part in (library.vendor, library.license) if part)
        return (
            Step("ABI", Status.OK, f"built for {major}.{minor}"),
            Step("library", Status.OK, f"{library.path.name} {library.version} ({about})"),
        )

    def device_count(self) -> int:
        """Return the number of devices."""
        out = ffi().new("uint32_t *")
        self.library.call("device_count", out, context=f"device_count of {self.name}")
        return int(out[0])

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device without opening it."""
        info = ffi().new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
        self.library.call("device_info", index, info, context=f"device_info of {self.name}:{index}")
        if not 0 <= info.kind < len(_KINDS):
            raise DeviceError(
                f"{self.name}:{index}: the plugin states an unknown kind {int(info.kind)}"
            )
        if problem := alignment_problem(int(info.alignment)):
            raise DeviceError(f"{self.name}:{index}: {problem}; this is a fault of the plugin")
        uuid = bytes(ffi().buffer(info.uuid))
        return DeviceInfo(
            name=text(info.name) or self.name,
            kind=_KINDS[info.kind],
            features=Feature(info.features & sum(Feature)),
            total_memory=int(info.total_memory),
            max_allocation=int(info.max_allocation),
            alignment=int(info.alignment),
            compute_units=int(info.compute_units),
            score=int(info.score),
            uuid=uuid if any(uuid) else b"",
            pci_address=text(info.pci_address),
            numa_node=int(info.numa_node),
            dlpack_device=(int(info.dlpack_type), int(info.dlpack_id)),
            vendor=self.library.vendor,
            driver_version=self.library.version,
        )

    def open(self, index: int) -> None:
        """Open a device."""
        with self._lock:
            if index in self._opened:
                return
            out = ffi().new("phx_device **")
            self.library.call(
                "device_open", index, out, context=f"device_open of {self.name}:{index}"
            )
            if not out[0]:
                raise DeviceError(
                    f"device_open of {self.name}:{index} returned no device and no error"
                )
            self._opened[index] = out[0]

    def close(self, index: int) -> None:
        """Close a device; does nothing if it is not open."""
        with self._lock:
            device = self._opened.pop(index, None)
            self._tables.pop(index, None)
        if device is not None:
            self.library.call(
                "device_close", device, context=f"device_close of {self.name}:{index}"
            )

    def _device(self, index: int) -> Any:
        try:
            return self._opened[index]
        except KeyError:
            raise ClosedError(
                f"{self.name}:{index} is not open; Device.ensure_open() opens it"
            ) from None

    def _call(self, index: int, function: str, *args: Any, size: int = 0) -> None:
        library = self.library
        target = library.functions.get(function)
        if target is None:
            raise UnsupportedOpError(f"{self.name}:{index}: the library has no {function}")
        error = target(*args)
        deliver_log()
        if error:
            library.fail(error, f"{function} on {self.name}:{index}", function, size)

    def synchronize(self, index: int, timeout: float | None = None) -> None:
        """Wait for all work of a device."""
        self._call(index, "device_synchronize", self._device(index), _nanoseconds(timeout))

    def memory_info(self, index: int) -> tuple[int, int]:
        """Return free and total bytes."""
        out = ffi().new("uint64_t[2]")
        self._call(index, "memory_info", self._device(index), out, out + 1)
        return int(out[0]), int(out[1])

    def alloc(self, index: int, size: int) -> int:
        """Return the handle of a new block."""
        if not 0 < size < 2**63:
            raise ValueError(f"{self.name}:{index}: cannot allocate {size} bytes")
        out = ffi().new("void **")
        self._call(
            index, "alloc", self._device(index), size, self._alignment(index), out, size=size
        )
        if not out[0]:
            raise DriverCallError(
                f"alloc of {size} bytes on {self.name}:{index} returned no memory and no error",
                call="alloc",
            )
        return int(ffi().cast("uintptr_t", out[0]))

    def _alignment(self, index: int) -> int:
        known = self._alignments.get(index)
        if known is None:
            known = self._alignments[index] = self.device_info(index).alignment
        return known

    def free(self, index: int, handle: int) -> None:
        """Give a block back."""
        self._call(index, "free", self._device(index), ffi().cast("void *", handle))

    def copy(
        self,
        index: int,
        direction: Direction,
        dst: int,
        dst_offset: int,
        src: int,
        src_offset: int,
        size: int,
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a copy."""
        cast = ffi().cast
        target, source = cast("void *", dst), cast("void *", src)
        queue = cast("phx_stream *", stream.handle or 0)
        device = self._device(index)
        self._call(
            index, "copy", device, queue, direction, target, dst_offset, source, src_offset, size
        )

    def fill(
        self, index: int, dst: int, offset: int, size: int, pattern: bytes, *, stream: Stream
    ) -> bool:
        """Enqueue a fill; the ABI has patterns of 1, 2, 4, 8 and 16 bytes."""
        if len(pattern) not in (1, 2, 4, 8, 16):
            return False
        cast = ffi().cast
        queue, target = cast("phx_stream *", stream.handle or 0), cast("void *", dst)
        device = self._device(index)
        self._call(index, "fill", device, queue, target, offset, size, pattern, len(pattern))
        return True

    # Kernels

    def kernel(self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
        """Return a row of the kernel table."""
        table = self._table(index)
        return table.get((op, dtypes, layout)) or table.get((op, dtypes, Layout.ANY))

    def kernels(self, index: int) -> Iterable[Kernel]:
        """Return all rows of the kernel table."""
        return self._table(index).values()

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        """Tell whether the kernel table has rows for an op and dtypes."""
        table = self._table(index)
        return any((op, dtypes, layout) in table for layout in Layout)

    def _table(self, index: int) -> _Table:
        table = self._tables.get(index)
        if table is None:
            with self._lock:
                if index not in self._tables:
                    self._tables[index] = self._read_table(index)
                table = self._tables[index]
        return table

    def _read_table(self, index: int) -> _Table:
        rows = ffi().new("const phx_kernel *const **")
        count = ffi().new("uint64_t *")
        self._call(index, "kernel_table", self._device(index), rows, count)
        newer = self.library.built_abi[1] > ABI_MINOR
        good, problems = read_table(rows[0], int(count[0]), newer=newer)
        if problems:
            more = f"\n  and {len(problems) - 8} more" if len(problems) > 8 else ""
            lines = "\n  ".join(problems[:8])
            raise PluginLoadError(
                f"{self.library.path}, device {self.name}:{index}:\n  {lines}{more}"
            )
        return {row.key: self._make_kernel(row) for row in good}

    def _make_kernel(self, row: KernelRow) -> Kernel:
        from phalanx._warm import Kernel

        return Kernel(
            row.op,
            row.dtypes,
            row.layout,
            determinism=row.determinism.value,
            error_bound=row.error_bound,
            provider=f"{Path(self.library.path).name} {self.library.version}".strip(),
            run=row.run,
            native=row.address,
        )

    def check_native_error(self, address: int, context: str) -> None:
        """Raise the Python error for a ``phx_error`` at an address, and destroy it."""
        if address:
            self.library.fail(ffi().cast("phx_error *", address), context)

    # Streams and events; a handle is the address of the native object.

    def stream_create(self, index: int, priority: int) -> int:
        """Return a new stream."""
        out = ffi().new("phx_stream **")
        self._call(index, "stream_create", self._device(index), priority, out)
        return self._made(index, "stream_create", "stream", out[0])

    def _made(self, index: int, function: str, what: str, handle: Any) -> int:
        """Return the address of a new object; null would mean the device's default stream."""
        if not handle:
            raise DriverCallError(
                f"{function} on {self.name}:{index} returned no {what} and no error; "
                "this is a fault of the plugin",
                call=function,
            )
        return int(ffi().cast("uintptr_t", handle))

    def stream_destroy(self, index: int, handle: int) -> None:
        """Finish and destroy a stream."""
        self._call(index, "stream_destroy", ffi().cast("phx_stream *", handle))

    def stream_query(self, index: int, handle: int | None) -> bool:
        """Return whether a stream is idle."""
        out = ffi().new("int32_t *")
        self._call(index, "stream_query", ffi().cast("phx_stream *", handle or 0), out)
        return bool(out[0])

    def stream_synchronize(
        self, index: int, handle: int | None, timeout: float | None = None
    ) -> None:
        """Wait for a stream."""
        stream = ffi().cast("phx_stream *", handle or 0)
        self._call(index, "stream_synchronize", stream, _nanoseconds(timeout))

    def stream_wait_event(self, index: int, handle: int | None, event: int) -> None:
        """Let a stream wait for an event."""
        stream = ffi().cast("phx_stream *", handle or 0)
        self._call(
            index,
            "stream_wait_event",
            self._device(index),
            stream,
            ffi().cast("phx_event *", event),
        )

    def event_create(self, index: int) -> int:
        """Return a new event."""
        out = ffi().new("phx_event **")
        self._call(index, "event_create", self._device(index), out)
        return self._made(index, "event_create", "event", out[0])

    def event_destroy(self, index: int, event: int) -> None:
        """Destroy an event."""
        self._call(index, "event_destroy", ffi().cast("phx_event *", event))

    def event_record(self, index: int, event: int, handle: int | None) -> None:
        """Put an event behind a stream's work."""
        cast = ffi().cast
        self._call(
            index, "event_record", cast("phx_event *", event), cast("phx_stream *", handle or 0)
        )

    def event_query(self, index: int, event: int) -> bool:
        """Return whether an event has been passed."""
        out = ffi().new("int32_t *")
        self._call(index, "event_query", ffi().cast("phx_event *", event), out)
        return bool(out[0])

    def event_synchronize(self, index: int, event: int, timeout: float | None = None) -> None:
        """Wait for an event."""
        self._call(
            index, "event_synchronize", ffi().cast("phx_event *", event), _nanoseconds(timeout)
        )

    def event_elapsed(self, index: int, begin: int, end: int) -> float:
        """Return the seconds between two events."""
        out, cast = ffi().new("uint64_t *"), ffi().cast
        self._call(
            index, "event_elapsed", cast("phx_event *", begin), cast("phx_event *", end), out
        )
        return int(out[0]) / 1e9

    def trim(self, index: int) -> None:
        """Let the library give unused memory back to the system."""
        self._call(index, "device_trim", self._device(index))
