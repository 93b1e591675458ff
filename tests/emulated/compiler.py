"""From a kernel text to code of this processor: g++, and the libraries that it made before."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from device_code.texts import in_namespace
from phalanx.device_code.dialect import Dialect
from phalanx.device_code.recipe import Program, Traits
from phalanx.device_code.source import compile_error, full_text, kernel_names

_HERE = Path(__file__).parent
_FMA = ("-mfma",) if platform.machine() in ("x86_64", "AMD64") else ()


def _options(traits: Traits) -> tuple[str, ...]:
    """What keeps g++ from changing results, and from using what the texts do not promise."""
    del traits
    exact = ("-ffp-contract=off", "-fno-math-errno", *_FMA)
    return ("-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-fwrapv", *exact)


DIALECT = Dialect("emulated C++", (_HERE / "dialect.hpp").read_text(encoding="utf-8"), _options)


def folder() -> Path:
    """Where libraries are kept: beside the caches of the environment."""
    cache_home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(cache_home) if cache_home else Path.home() / ".cache") / "phalanx-emulated"


def _library(text: str, options: tuple[str, ...], suffix: str, what: str) -> ctypes.CDLL:
    """Compile a text, unless that was done before, and load it."""
    digest = hashlib.sha256("\0".join((*options, text)).encode()).hexdigest()
    path = folder() / f"{digest}.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as place:
            source, made = Path(place) / f"kernel{suffix}", Path(place) / "kernel.so"
            source.write_text(text, encoding="utf-8")
            compiler = "g++" if suffix == ".cpp" else "gcc"
            command = [compiler, *options, "-shared", "-fPIC", str(source), "-o", str(made)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise compile_error(what, done.stderr, text)
            made.replace(path)
    return ctypes.CDLL(str(path))


@cache
def runtime() -> ctypes.CDLL:
    """The scheduler of work-items."""
    text = (_HERE / "runtime.c").read_text(encoding="utf-8")
    lib = _library(text, ("-O1", "-U_FORTIFY_SOURCE"), ".c", "the scheduler")
    lib.phx_scheduler_view.restype = ctypes.c_void_p
    return lib


def program_text(program: Program, traits: Traits) -> str:
    """Return the text of a program for g++, with what makes its kernels callable."""
    entries = "".join(f"PHX_ENTRY({name})\n" for name in kernel_names(program))
    return full_text(program, DIALECT, traits) + entries


def text_of_many(programs: Sequence[Program], traits: Traits) -> str:
    """Return the text of programs with the same headers; `Code.kernel` knows them by number."""
    source = ""
    for number, program in enumerate(programs):
        entries = "".join(f"PHX_ENTRY_AS({n}, {number}_{n})\n" for n in kernel_names(program))
        source += in_namespace(f"text_{number}", f"{program.source}\n{entries}")
    return full_text(Program(source, programs[0].headers), DIALECT, traits)


class Code:
    """A compiled program."""

    def __init__(self, text: str, options: tuple[str, ...], what: str) -> None:
        self._lib = _library(text, options, ".cpp", what)
        view = ctypes.c_void_p.in_dll(self._lib, "phx_now")
        view.value = runtime().phx_scheduler_view()

    def kernel(self, name: str, limit: int = 64, prefix: str = "") -> Kernel:
        """Return a kernel by its name, for groups of up to so many work-items."""
        pairs = (ctypes.c_uint64 * 64)()
        count = 2 * getattr(self._lib, f"phx_sizes_{prefix}{name}")(pairs)
        run = getattr(self._lib, f"phx_run_{prefix}{name}")
        return Kernel(name, run, tuple(pairs[:count:2]), tuple(pairs[1:count:2]), limit)


class Kernel:
    """A kernel, with sizes and alignments of its parameters in bytes, and its largest group."""

    def __init__(
        self, name: str, run: Any, sizes: tuple[int, ...], alignments: tuple[int, ...], limit: int
    ) -> None:
        self.name = name
        self.limit = limit
        self.sizes = sizes
        self.alignments = alignments
        self._run = run

    def launch(
        self,
        groups: tuple[int, ...],
        size: tuple[int, ...],
        args: list[bytes],
        *,
        backwards: bool,
    ) -> str:
        """Run all work-items; returns what went wrong, or an empty string."""
        given = tuple(len(arg) for arg in args)
        if given != self.sizes:
            return f"its parameters have {self.sizes} bytes, and it is given {given}"
        rooms = [ctypes.create_string_buffer(arg, len(arg)) for arg in args]
        pointers = (ctypes.c_void_p * len(rooms))(*(ctypes.addressof(room) for room in rooms))
        axes = ((ctypes.c_uint64 * 3)(*((*sizes, 1, 1)[:3])) for sizes in (groups, size))
        text = ctypes.create_string_buffer(500)
        runtime().phx_launch(self._run, pointers, *axes, int(backwards), text, len(text))
        return text.value.decode()
