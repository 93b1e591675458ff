"""NVRTC without NVIDIA's: what it makes is a text in the emulated dialect, for g++."""

from __future__ import annotations

from collections.abc import Sequence

from emulated.compiler import DIALECT, Code
from emulated.driver import TRAITS
from phalanx.device_code.recipe import Program
from phalanx.device_code.source import kernel_names
from phalanx.errors import CompileError
from phalanx.kernels_cuda.dialect import DIALECT as CUDA
from phalanx.kernels_cuda.nvrtc import NvrtcError

#: How an image begins.
IMAGE = b"// fake image\n"


def loaded(image: bytes) -> Code:
    """Return the code of an image; g++ has compiled it before."""
    text = image.rstrip(b"\0").decode()
    return Code(text, DIALECT.options(TRAITS), "a program")


class FakeNvrtc:
    """NVRTC without NVIDIA's: an image is the text in the emulated dialect.

    Attributes:
        compiled: how many texts.
        options: those of the last one.
    """

    path = "fake"

    def __init__(
        self,
        version: tuple[int, int] = (12, 9),
        capabilities: tuple[tuple[int, int], ...] = ((7, 5), (8, 0), (9, 0), (12, 0)),
    ) -> None:
        self.version = version
        self.capabilities = capabilities
        self.compiled = 0
        self.options: tuple[str, ...] = ()

    def cubin(self, text: str, options: Sequence[str]) -> bytes:
        """Return the text for g++, which compiles it here for its errors."""
        self.compiled += 1
        self.options = tuple(options)
        before, dialect, behind = text.partition(CUDA.text)
        assert dialect, "the text has another dialect"
        names = kernel_names(Program(behind))
        entries = "".join(f"PHX_ENTRY({name})\n" for name in names)
        translated = f"{IMAGE.decode()}{before}{DIALECT.text}{behind}{entries}"
        try:
            loaded(translated.encode())
        except CompileError as error:
            raise NvrtcError(error.log) from error
        return translated.encode()

    def ptx(self, text: str, options: Sequence[str]) -> str:
        """Return the same, as text."""
        return self.cubin(text, options).decode()
