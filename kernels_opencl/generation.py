"""arange where work-items are turns of a core's loop.

The whole groups of large arrays have a kernel that does not ask whether there is such an element,
and converts numbers of 32 bits: it is vectors then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from phalanx.device_code.generation import Arange
from phalanx.device_code.recipe import Recipe, Traits

if TYPE_CHECKING:
    from phalanx.device_code.env import Env
    from phalanx.vendor import Array, Layout

#: Elements from which whole groups have a kernel of their own, and the most that it takes.
_LARGE, _LARGEST = 2**16, 2**31
_GROUP = 1024


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of arange where work-items are cores."""
    del layout  # there is one for all strides
    return _WholeArange(op, dtypes, traits).recipe() if traits.is_cpu else None


class _WholeArange(Arange):
    extra = """
__kernel void arange_whole(PHX_INPUT(T, start), PHX_INPUT(T, step), PHX_OUTPUT(T, y)) {
    const size_t i = get_global_id(0);
    PHX_DATA(y)[i] = ELEMENT(*PHX_DATA(start), *PHX_DATA(step), (i32)i);
}
"""

    def __init__(self, op: str, dtypes: tuple[str, ...], traits: Traits) -> None:
        super().__init__(op, dtypes, traits)
        self.group = min(_GROUP, traits.max_work_group)

    def run_whole(self, env: Env, start: Array, step: Array, y: Array) -> int:
        """Enqueue the whole groups of a large array; return how many elements they are."""
        if y.strides[0] != 1 or not _LARGE <= y.size <= _LARGEST:
            return 0
        whole = y.size - y.size % self.group
        kernel = env.kernel(self.program, "arange_whole")
        env.enqueue(kernel, (whole,), (self.group,), start, step, y)
        return whole
