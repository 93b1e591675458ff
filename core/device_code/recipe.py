"""The interface between the OpenCL driver and the kernels: traits, programs, recipes, environment.

A module of this folder answers ``find(op, dtypes, layout, traits)`` with a `Recipe`. It holds one
or more `Program` texts and a function ``launch(env, inputs, outputs, params)`` that enqueues the
work of one call through the `Env` it is given. Nothing here imports pyopencl.

How a kernel's arguments are written (``Env.enqueue``), by the type of the Python value:

=================  ==============================================================================
``Array``          two parameters: ``__global T *`` and ``ulong``, the place of its first element
                   counted in elements; see ``PHX_INPUT`` and ``PHX_OUTPUT`` in dialect.cl
``int``            one parameter of 8 bytes: ``long`` or ``ulong``
``bytes``          one parameter by value of just these bytes: a number or a struct made by
                   `scalar` or ``struct.pack`` (OpenCL's alignment is C's natural one)
`Local`            one parameter ``__local T *``
=================  ==============================================================================

Programs are OpenCL C 1.2. The text of dialect.cl comes first in each, then the headers of
core/scalar that it names, then its own source. For fma, sqrt, floor, ceil, trunc, rint, fabs and
copysign use the prelude's ``phx_fma`` (double), ``phx_fmaf`` (float), ...: PoCL's own are calls
that do not vectorise, and up to 40 times slower.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from phalanx._warm import Array
    from phalanx.driver import Layout, Operand


@dataclass(frozen=True, slots=True)
class Traits:
    """What a kernel's text and its launch may depend on.

    ``local_memory`` is bytes per work-group, ``vector_width`` the preferred one for float32,
    ``version`` the OpenCL version of the device. ``exact_division`` tells that float32 division and
    square root are correctly rounded, ``subnormals`` that float32 keeps subnormal numbers.
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
    max_allocation: int = 2**63


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """The text of an OpenCL program; equal only to itself, so make each one once per recipe.

    ``headers`` are names of core/scalar without ``.h``; what they include comes along.
    """

    source: str
    headers: tuple[str, ...] = ()
    options: tuple[str, ...] = ()


class Local(NamedTuple):
    """A kernel argument: ``size`` bytes of local memory."""

    size: int


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


class Env(ABC):
    """One launch on one stream, as the recipe sees it."""

    __slots__ = ()

    #: What the device is like; the same that ``find`` was given.
    traits: Traits

    @abstractmethod
    def kernel(self, program: Program, name: str) -> Any:
        """Return a kernel of a program, for ``enqueue``; compiles the program at first use.

        Raises:
            CompileError: with log and numbered source.
        """

    @abstractmethod
    def enqueue(
        self,
        kernel: Any,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: Array | int | bytes | Local,
    ) -> None:
        """Enqueue a kernel behind what was enqueued before; does not block.

        ``global_size`` counts work-items, up to three axes, each a multiple of ``local_size``'s;
        nothing is enqueued if one of them is 0.

        Raises:
            LaunchError: naming the op, its dtypes, the sizes and the runtime's error.
        """

    @abstractmethod
    def scratch(self, count: int, dtype: str) -> Array:
        """Return a new one-dimensional array from the device's pool, its contents undefined.

        It may be dropped when the last use is enqueued: its memory is reused in stream order.
        """

    @abstractmethod
    def view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
    ) -> Array:
        """Return another view of an array's memory; ``offset`` in elements from its first one."""

    @abstractmethod
    def run(
        self,
        op: str,
        inputs: Sequence[Operand],
        outputs: Sequence[Array],
        params: tuple[int, ...] = (),
        *,
        dtypes: tuple[str, ...] | None = None,
    ) -> None:
        """Enqueue another op of this device on operands in canonical form, on the same stream.

        For elementwise ops equal shapes are enough, of any strides. ``dtypes`` must be given where
        an input is a Python number.

        Raises:
            UnsupportedOpError: the device has no kernel for it.
        """

    @abstractmethod
    def read_int(self, array: Array, index: int = 0) -> int:
        """Return an element of a contiguous integer or bool array; waits for the stream.

        Only where the host must know, such as an index that is out of range.
        """

    @abstractmethod
    def group_limit(self, kernel: Any) -> int:
        """Return the largest number of work-items in a group that this kernel can run with."""


def scalar(value: bool | int | float | complex, dtype: str) -> bytes:
    """Return the bytes of a Python number in a dtype as it lies in memory, as kernel argument."""
    from phalanx._warm import dtype_from_name, scalar_bytes

    return scalar_bytes(value, dtype_from_name(dtype))


def divide_up(count: int, step: int) -> int:
    """Return ``count / step`` rounded up."""
    return -(-count // step)


def round_up(count: int, step: int) -> int:
    """Return the smallest multiple of ``step`` that is not below ``count``."""
    return -(-count // step) * step
