"""One launch on a device that keeps its kernels in a table, as far as all such drivers share it."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from phalanx.vendor import Array, Kernel, Layout, Place

from .env import Env
from .recipe import Program, Recipe, Traits

if TYPE_CHECKING:
    from phalanx.vendor import Stream

    from .table import KernelTable

_pack_signed = struct.Struct("<q").pack
_pack_unsigned = struct.Struct("<Q").pack


def fitted(limit: int, local_size: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Return a group of at most ``limit`` work-items that makes the same work: parts of this one.

    Only for kernels that do not depend on their groups, which are those of ``PHX_KERNEL``: others
    have groups of the size that they were compiled for, or ask for `Env.group_limit`.
    """
    if local_size is None or math.prod(local_size) <= limit:
        return local_size
    sizes = list(local_size)
    while math.prod(sizes) > limit and any(size % 2 == 0 for size in sizes):
        longest = max(size for size in sizes if size % 2 == 0)
        sizes[sizes.index(longest)] = longest // 2
    return tuple(sizes)


class LaunchDevice(Protocol):
    """What a `LaunchEnv` needs of an open device; ``queue`` is whatever it enqueues into.

    Attributes:
        traits: as the self-test found them.
        table: its recipes.
        bound: the kernels of programs that were compiled, by program and name.
    """

    traits: Traits
    table: KernelTable
    bound: dict[tuple[Program, str], Any]

    def bound_kernel(self, program: Program, name: str, what: str) -> Any:
        """Return a kernel of a program, compiled at first use; ``what`` names it in errors."""

    def move(self, dst: Place, src: Place, size: int, queue: Any) -> None:
        """Enqueue a copy."""

    def finish(self, queue: Any, timeout: float | None) -> None:
        """Wait for a queue."""


class LaunchEnv(Env):
    """The environment of one launch of a kernel, ``label``, on a stream. A driver adds ``enqueue``.

    ``device`` is both an `OpenDevice` and a `LaunchDevice`.
    """

    __slots__ = ("_device", "_label", "_queue")

    def __init__(self, device: LaunchDevice, queue: Any, stream: Stream, label: Kernel) -> None:
        super().__init__(device.traits, stream)
        self._device: Any = device
        self._queue = queue
        self._label = label

    def what(self) -> str:
        """Return what is launched, for a message."""
        return f"{self._label.op}({', '.join(self._label.dtypes)})"

    def kernel(self, program: Program, name: str) -> Any:
        """Return a kernel of a program, compiled at first use."""
        found = self._device.bound.get((program, name))
        return self._device.bound_kernel(program, name, self.what()) if found is None else found

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        """Return how the device computes an op."""
        found: Recipe = self._device.table.recipe(op, dtypes, layout)
        return found

    def read_int(self, array: Array, index: int = 0) -> int:
        """Return an element of a contiguous array; waits for the stream."""
        size = array.itemsize
        room = ctypes.create_string_buffer(size)
        host = Place(None, ctypes.addressof(room))
        source = Place(self._device, array.buffer.handle, array.offset + index * size)
        self._device.move(host, source, size, self._queue)
        self._device.finish(self._queue, None)
        return int.from_bytes(room.raw, "little", signed=array.dtype.kind == "i")

    def group_limit(self, kernel: Any) -> int:
        """Return the largest group for a kernel, its ``limit``."""
        limit: int = kernel.limit
        return limit

    def flat(self, args: Sequence[Any], handle: Callable[[Array], Any]) -> list[Any]:
        """Return the parameters of a kernel one by one: bytes, and ``handle(array)`` for memory.

        ``args`` are those of `Env.enqueue`.
        """
        values: list[Any] = []
        for arg in args:
            kind = type(arg)
            if kind is Array:
                values.append(handle(arg))
                values.append(_pack_signed(arg.offset // arg.itemsize))
            elif kind is int:
                values.append(_pack_signed(arg) if arg < 2**63 else _pack_unsigned(arg))
            elif kind is bytes:
                values.append(arg)
            else:
                raise TypeError(
                    f"{self.what()}: a kernel argument is an array, an int or bytes, not "
                    f"{kind.__name__}"
                )
        return values


def address(array: Array) -> bytes:
    """Return the parameter for an array's memory where handles are addresses."""
    return _pack_unsigned(array.buffer.handle)
