"""Compiled programs: in memory, on disk, shared, corrupt, not storable, wrong."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from phalanx.device_code.cache import DiskCache
from phalanx.device_code.recipe import Program
from phalanx.device_plugins.cache_folder import default_folder
from phalanx.device_plugins.opencl import OpenCLDriver
from phalanx.driver import Layout
from phalanx.errors import CompileError
from phalanx.kernels_opencl import find
from phalanx.kernels_opencl.programs import OpenCLPrograms

KEY = "0" * 64
A, B, C, D = (letter * 64 for letter in "abcd")


posix = pytest.mark.skipif(os.name != "posix", reason="no owners and modes of POSIX here")


class TestDiskCache:
    def test_gives_back_what_was_stored(self, tmp_path: Path) -> None:
        cache = DiskCache(tmp_path / "new" / "folder")
        assert cache.get(KEY) is None
        cache.put(KEY, b"binary")
        assert cache.get(KEY) == b"binary"
        assert DiskCache(cache.folder).get(KEY) == b"binary"

    @pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign"])
    def test_corrupt_entry_is_absent_and_replaced(
        self, tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        cache = DiskCache(tmp_path)
        cache.put(KEY, b"binary" * 100)
        (entry,) = tmp_path.iterdir()
        data = entry.read_bytes()
        flipped = data[:-1] + bytes([data[-1] ^ 1])
        entry.write_bytes(
            {"cut": data[:-7], "flip": flipped, "empty": b"", "foreign": b"x" * 500}[damage]
        )
        with caplog.at_level(logging.WARNING, "phalanx.programs"):
            assert cache.get(KEY) is None
        assert "corrupt" in caplog.text
        cache.put(KEY, b"other")
        assert cache.get(KEY) == b"other"

    def test_folder_that_cannot_be_written_is_told_once(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("in the way")
        cache = DiskCache(tmp_path / "file" / "cache")
        with caplog.at_level(logging.WARNING, "phalanx.programs"):
            for number in range(5):
                cache.put(f"{number}" * 64, b"binary")
                assert cache.get(f"{number}" * 64) is None
        assert [
            r for r in caplog.records if "PHALANX_CACHE_DIR" in r.getMessage()
        ] == caplog.records
        assert len(caplog.records) == 1

    def test_least_recently_used_entries_go_first(self, tmp_path: Path) -> None:
        cache = DiskCache(tmp_path, limit=1000)
        for age, key in enumerate((A, B, C)):
            cache.put(key, bytes(200))
            os.utime(tmp_path / f"{key}.bin", (1e9 + age, 1e9 + age))
        assert cache.get(A) is not None  # used again: now the youngest
        cache.put(D, bytes(300))
        assert [key for key in (A, B, C, D) if cache.get(key) is not None] == [A, C, D]
        assert sum(f.stat().st_size for f in tmp_path.iterdir()) <= 1000

    def test_entry_larger_than_the_limit_is_not_stored(self, tmp_path: Path) -> None:
        cache = DiskCache(tmp_path, limit=10)
        cache.put(KEY, bytes(11))
        assert not list(tmp_path.iterdir())

    def test_writers_leave_no_other_files(self, tmp_path: Path) -> None:
        code = (
            "import sys; from pathlib import Path\n"
            "from phalanx.device_code.cache import DiskCache\n"
            "c = DiskCache(Path(sys.argv[1]))\n"
            "for i in range(300): c.put('0' * 64, sys.argv[2].encode() * 5000)\n"
        )
        command = [sys.executable, "-c", code, str(tmp_path)]
        writers = [subprocess.Popen([*command, letter]) for letter in "ab"]
        cache, seen = DiskCache(tmp_path), set()
        while any(writer.poll() is None for writer in writers):
            seen.add(cache.get(KEY))
        assert all(writer.returncode == 0 for writer in writers)
        assert seen <= {None, b"a" * 5000, b"b" * 5000}
        assert [f.name for f in tmp_path.iterdir()] == [f"{KEY}.bin"]

    def test_files_of_others_are_never_deleted(self, tmp_path: Path) -> None:
        names = (
            "thesis.bin",
            "notes.txt",
            ".new-abcdefgh",
            f"{A}.txt",
            f"x{A}.bin",
            f"{A}.bin.old",
        )
        for name in names:
            (tmp_path / name).write_bytes(bytes(5000))
            os.utime(tmp_path / name, (1e9, 1e9))
        (tmp_path / f"{B}.bin").mkdir()
        (tmp_path / f"{C}.bin").symlink_to(tmp_path / "thesis.bin")
        left = tmp_path / f".{A}-abcdefgh.new"
        left.write_bytes(bytes(5000))
        os.utime(left, (1e9, 1e9))
        cache = DiskCache(tmp_path, limit=1000)
        cache.put(D, bytes(500))
        assert cache.get(D) == bytes(500)
        assert not left.exists(), "a writer that died left it"
        expected = {*names, f"{B}.bin", f"{C}.bin", f"{D}.bin"}
        assert {f.name for f in tmp_path.iterdir()} == expected

    @pytest.mark.parametrize("key", ["", "abc", "../" + "0" * 61, "G" * 64, A + "\n"])
    def test_keys_are_digests(self, tmp_path: Path, key: str) -> None:
        cache = DiskCache(tmp_path)
        for call in (lambda: cache.get(key), lambda: cache.put(key, b""), lambda: cache.drop(key)):
            with pytest.raises(ValueError, match="64 hexadecimal digits"):
                call()

    @posix
    def test_new_folders_are_closed_to_others(self, tmp_path: Path) -> None:
        before = os.umask(0o002)
        try:
            DiskCache(tmp_path / "new" / "folder").put(KEY, b"binary")
        finally:
            os.umask(before)
        for path in (tmp_path / "new", tmp_path / "new" / "folder"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
        (entry,) = (tmp_path / "new" / "folder").iterdir()
        assert stat.S_IMODE(entry.stat().st_mode) == 0o600

    @posix
    @pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o720])
    def test_folder_that_others_can_write_is_not_used(
        self, tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        DiskCache(tmp_path).put(KEY, b"binary")
        tmp_path.chmod(mode)
        cache = DiskCache(tmp_path)
        with caplog.at_level(logging.WARNING, "phalanx.programs"):
            for _ in range(3):
                assert cache.get(KEY) is None
                cache.put(A, b"other")
        assert [f.name for f in tmp_path.iterdir()] == [f"{KEY}.bin"]
        (record,) = caplog.records
        for part in ("can be written by others", "chmod go-w", "PHALANX_CACHE_DIR", str(tmp_path)):
            assert part in record.getMessage()

    @posix
    def test_folder_of_another_user_is_not_used(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        DiskCache(tmp_path).put(KEY, b"binary")
        status = os.stat_result((0o40700, *tmp_path.stat()[1:4], 4711, *tmp_path.stat()[5:]))
        monkeypatch.setattr(Path, "stat", lambda _self, **_: status)
        cache = DiskCache(tmp_path)
        with caplog.at_level(logging.WARNING, "phalanx.programs"):
            assert cache.get(KEY) is None
        assert "belongs to another user (number 4711)" in caplog.text

    @posix
    @pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
    def test_entry_that_others_can_write_is_replaced(
        self, tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        cache = DiskCache(tmp_path)
        cache.put(KEY, b"binary")
        (tmp_path / f"{KEY}.bin").chmod(mode)
        with caplog.at_level(logging.WARNING, "phalanx.programs"):
            assert cache.get(KEY) is None
        assert "can be written by others" in caplog.text
        cache.put(KEY, b"other")
        assert cache.get(KEY) == b"other"

    def test_folder_from_the_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PHALANX_CACHE_DIR", str(tmp_path))
        assert default_folder("opencl") == tmp_path / "opencl"
        monkeypatch.delenv("PHALANX_CACHE_DIR")
        assert "phalanx" in default_folder("opencl").parts


@pytest.fixture
def make_store(device: px.Device, driver: OpenCLDriver, tmp_path: Path) -> Any:
    """Make stores of the device's programs over one folder, as several processes would."""
    open_device = device.ensure_open()
    found = driver._listed().devices[device.index]

    def make(*identity: str) -> OpenCLPrograms:
        return OpenCLPrograms(
            open_device.cl,
            open_device.context,
            found.device,
            found.traits,
            identity or ("device",),
            DiskCache(tmp_path),
        )

    return make


def negative(device: px.Device, driver: OpenCLDriver) -> Program:
    traits = device.ensure_open().traits
    recipe = find("negative", ("float32", "float32"), Layout.CONTIGUOUS, traits)
    assert recipe is not None
    return recipe.programs[0]


class TestOpenCLPrograms:
    def test_compiled_once_then_read_from_disk(
        self, make_store: Any, device: px.Device, driver: OpenCLDriver
    ) -> None:
        program = negative(device, driver)
        first = make_store()
        assert first.build(program, "negative") is first.build(program, "negative")
        assert (first.compiled, first.loaded) == (1, 0)
        second = make_store()
        second.build(program, "negative")
        assert (second.compiled, second.loaded) == (0, 1)

    def test_other_driver_version_compiles_anew(
        self, make_store: Any, device: px.Device, driver: OpenCLDriver
    ) -> None:
        program = negative(device, driver)
        make_store("device", "driver 1").build(program, "negative")
        other = make_store("device", "driver 2")
        other.build(program, "negative")
        assert (other.compiled, other.loaded) == (1, 0)

    def test_corrupt_file_compiles_anew(
        self, make_store: Any, device: px.Device, driver: OpenCLDriver, tmp_path: Path
    ) -> None:
        program = negative(device, driver)
        make_store().build(program, "negative")
        for entry in tmp_path.iterdir():
            entry.write_bytes(entry.read_bytes()[:100])
        again = make_store()
        again.build(program, "negative")
        assert (again.compiled, again.loaded) == (1, 0)
        last = make_store()
        last.build(program, "negative")
        assert (last.compiled, last.loaded) == (0, 1)

    def test_binary_that_the_runtime_refuses_compiles_anew(
        self, make_store: Any, device: px.Device, driver: OpenCLDriver, tmp_path: Path
    ) -> None:
        program = negative(device, driver)
        make_store().build(program, "negative")
        (key,) = [entry.stem for entry in tmp_path.iterdir()]
        DiskCache(tmp_path).put(key, b"not a program of this runtime")
        again = make_store()
        again.build(program, "negative")
        assert (again.compiled, again.loaded) == (1, 0)

    def test_compile_error_has_log_and_numbered_source(self, make_store: Any) -> None:
        store = make_store()
        program = Program("__kernel void run(__global float *x) {\n    x[0] = nonsense;\n}\n")
        with pytest.raises(CompileError, match=r"run\(float32\) does not compile") as got:
            store.build(program, "run(float32)")
        assert "nonsense" in got.value.log
        numbered = [line for line in got.value.source.splitlines() if "x[0] = nonsense;" in line]
        number = int(numbered[0].split()[0])
        assert got.value.source.splitlines()[number - 1] == numbered[0]

    def test_each_first_use_costs_one_compile(self, device: px.Device, tmp_path: Path) -> None:
        code = (
            "import sys, phalanx as px\n"
            "from phalanx.discovery.plugins import host\n"
            "px.set_device(sys.argv[1])\n"
            "x = px.ones(7, dtype=px.int16)\n"
            "px.asnumpy(x)\n"
            "programs = px.get_device().ensure_open().programs\n"
            "y = px.asarray(range(70_001), dtype=px.int32)\n"
            "calls = [(px.square, x), (px.square, x), (px.negative, x), (px.square, x),\n"
            "    (px.negative, x), (px.square, y), (px.square, y)]\n"
            "for op, operand in calls:\n"
            "    before = programs.compiled\n"
            "    px.asnumpy(op(operand))\n"
            "    print(programs.compiled - before)\n"
        )
        # A process of its own with an empty cache: no test before this one has used an op.
        environment = os.environ | {"PHALANX_CACHE_DIR": str(tmp_path)}
        child = subprocess.run(
            [sys.executable, "-c", code, str(device)],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert (child.stdout.split(), child.stderr) == (["1", "0", "1", "0", "0", "1", "0"], "")
