"""Files: what is saved comes back, others read it, and a failure leaves the old file."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import phalanx as px
import pytest
import safetensors.numpy
from phalanx.optable import ALL

NUMPY = [name for name in ALL if name != "bfloat16"]
TENSORS = [name for name in ALL if name != "complex128"]


def some(name: str) -> px.Array:
    """Six elements that do not lie in C order."""
    return px.astype(px.reshape(px.arange(6), (2, 3)), getattr(px, name)).T


def same(x: px.Array, y: px.Array) -> bool:
    """Whether two arrays have the same dtype, shape and bits."""
    return (x.dtype, x.shape) == (y.dtype, y.shape) and (
        px.asnumpy(x).tobytes() == px.asnumpy(y).tobytes()
    )


class TestNpy:
    @pytest.mark.parametrize("name", NUMPY)
    def test_what_is_saved_is_loaded(self, device: px.Device, tmp_path: Path, name: str) -> None:
        for i, x in enumerate((some(name), some(name)[0, 0], some(name)[:0], some(name)[::2])):
            px.save(tmp_path / f"{i}.npy", x)
            found = px.load(tmp_path / f"{i}.npy")
            assert isinstance(found, px.Array)
            assert found.device is device
            assert same(found, x)
            assert np.array_equal(np.load(tmp_path / f"{i}.npy"), px.asnumpy(x))

    def test_the_suffix_is_appended(self, device: px.Device, tmp_path: Path) -> None:
        for name in ("x", "x.npy", "x.y"):
            px.save(str(tmp_path / name), px.ones(2))
        assert sorted(os.listdir(tmp_path)) == ["x.npy", "x.y.npy"]

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("dtype", ["<f8", ">f8", ">c16", "<u2", ">i4", "|b1"])
    def test_numpys_files(self, device: px.Device, tmp_path: Path, dtype: str, order: str) -> None:
        data = np.asarray(np.arange(6).reshape(2, 3), dtype=dtype, order=order)  # type: ignore[call-overload]
        np.save(tmp_path / "x.npy", data)
        assert np.array_equal(px.asnumpy(px.load(tmp_path / "x.npy")), data)
        with (tmp_path / "x.npy").open("rb") as file:
            assert np.array_equal(px.asnumpy(px.load(file)), data)

    def test_arrays_one_after_the_other_in_one_file(self, device: px.Device) -> None:
        file = io.BytesIO()
        px.save(file, px.arange(3))
        px.save(file, px.ones((2, 2)))
        file.seek(0)
        assert same(px.load(file), px.arange(3))
        assert same(px.load(file), px.ones((2, 2)))
        with pytest.raises(ValueError, match="the file is empty, or at its end"):
            px.load(file)

    def test_folders_are_no_files(self, device: px.Device, tmp_path: Path) -> None:
        for path in (f"{tmp_path}/", f"{tmp_path}/..", "."):
            with pytest.raises(IsADirectoryError):
                px.save(path, px.ones(1))
        assert os.listdir(tmp_path) == []

    def test_the_device_is_asked_for(self, device: px.Device, tmp_path: Path) -> None:
        px.save(tmp_path / "x.npy", px.arange(3))
        assert px.load(tmp_path / "x.npy", device="fakehost:0").device == "fakehost:0"
        with pytest.raises(px.DeviceNotFoundError):
            px.load(tmp_path / "x.npy", device="none:0")

    def test_pages_of_a_file_as_memory(self, drivers: object, tmp_path: Path) -> None:
        path = tmp_path / "x.npy"
        for order in ("C", "F"):
            np.save(path, np.asarray(np.arange(6.0).reshape(2, 3), order=order))  # type: ignore[call-overload]
            read, private, shared = (
                px.load(path, mode, device="fakehost:0") for mode in ("r", "c", "r+")
            )
            private[0, 0] = 7.0
            assert (float(read[0, 0]), float(private[0, 0])) == (0.0, 7.0)
            shared[1, 2] = 9.0
            assert float(read[1, 2]) == 9.0
            assert np.load(path)[1, 2] == 9.0
            with pytest.raises(ValueError, match="read-only"):
                read[0, 0] = 1.0

    def test_memory_that_the_device_does_not_share(self, drivers: object, tmp_path: Path) -> None:
        px.save(tmp_path / "x.npy", px.arange(3, device="fake:0"))
        with pytest.raises(ValueError, match="without mmap_mode the file's pages are copied"):
            px.load(tmp_path / "x.npy", "r", device="fake:0")

    def test_bfloat16_is_sent_elsewhere(self, device: px.Device, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match="bfloat16, which NumPy's format does not have; use"):
            px.save(tmp_path / "x", some("bfloat16"))
        with pytest.raises(TypeError, match="arr_0 is of bfloat16"):
            px.savez(tmp_path / "x", some("bfloat16"))
        assert os.listdir(tmp_path) == []


class TestNpz:
    @pytest.mark.parametrize("save", [px.savez, px.savez_compressed])
    def test_what_is_saved_is_loaded(
        self, device: px.Device, tmp_path: Path, save: Callable[..., None]
    ) -> None:
        arrays = {name: some(name) for name in NUMPY}
        save(tmp_path / "x", px.zeros(()), px.ones((0, 3)), **arrays)
        with px.load(tmp_path / "x.npz") as found:
            assert found.files == [*NUMPY, "arr_0", "arr_1"]
            assert all(same(found[name], x) for name, x in arrays.items())
            assert found["arr_0"].shape == ()
            assert found["arr_1"].shape == (0, 3)
            assert len(found) == len(arrays) + 2
        theirs = np.load(tmp_path / "x.npz")
        assert all(np.array_equal(theirs[n], px.asnumpy(x)) for n, x in arrays.items())
        with pytest.raises(ValueError, match=r"x\.npz is closed; read its arrays before"):
            found["int8"]

    def test_numpys_archives(self, device: px.Device, tmp_path: Path) -> None:
        np.savez_compressed(tmp_path / "x.npz", np.arange(3), b=np.ones((2, 2), order="F"))
        with (tmp_path / "x.npz").open("rb") as file:
            found = dict(px.load(file))
        assert same(found["arr_0"], px.arange(3))
        assert same(found["b"], px.ones((2, 2)))

    def test_a_name_that_is_not_there(self, device: px.Device, tmp_path: Path) -> None:
        px.savez(tmp_path / "x", a=px.ones(1), b=px.ones(1))
        with (
            px.load(tmp_path / "x.npz") as found,
            pytest.raises(KeyError, match=r"c; x\.npz has a, b"),
        ):
            found["c"]

    def test_names_that_collide(self, device: px.Device, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="arr_0 is the name of operand 0"):
            px.savez(tmp_path / "x", px.ones(1), arr_0=px.ones(1))

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("a\0b", r"'a\\x00b' has a NUL"),
            ("\ud800", r"'\\ud800' is no name for UTF-8"),
            (32766 * "é", "is of 65536 bytes; zip archives have 65535 at most"),
        ],
    )
    def test_names_that_no_zip_archive_has(
        self, device: px.Device, tmp_path: Path, name: str, message: str
    ) -> None:
        file = io.BytesIO()
        for place in (tmp_path / "x", file):
            with pytest.raises(ValueError, match=message):
                px.savez(place, **{"first": px.ones(1), name: px.ones(1)})
        assert os.listdir(tmp_path) == []
        assert file.getvalue() == b""

    def test_the_longest_name(self, device: px.Device, tmp_path: Path) -> None:
        name = 65531 * "a"
        px.savez(tmp_path / "x", **{name: px.ones(1)})
        assert px.load(tmp_path / "x.npz").files == [name]  # type: ignore[union-attr]

    def test_every_bit_of_an_array_is_checked(self, device: px.Device, tmp_path: Path) -> None:
        path = tmp_path / "x.npz"
        px.savez(path, px.arange(4))
        data = path.read_bytes()
        start = data.index(px.asnumpy(px.arange(4)).tobytes())
        for place in range(start, start + 32):
            changed = bytearray(data)
            changed[place] ^= 1
            with px.load(io.BytesIO(changed)) as found, pytest.raises(ValueError, match="CRC"):
                found["arr_0"]

    def test_archives_of_others(self, device: px.Device, tmp_path: Path) -> None:
        import zipfile

        with zipfile.ZipFile(tmp_path / "model.pt", "w") as archive:
            archive.writestr("data.pkl", b"\x80")
        with pytest.raises(ValueError, match="a zip archive without arrays; files of PyTorch"):
            px.load(tmp_path / "model.pt")


class TestSafetensors:
    @pytest.mark.parametrize("name", TENSORS)
    def test_what_is_saved_is_loaded(self, device: px.Device, tmp_path: Path, name: str) -> None:
        arrays = {"b": some(name), "a": some(name)[0, 0], "none": some(name)[:0]}
        px.save_safetensors(tmp_path / "x", arrays, metadata={"made": "here"})
        found = px.load(tmp_path / "x.safetensors")
        assert isinstance(found, dict)
        assert set(found) == set(arrays)
        assert all(same(found[key], x) for key, x in arrays.items())
        file = io.BytesIO((tmp_path / "x.safetensors").read_bytes())
        assert all(same(x, arrays[key]) for key, x in px.load_safetensors(file).items())

    def test_they_are_known_by_how_they_begin(self, device: px.Device, tmp_path: Path) -> None:
        px.save_safetensors(tmp_path / "x", {"a": px.arange(3)})
        path = (tmp_path / "x.safetensors").rename(tmp_path / "model.bin")
        assert same(px.load(path)["a"], px.arange(3))
        with path.open("rb") as file:
            assert same(px.load(file)["a"], px.arange(3))
        with path.open("rb") as file, pytest.raises(ValueError, match=r"model\.bin is none"):
            px.load(file, "r")

    def test_shapes_that_no_array_has(self, device: px.Device, tmp_path: Path) -> None:
        for shape in ([0, 2**62, 4], 65 * [1]):
            spec = {"dtype": "U8", "shape": shape, "data_offsets": [0, math.prod(shape)]}
            text = json.dumps({"a": spec}).encode()
            data = len(text).to_bytes(8, "little") + text + bytes(math.prod(shape))
            (tmp_path / "x.safetensors").write_bytes(data)
            with pytest.raises(ValueError, match=r"x\.safetensors is not sound: a: "):
                px.load(tmp_path / "x.safetensors")
            with pytest.raises(ValueError, match="the file is not sound: a: "):
                px.load(io.BytesIO(data))

    def test_the_package_reads_and_writes_them(self, device: px.Device, tmp_path: Path) -> None:
        path = tmp_path / "x.safetensors"
        px.save_safetensors(path, {"x": some("bfloat16"), "y": some("float32")})
        theirs = safetensors.numpy.load_file(path)
        assert theirs["x"].dtype == ml_dtypes.bfloat16
        assert np.array_equal(theirs["x"], px.asnumpy(some("bfloat16")))
        assert np.array_equal(theirs["y"], px.asnumpy(some("float32")))
        safetensors.numpy.save_file({"z": np.arange(6).reshape(2, 3)}, path)
        assert same(px.load(path)["z"], px.reshape(px.arange(6), (2, 3)))
        file = io.BytesIO()
        px.save_safetensors(file, {"x": some("int16")})
        assert np.array_equal(
            safetensors.numpy.load(file.getvalue())["x"], px.asnumpy(some("int16"))
        )

    def test_what_the_format_does_not_have(self, device: px.Device, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match=r"w is of complex128.*use phalanx\.savez"):
            px.save_safetensors(tmp_path / "x", {"w": some("complex128")})
        with pytest.raises(TypeError, match="names and metadata are str, got 1"):
            px.save_safetensors(tmp_path / "x", {1: px.ones(1)})  # type: ignore[dict-item]
        with pytest.raises(TypeError, match="takes a dict of arrays by name, got Array"):
            px.save_safetensors(tmp_path / "x", px.ones(1))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="w is a int, not a phalanx array"):
            px.save_safetensors(tmp_path / "x", {"w": 1})  # type: ignore[dict-item]
        assert os.listdir(tmp_path) == []

    def test_dtypes_of_others(self, device: px.Device, tmp_path: Path) -> None:
        small = np.ones(4, ml_dtypes.float8_e4m3fn)
        safetensors.numpy.save_file({"w": small}, tmp_path / "x.safetensors")
        with pytest.raises(TypeError, match="w is of F8_E4M3, which Phalanx does not have"):
            px.load(tmp_path / "x.safetensors")

    def test_without_the_package(
        self, device: px.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "safetensors", None)
        with pytest.raises(ImportError, match=r'pip install "phalanx\[safetensors\]"'):
            px.save_safetensors(tmp_path / "x", {})


def save_as(suffix: str, file: Any, x: px.Array) -> None:
    """Save an array in a format, under the name ``arr_0`` where it has one."""
    if suffix == "safetensors":
        px.save_safetensors(file, {"arr_0": x})
    else:
        {"npy": px.save, "npz": px.savez}[suffix](file, x)


_FULL = """
import resource, signal, sys
sys.dont_write_bytecode = True  # it would be cut short, too
import phalanx as px
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
x = px.ones(10_000, device="cpu:0")
save = {
    "npy": px.save, "npz": px.savez, "safetensors": lambda f, x: px.save_safetensors(f, {"x": x})
}[sys.argv[2]]
try:
    save(sys.argv[1], x)
except OSError as error:
    print("OSError", error)
"""


class TestFaults:
    @pytest.mark.needs_cpu
    @pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
    def test_a_disk_that_is_full_leaves_the_old_file(self, tmp_path: Path, suffix: str) -> None:
        path = tmp_path / f"x.{suffix}"
        path.write_bytes(b"old")
        command = [sys.executable, "-c", _FULL, str(path), suffix]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout.startswith("OSError")
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == [path.name]

    def test_an_error_half_way_leaves_the_old_file(
        self, device: px.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from phalanx.files import npz

        path = tmp_path / "x.npz"
        px.savez(path, px.ones(3))
        before = path.read_bytes()

        def fail(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(npz, "write", fail)
        with pytest.raises(KeyboardInterrupt):
            px.savez(path, px.zeros(3))
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["x.npz"]

    def test_a_file_keeps_its_mode_and_a_link_stays_one(
        self, device: px.Device, tmp_path: Path
    ) -> None:
        path, link = tmp_path / "x.npy", tmp_path / "link.npy"
        px.save(path, px.ones(1))
        path.chmod(0o640)
        link.symlink_to(path)
        px.save(link, px.ones(2))
        assert link.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o640
        assert px.load(path).shape == (2,)

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
    @pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
    def test_a_private_file_is_so_while_it_is_written(
        self, device: px.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
    ) -> None:
        path, real, seen = tmp_path / f"x.{suffix}", os.fsync, []

        def look(handle: int) -> None:
            found = os.fstat(handle)
            seen.append((found.st_mode & 0o777, found.st_ino, found.st_size))
            real(handle)

        monkeypatch.setattr(os, "fsync", look)
        old = os.umask(0o022)
        try:
            save_as(suffix, path, px.ones(1))
            assert path.stat().st_mode & 0o777 == 0o644
            path.chmod(0o600)
            save_as(suffix, path, px.ones(2))
        finally:
            os.umask(old)
        after = path.stat()
        assert seen[1] == (0o600, after.st_ino, after.st_size)
        assert after.st_mode & 0o777 == 0o600

    def test_what_is_no_regular_file_is_written_at_once(
        self, device: px.Device, tmp_path: Path
    ) -> None:
        (tmp_path / "x.npy").symlink_to("/dev/full")
        with io.FileIO("/dev/full", "w") as file, pytest.raises(OSError, match="No space left"):
            px.save(file, px.ones(10_000))
        with pytest.raises(OSError, match="No space left"):
            px.save(tmp_path / "x.npy", px.ones(10_000))
        assert (tmp_path / "x.npy").is_char_device()

    def test_a_folder_that_is_not_there(self, device: px.Device, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"nowhere/x\.npy"):
            px.save(tmp_path / "nowhere" / "x", px.ones(1))
        with pytest.raises(FileNotFoundError, match=r"x\.npy"):
            px.load(tmp_path / "x.npy")

    def test_what_is_no_file_and_no_array(self, device: px.Device, tmp_path: Path) -> None:
        with pytest.raises(TypeError, match=r"load takes a path or a file.*, got int"):
            px.load(3)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"save takes a path or a file.*, got list"):
            px.save([], px.ones(1))  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"is a list, not a phalanx array; write phalanx\.asa"):
            px.save(tmp_path / "x", [1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"open for bytes, got StringIO"):
            px.save(io.StringIO(), px.ones(1))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match='mmap_mode is "r", "r\\+" or "c", got \'w\''):
            px.load(tmp_path / "x", "w")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("data", "error", "message"),
        [
            (b"", ValueError, "x is empty, or at its end"),
            (b"\x80\x04K\x01.", ValueError, "a pickle, which is never loaded, for that can run"),
            (b"hello", ValueError, r"x is neither \.npy, \.npz nor \.safetensors"),
            (b"\x93NUMPY\x01\x00v\x00{'", ValueError, r"x is no sound \.npy file"),
            (b"\x93NUMPY\x09\x00v\x00{'", ValueError, r"no sound \.npy file: .*9, 0"),
            (b"PK\x03\x04", ValueError, r"x is no sound \.npz file"),
        ],
    )
    def test_files_that_are_none(
        self,
        device: px.Device,
        tmp_path: Path,
        data: bytes,
        error: type[Exception],
        message: str,
    ) -> None:
        (tmp_path / "x").write_bytes(data)
        with pytest.raises(error, match=message):
            px.load(tmp_path / "x")
        with pytest.raises(error, match=message.replace("x is", "the file is")):
            px.load(io.BytesIO(data))

    @pytest.mark.parametrize(
        ("header", "message"),
        [
            ("'<f8', 'fortran_order': False, 'shape': (1000000000000,)", "is cut short: 8000"),
            (f"'<f8', 'fortran_order': False, 'shape': ({2**45},)", "is cut short: 2814"),
            ("'<f8', 'fortran_order': False, 'shape': (-1,)", "is negative"),
            ("'<f8', 'fortran_order': False, 'shape': (True,)", "no sound .*no integer"),
            (f"'<f8', 'fortran_order': False, 'shape': ({2**62},)", "no sound .* can have"),
            (f"'<f8', 'fortran_order': False, 'shape': (0, {2**80})", "no sound .* can have"),
            (f"'<f8', 'fortran_order': False, 'shape': (0, {2**58}, 2)", "no sound .* can have"),
            (f"'<f8', 'fortran_order': False, 'shape': {(1,) * 65}", "no sound .*: 65 axes"),
            ("'<f8', 'fortran_order': False, 'shape': ((((((", "no sound"),
            ("'<f8', 'fortran_order': False, 'shape': (1,), 'more': 1", "no sound"),
            ("'<f8', 'fortran_order': 1, 'shape': (1,)", "no sound"),
            ("__import__('os'), 'fortran_order': False, 'shape': (1,)", "no sound"),
            ("'<f8', 'fortran_order': False, 'shape': " + 200 * "(", "no sound"),
        ],
    )
    def test_headers_that_were_forged(
        self, device: px.Device, tmp_path: Path, header: str, message: str
    ) -> None:
        text = f"{{'descr': {header}}}\n".encode()
        data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)
        (tmp_path / "x.npy").write_bytes(data)
        with (tmp_path / "x.npy").open("rb") as opened:
            for file in (tmp_path / "x.npy", opened, io.BytesIO(data)):
                with pytest.raises(ValueError, match=message):
                    px.load(file)

    def test_objects_and_other_dtypes(self, device: px.Device, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.array([{}], dtype=object), allow_pickle=True)
        with pytest.raises(TypeError, match="Python objects; they are never loaded"):
            px.load(tmp_path / "x.npy")
        np.save(tmp_path / "x.npy", np.array(["a"]))
        with pytest.raises(TypeError, match=r"NumPy's dtype <U1, which .*numpy\.load"):
            px.load(tmp_path / "x.npy")

    @pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
    def test_every_cut_of_a_file_is_told(
        self, device: px.Device, tmp_path: Path, suffix: str
    ) -> None:
        path = tmp_path / f"x.{suffix}"
        save_as(suffix, path, px.arange(4))
        data = path.read_bytes()
        for length in range(len(data)):
            path.write_bytes(data[:length])
            with pytest.raises(ValueError, match="x"):
                px.load(path)["arr_0"]  # type: ignore[call-overload, index]
