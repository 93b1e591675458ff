"""One launch: how a recipe's kernels get into a stream of CUDA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from phalanx.device_code import launch
from phalanx.device_code.late import Explain
from phalanx.device_code.launch import address
from phalanx.device_code.recipe import round_up
from phalanx.errors import LaunchError
from phalanx.vendor import Array

if TYPE_CHECKING:
    from .device import CudaDevice
    from .queue import Queue

_INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
_WIDEST = 16  # the largest alignment of a parameter
#: What stands before the buffer, before its size and at the end: CU_LAUNCH_PARAM_*.
_BUFFER, _SIZE, _END = 1, 2, 0

Axes = tuple[int, int, int]


class Packing(NamedTuple):
    """Where the parameters of a kernel lie in one buffer of ``size`` bytes, as the driver told."""

    offsets: tuple[int, ...]
    size: int


class BoundKernel:
    """A kernel of a program that is loaded.

    Attributes:
        raw: the driver's.
        limit: its largest group.
        packing: where its parameters lie; ``None`` before the first launch, and for ever if the
            driver is too old to tell.
    """

    __slots__ = ("limit", "name", "packing", "raw")

    def __init__(self, raw: Any, name: str, limit: int) -> None:
        self.raw = raw
        self.name = name
        self.limit = limit
        self.packing: Packing | None = None

    def geometry(
        self, global_size: tuple[int, ...], local_size: tuple[int, ...] | None
    ) -> tuple[Axes, Axes]:
        """Return the blocks of a grid and the threads of a block for sizes of `Env.enqueue`."""
        axes = len(global_size)
        block = launch.fitted(self.limit, local_size)
        if block is None:
            block = (min(self.limit, global_size[0]), *(1,) * (axes - 1))
        grid = tuple(map(_groups, global_size, block))
        return _axes(grid), _axes(block)


class LaunchEnv(launch.LaunchEnv):
    """The environment of one launch of a kernel on a stream."""

    __slots__ = ()

    def enqueue(
        self,
        kernel: BoundKernel,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: Array | int | bytes,
    ) -> None:
        """Enqueue a kernel; see `Env.enqueue`."""
        if 0 in global_size:
            return
        sizes = kernel.geometry(global_size, local_size)
        values = self.flat(args, address)
        code = put(self._device, self._queue, self._label, kernel, sizes, values)
        if code:
            raise refused(self._device, self._queue, code, kernel.name, self.what(), *sizes)

    @contextlib.contextmanager
    def library(self, name: str) -> Iterator[tuple[Any, Any]]:
        """Let a library of NVIDIA's work on the stream; see `LibraryEnv.library`."""
        device, queue = self._device, self._queue
        queue.labels.append(self._label)
        with (
            device.translated(f"launch of {self.what()}", queue),
            device.context.current(),
            device.libraries.use(name, queue.number, f"{self.what()} on {device.name}") as found,
        ):
            yield found

    def check_later(self, found: Array, explain: Explain) -> None:
        """Look at numbers behind the work so far; see `Env.check_later`."""
        source = found.buffer.handle + found.offset
        self._device.check_later(self._queue, source, found.nbytes, explain)


def put(
    device: CudaDevice,
    queue: Queue,
    label: Any,
    kernel: BoundKernel,
    sizes: tuple[Axes, Axes],
    values: Sequence[bytes],
) -> int:
    """Enqueue a kernel with its parameters one by one; return the driver's code."""
    ffi, null = device.api.ffi, device.null
    packing = packing_of(device, kernel, values)
    if packing is None:  # a pointer to each: the driver knows their sizes
        rooms = [ffi.from_buffer(value) for value in values]
        parameters, extra = ffi.new("void *[]", rooms), null
    else:
        room = ffi.new("char[]", packing.size)
        for offset, value in zip(packing.offsets, values, strict=True):
            ffi.memmove(room + offset, value, len(value))
        size = ffi.new("size_t *", packing.size)
        marks = [ffi.cast("void *", mark) for mark in (_BUFFER, _SIZE, _END)]
        parameters, extra = null, ffi.new("void *[]", [marks[0], room, marks[1], size, marks[2]])
    return queue.put(
        label,
        device.launch_function,
        kernel.raw,
        *sizes[0],
        *sizes[1],
        0,
        queue.raw,
        parameters,
        extra,
    )


def packing_of(device: CudaDevice, kernel: BoundKernel, values: Sequence[Any]) -> Packing | None:
    """Return where parameters go, ``None`` if the driver is too old to tell (before 12.4).

    A launch would read beyond a buffer, or give one parameter another's bytes, if what the recipe
    passes were not what the compiler made of the text. So the sizes are compared once.

    Raises:
        LaunchError: they differ.
    """
    if kernel.packing is not None or device.layout_function is None:
        return kernel.packing
    known = _parameters(device, kernel, len(values) + 1)
    given = _sizes(values)
    if [size for _, size in known] != given:
        raise LaunchError(
            f"{kernel.name} on {device.name} takes parameters of {[size for _, size in known]} "
            f"bytes, and its recipe gives {given}",
            remedy="empty the folder of compiled programs (PHALANX_CACHE_DIR), and report it if "
            "that does not help",
        )
    kernel.packing = Packing(
        tuple(offset for offset, _ in known), max((sum(pair) for pair in known), default=0)
    )
    return kernel.packing


def spread(values: Sequence[Any]) -> Packing:
    """Return places that suit any parameters, where the driver gets a pointer to each."""
    ends = list(accumulate((round_up(size, _WIDEST) for size in _sizes(values)), initial=0))
    return Packing(tuple(ends[:-1]), ends[-1])


def _sizes(values: Sequence[Any]) -> list[int]:
    """Return bytes; addresses and first elements are no values yet when a launch is prepared."""
    return [len(value) if type(value) is bytes else 8 for value in values]


def _parameters(device: CudaDevice, kernel: BoundKernel, most: int) -> list[tuple[int, int]]:
    """Return offset and size of each parameter, of the first ``most``."""
    new, name = device.api.ffi.new, "cuFuncGetParamInfo"
    offset, size = new("size_t *"), new("size_t *")
    found = []
    for number in range(most):
        code = device.context.code(device.layout_function, kernel.raw, number, offset, size)
        if code == _INVALID_VALUE:  # there are no more
            break
        with device.translated(f"asking for the parameters of {kernel.name}"):
            if code:
                raise device.api.error(code, name)
        found.append((int(offset[0]), int(size[0])))
    return found


def refused(
    device: CudaDevice, queue: Queue, code: int, name: str, what: str, grid: Axes, block: Axes
) -> Exception:
    """Return the error for a launch that the driver did not take."""
    error = device.api.error(code, "cuLaunchKernel")
    text = f"launch of {name} for {what} with {grid} groups of {block}"
    return device.told(error, text, queue)


def _axes(counts: tuple[int, ...]) -> Axes:
    x, y, z = (*counts, 1, 1)[:3]
    return x, y, z


def _groups(items: int, size: int) -> int:
    groups, rest = divmod(items, size)
    if rest:
        raise ValueError(f"{items} work-items do not fill groups of {size}")
    return groups
