"""arange: start + i * step.

Where work-items are cores (`Traits.is_cpu`), the whole groups of large arrays have a kernel that
does not ask whether there is such an element, and converts numbers of 32 bits: it is vectors then.
"""

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

#: Elements from which whole groups have a kernel of their own, and the most that it takes.
_LARGE, _LARGEST = 2**16, 2**31
_TEXT = """
__kernel void arange(PHX_INPUT(T, start), PHX_INPUT(T, step), PHX_OUTPUT(T, y), const u64 n,
                     const i64 stride, const u64 first) {
    const i64 i = (i64)(first + get_global_id(0));
    if ((u64)i < n) PHX_DATA(y)[i * stride] = ELEMENT(*PHX_DATA(start), *PHX_DATA(step), i);
}

__kernel void arange_whole(PHX_INPUT(T, start), PHX_INPUT(T, step), PHX_OUTPUT(T, y)) {
    const size_t i = get_global_id(0);
    PHX_DATA(y)[i] = ELEMENT(*PHX_DATA(start), *PHX_DATA(step), (i32)i);
}

__kernel void put(PHX_OUTPUT(T, y), const T value) { *PHX_DATA(y) = value; }
"""


def _program(dtype: str) -> Program:
    """Return the program of a dtype."""
    memory, unit = STORAGE[dtype], unit_of(PART.get(dtype, dtype))
    if "float" in dtype or dtype in PART:
        name = "float" if SUFFIX[unit] == "f32" else "double"
        memory = f"{name}2" if dtype in PART else memory
        product = f"convert_{name}_rte(i) * ({loaded(dtype, '(step)')})"
        element = stored(dtype, f"({loaded(dtype, '(start)')} + {product})")
    else:  # unsigned numbers wrap by definition
        bits = 8 * ITEMSIZE[dtype]
        memory, wide = f"u{bits}", f"u{max(32, bits)}"
        element = f"(T)(({wide})(start) + ({wide})(i) * ({wide})(step))"
    headers = ("convert",) if dtype in HALF else ()
    return Program(defines({"T": memory, "ELEMENT(start, step, i)": element}) + _TEXT, headers)


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of arange; see ``kernels_opencl.find``."""
    del layout  # there is one for all strides
    dtype = dtypes[0]
    if needs_fp64(dtypes) and not traits.fp64:
        return None
    program = _program(dtype)
    group = min(1024 if traits.is_cpu else 256, traits.max_work_group)

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
        stride = y.strides[0]
        start, step = (in_memory(env, value) for value in inputs)
        whole = 0
        if traits.is_cpu and stride == 1 and _LARGE <= y.size <= _LARGEST:
            whole = y.size - y.size % group
            kernel = env.kernel(program, "arange_whole")
            env.enqueue(kernel, (whole,), (group,), start, step, y)
        if whole < y.size:
            kernel = env.kernel(program, "arange")
            size = (round_up(y.size - whole, group),)
            env.enqueue(kernel, size, (group,), start, step, y, y.size, stride, whole)

    bitwise = traits.subnormals or not ("float" in dtype or dtype in PART)
    determinism = "bitwise" if bitwise else "reproducible"
    return Recipe((program,), launch, determinism, bound(OPS[op], dtypes))
