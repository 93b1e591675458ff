"""An open OpenCL device: context, queues, memory, programs, kernels and launches."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial
from types import ModuleType
from typing import Any

from phalanx.device_code.cache import DiskCache
from phalanx.device_code.late import Explain, LateCheck
from phalanx.device_code.recipe import Program
from phalanx.device_code.recording import record
from phalanx.device_code.table import KernelTable
from phalanx.device_plugins.cache_folder import default_folder
from phalanx.device_plugins.listed import fork_error
from phalanx.errors import (
    ClosedError,
    DeviceError,
    DeviceLostError,
    OutOfMemoryError,
)
from phalanx.kernels_opencl import find
from phalanx.kernels_opencl.programs import OpenCLPrograms
from phalanx.vendor import (
    LEAST_STAGED,
    Array,
    Capability,
    Feature,
    ForkSafeLock,
    Kernel,
    Layout,
    Operand,
    Place,
    Refusal,
    Stream,
)

from ._prepared import PreparedLaunch, Runtime
from .errors import translate, translated
from .launch import LaunchEnv
from .listing import LARGE_OPTION, UNRESTRICTED, Found
from .memory import HostMemory, host_bytes, works_in_place
from .pocl import is_pocl
from .queue import Queue
from .selftest import tested
from .staging import OpenCLStaging
from .streams import OpenCLStreams

_CONTENT_UNDEFINED = 1 << 1  # CL_MIGRATE_MEM_OBJECT_CONTENT_UNDEFINED
#: Queue properties (OpenCL 3.0 API specification, section 5.1; extension cl_khr_priority_hints).
_QUEUE_PROPERTIES, _QUEUE_PRIORITY = 0x1093, 0x1096
_PRIORITY_HIGH, _PRIORITY_LOW = 1 << 0, 1 << 2

_PROVIDER = "phalanx.kernels_opencl"


class BoundKernel:
    """A kernel of a program with the calls that set its arguments."""

    __slots__ = ("limit", "name", "program", "raw", "set_arg", "set_bytes")

    def __init__(self, raw: Any, program: Any, name: str, limit: int) -> None:
        self.raw = raw
        self.program = program
        self.name = name
        self.limit = limit
        self.set_arg = raw.set_arg
        # set_arg takes bytes too, but looks for everything else first: 15 us against 0.1 us.
        self.set_bytes = getattr(raw, "_set_arg_buf", raw.set_arg)


class OpenCLDevice(OpenCLStreams):
    """Everything of one device that exists while it is open. Safe from any thread."""

    capabilities = Capability.STREAMS | Capability.EVENT_TIMING | Capability.TRIM

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
        self.is_closed = self.is_forked = False
        self._queues: weakref.WeakSet[Queue] = weakref.WeakSet()
        self._queues_lock = ForkSafeLock()  # a destructor may want it while it is held
        try:
            self.context = context or cl.Context([found.device])
            self.queue = self.new_queue()
        except cl.Error as error:
            raise DeviceError(
                f"{name} ({found.info.name}) cannot be opened: {translate(cl, error, name, 'it')}",
                remedy="another device may work (`phalanx devices`), or reinstall its runtime",
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
        disk = None if is_pocl(found.device) else DiskCache(default_folder("opencl"))
        options = (LARGE_OPTION,) if found.unrestricted else ()
        self.programs = OpenCLPrograms(
            cl, self.context, found.device, found.traits, identity, disk, options
        )
        self._unrestricted = found.unrestricted
        self.bound: dict[tuple[Program, str], BoundKernel] = {}
        self._host = HostMemory(cl, self.context, found.info.alignment, self.queues)
        shares = found.traits.is_cpu or Feature.UNIFIED_MEMORY in found.info.features
        self.staging = None if shares else OpenCLStaging(cl, self.context, found.device)
        self.traits = tested(self)
        self.table = KernelTable(name, self.traits, find, _PROVIDER)

    # Queues

    def new_queue(self, priority: int = 0) -> Queue:
        """Return a new in-order queue.

        ``priority`` is a hint, more urgent below 0; without effect where the runtime knows none.
        """
        make = partial(_raw_queue, self.cl, self.context, self.device, priority)
        return self.take_queue(make(timed=False), partial(make, timed=True))

    def take_queue(self, raw: Any, make_timed: Callable[[], Any] | None = None) -> Queue:
        """Return a queue over the runtime's; ``make_timed`` makes another one that notes times."""
        queue = Queue(self.cl, raw, self.name, make_timed)
        with self._queues_lock:
            self._queues.add(queue)
        return queue

    def queues(self) -> tuple[Queue, ...]:
        """Return the queues that are in use."""
        with self._queues_lock:
            return tuple(self._queues)

    @property
    def is_usable(self) -> bool:
        """Whether the device is open, in this process, and not lost."""
        return not (self.is_closed or self.is_forked or self.lost)

    def close(self) -> None:
        """Finish the work and let no more come; does nothing if the device is closed."""
        if self.is_usable:
            for queue in self.queues():
                queue.finish(None)
        self.is_closed = True

    def check_open(self) -> None:
        """Raise an error if the device was closed, or opened by another process."""
        if self.is_forked:
            raise fork_error(self.name, "an OpenCL runtime")
        if self.is_closed:
            raise ClosedError(f"{self.name} is closed", remedy="Device.ensure_open() opens it")

    def check(self) -> None:
        """Raise an error if the device cannot be used, be it that it was lost before."""
        self.check_open()
        if self.lost:
            raise DeviceLostError(f"{self.name} was lost before ({self.lost})", remedy="start anew")

    def failure(self, error: Any, what: str, size: int = 0) -> Exception:
        """Return our error for the runtime's, and remember a loss: it is told in full once."""
        found = translate(self.cl, error, self.name, what, size)
        if isinstance(found, DeviceLostError):
            if self.lost:
                return DeviceLostError(
                    f"{self.name} was lost before ({self.lost})", remedy="start anew"
                )
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
                large = self._unrestricted and size > int(self.device.max_mem_alloc_size)
                flags = cl.mem_flags.READ_WRITE | (UNRESTRICTED if large else 0)
                buffer = cl.Buffer(self.context, flags, size)
                # Runtimes may wait with the memory until first use: a lack of it must show here.
                self.queue.put(
                    f"allocation of {size} bytes",
                    cl.enqueue_migrate_mem_objects,
                    [buffer],
                    flags=_CONTENT_UNDEFINED,
                )
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

    def adopt_host(self, address: int, size: int, owner: Any) -> Place | None:
        """Return where the device finds host memory; ``None`` if it does not share the host's."""
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
        return Place(self, handle, offset)

    def release_host(self, handle: int) -> None:
        """Give up adopted memory; its owner is kept until the work so far is done."""
        self.free(handle)

    def host_address(self, handle: int) -> int | None:
        """Return where the host reaches a buffer in place, ``None`` if it does not."""
        self.check_open()
        return self._host.address(handle)

    def free(self, handle: int) -> None:
        """Release a buffer; it is kept until its commands are done.

        In a forked child nothing is there to release.
        """
        if self.is_forked:
            return
        self._host.release(handle, self.memory.pop(handle, None))

    def collect(self) -> None:
        """Drop the released memory whose commands are done."""
        self._host.collect()

    def buffer(self, handle: int) -> Any:
        """Return the buffer of a handle; one that is not ours is borrowed from its owner."""
        found = self.memory.get(handle)
        return found if found is not None else self.cl.Buffer.from_int_ptr(handle, retain=True)

    def trim(self) -> None:
        """Give the pinned memory for large copies back to the system."""
        self.check_open()
        if self.staging is not None:
            self.staging.trim()

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        """Enqueue a copy."""
        self.move(dst, src, size, stream.handle or self.queue)

    def move(self, dst: Place, src: Place, size: int, queue: Queue) -> None:
        """Enqueue a copy.

        A large one between the host and a device with its own memory goes through `OpenCLStaging`.
        """
        self.check()
        if size == 0:
            return
        try:
            if dst.on_host:
                self._fetch(dst.address, src, size, queue)
            elif src.on_host:
                self._send(dst, src.address, size, queue)
            else:
                queue.put(
                    f"copy of {size} bytes",
                    self.cl.enqueue_copy,
                    self.buffer(dst.handle),
                    self.buffer(src.handle),
                    src_offset=src.offset,
                    dst_offset=dst.offset,
                    byte_count=size,
                )
        except self.cl.Error as error:
            raise self.failure(error, f"a copy of {size} bytes") from error
        except DeviceLostError:  # found by the wait for a piece
            self.lost = self.lost or f"during a copy of {size} bytes"
            raise

    def _send(self, dst: Place, address: int, size: int, queue: Queue) -> None:
        buffer, staged = self.buffer(dst.handle), self.staging if size >= LEAST_STAGED else None
        if staged and staged.send_to(buffer, dst.offset, address, size, queue):
            return
        what, host = f"copy of {size} bytes", host_bytes(address, size)
        if self._seems_in_place(dst, address):
            host = bytearray(host)
        copy = self.cl.enqueue_copy
        queue.put(what, copy, buffer, host, dst_offset=dst.offset, is_blocking=False)

    def _fetch(self, address: int, src: Place, size: int, queue: Queue) -> None:
        buffer, staged = self.buffer(src.handle), self.staging if size >= LEAST_STAGED else None
        if staged and staged.fetch_from(buffer, src.offset, address, size, queue):
            return
        what, host = f"copy of {size} bytes", host_bytes(address, size)
        copy = self.cl.enqueue_copy
        if self._seems_in_place(src, address):
            room = bytearray(size)
            event = queue.put(what, copy, room, buffer, src_offset=src.offset, is_blocking=False)
            queue.wait_for(event)  # outside of the queue's lock
            host[:] = bytes(room)
            return
        queue.put(what, copy, host, buffer, src_offset=src.offset, is_blocking=False)

    def check_later(
        self, queue: Queue, src: Place, size: int, explain: Explain, owner: object
    ) -> None:
        """Look at int64 numbers behind a queue's work so far; see `Env.check_later`.

        Where the device works on the host's memory they are read there; ``owner`` keeps them.
        """
        begin = self._host.address(src.handle)
        if begin is not None:
            read = partial(_numbers, begin + src.offset, size, owner)
            queue.checks.add(LateCheck(read, explain))
            return
        copy, buffer, room = self.cl.enqueue_copy, self.buffer(src.handle), bytearray(size)
        try:
            queue.put(
                "a check of indices", copy, room, buffer, src_offset=src.offset, is_blocking=False
            )
        except self.cl.Error as error:
            raise self.failure(error, "a check of indices") from error
        queue.checks.add(LateCheck(lambda: memoryview(room).cast("q").tolist(), explain))

    def _seems_in_place(self, place: Place, address: int) -> bool:
        """Whether PoCL would leave a copy out: the host's end is where the buffer begins.

        It compares the two before it adds the offset. The block of an adopted array begins in front
        of it, where other memory of the host lies.
        """
        return place.offset != 0 and self._host.address(place.handle) == address

    # Kernels

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        """Return the kernel for an op; its program is compiled when a launch needs it."""
        return self.table.kernel(op, dtypes, layout)

    def compile_ahead(self, kernel: Kernel) -> tuple[int, int]:
        """Compile a kernel's commonest programs, or find them in the cache on disk."""
        self.check()
        return self.programs.compile_ahead(kernel, self.name)

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        """Enqueue a kernel on a stream."""
        if not self.is_usable:
            self.check()
        env = LaunchEnv(self, stream.handle or self.queue, stream, kernel)
        kernel.handle.launch(env, inputs, outputs, params)

    def prepare(
        self,
        kernel: Kernel,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> PreparedLaunch | None:
        """Return a launch for all operands like these; see `OpenDevice.prepare`."""
        self.check()
        runtime = _runtime(self.cl)
        if runtime is None:
            return None
        recording = record(self, kernel, inputs, outputs, params, stream)
        return PreparedLaunch(self, kernel, recording, runtime) if recording else None

    def own_kernel(self, bound: BoundKernel) -> BoundKernel:
        """Return a further kernel object, with arguments of its own."""
        with translated(self.cl, self.name, f"the kernel {bound.name}"):
            raw = self.cl.Kernel(bound.program, bound.name)
        return BoundKernel(raw, bound.program, bound.name, bound.limit)

    def sources(self, kernel: Kernel) -> tuple[str, ...]:
        """Return the texts of a kernel's commonest programs."""
        return tuple(map(self.programs.text, kernel.handle.programs))

    def bound_kernel(self, program: Program, name: str, what: str) -> BoundKernel:
        """Return a kernel of a program; ``what`` names it in errors."""
        found = self.bound.get((program, name))
        if found is None:
            built = self.programs.build(program, f"{what} on {self.name}")
            with translated(self.cl, self.name, f"the kernel {name} of {what}"):
                raw = self.cl.Kernel(built, name)
                limit = raw.get_work_group_info(
                    self.cl.kernel_work_group_info.WORK_GROUP_SIZE, self.device
                )
            found = self.bound.setdefault(
                (program, name), BoundKernel(raw, built, name, int(limit))
            )
        return found


@lru_cache(maxsize=1)
def _runtime(cl: ModuleType) -> Runtime | None:
    """Return the functions of the runtime, ``None`` if pyopencl does not show where they are."""
    try:
        return Runtime(cl._cl.__file__)
    except (AttributeError, OSError):
        return None


def _raw_queue(cl: ModuleType, context: Any, device: Any, priority: int, *, timed: bool) -> Any:
    properties: Any = cl.command_queue_properties.PROFILING_ENABLE if timed else 0
    if priority and "cl_khr_priority_hints" in device.extensions:
        hint = _PRIORITY_HIGH if priority < 0 else _PRIORITY_LOW
        properties = [_QUEUE_PROPERTIES, properties, _QUEUE_PRIORITY, hint, 0]
    return cl.CommandQueue(context, device, properties=properties)


def _numbers(address: int, size: int, owner: object) -> list[int]:
    """Return int64 numbers of the host's memory, which ``owner`` keeps."""
    del owner
    return memoryview(host_bytes(address, size)).cast("q").tolist()
