"""Loading arrays from files of any known format."""

from __future__ import annotations

import io
from typing import IO, Literal, get_args

from phalanx._warm import Array, Device
from phalanx.namespace.creation import device_or_current

from . import npy
from .npz import Archive
from .tensors import load_safetensors
from .whole import Whole, name_of
from .writing import File, path_of

Kind = Literal["npy", "npz", "safetensors"]
MapMode = Literal["r", "r+", "c"]
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
#: Bytes that tell the format: in a .safetensors file the length of the header, and its first one.
_HEAD = 9
#: The package safetensors takes no longer header.
_LONGEST = 100_000_000


def load(
    file: File, mmap_mode: MapMode | None = None, *, device: str | Device | None = None
) -> Array | Archive | dict[str, Array]:
    """Load what ``save``, ``savez``, ``save_safetensors`` or NumPy saved.

    From ``.npy`` comes an array; from ``.npz`` a mapping that reads an array when it is asked for,
    with ``files``, ``close`` and ``with`` as NumPy's; from ``.safetensors`` a dict. No code of the
    file runs: pickles and Python objects are refused.

    Args:
        file: a path, or a file that is open for bytes and can seek. Its format is told by the
            suffix ``.safetensors`` or by how it begins. Of a path to ``.npy`` or ``.safetensors``
            the pages go straight to the device.
        mmap_mode: for ``.npy``, the array's memory is the file's: ``"r"`` to read only, ``"r+"``
            to write to the file, ``"c"`` to keep what is written to oneself. For devices that
            share memory with the host.
        device: where the arrays come to lie (default: the current device).

    Raises:
        FileNotFoundError, OSError: what the system says of the file.
        ValueError: a file that is cut short, damaged or of none of these formats; memory that
            cannot be shared.
        TypeError: a dtype that Phalanx does not have, or Python objects.

    Examples:
        >>> px.save("x.npy", px.arange(4))
        >>> print(px.load("x.npy", device="cpu:0"))
        [0 1 2 3]
    """
    target = device_or_current(device)
    if mmap_mode is not None and mmap_mode not in get_args(MapMode):
        raise ValueError(f'load: mmap_mode is "r", "r+" or "c", got {mmap_mode!r}')
    path = path_of(file, "load", "read")
    if path is None:
        return _load_open(file, mmap_mode, target)  # type: ignore[arg-type]  # path_of has looked
    if path.suffix == ".safetensors":
        _need_no_mode(mmap_mode, path.name)
        return load_safetensors(path, device=target)
    with path.open("r+b" if mmap_mode == "r+" else "rb") as handle:
        kind = _kind(Whole(handle), path.name)
        if kind == "npy" and path.is_file():
            return npy.read_mapped(handle, path.name, target, mmap_mode)
        if kind == "npy":
            _need_no_mode(mmap_mode, path.name)
            return npy.read(Whole(handle), path.name, target)
    _need_no_mode(mmap_mode, path.name)
    if kind == "safetensors":
        return load_safetensors(path, device=target)
    return Archive(path, path.name, target)


def _load_open(
    file: IO[bytes], mode: str | None, device: Device
) -> Array | Archive | dict[str, Array]:
    name = name_of(file)
    whole = Whole(file)
    _need_no_mode(mode, name)
    try:
        kind = _kind(whole, name)
    except (io.UnsupportedOperation, AttributeError) as error:
        raise ValueError(f"load: {name} cannot seek; read it whole into an io.BytesIO") from error
    if kind == "npy":
        return npy.read(whole, name, device)
    if kind == "safetensors":
        return load_safetensors(file, device=device)
    return Archive(whole, name, device)


def _need_no_mode(mode: str | None, name: str) -> None:
    if mode is not None:
        raise ValueError(f"load: mmap_mode is for paths of .npy files, {name} is none")


def _kind(handle: Whole, name: str) -> Kind:
    """Tell the format by how the file begins, and stay where it does.

    Raises:
        ValueError: none of them.
    """
    start = handle.tell()
    head = handle.read(_HEAD)
    handle.seek(start)
    if head.startswith(npy.MAGIC):
        return "npy"
    if head.startswith(_ZIP):
        return "npz"
    if head[8:] == b"{" and int.from_bytes(head[:8], "little") <= _LONGEST:
        return "safetensors"
    if not head:
        raise ValueError(f"load: {name} is empty, or at its end")
    more = ""
    if head[:1] == b"\x80":
        more = "; it seems to be a pickle, which is never loaded, for that can run code"
    raise ValueError(f"load: {name} is neither .npy, .npz nor .safetensors{more}")
