"""NVIDIA's library without a card: memory of the host, and kernels as `emulated` runs them.

It does what the CUDA Driver API reference promises and no more. Work on a stream happens as late as
it may: when the stream, an event behind it or the whole device is waited for, and one step for
every second time that it is asked for, so that the answers between come at once. So whoever forgets
to wait, or to order two streams, sees old bytes. A call without a current context, with a handle
that was destroyed, with memory that was given back or a grid beyond the limits fails as a card's
would. `FakeCuda.faults` makes any call fail.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from emulated.compiler import Code, Kernel
from phalanx.device_plugins.cuda.api import types

from . import codes
from .compiler import IMAGE, loaded
from .ranges import FakeRanges

FFI = types()
#: Calls that need no context.
_FREE = ("cuInit", "cuDriver", "cuGetError", "cuDevice", "cuCtx")
#: Functions that compiled code calls by their address; from Python they check their types.
_COMPILED = {
    "cuLaunchKernel": "CUresult(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,"
    "unsigned int, unsigned int, unsigned int, CUstream, void **, void **)",
    "cuCtxGetCurrent": "CUresult(CUcontext *)",
    "cuCtxPushCurrent_v2": "CUresult(CUcontext)",
    "cuCtxPopCurrent_v2": "CUresult(CUcontext *)",
}
#: Beyond these a launch is refused: CUDA C++ Programming Guide, 12.9, "Compute Capabilities".
_MOST_GRID = (2**31 - 1, 65535, 65535)
_MOST_BLOCK = (1024, 1024, 64)


@dataclass
class _Stream:
    work: deque[Callable[[], None]] = field(default_factory=deque)
    #: How many commands were enqueued, and how many of them are done.
    put: int = 0
    done: int = 0
    asked: int = 0


@dataclass
class _Event:
    stream: _Stream | None = None
    #: The number of the last command before it.
    number: int = 0
    timed: bool = True
    time: float = 0.0


class FakeCuda(FakeRanges):
    """The functions of the driver API; whatever has a name there is a method ``_name`` here.

    Args:
        devices: how many.
        memory: bytes of each.
        version: of CUDA that the driver knows.
        capability: of the devices.
        compute_mode: 0 is the default, 2 prohibits contexts.
        virtual: whether memory can be put behind addresses.

    Attributes:
        faults: what calls return instead, by name: a number of code, or codes for one call each,
            of which 0 lets the call through.
        calls: how often each was called.
        missing: functions that an older driver has not.
        said: what went wrong in kernels.
    """

    def __init__(
        self,
        devices: int = 1,
        *,
        memory: int = 2**30,
        version: int = 12090,
        capability: tuple[int, int] = (9, 0),
        compute_mode: int = 0,
        virtual: bool = True,
        one_address: bool = False,
    ) -> None:
        super().__init__(memory)
        self._one_address = one_address
        self.faults: dict[str, int | list[int]] = {}
        self.calls: Counter[str] = Counter()
        self.missing: set[str] = set()
        self.said = ""
        self.contexts = 0
        self._devices, self._version, self._virtual = devices, version, virtual
        self._capability, self._compute_mode = capability, compute_mode
        self._lock = threading.RLock()
        self._here = threading.local()
        self._sticky = codes.SUCCESS
        legacy = _Stream()  # which goes by two names; 2 is the default stream of each thread
        self._objects: dict[int, Any] = {0: legacy, 1: legacy, 2: _Stream()}
        self._last = max(self._objects)
        self._texts: dict[str, Any] = {}
        self._compiled: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Callable[..., int]:
        if name in self.missing:
            raise AttributeError(name)
        try:
            method = object.__getattribute__(self, f"_{name}")
        except AttributeError:
            raise AttributeError(name) from None
        if name in self._compiled:
            return self._compiled[name]

        def call(*args: Any) -> int:
            with self._lock:
                self.calls[name] += 1
                if code := self._fault(name):
                    return code
                if not name.startswith(_FREE):
                    if not self._stack():
                        return codes.INVALID_CONTEXT
                    if self._sticky:
                        return self._sticky
                return int(method(*args) or codes.SUCCESS)

        if name in _COMPILED:
            pointer = FFI.callback(_COMPILED[name], call, error=codes.INVALID_VALUE)
            return self._compiled.setdefault(name, pointer)
        return call

    def _fault(self, name: str) -> int:
        planned = self.faults.get(name, codes.SUCCESS)
        if isinstance(planned, int):
            return planned
        return planned.pop(0) if planned else codes.SUCCESS

    # The driver and its devices

    def _cuInit(self, flags: int) -> int:
        assert flags == 0
        return codes.SUCCESS if self._devices else codes.NO_DEVICE

    def _cuDriverGetVersion(self, out: Any) -> None:
        out[0] = self._version

    def _text(self, code: int, out: Any, text: str) -> None:
        out[0] = self._texts.setdefault(text, FFI.new("char[]", text.encode()))

    def _cuGetErrorName(self, code: int, out: Any) -> int:
        if code not in codes.NAMES:
            return codes.INVALID_VALUE
        self._text(code, out, codes.NAMES[code])
        return codes.SUCCESS

    def _cuGetErrorString(self, code: int, out: Any) -> int:
        if code not in codes.NAMES:
            return codes.INVALID_VALUE
        self._text(
            code, out, codes.NAMES[code].removeprefix("CUDA_ERROR_").replace("_", " ").lower()
        )
        return codes.SUCCESS

    def _cuDeviceGetCount(self, out: Any) -> None:
        out[0] = self._devices

    def _cuDeviceGet(self, out: Any, index: int) -> int:
        out[0] = index
        return codes.SUCCESS if 0 <= index < self._devices else 101

    def _cuDeviceGetName(self, out: Any, size: int, device: int) -> None:
        _write(out, size, f"Fake card {device}")

    def _cuDeviceGetPCIBusId(self, out: Any, size: int, device: int) -> None:
        _write(out, size, f"0000:{1 if self._one_address else device + 1:02X}:00.0")

    def _cuDeviceGetUuid_v2(self, out: Any, device: int) -> None:
        FFI.buffer(out)[:] = bytes([device + 1]) * 16

    def _cuDeviceTotalMem_v2(self, out: Any, device: int) -> None:
        del device
        out[0] = self._memory

    def _cuDeviceGetAttribute(self, out: Any, number: int, device: int) -> None:
        del device
        major, minor = self._capability
        known = {1: 64, 8: 48 * 2**10, 16: 2, 20: self._compute_mode, 75: major, 76: minor}
        known[87] = 2 if minor == 0 and major < 12 else 64
        known[102] = int(self._virtual)
        out[0] = known[number]

    # Contexts: each thread has a stack of them

    def _stack(self) -> list[int]:
        if not hasattr(self._here, "contexts"):
            self._here.contexts = []
        stack: list[int] = self._here.contexts
        return stack

    def _cuDevicePrimaryCtxRetain(self, out: Any, device: int) -> None:
        self.contexts += 1
        out[0] = FFI.cast("CUcontext", 1000 + device)

    def _cuDevicePrimaryCtxRelease_v2(self, device: int) -> int:
        del device
        self.contexts -= 1
        return codes.SUCCESS if self.contexts >= 0 else codes.INVALID_CONTEXT

    def _cuCtxGetCurrent(self, out: Any) -> None:
        stack = self._stack()
        out[0] = FFI.cast("CUcontext", stack[-1] if stack else 0)

    def _cuCtxPushCurrent_v2(self, context: Any) -> None:
        self._stack().append(int(FFI.cast("uintptr_t", context)))

    def _cuCtxPopCurrent_v2(self, out: Any) -> int:
        if not self._stack():
            return codes.INVALID_CONTEXT
        out[0] = FFI.cast("CUcontext", self._stack().pop())
        return codes.SUCCESS

    def _cuCtxGetStreamPriorityRange(self, least: Any, greatest: Any) -> None:
        least[0], greatest[0] = 0, -5

    # Streams and events

    def _new(self, kind: str, thing: Any, out: Any) -> None:
        self._last += 16  # no number comes again
        self._objects[self._last] = thing
        out[0] = FFI.cast(kind, self._last)

    def _known(self, handle: Any) -> Any:
        return self._objects.get(int(FFI.cast("uintptr_t", handle)))

    def _forget(self, handle: Any) -> None:
        del self._objects[int(FFI.cast("uintptr_t", handle))]

    def _break(self, code: int, why: str) -> None:
        """The context fails: every later call in it returns the same error."""
        self._sticky = self._sticky or code
        self.said = self.said or why

    def _enqueue(self, handle: Any, work: Callable[[], None]) -> int:
        return self._enqueue_number(int(FFI.cast("uintptr_t", handle)), work)

    def _enqueue_number(self, number: int | None, work: Callable[[], None]) -> int:
        """Put work into the stream at an address, as libraries know it."""
        stream = self._objects.get(number)
        if not isinstance(stream, _Stream):
            return codes.INVALID_HANDLE
        stream.work.append(work)
        stream.put += 1
        return codes.SUCCESS

    def _step(self, stream: _Stream) -> None:
        work = stream.work.popleft()
        if not self._sticky:
            work()
        stream.done += 1

    def _ask(self, stream: _Stream) -> None:
        stream.asked += 1
        if not stream.asked % 2:
            self._step(stream)

    def _drain(self, stream: _Stream, number: int) -> None:
        while stream.done < number:
            self._step(stream)

    def _cuStreamCreateWithPriority(self, out: Any, flags: int, priority: int) -> int:
        if flags != 1 or not -5 <= priority <= 0:
            return codes.INVALID_VALUE
        self._new("CUstream", _Stream(), out)
        return codes.SUCCESS

    def _cuStreamDestroy_v2(self, handle: Any) -> int:
        stream = self._known(handle)
        if not isinstance(stream, _Stream) or stream is self._objects[0]:
            return codes.INVALID_HANDLE
        self._drain(stream, stream.put)
        self._forget(handle)
        return codes.SUCCESS

    def _cuStreamQuery(self, handle: Any) -> int:
        stream = self._known(handle)
        if not isinstance(stream, _Stream):
            return codes.INVALID_HANDLE
        if stream.work:
            self._ask(stream)
        return self._sticky or (codes.NOT_READY if stream.work else codes.SUCCESS)

    def _cuStreamSynchronize(self, handle: Any) -> int:
        stream = self._known(handle)
        if not isinstance(stream, _Stream):
            return codes.INVALID_HANDLE
        self._drain(stream, stream.put)
        return self._sticky

    def _cuStreamWaitEvent(self, handle: Any, event: Any, flags: int) -> int:
        found = self._known(event)
        if not isinstance(found, _Event) or flags:
            return codes.INVALID_HANDLE
        other, number = found.stream, found.number  # of this recording, whatever comes later
        if other is None:
            return codes.SUCCESS
        return self._enqueue(handle, lambda: self._drain(other, number))

    def _cuEventCreate(self, out: Any, flags: int) -> None:
        self._new("CUevent", _Event(timed=not flags & 2), out)

    def _cuEventDestroy_v2(self, handle: Any) -> int:
        event = self._known(handle)
        if not isinstance(event, _Event):
            return codes.INVALID_HANDLE
        self._forget(handle)
        return codes.SUCCESS

    def _cuEventRecord(self, handle: Any, where: Any) -> int:
        event, stream = self._known(handle), self._known(where)
        if not isinstance(event, _Event) or not isinstance(stream, _Stream):
            return codes.INVALID_HANDLE
        event.time, idle = time.perf_counter(), not stream.work

        def note() -> None:
            if not idle:
                event.time = time.perf_counter()

        self._enqueue(where, note)
        event.stream, event.number = stream, stream.put
        return codes.SUCCESS

    def _cuEventQuery(self, handle: Any) -> int:
        event = self._known(handle)
        if not isinstance(event, _Event):
            return codes.INVALID_HANDLE
        if event.stream is None or event.stream.done >= event.number:
            return self._sticky
        self._ask(event.stream)
        return self._sticky or (
            codes.SUCCESS if event.stream.done >= event.number else codes.NOT_READY
        )

    def _cuEventSynchronize(self, handle: Any) -> int:
        event = self._known(handle)
        if not isinstance(event, _Event):
            return codes.INVALID_HANDLE
        if event.stream is not None:
            self._drain(event.stream, event.number)
        return self._sticky

    def _cuEventElapsedTime(self, out: Any, begin: Any, end: Any) -> int:
        first, last = self._known(begin), self._known(end)
        for event in (first, last):
            if not isinstance(event, _Event) or not event.timed or event.stream is None:
                return codes.INVALID_HANDLE
            if event.stream.done < event.number:
                return codes.NOT_READY
        out[0] = (last.time - first.time) * 1e3
        return codes.SUCCESS

    # Programs

    def _cuModuleLoadData(self, out: Any, image: Any) -> int:
        data = bytes(FFI.buffer(image)) if isinstance(image, FFI.CData) else bytes(image)
        if not data.startswith(IMAGE):
            return codes.INVALID_IMAGE
        self._new("CUmodule", loaded(data), out)
        return codes.SUCCESS

    def _cuModuleUnload(self, handle: Any) -> int:
        return codes.SUCCESS if isinstance(self._known(handle), Code) else codes.INVALID_HANDLE

    def _cuModuleGetFunction(self, out: Any, module: Any, name: bytes) -> int:
        code = self._known(module)
        try:
            self._new("CUfunction", code.kernel(name.decode()), out)
        except AttributeError:
            return codes.NOT_FOUND
        return codes.SUCCESS

    def _cuFuncGetAttribute(self, out: Any, number: int, function: Any) -> int:
        out[0] = 64
        known = isinstance(self._known(function), Kernel) and number == 0
        return codes.SUCCESS if known else codes.INVALID_VALUE

    def _cuFuncGetParamInfo(self, function: Any, number: int, offset: Any, size: Any) -> int:
        kernel = self._known(function)
        if not isinstance(kernel, Kernel):
            return codes.INVALID_HANDLE
        if not 0 <= number < len(kernel.sizes):
            return codes.INVALID_VALUE
        offset[0], size[0] = places(kernel)[number], kernel.sizes[number]
        return codes.SUCCESS

    def _cuLaunchKernel(self, function: Any, *args: Any) -> int:
        grid, block = tuple(map(int, args[:3])), tuple(map(int, args[3:6]))
        shared, stream, parameters, extra = args[6:]
        kernel = self._known(function)
        if not isinstance(kernel, Kernel) or shared:
            return codes.INVALID_HANDLE
        within = all(0 < n <= most for n, most in zip(grid, _MOST_GRID, strict=True))
        within &= all(0 < n <= most for n, most in zip(block, _MOST_BLOCK, strict=True))
        given = _parameters(kernel, parameters, extra)  # copied when the call returns
        if not within or block[0] * block[1] * block[2] > 64 or given is None:
            return codes.INVALID_VALUE

        def run() -> None:
            with _ONE_LAUNCH:
                wrong = kernel.launch(grid, block, given, backwards=False)
            if wrong:
                self._break(codes.ILLEGAL_ADDRESS, f"{kernel.name}: {wrong}")

        return self._enqueue(stream, run)


def places(kernel: Kernel) -> list[int]:
    """Where each parameter of a kernel begins, by the alignment that g++ gives its type."""
    places, end = [], 0
    for size, alignment in zip(kernel.sizes, kernel.alignments, strict=True):
        places.append(end + -end % alignment)
        end = places[-1] + size
    return places


def _parameters(kernel: Kernel, parameters: Any, extra: Any) -> list[bytes] | None:
    """The parameters of a launch, given by pointers or in one buffer; ``None`` for a mistake."""
    if (parameters == FFI.NULL) == (extra == FFI.NULL):
        return None
    if extra == FFI.NULL:
        pointers = [FFI.cast("char *", parameters[i]) for i in range(len(kernel.sizes))]
    else:
        marks = [int(FFI.cast("uintptr_t", extra[i])) for i in (0, 2, 4)]
        offsets = places(kernel)
        size = FFI.cast("size_t *", extra[3])[0]
        if marks != [1, 2, 0] or size != offsets[-1] + kernel.sizes[-1]:
            return None
        pointers = [FFI.cast("char *", extra[1]) + offset for offset in offsets]
    sizes = kernel.sizes
    return [bytes(FFI.buffer(at, size)) for at, size in zip(pointers, sizes, strict=True)]


#: The scheduler of work-items has room for one launch.
_ONE_LAUNCH = threading.Lock()


def _write(out: Any, size: int, text: str) -> None:
    data = text.encode()[: size - 1] + b"\0"
    FFI.buffer(out, len(data))[:] = data
