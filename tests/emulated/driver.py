"""The devices ``emulated:0`` and ``emulated:1``: the kernels of `phalanx.device_code` on this CPU.

They show what a GPU would compute: a group's work-items are fibres with real barriers, which take
turns in their order on the first device and backwards on the second. Groups are small and launches
have few of them, so that little data reaches what a GPU does with much. Everything a stranger
needs for a device with a C compiler is here and in dialect.hpp.
"""

from __future__ import annotations

import ctypes
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from phalanx import device_code
from phalanx.device_code import matmul
from phalanx.device_code.launch import LaunchEnv, address, fitted
from phalanx.device_code.matmul import Chains
from phalanx.device_code.recipe import Program, Recipe, Traits
from phalanx.device_code.selftest import measured
from phalanx.device_code.sort import Sorting
from phalanx.device_code.table import KernelTable
from phalanx.errors import DeviceError, LaunchError, OutOfMemoryError
from phalanx.vendor import (
    Array,
    DeviceInfo,
    DeviceKind,
    Driver,
    Feature,
    Layout,
    OpenDevice,
    Place,
    Refusal,
    Stream,
)
from phalanx.vendor import Kernel as CoreKernel

from .compiler import DIALECT, Code, Kernel, program_text, text_of_many

_MEMORY = 2**30
_POISON = 0xDB
TRAITS = Traits(
    fp64=True,
    fp16=True,
    is_cpu=False,
    compute_units=2,
    local_memory=24 * 2**10,
    max_work_group=64,
    most_groups=3,
    far=2**13,
    max_allocation=_MEMORY,
    forward_progress=True,
    matrix_f64=True,
)
#: The scheduler of work-items has room for one launch.
_ONE_LAUNCH = threading.Lock()


class EmulatedDriver(Driver):
    """See the module.

    Args:
        name: the devices are ``name:0`` and ``name:1``.
        traits: of both devices.
        options: more options of the compiler, such as those that make it wrong.
        edit: changes each text before it is compiled.
    """

    def __init__(
        self,
        name: str = "emulated",
        traits: Traits = TRAITS,
        *,
        options: tuple[str, ...] = (),
        edit: Callable[[str], str] = str,
    ) -> None:
        self.name = name
        self.traits = traits
        self.options = options
        self.edit = edit

    def device_count(self) -> int:
        return 2

    def device_info(self, index: int) -> DeviceInfo:
        order = ("in order", "backwards")[index]
        features = Feature.FP64 | Feature.FP16 | Feature.SUBNORMALS | Feature.SYNCHRONOUS
        return DeviceInfo(
            f"Emulated GPU, work-items {order}",
            DeviceKind.ACCELERATOR,
            features,
            total_memory=_MEMORY,
            max_allocation=_MEMORY,
            compute_units=self.traits.compute_units,
            dlpack_device=(12, index),
            vendor="Phalanx tests",
        )

    def open(self, index: int) -> EmulatedDevice:
        return EmulatedDevice(self, f"{self.name}:{index}", backwards=index == 1)


class EmulatedDevice(OpenDevice):
    """A device in use; what its compiler makes of arithmetic is tried out first."""

    def __init__(self, driver: EmulatedDriver, name: str, *, backwards: bool) -> None:
        self.name = name
        self.traits = driver.traits
        self._driver = driver
        self._backwards = backwards
        self._lock = threading.Lock()
        self._blocks: dict[int, np.ndarray[Any, Any]] = {}
        self.bound: dict[tuple[Program, str], Kernel] = {}
        self._ahead: dict[str, tuple[Code, str]] = {}
        self.traits = measured(self._probe, driver.traits, name)
        self.table = KernelTable(name, self.traits, find, "phalanx.device_code")

    def _probe(self, program: Program, data: bytes, size: int) -> bytes:
        given, made = ctypes.create_string_buffer(data), ctypes.create_string_buffer(size)
        ends = (struct.pack("<QQ", ctypes.addressof(room), 0) for room in (given, made))
        args = [part for end in ends for part in (end[:8], end[8:])]
        wrong = self.run(self.bound_kernel(program, "probe", "the self-test"), (1,), (1,), args)
        if wrong:
            raise DeviceError(f"{self.name}: {wrong}")
        return made.raw

    # Memory

    def alloc(self, size: int) -> int:
        if size > _MEMORY:
            raise OutOfMemoryError(f"{self.name}: no {size} bytes", size=size)
        whole = np.full(size + 64, _POISON, np.uint8)
        handle = int(whole.ctypes.data + -whole.ctypes.data % 64)
        with self._lock:
            self._blocks[handle] = whole
        return handle

    def free(self, handle: int) -> None:
        with self._lock:
            self._blocks.pop(handle)[:] = _POISON

    def copy(self, dst: Place, src: Place, size: int, *, stream: Stream) -> None:
        self.move(dst, src, size, None)

    def move(self, dst: Place, src: Place, size: int, queue: None) -> None:
        """Copy at once."""
        ctypes.memmove(dst.address, src.address, size)

    def finish(self, queue: None, timeout: float | None) -> None:
        """Nothing to wait for."""

    def synchronize(self, timeout: float | None = None) -> None:
        """Nothing to wait for: all calls end when their work is done."""

    # Kernels

    def kernel(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> CoreKernel | Refusal:
        return self.table.kernel(op, dtypes, layout)

    def sources(self, kernel: CoreKernel) -> tuple[str, ...]:
        return tuple(program_text(each, self.traits) for each in kernel.handle.programs)

    def launch(
        self,
        kernel: CoreKernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        kernel.handle.launch(EmulatedEnv(self, None, stream, kernel), inputs, outputs, params)

    def bound_kernel(self, program: Program, name: str, what: str) -> Kernel:
        """A kernel of a program, compiled at first use."""
        found = self.bound.get((program, name))
        if found is None:
            code, prefix = self._ahead.get(program.source) or (
                self._compiled(program_text(program, self.traits), what),
                "",
            )
            kernel = code.kernel(name, self.traits.max_work_group, prefix)
            found = self.bound.setdefault((program, name), kernel)
        return found

    def _compiled(self, text: str, what: str) -> Code:
        options = (*DIALECT.options(self.traits), *self._driver.options)
        return Code(self._driver.edit(text), options, f"{what} on {self.name}")

    def compile_together(self, programs: Sequence[Program], what: str) -> None:
        """Compile programs at once, which takes a fraction of the time."""
        self._ahead.clear()
        for headers in {program.headers for program in programs}:
            some = [program for program in programs if program.headers == headers]
            code = self._compiled(text_of_many(some, self.traits), what)
            for number, program in enumerate(some):
                self._ahead[program.source] = code, f"{number}_"

    def run(
        self, kernel: Kernel, groups: tuple[int, ...], size: tuple[int, ...], args: list[bytes]
    ) -> str:
        """Run a kernel, one at a time in the process; returns what went wrong."""
        with _ONE_LAUNCH:
            return kernel.launch(groups, size, args, backwards=self._backwards)


class _ShortRows(Sorting):
    digits_from = 3000


class _SmallTiles(Chains):
    tiles_from, packed_from = 2**7, 2**14
    together = 1
    steps = 40


def find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op; little data reaches what takes much.

    Tiles take small products, in several passes over k; digits sort rows that are not long.
    """
    found = device_code.find(op, dtypes, layout, traits)
    if found and op == "matmul":
        return matmul.recipe(dtypes[0], traits, _SmallTiles)
    if found and op in ("sort", "argsort"):
        return _ShortRows(dtypes[0], traits, arg=op == "argsort").recipe()
    return found


class EmulatedEnv(LaunchEnv):
    """One launch."""

    __slots__ = ()

    def enqueue(
        self,
        kernel: Kernel,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: Array | int | bytes,
    ) -> None:
        if 0 in global_size:
            return
        local_size = local_size or (1,) * len(global_size)
        groups = tuple(n // m for n, m in zip(global_size, local_size, strict=True))
        where = f"{kernel.name} for {self.what()} on {self.stream.device.name}"
        most = self.traits.most_groups
        if any(n % m for n, m in zip(global_size, local_size, strict=True)) or max(groups) > most:
            raise LaunchError(f"{where}: {global_size} work-items in groups of {local_size}")
        if (parts := fitted(kernel.limit, local_size)) and parts != local_size:
            local_size, groups = (
                parts,
                tuple(n // m for n, m in zip(global_size, parts, strict=True)),
            )
        packed = self.flat(args, address)
        if wrong := self._device.run(kernel, groups, local_size, packed):
            raise LaunchError(f"{where}: {wrong}")
