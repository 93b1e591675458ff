"""NVIDIA's run-time compiler, which needs no card: from CUDA C++ to PTX, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest


@cache
def library() -> ctypes.CDLL:
    """The library of the package nvidia-cuda-nvrtc-cu12; skips where it is not installed."""
    spec = find_spec("nvidia")
    places = [
        Path(p) / "cuda_nvrtc" for p in (spec.submodule_search_locations or [] if spec else [])
    ]
    found = [path for place in places for path in place.rglob("*nvrtc*") if _is_library(path)]
    if not found:
        pytest.skip("no NVRTC: pip install nvidia-cuda-nvrtc-cu12")
    return ctypes.CDLL(str(found[0]))


def _is_library(path: Path) -> bool:
    known = ("libnvrtc.so.", "nvrtc64_")
    return path.name.startswith(known) and "alt" not in path.name


class CudaError(Exception):
    """What the compiler has against a text; its log."""


def compile_ptx(text: str, options: Sequence[str]) -> str:
    """Compile a text; returns its PTX.

    Raises:
        CudaError: with the compiler's log.
    """
    lib = library()
    program = ctypes.c_void_p()
    source = text.encode()
    _check(lib.nvrtcCreateProgram(ctypes.byref(program), source, b"kernel.cu", 0, None, None))
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if lib.nvrtcCompileProgram(program, len(options), given):
            raise CudaError(_text(program, "ProgramLog"))
        return _text(program, "PTX")
    finally:
        _check(lib.nvrtcDestroyProgram(ctypes.byref(program)))


def _text(program: ctypes.c_void_p, what: str) -> str:
    lib, size = library(), ctypes.c_size_t()
    _check(getattr(lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    room = ctypes.create_string_buffer(size.value)
    _check(getattr(lib, f"nvrtcGet{what}")(program, room))
    return room.value.decode()


def _check(code: int) -> None:
    assert code == 0, f"NVRTC returned {code}"
