"""Compiles ``libsimchip.so`` with a C compiler; everything else stands in pyproject.toml."""

from __future__ import annotations

import tomllib
from importlib.util import find_spec
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import PlatformError

HERE = Path(__file__).parent
VERSION = tomllib.loads((HERE / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def header_folder() -> str:
    """Return where the installed Phalanx has ``phalanx.h``, without importing it."""
    found = find_spec("phalanx")
    if found is None or found.origin is None:
        raise PlatformError(
            "the build needs phalanx, which has phalanx.h: pip install phalanx, then build "
            "with pip install --no-build-isolation"
        )
    return str(Path(found.origin).parent / "include")


class BuildLibrary(build_ext):
    """Builds a plain shared library, which no version of Python is a part of."""

    def get_ext_filename(self, fullname: str) -> str:
        """Return the file of the library."""
        return str(Path(*fullname.split(".")).with_suffix(".so"))


setup(
    cmdclass={"build_ext": BuildLibrary},
    ext_modules=[
        Extension(
            "simchip.libsimchip",
            ["src/simchip/driver.c"],
            depends=["src/simchip/chip.c", "src/simchip/kernels.c"],
            include_dirs=[header_folder()],
            define_macros=[("SIMCHIP_VERSION", f'"{VERSION}"'), ("_GNU_SOURCE", None)],
            # The order of arithmetic is part of an op: no contraction, and integers wrap.
            extra_compile_args=["-std=c11", "-O2", "-fwrapv", "-ffp-contract=off"],
            extra_link_args=["-pthread", "-lm"],
        )
    ],
)
