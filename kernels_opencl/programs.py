"""Compiled programs of an OpenCL device."""

from __future__ import annotations

import logging
from types import ModuleType
from typing import Any

from phalanx.device_code.cache import DiskCache
from phalanx.device_code.programs import ProgramStore
from phalanx.device_code.recipe import Traits
from phalanx.device_code.source import compile_error

from .dialect import DIALECT

_log = logging.getLogger("phalanx.programs")


class OpenCLPrograms(ProgramStore):
    """The runtime compiles, and gives its binaries out. Without ``disk`` it keeps them itself."""

    def __init__(
        self,
        cl: ModuleType,
        context: Any,
        device: Any,
        traits: Traits,
        identity: tuple[str, ...],
        disk: DiskCache | None,
        options: tuple[str, ...] = (),
    ) -> None:
        super().__init__(DIALECT, traits, identity, disk, options)
        self._cl = cl
        self._context = context
        self._device = device

    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """Return the runtime's program for a binary."""
        cl = self._cl
        try:
            raw = cl._cl._Program(self._context, [self._device], [binary])
            self._build(raw, options)
        except cl.Error as error:
            raise ValueError(str(error)) from error
        return raw

    def _build(self, raw: Any, options: tuple[str, ...]) -> None:
        # `build` of pyopencl warns of every word in the log, and some compilers always say some.
        build = getattr(raw, "_build", raw.build)
        build(" ".join(options).encode(), [self._device])

    def compile(self, text: str, options: tuple[str, ...], what: str) -> tuple[Any, bytes]:
        """Return the runtime's program for a text, and its binary if it is to be kept."""
        cl = self._cl
        # A raw program: cl.Program would consult pyopencl's own cache on disk beside ours.
        raw = cl._cl._Program(self._context, text)
        try:
            self._build(raw, options)
        except cl.Error as error:
            log = self._build_log(raw) or str(error)
            raise compile_error(what, log, text) from error
        return raw, self._binary(raw, what) if self.on_disk else b""

    def _binary(self, raw: Any, what: str) -> bytes:
        cl = self._cl
        try:
            binaries = raw.get_info(cl.program_info.BINARIES)
        except cl.Error as error:
            _log.debug("%s: the runtime gives no binary (%s)", what, error)
            return b""
        return bytes(binaries[0]) if len(binaries) == 1 else b""

    def _build_log(self, raw: Any) -> str:
        cl = self._cl
        try:
            log = raw.get_build_info(self._device, cl.program_build_info.LOG)
        except cl.Error:
            return ""
        return str(log).strip()
