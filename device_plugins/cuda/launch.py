"""One launch: how a recipe's kernels get into a stream of CUDA."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from phalanx.device_code import launch
from phalanx.device_code.late import Explain, LateCheck
from phalanx.device_code.launch import address
from phalanx.vendor import Array


class BoundKernel:
    """A kernel of a program that is loaded; ``limit`` is its largest group."""

    __slots__ = ("limit", "name", "raw")

    def __init__(self, raw: Any, name: str, limit: int) -> None:
        self.raw = raw
        self.name = name
        self.limit = limit


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
        block = local_size or (min(kernel.limit, global_size[0]), *(1,) * (len(global_size) - 1))
        grid = tuple(map(_groups, global_size, block))
        device = self._device
        room, pointers = self._packed(args)
        code = self._queue.put(
            self._label,
            device.launch_function,
            kernel.raw,
            *(*grid, 1, 1)[:3],
            *(*block, 1, 1)[:3],
            0,
            self._queue.raw,
            pointers,
            device.null,
        )
        del room  # held until the driver has copied the arguments
        if code:
            what = f"launch of {kernel.name} for {self.what()} with {grid} groups of {block}"
            with device.translated(what, self._queue):
                raise device.api.error(code, "cuLaunchKernel")

    def check_later(self, found: Array, explain: Explain) -> None:
        """Look at numbers behind the work so far; see `Env.check_later`."""
        words = self._device.words.take(found.nbytes) if self._queue.is_ours else None
        if words is None:  # of a foreign stream nobody would ask for the checks
            super().check_later(found, explain)
            return
        source = found.buffer.handle + found.offset
        with self._device.translated("a check of indices"):
            words.fetch(source, self._queue)
        self._queue.checks.add(LateCheck(words.read, explain))

    def _packed(self, args: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the arguments in memory, and a pointer to each: the driver knows their sizes."""
        values = self.flat(args, address)
        ffi = self._device.api.ffi
        room = ffi.from_buffer(b"".join(values))
        start = int(ffi.cast("uintptr_t", room))
        ends = accumulate(map(len, values), initial=start)
        places = [ffi.cast("void *", place) for place, _ in zip(ends, values, strict=False)]
        return room, ffi.new("void *[]", places)


def _groups(items: int, size: int) -> int:
    groups, rest = divmod(items, size)
    if rest:
        raise ValueError(f"{items} work-items do not fill groups of {size}")
    return groups
