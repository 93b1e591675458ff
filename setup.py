"""The compiled parts: the warm path, and one CPU kernel library per instruction set.

Everything else stands in pyproject.toml.
"""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

ROOT = Path(__file__).resolve().parent
#: The core with random delays is built beside the ordinary one, from the same sources.
BUILD = "build-delays" if os.environ.get("PHALANX_DELAYS") else "build"


def relative(folder: str, pattern: str) -> list[str]:
    """Paths from the root: setuptools refuses absolute ones in an sdist."""
    return sorted(p.relative_to(ROOT).as_posix() for p in (ROOT / folder).glob(pattern))


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
    extra_compile_args=["-O3", "-g0", "-std=gnu11", "-fvisibility=hidden", "-pthread"],
    # For stress tests: random delays where the GIL is released or a driver is called.
    define_macros=[("PHALANX_DELAYS", "1")] if os.environ.get("PHALANX_DELAYS") else [],
)

setup(
    ext_modules=cythonize([WARM], build_dir=f"{BUILD}/cython", language_level=3, quiet=True),
    cffi_modules=[
        "core/abi/build.py:builder",
        *runpy.run_path(str(ROOT / "kernels_cpu" / "build.py"))["ffibuilders"],
    ],
    options={"build": {"build_base": BUILD}, "build_ext": {"parallel": 2}},
)
