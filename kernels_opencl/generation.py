"""arange: start + i * step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from phalanx.optable import OPS

from .dtypes import HALF, ITEMSIZE, PART, STORAGE, SUFFIX, loaded, needs_fp64, stored
from .expressions import bound
from .recipe import Program, Recipe, Traits, round_up, scalar
from .reduction_rules import unit_of
from .rows import defines

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout, Operand

    from .recipe import Env

_TEXT = """
__kernel void arange(PHX_INPUT(T, start), PHX_INPUT(T, step), PHX_OUTPUT(T, y), const u64 n,
                     const i64 stride) {
    const u64 i = get_global_id(0);
    if (i < n) PHX_DATA(y)[(i64)i * stride] = arange_element(*PHX_DATA(start), *PHX_DATA(step), i);
}

__kernel void put(PHX_OUTPUT(T, y), const T value) { *PHX_DATA(y) = value; }
"""


def _program(dtype: str) -> Program:
    """Return the program of a dtype."""
    memory, unit = STORAGE[dtype], unit_of(PART.get(dtype, dtype))
    kind = SUFFIX[unit]
    if dtype in PART:
        memory = "float2" if kind == "f32" else "double2"
    elif "float" not in dtype:
        memory = f"u{8 * ITEMSIZE[dtype]}"  # unsigned numbers wrap by definition
    count = "convert_float_rte((i64)i)" if kind == "f32" else "convert_double_rte((i64)i)"
    body = f"    return ({memory})((u64)start + i * (u64)step);\n"
    if dtype in PART:
        lines = (f"    start.{m} = start.{m} + {count} * step.{m};\n" for m in "xy")
        body = "".join(lines) + "    return start;\n"
    elif "float" in dtype:
        sum_ = f"{loaded(dtype, 'start')} + {count} * {loaded(dtype, 'step')}"
        body = f"    return {stored(dtype, f'({sum_})')};\n"
    element = f"PHX_FN {memory} arange_element({memory} start, {memory} step, u64 i) {{\n{body}}}\n"
    headers = ("convert",) if dtype in HALF else ()
    return Program(defines({"T": memory}) + element + _TEXT, headers)


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of arange; see ``kernels_opencl.find``."""
    del layout  # there is one for all strides
    dtype = dtypes[0]
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    program = _program(dtype)
    group = min(64 if traits.is_cpu else 256, traits.max_work_group)

    def in_memory(env: Env, value: Operand) -> Array:
        """Return start or step as an array of one element."""
        if not isinstance(value, bool | int | float | complex):
            return value
        array = env.scratch(1, dtype)
        env.enqueue(env.kernel(program, "put"), (1,), (1,), array, scalar(value, dtype))
        return array

    def launch(
        env: Env, inputs: Sequence[Operand], outputs: Sequence[Array], params: tuple[int, ...]
    ) -> None:
        del params
        y = outputs[0]
        if y.size == 0:
            return
        start, step = (in_memory(env, value) for value in inputs)
        kernel = env.kernel(program, "arange")
        size = round_up(y.size, group)
        env.enqueue(kernel, (size,), (group,), start, step, y, y.size, y.strides[0])

    bitwise = traits.subnormals or not ("float" in dtype or dtype in PART)
    determinism = "bitwise" if bitwise else "reproducible"
    return Recipe((program,), launch, determinism, bound(OPS[op], dtypes))
