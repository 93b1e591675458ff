"""What a user sees of a broken installation: ``phalanx why opencl:0`` in processes of their own.

The faults are real: pyopencl hidden or without its loader, folders of runtimes that are empty or
broken, a runtime that answers with errors, a compiler that refuses, caches that cannot be written.
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import phalanx as px
import pytest
from phalanx.device_plugins.opencl import OpenCLDriver
from plugin_kit import run_python

HERE = Path(__file__).parent
POCL = "Portable Computing Language"
EXTRA = 'pip install "phalanx[opencl]"'
Step = dict[str, str]


def phalanx(*args: str, path: Path | None = None, **env: str) -> Any:
    """Run a command with OpenCL as the only plugin; return its exit code and its JSON."""
    done = run_python("-m", "phalanx", *args, "--json", path=path, PHALANX_PLUGINS="opencl", **env)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def why(
    path: Path | None = None, name: str = "opencl:0", **env: str
) -> tuple[bool, dict[str, Step]]:
    """Return whether a device is usable, and the steps by name."""
    code, found = phalanx("why", name, path=path, **env)
    assert code == (0 if found["usable"] else 1)
    return found["usable"], {step["name"]: step for step in found["steps"]}


def library_failure(path: Path, **env: str) -> tuple[str, str]:
    """Detail and remedy of the failed step ``library``; ``phalanx doctor`` has them too."""
    usable, steps = why(path, **env)
    step = steps["library"]
    assert not usable
    assert step["status"] == "fail"
    code, report = phalanx("doctor", path=path, **env)
    assert code == 2  # there is no device at all
    warning = next(check for check in report["checks"] if check["name"] == "plugin opencl")
    assert warning["verdict"] in ("ok", "warning")
    details = [check["detail"] for check in report["checks"]]
    assert any(step["detail"] in detail for detail in details)
    return step["detail"], step["remedy"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a pyopencl of links that has neither PoCL nor, yet, its loader."""
    spec = find_spec("pyopencl")
    if spec is None or spec.origin is None:
        pytest.skip("pyopencl is not installed")
    package = Path(spec.origin).parent
    libraries = package / ".libs"
    if not list(libraries.glob("libOpenCL*")):
        pytest.skip("this pyopencl has no loader of its own to be taken away")
    made = tmp_path / "site" / "pyopencl"
    made.mkdir(parents=True)
    for entry in package.iterdir():
        if entry.name not in (".libs", "__pycache__"):
            (made / entry.name).symlink_to(entry)
    # The system's rules for $ORIGIN follow no links, so the extension module is copied.
    for extension in package.glob("_cl*.so"):
        (made / extension.name).unlink()
        (made / extension.name).write_bytes(extension.read_bytes())
    return made.parent


@pytest.fixture
def loader(site: Path) -> Path:
    """The same with its loader: no platform but those that ``OCL_ICD_VENDORS`` names."""
    package = Path(str(find_spec("pyopencl").origin)).parent  # type: ignore[union-attr]
    (site / "pyopencl" / ".libs").mkdir()
    for library in (package / ".libs").glob("libOpenCL*"):
        (site / "pyopencl" / ".libs" / library.name).symlink_to(library)
    return site


def runtime(folder: Path, fault: str) -> str:
    """Build a runtime with a fault; return the folder of its ``.icd`` file."""
    vendors = folder / "vendors"
    vendors.mkdir()
    library = folder / "libbroken.so"
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    relaxed = ["-Wno-cast-function-type", "-Wno-unused-variable", f"-D{fault}"]
    source = str(HERE / "broken_runtime.c")
    subprocess.run([*command, *relaxed, source, "-o", str(library)], check=True, timeout=60)
    (vendors / "broken.icd").write_text(f"{library}\n")
    return str(vendors)


@pytest.fixture
def empty(tmp_path: Path) -> str:
    """A folder without runtimes."""
    (tmp_path / "empty").mkdir()
    return str(tmp_path / "empty")


def test_no_pyopencl_is_no_fault(tmp_path: Path) -> None:
    absent = "raise ModuleNotFoundError(\"No module named 'pyopencl'\", name='pyopencl')\n"
    (tmp_path / "pyopencl.py").write_text(absent)
    usable, steps = why(tmp_path)
    assert not usable
    assert (steps["library"]["status"], steps["device"]["status"]) == ("absent", "unknown")
    assert steps["library"]["detail"] == "pyopencl is not installed"
    assert EXTRA in steps["library"]["remedy"]
    done = run_python("-m", "phalanx", "doctor", path=tmp_path, PHALANX_PLUGINS="cpu,opencl")
    assert done.returncode == 0, done.stdout
    assert "--  plugin opencl" in done.stdout
    code = "import phalanx as px\npx.asarray([1.0], device='opencl:0')"
    done = run_python("-c", code, path=tmp_path)
    assert "no device 'opencl:0'" in done.stderr
    assert EXTRA in done.stderr


def test_a_pyopencl_that_does_not_import(tmp_path: Path) -> None:
    (tmp_path / "pyopencl.py").write_text("raise ImportError('numpy has another ABI')\n")
    detail, remedy = library_failure(tmp_path)
    assert "pyopencl does not import (numpy has another ABI)" in detail
    assert "reinstall" in remedy
    assert EXTRA in remedy


def test_no_loader(site: Path) -> None:
    detail, remedy = library_failure(site)
    assert "there is no OpenCL loader (libOpenCL" in detail
    assert "ocl-icd-libopencl1" in remedy


def test_a_loader_without_a_platform(loader: Path, empty: str) -> None:
    detail, remedy = library_failure(loader, OCL_ICD_VENDORS=empty)
    assert "the OpenCL loader finds no platform" in detail
    assert EXTRA in remedy


def test_a_runtime_that_does_not_load_is_named(loader: Path, empty: str) -> None:
    Path(empty, "wrong.icd").write_text("/nowhere/libwrong.so\n")
    detail, _ = library_failure(loader, OCL_ICD_VENDORS=empty)
    assert "wrong.icd does not load (/nowhere/libwrong.so: cannot open" in detail


def test_a_platform_without_a_device(loader: Path, tmp_path: Path) -> None:
    vendors = runtime(tmp_path, "NO_DEVICE")
    detail, remedy = library_failure(loader, OCL_ICD_VENDORS=vendors)
    assert "platform Broken Runtime has no device" in detail
    assert EXTRA in remedy


def test_a_platform_that_fails_to_list(loader: Path, tmp_path: Path) -> None:
    vendors = runtime(tmp_path, "LIST_FAILS")
    detail, _ = library_failure(loader, OCL_ICD_VENDORS=vendors)
    assert "platform Broken Runtime fails to list its devices" in detail
    assert "OUT_OF_HOST_MEMORY" in detail


def test_a_runtime_that_makes_no_context(loader: Path, tmp_path: Path) -> None:
    vendors = runtime(tmp_path, "CONTEXT_FAILS")
    usable, steps = why(loader, OCL_ICD_VENDORS=vendors)
    step = steps["capability"]
    assert not usable
    assert "opencl:0 (Broken Device (Broken Runtime)) cannot be opened" in step["detail"]
    assert "clCreateContext failed with CL_OUT_OF_HOST_MEMORY" in step["detail"]
    assert "reinstall its runtime" in step["remedy"]
    code, report = phalanx("doctor", path=loader, OCL_ICD_VENDORS=vendors)
    assert code == 2
    verdicts = {check["name"]: check["verdict"] for check in report["checks"]}
    assert verdicts["device opencl:0"] == "critical"


@pytest.mark.parametrize("fault", ["LIST_FAILS", "no library"])
def test_two_runtimes_of_which_one_is_broken(
    device: px.Device, tmp_path: Path, fault: str, empty: str
) -> None:
    if POCL not in str(px.why("opencl:0")):
        pytest.skip("PoCL is not installed as the second runtime")
    if fault == "no library":
        Path(empty, "wrong.icd").write_text("/nowhere/libwrong.so\n")
        vendors, named = empty, "wrong.icd does not load"
    else:
        vendors, named = runtime(tmp_path, fault), "platform Broken Runtime fails"
    usable, steps = why(OCL_ICD_VENDORS=vendors)
    library = steps["library"]
    assert usable
    assert library["status"] == "ok"
    assert POCL in library["detail"]
    assert named in library["detail"]
    assert "reinstall or remove that runtime" in library["remedy"]
    code, report = phalanx("doctor", "--level", "short", OCL_ICD_VENDORS=vendors)
    assert code == 1
    checks = {check["name"]: check for check in report["checks"]}
    assert checks["device opencl:0"]["verdict"] == "ok"
    warnings = [c["detail"] for c in report["checks"] if c["verdict"] == "warning"]
    assert len(warnings) == 1
    assert named in warnings[0]


def test_a_compiler_that_refuses(device: px.Device, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "from phalanx.device_code import source\n"
        "source.scalar_header = lambda name: 'this is no OpenCL C\\n'\n"
    )
    cache = str(tmp_path / "cache")
    usable, steps = why(tmp_path, device.name, PHALANX_CACHE_DIR=cache)
    step = steps["capability"]
    assert not usable
    assert f"on {device.name} does not compile:" in step["detail"]
    assert "update the compiler" in step["remedy"]
    code = (
        "import phalanx as px\n"
        f"x = px.asarray([1.0], device='{device.name}')\n"
        "try: px.exp(x)\n"
        "except px.CompileError as error: print(error, error.log, error.source)\n"
    )
    done = run_python("-c", code, path=tmp_path, PHALANX_CACHE_DIR=cache)
    assert done.returncode == 0, done.stderr
    assert "this is no OpenCL C" in done.stdout
    assert "exp(float64, float64) on" in done.stdout


COMPUTE = "import phalanx as px\nprint(px.exp(px.zeros(3, device='{device}')))\n"


def test_a_cache_that_cannot_be_written(
    device: px.Device, driver: OpenCLDriver, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = str(tmp_path / "file" / "cache")
    usable, steps = why(PHALANX_CACHE_DIR=cache)
    assert usable
    assert "compiled programs are not kept" in steps["library"]["detail"]
    assert "PHALANX_CACHE_DIR" in steps["library"]["remedy"]
    code = COMPUTE.format(device=device.name)
    done = run_python("-c", code, PHALANX_CACHE_DIR=cache, PHALANX_LOG="warning")
    assert done.stdout == "[1. 1. 1.]\n"
    told = int(device.ensure_open().programs.on_disk)
    assert done.stderr.count("compiled programs are not kept") == told


def test_a_corrupt_cache(device: px.Device, driver: OpenCLDriver, tmp_path: Path) -> None:
    if not device.ensure_open().programs.on_disk:
        pytest.skip("the runtime keeps its programs itself")
    code = COMPUTE.format(device=device.name)
    env = {"PHALANX_CACHE_DIR": str(tmp_path), "PHALANX_LOG": "warning"}
    assert run_python("-c", code, **env).stdout == "[1. 1. 1.]\n"
    entries = list(tmp_path.glob("opencl/*.bin"))
    assert entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-40] + bytes(40))
    done = run_python("-c", code, **env)
    assert done.stdout == "[1. 1. 1.]\n"
    assert "is corrupt; it is compiled anew" in done.stderr
    done = run_python("-c", code, **env)
    assert (done.stdout, done.stderr) == ("[1. 1. 1.]\n", "")


def test_more_memory_than_there_is(device: px.Device) -> None:
    size = device.info.max_allocation + 2**20
    with pytest.raises(px.OutOfMemoryError, match=f"{device.name} .*cannot allocate"):
        px.empty(size, dtype=px.uint8)
    assert px.asnumpy(px.ones(3)).tolist() == [1.0] * 3
