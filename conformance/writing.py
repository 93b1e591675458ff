"""Writes a report whole or not at all: a full disk leaves no half of one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Put a text in UTF-8 at a path; blocks until it is written.

    What a device says may have halves of surrogate pairs; they are written as escapes.

    Raises:
        OSError: it has no place there; an older file stays as it was.
    """
    data = text.encode("utf-8", "backslashreplace")
    if path.exists() and not path.is_file():  # a pipe, or a device such as /dev/full
        path.write_bytes(data)
        return
    path = path.resolve()  # a link stays one
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            os.fchmod(handle, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    """Return the mask of new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
