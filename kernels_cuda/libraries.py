"""NVIDIA's libraries through CuPy, where it is installed: ``reproducible`` kernels.

CuPy is imported at the first launch that needs it. Its functions get addresses and numbers alone:
memory and streams are ours.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module, metadata
from typing import Any, Protocol

from phalanx.device_code.recipe import Recipe
from phalanx.errors import LaunchError
from phalanx.vendor import ForkSafeLock

_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "cupy")
#: Of each module of CuPy's: what its errors are called, and how people call the library.
_ERRORS = {"cublas": "CUBLASError", "cusolver": "CUSOLVERError"}
NAMES = {"cublas": "cuBLAS", "cusolver": "cuSOLVER"}
_PREPARE = {"cublas": lambda lib, handle: lib.setMathMode(handle, lib.CUBLAS_DEFAULT_MATH)}
#: Why a library cannot be used, though CuPy is installed.
_problems: dict[str, str] = {}


@dataclass(frozen=True, eq=False, slots=True)
class LibraryRecipe(Recipe):
    """A recipe whose launch calls a library: it cannot be recorded."""


class LibraryEnv(Protocol):
    """What launches of these kernels need besides an `Env`."""

    def library(self, name: str) -> AbstractContextManager[tuple[Any, int]]:
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
    return f"cupy {version} ({NAMES[name]})" if version else ""


def told() -> str:
    """Return what there is, for ``phalanx why``; imports nothing."""
    if not _version():
        return f"without CuPy there are no kernels of {' and '.join(NAMES.values())}"
    here = [title for name, title in NAMES.items() if name not in _problems]
    lost = [f"{NAMES[name]} cannot be used ({why})" for name, why in _problems.items()]
    has = [f"CuPy {_version()} has {' and '.join(here)} for the mode 'reproducible'"]
    return "; ".join((has if here else []) + lost)


@cache
def load(name: str) -> Any:
    """Return CuPy's module for a library.

    Raises:
        ImportError: CuPy or the library is not there.
    """
    import_module("cupy")
    with contextlib.suppress(ImportError, RuntimeError):  # libraries of PyPI's packages
        import_module("cuda.pathfinder").load_nvidia_dynamic_lib(name)
    return import_module(f"cupy_backends.cuda.libs.{name}")


def run_or_else(env: Any, name: str, calls: Callable[[Any, int], None]) -> bool:
    """Let calls of a library run; ``False`` if it cannot be loaded, which is told once."""
    if name in _problems:
        return False
    try:
        with env.library(name) as (library, handle):
            calls(library, handle)
    except ImportError as error:
        _problems[name] = " ".join(str(error).split())
        import warnings

        warnings.warn(
            f"{NAMES[name]} cannot be used ({error}), so the kernels of class 'bitwise' serve: "
            'pip install "cupy-cuda12x[ctk]" brings it',
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


class Libraries:
    """The handles of one device, one for each stream. Safe from any thread.

    NVIDIA promises the same bits from run to run where a handle works on one stream (cuBLAS 12.9,
    "Results Reproducibility"). Calls come in the device's context.
    """

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._handles: dict[tuple[str, int], tuple[Any, int]] = {}

    @contextlib.contextmanager
    def use(self, name: str, stream: int, what: str) -> Iterator[tuple[Any, int]]:
        """Return a library and its handle for a stream; see `LibraryEnv.library`.

        A handle is nobody else's in the block; ``what`` names the launch in errors.
        """
        with self._lock:
            library = load(name)
            try:
                yield library, self._handle(library, name, stream)
            except getattr(library, _ERRORS[name]) as error:
                raise LaunchError(
                    f"{what} by {NAMES[name]}: {error}",
                    remedy="phalanx.empty_cache() helps if it lacks memory, another package of "
                    "CuPy if that is for a newer CUDA than the driver's; or use the mode 'bitwise'",
                ) from error

    def _handle(self, library: Any, name: str, stream: int) -> int:
        found = self._handles.get((name, stream))
        if found is not None:
            return found[1]
        handle: int = library.create()
        try:
            library.setStream(handle, stream)
            if name in _PREPARE:
                _PREPARE[name](library, handle)
        except BaseException:
            _destroy(library, handle)
            raise
        self._handles[name, stream] = library, handle
        return handle

    def forget(self, stream: int) -> None:
        """Destroy the handles of a stream that ends."""
        with self._lock:
            for key in [key for key in self._handles if key[1] == stream]:
                _destroy(*self._handles.pop(key))

    def close(self) -> None:
        """Destroy all handles."""
        for _, stream in list(self._handles):
            self.forget(stream)


def _destroy(library: Any, handle: int) -> None:
    with contextlib.suppress(RuntimeError):
        library.destroy(handle)
