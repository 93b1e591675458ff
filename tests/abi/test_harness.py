"""The harness in C: it runs plugins without Python, and the sanitizers see what they do wrong."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from cli.kit import parsed, phalanx
from phalanx.abi.build import HEADER
from phalanx.abi.harness import SOURCE, commands, write
from phalanx.device_plugins.cpu import best_library
from plugin_kit import build_acme

SIMCHIP = Path(__file__).parents[2] / "examples" / "plugins" / "simchip"


def load() -> ModuleType:
    place = Path(__file__).parents[1] / "sanitize" / "build.py"
    spec = importlib.util.spec_from_file_location("harness_sanitize_build", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sanitize = load()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("harness")


@pytest.fixture(scope="module")
def plain(folder: Path) -> Path:
    program: Path = sanitize.build_harness("", folder)
    return program


def acme(folder: Path, defines: str, sanitizer: str = "") -> Path:
    flags = [f"-fsanitize={sanitize.SANITIZERS[sanitizer]}", "-g"] if sanitizer else []
    return build_acme(folder, *defines.split(), flags=flags)


def test_the_cpu_passes(plain: Path) -> None:
    library = best_library().path
    done = sanitize.run(plain, library, 1, 0.5)
    assert done.returncode == 0, done.stdout
    assert "all right" in done.stdout
    launches = int(done.stdout.partition(" launches")[0].rpartition(" ")[2])
    handed = int(done.stdout.partition(" blocks")[0].rpartition(" ")[2])
    assert launches > 100
    assert handed > 4


@pytest.mark.parametrize("defines", ["", "RICH"])
def test_a_stranger_passes(plain: Path, tmp_path: Path, defines: str) -> None:
    done = sanitize.run(plain, acme(tmp_path, defines), 1, 0.2)
    assert done.returncode == 0, done.stdout
    found = "4 kernels" if defines else "3 kernels"  # one of them is found on demand
    assert f"Acme Model T, {found} to launch" in done.stdout


@pytest.mark.parametrize(
    ("defines", "problem"),
    [
        ("FAULT_SUM", "add of type 11, layout 2: element 4098 of"),
        ("FAULT_COPY_OFFSET", "come back changed"),
        ("FAULT_LAUNCH_ERROR", "multiply: error 9: the Acme multiplier is out of"),
        ("FAULT_ALLOC_CODE", "alloc of 2^62 bytes does not return PHX_OUT_OF_MEMORY"),
        ("FAULT_NO_DESTROY", "an error without destroy"),
        ("FAULT_NO_MESSAGE", "and the text ''"),
        ("FAULT_NULL_DEVICE", "device_open gives no device and no error"),
        ("FAULT_LYING_CAPABILITY", "phx_api.capabilities is 1, and the functions are others"),
        ("FAULT_NEWER_MAJOR", "built for ABI 2"),
        ("FAULT_NO_ALLOC", "function 8 of tier sync is null"),
        ("FAULT_SCORE", "it cannot run on this machine"),
        ("RICH FAULT_STREAM_BUSY", "a stream that was waited for is not idle"),
    ],
)
def test_a_fault_is_told(plain: Path, tmp_path: Path, defines: str, problem: str) -> None:
    done = sanitize.run(plain, acme(tmp_path, defines), 1, 0.3)
    assert done.returncode == 1, done.stdout
    assert problem in done.stdout


@pytest.mark.parametrize(
    ("sanitizer", "defines", "words"),
    [
        ("address", "RICH", ""),
        ("address", "FAULT_LEAK", "LeakSanitizer: detected memory leaks"),
        ("address", "FAULT_COPY_READ", "heap-buffer-overflow"),
        ("thread", "RICH", ""),
        ("thread", "RICH FAULT_RACE", "data race"),
        ("valgrind", "", ""),
        ("valgrind", "FAULT_LEAK", "definitely lost"),
    ],
)
def test_under_a_sanitizer(
    folder: Path, tmp_path: Path, sanitizer: str, defines: str, words: str
) -> None:
    if sanitizer == "valgrind":
        if shutil.which("valgrind") is None:
            pytest.skip("valgrind is not installed")
    elif why := sanitize.missing(sanitizer, tmp_path):
        pytest.skip(f"the compiler has no {sanitizer} sanitizer: {why}")
    library = acme(tmp_path, defines, "" if sanitizer == "valgrind" else sanitizer)
    done = sanitize.run_harness(sanitizer, library, folder, 1, 0.3)
    if words:
        assert done.returncode == 66, done.stdout
        assert words in done.stdout
    else:
        assert done.returncode == 0, done.stdout
        assert "all right" in done.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize("sanitizer", ["address", "thread", "valgrind"])
def test_the_cpu_under_a_sanitizer(folder: Path, tmp_path: Path, sanitizer: str) -> None:
    if sanitizer == "valgrind" and shutil.which("valgrind") is None:
        pytest.skip("valgrind is not installed")
    library = sanitize.build_library("" if sanitizer == "valgrind" else sanitizer, tmp_path)
    done = sanitize.run_harness(sanitizer, library, folder, 1, 1.0)
    assert done.returncode == 0, done.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize("sanitizer", sanitize.SANITIZERS)
def test_the_reference_accelerator(folder: Path, tmp_path: Path, sanitizer: str) -> None:
    """``examples/plugins/simchip``: asynchronous queues, memory behind tokens."""
    if why := sanitize.missing(sanitizer, tmp_path):
        pytest.skip(f"the compiler has no {sanitizer} sanitizer: {why}")
    sources = sorted((SIMCHIP / "src" / "simchip").glob("*.c"))
    library = tmp_path / "libsimchip.so"
    flags = [f"-fsanitize={sanitize.SANITIZERS[sanitizer]}", "-std=gnu11", "-fwrapv"]
    flags += ["-D_GNU_SOURCE", '-DSIMCHIP_VERSION="1.0"', f"-I{HEADER.parent}"]
    sanitize.compile_c([*flags, "-shared", "-fPIC", *map(str, sources), "-o", str(library), "-lm"])
    done = sanitize.run_harness(sanitizer, library, folder, 1, 1.0)
    assert done.returncode == 0, done.stdout


class TestCommand:
    def test_the_lines_that_are_printed_work(self, tmp_path: Path) -> None:
        library = acme(tmp_path, "")
        done = phalanx("abi-check", str(library), "--harness", str(tmp_path / "new"), "--json")
        assert done.returncode == 0, done.stderr
        told = parsed(done)
        assert [Path(file).name for file in told["files"]] == ["harness.c", "phalanx.h"]
        assert told["commands"] == commands(library)
        run = subprocess.run(
            told["commands"]["plain"],
            shell=True,
            cwd=tmp_path / "new",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=os.environ,
        )
        assert run.returncode == 0, run.stderr
        assert "all right" in run.stdout

    def test_it_is_shown_to_people(self, tmp_path: Path) -> None:
        library = acme(tmp_path, "")
        done = phalanx("abi-check", str(library), "--harness", str(tmp_path / "new"))
        assert "valgrind --error-exitcode=66" in done.stdout
        assert f"./harness {library}" in done.stdout

    def test_nothing_is_overwritten(self, tmp_path: Path) -> None:
        library = acme(tmp_path, "")
        (tmp_path / "harness.c").write_text("mine")
        done = phalanx("abi-check", str(library), "--harness", str(tmp_path))
        assert done.returncode == 2
        assert "exists with another text" in done.stderr
        assert (tmp_path / "harness.c").read_text() == "mine"
        assert not (tmp_path / "phalanx.h").exists()
        done = phalanx("abi-check", str(library), "--harness", str(tmp_path / "harness.c" / "x"))
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr

    def test_writing_twice_is_no_fault(self, tmp_path: Path) -> None:
        assert write(tmp_path) == write(tmp_path) != ()
        assert (tmp_path / "harness.c").read_text() == SOURCE.read_text()
