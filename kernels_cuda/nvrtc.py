"""NVIDIA's run-time compiler: from CUDA C++ to the code of a device. It needs no card."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from cffi import FFI
from phalanx.errors import DeviceError

_DECLARATIONS = """
typedef struct _nvrtcProgram *nvrtcProgram;
int nvrtcVersion(int *major, int *minor);
int nvrtcGetNumSupportedArchs(int *count);
int nvrtcGetSupportedArchs(int *capabilities);
const char *nvrtcGetErrorString(int code);
int nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int headers,
    const char **header_texts, const char **header_names);
int nvrtcDestroyProgram(nvrtcProgram *program);
int nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options);
int nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size);
int nvrtcGetProgramLog(nvrtcProgram program, char *text);
int nvrtcGetPTXSize(nvrtcProgram program, size_t *size);
int nvrtcGetPTX(nvrtcProgram program, char *text);
int nvrtcGetCUBINSize(nvrtcProgram program, size_t *size);
int nvrtcGetCUBIN(nvrtcProgram program, char *binary);
"""
_INSTALL = 'pip install "phalanx[cuda12]" or "phalanx[cuda13]" brings it'


class NvrtcError(Exception):
    """What the compiler has against a text: its log."""


class Compiler(Protocol):
    """One version of the compiler. Safe from any thread.

    Attributes:
        version: of its CUDA.
        capabilities: the compute capabilities that it compiles for, such as ``(9, 0)``.
    """

    version: tuple[int, int]
    capabilities: tuple[tuple[int, int], ...]

    def cubin(self, text: str, options: Sequence[str]) -> bytes:
        """Return the code of a device, whose architecture the options name.

        Raises:
            NvrtcError: with the compiler's log.
        """

    def ptx(self, text: str, options: Sequence[str]) -> str:
        """Return the assembler's text for a virtual device.

        Raises:
            NvrtcError: with the compiler's log.
        """


class Nvrtc:
    """NVIDIA's library at a path, as a `Compiler`."""

    def __init__(self, path: str) -> None:
        self._ffi = FFI()
        self._ffi.cdef(_DECLARATIONS)
        _load_builtins(Path(path))
        self._lib = self._ffi.dlopen(path)
        major, minor = self._ffi.new("int *"), self._ffi.new("int *")
        self._check(self._lib.nvrtcVersion(major, minor))
        self.version = (major[0], minor[0])
        count = self._ffi.new("int *")
        self._check(self._lib.nvrtcGetNumSupportedArchs(count))
        room = self._ffi.new("int[]", count[0])
        self._check(self._lib.nvrtcGetSupportedArchs(room))
        self.capabilities = tuple(divmod(number, 10) for number in room)

    def cubin(self, text: str, options: Sequence[str]) -> bytes:
        """See `Compiler`."""
        return self._compile(text, options, "CUBIN")

    def ptx(self, text: str, options: Sequence[str]) -> str:
        """See `Compiler`."""
        return self._compile(text, options, "PTX").rstrip(b"\0").decode()

    def _compile(self, text: str, options: Sequence[str], what: str) -> bytes:
        ffi, lib = self._ffi, self._lib
        room = ffi.new("nvrtcProgram *")
        source, name = ffi.new("char[]", text.encode()), ffi.new("char[]", b"kernel.cu")
        self._check(lib.nvrtcCreateProgram(room, source, name, 0, ffi.NULL, ffi.NULL))
        try:
            given = [ffi.new("char[]", option.encode()) for option in options]
            if lib.nvrtcCompileProgram(room[0], len(given), ffi.new("char *[]", given)):
                log = self._result(room[0], "ProgramLog").rstrip(b"\0")
                raise NvrtcError(log.decode("utf-8", "replace").strip())
            return self._result(room[0], what)
        finally:
            self._check(lib.nvrtcDestroyProgram(room))

    def _result(self, program: Any, what: str) -> bytes:
        size = self._ffi.new("size_t *")
        self._check(getattr(self._lib, f"nvrtcGet{what}Size")(program, size))
        room = self._ffi.new("char[]", size[0])
        self._check(getattr(self._lib, f"nvrtcGet{what}")(program, room))
        return bytes(self._ffi.buffer(room))

    def _check(self, code: int) -> None:
        if code:
            said: bytes = self._ffi.string(self._lib.nvrtcGetErrorString(code))
            raise NvrtcError(said.decode())


def _load_builtins(compiler: Path) -> None:
    """Load what the compiler opens by its bare name at the first text, from the compiler's folder.

    PyPI's package for CUDA 13.0 says nowhere that it is there, so the system would not find it.
    """
    if compiler.parent == Path():
        return
    for path in compiler.parent.glob("*nvrtc-builtins*"):
        if "alt" not in path.name:
            with contextlib.suppress(OSError):  # then the compiler says what it lacks
                ctypes.CDLL(str(path))


def libraries() -> Iterator[str]:
    """Yield where the compiler's library may be: packages of PyPI, a toolkit, the system's own."""
    spec = find_spec("nvidia")
    for root in spec.submodule_search_locations or () if spec else ():
        for folder in ("cuda_nvrtc", "cu13"):
            yield from sorted(filter(_is_library, map(str, Path(root, folder).rglob("*nvrtc*"))))
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if home := os.environ.get(variable):
            yield from sorted(filter(_is_library, map(str, Path(home).rglob("*nvrtc*"))))
    names = ("nvrtc64_130_0.dll", "nvrtc64_120_0.dll")
    yield from names if sys.platform == "win32" else ("libnvrtc.so.13", "libnvrtc.so.12")


def _is_library(path: str) -> bool:
    name = Path(path).name
    known = name.startswith("libnvrtc.so.") or (
        name.startswith("nvrtc64_") and name.endswith(".dll")
    )
    return known and "alt" not in name


@cache
def compilers() -> tuple[Nvrtc, ...]:
    """Return the compilers that can be loaded, each version once, in the order they were found."""
    found: dict[tuple[int, int], Nvrtc] = {}
    for path in libraries():
        try:
            compiler = Nvrtc(path)
        except (OSError, NvrtcError):
            continue
        found.setdefault(compiler.version, compiler)
    return tuple(found.values())


def target(capabilities: Sequence[tuple[int, int]], device: tuple[int, int]) -> str:
    """Return the architecture to compile for on a device; empty if there is none.

    Code runs on devices of its major capability from its minor one on (``sm_86``); text for a
    virtual device runs on all later ones, where the driver compiles it once more (``compute_90``).
    """
    same = [each for each in capabilities if each[0] == device[0] and each[1] <= device[1]]
    earlier = [each for each in capabilities if each < device]
    kind, best = ("sm", max(same)) if same else ("compute", max(earlier, default=(0, 0)))
    return f"{kind}_{best[0]}{best[1]}" if best > (0, 0) else ""


def compiler_for(version: tuple[int, int], capability: tuple[int, int]) -> Compiler:
    """Return the newest compiler whose code a driver of a CUDA version runs on a device.

    That is any of the same major version or an older one (CUDA Compatibility, 12.9, "Minor Version
    Compatibility").

    Raises:
        DeviceError: there is none, with the remedy.
    """
    known = compilers()
    if not known:
        raise DeviceError("there is no NVRTC, CUDA's run-time compiler", remedy=_INSTALL)
    fit = [each for each in known if each.version[0] <= version[0]]
    if not fit:
        found = " and ".join(f"{each.version[0]}.{each.version[1]}" for each in known)
        raise DeviceError(
            f"NVRTC is of CUDA {found}, and the driver knows CUDA {version[0]}.{version[1]} only",
            remedy=f'update the driver, or pip install "phalanx[cuda{version[0]}]"',
        )
    able = [each for each in fit if target(each.capabilities, capability)]
    if not able:
        least = min(min(each.capabilities) for each in fit)
        raise DeviceError(
            f"NVRTC compiles for compute capability {least[0]}.{least[1]} and later, and the "
            f"device has {capability[0]}.{capability[1]}",
            remedy='an older one may: pip install "phalanx[cuda12]"',
        )
    return max(able, key=lambda each: each.version)
