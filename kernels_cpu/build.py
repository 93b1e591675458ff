"""Build step of the CPU libraries: one cffi module per instruction set.

``setup.py`` names them as ``cffi_modules=["kernels_cpu/build.py:baseline", ...]``; :func:`selected`
gives that list for this machine. Each module is a shared library that exports the one symbol of the
C ABI beside an empty Python module, so setuptools builds, names and installs it like any other
extension, and each can be built by itself (``build_ext --parallel 2``).

Generated C goes to ``build/generated/cpu``. setuptools keeps object files by the path of their
source, so each library gets sources of its own: one line each, that includes the common file.

The environment variable ``PHALANX_CPU_ISA`` limits what is built: ``avx512``, ``avx512,avx2``, ...
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from cffi import FFI

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "kernels_cpu" / "src"
GENERATED = ROOT / "build" / "generated" / "cpu"
INCLUDES = (SOURCES, ROOT / "core" / "include", ROOT / "core" / "scalar", GENERATED)

#: No -ffast-math: NaN, infinities, signed zeros and subnormals keep their meaning. No contraction:
#: the same bits on every device. The other two only let loops become vector instructions.
FLAGS = (
    *("-O3", "-g0", "-std=c11", "-pthread", "-fvisibility=hidden", "-fno-strict-aliasing"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),
    # gcc 12 makes a*b - c*d beside a*d + b*c of straight-line code fused, in spite of the former
    "-fno-tree-slp-vectorize",
    "-Werror=implicit-function-declaration",
)
#: The library starts threads, so it stays in the process once it is there.
LINK_FLAGS = ["-pthread", "-lm", "-Wl,-z,nodelete"]


class Isa(NamedTuple):
    """An instruction set: its level in the x86-64 psABI and the compiler's flags."""

    level: int
    flags: tuple[str, ...]


ISAS = {
    "baseline": Isa(1, ("-march=x86-64",)),
    "avx2": Isa(3, ("-march=x86-64-v3",)),
    "avx512": Isa(4, ("-march=x86-64-v4", "-mprefer-vector-width=512")),
}


def _is_x86_64() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def selected() -> list[str]:
    """Return the instruction sets to build here.

    Raises:
        ValueError: ``PHALANX_CPU_ISA`` names an unknown one, or one of another processor family.
    """
    possible = list(ISAS) if _is_x86_64() else ["baseline"]
    asked = os.environ.get("PHALANX_CPU_ISA", "")
    names = [name.strip() for name in asked.split(",") if name.strip()]
    unknown = [name for name in names if name not in possible]
    if unknown:
        raise ValueError(
            f"PHALANX_CPU_ISA={asked!r}: {', '.join(unknown)} cannot be built on "
            f"{platform.machine()}; choose from {', '.join(possible)}"
        )
    return [name for name in possible if not names or name in names]


def _load_render() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "phalanx_build_render_cpu", ROOT / "kernels_cpu" / "render.py"
    )
    if spec is None or spec.loader is None:
        raise ImportError("kernels_cpu/render.py is missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def project_version() -> str:
    """Return the version of the project that is being built."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    if "version" in project:
        return str(project["version"])
    for name in ("_version.py", "__init__.py"):
        path = ROOT / "core" / name
        found = path.exists() and re.search(
            r"^__version__[^=\n]*=\s*[\"']([^\"']+)", path.read_text("utf-8"), re.MULTILINE
        )
        if found:
            return found[1]
    raise ValueError("no version in pyproject.toml, core/_version.py or core/__init__.py")


def _write(path: Path, text: str) -> None:
    """Write a file unless it has this text: a new time stamp would build everything again."""
    if path.exists() and path.read_text("utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    # two builds may run side by side
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text, "utf-8")
    partial.replace(path)


def generate() -> list[Path]:
    """Write the generated sources that all libraries share and return every C source, in order."""
    render = _load_render()
    texts = render.Renderer(render.load_optable(ROOT)).render()
    paths = sorted(SOURCES.rglob("*.c"))
    for group, text in texts.items():
        path = GENERATED / f"elementwise_{group}.c"
        _write(path, text)
        paths.append(path)
    offering = re.compile(r"^cpu_kernel_list phx_(\w+)_kernels\(void\) \{", re.MULTILINE)
    names = [name for path in paths for name in offering.findall(path.read_text("utf-8"))]
    _write(GENERATED / "kernel_lists.h", render.kernel_lists(names))
    return paths


def _wrap(name: str, source: Path) -> Path:
    path = GENERATED / name / source.name
    folder = SOURCES if source.is_relative_to(SOURCES) else GENERATED
    _write(path, f"#include <{source.relative_to(folder).as_posix()}>\n")
    return path


def _relative(paths: list[Path]) -> list[str]:
    """Paths from the root, where setuptools runs; it refuses absolute ones in an sdist."""
    return [path.relative_to(ROOT).as_posix() for path in paths]


def _ffibuilder(name: str) -> FFI:
    """Return the cffi builder of one instruction set; called by setuptools through cffi."""
    isa = ISAS[name]
    sources = generate()
    depends = [path for folder in INCLUDES for path in sorted(folder.rglob("*.h"))] + sources
    builder = FFI()
    builder.cdef("#define PHX_ABI_MAJOR ...\n#define PHX_ABI_MINOR ...")
    builder.set_source(
        f"phalanx.kernels_cpu._cpu_{name}",
        '#include "phalanx.h"',
        sources=_relative([_wrap(name, source) for source in sources]),
        depends=_relative(depends),
        include_dirs=_relative(list(INCLUDES)),
        define_macros=[
            ("PHX_CPU_LEVEL", str(isa.level)),
            # vector units divide floats, not integers; the quotients are the same
            ("PHX_FLOAT_QUOTIENT", "1"),
            ("PHX_CPU_VERSION", f'"{project_version()}"'),
        ],
        extra_compile_args=[*FLAGS, *(isa.flags if _is_x86_64() else ())],
        extra_link_args=list(LINK_FLAGS),
    )
    return builder


def baseline() -> FFI:
    """The library for every processor of the family."""
    return _ffibuilder("baseline")


def avx2() -> FFI:
    """The library for processors with AVX2, FMA and BMI (x86-64-v3)."""
    return _ffibuilder("avx2")


def avx512() -> FFI:
    """The library for processors with AVX-512 F, BW, CD, DQ and VL (x86-64-v4)."""
    return _ffibuilder("avx512")


#: What ``setup.py`` passes as ``cffi_modules``.
ffibuilders = [f"kernels_cpu/build.py:{name}" for name in selected()]
