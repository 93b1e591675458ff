"""Python numbers as single elements and back."""

from __future__ import annotations

import math
import struct

_FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}


def to_half_bits(value: float, brain: bool) -> int:
    """Return the bits of the nearest float16, or bfloat16 if ``brain``; ties to even."""
    fraction_bits, least_exponent = (7, -126) if brain else (10, -14)
    width = 15 - fraction_bits
    top = ((1 << width) - 1) << fraction_bits
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
    if dtype == "bfloat16":
        return float(struct.unpack("<f", b"\0\0" + data)[0])
    if dtype.startswith("complex"):
        part = "<2f" if dtype == "complex64" else "<2d"
        return complex(*struct.unpack(part, data))
    value: bool | int | float = struct.unpack("<" + _FORMATS[dtype], data)[0]
    return value
