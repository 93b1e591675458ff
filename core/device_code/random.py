"""Random numbers: a work-item makes a block of Philox at a time and the elements of its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.optable import OPS
from phalanx.optable.expressions import loaded
from phalanx.optable.random import BLOCK_WORDS, TRIED, WORDS, unit_of, values_of_block

from .dtypes import HALF, ITEMSIZE, STORAGE
from .recipe import Program, Recipe, Traits, divide_up
from .rows import defines

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

_GROUP = 256
_TEXT = """
PHX_PACK(R, PER, random_pack);

PHX_KERNEL(GROUP) random_whole(PHX_INPUT(T, first), PHX_INPUT(T, second), PHX_OUTPUT(R, y),
                               const u64 blocks, const u64 key, const u64 stream,
                               const u64 position) {
    const V p = LOAD(*PHX_DATA(first)), q = LOAD(*PHX_DATA(second));
    PHX_GLOBAL random_pack *to = (PHX_GLOBAL random_pack *)PHX_DATA(y);
    for (u64 i = PHX_GLOBAL_ID(0); i < blocks; i += PHX_GLOBAL_SIZE(0)) {
        const phx_words w = phx_philox(key, stream, position + i);
        random_pack v;
        FILL(v.v)
        to[i] = v;
    }
}

PHX_KERNEL(GROUP) random_any(PHX_INPUT(T, first), PHX_INPUT(T, second), PHX_OUTPUT(R, y),
                             const u64 begin, const u64 n, const i64 stride, const u64 key,
                             const u64 stream, const u64 position) {
    const V p = LOAD(*PHX_DATA(first)), q = LOAD(*PHX_DATA(second));
    for (u64 i = begin + PHX_GLOBAL_ID(0); i * PER < n; i += PHX_GLOBAL_SIZE(0)) {
        const phx_words w = phx_philox(key, stream, position + i);
        R v[PER];
        FILL(v)
        for (u32 k = 0; k < PER && i * PER + k < n; k++)
            PHX_DATA(y)[(i64)(i * PER + k) * stride] = v[k];
    }
}
"""


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op that makes random numbers; see ``device_code.find``."""
    del layout  # there is one for all strides
    if op in TRIED:
        from .random_tries import Tries

        return Tries(op, dtypes, traits).recipe()
    return _Random(op, dtypes, traits).recipe()


def _elements(op: str, gives: str) -> list[str]:
    """The statements that fill the array ``v`` with the elements of a block."""
    lines, values = values_of_block(op, gives)
    return lines + [f"(v)[{i}] = {value};" for i, value in enumerate(values)]


class _Random:
    """The program of one overload, and its launch."""

    def __init__(self, op: str, dtypes: tuple[str, ...], traits: Traits) -> None:
        self._op, self._dtypes, self._traits = op, dtypes, traits
        self._per = BLOCK_WORDS // WORDS[op][dtypes[-1]]
        self._group = min(_GROUP, traits.max_work_group)
        self._program = self._made()

    def recipe(self) -> Recipe:
        """Return the recipe."""
        bitwise = self._traits.subnormals or "float" not in self._dtypes[-1]
        determinism = "bitwise" if bitwise else "reproducible"
        error = OPS[self._op].error(self._dtypes)
        return Recipe((self._program,), self.launch, determinism, error)

    def _made(self) -> Program:
        takes, gives = self._dtypes[0], self._dtypes[-1]
        is_float, unit = "float" in gives, unit_of(gives)
        bits = 8 * ITEMSIZE[takes]
        memory = STORAGE[takes] if is_float else f"u{bits}"
        names = {
            "T": memory,
            "R": STORAGE[gives] if is_float or gives == "bool" else memory,
            "V": unit or f"u{bits if self._op == 'random_bits' else 64}",
            "PER": str(self._per),
            "GROUP": str(_GROUP),
            "LOAD(x)": loaded(takes, "(x)"),
            "FILL(v)": " ".join(_elements(self._op, gives)),
        }
        headers = ("random_double",) if unit == "f64" else ("random",)
        return Program(defines(names) + _TEXT, headers + (("convert",) if gives in HALF else ()))

    def launch(
        self, env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call: whole blocks of aligned memory are stored at once."""
        y = outputs[0]
        operands: tuple[Array, ...] = (inputs[0], inputs[-1])  # type: ignore[assignment]
        begin = 0
        if y.strides[0] == 1 and env.is_aligned(y, min(16, self._per * y.itemsize)):
            begin = y.size // self._per
            kernel = env.kernel(self._program, "random_whole")
            env.enqueue(kernel, self._size(begin), (self._group,), *operands, y, begin, *params)
        left = divide_up(y.size, self._per) - begin
        if left:
            kernel = env.kernel(self._program, "random_any")
            where = (begin, y.size, y.strides[0])
            env.enqueue(kernel, self._size(left), (self._group,), *operands, y, *where, *params)

    def _size(self, blocks: int) -> tuple[int, ...]:
        """How many work-items serve that many blocks."""
        groups = min(divide_up(blocks, self._group), self._traits.most_groups)
        return (groups * self._group,)
