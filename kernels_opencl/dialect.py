"""The dialect of the OpenCL devices: OpenCL C 1.2, with which options it is compiled."""

from __future__ import annotations

from pathlib import Path

from phalanx.device_code.dialect import Dialect
from phalanx.device_code.recipe import Traits

_HERE = Path(__file__).parent


def _options(traits: Traits) -> tuple[str, ...]:
    """Return the compiler's options; none of them allows it to change a result."""
    options = ("-cl-std=CL1.2", "-w")  # no word of what the headers define and nobody uses
    exact = "-cl-fp32-correctly-rounded-divide-sqrt"
    return (*options, exact) if traits.exact_division else options


DIALECT = Dialect(
    "OpenCL C",
    (_HERE / "dialect.cl").read_text(encoding="utf-8"),
    _options,
    (_HERE / "single.cl").read_text(encoding="utf-8"),
)
