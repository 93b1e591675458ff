"""Compiled programs of one device: in memory, on disk, or compiled now."""

from __future__ import annotations

import hashlib
import logging
import time
from types import ModuleType
from typing import Any

from phalanx.device_code.cache import DiskCache
from phalanx.device_code.recipe import Program, Traits
from phalanx.device_code.source import compile_error, full_text
from phalanx.vendor import ForkSafeLock

from .dialect import DIALECT

_log = logging.getLogger("phalanx.opencl")


class ProgramStore:
    """Programs of one device by their text; safe from any thread, each is compiled once.

    ``identity`` is whatever else a binary depends on: device, driver and platform versions. Without
    a ``disk`` the runtime keeps programs itself.
    """

    def __init__(
        self,
        cl: ModuleType,
        context: Any,
        device: Any,
        traits: Traits,
        identity: tuple[str, ...],
        disk: DiskCache | None,
    ) -> None:
        self._cl = cl
        self._context = context
        self._device = device
        self._traits = traits
        self._identity = identity
        self._disk = disk
        self._built: dict[str, Any] = {}
        self._lock = ForkSafeLock()
        #: How many programs were compiled from source, and how many read from disk.
        self.compiled = 0
        self.loaded = 0

    @property
    def on_disk(self) -> bool:
        """Whether programs are kept on disk here, and not by the runtime."""
        return self._disk is not None

    def build(self, program: Program, what: str) -> Any:
        """Return the runtime's program; ``what`` names it in errors.

        Raises:
            CompileError: with log and numbered source.
        """
        text = full_text(program, DIALECT, self._traits)
        options = DIALECT.options(self._traits)
        key = self._key(text, options)
        with self._lock:
            built = self._built.get(key)
            if built is None:
                built = self._load(key, options) or self._compile(key, text, options, what)
                self._built[key] = built
        return built

    def _key(self, text: str, options: tuple[str, ...]) -> str:
        digest = hashlib.sha256()
        for part in (*self._identity, *options, text):
            digest.update(f"{len(part)}:".encode())
            digest.update(part.encode())
        return digest.hexdigest()

    def _load(self, key: str, options: tuple[str, ...]) -> Any:
        binary = self._disk.get(key) if self._disk else None
        if self._disk is None or binary is None:
            return None
        cl = self._cl
        try:
            raw = cl._cl._Program(self._context, [self._device], [binary])
            self._build(raw, options)
        except cl.Error as error:
            _log.warning("the runtime refuses a cached program (%s); it is compiled anew", error)
            self._disk.drop(key)
            return None
        self.loaded += 1
        return raw

    def _build(self, raw: Any, options: tuple[str, ...]) -> None:
        # `build` of pyopencl warns of every word in the log, and some compilers always say some.
        build = getattr(raw, "_build", raw.build)
        build(" ".join(options).encode(), [self._device])

    def _compile(self, key: str, text: str, options: tuple[str, ...], what: str) -> Any:
        cl = self._cl
        begin = time.perf_counter()
        # A raw program: cl.Program would consult pyopencl's own cache on disk beside ours.
        raw = cl._cl._Program(self._context, text)
        try:
            self._build(raw, options)
        except cl.Error as error:
            log = self._build_log(raw) or str(error)
            raise compile_error(what, log, text) from error
        self.compiled += 1
        _log.debug("%s compiled in %.3f s", what, time.perf_counter() - begin)
        if self._disk is None:
            return raw
        try:
            binaries = raw.get_info(cl.program_info.BINARIES)
        except cl.Error as error:
            _log.debug("%s: the runtime gives no binary (%s)", what, error)
            return raw
        if len(binaries) == 1 and binaries[0]:
            self._disk.put(key, binaries[0])
        return raw

    def _build_log(self, raw: Any) -> str:
        cl = self._cl
        try:
            log = raw.get_build_info(self._device, cl.program_build_info.LOG)
        except cl.Error:
            return ""
        return str(log).strip()
