"""Arrays by name in a file of the format ``.safetensors``, through the package of that name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from phalanx._warm import Array, Device, DType, dtype_from_name, reinterpret
from phalanx.arrays.transfer import contiguous, copy_to_host, from_numpy
from phalanx.namespace.creation import device_or_current

from .npy import need_shape
from .whole import Whole, name_of
from .writing import File, need_arrays, path_of, replacing

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

#: The format's names of dtypes, and ours.
_DTYPES = {
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BF16": "bfloat16",
    "C64": "complex64",
}
#: Bytes before the header: its length.
_LENGTH = 8


def save_safetensors(
    file: File, arrays: Mapping[str, Array], *, metadata: Mapping[str, str] | None = None
) -> None:
    """Save arrays by name to a file of the format ``.safetensors``, which other libraries read.

    Needs the package safetensors. The suffix is appended and an older file replaced as by
    ``save``. ``metadata`` are texts that stand in the header.

    Raises:
        ImportError: the package is not installed.
        TypeError: what is no array, or is of complex128, which the format does not have.
        OSError: what the system says of the file.

    Examples:
        >>> weights = {"w": px.ones((2, 2), dtype=px.bfloat16), "b": px.zeros(2)}
        >>> px.save_safetensors("model.safetensors", weights)
        >>> px.load("model.safetensors")["w"].dtype
        phalanx.bfloat16
    """
    op = "save_safetensors"
    package = _package(op)
    if not isinstance(arrays, Mapping):
        raise TypeError(f"{op} takes a dict of arrays by name, got {type(arrays).__name__}")
    whole = dict(arrays)
    need_arrays(whole, op)
    for name, text in (*((name, "") for name in whole), *(metadata or {}).items()):
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"{op}: names and metadata are str, got {name!r}: {text!r}")
    for name, x in whole.items():
        if x.dtype.name not in _DTYPES.values():
            raise TypeError(
                f"{op}: {name} is of {x.dtype}, which the format does not have; use phalanx.savez"
            )
    held = {name: _bytes_of(x) for name, x in whole.items()}
    specs = {
        name: package.TensorSpec(
            dtype=x.dtype.name,
            shape=x.shape,
            data_ptr=held[name].ctypes.data,
            data_len=x.nbytes,
        )
        for name, x in whole.items()
    }
    texts = None if metadata is None else dict(metadata)
    with replacing(file, op, ".safetensors") as handle:
        if path_of(file, op, "write") is None or not Path(handle.name).is_file():
            handle.write(package.serialize(specs, metadata=texts))
            return
        try:
            package.serialize_file(specs, handle.name, metadata=texts)
        except package.SafetensorError as error:
            raise OSError(f"{op}: {error}") from error


def load_safetensors(file: File, *, device: str | Device | None = None) -> dict[str, Array]:
    """Load arrays by name from a file of the format ``.safetensors``.

    Needs the package safetensors, which checks the header. The pages of a path go straight to the
    device (default: the current one).

    Raises:
        ImportError: the package is not installed.
        ValueError: the file is not sound.
        TypeError: a dtype that Phalanx does not have.
        OSError: what the system says of the file.

    Examples:
        >>> px.save_safetensors("model.safetensors", {"b": px.arange(3)})
        >>> print(px.load_safetensors("model.safetensors", device="cpu:0"))
        {'b': phalanx.Array([0, 1, 2], dtype=int64, device='cpu:0')}
    """
    package = _package("load_safetensors")
    target = device_or_current(device)
    path = path_of(file, "load_safetensors", "read")
    try:
        if path is None:
            return _load_open(package, file, target)  # type: ignore[arg-type]  # path_of has looked
        return _load_mapped(package, path, target)
    except (package.SafetensorError, _UnsoundError) as error:
        where = name_of(file) if path is None else path.name  # type: ignore[arg-type]
        raise ValueError(f"load_safetensors: {where} is not sound: {error}") from error


class _UnsoundError(Exception):
    """What the package lets pass, but no array can be."""


def _load_open(package: Any, file: IO[bytes], device: Device) -> dict[str, Array]:
    """Read the arrays from where an open file is to its end."""
    return {
        name: _made(
            _dtype(name, part["dtype"], part["shape"]), part["shape"], bytes(part["data"]), device
        )
        for name, part in package.deserialize(Whole(file).read())
    }


def _load_mapped(package: Any, path: Path, device: Device) -> dict[str, Array]:
    """Read the arrays in the order in which they lie behind the header, without gaps."""
    import numpy as np

    if not path.stat().st_size:
        raise ValueError(f"load_safetensors: {path.name} is empty")
    whole = np.memmap(path, np.uint8, "r")
    place = _LENGTH + int.from_bytes(whole[:_LENGTH].tobytes(), "little")
    arrays = {}
    with package.safe_open(path, framework="np") as opened:
        for name in opened.offset_keys():
            part = opened.get_slice(name)
            shape = part.get_shape()
            dtype = _dtype(name, part.get_dtype(), shape)
            end = place + math.prod(shape) * dtype.itemsize
            arrays[name] = _made(dtype, shape, whole[place:end], device)
            place = end
        return {name: arrays[name] for name in opened.keys()}  # noqa: SIM118 - it is no dict


def _made(
    dtype: DType, shape: Sequence[int], data: bytes | npt.NDArray[np.uint8], device: Device
) -> Array:
    """Return an array of these bytes on a device."""
    import numpy as np

    raw = from_numpy(np.frombuffer(data, np.uint8), device, copy=None)
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    return reinterpret(raw, dtype, tuple(shape), tuple(strides[: len(shape)]), 0)


def _dtype(name: str, theirs: str, shape: Sequence[int]) -> DType:
    """Return the dtype that the format's name stands for, if an array can have the shape."""
    try:
        need_shape(shape)
    except ValueError as error:
        raise _UnsoundError(f"{name}: {error}") from error
    if theirs not in _DTYPES:
        raise TypeError(
            f"load_safetensors: {name} is of {theirs}, which Phalanx does not have; convert it in "
            "the library that wrote it"
        )
    return dtype_from_name(_DTYPES[theirs])


def _bytes_of(x: Array) -> npt.NDArray[np.uint8]:
    """Return the elements in C order as bytes on the host; waits for the device."""
    import numpy as np

    room = np.empty(x.nbytes, np.uint8)
    copy_to_host(contiguous(x), room.ctypes.data, room)
    return room


def _package(op: str) -> Any:
    """Import the package, or say how to get it."""
    try:
        import safetensors
    except ImportError as error:
        raise ImportError(
            f'{op} needs the package safetensors: pip install "phalanx[safetensors]"'
        ) from error
    return safetensors
