"""The shape of a row of the op table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

BOOLEAN = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
FLOATING = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGER + FLOATING
NUMERIC = REAL + COMPLEX
ALL = BOOLEAN + NUMERIC

#: Kind letter of each dtype: ``b`` bool, ``i`` signed, ``u`` unsigned, ``f`` float, ``c`` complex.
_KINDS = {
    **dict.fromkeys(BOOLEAN, "b"),
    **dict.fromkeys(SIGNED, "i"),
    **dict.fromkeys(UNSIGNED, "u"),
    **dict.fromkeys(FLOATING, "f"),
    **dict.fromkeys(COMPLEX, "c"),
}


def kind_of(dtype: str) -> str:
    """Return the kind letter of a dtype name; raises ``KeyError`` for an unknown name."""
    return _KINDS[dtype]


class Structure(StrEnum):
    """How the elements of the result depend on those of the operands.

    The canonical form of the operands, which every kernel may rely on, is fixed per structure and
    written in ``docs/ops.md``.
    """

    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    SCAN = "scan"
    SORT = "sort"
    SEARCH = "search"
    SELECTION = "selection"
    INDEXING = "indexing"
    GENERATION = "generation"
    CONTRACTION = "contraction"
    ROW = "row"


class Determinism(StrEnum):
    """What repeats: the same bits on every device, on one device run to run, or nothing."""

    BITWISE = "bitwise"
    REPRODUCIBLE = "reproducible"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Signature:
    """The dtypes of one overload, inputs then outputs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def dtypes(self) -> tuple[str, ...]:
        """All dtypes in the order in which a kernel receives its tensors."""
        return self.inputs + self.outputs

    def __str__(self) -> str:
        return f"{','.join(self.inputs)}->{','.join(self.outputs)}"


@dataclass(frozen=True, slots=True)
class Bound:
    """Largest error in ulp of the result, per dtype, and where the figure comes from.

    ``0.5`` is correctly rounded. A dtype that is absent has an exact result.
    """

    ulp: Mapping[str, float]
    source: str


@dataclass(frozen=True, slots=True)
class Op:
    """One op: name, overloads, evaluation and guarantees.

    ``expressions`` maps a kind letter to the scalar expression over the operands ``a``, ``b`` and
    ``c`` in the common subset of all dialects of C; ``{s}`` is the suffix of the compute type
    (``f32``, ``i8``, ...). A kind that is absent calls ``phx_<name>_<suffix>`` of ``core/scalar``.
    ``order`` states the order of evaluation where rounding makes it visible. ``for_f16`` says that
    float16 calls ``phx_<name>_for_f16`` of ``core/scalar/real_half.h``: see there.
    """

    name: str
    structure: Structure
    signatures: tuple[Signature, ...]
    summary: str
    bound: Bound
    expressions: Mapping[str, str] = field(default_factory=dict)
    order: str = ""
    special: str = ""
    in_place: bool = True
    decomposition: str = ""
    determinism: Determinism = Determinism.BITWISE
    for_f16: bool = False
    version: int = 1

    @property
    def arity(self) -> int:
        """The number of array operands."""
        return len(self.signatures[0].inputs)

    def expression(self, kind: str) -> str:
        """Return the scalar expression for operands of a kind, with ``{s}`` left in."""
        default = f"phx_{self.name}_{{s}}({', '.join('abc'[: self.arity])})"
        return self.expressions.get(kind, default)
