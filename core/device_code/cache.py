"""Compiled programs on disk: shared by processes, bounded, and never the reason of a failure.

A compiled program is code, so only what this user alone can write is read.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import re
import stat
import tempfile
from pathlib import Path

from phalanx.vendor import ForkSafeLock

_log = logging.getLogger("phalanx.programs")

#: Bytes of all entries together.
LIMIT = 256 * 2**20
#: A process fills one in so many of the bytes that are free before it looks how many there are.
_SHARE = 16
_MAGIC = b"phalanx-program-1\n"
_DIGEST = hashlib.sha256().digest_size
_KEY = re.compile(r"[0-9a-f]{64}")
#: The files of this cache: entries, and what a writer that died has left of one.
_OURS = re.compile(r"[0-9a-f]{64}\.bin|\.[0-9a-f]{64}-[0-9a-z_]{8}\.new")


def _why_unsafe(status: os.stat_result) -> str:
    """Return why others could have written a file or folder; empty if they could not."""
    if os.name != "posix":
        return ""  # there, access control lists decide
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (number {status.st_uid})"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"can be written by others (mode {stat.S_IMODE(status.st_mode):o})"
    return ""


class DiskCache:
    """Bytes by key (64 hexadecimal digits) in files of a folder, the least recently used go first.

    Entries are written aside and renamed, so that other processes see all of one or nothing. An
    entry carries a digest of its bytes: one that does not fit counts as absent and is deleted, and
    so does one that others could have written. Files of others are left alone. A folder that cannot
    be written is told once in the log, and then nothing is stored; one that others can write is
    told once, and then not used at all.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder = folder
        self._limit = limit
        self._lock = ForkSafeLock()
        self._writable = True
        self._trusted = True
        #: Bytes that may be written before the folder is looked through again.
        self._spare = 0

    def get(self, key: str) -> bytes | None:
        """Return what was stored under a key, or ``None``."""
        path = self._path(key)
        if not self._is_safe():
            return None
        try:
            data, unsafe = _read(path)
        except OSError:
            return None
        if unsafe:
            _log.warning("the cached program %s %s; it is compiled anew", path, unsafe)
            self.drop(key)
            return None
        head = len(_MAGIC) + _DIGEST
        payload = data[head:]
        if data[:head] != _MAGIC + hashlib.sha256(payload).digest():
            _log.warning("the cached program %s is corrupt; it is compiled anew", path)
            self.drop(key)
            return None
        with contextlib.suppress(OSError):  # a folder that is read-only keeps no order of use
            os.utime(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store bytes under a key; a failure is told in the log."""
        path = self._path(key)
        if not self._writable or len(payload) > self._limit:
            return
        try:
            self._make_folder()
            if not self._is_safe():
                return
            self._write(path, _MAGIC + hashlib.sha256(payload).digest() + payload)
            self._spare -= len(payload)
        except OSError as error:
            with self._lock:
                told, self._writable = not self._writable, False
            if not told:
                _log.warning(
                    "compiled programs are not kept: %s is not writable (%s); "
                    "set PHALANX_CACHE_DIR to a folder that is",
                    self.folder,
                    error.strerror or error,
                )
            return
        if self._spare < 0:
            self._trim()

    def drop(self, key: str) -> None:
        """Forget a key; does nothing if it is absent."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"a key is 64 hexadecimal digits, not {key!r}")
        return self.folder / f"{key}.bin"

    def _make_folder(self) -> None:
        missing = [path for path in (self.folder, *self.folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)

    def _is_safe(self) -> bool:
        """Whether the folder is only this user's, or is not there yet; tells once if it is not."""
        if not self._trusted:
            return False
        try:
            unsafe = _why_unsafe(self.folder.stat())
        except OSError:
            return True
        if unsafe:
            with self._lock:
                told, self._trusted = not self._trusted, False
            if not told:
                _log.warning(
                    "compiled programs are neither read nor kept on disk: the folder %s %s; make "
                    "it your own (chmod go-w), or set PHALANX_CACHE_DIR to a folder that is",
                    self.folder,
                    unsafe,
                )
        return not unsafe

    def _write(self, path: Path, data: bytes) -> None:
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=f".{path.stem}-", suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

    def _trim(self) -> None:
        """Delete the least recently used entries beyond the limit; others may do the same.

        Others may fill most of what is free then: this process looks again after a small part.
        """
        entries = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                with contextlib.suppress(OSError):
                    if _OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                        status = entry.stat(follow_symlinks=False)
                        entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._limit:
                break
            total -= size
            with contextlib.suppress(OSError):
                Path(path).unlink()
        self._spare = (self._limit - total) // _SHARE


def _read(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a file, or why it is unsafe to read them.

    Raises:
        OSError: it is absent or cannot be read.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return b"", "is not a file"
        unsafe = _why_unsafe(status)
        return (b"", unsafe) if unsafe else (file.read(), "")
