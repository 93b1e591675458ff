"""Python numbers as single elements and back."""

from __future__ import annotations

import math
import struct

from phalanx.optable import DTYPES


def to_half_bits(value: float, brain: bool) -> int:
    """Return the bits of the nearest float16, or bfloat16 if ``brain``; ties to even."""
    facts = DTYPES["bfloat16" if brain else "float16"]
    fraction_bits, least_exponent = facts.fraction, 2 - (1 << (facts.exponent - 1))
    top = ((1 << facts.exponent) - 1) << fraction_bits
    sign = 0x8000 if math.copysign(1.0, value) < 0 else 0
    if math.isnan(value):
        return sign | top | (1 << (fraction_bits - 1))
    if math.isinf(value):
        return sign | top
    if value == 0.0:
        return sign
    exponent = max(math.frexp(value)[1] - 1, least_exponent)
    # The significand in units of the last place; Python's round is exact and half to even.
    significand = round(math.ldexp(abs(value), fraction_bits - exponent))
    bits = ((exponent - least_exponent) << fraction_bits) + significand
    return sign | min(bits, top)


def from_bytes(data: bytes, dtype: str) -> bool | int | float | complex:
    """Return the Python number of one little-endian element."""
    facts = DTYPES[dtype]
    if dtype == "bfloat16":
        return float(struct.unpack("<f", b"\0\0" + data)[0])
    if facts.part:
        return complex(*struct.unpack(f"<2{DTYPES[facts.part].format}", data))
    value: bool | int | float = struct.unpack(f"<{facts.format}", data)[0]
    return value
