"""Random numbers that may need more than one try: a work-item tries for an element at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.optable.expressions import loaded, stored

from .dtypes import HALF, STORAGE
from .recipe import Program, Recipe, Traits, divide_up
from .rows import defines

if TYPE_CHECKING:
    from phalanx.vendor import Array, Operand

    from .env import Env

_GROUP = 256
_TEXT = """
PHX_KERNEL(GROUP) random_tries(PHX_INPUT(T, first), PHX_INPUT(T, second), PHX_OUTPUT(R, y),
                               const u64 n, const i64 first_stride, const i64 second_stride,
                               const i64 stride, const u64 key, const u64 stream,
                               const u64 position) {
    for (u64 i = PHX_GLOBAL_ID(0); i < n; i += PHX_GLOBAL_SIZE(0)) {
        const V p = LOAD(PHX_DATA(first)[(i64)i * first_stride]);
        const V q = LOAD(PHX_DATA(second)[(i64)i * second_stride]);
        const u64 at = position + i * PHX_TRIES;
        PHX_DATA(y)[(i64)i * stride] = NUMBER(p, q, at);
    }
}
"""


class Tries:
    """The program of one overload, and its launch."""

    def __init__(self, op: str, dtypes: tuple[str, ...], traits: Traits) -> None:
        self._dtypes, self._traits = dtypes, traits
        self._group = min(_GROUP, traits.max_work_group)
        takes, gives = dtypes[0], dtypes[-1]
        unit = "f64" if takes == "float64" else "f32"
        number = {
            "random_gamma": stored(gives, f"phx_gamma_{unit}(p, key, stream, at)"),
            "random_poisson": "phx_poisson(p, key, stream, at)",
            "random_binomial": "phx_binomial(p, q, key, stream, at)",
        }[op]
        header = "random_gamma" if unit == "f32" else "random_gamma_double"
        headers: tuple[str, ...] = (header if op == "random_gamma" else "random_counts",)
        names = {
            "T": STORAGE[takes],
            "R": STORAGE[gives],
            "V": unit,
            "GROUP": str(_GROUP),
            "LOAD(x)": loaded(takes, "(x)"),
            "NUMBER(p, q, at)": number,
        }
        headers += ("convert",) if gives in HALF else ()
        self._program = Program(defines(names) + _TEXT, headers)

    def recipe(self) -> Recipe:
        """Return the recipe."""
        bitwise = self._traits.subnormals or "float" not in self._dtypes[-1]
        determinism = "bitwise" if bitwise else "reproducible"
        bound = -1.0 if "float" in self._dtypes[-1] else 0.0
        return Recipe((self._program,), self.launch, determinism, bound)

    def launch(
        self, env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        """Enqueue one call."""
        y = outputs[0]
        operands: tuple[Array, ...] = (inputs[0], inputs[-1])  # type: ignore[assignment]
        strides = (_stride(x) for x in operands)
        groups = min(divide_up(y.size, self._group), self._traits.most_groups)
        kernel = env.kernel(self._program, "random_tries")
        size = (groups * self._group,)
        where = (y.size, *strides, y.strides[0])
        env.enqueue(kernel, size, (self._group,), *operands, y, *where, *params)


def _stride(x: Array) -> int:
    """From one element to the next; 0 for a parameter that is one for all."""
    return x.strides[0] if x.ndim else 0
