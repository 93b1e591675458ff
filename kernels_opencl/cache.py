"""Compiled programs on disk: shared by processes, bounded, and never the reason of a failure."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import tempfile
from pathlib import Path

from phalanx.locks import ForkSafeLock

_log = logging.getLogger("phalanx.opencl")

#: Bytes of all entries together.
LIMIT = 256 * 2**20
_MAGIC = b"phalanx-opencl-1\n"
_SUFFIX = ".bin"
_DIGEST = hashlib.sha256().digest_size


def default_folder() -> Path:
    """Return ``PHALANX_CACHE_DIR``, or else the user's cache folder, with ``opencl`` added."""
    chosen = os.environ.get("PHALANX_CACHE_DIR", "").strip()
    if chosen:
        return Path(chosen).expanduser() / "opencl"
    import platformdirs

    return Path(platformdirs.user_cache_dir("phalanx")) / "opencl"


class DiskCache:
    """Bytes by key (hexadecimal) in files of a folder, the least recently used dropped first.

    Entries are written aside and renamed, so that other processes see all of one or nothing. An
    entry carries a digest of its bytes: one that does not fit counts as absent and is deleted. A
    folder that cannot be written is told once in the log, and then nothing is stored.
    """

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder = folder
        self._limit = limit
        self._lock = ForkSafeLock()
        self._writable = True

    def get(self, key: str) -> bytes | None:
        """Return what was stored under a key, or ``None``."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
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
        if not self._writable or len(payload) > self._limit:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write(self._path(key), _MAGIC + hashlib.sha256(payload).digest() + payload)
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
        self._trim()

    def drop(self, key: str) -> None:
        """Forget a key; does nothing if it is absent."""
        with contextlib.suppress(OSError):
            self._path(key).unlink()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_SUFFIX}"

    def _write(self, path: Path, data: bytes) -> None:
        handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise

    def _trim(self) -> None:
        """Delete the least recently used entries beyond the limit; others may do the same."""
        entries = []
        with contextlib.suppress(OSError):
            for entry in os.scandir(self.folder):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    entries.append((status.st_mtime, status.st_size, entry.path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if total <= self._limit:
                return
            total -= size
            with contextlib.suppress(OSError):
                Path(path).unlink()
