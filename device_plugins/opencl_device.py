"""An open OpenCL device: context, queues, memory, programs and kernels."""

from __future__ import annotations

import weakref
from functools import cached_property
from types import ModuleType
from typing import Any

from phalanx.device_code.cache import DiskCache
from phalanx.device_code.recipe import Program, Recipe
from phalanx.driver import Direction, Feature, Layout
from phalanx.errors import DeviceError, DeviceLostError, OutOfMemoryError, UnsupportedOpError
from phalanx.kernels_opencl import find, refusal
from phalanx.kernels_opencl.folder import default_folder
from phalanx.kernels_opencl.programs import ProgramStore
from phalanx.locks import ForkSafeLock

from .opencl_errors import translate, translated
from .opencl_listing import Found
from .opencl_memory import HostMemory, host_bytes, works_in_place
from .opencl_pocl import is_pocl
from .opencl_queue import Queue
from .opencl_staging import LEAST, Staging

_CONTENT_UNDEFINED = 1 << 1  # CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
#: Queue properties (OpenCL 3.0 API specification, section 5.1; extension cl_khr_priority_hints).
_QUEUE_PROPERTIES, _QUEUE_PRIORITY = 0x1093, 0x1096
_PRIORITY_HIGH, _PRIORITY_LOW = 1 << 0, 1 << 2


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
        self.lock = ForkSafeLock()
        self.memory: dict[int, Any] = {}
        self.lost = ""
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        self._queues_lock = ForkSafeLock()  # a destructor may want it while it is held
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
            found.target,
        )
        # To hand out a binary, PoCL compiles once more, and it has a cache on disk of its own.
        disk = None if is_pocl(found.device) else DiskCache(default_folder())
        self.programs = ProgramStore(cl, self.context, found.device, found.traits, identity, disk)
        self._kernels: dict[tuple[Program, str], BoundKernel] = {}
        self._host = HostMemory(cl, self.context, found.info.alignment, self.queues)
        shares = found.traits.is_cpu or Feature.UNIFIED_MEMORY in found.info.features
        self.staging = None if shares else Staging(cl, self.context, found.device)
        self._recipes: dict[tuple[str, tuple[str, ...], Layout], Recipe | None] = {}

    # Queues

    def new_queue(self, priority: int = 0) -> Queue:
        """Return a new in-order queue whose commands are timed.

        ``priority`` is a hint, more urgent below 0; without effect where the runtime knows none.
        """
        properties: Any = self.cl.command_queue_properties.PROFILING_ENABLE
        if priority and "cl_khr_priority_hints" in self.device.extensions:
            hint = _PRIORITY_HIGH if priority < 0 else _PRIORITY_LOW
            properties = [_QUEUE_PROPERTIES, properties, _QUEUE_PRIORITY, hint, 0]
        return self.take_queue(
            self.cl.CommandQueue(self.context, self.device, properties=properties)
        )

    def take_queue(self, raw: Any) -> Queue:
        """Return a queue over the runtime's."""
        queue = Queue(self.cl, raw, self.name)
        with self._queues_lock:
            self._queues.add(queue)
        return queue

    def queues(self) -> tuple[Queue, ...]:
        """Return the queues that are in use."""
        with self._queues_lock:
            return tuple(self._queues)

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

    @cached_property
    def shares_host(self) -> bool:
        """Whether the device works on the host's memory in place; tried out at the first use."""
        if Feature.UNIFIED_MEMORY not in self.info.features:
            return False
        return works_in_place(self.cl, self.context, self.queue.raw, self.info.alignment)

    def alloc(self, size: int) -> int:
        """Return the handle of a new buffer."""
        self.check()
        self.collect()
        cl = self.cl
        if size > self.info.max_allocation:
            raise OutOfMemoryError(
                f"{self.name} gives at most {self.info.max_allocation} bytes at a time, not {size}",
                size=size,
            )
        try:
            if self.shares_host:
                buffer = self._host.alloc(size)
            else:
                buffer = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, size)
                # Runtimes may wait with the memory until first use: a lack of it must show here.
                cl.enqueue_migrate_mem_objects(self.queue.raw, [buffer], flags=_CONTENT_UNDEFINED)
        except cl.Error as error:
            raise self.failure(error, f"an allocation of {size} bytes", size) from error
        except MemoryError as error:
            raise OutOfMemoryError(
                f"the host has no memory for an allocation of {size} bytes on {self.name}",
                size=size,
            ) from error
        handle: int = buffer.int_ptr
        self.memory[handle] = buffer
        return handle

    def adopt(self, address: int, size: int, owner: Any) -> tuple[int, int] | None:
        """Return a handle for host memory and an offset in bytes; ``None`` if it is not shared."""
        self.check()
        self.collect()
        if not self.shares_host or size + 2 * self.info.alignment > self.info.max_allocation:
            return None
        try:
            buffer, offset = self._host.adopt(address, size, owner)
        except self.cl.Error as error:
            raise self.failure(error, f"the use of {size} bytes of the host", size) from error
        handle: int = buffer.int_ptr
        self.memory[handle] = buffer
        return handle, offset

    def host_address(self, handle: int) -> int | None:
        """Return where the host reaches a buffer in place, ``None`` if it does not."""
        return self._host.address(handle)

    def free(self, handle: int) -> None:
        """Release a buffer; it is kept until its commands are done."""
        self._host.release(handle, self.memory.pop(handle, None))

    def collect(self) -> None:
        """Drop the released memory whose commands are done."""
        self._host.collect()

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
        """Enqueue a copy; an end is a handle or a host address, and an offset in bytes.

        A large copy between the host and a device with its own memory goes through `Staging`.
        """
        self.check()
        if size == 0:
            return
        cl = self.cl
        (dst, dst_offset), (src, src_offset) = target, source
        try:
            if direction is Direction.DEVICE_TO_DEVICE:
                queue.put(
                    f"copy of {size} bytes",
                    cl.enqueue_copy,
                    self.buffer(dst),
                    self.buffer(src),
                    src_offset=src_offset,
                    dst_offset=dst_offset,
                    byte_count=size,
                )
            elif direction is Direction.HOST_TO_DEVICE:
                address = src + src_offset
                self._copy_host(direction, self.buffer(dst), dst_offset, address, size, queue)
            else:
                address = dst + dst_offset
                self._copy_host(direction, self.buffer(src), src_offset, address, size, queue)
        except cl.Error as error:
            raise self.failure(error, f"a copy of {size} bytes") from error
        except DeviceLostError:  # found by the wait for a piece
            self.lost = self.lost or f"during a copy of {size} bytes"
            raise

    def _copy_host(
        self,
        direction: Direction,
        buffer: Any,
        offset: int,
        address: int,
        size: int,
        queue: Queue,
    ) -> None:
        staged = self.staging if size >= LEAST else None
        if staged and staged.copy(direction, buffer, offset, address, size, queue):
            return
        what, host, copy = f"copy of {size} bytes", host_bytes(address, size), self.cl.enqueue_copy
        if direction is Direction.HOST_TO_DEVICE:
            queue.put(what, copy, buffer, host, dst_offset=offset, is_blocking=False)
        else:
            queue.put(what, copy, host, buffer, src_offset=offset, is_blocking=False)

    def fill(self, dst: int, offset: int, size: int, pattern: bytes, queue: Queue) -> bool:
        """Enqueue a fill; False if the runtime cannot: it wants whole patterns, aligned."""
        self.check()
        length = len(pattern)
        if length not in (1, 2, 4, 8, 16) or offset % length or size % length:
            return False
        try:
            fill = self.cl.enqueue_fill_buffer
            queue.put(f"fill of {size} bytes", fill, self.buffer(dst), pattern, offset, size)
        except self.cl.Error as error:
            raise self.failure(error, f"a fill of {size} bytes") from error
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
