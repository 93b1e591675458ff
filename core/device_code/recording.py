"""What a recipe would launch, written down once for all operands of the same signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from phalanx.vendor import Array, Kernel, Stream, dtype_from_name

from .late import Explain
from .launch import LaunchEnv, fitted

if TYPE_CHECKING:
    from phalanx.vendor import Operand

    from .launch import LaunchDevice


#: A launch of more kernels, or with more bytes of temporary memory, costs more than its preparation
#: saves; and what is prepared holds all temporary arrays at once, where a launch may drop them.
#: Operands are counted with the temporary arrays.
_MOST_COMMANDS, _MOST_OPERANDS, _MOST_TEMPORARY = 32, 24, 2**26


class Memory(NamedTuple):
    """An argument: the memory of operand ``place``."""

    place: int


class First(NamedTuple):
    """An argument: the number of an array's first element in the memory of operand ``place``.

    It is ``(offset + shift) // itemsize`` with the operand's offset, all in bytes.
    """

    place: int
    shift: int
    itemsize: int


class Command(NamedTuple):
    """One kernel to enqueue, its parameters one by one; see `Env.enqueue`."""

    kernel: Any
    global_size: tuple[int, ...]
    local_size: tuple[int, ...] | None
    args: tuple[Memory | First | bytes, ...]


class Check(NamedTuple):
    """Numbers that the host looks at later, ``size`` bytes of an operand; see `Env.check_later`."""

    place: int
    shift: int
    size: int
    explain: Explain


class Recording(NamedTuple):
    """What one launch enqueues.

    Attributes:
        arrays: how many operands are given: the arrays among the inputs, then the outputs.
        scratch: count and dtype of each temporary array; they are operands behind those.
        commands: in their order.
        checks: behind the commands.
    """

    arrays: int
    scratch: tuple[tuple[int, str], ...]
    commands: tuple[Command, ...]
    checks: tuple[Check, ...]


def record(
    device: LaunchDevice,
    kernel: Kernel,
    inputs: Sequence[Operand],
    outputs: Sequence[Array],
    params: tuple[int, ...],
    stream: Stream,
) -> Recording | None:
    """Return what a launch enqueues, ``None`` if that is too much or needs the host.

    The operands' memory is not touched.
    """
    env = _RecordingEnv(device, None, stream, kernel)
    operands = [env.operand(x) if type(x) is Array else x for x in inputs]
    results = [env.operand(x) for x in outputs]
    env.arrays = len(env.places)
    try:
        kernel.handle.launch(env, operands, results, params)
    except _NotRecordable:
        return None
    return Recording(env.arrays, tuple(env.temporary), tuple(env.commands), tuple(env.checks))


class _NotRecordable(Exception):
    """The launch does what belongs to it alone."""


class _RecordingEnv(LaunchEnv):
    """Writes down what a recipe enqueues.

    ``places`` has the operand and the shift of each array by its ``id``, and keeps the array, so
    that no other one has its ``id``.
    """

    __slots__ = ("arrays", "checks", "commands", "places", "room", "temporary")

    def __init__(self, device: LaunchDevice, queue: None, stream: Stream, label: Kernel) -> None:
        super().__init__(device, queue, stream, label)
        self.arrays = 0
        self.room = _MOST_TEMPORARY
        self.places: dict[int, tuple[int, int, Array]] = {}
        self.commands: list[Command] = []
        self.checks: list[Check] = []
        self.temporary: list[tuple[int, str]] = []

    def operand(self, array: Array) -> Array:
        """Return an array as the next operand: as a view of its own, for it may come twice."""
        made = super().view(array, array.shape, array.strides)
        self.places[id(made)] = (len(self.places), 0, made)
        return made

    def enqueue(
        self,
        kernel: Any,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: Array | int | bytes,
    ) -> None:
        """Write a kernel down."""
        if 0 in global_size:
            return
        if len(self.commands) == _MOST_COMMANDS:
            raise _NotRecordable
        parameters: list[Memory | First | bytes] = []
        for arg in args:
            if type(arg) is Array:
                place, shift, _ = self.places[id(arg)]
                parameters += Memory(place), First(place, shift, arg.itemsize)
            else:
                parameters += self.flat((arg,), bytes)
        local_size = fitted(kernel.limit, local_size)
        self.commands.append(Command(kernel, global_size, local_size, tuple(parameters)))

    def view(
        self, array: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
    ) -> Array:
        """Return another view of an operand."""
        made = super().view(array, shape, strides, offset)
        place, shift, _ = self.places[id(array)]
        self.places[id(made)] = (place, shift + offset * array.itemsize, made)
        return made

    def scratch(self, count: int, dtype: str) -> Array:
        """Return a temporary array, which is made anew for each launch."""
        self.room -= count * dtype_from_name(dtype).itemsize
        place = self.arrays + len(self.temporary)
        if self.room < 0 or place == _MOST_OPERANDS:
            raise _NotRecordable
        made = super().scratch(count, dtype)
        self.places[id(made)] = (place, 0, made)
        self.temporary.append((count, dtype))
        return made

    def read_int(self, array: Array, index: int = 0) -> int:
        """Refuse: what is read differs."""
        del array, index
        raise _NotRecordable

    def check_later(self, found: Array, explain: Explain) -> None:
        """Write a check down: what it says may depend on the signature alone."""
        place, shift, _ = self.places[id(found)]
        self.checks.append(Check(place, shift, found.nbytes, explain))
