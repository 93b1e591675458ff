"""An open OpenCL device: context, queues, memory, programs and kernels."""

from __future__ import annotations

import threading
from types import ModuleType
from typing import Any

from cffi import FFI
from phalanx.driver import Direction, Layout
from phalanx.errors import DeviceError, DeviceLostError, OutOfMemoryError, UnsupportedOpError
from phalanx.kernels_opencl import find, refusal
from phalanx.kernels_opencl.cache import DiskCache, default_folder
from phalanx.kernels_opencl.programs import ProgramStore
from phalanx.kernels_opencl.recipe import Program, Recipe

from .opencl_errors import translate, translated
from .opencl_listing import Found
from .opencl_queue import Queue

_ffi = FFI()
_CONTENT_UNDEFINED = 1 << 1  # CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED


class BoundKernel:
    """A kernel of a program with the calls that set its arguments."""

    __slots__ = ("limit", "name", "raw", "set_arg", "set_bytes")

    def __init__(self, raw: Any, name: str, limit: int) -> None:
        self.raw = raw
        self.name = name
        self.limit = limit
        self.set_arg = raw.set_arg
        # set_arg takes bytes too, but looks for everything else first: 15 us against 0.1 us.
        self.set_bytes = getattr(raw, "_set_arg_buf", raw.set_arg)


class OpenDevice:
    """Everything of one device that exists while it is open. Safe from any thread."""

    def __init__(self, cl: ModuleType, found: Found, name: str, context: Any = None) -> None:
        self.cl = cl
        self.name = name
        self.info = found.info
        self.traits = found.traits
        self.device = found.device
        #: Held while a kernel's arguments are set and it is enqueued: they belong to the kernel.
        self.lock = threading.Lock()
        self.memory: dict[int, Any] = {}
        self.lost = ""
        try:
            self.context = context or cl.Context([found.device])
            self.queue = self.new_queue()
        except cl.Error as error:
            raise DeviceError(
                f"{name} ({found.info.name}) cannot be opened: {translate(cl, error, name, 'it')}; "
                "another device may work (`phalanx devices`), or reinstall this one's runtime"
            ) from error
        identity = (
            found.device.name,
            found.device.version,
            found.info.driver_version,
            found.platform.name,
            found.platform.version,
        )
        self.programs = ProgramStore(
            cl, self.context, found.device, found.traits, identity, DiskCache(default_folder())
        )
        self._kernels: dict[tuple[Program, str], BoundKernel] = {}
        self._recipes: dict[tuple[str, tuple[str, ...], Layout], Recipe | None] = {}

    # Queues

    def new_queue(self) -> Queue:
        """Return a new in-order queue whose commands are timed."""
        profiling = self.cl.command_queue_properties.PROFILING_ENABLE
        raw = self.cl.CommandQueue(self.context, self.device, properties=profiling)
        return Queue(self.cl, raw, self.name)

    def check(self) -> None:
        """Raise ``DeviceLostError`` if the device was lost before."""
        if self.lost:
            raise DeviceLostError(f"{self.name} was lost before ({self.lost}); start anew")

    def failure(self, error: Any, what: str, size: int = 0) -> Exception:
        """Return our error for the runtime's, and remember a loss: it is told in full once."""
        found = translate(self.cl, error, self.name, what, size)
        if isinstance(found, DeviceLostError):
            if self.lost:
                return DeviceLostError(f"{self.name} was lost before ({self.lost}); start anew")
            self.lost = f"during {what}"
        return found

    # Memory

    def alloc(self, size: int) -> int:
        """Return the handle of a new buffer."""
        self.check()
        cl = self.cl
        if size > self.info.max_allocation:
            raise OutOfMemoryError(
                f"{self.name} gives at most {self.info.max_allocation} bytes at a time, not {size}",
                size=size,
            )
        try:
            buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
            if not self.traits.is_cpu:
                # Runtimes may wait with the memory until first use: a lack of it must show here.
                cl.enqueue_migrate_mem_objects(self.queue.raw, [buffer], flags=_CONTENT_UNDEFINED)
        except cl.Error as error:
            raise self.failure(error, f"an allocation of {size} bytes", size) from error
        handle: int = buffer.int_ptr
        self.memory[handle] = buffer
        return handle

    def free(self, handle: int) -> None:
        """Release a buffer; the runtime keeps it until its commands are done."""
        self.memory.pop(handle, None)

    def buffer(self, handle: int) -> Any:
        """Return the buffer of a handle; one that is not ours is borrowed from its owner."""
        found = self.memory.get(handle)
        return found if found is not None else self.cl.Buffer.from_int_ptr(handle, retain=True)

    def copy(
        self,
        direction: Direction,
        target: tuple[int, int],
        source: tuple[int, int],
        size: int,
        queue: Queue,
    ) -> None:
        """Enqueue a copy; an end is a handle or a host address, and an offset in bytes."""
        self.check()
        if size == 0:
            return
        cl, raw = self.cl, queue.raw
        (dst, dst_offset), (src, src_offset) = target, source
        to_host = direction is Direction.DEVICE_TO_HOST
        from_host = direction is Direction.HOST_TO_DEVICE
        options: dict[str, Any] = {}
        if from_host:
            options = {"dst_offset": dst_offset, "is_blocking": False}
        elif to_host:
            options = {"src_offset": src_offset, "is_blocking": False}
        else:
            options = {"src_offset": src_offset, "dst_offset": dst_offset, "byte_count": size}
        try:
            event = cl.enqueue_copy(
                raw,
                host_bytes(dst + dst_offset, size) if to_host else self.buffer(dst),
                host_bytes(src + src_offset, size) if from_host else self.buffer(src),
                **options,
            )
        except cl.Error as error:
            raise self.failure(error, f"a copy of {size} bytes") from error
        queue.note(event, f"copy of {size} bytes")

    def fill(self, dst: int, offset: int, size: int, pattern: bytes, queue: Queue) -> bool:
        """Enqueue a fill; False if the runtime cannot: it wants whole patterns, aligned."""
        self.check()
        length = len(pattern)
        if length not in (1, 2, 4, 8, 16) or offset % length or size % length:
            return False
        try:
            event = self.cl.enqueue_fill_buffer(queue.raw, self.buffer(dst), pattern, offset, size)
        except self.cl.Error as error:
            raise self.failure(error, f"a fill of {size} bytes") from error
        queue.note(event, f"fill of {size} bytes")
        return True

    # Kernels

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe | None:
        """Return how an op is computed, ``None`` if it is not."""
        key = (op, dtypes, layout)
        if key not in self._recipes:
            refused = refusal(op, dtypes, self.traits)
            self._recipes[key] = None if refused else find(op, dtypes, layout, self.traits)
        return self._recipes[key]

    def needed_recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        """Return how an op is computed.

        Raises:
            UnsupportedOpError: it is not, with the reason.
        """
        recipe = self.recipe(op, dtypes, layout)
        if recipe is None:
            reason = refusal(op, dtypes, self.traits) or "there is no such kernel"
            raise UnsupportedOpError(f"{op}({', '.join(dtypes)}) on {self.name}: {reason}")
        return recipe

    def kernel(self, program: Program, name: str, what: str) -> BoundKernel:
        """Return a kernel of a program; ``what`` names it in errors."""
        found = self._kernels.get((program, name))
        if found is None:
            built = self.programs.build(program, f"{what} on {self.name}")
            with translated(self.cl, self.name, f"the kernel {name} of {what}"):
                raw = self.cl.Kernel(built, name)
                limit = raw.get_work_group_info(
                    self.cl.kernel_work_group_info.WORK_GROUP_SIZE, self.device
                )
            found = self._kernels.setdefault((program, name), BoundKernel(raw, name, int(limit)))
        return found


def host_bytes(address: int, size: int) -> Any:
    """Return host memory as an object with the buffer protocol."""
    return _ffi.buffer(_ffi.cast("char *", address), size)
