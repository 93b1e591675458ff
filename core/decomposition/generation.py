"""Random numbers: the blocks of Philox as programs, from the texts of the op table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from phalanx._warm import Array, dtype_from_name
from phalanx.driver import Operand
from phalanx.optable import DTYPES
from phalanx.optable.expressions import loaded
from phalanx.optable.random import unit_of, values_of_block

from . import scalar_text
from .elementwise import functions_of_ops
from .program import Program, part_of
from .scalar_text import BOOL
from .steps import INT64, apply, casts, needs, overload, places, run_of, tail
from .table import Decomposition
from .translation import Translator

_WORD = "uint64"


@cache
def _block(op: str, dtypes: tuple[str, ...]) -> Program:
    """The elements of blocks at positions, the first operand; scalars, key and stream follow."""
    takes, gives = dtypes[0], dtypes[-1]
    unit, bits = unit_of(gives), 8 * DTYPES[takes].size
    memory = DTYPES[takes].storage if unit else f"u{bits}"
    word = unit or f"u{bits if op == 'random_bits' else 64}"
    result = BOOL if gives == "bool" else DTYPES[gives].storage if unit else memory
    lines, values = values_of_block(op, gives)
    t = Translator((op, dtypes), functions_of_ops())
    kind = "uint16" if memory == "u16" else takes if unit else f"uint{bits}"
    args = [t.input(3, _WORD), t.input(4, _WORD), t.input(0, _WORD)]
    args += [t.input(1, kind), t.input(2, kind)]
    for value in values:
        text = (
            f"{result} phx_result(u64 key, u64 stream, u64 position, {memory} first, "
            f"{memory} second) {{ const {word} p = {loaded(takes, 'first')}; "
            f"const {word} q = {loaded(takes, 'second')}; "
            f"const phx_words w = phx_philox(key, stream, position); {' '.join(lines)} "
            f"return {value}; }}"
        )
        number = t.number_of(t.call(scalar_text.parsed(text), list(args)))
        t.program.results.append(t.view(number, gives))
    return t.program.finish()


def drawing(op: str, dtypes: tuple[str, ...]) -> Decomposition:
    """The elements of a block are the lanes of the result."""
    program = _block(op, dtypes)
    per = len(program.results)

    def run(inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]) -> None:
        (out,) = outputs
        key, stream, position = (word % (1 << 64) for word in params)
        n = out.size
        if not n:
            return
        blocks = part_of(places(-(-n // per), out), dtype_from_name(_WORD))
        at = apply("add", blocks, position)
        first, second = inputs[0], inputs[-1]
        assert isinstance(first, Array)
        assert isinstance(second, Array)
        lanes = program.run((at, first, second, key, stream), out.device)
        for j, lane in enumerate(lanes):
            count = len(range(j, n, per))
            if count and isinstance(lane, Array):
                apply("copy", run_of(lane, 0, count), out=tail(out, (count,), (per,), j))

    steps = overload("arange", INT64) | overload("add", _WORD) | casts((dtypes[-1], dtypes[-1]))
    return Decomposition(needs(steps, program.overloads()), run)
