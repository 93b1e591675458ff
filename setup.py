"""The compiled parts: warm path, launches, functions, one CPU kernel library per instruction set.

Everything else stands in pyproject.toml.
"""

from __future__ import annotations

import os
import runpy
import sysconfig
from pathlib import Path
from threading import BoundedSemaphore
from typing import ClassVar

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
#: The core with random delays is built beside the ordinary one, from the same sources.
BUILD = "build-delays" if os.environ.get("PHALANX_DELAYS") else "build"


def relative(folder: str, pattern: str) -> list[str]:
    """Paths from the root: setuptools refuses absolute ones in an sdist."""
    return sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / folder).glob(pattern))


#: For stress tests: random delays where the GIL is released or a driver is called.
DELAYS = [("PHALANX_DELAYS", "1")] if os.environ.get("PHALANX_DELAYS") else []
#: The module calls its pool with the GIL held only, so the pool's own lock would be a second one.
SERIAL = [] if sysconfig.get_config_var("Py_GIL_DISABLED") else [("PHX_SERIAL", "1")]
#: By itself gcc clears each new object by a slow `rep stos`; the C library knows better.
MEMSET = ["-fno-builtin-memset"]

WARM = Extension(
    "phalanx._warm",
    ["core/warm/warm.pyx", "core/warm/host.c", *relative("core/pool", "*.c")],
    include_dirs=["core", "core/include"],
    depends=[
        *relative("core/warm", "*.pxi"),
        *relative("core/warm", "*.h"),
        *relative("core/pool", "*.h"),
        "core/include/phalanx.h",
    ],
    extra_compile_args=[  # a product and a sum are two roundings here, as they are in the ops
        *("-O3", "-g0", "-std=gnu11", "-ffp-contract=off", "-fvisibility=hidden", "-pthread"),
        *MEMSET,
    ],
    define_macros=[*DELAYS, *SERIAL],
)

#: Launches that repeat, of the drivers that have them compiled.
LAUNCHES = [
    Extension(
        f"phalanx.device_plugins.{name}._prepared",
        [f"device_plugins/{name}/_prepared.pyx"],
        extra_compile_args=["-O2", "-g0", "-std=gnu11", "-fvisibility=hidden"],
    )
    for name in ("cuda", "opencl")
]

#: Rooms of functions between a program and the warm path, which are Python and are compiled as they
#: stand: they take two thirds of the time then. Modules that no computation enters stay Python.
FRONTS = ("arrays", "fft", "functions", "linalg", "namespace", "nn", "random")
PLAIN = {
    *("__init__", "classes", "contraction_path", "default", "documentation", "examples"),
    *("inspection", "namesakes", "numpy_protocols", "philox", "pickling"),
    *("printing", "public", "refusals", "results", "roots", "transfer"),
}


def fronts() -> list[Extension]:
    """The modules of `FRONTS` as extensions, which the import finds before the Python files."""
    return [
        Extension(
            "phalanx" + path.removeprefix("core").removesuffix(".py").replace("/", "."),
            [path],
            # -O1 compiles in half the time of -O3, and is as fast: all of it calls the interpreter
            extra_compile_args=["-O1", "-g0", "-w", "-fvisibility=hidden"],
        )
        for room in FRONTS
        for path in relative(f"core/{room}", "*.py")
        if Path(path).stem not in PLAIN
    ]


def translated(extensions: list[Extension], **directives: bool) -> list[Extension]:
    """Extensions with their sources in C."""
    return cythonize(
        extensions,
        build_dir=f"{BUILD}/cython",
        language_level=3,
        quiet=True,
        compiler_directives=directives,
    )


class BuildChanged(build_ext):
    """Compiles a file again only if it, what it includes or its command has changed.

    setuptools compiles all files of an extension if one has changed: minutes for the kernels. The
    extensions are built side by side, by as many compilers at once as there are processors.

    In place the functions in front stay Python, unless ``--fronts`` asks for them.
    """

    user_options: ClassVar = [
        *build_ext.user_options,
        ("fronts", None, "compile the fronts in place, too"),
    ]
    boolean_options: ClassVar = [*build_ext.boolean_options, "fronts"]

    def initialize_options(self) -> None:
        """Leave the fronts as they are."""
        super().initialize_options()
        self.fronts = False

    def finalize_options(self) -> None:
        """Add the fronts, or remove those that were compiled in place: they would hide changes."""
        if self.fronts or not (self.inplace or self.editable_mode):
            self.distribution.ext_modules += fronts()
        else:
            for room in FRONTS:
                for compiled in (ROOT / "core" / room).glob("*.so"):
                    compiled.unlink()
        super().finalize_options()

    def build_extensions(self) -> None:
        """Translate the fronts; let the compiler list what a file includes, beside its object."""
        plain = [each for each in self.extensions if each.sources[0].endswith(".py")]
        # annotations say what type checkers know: not that ints have 64 bits
        made = {each.name: each.sources for each in translated(plain, annotation_typing=False)}
        for each in plain:
            each.sources = made[each.name]
        compile_always = self.compiler._compile
        cores = BoundedSemaphore(os.cpu_count() or 1)

        def compile_changed(target: str, source: str, *rest: object) -> None:
            extension, general, own, macros = rest
            listed, noted = Path(f"{target}.d"), Path(f"{target}.command")
            command = repr((self.compiler.compiler_so, source, general, own, macros))
            if _is_current(Path(target), listed) and noted.read_text("utf-8") == command:
                return
            noted.unlink(missing_ok=True)
            listing = [*own, "-MD", "-MF", str(listed)]
            with cores:
                compile_always(target, source, extension, general, listing, macros)
            noted.write_text(command, "utf-8")

        if self.compiler.compiler_type == "unix":
            self.compiler._compile = compile_changed
        super().build_extensions()


def _is_current(target: Path, listed: Path) -> bool:
    if not (target.exists() and listed.exists() and Path(f"{target}.command").exists()):
        return False
    names = listed.read_text("utf-8").replace("\\\n", " ").partition(":")[2].split()
    made = target.stat().st_mtime_ns
    return all(Path(name).exists() and Path(name).stat().st_mtime_ns <= made for name in names)


setup(
    cmdclass={"build_ext": BuildChanged},
    ext_modules=translated([WARM, *LAUNCHES]),
    cffi_modules=[
        "core/abi/build.py:builder",
        *runpy.run_path(str(ROOT / "kernels_cpu" / "build.py"))["ffibuilders"],
    ],
    options={"build": {"build_base": BUILD}, "build_ext": {"parallel": 4}},
)
