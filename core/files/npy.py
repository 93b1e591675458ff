"""One array in a file of NumPy's format ``.npy``."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from phalanx._warm import Array, Device, dtype_from_name
from phalanx.arrays.transfer import from_numpy

from .whole import Whole
from .writing import File, need_arrays, on_host, replacing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAGIC = b"\x93NUMPY"
#: Axes of an array, and elements if extents of 0 are taken as 1: beyond is no array.
_MAX_AXES, _MAX_COUNT = 64, 1 << 59
#: What NumPy and Python's parser raise for headers that are none.
_UNSOUND = (
    ValueError,
    TypeError,
    SyntaxError,
    TokenError,
    EOFError,
    OverflowError,
    RecursionError,
    MemoryError,
)


def save(file: File, x: Array) -> None:
    """Save an array to a file of NumPy's format ``.npy``, which ``numpy.load`` reads as well.

    The name gets the suffix ``.npy`` if it has another. A file that is there already is replaced
    in one step: if the disk is full or the program ends, it is as it was. Waits for the device.

    Raises:
        TypeError: no array, or bfloat16, which the format does not have: ``save_safetensors``.
        OSError: what the system says of the file.

    Examples:
        >>> px.save("weights.npy", px.asarray([1.0, 2.5]))
        >>> print(px.load("weights.npy"))
        [1.  2.5]
    """
    need_arrays({"the second operand": x}, "save")
    need_numpy_dtype({"the array": x}, "save")
    with replacing(file, "save", ".npy") as handle:
        write(handle, x)


def need_numpy_dtype(arrays: dict[str, Array], op: str) -> None:
    """Raise TypeError if NumPy's formats have no dtype for one of the arrays."""
    for name, x in arrays.items():
        if x.dtype.name == "bfloat16":
            raise TypeError(
                f"{op}: {name} is of bfloat16, which NumPy's format does not have; use "
                "phalanx.save_safetensors, or convert with phalanx.astype(x, phalanx.float32)"
            )


def write(handle: IO[bytes], x: Array) -> None:
    """Write an array at the place where an open file is."""
    from numpy.lib import format as numpy_format

    numpy_format.write_array(handle, on_host(x), allow_pickle=False)


class Header(NamedTuple):
    """What a file says that it holds."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    def arranged(self, elements: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the elements in the shape and order of the header."""
        return elements.reshape(self.shape, order="F" if self.fortran else "C")


def read_header(handle: IO[bytes] | Whole, name: str) -> Header:
    """Read the header of an array, and refuse what Phalanx does not have.

    Raises:
        ValueError: it is no sound header.
        TypeError: another dtype.
    """
    from numpy.lib import format as numpy_format

    readers = {
        (1, 0): numpy_format.read_array_header_1_0,
        (2, 0): numpy_format.read_array_header_2_0,
    }
    try:
        version = numpy_format.read_magic(handle)
        if version not in readers:
            raise ValueError(f"its version {version} is for other dtypes")
        shape, fortran, dtype = readers[version](handle)
        need_shape(shape)
    except _UNSOUND as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(f"load: {name} is no sound .npy file: {reason}") from error
    if dtype.hasobject:
        raise TypeError(
            f"load: {name} holds Python objects; they are never loaded, for that can run code of "
            "the file's author"
        )
    try:
        dtype_from_name(dtype.name)
    except TypeError as error:
        raise TypeError(
            f"load: {name} is of NumPy's dtype {dtype}, which Phalanx does not have; read it with "
            "numpy.load and convert it"
        ) from error
    return Header(dtype, shape, fortran)


def need_shape(shape: Sequence[int]) -> None:
    """Raise ValueError if a shape that a file announces is none that an array can have."""
    if any(type(n) is not int for n in shape):
        raise ValueError(f"an extent of {shape} is no integer")
    if any(n < 0 for n in shape):
        raise ValueError(f"an extent of {shape} is negative")
    if len(shape) > _MAX_AXES:
        raise ValueError(f"{len(shape)} axes, of {_MAX_AXES} at most")
    if math.prod(n or 1 for n in shape) >= _MAX_COUNT:
        raise ValueError(f"no array can have the shape {shape}")


def read(handle: Whole, name: str, device: Device) -> Array:
    """Read an array from where an open file is.

    Raises:
        ValueError: the file is not sound, or ends before the array.
    """
    import numpy as np

    header = read_header(handle, name)
    rest = handle.rest()
    if rest is not None:
        need_bytes(name, rest, header.nbytes)
    data = handle.read(header.nbytes)
    need_bytes(name, len(data), header.nbytes)
    return from_numpy(header.arranged(np.frombuffer(data, header.dtype)), device, copy=None)


def read_mapped(handle: IO[bytes], name: str, device: Device, mode: str | None) -> Array:
    """Read an array from a file of the disk through its pages: no copy of it in between.

    With a mode of ``mmap_mode`` the array's memory is the file's.

    Raises:
        ValueError: as for ``read``; or the memory cannot be the device's.
    """
    import numpy as np

    header = read_header(handle, name)
    begin = handle.tell()
    need_bytes(name, os.fstat(handle.fileno()).st_size - begin, header.nbytes)
    if not header.nbytes:
        return from_numpy(np.empty(header.shape, header.dtype), device, copy=None)
    count = (math.prod(header.shape),)
    elements = np.memmap(handle, header.dtype, mode or "r", begin, count)  # type: ignore[call-overload]
    found = header.arranged(elements)
    if mode is None:
        return from_numpy(found, device, copy=None)
    try:
        return from_numpy(found, device, copy=False)
    except ValueError as error:
        raise ValueError(
            f"load: the memory of {device} cannot be that of {name}, of {header.dtype}; without "
            "mmap_mode the file's pages are copied to the device"
        ) from error


def need_bytes(name: str, there: int, wanted: int) -> None:
    """Raise ValueError if a file ends before the array that it announces."""
    if there < wanted:
        raise ValueError(
            f"load: {name} is cut short: {wanted} bytes of elements are announced, {there} are "
            "there; nothing was loaded"
        )
