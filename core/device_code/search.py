"""The op searchsorted: binary search without branches, each value by one work-item.

Elements are compared as integers of the same order, NaN the largest and -0 equal to +0: right too
on devices that flush subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phalanx.optable import DTYPES
from phalanx.optable.headers import headers_of

from .dtypes import needs_fp64
from .recipe import Program, Recipe, Traits, divide_up

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout

    from .env import Env

_GROUP = 256

_SOURCE = """
PHX_KERNEL(GROUP) search(PHX_INPUT(T, s), PHX_INPUT(T, v), PHX_OUTPUT(i64, o), const u64 n,
                         const u64 m, const i64 s_step, const i64 v_step, const i64 o_step,
                         const u64 right) {
    const int equal = right != 0;
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {
        const T value = PHX_DATA(v)[(i64)i * v_step], key = KEY_OF(value);
        u64 at = 0, rest = n;
        while (rest > 0) {
            const u64 half_ = rest / 2;
            const T element = PHX_DATA(s)[(i64)(at + half_) * s_step], other = KEY_OF(element);
            const int is_before = (other < key) | (equal & (other == key));
            at = is_before ? at + half_ + 1 : at;
            rest = is_before ? rest - half_ - 1 : half_;
        }
        PHX_DATA(o)[(i64)i * o_step] = (i64)at;
    }
}
"""


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of searchsorted; ``layout`` does not matter."""
    del op, layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    program = _program(dtypes[0])

    def launch(
        env: Env, inputs: Sequence[Any], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        values, wanted = inputs
        out = outputs[0]
        m = out.shape[0]
        steps = (values.strides[0], wanted.strides[0], out.strides[0])
        kernel = env.kernel(program, "search")
        group = min(_GROUP, env.group_limit(kernel))
        size = (min(divide_up(m, group), env.traits.most_groups) * group,)
        right = int(params[0] != 0)
        env.enqueue(kernel, size, (group,), values, wanted, out, values.shape[0], m, *steps, right)

    return Recipe((program,), launch, error_bound=0.0)


def _program(dtype: str) -> Program:
    facts = DTYPES[dtype]
    key = f"i{8 * facts.size}" if facts.kind == "f" else facts.storage
    text = f"phx_order_{key}(x, PHX_ORDER_{facts.suffix}, -1, 0)" if facts.kind == "f" else "(x)"
    names = f"#define T {key}\n#define KEY_OF(x) {text}\n#define GROUP {_GROUP}\n"
    return Program(names + _SOURCE, headers_of(text))
