"""Open files that read and write all that they are asked for."""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import IO, Any

#: Bytes that are asked for at once where it is not sure that the file has more: a file may
#: announce anything, and memory is taken before it is read.
_PIECE = 1 << 26
#: Files of which it costs nothing to find the end; others may have to unpack all that they hold.
_PLAIN = (io.BytesIO, io.FileIO, io.BufferedReader, io.BufferedRandom)


class Whole:
    """An open file of which ``read`` and ``write`` go on where the file itself does less.

    Raw files do so: those of Linux take and give less than 2 GiB at once.
    """

    def __init__(self, file: IO[bytes]) -> None:
        """Wrap a file, which stays the caller's to close."""
        self._file: Any = file

    def __getattr__(self, name: str) -> Any:
        """Leave all else to the file."""
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        """Read so many bytes, or fewer if the file ends before; all that is left without a size."""
        sure = size <= _PIECE or (self.rest() or 0) >= size
        pieces, left = [], size
        while left:
            piece = self._file.read(left if sure else min(left, _PIECE))
            if not piece:
                break
            pieces.append(piece)
            left = max(left - len(piece), 0) if size > 0 else left
        return b"".join(pieces)  # no copy if it is one

    def write(self, data: bytes | memoryview) -> int:
        """Write all bytes.

        Raises:
            OSError: the file takes no more.
        """
        whole, done = memoryview(data).cast("B"), 0
        while done < len(whole):
            count = self._file.write(whole[done:] if done else data)
            if count is None and not isinstance(self._file, io.RawIOBase):
                break  # it does not count
            if count is None:
                raise BlockingIOError(errno.EAGAIN, "the file would block", done)
            if count <= 0:
                raise OSError(f"{name_of(self._file)} took {done} of {len(whole)} bytes")
            done += count
        return len(whole)

    def rest(self) -> int | None:
        """Return how many bytes there are up to the end, ``None`` where only reading tells."""
        if not isinstance(self._file, _PLAIN) or not self._file.seekable():
            return None
        here = self._file.tell()
        end = self._file.seek(0, io.SEEK_END)
        self._file.seek(here)
        return end - here


def name_of(file: IO[bytes] | Whole) -> str:
    """Return what messages call an open file."""
    return Path(str(getattr(file, "name", "the file"))).name
