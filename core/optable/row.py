"""The shape of a row of the op table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .dtypes import DTYPES, kind_of


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
    RANDOM = "random"
    FOURIER = "fourier"
    CONTRACTION = "contraction"
    ROW = "row"
    FACTORIZATION = "factorization"
    SEGMENT = "segment"


class Determinism(StrEnum):
    """What repeats: the same bits on every device, on one device run to run, or nothing."""

    BITWISE = "bitwise"
    REPRODUCIBLE = "reproducible"
    NONE = "none"


class Role(StrEnum):
    """What an operand of an elementwise op is to the expression.

    A VALUE is computed with. A MASK is a bool that decides; an operand that is MOVED is passed on
    bit by bit, whatever its dtype. An ENCODED operand counts with its own encoding, so that
    float16 cannot be widened for it; one that is CONVERTED becomes the dtype of the result.
    """

    VALUE = "value"
    MASK = "mask"
    MOVED = "moved"
    ENCODED = "encoded"
    CONVERTED = "converted"


@dataclass(frozen=True, slots=True)
class Guard:
    """Which operands the main part of a scalar function is not right for.

    ``core/scalar`` has that part, free of branches, as ``phx_<op>_main_<suffix>``. ``tests`` holds
    for each operand a C test of an ``a`` of the type ``unit``, which is that of the operand or of
    its two parts: if it is true, the complete function is needed.
    """

    unit: str
    tests: tuple[str, ...]


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
    float16 calls ``phx_<name>_for_f16`` of ``core/scalar/real_half.h``: see there; ``for_bf16``
    is the same of bfloat16.

    ``module`` is that of the public function of an elementwise op.

    ``roles`` are those of the operands, all VALUE if it is empty. ``dear`` has the kind letters for
    which the function is long (polynomials, tables, branches), ``divides`` those for which it is
    cheap but for a division or a square root; ``guards`` has the scalar functions with a main part,
    by suffix.
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
    determinism: Determinism = Determinism.BITWISE
    for_f16: bool = False
    for_bf16: bool = False
    roles: tuple[Role, ...] = ()
    dear: str = ""
    divides: str = ""
    guards: Mapping[str, Guard] = field(default_factory=dict)
    module: str = "phalanx"

    @property
    def arity(self) -> int:
        """The number of array operands."""
        return len(self.signatures[0].inputs)

    @property
    def key(self) -> int:
        """The operand whose dtype tells the overloads apart: the first that is no mask."""
        return next((i for i, role in enumerate(self.roles) if role is not Role.MASK), 0)

    def error(self, dtypes: tuple[str, ...]) -> float:
        """Return the largest error of an overload in ulp; 0 where the result cannot round."""
        result = dtypes[-1]
        if kind_of(result) not in "fc":
            return 0.0
        return float(max(self.bound.ulp.get(result, 0.0), self.bound.ulp.get(dtypes[0], 0.0)))

    def suffix(self, dtype: str) -> str:
        """Return the suffix of the scalar function for operands of a dtype."""
        if self.for_f16 and dtype == "float16":
            return "for_f16"
        if self.for_bf16 and dtype == "bfloat16":
            return "for_bf16"
        facts = DTYPES[dtype]
        return facts.compute if facts.is_half and Role.ENCODED not in self.roles else facts.suffix

    def expression(self, kind: str) -> str:
        """Return the scalar expression for operands of a kind, with ``{s}`` left in."""
        default = f"phx_{self.name}_{{s}}({', '.join('abc'[: self.arity])})"
        return self.expressions.get(kind, default)
