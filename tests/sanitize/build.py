"""Programs under the sanitizers of the compiler: the CPU library's streams, and the memory pool.

``python tests/sanitize/build.py SECONDS [SEED]`` builds and runs all of them; ``make sanitize``
calls it. The tests run them briefly. The harness for plugins (``core/abi/harness.c``) runs the CPU
library as a shared one, and under Valgrind too.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
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
    "failures": [*LIBRARY, HERE / "failures.c"],
    "pool": [*sorted(CORE.glob("pool/*.c")), HERE / "pool.c"],
}
HARNESS = CORE / "abi" / "harness.c"
#: Generated kernels of the shared library; both together build in some seconds.
GROUPS = ("float32", "integer32")
SANITIZERS = {"thread": "thread", "address": "address,undefined"}
#: An error ends the program with another status than its own failures.
OPTIONS = {
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=66",
    "ASAN_OPTIONS": "exitcode=66:detect_leaks=1",
    # gcc's fails on the thread-local data of a library that was opened late
    "LSAN_OPTIONS": "use_tls=0:print_suppressions=0",
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
        RuntimeError: it does not compile.
    """
    (folder / "kernel_lists.h").write_text("X(index)\n")
    program = folder / f"{name}-{sanitizer}"
    includes = (folder, KERNELS, CORE, CORE / "include", CORE / "scalar", ROOT / "tests" / "pool")
    command = [*_MACROS, *_instrument(sanitizer), *(f"-I{path}" for path in includes)]
    compile_c([*command, *map(str, PROGRAMS[name]), "-o", str(program), "-lm"])
    return program


def compile_c(command: list[str]) -> None:
    """Run the compiler.

    Raises:
        RuntimeError: it does not compile, or with a warning; with the compiler's words.
    """
    done = subprocess.run(
        [*compiler(), *_FLAGS, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(done.args)}\n{done.stderr}")


def _instrument(sanitizer: str) -> list[str]:
    return [f"-fsanitize={SANITIZERS[sanitizer]}"] if sanitizer in SANITIZERS else []


def build_harness(sanitizer: str, folder: Path) -> Path:
    """Build the harness for plugins into a folder, for a sanitizer or plainly, and return it."""
    program = folder / f"harness-{sanitizer or 'plain'}"
    command = ["-std=gnu11", "-Werror", *_instrument(sanitizer), f"-I{CORE / 'include'}"]
    compile_c([*command, str(HARNESS), "-o", str(program), "-ldl"])
    return program


def build_library(sanitizer: str, folder: Path) -> Path:
    """Build a small CPU library as a shared one: its runtime, and some of its kernels."""
    used = (KERNELS / "elementwise" / f"{name}.c" for name in ("elementwise", "move", "roots"))
    sources = [*map(str, (*LIBRARY, *used))]
    names = ["index"]
    for group, text in _render().items():
        if group in GROUPS:
            source = folder / f"elementwise_{group}.c"
            source.write_text(text)
            sources.append(str(source))
            names += re.findall(r"^cpu_kernel_list phx_(\w+)_kernels\(void\) \{", text, re.M)
    (folder / "kernel_lists.h").write_text("".join(f"X({name})\n" for name in names))
    library = folder / f"libcpu-{sanitizer or 'plain'}.so"
    includes = (folder, KERNELS, CORE / "include", CORE / "scalar")
    command = [*_MACROS, *_instrument(sanitizer), *(f"-I{path}" for path in includes)]
    compile_c([*command, "-shared", "-fPIC", *sources, "-o", str(library), "-lm"])
    return library


def _render() -> dict[str, str]:
    """Return the generated C of the elementwise kernels, by group."""
    place = ROOT / "kernels_cpu" / "render.py"
    spec = importlib.util.spec_from_file_location("phalanx_sanitize_render", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    texts: dict[str, str] = module.Renderer(module.load_optable(ROOT)).render()
    return texts


def run_harness(
    sanitizer: str, library: Path, folder: Path, seed: int, seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a shared library in the harness; ``sanitizer`` may be ``"valgrind"``."""
    program = build_harness(sanitizer if sanitizer in SANITIZERS else "", folder)
    if sanitizer == "valgrind":
        memcheck = ("valgrind", "--quiet", "--error-exitcode=66", "--leak-check=full")
        # What threads that live on have of the loader's is "possibly" lost.
        memcheck += ("--errors-for-leak-kinds=definite", "--show-leak-kinds=definite")
        memcheck += ("--fair-sched=yes", str(program))  # else one thread may have it all
        return run(memcheck, library, seed, seconds)
    return run((str(program),), library, seed, seconds)


def run(program: Path | tuple[str, ...], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a program; its status is not 0 if it or the sanitizer found anything.

    ``arguments`` end with the seed and the seconds.

    Raises:
        subprocess.TimeoutExpired: it hangs.
    """
    seconds = float(str(arguments[-1]))
    command = program if isinstance(program, tuple) else (str(program),)
    return subprocess.run(
        [*command, *map(str, arguments)],
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
                failed += _tell(program, sanitizer, done)
            library = build_library(sanitizer, folder)
            done = run_harness(sanitizer, library, folder, seed, seconds)
            failed += _tell("harness", sanitizer, done)
        if shutil.which("valgrind"):
            done = run_harness("valgrind", build_library("", folder), folder, seed, seconds)
            failed += _tell("harness", "valgrind", done)
        else:
            print("valgrind: not here: apt-get install valgrind")
    return failed


def _tell(program: str, sanitizer: str, done: subprocess.CompletedProcess[str]) -> bool:
    print(f"{program}, {sanitizer}: status {done.returncode}\n{done.stdout}", flush=True)
    return done.returncode != 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    seconds, seed = float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 1
    sys.exit(main(seconds, seed) != 0)
