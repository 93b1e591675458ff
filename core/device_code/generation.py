"""arange: start + i * step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.optable import OPS
from phalanx.optable.expressions import loaded, stored

from .dtypes import HALF, ITEMSIZE, PART, STORAGE, SUFFIX
from .recipe import Program, Recipe, Traits, divide_up, scalar
from .reduction_rules import unit_of
from .rows import defines

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env

_GROUP = 256
_TEXT = """
PHX_KERNEL(GROUP) arange(PHX_INPUT(T, start), PHX_INPUT(T, step), PHX_OUTPUT(T, y), const u64 n,
                         const i64 stride, const u64 first) {
    for (u64 i = first + PHX_GLOBAL_ID(0); i < n; i += PHX_GLOBAL_SIZE(0))
        PHX_DATA(y)[(i64)i * stride] = ELEMENT(*PHX_DATA(start), *PHX_DATA(step), (i64)i);
}

PHX_KERNEL(1) put(PHX_OUTPUT(T, y), const T value) { *PHX_DATA(y) = value; }
"""


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of arange; see ``device_code.find``."""
    del layout  # there is one for all strides
    return Arange(op, dtypes, traits).recipe()


class Arange:
    """The program of one dtype, and its launch."""

    #: More kernels of the program.
    extra = ""

    def __init__(self, op: str, dtypes: tuple[str, ...], traits: Traits) -> None:
        self._op, self._dtypes = op, dtypes
        self.traits = traits
        self.group = min(_GROUP, traits.max_work_group)
        self.program = self._program(dtypes[0])

    def recipe(self) -> Recipe:
        """Return the recipe."""
        dtype = self._dtypes[0]
        bitwise = self.traits.subnormals or not ("float" in dtype or dtype in PART)
        determinism = "bitwise" if bitwise else "reproducible"
        return Recipe((self.program,), self.launch, determinism, OPS[self._op].error(self._dtypes))

    def _program(self, dtype: str) -> Program:
        memory, unit = STORAGE[dtype], unit_of(PART.get(dtype, dtype))
        if "float" in dtype or dtype in PART:
            real = SUFFIX[unit]
            number = f"PHX_TO_{real.upper()}(i)"
            if dtype in PART:
                memory = f"{real}x2"
                element = f"arange_pair(start, step, {number})"
            else:
                product = f"{number} * ({loaded(dtype, '(step)')})"
                element = stored(dtype, f"({loaded(dtype, '(start)')} + {product})")
        else:  # unsigned numbers wrap by definition
            bits = 8 * ITEMSIZE[dtype]
            memory, wide = f"u{bits}", f"u{max(32, bits)}"
            element = f"(T)(({wide})(start) + ({wide})(i) * ({wide})(step))"
        headers = ("convert",) if dtype in HALF else ()
        names = {"T": memory, "ELEMENT(start, step, i)": element, "GROUP": str(_GROUP)}
        helpers = _PAIR.format(pair=memory, real=SUFFIX[unit]) if dtype in PART else ""
        return Program(defines(names) + helpers + _TEXT + self.extra, headers)

    def launch(
        self, env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call."""
        del params
        y = outputs[0]
        start, step = (self._in_memory(env, value) for value in inputs)
        first = self.run_whole(env, start, step, y)
        if first < y.size:
            groups = min(divide_up(y.size - first, self.group), self.traits.most_groups)
            kernel = env.kernel(self.program, "arange")
            size = (groups * self.group,)
            env.enqueue(kernel, size, (self.group,), start, step, y, y.size, y.strides[0], first)

    def run_whole(self, env: Env, start: Array, step: Array, y: Array) -> int:
        """Enqueue what a kernel of `extra` computes from the first element on; return how many."""
        del env, start, step, y
        return 0

    def _in_memory(self, env: Env, value: Operand) -> Array:
        """Return start or step as an array of one element."""
        if not isinstance(value, bool | int | float | complex):
            return value
        dtype = self._dtypes[0]
        array = env.scratch(1, dtype)
        env.enqueue(env.kernel(self.program, "put"), (1,), (1,), array, scalar(value, dtype))
        return array


_PAIR = """
PHX_FN {pair} arange_pair({pair} start, {pair} step, {real} i) {{
    return phx_make_{pair}(start.x + i * step.x, start.y + i * step.y);
}}
"""
