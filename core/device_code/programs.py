"""Compiled programs of one device: in memory, on disk, or compiled now."""

from __future__ import annotations

import hashlib
import logging
import time
from abc import ABC, abstractmethod
from typing import Any

from phalanx.vendor import ForkSafeLock, Kernel

from .cache import DiskCache
from .dialect import Dialect
from .recipe import Program, Traits
from .source import full_text

_log = logging.getLogger("phalanx.programs")


class ProgramStore(ABC):
    """Programs of one device by their text; safe from any thread, each is compiled once.

    A vendor's store says how a text is compiled and how a binary is loaded. ``identity`` is
    whatever a binary depends on besides text and options: device, driver, compiler. Without a
    ``disk`` nothing is kept there.
    """

    def __init__(
        self,
        dialect: Dialect,
        traits: Traits,
        identity: tuple[str, ...],
        disk: DiskCache | None,
        options: tuple[str, ...] = (),
    ) -> None:
        self._dialect = dialect
        self._traits = traits
        self._identity = identity
        self._disk = disk
        self._options = (*dialect.options(traits), *options)
        self._built: dict[str, Any] = {}
        self._lock = ForkSafeLock()
        #: How many programs were compiled from source, and how many read from disk.
        self.compiled = 0
        self.loaded = 0

    @property
    def on_disk(self) -> bool:
        """Whether programs are kept on disk here."""
        return self._disk is not None

    @abstractmethod
    def compile(self, text: str, options: tuple[str, ...], what: str) -> tuple[Any, bytes]:
        """Return the runtime's program for a text and its binary, which may be empty.

        Raises:
            CompileError: with log and numbered source.
        """

    @abstractmethod
    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """Return the runtime's program for a binary.

        Raises:
            ValueError: the runtime refuses it, and why.
        """

    def text(self, program: Program) -> str:
        """Return what the compiler gets for a program."""
        return full_text(program, self._dialect, self._traits)

    def build(self, program: Program, what: str) -> Any:
        """Return the runtime's program; ``what`` names it in errors.

        Raises:
            CompileError: with log and numbered source.
        """
        text = self.text(program)
        key = self._key(text)
        with self._lock:
            built = self._built.get(key)
            if built is None:
                built = self._read(key)
                if built is None:
                    built = self._compile(key, text, what)
                self._built[key] = built
        return built

    def compile_ahead(self, kernel: Kernel, device: str) -> tuple[int, int]:
        """Build the commonest programs of a kernel; see `OpenDevice.compile_ahead`."""
        compiled, loaded = self.compiled, self.loaded
        for program in kernel.handle.programs:
            self.build(program, f"{kernel.op}({', '.join(kernel.dtypes)}) on {device}")
        return self.compiled - compiled, self.loaded - loaded

    def _key(self, text: str) -> str:
        digest = hashlib.sha256()
        for part in (*self._identity, *self._options, text):
            digest.update(f"{len(part)}:".encode())
            digest.update(part.encode())
        return digest.hexdigest()

    def _read(self, key: str) -> Any:
        binary = self._disk.get(key) if self._disk else None
        if self._disk is None or binary is None:
            return None
        try:
            built = self.load(binary, self._options)
        except ValueError as error:
            _log.warning("the runtime refuses a cached program (%s); it is compiled anew", error)
            self._disk.drop(key)
            return None
        self.loaded += 1
        return built

    def _compile(self, key: str, text: str, what: str) -> Any:
        begin = time.perf_counter()
        built, binary = self.compile(text, self._options, what)
        self.compiled += 1
        _log.debug("%s compiled in %.3f s", what, time.perf_counter() - begin)
        if self._disk is not None and binary:
            self._disk.put(key, binary)
        return built
