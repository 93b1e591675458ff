"""The compiled parts: the warm path, and one CPU kernel library per instruction set.

Everything else stands in pyproject.toml.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

WARM = Extension(
    "phalanx._warm",
    ["core/_warm.pyx", *sorted(str(p.relative_to(HERE)) for p in (HERE / "core").glob("_pool*.c"))],
    include_dirs=["core", "core/include"],
    depends=[
        *sorted(str(p.relative_to(HERE)) for p in (HERE / "core").glob("_warm*.pxi")),
        "core/_pool.h",
        "core/include/phalanx.h",
    ],
    extra_compile_args=["-O3", "-std=gnu11", "-fvisibility=hidden", "-pthread"],
)

modules = os.environ.get("PHALANX_CPU_ISA", "baseline,avx2,avx512").split(",")

setup(
    ext_modules=cythonize([WARM], build_dir="build/cython", language_level=3),
    cffi_modules=[f"kernels_cpu/build.py:{name}" for name in modules],
    options={"build_ext": {"parallel": 2}},
)
