"""What a dtype is: one row each, from which the core, every dialect and the build derive the rest.

bool lies in memory as 0 or 1 in a ``u8``. float16 and bfloat16 lie there as their bits in a ``u16``
and compute in ``f32``. A complex number is a struct with the members ``re`` and ``im``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ScalarType:
    """The facts of a dtype.

    ``kind`` is one of ``b`` (bool), ``i`` (signed), ``u`` (unsigned), ``f`` (floating) and ``c``
    (complex); ``size`` is in bytes. ``code`` is the number of the C ABI (``PHX_BOOL`` ... in
    ``phalanx.h``), ``dlpack`` DLPack's type code. ``suffix`` ends the names of the scalar functions
    of the dtype; ``storage`` and ``compute`` are its C types in memory and in arithmetic, which the
    prelude of every dialect defines. ``part`` names the dtype of the parts of a complex number.
    ``fraction`` and ``exponent`` count the bits of a float's fields (IEEE 754-2019, table 3.5;
    bfloat16 is binary32 cut to 7 bits); ``format`` is the letter of Python's ``struct`` module.
    What a dtype does not have is empty or 0.
    """

    name: str
    kind: str
    size: int
    code: int
    dlpack: int
    suffix: str
    storage: str
    compute: str
    format: str = ""
    part: str = ""
    fraction: int = 0
    exponent: int = 0

    @property
    def is_half(self) -> bool:
        """Whether elements are converted to another type for arithmetic: float16, bfloat16."""
        return self.kind == "f" and self.storage != self.compute

    @property
    def moved(self) -> str:
        """The C type that moves an element bit by bit; of 16 bytes it is a struct."""
        return f"u{8 * self.size}"


_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6  # DLDataTypeCode of dlpack.h

_TYPES = (
    ScalarType("bool", "b", 1, 0, _BOOL, "b", "u8", "u8", "?"),
    ScalarType("int8", "i", 1, 1, _INT, "i8", "i8", "i8", "b"),
    ScalarType("int16", "i", 2, 2, _INT, "i16", "i16", "i16", "h"),
    ScalarType("int32", "i", 4, 3, _INT, "i32", "i32", "i32", "i"),
    ScalarType("int64", "i", 8, 4, _INT, "i64", "i64", "i64", "q"),
    ScalarType("uint8", "u", 1, 5, _UINT, "u8", "u8", "u8", "B"),
    ScalarType("uint16", "u", 2, 6, _UINT, "u16", "u16", "u16", "H"),
    ScalarType("uint32", "u", 4, 7, _UINT, "u32", "u32", "u32", "I"),
    ScalarType("uint64", "u", 8, 8, _UINT, "u64", "u64", "u64", "Q"),
    ScalarType("float16", "f", 2, 9, _FLOAT, "f16", "u16", "f32", "e", "", 10, 5),
    ScalarType("bfloat16", "f", 2, 10, _BFLOAT, "bf16", "u16", "f32", "", "", 7, 8),
    ScalarType("float32", "f", 4, 11, _FLOAT, "f32", "f32", "f32", "f", "", 23, 8),
    ScalarType("float64", "f", 8, 12, _FLOAT, "f64", "f64", "f64", "d", "", 52, 11),
    ScalarType("complex64", "c", 8, 13, _COMPLEX, "c64", "c64", "c64", "", "float32"),
    ScalarType("complex128", "c", 16, 14, _COMPLEX, "c128", "c128", "c128", "", "float64"),
)
#: The dtypes by name, in the order of their codes.
DTYPES: dict[str, ScalarType] = {t.name: t for t in _TYPES}


def _of_kinds(kinds: str) -> tuple[str, ...]:
    return tuple(t.name for t in _TYPES if t.kind in kinds)


BOOLEAN = _of_kinds("b")
SIGNED = _of_kinds("i")
UNSIGNED = _of_kinds("u")
INTEGER = _of_kinds("iu")
FLOATING = _of_kinds("f")
COMPLEX = _of_kinds("c")
REAL = _of_kinds("iuf")
NUMERIC = _of_kinds("iufc")
ALL = tuple(DTYPES)


def kind_of(dtype: str) -> str:
    """Return the kind letter of a dtype name; raises ``KeyError`` for an unknown name."""
    return DTYPES[dtype].kind
