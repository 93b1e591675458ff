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
    from .elementwise import guarded_of, program_of

    program = program_of(op, dtypes)
    return None if program is None else _of_program(program, guarded_of(op, dtypes), dtypes)


def _of_program(
    program: Program, guarded: tuple[Program, Program] | None, dtypes: tuple[str, ...]
) -> Decomposition:
    from .words import moved_as

    steps = program.overloads()
    steps |= {("copy", (d, d)) for d in (moved_as(r.dtype) for r in program.results)}
    for part in guarded or ():
        steps |= part.overloads()
    if guarded:
        steps.add(("any", ("bool", "bool")))

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (out,) = outputs
        operands = [_array(x, out, dtype) for x, dtype in zip(inputs, dtypes, strict=False)]
        chosen = program if guarded is None or _is_rare(guarded[0], operands) else guarded[1]
        write(chosen.run(operands, out.device, out), out)

    return Decomposition(frozenset(steps), run)


def _is_rare(test: Program, operands: Sequence[Array]) -> bool:
    """Whether some operands need the whole program; waits for the device."""
    from phalanx.namespace import reductions

    (found,) = test.run(operands, operands[0].device)
    return bool(reductions.any(found)) if isinstance(found, Array) else bool(found)


def _array(x: Operand, out: Array, dtype: str) -> Array:
    """An operand as an array; a number becomes one without axes."""
    if isinstance(x, Array):
        return x
    from phalanx._warm import dtype_from_name

    made: Array = empty((), dtype_from_name(dtype), out.device)
    fill(made, x)
    return made
