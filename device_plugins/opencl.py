"""The driver ``opencl``: every device of every OpenCL runtime on this machine, through pyopencl."""

from __future__ import annotations

import atexit
import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from phalanx.device_code.source import full_text
from phalanx.driver import Capability, DeviceInfo, Direction, Driver, Layout, Operand
from phalanx.errors import ClosedError, DeviceError
from phalanx.hookspecs import hookimpl
from phalanx.kernels_opencl import refusal
from phalanx.kernels_opencl.dialect import DIALECT
from phalanx.locks import ForkSafeLock
from phalanx.optable import OPS, Structure

from .opencl_device import OpenDevice
from .opencl_explain import explain
from .opencl_launch import LaunchEnv
from .opencl_listing import Listing, import_pyopencl, list_devices
from .opencl_streams import OpenCLStreams, noting_loss

if TYPE_CHECKING:
    from phalanx._warm import Array, Kernel, Stream
    from phalanx.diagnosis import Step

_PROVIDER = "phalanx.kernels_opencl"


class OpenCLDriver(OpenCLStreams):
    """All OpenCL devices. pyopencl is imported, and the runtimes asked, at the first question."""

    name = "opencl"
    capabilities = Capability.STREAMS | Capability.EVENT_TIMING | Capability.TRIM

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._listing: Listing | None = None
        self._asking = False  # a runtime is being asked just now, and may hold its own locks
        self._opened: dict[int, OpenDevice] = {}
        self._contexts: dict[int, Any] = {}
        self._kernels: dict[tuple[int, str, tuple[str, ...], Layout], Kernel | None] = {}
        self._forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)
        atexit.register(self._finish_all)

    # Devices

    @property
    def _cl(self) -> ModuleType:
        return import_pyopencl()

    def _listed(self) -> Listing:
        if self._forked:
            raise self._fork_error()
        if self._listing is None:
            with self._lock:
                self._asking = True
                try:
                    self._listing = self._listing or list_devices()
                finally:
                    self._asking = False
        return self._listing

    def explain(self) -> Iterable[Step]:
        """Return the steps ``ABI`` and ``library`` of ``phalanx why``."""
        return explain(self._listed)

    def device_count(self) -> int:
        """Return the number of devices of all platforms."""
        return len(self._listed().devices)

    def device_info(self, index: int) -> DeviceInfo:
        """Describe a device without opening it."""
        return self._listed().devices[index].info

    def open(self, index: int) -> None:
        """Create the context and the default queue."""
        listing = self._listed()
        with self._lock:
            if index not in self._opened:
                name = f"{self.name}:{index}"
                self._opened[index] = OpenDevice(
                    self._cl, listing.devices[index], name, self._contexts.get(index)
                )

    def adopt_context(self, context: Any) -> int:
        """Use an existing context when its device is opened; return the device's number.

        Raises:
            DeviceError: the device is open already, or the context is not of one device of ours.
        """
        devices = list(context.devices)
        known = [found.device for found in self._listed().devices]
        if len(devices) != 1 or devices[0] not in known:
            raise DeviceError(
                f"a context of {len(devices)} devices cannot be used; make one of a single device "
                "that `phalanx devices` lists"
            )
        index = known.index(devices[0])
        with self._lock:
            if index in self._opened and self._opened[index].context != context:
                raise DeviceError(
                    f"{self.name}:{index} is in use with its own context; call use_context() first"
                )
            self._contexts[index] = context
        return index

    def opened(self, index: int) -> OpenDevice:
        """Return an open device, for interoperation with pyopencl."""
        return self._device(index)

    def close(self, index: int) -> None:
        """Finish the work and drop the context; does nothing if the device is not open."""
        with self._lock:
            device = self._opened.pop(index, None)
            for key in [key for key in self._kernels if key[0] == index]:
                del self._kernels[key]
        if device is not None and not device.lost:
            for queue in device.queues():
                queue.finish(None)

    def _find(self, index: int) -> OpenDevice | None:
        return self._opened.get(index)

    def _device(self, index: int) -> OpenDevice:
        try:
            return self._opened[index]
        except KeyError:
            if self._forked:
                raise self._fork_error() from None
            raise ClosedError(
                f"{self.name}:{index} is not open; Device.ensure_open() opens it"
            ) from None

    def _after_fork(self) -> None:
        """No runtime survives a fork: its threads are gone and its locks may be held for ever."""
        if self._listing is not None or self._opened or self._asking:
            self._forked = True
            _kept_after_fork.append((self._listing, self._opened))
            self._opened = {}

    def _fork_error(self) -> DeviceError:
        return DeviceError(
            f"{self.name} was used before this process was forked, and no OpenCL runtime survives "
            "a fork; start processes with the method 'spawn' or 'forkserver' of multiprocessing, "
            "or use OpenCL devices in the children only"
        )

    def _finish_all(self) -> None:
        """At exit, let the work end: some runtimes crash if the process ends under them."""
        for device in tuple(self._opened.values()):
            for queue in device.queues():
                with contextlib.suppress(Exception):
                    queue.raw.finish()

    # Memory

    def alloc(self, index: int, size: int) -> int:
        """Return the handle of a new buffer: the address of its ``cl_mem``."""
        return self._device(index).alloc(size)

    def free(self, index: int, handle: int) -> None:
        """Release a buffer after its work; in a forked child nothing is there to release."""
        device = self._opened.get(index)
        if device is not None:
            device.free(handle)

    def adopt_host(self, index: int, address: int, size: int, owner: Any) -> tuple[int, int] | None:
        """Let a device use host memory in place, if it shares the host's."""
        return self._device(index).adopt(address, size, owner)

    def release_host(self, index: int, handle: int) -> None:
        """Give up adopted memory; its owner is kept until the work so far is done."""
        self.free(index, handle)

    def host_address(self, index: int, handle: int) -> int | None:
        """Return where the host reaches a block of a device that shares its memory."""
        return self._device(index).host_address(handle)

    def trim(self, index: int) -> None:
        """Give the pinned memory for large copies back to the system."""
        staging = self._device(index).staging
        if staging is not None:
            staging.trim()

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
        device = self._device(index)
        device.copy(
            direction, (dst, dst_offset), (src, src_offset), size, stream.handle or device.queue
        )

    def fill(
        self, index: int, dst: int, offset: int, size: int, pattern: bytes, *, stream: Stream
    ) -> bool:
        """Enqueue a fill with a pattern of 1, 2, 4, 8 or 16 bytes."""
        device = self._device(index)
        return device.fill(dst, offset, size, pattern, stream.handle or device.queue)

    def synchronize(self, index: int, timeout: float | None = None) -> None:
        """Wait for the default stream, which is the one that the core does not count."""
        device = self._device(index)
        device.check()
        with noting_loss(device):
            device.queue.finish(timeout)
        device.collect()

    # Kernels

    def kernel(self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | None:
        """Return the kernel for an op; its program is compiled when a launch needs it."""
        if op in OPS and OPS[op].structure is not Structure.ELEMENTWISE:
            layout = Layout.ANY
        key = (index, op, dtypes, layout)
        if key not in self._kernels:
            self._kernels[key] = self._make_kernel(index, op, dtypes, layout)
        return self._kernels[key]

    def _make_kernel(
        self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout
    ) -> Kernel | None:
        device = self._device(index)
        device.check()
        recipe = device.recipe(op, dtypes, layout)
        if recipe is None:
            return None
        return _kernel_of(op, dtypes, layout, recipe)

    def kernels(self, index: int) -> Iterator[Kernel]:
        """List what the device can compute; nothing is compiled."""
        device = self._device(index)
        for row in OPS.values():
            elementwise = row.structure is Structure.ELEMENTWISE
            layout = Layout.CONTIGUOUS if elementwise else Layout.ANY
            for signature in row.signatures:
                recipe = device.recipe(row.name, signature.dtypes, layout)
                if recipe is not None:
                    yield _kernel_of(row.name, signature.dtypes, layout, recipe)

    def compile_ahead(self, index: int, kernel: Kernel) -> tuple[int, int]:
        """Compile a kernel's commonest programs; see `phalanx.diagnosis.CompilesAhead`."""
        device = self._device(index)
        store = device.programs
        compiled, loaded = store.compiled, store.loaded
        for program in kernel.handle.programs:
            store.build(program, f"{kernel.op}({', '.join(kernel.dtypes)}) on {device.name}")
        return store.compiled - compiled, store.loaded - loaded

    def sources(self, index: int, kernel: Kernel) -> Iterator[str]:
        """Return the texts of a kernel's commonest programs; see `ShowsSource`."""
        device = self._device(index)
        for program in kernel.handle.programs:
            yield full_text(program, DIALECT, device.traits)

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        """Tell whether the device computes an op on dtypes; a string says why not."""
        device = self._device(index)
        layout = Layout.ANY
        if op in OPS and OPS[op].structure is Structure.ELEMENTWISE:
            layout = Layout.CONTIGUOUS
        if device.recipe(op, dtypes, layout) is not None:
            return True
        return refusal(op, dtypes, device.traits) or False

    def launch(
        self,
        index: int,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a kernel on a stream."""
        device = self._opened.get(index) or self._device(index)
        if device.lost:
            device.check()
        env = LaunchEnv(device, stream.handle or device.queue, stream, kernel)
        kernel.handle.launch(env, inputs, outputs, params)


#: What the parent of a fork had: destroying it in the child would call into the runtime.
_kept_after_fork: list[Any] = []


def _kernel_of(op: str, dtypes: tuple[str, ...], layout: Layout, recipe: Any) -> Kernel:
    from phalanx._warm import Kernel

    return Kernel(
        op,
        dtypes,
        layout,
        determinism=recipe.determinism,
        error_bound=recipe.error_bound,
        provider=_PROVIDER,
        handle=recipe,
    )


@hookimpl
def phalanx_drivers() -> tuple[Driver, ...]:
    """Offer the driver ``opencl``; nothing is imported or asked before a device is."""
    return (OpenCLDriver(),)
