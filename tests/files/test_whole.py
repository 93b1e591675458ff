"""Open files: those that do less than they are asked for, and such as have no end to look at."""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import phalanx as px
import pytest
from phalanx.files.whole import Whole

FORMATS = pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
PIPES = pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes")


def save_as(suffix: str, file: Any, x: px.Array) -> None:
    """Save an array in a format, under the name ``arr_0`` where it has one."""
    if suffix == "safetensors":
        px.save_safetensors(file, {"arr_0": x})
    else:
        {"npy": px.save, "npz": px.savez}[suffix](file, x)


def load_from(file: Any) -> list[int]:
    """Load what ``save_as`` saved."""
    found = px.load(file)
    numbers: list[int] = (found if isinstance(found, px.Array) else found["arr_0"]).tolist()
    return numbers


class Raw(io.RawIOBase):
    """A file that does ten bytes at once, and is full at a limit."""

    def __init__(self, data: bytes = b"", limit: int = 1 << 30) -> None:
        self.inner, self.limit = io.BytesIO(data), limit

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, place: int, whence: int = 0) -> int:
        return self.inner.seek(place, whence)

    def read(self, size: int = -1) -> bytes:
        return self.inner.read(10 if size < 0 else min(size, 10))

    def write(self, data: Any) -> int:
        room = self.limit - self.inner.tell()
        return self.inner.write(bytes(data)[: min(room, 10)])


@FORMATS
def test_raw_files_that_do_less_than_is_asked(device: px.Device, suffix: str) -> None:
    file, raw = io.BytesIO(), Raw()
    save_as(suffix, file, px.arange(40))
    save_as(suffix, raw, px.arange(40))
    for data in (file.getvalue(), raw.inner.getvalue()):
        assert load_from(Raw(data)) == list(range(40))


@FORMATS
def test_files_that_are_full(device: px.Device, suffix: str) -> None:
    file = io.BytesIO()
    save_as(suffix, file, px.arange(40))
    for limit in range(0, len(file.getvalue()), 7):
        with pytest.raises(OSError, match="the file took"):
            save_as(suffix, Raw(limit=limit), px.arange(40))


@PIPES
@FORMATS
def test_a_pipe_by_name_stays_one(device: px.Device, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x.{suffix}"
    os.mkfifo(path)
    with ThreadPoolExecutor(1) as other:
        data = other.submit(path.read_bytes)
        save_as(suffix, path, px.arange(3))
        assert load_from(io.BytesIO(data.result(60))) == [0, 1, 2]
    assert path.is_fifo()


@PIPES
@FORMATS
def test_an_open_pipe(device: px.Device, suffix: str) -> None:
    end, begin = os.pipe()
    with open(end, "rb") as reader, ThreadPoolExecutor(1) as other:
        data = other.submit(reader.read)
        with open(begin, "wb") as writer:
            save_as(suffix, writer, px.arange(3))
        assert load_from(io.BytesIO(data.result(60))) == [0, 1, 2]


def test_a_file_that_would_block() -> None:
    class Busy(Raw):
        def write(self, data: Any) -> Any:
            return None

    with pytest.raises(BlockingIOError, match="would block"):
        Whole(Busy()).write(b"ab")  # type: ignore[arg-type]


def test_a_length_that_was_forged_takes_no_memory(device: px.Device) -> None:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": (2**45,)}
    )

    class Counting(Raw):
        most = 0

        def read(self, size: int = -1) -> bytes:
            self.most = max(self.most, size)
            return super().read(size)

    raw = Counting(file.getvalue())
    with pytest.raises(ValueError, match="is cut short: 281474976710656 bytes"):
        px.load(raw)  # type: ignore[arg-type]
    assert raw.most < 2**30
