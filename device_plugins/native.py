"""The driver for any shared library with the plugin ABI of ``phalanx.h``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from phalanx.abi import structs as abi
from phalanx.abi.kernel_table import KernelRow, read_row, read_table
from phalanx.abi.library import Library, open_library
from phalanx.abi.structs import ABI_MINOR, ffi, text
from phalanx.errors import (
    ClosedError,
    DeviceError,
    DeviceMismatchError,
    DriverCallError,
    PluginLoadError,
)
from phalanx.optable import DTYPES, OPS
from phalanx.vendor import (
    Capability,
    DeviceInfo,
    DeviceKind,
    Driver,
    Feature,
    ForkSafeLock,
    Kernel,
    Layout,
    OpenDevice,
    Place,
    Refusal,
    Status,
    Step,
    Stream,
    alignment_problem,
    check_timeout,
)

_FOREVER = 2**64 - 1
_PER_CORE = 2**32 - 1  # PHX_THREADS_PER_CORE
_KINDS = (DeviceKind.CPU, DeviceKind.GPU, DeviceKind.ACCELERATOR)
_Key = tuple[str, tuple[str, ...], Layout]
_Table = dict[_Key, list[Kernel]]
_FAULT = "this is a fault of the plugin"
_NO_ROW = Refusal()


def load_library(path: str | os.PathLike[str]) -> NativeDriver:
    """Return the driver of a library that exports the plugin ABI.

    For a plugin package this is all: return it from the hook ``phalanx_drivers``.

    Raises:
        PluginLoadError: if it does not load or does not fit, with the path and every fault.
    """
    library = open_library(path)
    return NativeDriver(library.name, lambda: library)


def _nanoseconds(timeout: float | None) -> int:
    seconds = check_timeout(timeout)
    return _FOREVER if seconds is None else int(min(seconds * 1e9, _FOREVER))


class NativeDriver(Driver):
    """All devices of one library.

    ``locate`` opens the library when a device is first asked for, so that a library that is absent
    is an error with a reason then, and not while plugins are being loaded.
    """

    def __init__(
        self,
        name: str,
        locate: Callable[[], Library],
        device_type: type[NativeDevice] | None = None,
    ) -> None:
        self.name = name
        self._device_type = device_type or NativeDevice
        self._locate = locate
        self._lock = ForkSafeLock()
        self._library: Library | None = None

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

    def _checked(self, library: Library) -> Library:
        if library.name != self.name:
            raise PluginLoadError(
                f"{library.path} is of driver {library.name!r}, not {self.name!r}"
            )
        if library.score <= 0:
            raise DeviceError(
                f"{library.path.name} cannot run on this machine (its score is {library.score})",
                remedy="it may be built for another processor or need another driver version",
            )
        return library

    def explain(self) -> Iterable[Step]:
        """Return the steps ``ABI`` and ``library`` of ``phalanx why``."""
        try:
            library = self.library
        except PluginLoadError as error:
            detail = " ".join(error.detail.split())
            if "\n" in error.detail or "refuses this host" in error.detail:
                remedy = "rebuild the plugin against this phalanx.h; `phalanx abi-check` shows more"
                return (Step("ABI", Status.FAIL, detail, remedy),)
            remedy = error.remedy or "check the path, and with ldd the libraries that it needs"
            return (Step("library", Status.FAIL, detail, remedy),)
        except DeviceError as error:
            return (Step("library", Status.FAIL, error.detail, error.remedy),)
        major, minor = library.built_abi
        about = ", ".join(part for part in (library.vendor, library.license) if part)
        return (
            Step("ABI", Status.OK, f"built for {major}.{minor}"),
            Step("library", Status.OK, f"{library.path.name} {library.version} ({about})"),
        )

    def device_count(self) -> int:
        """Return the number of devices."""
        out = ffi().new("uint32_t *")
        self.library.call("device_count", out, where=self.name)
        return int(out[0])

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device without opening it."""
        info = ffi().new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
        self.library.call("device_info", index, info, where=f"{self.name}:{index}")
        if not 0 <= info.kind < len(_KINDS):
            raise DeviceError(
                f"{self.name}:{index}: the plugin states an unknown kind {int(info.kind)}"
            )
        if problem := alignment_problem(int(info.alignment)):
            raise DeviceError(f"{self.name}:{index}: {problem}", remedy=_FAULT)
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

    def open(self, index: int) -> NativeDevice:
        """Open a device."""
        out = ffi().new("phx_device **")
        name = f"{self.name}:{index}"
        self.library.call("device_open", index, out, where=name)
        if not out[0]:
            raise DeviceError(
                f"device_open on {name} returned no device and no error", remedy=_FAULT
            )
        return self._device_type(self.library, name, out[0], self.device_info(index).alignment)


class NativeDevice(OpenDevice):
    """A device that a library has opened."""

    def __init__(self, library: Library, name: str, device: Any, alignment: int) -> None:
        self.name = name
        self.capabilities = Capability(library.capabilities & sum(Capability))
        self._library = library
        self._handle = device  # a phx_device *, None when closed
        self._alignment = alignment
        self._lock = ForkSafeLock()
        self._kernels: _Table | None = None
        self._found: dict[_Key, Kernel | Refusal] = {}
        self._adopted: dict[int, list[Any]] = {}  # owners of the host's memory, by handle
        self.native = (int(ffi().cast("uintptr_t", device)), self._default_stream())

    def close(self) -> None:
        """Close the device; does nothing if it is closed."""
        device, self._handle = self._handle, None
        if device is not None:
            self._library.call("device_close", device, where=self.name)

    @property
    def _device(self) -> Any:
        if self._handle is None:
            raise ClosedError(f"{self.name} is closed", remedy="Device.ensure_open() opens it")
        return self._handle

    def _call(self, function: str, *args: Any, size: int = 0) -> None:
        self._library.call(function, *args, where=self.name, size=size)

    def synchronize(self, timeout: float | None = None) -> None:
        """Wait for all work of the device."""
        self._call("device_synchronize", self._device, _nanoseconds(timeout))

    def memory_info(self) -> tuple[int, int]:
        """Return free and total bytes."""
        out = ffi().new("uint64_t[2]")
        self._call("memory_info", self._device, out, out + 1)
        return int(out[0]), int(out[1])

    def alloc(self, size: int) -> int:
        """Return the handle of a new block."""
        if not 0 < size < 2**63:
            raise ValueError(f"{self.name}: cannot allocate {size} bytes")
        out = ffi().new("void **")
        self._call("alloc", self._device, size, self._alignment, out, size=size)
        return self._made("alloc", "memory", out[0])

    def free(self, handle: int) -> None:
        """Give a block back."""
        self._call("free", self._device, ffi().cast("void *", handle))

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        """Enqueue a copy."""
        device, queue = self._device, self._stream(stream.handle)
        self._call("copy", device, queue, self._place(dst), self._place(src), size)

    def _place(self, place: Place) -> Any:
        """Return a ``phx_place``."""
        if place.device is self:
            device = self._handle
        elif place.device is None:
            device = ffi().NULL
        else:
            raise DeviceMismatchError(f"{self.name}: a copy from or to another device")
        return (device, ffi().cast("void *", place.handle), place.offset)

    # The host's memory

    def adopt_host(self, address: int, size: int, owner: Any) -> Place | None:
        """Return where the device finds memory of the host, if it can use that in place."""
        if not self._can(abi.Capability.HOST_MEMORY):
            return None
        handle, offset, cast = ffi().new("void **"), ffi().new("uint64_t *"), ffi().cast
        self._call("host_adopt", self._device, cast("void *", address), size, handle, offset)
        if not handle[0]:
            return None
        made = int(cast("uintptr_t", handle[0]))
        with self._lock:  # two arrays over the same memory may have the same handle
            self._adopted.setdefault(made, []).append(owner)
        return Place(self, made, int(offset[0]))

    def release_host(self, handle: int) -> None:
        """Give the host's memory back."""
        self._call("host_release", self._device, ffi().cast("void *", handle))
        with self._lock:
            owners = self._adopted[handle]
            owners.pop()
            if not owners:
                del self._adopted[handle]

    def host_address(self, handle: int) -> int | None:
        """Return where the host reaches a block in place."""
        if not self._can(abi.Capability.HOST_MEMORY):
            return None
        out, cast = ffi().new("void **"), ffi().cast
        self._call("host_address", self._device, cast("void *", handle), out)
        return int(cast("uintptr_t", out[0])) or None

    # Kernels

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        """Return the first row of the kernel table for a key, or what the library finds."""
        row = next(self._rows(op, dtypes, layout), None)
        if row is not None or not self._can(abi.Capability.FIND_KERNEL):
            return row or _NO_ROW
        key = (op, dtypes, layout)
        found = self._found.get(key)
        if found is None:
            found = self._found.setdefault(key, self._find(*key))
        return found

    def _find(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        new = ffi().new
        name, row, reason = op.encode(), new("const phx_kernel **"), new("phx_str *")
        letters = new("char[]", name)
        codes = new("uint8_t[]", [DTYPES[d].code for d in dtypes])
        inputs = next(len(s.inputs) for s in OPS[op].signatures if s.dtypes == dtypes)
        outputs = len(dtypes) - inputs
        asked = ((letters, len(name)), codes, inputs, outputs, layout)
        self._call("kernel_find", self._device, *asked, row, reason)
        if not row[0]:
            return Refusal(text(reason[0]))
        read, problem = read_row(row[0])
        if read is None:
            raise PluginLoadError(f"kernel_find on {self.name}: {problem}", remedy=_FAULT)
        return self._make_kernel(read)

    def compile_ahead(self, kernel: Kernel) -> tuple[int, int] | None:
        """Make ready what a kernel needs, if the library compiles any."""
        if not self._can(abi.Capability.COMPILE):
            return None
        out = ffi().new("uint32_t[2]")
        row = ffi().cast("const phx_kernel *", kernel.handle)
        self._call("kernel_compile", self._device, row, out, out + 1)
        return int(out[0]), int(out[1])

    def _can(self, capability: abi.Capability) -> bool:
        return bool(self._library.capabilities & capability)

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Sequence[Kernel]:
        """Return the further rows of the kernel table for a key."""
        return tuple(self._rows(op, dtypes, layout))[1:]

    def _rows(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Iterator[Kernel]:
        if self._kernels is None:
            with self._lock:
                self._kernels = self._kernels or self._read_table()
        for kind in dict.fromkeys((layout, Layout.ANY)):
            yield from self._kernels.get((op, dtypes, kind), ())

    def _read_table(self) -> _Table:
        rows = ffi().new("const phx_kernel *const **")
        count = ffi().new("uint64_t *")
        self._call("kernel_table", self._device, rows, count)
        newer = self._library.built_abi[1] > ABI_MINOR
        read = read_table(rows[0], int(count[0]), newer=newer)
        if problems := read.problems:
            more = f"\n  and {len(problems) - 8} more" if len(problems) > 8 else ""
            lines = "\n  ".join(map(str, problems[:8]))
            raise PluginLoadError(
                f"{self._library.path}, device {self.name}:\n  {lines}{more}",
                remedy="mend these rows; `phalanx abi-check` shows all",
            )
        table: _Table = {}
        for row in read.rows:
            table.setdefault(row.key, []).append(self._make_kernel(row))
        return table

    def _make_kernel(self, row: KernelRow) -> Kernel:
        return Kernel(
            row.op,
            row.dtypes,
            row.layout,
            determinism=row.determinism.value,
            error_bound=row.error_bound,
            provider=f"{Path(self._library.path).name} {self._library.version}".strip(),
            handle=row.address,
            run=row.run,
            native=row.address,
        )

    def check_native_error(self, address: int, context: str) -> None:
        """Raise the Python error for a ``phx_error`` at an address, and destroy it."""
        if address:
            self._library.fail(ffi().cast("phx_error *", address), context)

    # Streams and events; a handle is the address of the native object.

    def _default_stream(self) -> int:
        """Ask once what stands for the default stream; 0, a null pointer, where nothing does."""
        if not self._can(abi.Capability.DEFAULT_STREAM):
            return 0
        out = ffi().new("phx_stream **")
        self._call("stream_default", self._device, out)
        return self._made("stream_default", "stream", out[0])

    def _stream(self, handle: int | None) -> Any:
        return ffi().cast("phx_stream *", handle or self.native[1])

    def stream_create(self, priority: int) -> int:
        """Return a new stream."""
        out = ffi().new("phx_stream **")
        self._call("stream_create", self._device, priority, out)
        return self._made("stream_create", "stream", out[0])

    def _made(self, function: str, what: str, handle: Any) -> int:
        """Return the address of a new object; null would mean the device's default stream."""
        if not handle:
            raise DriverCallError(
                f"{function} on {self.name} returned no {what} and no error",
                remedy=_FAULT,
                call=function,
            )
        return int(ffi().cast("uintptr_t", handle))

    def stream_destroy(self, handle: int) -> None:
        """Finish and destroy a stream."""
        self._call("stream_destroy", ffi().cast("phx_stream *", handle))

    def stream_query(self, handle: int | None) -> bool:
        """Return whether a stream is idle."""
        out = ffi().new("int32_t *")
        self._call("stream_query", self._stream(handle), out)
        return bool(out[0])

    def stream_synchronize(self, handle: int | None, timeout: float | None = None) -> None:
        """Wait for a stream."""
        self._call("stream_synchronize", self._stream(handle), _nanoseconds(timeout))

    def stream_wait_event(self, handle: int | None, event: int) -> None:
        """Let a stream wait for an event."""
        waited = ffi().cast("phx_event *", event)
        self._call("stream_wait_event", self._device, self._stream(handle), waited)

    def event_create(self, timed: bool) -> int:
        """Return a new event."""
        out = ffi().new("phx_event **")
        self._call("event_create", self._device, timed, out)
        return self._made("event_create", "event", out[0])

    def event_destroy(self, event: int) -> None:
        """Destroy an event."""
        self._call("event_destroy", ffi().cast("phx_event *", event))

    def event_record(self, event: int, handle: int | None) -> None:
        """Put an event behind a stream's work."""
        recorded = ffi().cast("phx_event *", event)
        self._call("event_record", recorded, self._stream(handle))

    def event_query(self, event: int) -> bool:
        """Return whether an event has been passed."""
        out = ffi().new("int32_t *")
        self._call("event_query", ffi().cast("phx_event *", event), out)
        return bool(out[0])

    def event_synchronize(self, event: int, timeout: float | None = None) -> None:
        """Wait for an event."""
        self._call("event_synchronize", ffi().cast("phx_event *", event), _nanoseconds(timeout))

    def event_elapsed(self, begin: int, end: int) -> float:
        """Return the seconds between two events."""
        if Capability.EVENT_TIMING not in self.capabilities:
            raise NotImplementedError(f"{self.name}: its library has no event_elapsed")
        out, cast = ffi().new("uint64_t *"), ffi().cast
        self._call("event_elapsed", cast("phx_event *", begin), cast("phx_event *", end), out)
        return int(out[0]) / 1e9

    def stream_inject_failure(self, handle: int | None) -> None:
        """Let a stream fail when it comes here."""
        if Capability.FAULT_INJECTION not in self.capabilities:
            raise self._lacking("stream_inject_failure")
        self._call("stream_inject_failure", self._device, self._stream(handle))

    def trim(self) -> None:
        """Let the library give unused memory back to the system."""
        self._call("device_trim", self._device)

    def threads(self, count: int | None = None) -> int:
        """Set and return how many threads a kernel uses at most."""
        out = ffi().new("uint32_t *")
        wanted = 0 if count is None else count or _PER_CORE
        self._call("device_threads", self._device, wanted, out)
        return int(out[0])
