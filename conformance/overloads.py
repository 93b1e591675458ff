"""One overload of an op: the parameter of every case of the group ``ops``."""

from __future__ import annotations

from dataclasses import dataclass

from phalanx.optable import OPS, Op, Structure


@dataclass(frozen=True, slots=True)
class Overload:
    """An op with the dtypes of its inputs and outputs."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def row(self) -> Op:
        """The row of the op table."""
        return OPS[self.op]

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Inputs, then outputs."""
        return self.inputs + self.outputs

    def __str__(self) -> str:
        return f"{self.op}({','.join(self.inputs)})->{','.join(self.outputs)}"


def overloads(*structures: Structure) -> list[Overload]:
    """Return all overloads of the op table that have one of these structures."""
    return [
        Overload(row.name, signature.inputs, signature.outputs)
        for row in OPS.values()
        if row.structure in structures
        for signature in row.signatures
    ]
