"""NVIDIA's libraries through CuPy, where it is installed: ``reproducible`` kernels.

CuPy is imported at the first launch that needs it. Memory and streams are ours: its functions get
addresses and numbers, and what they allocate comes from the device's pool.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from typing import Any, NamedTuple, Protocol

from phalanx.device_code.recipe import Recipe

_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "cupy")


class Library(NamedTuple):
    """A library of NVIDIA's as CuPy has it.

    Attributes:
        title: as people call it.
        module: CuPy's.
        error: the name of the module's exception; a RuntimeError where it has none.
        needs: the first version of CuPy that has what our calls need; and why.
        file: what the package ``cuda-pathfinder`` knows it by, if it is a file of its own.
    """

    title: str
    module: str
    error: str = ""
    needs: tuple[int, int] = (14, 0)
    why: str = "which takes streams of others"
    file: str = ""


LIBRARIES = {
    "cublas": Library("cuBLAS", "cupy_backends.cuda.libs.cublas", "CUBLASError", file="cublas"),
    "cusolver": Library(
        "cuSOLVER", "cupy_backends.cuda.libs.cusolver", "CUSOLVERError", file="cusolver"
    ),
    "cufft": Library("cuFFT", "cupy.cuda.cufft", "CuFFTError", file="cufft"),
    "thrust": Library(
        "CUB", "cupy.cuda.thrust", "", (14, 1), "whose sorts tell that memory has run out"
    ),
}
#: Why a library cannot be used, though CuPy is installed.
_problems: dict[str, str] = {}


@dataclass(frozen=True, eq=False, slots=True)
class LibraryRecipe(Recipe):
    """A recipe whose launch calls a library: it cannot be recorded."""


class LibraryEnv(Protocol):
    """What launches of these kernels need besides an `Env`."""

    def library(self, name: str) -> AbstractContextManager[tuple[Any, Any]]:
        """Return the module of a library and its handle for the stream, for calls in the block.

        Raises:
            ImportError: it cannot be loaded.
            LaunchError: a call in the block failed.
        """


@cache
def _package() -> str:
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            metadata.version(package)
            return package
    return ""


@cache
def _version() -> str:
    return metadata.version(_package()) if _package() else ""


def wrong_package(version: tuple[int, int]) -> tuple[str, str]:
    """Return what is wrong with CuPy for a driver of a version of CUDA, and the remedy; or nothing.

    Libraries run with a driver of their major version of CUDA or a later one (CUDA Compatibility,
    12.9, "Minor Version Compatibility").
    """
    made_for = re.search(r"cuda(\d+)x", _package())
    if not made_for or int(made_for[1]) <= version[0]:
        return "", ""
    knows = f"the driver knows CUDA {version[0]}.{version[1]} only"
    return (
        f"{_package()} is for CUDA {made_for[1]}, and {knows}",
        f"pip uninstall {_package()}; pip install cupy-cuda{version[0]}x; or update the driver",
    )


def provider(name: str) -> str:
    """Return where kernels of a library are from, empty if they cannot be had; imports nothing."""
    version = "" if name in _problems else _version()
    return f"cupy {version} ({LIBRARIES[name].title})" if version and not _is_old(name) else ""


def _is_old(name: str) -> bool:
    """Return whether CuPy is of a version without what calls of a library need."""
    return tuple(map(int, re.findall(r"\d+", _version())[:2])) < LIBRARIES[name].needs


def told() -> str:
    """Return what there is, for ``phalanx why``; imports nothing."""
    if not _version():
        return f"without CuPy there are no kernels of {_listed(LIBRARIES)}"
    here = [name for name in LIBRARIES if name not in _problems and not _is_old(name)]
    has = [f"CuPy {_version()} has {_listed(here)} for the mode 'reproducible'"] if here else []
    lost = [f"{LIBRARIES[name].title} cannot be used ({why})" for name, why in _problems.items()]
    old = [
        f"{library.title} needs CuPy {'.'.join(map(str, library.needs))}, {library.why}"
        for name, library in LIBRARIES.items()
        if name not in _problems and _is_old(name)
    ]
    return "; ".join([*has, *lost, *old])


def _listed(names: Iterable[str]) -> str:
    *most, last = [LIBRARIES[name].title for name in names]
    return f"{', '.join(most)} and {last}" if most else last


@cache
def load(name: str) -> Any:
    """Return CuPy's module for a library.

    Raises:
        ImportError: CuPy or the library is not there.
    """
    import_module("cupy")
    library = LIBRARIES[name]
    if library.file:
        with contextlib.suppress(ImportError, RuntimeError):  # libraries of PyPI's packages
            import_module("cuda.pathfinder").load_nvidia_dynamic_lib(library.file)
    return import_module(library.module)


@cache
def cupy_cuda() -> Any:
    """Return CuPy's module for streams and memory; behind `load`."""
    return import_module("cupy.cuda")


def run_or_else(env: Any, name: str, calls: Callable[[Any, Any], None]) -> bool:
    """Let calls of a library run; ``False`` if it cannot be loaded, which is told once."""
    if name in _problems:
        return False
    title = LIBRARIES[name].title
    try:
        with env.library(name) as found:
            calls(*found)
    except ImportError as error:
        _problems[name] = " ".join(str(error).split())
        import warnings

        warnings.warn(
            f"{title} cannot be used ({error}), so the kernels of class 'bitwise' serve: "
            'pip install "cupy-cuda12x[ctk]" brings it',
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True
