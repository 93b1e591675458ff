"""The op table: what every op means, free of any device.

One row per op. The public functions, the kernels of all dialects, the conformance cases and the
support matrix of the documentation come from these rows. Standard library only, because the build
of the kernels reads the table before the package is installed.
"""

from .dtypes import (
    ALL,
    BOOLEAN,
    COMPLEX,
    DTYPES,
    FLOATING,
    INTEGER,
    NUMERIC,
    REAL,
    SIGNED,
    UNSIGNED,
    ScalarType,
    kind_of,
)
from .elementwise import ROWS as _ELEMENTWISE
from .factors import ROWS as _FACTORS
from .fourier import ROWS as _FOURIER
from .primitives import PRIMITIVE_CASTS, PRIMITIVES, WHOLE, is_primitive
from .random import ROWS as _RANDOM
from .row import Bound, Determinism, Guard, Op, Role, Signature, Structure
from .structured import BLOCK, LANES, SCAN_BLOCK
from .structured import ROWS as _STRUCTURED

OPS: dict[str, Op] = {
    row.name: row for row in (*_ELEMENTWISE, *_STRUCTURED, *_RANDOM, *_FOURIER, *_FACTORS)
}

__all__ = [
    "ALL",
    "BLOCK",
    "BOOLEAN",
    "COMPLEX",
    "DTYPES",
    "FLOATING",
    "INTEGER",
    "LANES",
    "NUMERIC",
    "OPS",
    "PRIMITIVES",
    "PRIMITIVE_CASTS",
    "REAL",
    "SCAN_BLOCK",
    "SIGNED",
    "UNSIGNED",
    "WHOLE",
    "Bound",
    "Determinism",
    "Guard",
    "Op",
    "Role",
    "ScalarType",
    "Signature",
    "Structure",
    "is_primitive",
    "kind_of",
]
