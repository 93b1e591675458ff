"""Faults of launches: which elements are computed, by which kernel, over which memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from phalanx.conformance.reference.formats import host_dtype
from phalanx.optable import OPS
from phalanx.testing import HostArray, Task, Work, Worker
from phalanx.vendor import Array, Kernel, Layout, Stream

from .device import SoundDevice, SoundDriver
from .fault import driver_fault, kernel_fault
from .work import REDUCTIONS

Compute = Callable[[Work], None]


def _without(work: Work, right: Compute, first: int, end: int | None = None) -> None:
    """Compute all elements of the output but those from ``first`` to ``end`` in its order."""
    before = np.array(work.out)
    right(work)
    if work.out.size > first:
        places = np.unravel_index(np.arange(work.out.size)[first:end], work.out.shape)
        work.out[places] = before[places]


def _is_flat(work: Work) -> bool:
    return work.elementwise and all(a.flags.c_contiguous for a in (*work.inputs, work.out))


@kernel_fault()
def vector_tail_dropped(work: Work, right: Compute) -> None:
    """Contiguous kernels leave out the elements behind the last whole vector of 8."""
    if _is_flat(work) and work.out.size > 8:
        _without(work, right, work.out.size // 8 * 8)
    else:
        right(work)


@kernel_fault()
def last_work_group_skipped(work: Work, right: Compute) -> None:
    """The last work-group of 256, which is not whole, is not launched."""
    if work.elementwise and work.out.size > 256:
        _without(work, right, work.out.size // 256 * 256)
    else:
        right(work)


@kernel_fault()
def grid_ends_at_65535(work: Work, right: Compute) -> None:
    """Element 65,535 is left out, where a grid would go on in its second dimension."""
    if work.elementwise and work.out.size > 65536:
        _without(work, right, 65535, 65536)
    else:
        right(work)


@kernel_fault()
def million_ends_early(work: Work, right: Compute) -> None:
    """Contiguous kernels of more than 2**20 elements leave out those from there on."""
    if _is_flat(work) and work.out.size > 1 << 20:
        _without(work, right, 1 << 20)
    else:
        right(work)


@kernel_fault()
def strided_loop_ends_early(work: Work, right: Compute) -> None:
    """Kernels over two or more axes leave out the last place of the last axis."""
    if work.elementwise and work.out.ndim > 1:
        before = np.array(work.out[..., -1])
        right(work)
        work.out[..., -1] = before
    else:
        right(work)


@driver_fault("ops")
class VectorWritesPastEnd(SoundDevice):
    """Contiguous kernels write whole vectors of 4, past the end of the output."""

    def launch(
        self,
        kernel: Kernel,
        inputs: Sequence[Any],
        outputs: Sequence[Array],
        params: tuple[int, ...],
        *,
        stream: Stream,
    ) -> None:
        super().launch(kernel, inputs, outputs, params, stream=stream)
        out = outputs[0]
        handle, end = out.buffer.handle, out.offset + out.nbytes
        rest = -out.size % 4 * out.itemsize

        def spill() -> None:
            size = min(rest, self.blocks[handle].size - end)
            self.bytes_at(handle, end, size)[:] = 0

        if kernel.layout is Layout.CONTIGUOUS and out.is_contiguous and rest:
            self.submit(stream.handle, spill, "the end of a vector")


@kernel_fault()
def output_cleared_first(work: Work, right: Compute) -> None:
    """Strided kernels clear the output before they read, so operands in place are 0."""
    if work.elementwise and not _is_flat(work):
        work.out[...] = np.zeros((), work.out.dtype)
    right(work)


@kernel_fault("add", "subtract", "multiply", "divide")
def in_place_reads_what_it_wrote(work: Work, right: Compute) -> None:
    """In place, the second half of a vector of 4 takes the first half's results for its operand."""
    shared = any(a.size > 1 and np.shares_memory(a, work.out) for a in work.inputs)
    right(work)
    if shared and work.out.ndim == 1 and work.out.size >= 4:
        work.out[3:4] = work.out[1:2]


def _changed_inputs(work: Work, change: Callable[[HostArray], HostArray]) -> Work:
    return replace(work, inputs=[change(a) for a in work.inputs])


@kernel_fault()
def negative_stride_ignored(work: Work, right: Compute) -> None:
    """Elementwise kernels go through inputs of negative strides forwards."""

    def forward(a: HostArray) -> HostArray:
        return a[tuple(slice(None, None, -1 if s < 0 else 1) for s in a.strides)]

    right(_changed_inputs(work, forward) if work.elementwise else work)


@kernel_fault()
def zero_stride_ignored(work: Work, right: Compute) -> None:
    """An input with a broadcast axis is read as if its elements followed each other."""

    def dense(a: HostArray) -> HostArray:
        if a.ndim < 2 or 0 not in a.strides or a.size == 0:
            return a
        distinct = a[tuple(slice(0, 1) if s == 0 else slice(None) for s in a.strides)]
        return np.resize(distinct, a.shape)

    right(_changed_inputs(work, dense) if work.elementwise else work)


@kernel_fault()
def strides_taken_from_first(work: Work, right: Compute) -> None:
    """Strided kernels go through the second input in the order of the first."""
    inputs = list(work.inputs)
    both = work.elementwise and len(inputs) > 1 and inputs[0].ndim == inputs[1].ndim == 2
    if both and inputs[0].strides != inputs[1].strides and 0 not in inputs[1].strides:
        inputs[1] = inputs[1].ravel(order="F").reshape(inputs[1].shape)
    right(replace(work, inputs=inputs))


@kernel_fault(*REDUCTIONS)
def columns_reduced_as_rows(work: Work, right: Compute) -> None:
    """Reductions of matrices that lie by columns read them by rows."""
    x = work.x
    if x.ndim == 2 and 0 < x.strides[0] < x.strides[1]:
        rows = np.array(x).ravel(order="F").reshape(x.shape)
        right(replace(work, inputs=[rows]))
    else:
        right(work)


@kernel_fault()
def sixth_axis_ignored(work: Work, right: Compute) -> None:
    """Kernels know five axes; of the sixth and later, only the first place is computed."""
    if work.elementwise and work.out.ndim > 5:
        before = np.array(work.out)
        right(work)
        for axis in range(work.out.ndim - 5):
            later = (slice(None),) * axis + (slice(1, None),)
            work.out[later] = before[later]
    else:
        right(work)


class _CacheFault(SoundDevice):
    """A device whose kernel cache may return other code."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._coded: dict[tuple[str, tuple[str, ...], Layout], Kernel] = {}

    def code(self, op: str, dtypes: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Return what is computed for a kernel that is asked for."""
        return op, dtypes

    def wrapped(self, found: Kernel) -> Kernel:
        key = (found.op, found.dtypes, found.layout)
        if key not in self._coded:
            self._coded[key] = Kernel(
                *key,
                determinism=found.determinism,
                error_bound=found.error_bound,
                provider=found.provider,
                handle=self.code(found.op, found.dtypes),
            )
        return self._coded[key]


@driver_fault("ops")
class CacheIgnoresDtype(_CacheFault):
    """The cache knows kernels by op and size of the elements: the second dtype gets the first's."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._codes: dict[tuple[object, ...], tuple[str, ...]] = {}

    def code(self, op: str, dtypes: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        sizes = tuple(host_dtype(name).itemsize for name in dtypes)
        return op, self._codes.setdefault((op, *sizes), dtypes)


@driver_fault("ops")
class CacheOfHundredKernels(_CacheFault):
    """When a hundred kernels are cached, the next one takes the code of an older one."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._codes: list[tuple[str, tuple[str, ...]]] = []

    def code(self, op: str, dtypes: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        self._codes.append((op, dtypes))
        if len(self._codes) % 101 == 0:
            for other, same in reversed(self._codes):
                if other != op and same == dtypes and OPS[other].structure is OPS[op].structure:
                    return other, dtypes
        return op, dtypes


@driver_fault("ops")
class KernelNameCutShort(_CacheFault):
    """Kernels are found by the first 7 letters: `bitwise_and`, `_or` and `_xor` are one."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._codes: dict[tuple[object, ...], str] = {}

    def code(self, op: str, dtypes: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        return self._codes.setdefault((op[:7], *dtypes), op), dtypes


@driver_fault("ops")
class ScalarOperandsCached(SoundDevice):
    """Scalar operands lie in one place for all launches; every eighth takes the one before."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._before: dict[str, HostArray] = {}

    def run(self, work: Work) -> None:
        if work.elementwise and work.op != "copy":
            for i, (x, name) in enumerate(zip(work.inputs, work.dtypes, strict=False)):
                if x.ndim == 0 and x.base is None:
                    stale = self._before.get(name, x)
                    self._before[name] = x
                    work.inputs[i] = stale if work.number % 8 == 0 else x
        super().run(work)


@driver_fault("runtime")
class LongQueueDropsWork(SoundDevice):
    """Of more than 1024 launches without a wait between them, those above are dropped."""

    def __init__(self, driver: SoundDriver, index: int) -> None:
        super().__init__(driver, index)
        self._queued = 0

    def submit(self, stream: Worker | None, task: Task, what: str) -> None:
        self._queued += not what.startswith("copy of")
        if self._queued <= 1024:
            super().submit(stream, task, what)

    def stream_synchronize(self, handle: Worker | None, timeout: float | None = None) -> None:
        super().stream_synchronize(handle, timeout)
        self._queued = 0
