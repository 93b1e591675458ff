"""An open CUDA device: context, streams, memory, programs, kernels and launches."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import weakref
from collections.abc import Sequence
from typing import Any

from phalanx.device_code.cache import DiskCache
from phalanx.device_code.late import Explain, LateCheck
from phalanx.device_code.recipe import Program
from phalanx.device_code.recording import record
from phalanx.device_code.selftest import measured
from phalanx.device_code.table import KernelTable
from phalanx.device_plugins.cache_folder import default_folder
from phalanx.device_plugins.listed import fork_error
from phalanx.errors import ClosedError, CompileError, DeviceLostError
from phalanx.kernels_cuda import cub, cublas, cufft, cusolver, find
from phalanx.kernels_cuda.libraries import LibraryRecipe
from phalanx.kernels_cuda.nvrtc import Compiler
from phalanx.kernels_cuda.programs import CudaPrograms
from phalanx.kernels_cuda.sessions import Libraries
from phalanx.vendor import (
    LEAST_STAGED,
    Array,
    Capability,
    ForkSafeLock,
    Kernel,
    Layout,
    OpenDevice,
    Operand,
    Place,
    Refusal,
    Stream,
)

from ._prepared import CALLS, PreparedLaunch, Runtime
from .api import Api, Context, CudaError
from .errors import not_started, translate
from .launch import BoundKernel, LaunchEnv, put
from .listing import Found
from .queue import Queue
from .ranges import CudaMemory
from .staging import CudaStaging, PinnedWords
from .streams import CudaStreams

_PROVIDER = "phalanx.kernels_cuda"
_MOST_THREADS = 0  # CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
#: Codes by which the driver refuses an image: CUDA Driver API reference, 12.9, "CUresult".
_BAD_IMAGE = frozenset((200, 209, 218, 222, 223))


class CudaDevice(CudaStreams):
    """Everything of one device that exists while it is open. Safe from any thread.

    Its memory and streams live in the device's primary context, with those of CuPy and PyTorch.
    """

    capabilities = Capability.STREAMS | Capability.EVENT_TIMING | Capability.TRIM

    def __init__(self, api: Api, found: Found, compiler: Compiler, name: str) -> None:
        self.api = api
        self.name = name
        self.info = found.info
        self.traits = found.traits
        self.lost = ""
        self.is_closed = self.is_forked = False
        self.null = api.ffi.NULL
        self.launch_function = api.function("cuLaunchKernel")
        self.layout_function = api.optional("cuFuncGetParamInfo")
        self.libraries = Libraries()
        self.streams: set[Queue] = set()
        self.streams_lock = ForkSafeLock()
        self.leaving: list[Queue] | None = None
        self.memory: CudaMemory | None = None
        self._modules: list[Any] = []
        #: Other cards from which copies come.
        self._peers: weakref.WeakSet[CudaDevice] = weakref.WeakSet()
        self.bound: dict[tuple[Program, str], BoundKernel] = {}
        self._foreign: weakref.WeakValueDictionary[int, Queue] = weakref.WeakValueDictionary()
        try:
            self.context = Context(api, found.raw)
            launch, current, push, pop = map(api.address, CALLS)
            self.runtime = Runtime(launch, current, push, pop, self.context.number)
        except CudaError as error:
            raise not_started(error) from error
        try:
            self.default = Queue.create(self.context, name)
            disk = DiskCache(default_folder("cuda"))
            self.programs = CudaPrograms(
                compiler, found.capability, self._install, found.traits, disk
            )
            self.staging = CudaStaging(self.context)
            self.words = PinnedWords(self.context)
            if found.virtual_memory:
                with contextlib.suppress(CudaError):  # then the pool has allocations
                    self.memory = CudaMemory(self)
            # Of a program that does not compile, the first kernel that is needed will say why.
            with contextlib.suppress(CompileError):
                self.traits = measured(self._probe, found.traits, name)
        except CudaError as error:
            self.context.release()
            raise not_started(error) from error
        except BaseException:
            self.context.release()
            raise
        self.table = KernelTable(name, self.traits, find, _PROVIDER)

    # State

    @property
    def is_usable(self) -> bool:
        """Whether the device is open, in this process, and not lost."""
        return not (self.is_closed or self.is_forked or self.lost)

    def check(self) -> None:
        """Raise an error if the device cannot be used, be it that it was lost before."""
        if self.is_usable:
            return
        if self.is_forked:
            raise fork_error(self.name, "CUDA")
        if self.is_closed:
            raise ClosedError(f"{self.name} is closed", remedy="Device.ensure_open() opens it")
        raise self._lost_before()

    def _lost_before(self) -> DeviceLostError:
        return DeviceLostError(f"{self.name} was lost before ({self.lost})", remedy="start anew")

    def failure(self, error: CudaError, what: str, size: int = 0) -> Exception:
        """Return our error for the driver's, and remember a loss: it is told in full once."""
        found = translate(error, self.name, what, size)
        if isinstance(found, DeviceLostError):
            if self.lost:
                return self._lost_before()
            self.lost = f"during {what}: {error.name}"
        return found

    def close(self) -> None:
        """Finish the work and let the context go; does nothing if the device is closed."""
        if self.is_usable:
            self.finish(self.default, None)
            self.is_closed = True
            with self.translated("closing the device"):
                self.staging.trim()
                self.words.close()
                with self.context.current():
                    self.libraries.close()
                for module in self._modules:
                    self.context.call("cuModuleUnload", module)
                self.default.destroy()
                self.context.release()
        self.is_closed = True

    def queue(self, handle: Queue | int | None) -> Queue:
        """Return the queue of a stream's handle."""
        if handle is None:
            return self.default
        if isinstance(handle, Queue):
            return handle
        found = self._foreign.get(handle)
        if found is None:
            raw = self.api.ffi.cast("CUstream", handle)
            found = Queue(self.context, raw, self.name, is_ours=False)
            found = self._foreign.setdefault(handle, found)
        return found

    # Memory

    def alloc(self, size: int) -> int:
        """Return the address of new device memory."""
        self.check()
        try:
            return int(self.context.get("cuMemAlloc_v2", "CUdeviceptr", size))
        except CudaError as error:
            raise self.failure(error, f"an allocation of {size} bytes", size) from error

    def free(self, handle: int) -> None:
        """Give memory back; what a lost device or a parent process had went with it."""
        if self.is_usable:
            with self.translated("giving memory back"):
                self.context.call("cuMemFree_v2", handle)

    def virtual_memory(self) -> CudaMemory | None:
        """Return how memory comes behind addresses, if the card can do that."""
        return self.memory

    def memory_info(self) -> tuple[int, int]:
        """Return the free and the total bytes."""
        self.check()
        with self.translated("asking for free memory"):
            total = self.api.ffi.new("size_t *")
            free = self.context.get("cuMemGetInfo_v2", "size_t", total)
        return int(free), int(total[0])

    def trim(self) -> None:
        """Give back the pinned memory for large copies, and what libraries can make again."""
        self.check()
        self.staging.trim()
        with self.context.current():
            self.libraries.trim()

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        """Enqueue a copy."""
        self.move(dst, src, size, self.queue(stream.handle))

    def reaches(self, other: OpenDevice) -> bool:
        """Return whether the other one is a card of the same library: the driver knows the way."""
        return isinstance(other, CudaDevice) and other.api is self.api

    def _approach(self, other: CudaDevice) -> None:
        """Let copies from another card take the straight way, if there is one."""
        if other in self._peers:
            return
        ends = self.context.device, other.context.device
        with contextlib.suppress(CudaError):  # then the driver goes through the host
            if self.context.get("cuDeviceCanAccessPeer", "int", *ends):
                if other.memory is not None:
                    other.memory.let_read(int(self.context.device))
                self.context.call("cuCtxEnablePeerAccess", other.context.raw, 0)
        self._peers.add(other)

    def move(self, dst: Place, src: Place, size: int, queue: Queue) -> None:
        """Enqueue a copy; a large one from or to the host goes through pinned memory."""
        self.check()
        if size == 0:
            return
        with self.translated(f"a copy of {size} bytes"):
            staged = size >= LEAST_STAGED and (dst.on_host or src.on_host)
            if staged and self._stage(dst, src, size, queue):
                return
            name, ends = self._way(dst, src)
            function = self.api.function(name)
            code = queue.put(f"copy of {size} bytes", function, *ends, size, queue.raw)
            if code:
                raise self.api.error(code, name)

    def _stage(self, dst: Place, src: Place, size: int, queue: Queue) -> bool:
        if dst.on_host:
            return self.staging.fetch_from(src.address, dst.address, size, queue)
        return self.staging.send_to(dst.address, src.address, size, queue)

    def _way(self, dst: Place, src: Place) -> tuple[str, tuple[Any, ...]]:
        """Return the driver's function for a copy, and its arguments up to the size."""
        cast = self.api.ffi.cast
        if dst.on_host:
            return "cuMemcpyDtoHAsync_v2", (cast("void *", dst.address), src.address)
        if src.on_host:
            return "cuMemcpyHtoDAsync_v2", (dst.address, cast("void *", src.address))
        if isinstance(src.device, CudaDevice) and src.device is not self:
            src.device.check()
            self._approach(src.device)
            contexts = self.context.raw, src.device.context.raw
            return "cuMemcpyPeerAsync", (dst.address, contexts[0], src.address, contexts[1])
        return "cuMemcpyDtoDAsync_v2", (dst.address, src.address)

    # Kernels

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Kernel | Refusal:
        """Return the kernel for an op; its program is compiled when a launch needs it."""
        return self.table.kernel(op, dtypes, layout)

    def alternatives(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Sequence[Kernel]:
        """Return the kernels of NVIDIA's libraries, where CuPy is installed."""
        del layout  # theirs take any
        return (
            *cublas.kernels_of(op, dtypes),
            *cusolver.kernels_of(op, dtypes),
            *cufft.kernels_of(op, dtypes),
            *cub.kernels_of(op, dtypes, self.traits),
        )

    def compile_ahead(self, kernel: Kernel) -> tuple[int, int]:
        """Compile a kernel's commonest programs, or find them in the cache on disk."""
        self.check()
        return self.programs.compile_ahead(kernel, self.name)

    def sources(self, kernel: Kernel) -> tuple[str, ...]:
        """Return the texts of a kernel's commonest programs."""
        return tuple(map(self.programs.text, kernel.handle.programs))

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
        env = LaunchEnv(self, self.queue(stream.handle), stream, kernel)
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
        if isinstance(kernel.handle, LibraryRecipe):
            return None
        recording = record(self, kernel, inputs, outputs, params, stream)
        return PreparedLaunch(self, kernel, recording) if recording else None

    def check_later(self, queue: Queue, source: int, size: int, explain: Explain) -> None:
        """Look at int64 numbers behind a queue's work so far; see `Env.check_later`."""
        words = self.words.take(size) if queue.is_ours else None
        if words is not None:
            with self.translated("a check of indices"):
                words.fetch(source, queue)
            queue.checks.add(LateCheck(words.read, explain))
            return
        room = (ctypes.c_int64 * (size // 8))()  # of a foreign stream nobody would ask for checks
        self.move(Place(None, ctypes.addressof(room)), Place(self, source), size, queue)
        self.finish(queue, None)
        error = explain(list(room))
        if error is not None:
            raise error

    def bound_kernel(self, program: Program, name: str, what: str) -> BoundKernel:
        """Return a kernel of a program; ``what`` names it in errors."""
        found = self.bound.get((program, name))
        if found is None:
            module = self.programs.build(program, f"{what} on {self.name}")
            with self.translated(f"the kernel {name} of {what}"):
                raw = self.context.get("cuModuleGetFunction", "CUfunction", module, name.encode())
                limit = self.context.get("cuFuncGetAttribute", "int", _MOST_THREADS, raw)
            found = BoundKernel(raw, name, int(limit))
            found = self.bound.setdefault((program, name), found)
        return found

    def _install(self, image: bytes) -> Any:
        """Return the driver's module for an image; ValueError if it does not take it."""
        try:
            module = self.context.get(
                "cuModuleLoadData", "CUmodule", self.api.ffi.from_buffer(image)
            )
        except CudaError as error:
            if error.code in _BAD_IMAGE:
                raise ValueError(str(error)) from error
            raise self.failure(error, "loading a program") from error
        self._modules.append(module)
        return module

    def _probe(self, program: Program, data: bytes, size: int) -> bytes:
        """Run the self-test's kernel; see `measured`."""
        kernel = self.bound_kernel(program, "probe", "the self-test")
        given, made = (
            ctypes.create_string_buffer(data, len(data)),
            ctypes.create_string_buffer(size),
        )
        room = self.alloc(len(data) + size + 256)
        target = room + len(data) + -len(data) % 256
        queue, one = self.default, ((1, 1, 1), (1, 1, 1))
        try:
            source = Place(self, room)
            self.move(source, Place(None, ctypes.addressof(given)), len(data), queue)
            values = [struct.pack("<Q", number) for number in (room, 0, target, 0)]
            with self.translated("the self-test"):
                if code := put(self, queue, "the self-test", kernel, one, values):
                    raise self.api.error(code, "cuLaunchKernel")
            self.move(Place(None, ctypes.addressof(made)), Place(self, target), size, queue)
            self.finish(queue, None)
        finally:
            self.free(room)
        return made.raw
