"""Which overloads are made of others, and how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from phalanx._warm import Array, empty, fill
from phalanx.driver import Operand
from phalanx.optable import OPS, Structure

from .program import Overload, Program, write

#: Computes the outputs from the inputs and the params, on the current stream.
Run = Callable[[Sequence[Operand], Sequence[Array], tuple[int, ...]], None]


@dataclass(frozen=True, slots=True)
class Decomposition:
    """What an overload is made of.

    ``overloads`` are those that it launches, each of which may be decomposed in its turn.
    """

    overloads: frozenset[Overload]
    run: Run


@cache
def decomposition_of(op: str, dtypes: tuple[str, ...]) -> Decomposition | None:
    """Return how an overload is made of others; ``None`` for a primitive."""
    row = OPS.get(op)
    if row is None or all(s.dtypes != dtypes for s in row.signatures):
        return None
    from .structured import STRUCTURED

    if op in STRUCTURED:
        return STRUCTURED[op](dtypes)
    if row.structure is not Structure.ELEMENTWISE:
        return None
    from .elementwise import program_of

    program = program_of(op, dtypes)
    return None if program is None else _of_program(program, dtypes)


def _of_program(program: Program, dtypes: tuple[str, ...]) -> Decomposition:
    from .words import moved_as

    moves = {("copy", (d, d)) for d in (moved_as(r.dtype) for r in program.results)}

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (out,) = outputs
        operands = [_array(x, out, dtype) for x, dtype in zip(inputs, dtypes, strict=False)]
        write(program.run(operands, out.device, out), out)

    return Decomposition(frozenset(program.overloads() | moves), run)


def _array(x: Operand, out: Array, dtype: str) -> Array:
    """An operand as an array; a number becomes one without axes."""
    if isinstance(x, Array):
        return x
    from phalanx._warm import dtype_from_name

    made: Array = empty((), dtype_from_name(dtype), out.device)
    fill(made, x)
    return made
