"""Files that are there whole or as they were before."""

from __future__ import annotations

import errno
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from phalanx._warm import Array
from phalanx.arrays.transfer import asnumpy, to_numpy_protocol

from .whole import Whole

if TYPE_CHECKING:
    import numpy.typing as npt

#: A path, or a file that is open for bytes.
File = str | os.PathLike[str] | IO[bytes]


def path_of(file: File, op: str, calls: str) -> Path | None:
    """Return the path that a file is given by, or ``None`` if it is open and has what is called.

    Raises:
        TypeError: neither.
    """
    if isinstance(file, str | os.PathLike):
        return Path(os.fspath(file))
    if hasattr(file, calls) and not hasattr(file, "encoding"):  # as of text
        return None
    raise TypeError(
        f"{op} takes a path or a file that is open for bytes, got {type(file).__name__}"
    )


@contextmanager
def replacing(file: File, op: str, suffix: str) -> Iterator[IO[bytes]]:
    """Give a file to write to, which takes the place of the old one at the end, in one step.

    Until then, and if anything fails, a file of that name stays as it was. The suffix is appended
    to a path that has another one. What is no regular file, and an open file, is written at once.

    Raises:
        IsADirectoryError: the path ends as only that of a folder does.
        OSError: what the system says of the file.
    """
    path = path_of(file, op, "write")
    if path is None:
        # such files write all, and NumPy is faster with some of them, but fails with pipes
        plain = isinstance(file, io.BufferedIOBase) and file.seekable()
        yield file if plain else Whole(file)  # type: ignore[misc, arg-type]
        return
    if os.path.basename(file) in ("", os.curdir, os.pardir):  # type: ignore[arg-type]
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
    if not path.name.endswith(suffix):
        path = path.with_name(path.name + suffix)
    path = path.resolve()  # a link stays one
    if path.exists() and not path.is_file():
        with path.open("wb") as special:
            yield Whole(special)  # type: ignore[misc]  # it has what is called
        return
    part = path.with_name(f".phalanx-{secrets.token_hex(8)}.part")
    try:
        # nobody reads it who may not read the old one
        part.touch(0o600 if path.exists() else 0o666, exist_ok=False)
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        mode = part.stat().st_mode
        with part.open("wb") as made:
            yield made
        with part.open("r+b") as written:  # the package safetensors puts a file of its own there
            os.fsync(written.fileno())
        part.chmod((path.stat().st_mode if path.exists() else mode) & 0o7777)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def on_host(x: Array) -> npt.NDArray[Any]:
    """Return the elements as a NumPy array: over the same memory where the host addresses it."""
    return to_numpy_protocol(x, None, None) if x.device.host_addressable else asnumpy(x)


def need_arrays(arrays: dict[str, Any], op: str) -> None:
    """Raise before anything is written if one of the values is no array that the file can hold."""
    for name, x in arrays.items():
        if not isinstance(x, Array):
            raise TypeError(
                f"{op}: {name} is a {type(x).__name__}, not a phalanx array; write "
                "phalanx.asarray(...) around it"
            )
