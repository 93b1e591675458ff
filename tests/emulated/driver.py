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
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import phalanx as px
from phalanx import device_code
from phalanx.device_code import matmul
from phalanx.device_code.env import Env
from phalanx.device_code.matmul import Chains
from phalanx.device_code.recipe import Program, Recipe, Traits
from phalanx.device_code.selftest import measured
from phalanx.driver import DeviceInfo, DeviceKind, Direction, Driver, Feature, Layout
from phalanx.errors import DeviceError, LaunchError, OutOfMemoryError, UnsupportedOpError
from phalanx.optable import OPS, Structure

from .compiler import DIALECT, Code, Kernel, program_text

_MEMORY = 2**30
_POISON = 0xDB
TRAITS = Traits(
    fp64=True,
    fp16=True,
    is_cpu=False,
    compute_units=1,
    local_memory=16 * 2**10,
    max_work_group=64,
    most_groups=3,
    max_allocation=_MEMORY,
)


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
        self.edit = edit
        self.traits = traits
        self.options = options
        self._lock = threading.Lock()
        self._blocks: dict[int, np.ndarray[Any, Any]] = {}
        self._recipes: dict[tuple[str, tuple[str, ...], Layout], Recipe | None] = {}
        self._kernels: dict[tuple[Program, str], Kernel] = {}

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

    def open(self, index: int) -> None:
        """Try out what the compiler makes of arithmetic."""
        self.traits = measured(self._probe, self.traits, f"{self.name}:{index}")

    def _probe(self, program: Program, data: bytes, size: int) -> bytes:
        given, made = ctypes.create_string_buffer(data), ctypes.create_string_buffer(size)
        ends = (struct.pack("<QQ", ctypes.addressof(room), 0) for room in (given, made))
        args = [part for end in ends for part in (end[:8], end[8:])]
        kernel = self.compiled(program, "probe", "the self-test")
        wrong = self.run(kernel, ((1,), (1,)), args, backwards=False)
        if wrong:
            raise DeviceError(f"{self.name}: {wrong}")
        return made.raw

    # Memory

    def alloc(self, index: int, size: int) -> int:
        if size > _MEMORY:
            raise OutOfMemoryError(f"{self.name}:{index}: no {size} bytes", size=size)
        whole = np.full(size + 64, _POISON, np.uint8)
        handle = whole.ctypes.data + -whole.ctypes.data % 64
        with self._lock:
            self._blocks[handle] = whole
        return int(handle)

    def free(self, index: int, handle: int) -> None:
        with self._lock:
            self._blocks.pop(handle)[:] = _POISON

    def copy(
        self,
        index: int,
        direction: Direction,
        dst: int,
        dst_offset: int,
        src: int,
        src_offset: int,
        size: int,
        *,
        stream: px.Stream,
    ) -> None:
        ctypes.memmove(dst + dst_offset, src + src_offset, size)

    def synchronize(self, index: int, timeout: float | None = None) -> None:
        """Nothing to wait for: all calls end when their work is done."""

    # Kernels

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe | None:
        """How an op is computed, made at the first question; small products have tiles too."""
        if op in OPS and OPS[op].structure is not Structure.ELEMENTWISE:
            layout = Layout.ANY
        key = (op, dtypes, layout)
        if key not in self._recipes:
            self._recipes[key] = _find(op, dtypes, layout, self.traits)
        return self._recipes[key]

    def kernel(
        self, index: int, op: str, dtypes: tuple[str, ...], layout: Layout
    ) -> px.Kernel | None:
        recipe = self.recipe(op, dtypes, layout)
        if recipe is None:
            return None
        return px.Kernel(
            op,
            dtypes,
            layout if OPS[op].structure is Structure.ELEMENTWISE else Layout.ANY,
            determinism=recipe.determinism,
            error_bound=recipe.error_bound,
            provider="phalanx.device_code",
            handle=recipe,
        )

    def kernels(self, index: int) -> Iterator[px.Kernel]:
        for row in OPS.values():
            for signature in row.signatures:
                found = self.kernel(index, row.name, signature.dtypes, Layout.CONTIGUOUS)
                if found is not None:
                    yield found

    def supports(self, index: int, op: str, dtypes: tuple[str, ...]) -> bool | str:
        found = self.recipe(op, dtypes, Layout.CONTIGUOUS)
        return found is not None or device_code.refusal(op, dtypes, self.traits) or False

    def launch(
        self,
        index: int,
        kernel: px.Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[px.Array],
        params: tuple[int, ...],
        *,
        stream: px.Stream,
    ) -> None:
        env = EmulatedEnv(self, stream, f"{kernel.op}({', '.join(kernel.dtypes)})", index == 1)
        kernel.handle.launch(env, inputs, outputs, params)

    def compiled(self, program: Program, name: str, what: str) -> Kernel:
        """A kernel of a program, compiled at first use."""
        found = self._kernels.get((program, name))
        if found is None:
            text = self.edit(program_text(program, self.traits))
            options = (*DIALECT.options(self.traits), *self.options)
            code = Code(text, options, f"{what} on {self.name}")
            found = self._kernels.setdefault((program, name), code.kernel(name))
        return found

    def run(self, kernel: Kernel, sizes: tuple[Any, Any], args: list[bytes], **options: Any) -> str:
        """Run a kernel, one at a time; returns what went wrong."""
        with self._lock:
            return kernel.launch(*sizes, args, **options)


class _SmallTiles(Chains):
    packed_from = 2**10
    steps = 40


def _find(op: str, dtypes: tuple[str, ...], layout: Layout, traits: Traits) -> Recipe | None:
    """Return the recipe of an op; tiles take small products, in several passes over k."""
    if op == "matmul" and device_code.find(op, dtypes, layout, traits):
        return matmul.recipe(dtypes[0], traits, _SmallTiles)
    return device_code.find(op, dtypes, layout, traits)


class EmulatedEnv(Env):
    """One launch."""

    __slots__ = ("_backwards", "_driver", "_what")

    def __init__(
        self, driver: EmulatedDriver, stream: px.Stream, what: str, backwards: bool
    ) -> None:
        super().__init__(driver.traits, stream)
        self._driver = driver
        self._what = what
        self._backwards = backwards

    def kernel(self, program: Program, name: str) -> Kernel:
        return self._driver.compiled(program, name, self._what)

    def enqueue(
        self,
        kernel: Kernel,
        global_size: tuple[int, ...],
        local_size: tuple[int, ...] | None,
        *args: px.Array | int | bytes,
    ) -> None:
        if 0 in global_size:
            return
        local_size = local_size or (1,) * len(global_size)
        groups = tuple(n // m for n, m in zip(global_size, local_size, strict=True))
        where = f"{kernel.name} for {self._what} on {self.stream.device.name}"
        most = self.traits.most_groups
        if any(n % m for n, m in zip(global_size, local_size, strict=True)) or max(groups) > most:
            raise LaunchError(f"{where}: {global_size} work-items in groups of {local_size}")
        packed: list[bytes] = []
        for arg in args:
            if isinstance(arg, px.Array):
                packed.append(struct.pack("<q", arg.buffer.handle))
                packed.append(struct.pack("<q", arg.offset // arg.itemsize))
            elif isinstance(arg, int):
                packed.append(struct.pack("<q" if arg < 2**63 else "<Q", arg))
            else:
                packed.append(arg)
        sizes = (groups, local_size)
        if wrong := self._driver.run(kernel, sizes, packed, backwards=self._backwards):
            raise LaunchError(f"{where}: {wrong}")

    def recipe(self, op: str, dtypes: tuple[str, ...], layout: Layout) -> Recipe:
        found = self._driver.recipe(op, dtypes, layout)
        if found is None:
            raise UnsupportedOpError(f"{op}({', '.join(dtypes)}) on {self.stream.device.name}")
        return found

    def read_int(self, array: px.Array, index: int = 0) -> int:
        address = array.buffer.handle + array.offset + index * array.itemsize
        raw = ctypes.string_at(address, array.itemsize)
        return int.from_bytes(raw, "little", signed=array.dtype.kind == "i")

    def group_limit(self, kernel: Kernel) -> int:
        return self.traits.max_work_group
