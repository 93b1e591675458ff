"""The lying plugin under AddressSanitizer: ``python tests/abi/fuzz/run.py CASES [FIRST]``.

It needs the installed package; ``make fuzz`` calls it.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from phalanx.abi.build import HEADER

HERE = Path(__file__).resolve().parent


def compiler() -> list[str]:
    """Return the command of the C compiler."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[:1]


def build(folder: Path, *flags: str) -> Path:
    """Build the lying plugin into a folder and return it."""
    out = folder / "libfuzz.so"
    command = [*compiler(), "-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *flags]
    command += ["-shared", "-fPIC", f"-I{HEADER.parent}", str(HERE / "plugin.c"), "-o", str(out)]
    subprocess.run(command, check=True, timeout=120)
    return out


def address_sanitizer() -> str:
    """Return the runtime library of AddressSanitizer, which is loaded before the interpreter."""
    command = [*compiler(), "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return found if "/" in found else ""


def run(
    library: Path, first: int, count: int, *, preload: str = "", limit: float = 3600.0
) -> tuple[int, str]:
    """Run cases in a process of their own; return its status and the end of what it printed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if preload:
        # Python itself is not built for it, and leaves memory to the end of the process.
        environment |= {"LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0:exitcode=66"}
    command = [sys.executable, "-X", "faulthandler", str(HERE / "drive.py"), str(library)]
    done = subprocess.run(
        [*command, str(first), str(count)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=limit,
        check=False,
    )
    # Every case writes its number over the last one: of those only the last is of interest.
    return done.returncode, done.stdout.decode("utf-8", "replace").rpartition("\r")[2]


def main(count: int, first: int) -> int:
    """Run the cases; returns the exit status."""
    preload = address_sanitizer()
    if not preload:
        print("fuzz: AddressSanitizer is not here: guard pages alone")
    with tempfile.TemporaryDirectory(prefix="phalanx-") as name:
        library = build(Path(name), *(["-fsanitize=address"] if preload else []))
        status, printed = run(library, first, count, preload=preload)
    print(f"lying plugin, address: status {status}\n{printed}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
