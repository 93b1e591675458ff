"""Install two OpenCL runtimes, PoCL and Intel's for CPUs, into the environment of this Python.

    .venv/bin/python tests/opencl/set_up_runtimes.py FOLDER

FOLDER becomes what ``OCL_ICD_VENDORS`` is to name: the ``.icd`` files of the machine, and one for
Intel's runtime, whose own file names a place that does not exist. PoCL's is in pyopencl's wheel.
What cannot be installed is told and is no error: the tests on that runtime are then left out.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INTEL = ["intel-opencl-rt", "intel-cmplr-lib-rt"]
INTEL_LIBRARY = Path(sys.prefix, "lib", "libintelocl.so")


def missing(requirements: list[str]) -> list[str]:
    """Return the requirements whose distribution is not installed at all."""
    names = [r.partition("[")[0].partition(">")[0] for r in requirements]
    found = {d.name.lower() for d in metadata.distributions()}
    return [r for r, name in zip(requirements, names, strict=True) if name not in found]


def install(what: str, requirements: list[str]) -> None:
    """Install what is missing; tell where that fails."""
    absent = missing(requirements)
    if not absent:
        return
    print(f"installing {what}: {', '.join(absent)}", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--retries", "1"]
    if subprocess.run([*command, *absent], check=False).returncode:
        print(f"{what} cannot be installed (above is why): its tests are left out", flush=True)


def merge(target: Path) -> None:
    """Write the machine's ``.icd`` files and Intel's into a folder anew."""
    source = Path(os.environ.get("OCL_ICD_VENDORS") or "/etc/OpenCL/vendors")
    files = [source] if source.is_file() else sorted(source.glob("*.icd"))
    texts = {file.name: file.read_text("utf-8") for file in files}
    if INTEL_LIBRARY.exists():
        texts["intel-of-environment.icd"] = f"{INTEL_LIBRARY}\n"
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.icd"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (target / name).write_text(text, "utf-8")


def main() -> None:
    """Install and merge."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pocl = [*extras["optional-dependencies"]["opencl"], "pocl-binary-distribution"]
    install("pyopencl with PoCL", pocl)
    if sys.platform == "linux" and platform.machine() == "x86_64":
        install("Intel's OpenCL runtime", INTEL)
    else:
        print("Intel's OpenCL runtime is for Linux on x86-64: its tests are left out", flush=True)
    merge(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
