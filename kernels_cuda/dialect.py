"""The dialect of CUDA devices, compiled by NVRTC."""

from __future__ import annotations

from pathlib import Path

from phalanx.device_code.dialect import Dialect
from phalanx.device_code.recipe import Traits


def _options(traits: Traits) -> tuple[str, ...]:
    """Return the compiler's options; those of the architecture are the driver's to add.

    Products and sums are fused unless this is forbidden; the others are said though they are the
    defaults (NVRTC documentation, 12.9, "Supported Compile Options").
    """
    del traits
    return ("-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")


DIALECT = Dialect(
    "CUDA C++",
    (Path(__file__).parent / "dialect.cuh").read_text(encoding="utf-8"),
    _options,
)
