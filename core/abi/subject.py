"""An open device of a library under trial: memory and launches by the calls of the ABI alone."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from phalanx.driver import Feature
from phalanx.optable import DTYPES

from . import structs as abi
from .kernel_table import KernelRow, read_table
from .library import Library
from .structs import ffi

_FOREVER = 2**64 - 1
Bytes = npt.NDArray[np.uint8]


class Subject:
    """A device that was opened for a trial.

    ``stream`` is what stands for its default stream, ``info`` its ``phx_device_info``.

    Raises:
        PhalanxError: the library returned an error; so does every method.
    """

    def __init__(self, library: Library, index: int) -> None:
        new = ffi().new
        self.library = library
        self.name = f"{library.name}:{index}"
        self.info = new("phx_device_info *", {"struct_size": ffi().sizeof("phx_device_info")})
        self.call("device_info", index, self.info)
        device = new("phx_device **")
        self.call("device_open", index, device)
        self.device = device[0]
        self.stream = ffi().cast("phx_stream *", 0)
        if self.can(abi.Capability.DEFAULT_STREAM):
            stream = new("phx_stream **")
            self.call("stream_default", self.device, stream)
            self.stream = stream[0]

    def call(self, function: str, *args: Any, size: int = 0) -> None:
        """Call a function of the table."""
        self.library.call(function, *args, where=self.name, size=size)

    def can(self, capability: abi.Capability) -> bool:
        """Return whether the library claims a capability."""
        return bool(self.library.capabilities & capability)

    @property
    def is_addressable(self) -> bool:
        """Whether handles are addresses of the host."""
        return bool(self.info.features & Feature.HOST_ADDRESSABLE)

    def finish(self) -> None:
        """Wait for all work."""
        self.call("device_synchronize", self.device, _FOREVER)

    @contextmanager
    def block(self, size: int) -> Iterator[Any]:
        """Allocate bytes for a ``with`` block; the value is the handle, a ``void *``."""
        out = ffi().new("void **")
        self.call("alloc", self.device, size, self.info.alignment, out, size=size)
        if not out[0]:
            raise ValueError(f"alloc of {size} bytes gives no handle and no error")
        yield out[0]
        self.finish()
        self.call("free", self.device, out[0])

    def write(self, handle: Any, offset: int, data: Bytes, stream: Any = None) -> None:
        """Copy bytes from the host; the caller keeps them until the work is done."""
        self._copy(self.place(handle, offset), _host_place(data), data.nbytes, stream)

    def read(self, handle: Any, offset: int, size: int, stream: Any = None) -> Bytes:
        """Copy bytes to the host and wait for them."""
        data = np.full(size, 0x5A, np.uint8)
        self._copy(_host_place(data), self.place(handle, offset), size, stream)
        self.finish()
        return data

    def move(
        self, to: Any, to_at: int, source: Any, at: int, size: int, stream: Any = None
    ) -> None:
        """Copy bytes from block to block."""
        self._copy(self.place(to, to_at), self.place(source, at), size, stream)

    def place(self, handle: Any, offset: int) -> tuple[Any, Any, int]:
        """Return a ``phx_place`` on the device."""
        return self.device, handle, offset

    def _copy(self, dst: Any, src: Any, size: int, stream: Any) -> None:
        queue = self.stream if stream is None else stream
        self.call("copy", self.device, queue, dst, src, size)

    def rows(self) -> list[KernelRow]:
        """Return the rows of the kernel table that this host knows."""
        rows, count = ffi().new("const phx_kernel *const **"), ffi().new("uint64_t *")
        self.call("kernel_table", self.device, rows, count)
        return read_table(rows[0], int(count[0]), newer=True).rows

    def launch(self, row: KernelRow, tensors: Sequence[Tensor], scalars: int = 0) -> None:
        """Launch a kernel on the default stream; the operands live until the call returns."""
        array = ffi().new("const DLTensor *[]", [t.native for t in tensors])
        call = ffi().new("phx_call *", {"struct_size": ffi().sizeof("phx_call")})
        call.tensors, call.scalars, call.device = array, scalars, self.device
        call.n_inputs, call.n_outputs = len(tensors) - 1, 1
        native = ffi().cast("const phx_kernel *", row.address)
        if error := native.run(native, self.stream, call):
            self.library.fail(error, f"{row.op}({', '.join(row.dtypes)}) on {self.name}")

    def close(self) -> None:
        """Close the device."""
        self.call("device_close", self.device)


class Tensor:
    """A ``DLTensor`` over a block of a device, or over memory of the host, which it keeps.

    ``strides`` are in elements; those of C order by default.
    """

    def __init__(
        self,
        subject: Subject,
        data: Any,
        dtype: str,
        shape: Sequence[int],
        *,
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> None:
        if strides is None:
            strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        self._keep = (
            data,
            ffi().new("int64_t[]", [*shape, 0]),
            ffi().new("int64_t[]", [*strides, 0]),
        )
        facts = DTYPES[dtype]
        address = data.ctypes.data if isinstance(data, np.ndarray) else data
        self.native = ffi().new("DLTensor *")
        self.native.data = ffi().cast("void *", address)
        self.native.ndim = len(shape)
        self.native.shape, self.native.strides = self._keep[1:]
        self.native.byte_offset = offset
        self.native.dtype = (facts.dlpack, 8 * facts.size, 1)
        self.native.device = (subject.info.dlpack_type, subject.info.dlpack_id)


def _host_place(data: Bytes) -> tuple[Any, Any, int]:
    return ffi().cast("phx_device *", 0), ffi().cast("void *", data.ctypes.data), 0
