"""The columns of the table of dtypes that kernel texts are made of."""

from __future__ import annotations

from collections.abc import Iterable

from phalanx.optable import DTYPES

#: Suffix of the scalar functions of core/scalar, and of the conversions in convert.h.
SUFFIX = {t.name: t.suffix for t in DTYPES.values()}
#: Bytes of an element.
ITEMSIZE = {t.name: t.size for t in DTYPES.values()}
#: C type in memory.
STORAGE = {t.name: t.storage for t in DTYPES.values()}
#: C type of arithmetic.
COMPUTE = {t.name: t.compute for t in DTYPES.values()}
#: The two dtypes that are converted between memory and arithmetic (with convert.h).
HALF = tuple(t.name for t in DTYPES.values() if t.is_half)
#: Integer type in memory by item size, for kernels that only move elements; 16 bytes are a struct.
BITS = {t.size: t.moved for t in DTYPES.values()}
#: The dtype of the parts of a complex number.
PART = {t.name: t.part for t in DTYPES.values() if t.part}


def needs_fp64(dtypes: Iterable[str]) -> bool:
    """Return whether a dtype among these cannot lie on a device without double."""
    return any(dtype in ("float64", "complex128") for dtype in dtypes)
