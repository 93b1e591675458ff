"""sort and argsort where work-items are cores: long rows by digits, from the lowest up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code.recipe import Program, Recipe, Traits, divide_up
from phalanx.device_code.sort import Form, Sorting

from .cores import template

if TYPE_CHECKING:
    from phalanx.device_code.env import Env
    from phalanx.vendor import Array, Layout

#: What is sorted by digits: elements of a row, as counts have 32 bits, and least in all.
_BY_DIGITS, _LEAST_BY_DIGITS = range(2**8, 2**32), 2**12
#: Bits of a digit, as sort_digits.cl says; the least elements of a chunk, and chunks for each core.
_DIGIT = 8
_CHUNK, _CHUNKS_PER_CORE = 4096, 8


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of sort or argsort where work-items are cores."""
    del layout
    return _Sorting(dtypes[0], traits, arg=op == "argsort").recipe() if traits.is_cpu else None


class _Sorting(Sorting):
    """The programs for one dtype, and their launch."""

    span = 1024

    def __init__(self, dtype: str, traits: Traits, *, arg: bool) -> None:
        super().__init__(dtype, traits, arg=arg)
        self._by_digits: dict[Form, Program] = {}

    def sorted(
        self, env: Env, program: Program, form: Form, codes: Array, sizes: tuple[int, int, int]
    ) -> Array:
        """Sort rows of codes; returns them in this array or a new one."""
        rows, n, _ = sizes
        if n not in _BY_DIGITS or rows * n < _LEAST_BY_DIGITS:
            return super().sorted(env, program, form, codes, sizes)
        return self._sorted_by_digits(env, form, codes, rows, n)

    def _sorted_by_digits(self, env: Env, form: Form, codes: Array, rows: int, n: int) -> Array:
        """A count, a running sum and a move for each digit."""
        program = self._by_digits.get(form)
        if program is None:
            made = Program(form.names() + template("sort_digits.cl"))
            program = self._by_digits.setdefault(form, made)
        count, place, move = (
            env.kernel(program, f"{name}_digits") for name in ("count", "place", "move")
        )
        most = divide_up(_CHUNKS_PER_CORE * env.traits.compute_units, rows)
        chunk = max(_CHUNK, divide_up(n, most))
        parts = divide_up(n, chunk)
        counts = env.scratch(rows * parts << _DIGIT, "uint32")
        spare = env.scratch(codes.size, form.dtype)
        for shift in range(0, self.bits, _DIGIT):
            env.enqueue(count, (parts, rows), (1, 1), codes, counts, n, chunk, shift)
            env.enqueue(place, (rows,), (1,), counts, parts)
            env.enqueue(move, (parts, rows), (1, 1), codes, counts, spare, n, chunk, shift)
            codes, spare = spare, codes
        return codes
