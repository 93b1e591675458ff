"""The op searchsorted: binary search without branches, each value by one work-item.

Elements are compared as integers of the same order, NaN the largest and -0 equal to +0: right too
on devices that flush subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .dtypes import ITEMSIZE, STORAGE, needs_fp64
from .recipe import Program, Recipe, Traits, divide_up

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout

    from .env import Env

_GROUP = 256

_SOURCE = """
PHX_FN K key_of(T x) {{ {key} }}

PHX_KERNEL({group}) search(PHX_INPUT(T, s), PHX_INPUT(T, v), PHX_OUTPUT(i64, o), const u64 n,
                        const u64 m, const i64 s_step, const i64 v_step, const i64 o_step,
                        const u64 right) {{
    const int equal = right != 0;
    for (u64 i = PHX_GLOBAL_ID(0); i < m; i += PHX_GLOBAL_SIZE(0)) {{
        const K key = key_of(PHX_DATA(v)[(i64)i * v_step]);
        u64 at = 0, rest = n;
        while (rest > 0) {{
            const u64 half_ = rest / 2;
            const K other = key_of(PHX_DATA(s)[(i64)(at + half_) * s_step]);
            const int is_before = (other < key) | (equal & (other == key));
            at = is_before ? at + half_ + 1 : at;
            rest = is_before ? rest - half_ - 1 : half_;
        }}
        PHX_DATA(o)[(i64)i * o_step] = (i64)at;
    }}
}}
"""
#: Magnitude of infinity by float dtype.
INFINITY = {
    "float16": 0x7C00,
    "bfloat16": 0x7F80,
    "float32": 0x7F800000,
    "float64": 0x7FF0000000000000,
}
_FLOAT_KEY = (
    "const K all = ({unsigned})~({unsigned})0 >> 1, size = (K)(x & ({unsigned})all); "
    "return size > (K){infinity} ? all : ((x >> {sign}) & 1 ? (K)-size : size);"
)


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of searchsorted; ``layout`` does not matter."""
    del op, layout
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    program = Program(_source(dtypes[0]))

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


def _source(dtype: str) -> str:
    if dtype in INFINITY:
        bits = 8 * ITEMSIZE[dtype]
        unsigned = f"u{bits}"
        key = _FLOAT_KEY.format(unsigned=unsigned, infinity=INFINITY[dtype], sign=bits - 1)
        names = f"#define T {unsigned}\n#define K i{bits}\n"
    else:
        key = "return x;"
        names = f"#define T {STORAGE[dtype]}\n#define K {STORAGE[dtype]}\n"
    return names + _SOURCE.format(key=key, group=_GROUP)
