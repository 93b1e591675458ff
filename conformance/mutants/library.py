"""The CPU library, built from its sources with one line changed."""

from __future__ import annotations

import hashlib
import os
import runpy
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .functions import Functions
from .mutant import Mutant, checkout
from .tracing import TRACER, functions_of, qualified

#: As fast to compile as it gets with kernels that take no longer than the suite can wait.
_OPTIMISATION = "-O1"
#: A file that many objects have is changed in so many of them first, the smallest: others take long
#: to compile, and mostly the suite sees this, too.
_CHANGED = 2
#: Calls at the beginnings of functions, but not in those of single numbers: intrinsics, scalars.
_TRACED = (
    "-finstrument-functions",
    "-finstrument-functions-exclude-file-list=intrin.h,/scalar/,lib/gcc",
)


@dataclass(frozen=True, slots=True)
class Built:
    """What became of a mutant: its library, and the functions that differ, with their sources.

    Without a path, it does not compile, and ``message`` is the compiler's first error; or, without
    a message too, every object is the same, byte by byte.
    """

    path: Path | None
    functions: frozenset[str] = frozenset()
    message: str = ""


class Workshop:
    """A copy of the sources in a folder, the objects made of them, and a compiler."""

    def __init__(self, folder: Path, isa: str) -> None:
        """Compile all; blocks for a minute.

        Args:
            folder: where to work; whatever is there belongs to the workshop.
            isa: the instruction set, by its name in the library's.

        Raises:
            ValueError: there are no sources or no compiler here.
        """
        root = checkout()
        if root is None:
            raise ValueError(
                "the sources of the CPU library are not here: a wheel has none; make a checkout "
                "of Phalanx, install it with `make edit`, and run the self-test there"
            )
        compiler = shutil.which(os.environ.get("CC", "cc"))
        if compiler is None:
            raise ValueError(
                "mutants of the CPU library need a C compiler: install gcc or clang, or name one "
                "in the environment variable CC"
            )
        try:
            build: dict[str, Any] = runpy.run_path(str(root / "kernels_cpu" / "build.py"))
        except ImportError as error:
            raise ValueError(
                f"{error}: what builds the CPU library needs it (pip install cffi)"
            ) from error
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._name = f"_cpu_{isa}"
        self._compiler = compiler
        sources: list[Path] = build["generate"]()
        for include in build["INCLUDES"]:
            shutil.copytree(
                include,
                folder / include.relative_to(root),
                dirs_exist_ok=True,
                ignore=lambda _, names: [
                    n for n in names if not n.endswith((".c", ".h")) and "." in n
                ],
            )
        self._flags = [
            *(flag for flag in build["FLAGS"] if flag != "-O3"),
            *(_OPTIMISATION, "-w", "-fPIC", "-DPHX_FLOAT_QUOTIENT=1", '-DPHX_CPU_VERSION="0"'),
            *(f"-DPHX_CPU_LEVEL={build['ISAS'][isa].level}", *build["ISAS"][isa].flags),
            *(f"-I{include.relative_to(root)}" for include in build["INCLUDES"]),
        ]
        self._link = list(build["LINK_FLAGS"])
        self.units = {path.stem: Unit(self, path.relative_to(root)) for path in sources}
        stamp = folder / "stamp"
        texts = repr((self._flags, [unit.text for unit in self.units.values()]))
        wanted = hashlib.sha256(texts.encode()).hexdigest()
        fresh = stamp.exists() and stamp.read_text("utf-8") == wanted
        if not fresh:
            stamp.unlink(missing_ok=True)
            for unit in self.units.values():
                unit.compile()
            stamp.write_text(wanted, "utf-8")
        for unit in self.units.values():
            unit.size = unit.object.stat().st_size

    def run(self, *options: str) -> subprocess.CompletedProcess[bytes]:
        """Run the compiler."""
        return subprocess.run(
            [self._compiler, *self._flags, *options],
            cwd=self._folder,
            capture_output=True,
            check=False,
            timeout=300,
        )

    def path(self, name: str) -> Path:
        """Return a path in the folder."""
        return self._folder / name

    def link(self, objects: Iterable[Path], folder: str) -> Path:
        """Return the library of objects, in a folder of its own."""
        path = self._folder / folder / f"{self._name}.so"
        path.parent.mkdir(exist_ok=True)
        done = self.run("-shared", "-o", str(path), *map(str, objects), *self._link)
        if done.returncode:
            raise ValueError(f"the CPU library does not link: {_first_error(done.stderr)}")
        return path

    def traced(self) -> Path:
        """Return the library that notes which functions run; blocks for a minute."""
        tracer = self.path("tracer.c")
        tracer.write_text(TRACER, "utf-8")
        objects = [unit.compile(*_TRACED, ending=".traced") for unit in self.units.values()]
        done = self.run("-c", "-o", "tracer.o", str(tracer))
        if done.returncode:
            raise ValueError(f"the tracer does not compile: {_first_error(done.stderr)}")
        return self.link([*objects, self.path("tracer.o")], "traced")

    def build(self, mutant: Mutant, *, everywhere: bool) -> Built:
        """Return the library of a mutant; the next one takes its place.

        Unless it is to be ``everywhere``, it is in the smallest of many objects alone.
        """
        path = self.path(mutant.text)
        right = path.read_text("utf-8")
        path.write_text(mutant.file, "utf-8")
        try:
            return self._changed(mutant.text, len(self.units) if everywhere else _CHANGED)
        finally:
            path.write_text(right, "utf-8")

    def _changed(self, file: str, most: int) -> Built:
        functions: set[str] = set()
        changed: dict[str, Path] = {}
        having = {name: unit for name, unit in self.units.items() if file in unit.files}
        for name, unit in sorted(having.items(), key=lambda one: one[1].size):
            if len(changed) == most:
                break
            try:
                text = unit.preprocess()
                if text == unit.text:
                    continue
                here = unit.functions.changed(text)
                if here and not here & unit.live:
                    continue
                other = unit.compile(ending=".mutant")
            except ValueError as error:
                return Built(None, message=str(error))
            if other.read_bytes() != unit.object.read_bytes():
                changed[name] = other
                functions |= {qualified(name, function) for function in here}
        if not changed:
            return Built(None)
        objects = [changed.get(name, unit.object) for name, unit in self.units.items()]
        return Built(self.link(objects, "mutant"), frozenset(functions))


class Unit:
    """One source and the object that is made of it."""

    def __init__(self, shop: Workshop, source: Path) -> None:
        self._shop = shop
        self._source = source
        self.object = shop.path(f"{source.stem}.o")
        #: How long it takes to compile, compared with others.
        self.size = 0
        self.text = self.preprocess()
        self.functions = Functions(self.text)
        done = shop.run("-MM", str(source))
        folder = shop.path("").resolve()
        words = done.stdout.decode().replace("\\\n", " ").partition(":")[2].split()
        paths = [(folder / word).resolve() for word in words]
        #: The names of the files that it consists of.
        self.files = frozenset(p.relative_to(folder).as_posix() for p in paths)

    @cached_property
    def live(self) -> frozenset[str]:
        """The functions that the object has, by themselves or in others."""
        return self.functions.live(name for _, name in functions_of(self.object).values())

    def compile(self, *options: str, ending: str = "") -> Path:
        """Compile and return the object; raises ``ValueError`` with the first error."""
        path = self.object.with_suffix(f"{ending}.o") if ending else self.object
        done = self._shop.run("-c", "-o", path.name, *options, str(self._source))
        if done.returncode:
            raise ValueError(_first_error(done.stderr))
        return path

    def preprocess(self) -> str:
        """Return the text behind the macros, without the system's; raises ``ValueError``."""
        done = self._shop.run("-E", str(self._source))
        if done.returncode:
            raise ValueError(_first_error(done.stderr))
        ours, lines = True, []
        for line in done.stdout.decode("utf-8", "replace").splitlines(keepends=True):
            if line.startswith("# "):
                ours = not line.endswith(_SYSTEM)
            elif ours:
                lines.append(line)
        return "".join(lines)


#: How the mark of a line of a system's header ends.
_SYSTEM = (" 3\n", " 3 4\n")


def _first_error(text: bytes) -> str:
    lines: Sequence[str] = text.decode("utf-8", "replace").splitlines()
    found = next((line for line in lines if "error" in line), lines[-1] if lines else "")
    return f"does not compile: {found.strip()}"
