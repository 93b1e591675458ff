"""Programs under the sanitizers of the compiler: the CPU library's streams, and the memory pool.

``python tests/sanitize/build.py SECONDS [SEED]`` builds and runs all of them; ``make sanitize``
calls it. The tests run them briefly.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KERNELS = ROOT / "kernels_cpu" / "src"
CORE = ROOT / "core"
#: The runtime of the CPU library, and one file of kernels: all would take long to build.
LIBRARY = [*sorted(KERNELS.glob("runtime/*.c")), KERNELS / "indexing" / "index.c"]
PROGRAMS = {
    "streams": [*LIBRARY, HERE / "streams.c"],
    "pool": [*sorted(CORE.glob("pool/*.c")), HERE / "pool.c"],
}
SANITIZERS = {"thread": "thread", "address": "address,undefined"}
#: An error ends the program with another status than its own failures.
OPTIONS = {
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
    "ASAN_OPTIONS": "exitcode=66:detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=66",
}
_FLAGS = ("-std=c11", "-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-Wall", "-Wextra")
_MACROS = ("-DPHX_CPU_LEVEL=1", '-DPHX_CPU_VERSION="sanitized"')


def compiler() -> list[str]:
    """Return the command of the C compiler."""
    return shlex.split(os.environ.get("CC", "cc"))


def missing(sanitizer: str, folder: Path) -> str:
    """Return why nothing runs with a sanitizer here, or an empty text."""
    source, program = folder / "nothing.c", folder / f"nothing-{sanitizer}"
    source.write_text("int main(void) { return 0; }\n")
    flag = f"-fsanitize={SANITIZERS[sanitizer]}"
    try:
        for command in ([*compiler(), flag, str(source), "-o", str(program)], [str(program)]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                last = done.stderr.strip().rpartition("\n")[2]
                return f"{shlex.join(command[:2])}: status {done.returncode}: {last}"
    except OSError as error:
        return str(error)
    return ""


def build(name: str, sanitizer: str, folder: Path) -> Path:
    """Build a program into a folder and return it.

    Raises:
        RuntimeError: it does not compile, or with a warning; with the compiler's words.
    """
    (folder / "kernel_lists.h").write_text("X(index)\n")
    program = folder / f"{name}-{sanitizer}"
    includes = (folder, KERNELS, CORE, CORE / "include", CORE / "scalar", ROOT / "tests" / "pool")
    command = [*compiler(), *_FLAGS, *_MACROS, f"-fsanitize={SANITIZERS[sanitizer]}"]
    command += [f"-I{path}" for path in includes]
    command += [*map(str, PROGRAMS[name]), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stderr}")
    return program


def run(program: Path, seed: int, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a program; its status is not 0 if it or the sanitizer found anything.

    Raises:
        subprocess.TimeoutExpired: it hangs.
    """
    return subprocess.run(
        [str(program), str(seed), str(seconds)],
        # more threads than cores, so that the workers of parallel loops take part
        env={**os.environ, **OPTIONS, "PHALANX_NUM_THREADS": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120 + 20 * seconds,
        check=False,
    )


def main(seconds: float, seed: int) -> int:
    """Build and run all programs; returns how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="phalanx-") as name:
        folder = Path(name)
        for sanitizer in SANITIZERS:
            if why := missing(sanitizer, folder):
                print(f"{sanitizer}: not here: {why}")
                continue
            for program in PROGRAMS:
                done = run(build(program, sanitizer, folder), seed, seconds)
                failed += done.returncode != 0
                print(
                    f"{program}, {sanitizer}: status {done.returncode}\n{done.stdout}", flush=True
                )
    return failed


if __name__ == "__main__":
    arguments = sys.argv[1:]
    seconds, seed = float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    sys.exit(main(seconds, seed) != 0)
