"""Compiled programs of a CUDA device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from phalanx.device_code.cache import DiskCache
from phalanx.device_code.programs import ProgramStore
from phalanx.device_code.recipe import Traits
from phalanx.device_code.source import compile_error

from .dialect import DIALECT
from .nvrtc import Compiler, NvrtcError, target


class CudaPrograms(ProgramStore):
    """NVRTC compiles for the device's capability; ``install`` loads an image into the device.

    Kept on disk is the image, which depends on the compiler and the capability, not on the driver.
    ``install`` raises ``ValueError`` for an image that the driver does not take.
    """

    def __init__(
        self,
        compiler: Compiler,
        capability: tuple[int, int],
        install: Callable[[bytes], Any],
        traits: Traits,
        disk: DiskCache | None,
    ) -> None:
        architecture = target(compiler.capabilities, capability)
        version = ".".join(map(str, compiler.version))
        options = (f"--gpu-architecture={architecture}",)
        super().__init__(DIALECT, traits, ("NVRTC", version), disk, options)
        self._compiler = compiler
        self._install = install
        self._is_code = architecture.startswith("sm_")

    def load(self, binary: bytes, options: tuple[str, ...]) -> Any:
        """Return the driver's module for an image."""
        del options
        return self._install(binary)

    def compile(self, text: str, options: tuple[str, ...], what: str) -> tuple[Any, bytes]:
        """Return the driver's module for a text, and the image."""
        try:
            if self._is_code:
                image = self._compiler.cubin(text, options)
            else:
                image = self._compiler.ptx(text, options).encode() + b"\0"
        except NvrtcError as error:
            raise compile_error(what, str(error), text) from error
        try:
            return self._install(image), image
        except ValueError as error:
            raise compile_error(
                what, f"error: the driver refuses the code ({error})", text
            ) from error
