"""One launch on a stream of a device, as a recipe sees it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phalanx.optable import OPS, Structure
from phalanx.vendor import Array, Layout, dtype_from_name, empty, reinterpret

if TYPE_CHECKING:
    from phalanx.vendor import Operand, Stream

    from .late import Explain
    from .recipe import Program, Recipe, Traits


class Env(ABC):
    """One launch on one stream; a driver gives what is abstract.

    How arguments of a kernel are written (``enqueue``), by the type of the Python value:

    =========  =====================================================================================
    ``Array``  two parameters, ``PHX_INPUT`` or ``PHX_OUTPUT`` of prelude.h: a pointer to the memory
               and a ``u64``, the place of the first element behind it, counted in elements
    ``int``    one parameter of 8 bytes: ``i64`` or ``u64``
    ``bytes``  one parameter by value of just these bytes: a number, or a struct of C's natural
               alignment as `scalar` and ``struct.pack`` make it
    =========  =====================================================================================
    """

    __slots__ = ("stream", "traits")

    def __init__(self, traits: Traits, stream: Stream) -> None:
        #: What the device is like; the same that ``find`` was given.
        self.traits = traits
        self.stream = stream

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
        *args: Array | int | bytes,
    ) -> None:
        """Enqueue a kernel behind what was enqueued before; does not block.

        ``global_size`` counts work-items, up to three axes, each a multiple of ``local_size``'s;
        nothing is enqueued if one of them is 0. Where a kernel's own limit is below, it gets
        smaller groups: `fitted`.

        Raises:
            LaunchError: naming the op, its dtypes, the sizes and the runtime's error.
        """

    @abstractmethod
    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        """Return how this device computes an op.

        Raises:
            UnsupportedOpError: it does not, with the reason.
        """

    @abstractmethod
    def read_int(self, array: Array, index: int = 0) -> int:
        """Return an element of a contiguous integer or bool array; waits for the stream.

        Only where the host must know at once.
        """

    def check_later(self, found: Array, explain: Explain) -> None:
        """Have the host look at the numbers of a contiguous int64 array: later, if the driver can.

        ``explain`` returns the error that they stand for, or ``None``. It is raised where the host
        waits for the stream or for an event behind this launch, each only once.
        """
        error = explain([self.read_int(found, i) for i in range(found.size)])
        if error is not None:
            raise error

    @abstractmethod
    def group_limit(self, kernel: Any) -> int:
        """Return the largest number of work-items in a group that this kernel can run with."""

    def group(self, kernel: Any, most: int) -> int:
        """Return the largest group up to ``most`` that a kernel can run with, a power of two."""
        limit = min(most, self.traits.max_work_group, self.group_limit(kernel))
        return 1 << limit.bit_length() - 1

    def is_aligned(self, array: Array, size: int) -> bool:
        """Return whether an array's first element lies at a multiple of ``size`` <= 16 bytes.

        True only if it is certain. Handles need not be addresses; the memory behind one that is not
        begins at a multiple of 16.
        """
        return (array.buffer.handle | array.offset) % size == 0

    def scratch(self, count: int, dtype: str) -> Array:
        """Return a new one-dimensional array from the device's pool, its contents undefined.

        It may be dropped when the last use is enqueued: its memory is reused in stream order.
        """
        return empty((count,), dtype_from_name(dtype), self.stream.device, self.stream)

    def view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
    ) -> Array:
        """Return another view of an array's memory; ``offset`` in elements from its first one."""
        return reinterpret(array, array.dtype, shape, strides, offset * array.itemsize)

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
        if dtypes is None:
            arrays: list[Any] = [*inputs, *outputs]
            dtypes = tuple(array.dtype.name for array in arrays)
        recipe = self.recipe(op, dtypes, _layout(op, inputs, outputs))
        recipe.launch(self, inputs, outputs, params)


def _layout(op: str, inputs: Sequence[Operand], outputs: Sequence[Array]) -> Layout:
    """Return the layout whose canonical form the operands of an op have."""
    if OPS[op].structure is not Structure.ELEMENTWISE:
        return Layout.ANY
    out = outputs[0]
    arrays = [x for x in inputs if isinstance(x, Array)]
    dense = out.is_contiguous and all(x.is_contiguous and x.size in (1, out.size) for x in arrays)
    return Layout.CONTIGUOUS if dense else Layout.STRIDED
