"""How an op is computed: traits of a device, programs, recipes.

A module of this folder answers ``find(op, dtypes, layout, traits)`` with a `Recipe`. It holds one
or more `Program` texts and a function ``launch(env, inputs, outputs, params)`` that enqueues the
work of one call through the `Env` it is given. Nothing here knows a dialect or a runtime.

For fma, sqrt, floor, ceil, trunc, rint, fabs and copysign, texts use the dialect's ``phx_fma``
(double), ``phx_fmaf`` (float), ...; for the quotient of floats ``phx_dividef``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from phalanx.vendor import Array, Layout, Operand

    from .env import Env


#: `Traits.double_cost` from which double is slow: ``exp`` takes 14 operations in double and two
#: conversions, or 51 in float32 (docs/cuda.md).
_SLOW = 8


@dataclass(frozen=True, slots=True)
class Traits:
    """What a kernel's text and its launch may depend on.

    ``is_cpu`` tells that work-items are turns of a core's loop. ``local_memory`` is bytes per
    group, ``vector_width`` the preferred one for float32, ``max_allocation`` bytes of a buffer.
    A launch has at most ``most_groups`` groups along its first axis; kernels go on from there.
    ``exact_division`` tells that float32 division and square root are correctly rounded,
    ``subnormals`` that float32 keeps subnormal numbers, ``contracts`` that the compiler fuses
    products and sums though it was told not to: see `selftest`. ``forward_progress`` tells that a
    group that waits for another one that has begun does not keep it from going on, and that the
    dialect has the atomics of prelude.h by which groups tell each other. ``double_cost`` is how
    many operations of float32 take the time of one of double, ``matrix_f64`` that the dialect has
    the products of matrices of double of prelude.h. From ``far`` elements on, texts count places in
    64 bits.
    """

    fp64: bool
    fp16: bool
    is_cpu: bool
    compute_units: int
    local_memory: int
    max_work_group: int
    vector_width: int = 1
    version: tuple[int, int] = (1, 2)
    exact_division: bool = True
    subnormals: bool = True
    contracts: bool = False
    max_allocation: int = 2**63
    most_groups: int = 2**20
    forward_progress: bool = False
    double_cost: int = 2
    matrix_f64: bool = False
    far: int = 2**31

    @property
    def slow_double(self) -> bool:
        """Whether functions of float32 are quicker in pairs of float32 than in double."""
        return self.fp64 and self.double_cost >= _SLOW and not self.contracts

    @property
    def most_groups_across(self) -> int:
        """How many groups a launch has along its second and third axis: CUDA takes 65,535."""
        return min(self.most_groups, 2**15)


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """A text with kernels; equal only to itself, so make each one once per recipe.

    ``headers`` are names of core/scalar without ``.h``; what they include comes along.
    """

    source: str
    headers: tuple[str, ...] = ()


Launch: TypeAlias = Callable[
    ["Env", "Sequence[Operand]", "Sequence[Array]", tuple[int, ...]],
    None,
]


@dataclass(frozen=True, eq=False, slots=True)
class Recipe:
    """How one op is computed for its dtypes and layout on devices of given traits.

    ``programs`` are the texts that ``launch`` needs in the commonest case, which is what
    `phalanx warm` compiles ahead; any program is compiled when ``launch`` first asks for it.
    ``launch`` enqueues and returns; it may be called from several threads at once and keeps no
    state. Operands come in the canonical form
    of the op's structure (docs/ops.md); outputs and inputs of extent 0 may come too.
    ``determinism`` and ``error_bound`` (ulp, negative if not stated) are those of the result.
    """

    programs: tuple[Program, ...]
    launch: Launch
    determinism: str = "bitwise"
    error_bound: float = -1.0


Find: TypeAlias = Callable[["str", "tuple[str, ...]", "Layout", Traits], "Recipe | None"]


def scalar(value: bool | int | float | complex, dtype: str) -> bytes:
    """Return the bytes of a Python number in a dtype as it lies in memory, as kernel argument."""
    from phalanx.vendor import dtype_from_name, scalar_bytes

    return scalar_bytes(value, dtype_from_name(dtype))


def divide_up(count: int, step: int) -> int:
    """Return ``count / step`` rounded up."""
    return -(-count // step)


def round_up(count: int, step: int) -> int:
    """Return the smallest multiple of ``step`` that is not below ``count``."""
    return -(-count // step) * step


def group_shape(columns: int, items: int, widest: int) -> tuple[int, int]:
    """Return columns and rows of a group of up to ``items`` work-items, for rows of ``columns``.

    The widest one, up to ``widest``, of which at most a third is beyond the end of a row where a
    narrower one could do better: rows are walked side by side, and neighbours are in memory.
    """
    items = 1 << items.bit_length() - 1
    widths = [1 << k for k in range(min(items, widest).bit_length())]
    least = min(round_up(columns, width) for width in widths)
    width = max(w for w in widths if 2 * round_up(columns, w) <= 3 * least)
    return width, items // width
