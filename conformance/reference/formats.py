"""The floating formats, and NumPy's dtypes for the names of Phalanx."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

#: Significand bits with the hidden one, least and greatest exponent (IEEE 754-2019, table 3.5).
FORMATS = {
    "float16": (11, -14, 15),
    "bfloat16": (8, -126, 127),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
}
#: The format of the parts of a complex dtype.
PARTS = {"complex64": "float32", "complex128": "float64"}


@cache
def host_dtype(name: str) -> np.dtype[Any]:
    """Return NumPy's dtype for the name of a Phalanx dtype."""
    if name == "bfloat16":
        import ml_dtypes

        name = ml_dtypes.bfloat16
    found: np.dtype[Any] = np.dtype(name)
    return found
