"""The CUDA driver API, as much of it as is needed here, called through cffi.

Declarations: CUDA Driver API reference, 12.9. Each function is the one that the name of today's
header stands for, such as ``cuMemAlloc_v2``.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, Protocol

from cffi import FFI
from phalanx.errors import DeviceError

_DECLARATIONS = """
typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct { unsigned char bytes[16]; } CUuuid;
typedef unsigned long long CUmemGenericAllocationHandle;
typedef struct { int type; int id; } CUmemLocation;
typedef struct {
    int type;
    int requestedHandleTypes;
    CUmemLocation location;
    void *win32HandleMetaData;
    struct {
        unsigned char compressionType;
        unsigned char gpuDirectRDMACapable;
        unsigned short usage;
        unsigned char reserved[4];
    } allocFlags;
} CUmemAllocationProp;
typedef struct { CUmemLocation location; int flags; } CUmemAccessDesc;

CUresult cuInit(unsigned int flags);
CUresult cuDriverGetVersion(int *version);
CUresult cuGetErrorName(CUresult error, const char **text);
CUresult cuGetErrorString(CUresult error, const char **text);

CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetName(char *name, int size, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device);
CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device);
CUresult cuDeviceCanAccessPeer(int *value, CUdevice device, CUdevice peer);

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags);
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest);

CUresult cuMemGetInfo_v2(size_t *free, size_t *total);
CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes);
CUresult cuMemFree_v2(CUdeviceptr pointer);
CUresult cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *memory, int option);
CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t bytes, size_t alignment,
    CUdeviceptr wished, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes);
CUresult cuMemCreate(CUmemGenericAllocationHandle *memory, size_t bytes,
    const CUmemAllocationProp *properties, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle memory);
CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset,
    CUmemGenericAllocationHandle memory, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes);
CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc *access,
    size_t count);
CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned int flags);
CUresult cuMemFreeHost(void *pointer);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream);
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
    CUcontext src_context, size_t bytes, CUstream stream);

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);

CUresult cuEventCreate(CUevent *event, unsigned int flags);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end);

CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function);
CUresult cuFuncGetParamInfo(CUfunction function, size_t number, size_t *offset, size_t *size);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
    unsigned int grid_z, unsigned int block_x, unsigned int block_y, unsigned int block_z,
    unsigned int shared_bytes, CUstream stream, void **parameters, void **extra);
"""
#: What `CUDA_ERROR_NOT_READY` is: the work is not done yet, which is no failure.
NOT_READY = 600
_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_INSTALL = (
    "install NVIDIA's driver (https://www.nvidia.com/drivers), or start the container with "
    "--gpus all (NVIDIA Container Toolkit)"
)


class NoDriverError(DeviceError):
    """NVIDIA's driver is not there: CUDA is not wanted, or not yet."""


class CudaError(Exception):
    """A call of the driver that failed: its code, the code's name and the call's."""

    def __init__(self, code: int, name: str, call: str, text: str = "") -> None:
        super().__init__(f"{call} failed with {name}" + (f" ({text})" if text else ""))
        self.code = code
        self.name = name
        self.call = call


class Library(Protocol):
    """NVIDIA's library, or what stands for it: the functions of the declarations above."""

    def __getattr__(self, name: str) -> Any: ...


@cache
def types() -> FFI:
    """Return the cffi object that knows the types; made at the first call."""
    ffi = FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi


def load() -> Library:
    """Return NVIDIA's library.

    Raises:
        NoDriverError: there is none that can be loaded, with what to install.
    """
    try:
        ctypes.CDLL(_LIBRARY)  # before declarations are parsed for nothing
    except OSError as error:
        reason = " ".join(str(error).split())
        raise NoDriverError(f"there is no NVIDIA driver ({reason})", remedy=_INSTALL) from error
    library: Library = types().dlopen(_LIBRARY)
    return library


class Api:
    """The functions of a library, with errors as exceptions. Safe from any thread."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.ffi = types()

    def function(self, call: str) -> Any:
        """Return a function of the library, which returns a code.

        Raises:
            DeviceError: the driver is so old that it has none of this name.
        """
        try:
            return getattr(self.library, call)
        except AttributeError as error:
            raise DeviceError(
                f"NVIDIA's driver is too old: it has no {call}",
                remedy="update the driver to 525 (CUDA 12.0) or later",
            ) from error

    def optional(self, call: str) -> Any:
        """Return a function that drivers of 525 may not have, or ``None``."""
        return getattr(self.library, call, None)

    def address(self, call: str) -> int:
        """Return where a function is, for compiled code."""
        return self.number(self.function(call))

    def number(self, handle: Any) -> int:
        """Return a handle of the driver's as an integer."""
        return int(self.ffi.cast("uintptr_t", handle))

    def call(self, call: str, *args: Any) -> None:
        """Call a function.

        Raises:
            CudaError: it returned an error.
        """
        code = self.function(call)(*args)
        if code:
            raise self.error(code, call)

    def get(self, call: str, kind: str, *args: Any) -> Any:
        """Call a function whose first parameter is where its result goes; return the result."""
        room = self.ffi.new(f"{kind} *")
        self.call(call, room, *args)
        return room[0]

    def text(self, call: str, device: Any) -> str:
        """Call a function that writes a text about a device."""
        room = self.ffi.new("char[256]")
        self.call(call, room, 256, device)
        found: bytes = self.ffi.string(room)
        return found.decode("utf-8", "replace")

    def error(self, code: int, call: str) -> CudaError:
        """Return the exception for a code."""
        return CudaError(
            code,
            self._told("cuGetErrorName", code) or f"CUDA error {code}",
            call,
            self._told("cuGetErrorString", code),
        )

    def _told(self, call: str, code: int) -> str:
        room = self.ffi.new("const char **")
        if self.function(call)(code, room) or not room[0]:
            return ""
        found: bytes = self.ffi.string(room[0])
        return found.decode("utf-8", "replace")


class Context:
    """A device's primary context, which CuPy and PyTorch use too. Safe from any thread.

    Each thread has a current context of its own, which belongs to whoever set it: it is another one
    only during a call.
    """

    def __init__(self, api: Api, device: Any) -> None:
        self.api = api
        self.device = device
        self.raw = api.get("cuDevicePrimaryCtxRetain", "CUcontext", device)
        self._current = api.function("cuCtxGetCurrent")

    def call(self, call: str, *args: Any) -> None:
        """Call a function in this context.

        Raises:
            CudaError: it returned an error.
        """
        code = self.code(self.api.function(call), *args)
        if code:
            raise self.api.error(code, call)

    def get(self, call: str, kind: str, *args: Any) -> Any:
        """Call a function whose first parameter is where its result goes; return the result."""
        room = self.api.ffi.new(f"{kind} *")
        self.call(call, room, *args)
        return room[0]

    def code(self, function: Any, *args: Any) -> int:
        """Call a function in this context; return its code."""
        room = self.api.ffi.new("CUcontext *")
        self._current(room)
        if room[0] == self.raw:
            result: int = function(*args)
            return result
        self.api.call("cuCtxPushCurrent_v2", self.raw)
        try:
            result = function(*args)
        finally:
            self.api.call("cuCtxPopCurrent_v2", room)
        return result

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Be the thread's current context in the block."""
        room = self.api.ffi.new("CUcontext *")
        self._current(room)
        if room[0] == self.raw:
            yield
            return
        self.api.call("cuCtxPushCurrent_v2", self.raw)
        try:
            yield
        finally:
            self.api.call("cuCtxPopCurrent_v2", room)

    @property
    def number(self) -> int:
        """Its address."""
        return self.api.number(self.raw)

    def release(self) -> None:
        """Let the context go; the driver ends it when nobody else has it."""
        self.api.call("cuDevicePrimaryCtxRelease_v2", self.device)
