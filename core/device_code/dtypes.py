"""Dtypes in kernel texts: their suffix, their type in memory, their type of arithmetic.

bool lies in memory as ``u8`` 0 or 1, float16 and bfloat16 as their bits in a ``u16``; these compute
in ``f32``. Complex numbers are the structs ``c64`` and ``c128`` with the members ``re`` and ``im``.
"""

from __future__ import annotations

from collections.abc import Iterable

#: Suffix of the scalar functions of core/scalar, and of the conversions in convert.h.
SUFFIX = {
    "bool": "b",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
    "complex64": "c64",
    "complex128": "c128",
}
#: Bytes of an element.
ITEMSIZE = dict(zip(SUFFIX, (1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16), strict=True))
#: C type in memory.
STORAGE = {**SUFFIX, "bool": "u8", "float16": "u16", "bfloat16": "u16"}
#: C type of arithmetic.
COMPUTE = {**SUFFIX, "bool": "u8", "float16": "f32", "bfloat16": "f32"}
#: The two dtypes that are converted between memory and arithmetic (with convert.h).
HALF = ("float16", "bfloat16")
#: Integer type in memory by item size, for kernels that only move elements; 16 bytes are a struct.
BITS = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "u128"}
#: The dtype of the parts of a complex number.
PART = {"complex64": "float32", "complex128": "float64"}


def loaded(dtype: str, text: str) -> str:
    """Return the expression of an element in memory ``text`` as a value of arithmetic."""
    return f"phx_{SUFFIX[dtype]}_to_f32({text})" if dtype in HALF else text


def stored(dtype: str, text: str) -> str:
    """Return the expression of a value of arithmetic ``text`` as an element in memory."""
    if dtype in HALF:
        return f"phx_f32_to_{SUFFIX[dtype]}({text})"
    return text if dtype in PART else f"({STORAGE[dtype]})({text})"


def needs_fp64(dtypes: Iterable[str]) -> bool:
    """Return whether a dtype among these cannot lie on a device without double."""
    return any(dtype in ("float64", "complex128") for dtype in dtypes)
